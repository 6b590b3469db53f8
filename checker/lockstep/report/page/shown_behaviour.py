"""A behaviour as a page shows it: steps, the states that they lead to, and remarks on what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.systems.node_picture import shown
from lockstep.tla.values.kinds import Value


class NothingToShowError(BadInputError):
    """There is no behaviour to show; the message says why."""


class NoVerdictError(GaveUpError):
    """The check of a trace came to no verdict; the message says why."""


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table with a title; `marked` are the numbers of the rows that matter."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: frozenset[int]


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step, and the state that it leads to.

    `number` is its place in the whole behaviour; the initial state has number 0. `action` is empty where it is unknown.
    `args` are its arguments; `node` is the node that takes it, if one does. `line` is its line in the trace, or in the
    file `source` where there are several. `failed` names the properties that are false there: invariants of the
    state, others of the step. `is_refused`: the spec does not allow it, and the state is the one before it, or, without
    an action, that of the file which no step leads to.
    `is_hidden`: no line of a log describes it. `tables` explain why the spec does not allow it.
    """

    number: int
    action: str
    args: Mapping[str, Value]
    node: str
    state: Mapping[str, Value]
    line: int | None = None
    failed: frozenset[str] = frozenset()
    is_refused: bool = False
    source: str = ""
    is_hidden: bool = False
    tables: tuple[ShownTable, ...] = ()

    @property
    def other_args(self) -> dict[str, Value]:
        """The arguments but for the node, which is shown as such."""
        return {name: value for name, value in self.args.items() if not self.node or shown(value) != self.node}


@dataclass(frozen=True, slots=True)
class Remark:
    """A problem at the step with this number: a title, lines of text, and tables.

    `short` are the lines with which the page begins: the values that differ, or the false condition with its sides.
    """

    number: int
    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[ShownTable, ...] = ()
    short: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlawStory:
    """The story of a flaw as text, the file that it is from, and in a line what the flaw is, and its repair."""

    file: str
    text: str
    in_words: str = ""


@dataclass(frozen=True, slots=True)
class DiagnosisRow:
    """A sentence of a diagnosis after its heading, and the stories of the flaws that it names, by their names."""

    head: str
    text: str
    stories: Mapping[str, FlawStory]


@dataclass(frozen=True, slots=True)
class ShownDiagnosis:
    """The diagnosis of a trace that leaves the spec at the step `seen`.

    `decided` is the number of the earlier step in which the likeliest cause that has such a step was decided, and
    `deciding` the place of that cause among the rows. `outside` are the numbers of the steps that cannot have had to do
    with it.
    """

    rows: tuple[DiagnosisRow, ...]
    seen: int
    decided: int | None = None
    deciding: int = 0
    outside: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Origin:
    """A fact on where a behaviour comes from: its name, the fact in short, and in full where that is longer."""

    name: str
    short: str
    full: str = ""


@dataclass(frozen=True, slots=True)
class ShownBehaviour:
    """A behaviour, or the part of it around what is wrong, with remarks.

    `count` is the number of the last step of the whole. `properties` names what was evaluated in each state and step.
    `back_to` is the number of the step to which an infinite behaviour goes back, by the action `back_by` if that is
    known. `deviates`: the trace leaves the
    spec after the last step; `diagnosis` says why, where that was looked for. `origins` say how to check it again.
    `by_line`: each step but the initial state is a line of one file, and goes by it; `by_log`: it goes by the line of a
    log that it explains, or comes before.
    """

    title: str
    verdict: str
    reason: str
    steps: tuple[ShownStep, ...]
    count: int
    properties: tuple[str, ...]
    remarks: tuple[Remark, ...] = ()
    back_to: int | None = None
    back_by: str = ""
    deviates: bool = False
    diagnosis: ShownDiagnosis | None = None
    origins: tuple[Origin, ...] = ()
    by_line: bool = False
    by_log: bool = False

    @property
    def verdict_line(self) -> str:
        """The verdict with its reason."""
        return f"{self.verdict}: {self.reason}"

    def name_of(self, step: ShownStep) -> str:
        """Return a step by its line, or by its number where it has none."""
        if self.by_log:
            return self.names[step.number - self.steps[0].number]
        return f"line {step.line:,}" if self.by_line and step.line is not None else f"step {step.number:,}"

    @property
    def names(self) -> list[str]:
        """The steps of logs, each by its line; one that is in no line, by the line after it."""
        files = {step.source for step in self.steps if step.source}
        by_file = {file: PurePath(file).name for file in files}
        if len(set(by_file.values())) < len(files):  # two logs of one name, in two folders
            by_file = {file: file for file in files}
        found, following = list[str](), ""
        for step in reversed(self.steps):
            if step.line is not None:
                following = f"{by_file[step.source]}:{step.line}" if len(files) > 1 else f"line {step.line}"
                found.append(following)
            elif step.number == 0:
                found.append("initial state")
            else:
                found.append(f"before {following}" if following else f"step {step.number:,}")
        return found[::-1]

    def last_steps(self, count: int | None) -> tuple[ShownStep, ...]:
        """Return the last `count` steps up to the first remark, or up to the end, after the one that they begin in."""
        if count is None:
            return self.steps
        numbers = {remark.number for remark in self.remarks}
        end = next((at for at, step in enumerate(self.steps) if step.number in numbers), len(self.steps) - 1)
        return self.steps[max(0, end - count) : end + 1]
