"""The search for explanations of logs: behaviours of the spec that agree with the lines, carried from line to line.

An explanation is a behaviour from a declared start. It has the steps of every line, in an order in which the lines may
have happened, and hidden steps between them, no more of each than are declared; none comes after the last line. A run
is carried as the positions in the logs, the state, and the properties that failed. Equal runs are one, and a run that
has failed more than another that has failed something is given up. A StepGuide yields the steps that explain a
line: all there are (lockstep.logs.line_steps.LineSteps), or some, proposed by one that knows its system.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import takewhile
from typing import Protocol, TypeAlias

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import BadInputError
from lockstep.base.progress import REPORT_INTERVAL
from lockstep.logs.continuations import NONE, Continuation, ExplainingStep, ReachedState, StartState, add_least
from lockstep.logs.line_order import Order, Positions
from lockstep.logs.log_lines import ThreadLine
from lockstep.tla.state import DistinctKeys, State
from lockstep.tla.values.kinds import Value

#: How many states are carried at most after a line.
MAX_STATES = 10_000

#: How many are carried after a line that follows what is wrong.
MAX_STATES_LATER = 200

#: Called with the number of the line that is to be explained, how many states explain those before it, and how many
#: states, with the hidden steps from them taken, were tried.
OnLine: TypeAlias = Callable[[int, int, int], None]


class StepGuide(Protocol):
    """The steps that explain a line.

    `left_out` has the reasons why not every explanation was tried, if that is so: then nothing is refuted.
    """

    left_out: dict[str, None]

    def starts(self) -> list[Continuation]:
        """Return the initial states that the spec allows, each once, with the properties that fail there."""

    def forget(self) -> None:
        """Forget what was found of the lines so far."""

    def reached(self, begins: Sequence[StartState]) -> list[ReachedState]:
        """Return where hidden steps lead to, whatever the next line is, from any of some states."""

    def explaining(self, state: State, line: ThreadLine, positions: Positions) -> list[Continuation]:
        """Return the continuations of a state that explain a line; `positions`: what was read."""

    def mistake(self, state: State, line: ThreadLine) -> str | None:
        """Return what a line has that the spec cannot have, however it is read; None where there is nothing such."""

    def essence(self, state: State) -> Hashable:
        """Return what of a state matters to the lines to come: states that are equal in it are one."""


@dataclass(slots=True, eq=False)
class ExplainingRun:
    """A behaviour that explains some lines: its last state, and the properties that have failed.

    The last of its `steps` from the run before on are those that explain `line`, of this thread: `taken`; `reached` is
    the state that the hidden ones before them led to.
    """

    state: State
    failed: frozenset[str]
    before: ExplainingRun | None = None
    reached: ReachedState | None = None
    taken: tuple[ExplainingStep, ...] = ()
    thread: int = -1
    line: ThreadLine | None = None

    @property
    def steps(self) -> tuple[ExplainingStep, ...]:
        """The steps from the run before on."""
        return self.taken if self.reached is None else (*self.reached.steps(), *self.taken)

    def whole(self) -> list[ExplainingRun]:
        """Return the runs that led here, from the start on."""
        found: list[ExplainingRun] = []
        run: ExplainingRun | None = self
        while run is not None:
            found.append(run)
            run = run.before
        return found[::-1]


@dataclass(slots=True)
class Spread:
    """The number of states that explained the lines, and how much each variable differed among them.

    `max_states` is the largest number of states after a line; `entropy` is the sum over the lines of the entropy, in
    bits, of each variable's value over the states carried.
    """

    max_states: int = 0
    lines: int = 0
    entropy: dict[str, float] = field(default_factory=dict)

    def count(self, states: Iterable[State]) -> None:
        """Count the states that were carried after a line."""
        listed = list(states)
        self.max_states, self.lines = max(self.max_states, len(listed)), self.lines + 1
        if len(listed) < 2:
            return
        for name, values in zip(listed[0].variables, zip(*listed, strict=True), strict=True):
            self.entropy[name] = self.entropy.get(name, 0.0) + _entropy(values)

    def mean(self) -> dict[str, float]:
        """Return the mean entropy of each variable that was not always the same, the greatest first."""
        rows = sorted(self.entropy.items(), key=lambda row: -row[1])
        return {name: bits / self.lines for name, bits in rows if bits > 0}


def _entropy(values: Iterable[Value]) -> float:
    counts = Counter(values)
    total = counts.total()
    return -sum(count / total * math.log2(count / total) for count in counts.values())


@dataclass(frozen=True, slots=True)
class BlockedLine:
    """A line that nothing explains: the thread, the line, what explains the lines before, and which these are."""

    thread: int
    line: ThreadLine
    runs: tuple[ExplainingRun, ...]
    positions: Positions


class Conclusion(StrEnum):
    """The conclusion about some logs.

    EXPLAINED: some behaviour explains them, and fails no property. VIOLATED: each behaviour that explains them fails
    some. REFUTED: none explains them. UNKNOWN: not all behaviours were tried, and none of those that were fails no
    property.
    """

    EXPLAINED = "explained"
    VIOLATED = "violated"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Explanations:
    """The result of the search.

    `runs` explain all lines; of those that end in one state, one may have failed nothing, and of the others none has
    failed more than another. Where there is none, `blocked` are the lines that could have come next. `left_out` has
    the reasons why not all behaviours were tried. `cut` explain the lines up to where a log is cut, one for each set of
    properties that fails there: what was lost may explain the rest.
    """

    runs: tuple[ExplainingRun, ...]
    blocked: tuple[BlockedLine, ...]
    left_out: tuple[str, ...]
    spread: Spread
    cut: tuple[ExplainingRun, ...] = ()

    def failures(self) -> list[frozenset[str]]:
        """Return the smallest sets of properties that an explanation fails, of those that were found."""
        return smallest(run.failed for run in (*self.runs, *self.cut))

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion that follows."""
        if NONE in {run.failed for run in self.runs}:
            return Conclusion.EXPLAINED
        if self.left_out:
            return Conclusion.UNKNOWN
        return Conclusion.VIOLATED if self.runs or self.cut else Conclusion.REFUTED


def smallest(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the sets that contain no other one, each once."""
    known = set(sets)
    return sorted((each for each in known if not any(other < each for other in known)), key=sorted)


def explain(
    order: Order,
    steps: StepGuide,
    starts: Iterable[Continuation] | None = None,
    max_states: int = MAX_STATES,
    on_line: OnLine = lambda *_: None,
    deadline: Deadline = NEVER,
) -> Explanations:
    """Search for the behaviours that explain the lines of some logs.

    Args:
        order: the logs, and what is known of the order of their lines.
        steps: yields the steps that explain a line.
        starts: the states in which the logs may begin; the initial ones if left out.
        max_states: how many states are carried at most after a line.
        on_line: called now and then with the progress.
        deadline: after which the search is given up.

    Raises:
        BadInputError: a line shows what the spec cannot have, as a field that it does not know.
    """
    return _ExplanationSearch(order, steps, max_states, on_line, deadline).run(
        steps.starts() if starts is None else starts
    )


def longest_explanation(
    order: Order,
    steps: StepGuide,
    positions: Positions,
    starts: Iterable[State],
    max_lines: int,
    deadline: Deadline,
    first: int | None = None,
) -> ExplainingRun:
    """Return a behaviour that explains as many lines after some as can be explained, each in an order that may be.

    Arguments: `positions`, what was read before; `starts`, the states then, at least one; `max_lines`, the number of
    lines that is enough; `deadline`, which ends the search; `first`, the log of the line that must be explained first,
    if one must. What fails does not matter.
    """
    search = _ExplanationSearch(order, steps, MAX_STATES_LATER, lambda *_: None, deadline)
    return search.longest(positions, starts, max_lines, first)


#: Runs by the essence of their states: the one that has failed nothing, if there is one, and others that do not fail
#: more than another.
_Runs = dict[Hashable, list[ExplainingRun]]


#: A run, and how far each log was read.
_Row = tuple[Positions, ExplainingRun]


class _SearchTimeOverError(Exception):
    """The search is given up."""


class _ExplanationSearch:
    def __init__(self, order: Order, steps: StepGuide, max_states: int, on_line: OnLine, deadline: Deadline) -> None:
        self.order, self.steps, self.max_states, self.on_line, self.deadline = (
            order,
            steps,
            max_states,
            on_line,
            deadline,
        )
        self.line = self.states = self.tried = 0
        self.spread = Spread()
        self.cut: dict[frozenset[str], ExplainingRun] = {}

    def run(self, starts: Iterable[Continuation]) -> Explanations:
        carried: dict[Positions, _Runs] = {self.order.start(): {}}
        for path in starts:
            self._add(carried[self.order.start()], ExplainingRun(path.state, path.failed))
        lines = sum(len(thread.lines) for thread in self.order.threads)
        for number in range(lines):
            self._note_cut(carried)
            try:
                after = self._level(number + 1, carried)
            except _SearchTimeOverError:
                self.steps.left_out.setdefault(f"{self.deadline.spent()} at line {number + 1:,} of {lines:,}")
                return self._explained((), ())
            if not after:
                return self._explained((), tuple(self._blocked(carried)))
            carried = self._within_budget(after)
            keys = DistinctKeys()
            states = (alike[0].state for runs in carried.values() for alike in runs.values())
            self.spread.count({keys.key(state): state for state in states}.values())
        return self._explained(tuple(run for runs in carried.values() for each in runs.values() for run in each), ())

    def longest(
        self, positions: Positions, starts: Iterable[State], max_lines: int, first: int | None
    ) -> ExplainingRun:
        carried: dict[Positions, _Runs] = {positions: {}}
        for state in starts:
            self._add(carried[positions], ExplainingRun(state, NONE))
        for number in range(max_lines):
            try:
                after = self._level(number + 1, carried, first if number == 0 else None)
            except (_SearchTimeOverError, BadInputError):  # a later line is not at fault
                break
            if not after:
                break
            carried = self._within_budget(after)
        return next(run for runs in carried.values() for alike in runs.values() for run in alike)

    def _explained(self, runs: tuple[ExplainingRun, ...], blocked: tuple[BlockedLine, ...]) -> Explanations:
        return Explanations(runs, blocked, tuple(self.steps.left_out), self.spread, tuple(self.cut.values()))

    def _note_cut(self, carried: Mapping[Positions, _Runs]) -> None:
        """Note what has failed where a log is cut and others go on: what was lost can only add to that."""
        for positions, runs in carried.items():
            if cut := self.order.cut_short(positions):
                for run in (run for alike in runs.values() for run in alike):
                    self.cut.setdefault(run.failed, run)
                    if not run.failed:
                        self.steps.left_out.setdefault(f"{cut[0].unknown_part()} is not known")

    def _level(
        self, number: int, carried: Mapping[Positions, _Runs], only: int | None = None
    ) -> dict[Positions, _Runs]:
        """Carry on by one line, in every order, or that of one thread `only`; raises _SearchTimeOverError."""
        self.steps.forget()
        self.line, self.states, self.tried = number, sum(map(len, carried.values())), 0
        self.on_line(number, self.states, 0)
        after: dict[Positions, _Runs] = {}
        for positions, runs in carried.items():
            begins = [run for alike in runs.values() for run in alike]
            reached = self.steps.reached(begins)
            for thread in self.order.next(positions) if only is None else (only,):
                for run in self._gone_on(begins, reached, thread, positions):
                    self._add(after.setdefault(self.order.after(positions, thread), {}), run)
        self._refuse_late()
        return after

    def _gone_on(
        self, begins: Sequence[ExplainingRun], reached: Sequence[ReachedState], thread: int, positions: Positions
    ) -> Iterator[ExplainingRun]:
        """Yield what explains the next line of a thread, too."""
        line = self.order.line(positions, thread)
        for each in reached:
            self._count_try()
            for path in self._explaining(each.state, line, thread, positions):
                failed = each.failed | path.failed
                yield ExplainingRun(path.state, failed, begins[each.origin], each, path.steps, thread, line)

    def _count_try(self) -> None:
        self.tried += 1
        if self.tried % REPORT_INTERVAL == 0:
            self.on_line(self.line, self.states, self.tried)
            self._refuse_late()

    def _refuse_late(self) -> None:
        if self.deadline.is_over():
            raise _SearchTimeOverError

    def _explaining(self, state: State, line: ThreadLine, thread: int, positions: Positions) -> list[Continuation]:
        try:
            return self.steps.explaining(state, line, positions)
        except BadInputError as error:
            raise BadInputError(f"{self.order.threads[thread].place(line)}: {error}") from error

    def _blocked(self, carried: Mapping[Positions, _Runs]) -> Iterator[BlockedLine]:
        for positions, runs in carried.items():
            for thread in self.order.next(positions):
                line = self.order.line(positions, thread)
                mistakes = list(takewhile(bool, (self.steps.mistake(alike[0].state, line) for alike in runs.values())))
                if len(mistakes) == len(runs):
                    raise BadInputError(f"{self.order.threads[thread].place(line)}: {mistakes[0]}")
                carried_here = tuple(run for alike in runs.values() for run in alike)
                yield BlockedLine(thread, line, carried_here, positions)

    def _within_budget(self, carried: dict[Positions, _Runs]) -> dict[Positions, _Runs]:
        """Give up the runs that are too many, those that have failed most first."""
        runs = [(positions, run) for positions, each in carried.items() for alike in each.values() for run in alike]
        if len(runs) <= self.max_states:
            return carried
        self.steps.left_out.setdefault(f"more than {self.max_states:,} states fit everything logged up to some line")
        best: dict[Positions, _Runs] = {}
        for positions, run in _some(sorted(runs, key=lambda row: len(row[1].failed)), self.max_states):
            best.setdefault(positions, {}).setdefault(self.steps.essence(run.state), []).append(run)
        return best

    def _add(self, runs: _Runs, run: ExplainingRun) -> None:
        """Add a run, unless one that is alike makes it needless."""
        add_least(runs.setdefault(self.steps.essence(run.state), []), run)


def _some(rows: Sequence[_Row], count: int) -> list[_Row]:
    """Return some of many rows, which are sorted by how much has failed: of the last that are alike in that, every few.

    The first of these alone would all be of the first orders of the lines.
    """
    last = len(rows[count - 1][1].failed)
    sure = [row for row in rows if len(row[1].failed) < last]
    alike = [row for row in rows if len(row[1].failed) == last]
    left = count - len(sure)
    return [*sure, *(alike[number * len(alike) // left] for number in range(left))]
