"""The form of a system: one value that every command takes its knowledge of the system from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from lockstep.base.package_data import spec_dir
from lockstep.base.progress import Say
from lockstep.conformance.both_ways_check import ProbedRun
from lockstep.conformance.json_values import Words
from lockstep.conformance.spec_interface import Interface, Outbox, no_location
from lockstep.conformance.step_coverage import Reached
from lockstep.models.proofs.lemmas import Lemmas
from lockstep.systems.node_picture import Picture
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value
from lockstep.trace.imported_trace import Imported
from lockstep.trace.json_lines import MIN_INTEGER
from lockstep.trace.trace_format import Event, Header

if TYPE_CHECKING:  # the groups of a reference are slow to import
    from lockstep.systems.hunted_group import Hunted
    from lockstep.systems.logged_facts import OwnLogs
    from lockstep.systems.node_recorder import NodeRecorder
    from lockstep.systems.running_nodes import RunningNodes
    from lockstep.systems.wire_format import WireFormat

#: A constant of a trace's header.
Choice: TypeAlias = bool | str | int
HeaderChoices: TypeAlias = Mapping[str, Choice]

#: Compiles the spec for the trace that a header begins; the string names the file in messages.
Compile: TypeAlias = Callable[[Header, str], Spec]


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants that the header of a trace chooses.

    `allowed` are the values of each, by the header's name; `defaults` those that a header may leave out; `variants`
    are sets of them that have a name, as `lockstep check --switch` takes it. `values` makes the constants of the spec
    out of the nodes, in the order of the header, and the choices; `header_choices` is its inverse: it returns the nodes
    in their order and the constants of a header, and raises KeyError where the constants are of another spec.
    """

    allowed: Mapping[str, tuple[Choice, ...] | range]
    defaults: HeaderChoices
    variants: Mapping[str, Mapping[str, str]]
    values: Callable[[Sequence[str], HeaderChoices], Mapping[str, Value]]
    header_choices: Callable[[Mapping[str, Value]], tuple[tuple[str, ...], dict[str, Choice]]]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Facts that raw input may lack: the version of the system, and by how many ns the clocks may differ."""

    version: str | None = None
    skew: int = 0


NO_OPTIONS = ImportOptions()


#: The number of its first bytes by which a raw format is recognised.
BEGINNING_BYTES = 2000


@dataclass(frozen=True, slots=True)
class RawFormat:
    """A format of a system's own logs, or of a recorder, that is imported as a trace.

    `name` is used as in "a recording of ..."; `recognises` takes the file's name and its first bytes; `read` imports
    the files of one system, and may compile the spec. Where `is_explained`, the lines are partial observations, and a
    search finds the steps between them; only such a format may have several files.
    """

    name: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Sequence[Path], ImportOptions, Compile, Say], Imported]
    is_explained: bool = False


class RunsCluster(Protocol):
    """Runs a plan with a seed for a number of events, in a variant if one is named."""

    def __call__(self, name: str, seed: int, events: int, variant: str = "") -> tuple[Header, Iterator[Event]]:
        """Return the header of the trace, and the events while they happen."""


@dataclass(frozen=True, slots=True)
class Simulator:
    """Clusters of the reference under faults, reproduced by a plan and a seed.

    `plans` are the names of the plans; `verified` those that `lockstep verify` runs; in those that are `flawed` a
    property may fail, but for those that are `kept` with every flaw. `cluster` runs a plan (a name, or the file of
    one) with a seed for a number of events; `asked` does, too, and lets every action be tried after each step. `again`
    takes the steps of a trace once more, in a cluster as its header describes it, without those that are refused.
    `variants` are other forms of the flaws that a named plan can be run with, and `flawed_variants` those of them in
    which a property may fail.
    """

    plans: tuple[str, ...]
    verified: tuple[str, ...]
    flawed: frozenset[str]
    kept: frozenset[str]
    cluster: RunsCluster
    asked: Callable[[str, int, int], tuple[Header, ProbedRun]]
    again: Callable[[Header, Iterable[Event]], Iterator[Event]]
    variants: tuple[str, ...] = ()
    flawed_variants: frozenset[str] = frozenset()

    def may_fail(self, plan: str, variant: str = "") -> bool:
        """Return whether a property may fail in the clusters of a plan, run in a variant if one is named."""
        return variant in self.flawed_variants if variant else plan in self.flawed


@dataclass(frozen=True, slots=True)
class Floor:
    """The parts of the protocol that clusters of one plan must reach: a check cannot see a step that is never taken.

    It is stated for a fleet of `clusters`, of `events` each. They must reach `must`, can reach none of `unreachable`,
    and may miss `seldom`, each with the reason; together these are all parts, but for a floor of the essential ones.
    """

    clusters: int
    events: int
    must: frozenset[Reached]
    unreachable: Mapping[Reached, str]
    seldom: Mapping[Reached, str]


@dataclass(frozen=True, slots=True)
class System:
    """All that lockstep knows of a system.

    `spec` is the root module, which the header of a trace names; `root` and `cfg` are its files, below spec/ or
    anywhere. `constants` are those that a header chooses; without them the cfg has them all.

    The interface of spec and traces: `observe` names the definition that a trace may show, `outbox` that of the
    messages a node has sent, `null` the constant that JSON's null stands for. Where `names_model_values`, strings stand
    for the model values of those names. No event has an integer below `least_integer`. `codes` are those of the
    properties; `locate` returns the place where the reference implements an action.

    The rest is optional: raw formats to import, the recorders of its nodes, a simulator, the module (below spec/) that
    extends the root by the definitions of `coverage`, the floors of a plan (given its spec, compiled with these; that
    of the smaller fleet first), bounded models (the folder of their manifest, below spec/), lemmas, a picture of its
    states, what `lockstep hunt` searches, what reads the logs that its nodes write for their operators, what reads
    their wire, the actions that are `faults`: of the network, of a process, of a machine, and the recovery from these.
    `client_writes` are the actions by which a node takes a write, each with what makes its arguments but for the node
    out of a text. `switch_title` is how the switch of a model is shown, with its name for the braces.
    """

    spec: str
    title: str
    root: Path
    cfg: Path
    constants: Constants | None = None
    observe: str = ""
    outbox: Outbox | None = None
    null: str | None = None
    names_model_values: bool = False
    least_integer: int = MIN_INTEGER
    codes: Mapping[str, str] = field(default_factory=dict)
    locate: Callable[[str], str] = no_location
    formats: tuple[RawFormat, ...] = ()
    recorder: Callable[[], NodeRecorder] | None = None
    simulator: Simulator | None = None
    coverage: Path | None = None
    floors: Callable[[str, Spec], tuple[Floor, ...]] | None = None
    models: Path | None = None
    lemmas: Lemmas = field(default_factory=dict)
    picture: Picture | None = None
    hunted: Callable[[], Hunted] | None = None
    running: Callable[[], RunningNodes] | None = None
    own_logs: Callable[[], OwnLogs] | None = None
    wire: Callable[[], WireFormat] | None = None
    faults: frozenset[str] = frozenset()
    client_writes: Mapping[str, Callable[[str], Mapping[str, Value]]] = field(default_factory=dict)
    switch_title: str = "{}"

    @property
    def module(self) -> Path:
        """The file of the root module."""
        return spec_dir() / self.root

    @property
    def coverage_module(self) -> Path:
        """The file of the module with the definitions of coverage; the root, where there is none beside it."""
        return self.module if self.coverage is None else spec_dir() / self.coverage

    @property
    def trace_cfg(self) -> Path:
        """The cfg that names Init, Next and the properties that traces are checked for."""
        return spec_dir() / self.cfg

    @property
    def manifest(self) -> Path | None:
        """The manifest of the bounded models, if there are any."""
        return None if self.models is None else spec_dir() / self.models / "manifest.toml"

    @property
    def footprints(self) -> tuple[str, ...]:
        """The definitions whose footprints the check asks for."""
        return () if self.outbox is None else (self.outbox.operator,)

    def interface(self, spec: Spec) -> Interface:
        """Return where a trace meets the spec, once that is compiled; raises KeyError where `null` is no constant."""
        null = None if self.null is None else {**spec.model_values, **spec.constants}[self.null]
        strings = spec.model_values if self.names_model_values else {}
        words = Words(null, strings)
        is_own = self.names_model_values
        return Interface(self.observe, self.outbox, words, self.codes, self.locate, args_name_all=is_own)
