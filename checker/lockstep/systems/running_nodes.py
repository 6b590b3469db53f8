"""The form of what `lockstep node`, `cluster` and `client` need of a system whose reference runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol, TypeAlias

from lockstep.systems.hunted_group import MoveListener
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import Log, RunningNode
from raftref.runtime.virtual import MakeDriver
from raftref.simulation.group import Event

#: Host and port.
Address: TypeAlias = tuple[str, int]


def entry_index(word: str) -> int:
    """Read the index of an entry, which is a long in both systems; raises ValueError."""
    if not word.isdecimal() or len(word) > 18:
        raise ValueError(f"{word!r} is no index of an entry")
    return int(word)


@dataclass(frozen=True, slots=True)
class NodeKind:
    """A kind of nodes: the names of their features and flaws, and the settings that are not the system's defaults.

    `settings` are fields of the system's `Settings`, with their values; times are in seconds.
    """

    features: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """A node as it is started.

    `addresses` are where it reaches each member, itself included; it listens on its own. `folder` has its files.
    `time_scale` multiplies all of its times. `voters` are the members that vote at first, all if there are none, and
    `without` names features that it lacks.
    """

    node_id: str
    group: str
    addresses: Mapping[str, Address]
    folder: Path
    kind: NodeKind = field(default_factory=NodeKind)
    time_scale: float = 1.0
    voters: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class GroupClient(Protocol):
    """A client of a group. What the group refuses raises ClientRefusedError."""

    async def append(self, value: str) -> str:
        """Append a value, and return where it was committed, as a text."""

    async def get(self, index: int) -> str:
        """Return the entry at an index, as a text."""

    async def transfer(self, node: str) -> str:
        """Let the leader hand over to a node, and return how that went."""

    async def add(self, node: str) -> str:
        """Add a node to the members that vote, and return where that was committed, as a text."""

    async def remove(self, node: str) -> str:
        """Remove a node from the members, and return where that was committed, as a text."""


class HistoryClient(Protocol):
    """A client of a group, whose answers are those of a history; what comes to nothing has a code other than SUCCESS.

    An append is asked once, unless it is certain that nothing came of it.
    """

    async def append(self, value: str) -> AppendOutcome:
        """Append a value."""

    async def read(self, index: int) -> ReadOutcome:
        """Read what stands at an index."""


class ClientRefusedError(Exception):
    """The group has not done what a client asked for; the message has the code, or the name of the error.

    With `is_uncertain` it may do it yet, or may have done it: an entry may be committed all the same.
    """

    def __init__(self, error: str, *, is_uncertain: bool = False) -> None:
        """Make the error of an answer, or of a call without one."""
        super().__init__(f"outcome unknown, {error}: it may be committed" if is_uncertain else f"refused, {error}")


class Replay(Protocol):
    """Takes recorded steps again in a simulated group."""

    def __call__(
        self, plan: Any, steps: Iterable[NodeStep], listen: Callable[[Any], MoveListener] | None = None
    ) -> Iterator[Event]:
        """Yield the events of the trace; `listen` makes what hears of each step. Raises ReplayError."""


@dataclass(frozen=True, slots=True)
class AppendOutcome:
    """An answer to an append: its code, the index if it was confirmed, and the leader that the node names.

    `is_refused`: nothing was stored, nor will be.
    """

    code: str
    index: int | None
    leader: str | None
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """An answer to a read: its code, and the values by their indexes, None if it was refused.

    `up_to` is the last index that the answer covers.
    """

    code: str
    values: Mapping[int, str] | None = None
    up_to: int = -1


@dataclass(frozen=True, slots=True)
class Operator:
    """The requests of whoever operates a group while clients use it.

    `orders` are made of the driver of the leader, by their names; None where one makes no sense at the moment. `code`
    is that of an answer, SUCCESS where the order was carried out. `restore` is the next request, at the leader, on the
    way back to a group of all members, None where it is one.
    """

    orders: Mapping[str, Callable[[Any, Random], Any]]
    code: Callable[[Any], str]
    restore: Callable[[Any, Sequence[str]], Any]


@dataclass(frozen=True, slots=True)
class RunningNodes:
    """A system whose reference runs.

    `features` and `flaws` are the names that a node may be started with.
    `node` makes one, given what is called with each step. `shown` are the fields of a step's `shows` that a status line
    has. `plan` is that of a simulated group of these nodes, and `replay` takes recorded steps again in it; it raises
    ReplayError. `client` and `history_client` make clients of a group, given its name and where its members
    are reached.

    `settings` are the times and bounds that a node may be started with, each with its default; `settings_of` are those
    of a node of some kind, given the scale of its times, and raises ValueError where there can be none. `removable` are
    the features that a node may lack, and `has_spares` whether a member may be none of the first voters.

    `driver` returns what makes the drivers of a group in simulated time, given its members and their kind.
    `append` is a client's request to a node, `appended` what its answer says, and `committed` yields index and value
    of what a driver's node has committed. `read` are the requests of a read, asked one after the other of one node,
    given the node and an index; `read_outcome` is what the last answer says. `reads_all`: a read returns all that is
    applied, and not what stands at the index.

    `sizes` are the numbers of nodes that a group may have. `nodes_needed` are how many running nodes show a flaw, where
    those of a hunt are too few or too many.

    `operator` is for chaos. `chaos_settings` are those of its nodes in real time; in simulated time each run has
    `drawn_settings`, given the source of chance. `verify` is a client's request to a node whether it still leads, None
    where there is none. `led_term` is the term that a node leads after
    a step, None if none. `outcomes` counts what came of faults, given the steps of a run and how often clients' appends
    were answered with which code. `outside_spec` are the faults of chaos that the spec has not.
    """

    features: tuple[str, ...]
    flaws: tuple[str, ...]
    published: tuple[str, ...]
    settings: Mapping[str, float]
    settings_of: Callable[[NodeKind, float], Any]
    node: Callable[[NodeOptions, Callable[[NodeStep], None], Log], RunningNode]
    shown: tuple[str, ...]
    plan: Callable[[int, NodeKind], Any]
    replay: Replay
    client: Callable[[str, Mapping[str, Address]], GroupClient]
    history_client: Callable[[str, Mapping[str, Address]], HistoryClient]
    driver: Callable[[Sequence[str], NodeKind], MakeDriver]
    append: Callable[[str, str], Any]
    appended: Callable[[Any], AppendOutcome]
    committed: Callable[[Any], Iterable[tuple[int, str]]]
    read: Callable[[str, int], Sequence[Any]]
    read_outcome: Callable[[Any], ReadOutcome]
    reads_all: bool
    operator: Operator
    chaos_settings: Mapping[str, float]
    drawn_settings: Callable[[Random], Mapping[str, float]]
    verify: Callable[[str], Any] | None
    led_term: Callable[[NodeStep], int | None]
    outcomes: Callable[[Iterable[NodeStep], Mapping[str, int]], Counter[str]]
    outside_spec: frozenset[str]
    never_with: Mapping[str, frozenset[str]]
    sizes: range
    nodes_needed: Mapping[str, int] = field(default_factory=dict)
    removable: tuple[str, ...] = ()
    has_spares: bool = False
