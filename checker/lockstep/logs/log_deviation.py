"""The deviation of logs that no behaviour explains: the nearest behaviour up to a line, and the lines after it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, TypeAlias

from lockstep.base.deadline import Deadline
from lockstep.conformance.ambiguous_steps import AmbiguousStepCheck
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import MAX_EVENTS, Deviation, LaterSteps, refusal_of
from lockstep.logs.continuations import Continuation
from lockstep.logs.explained_events import ExplainedEvent, claimed_event, explained_events, line_events
from lockstep.logs.explanation_search import BlockedLine, ExplainingRun, longest_explanation
from lockstep.logs.line_order import Order, Positions
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_lines import Claim, ThreadLine
from lockstep.logs.refutation import Reason
from lockstep.tla.spec import Spec
from lockstep.tla.state import DistinctKeys, State
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.probed_values import OtherOutcome
from lockstep.tla.values.quantifier_bounds import KnownValue
from lockstep.trace.trace_format import OBSERVE, Event

#: The lines after a deviation that are explained to compare causes, and the hidden steps tried before each of them.
MAX_LINES_AFTER, MAX_HIDDEN_AFTER = 40, 5_000


@dataclass(frozen=True, slots=True)
class UnexplainedLine:
    """A line that no behaviour explains, with the order of the lines, and the reasons that nearest_reasons returns."""

    blocked: BlockedLine
    order: Order
    reasons: tuple[tuple[Reason, ...], ...]

    @property
    def after(self) -> Positions:
        """The lines that are before what follows the line."""
        return self.order.after(self.blocked.positions, self.blocked.thread)


#: Called with a line that no behaviour explains.
OnUnexplained: TypeAlias = Callable[[UnexplainedLine], None]


def ignore_line(line: UnexplainedLine) -> None:
    """Ignore the line."""


@dataclass(frozen=True, slots=True)
class LogDeviation(Deviation):
    """A behaviour that explains lines of logs, up to the step of a line that it cannot take.

    `explained` are its events with the lines that they are of; `lines_after` is the number of the lines after it that
    are looked at, `thread` the log that it is of, and `following` are its lines there.
    """

    explained: tuple[ExplainedEvent, ...]
    lines_after: int
    thread: int
    following: Sequence[ThreadLine]

    @property
    def unit(self) -> str:
        """The word for one of what is counted."""
        return "line"

    @property
    def later_count(self) -> int:
        """The number of lines after it."""
        return self.lines_after

    def later_shows(self) -> Iterator[Mapping[str, Any]]:
        """Yield what the lines of the same log show after it."""
        node = self.explained[-1].node
        for line in self.following:
            yield from (claim.shows for claim in line.readings[0] if claim.node == node)

    def earlier_shows(self) -> Iterator[Mapping[str, Any]]:
        """Yield what the lines of the same log show before it, the last first."""
        last = self.explained[-1]
        for each in self.explained[-2::-1]:
            if (each.line.source, each.node) == (last.line.source, last.node):
                yield each.event.shows

    def is_witnessed(self, found: LaterSteps) -> bool:
        """Return whether one of the later lines that are explained is of the same log."""
        return self.thread in found.threads

    def source_at(self, place: int) -> str:
        """Return the file of an event's line."""
        return self.explained[place].line.source

    def is_hidden(self, place: int) -> bool:
        """Return whether an event has no line, but comes before one."""
        return self.explained[place].is_hidden


def log_deviation(refuted: UnexplainedLine, reason: Reason, steps: LineSteps) -> tuple[LogDeviation, EventCheck] | None:
    """Return a reason why a line is refuted as a deviation, with the check of its events; None where it has no step.

    Arguments: `steps`, those that explain lines by the spec as it is.
    """
    if reason.args is None:
        return None
    at, line, order = reason.at, refuted.blocked.line, refuted.order
    if not at.claim.action and OBSERVE in steps.spec.actions:  # it would be taken for that action
        return None
    events = [*explained_events(at.run, steps, MAX_EVENTS)]
    events += line_events(line, [at.before], at.run.state, at.path.steps, steps)
    # Where a line repeats a step, what it shows is so after the last one, which need not be this one.
    again = at.claim if at.claim.repeat > 1 and not reason.is_enabled else None
    claim = at.claim if again is None else replace(at.claim, shows={})
    event = claimed_event(line, claim, reason.args, steps.interface)
    events.append(ExplainedEvent(line, event, at.state, at.claim.node))
    kept = tuple(events[-MAX_EVENTS:])
    rest = at.claims[at.taken + 1 :]
    if again is not None:
        known = {name: KnownValue(name, value) for name, value in reason.args.items()}
        rest = (replace(again, args=known, repeat=again.repeat - at.repeated - 1, may_be_over=True), *rest)
    check = EventCheck(kept, rest, steps)
    if check.advance(at.state, line.number, event) is not None:
        return None
    differing, condition = refusal_of(check) if check.result.findings else ("", None)
    left, thread = sum(len(each.lines) for each in order.threads) - sum(refuted.after), refuted.blocked.thread
    deviation = LogDeviation(
        events=tuple((each.line.number, each.event) for each in kept),
        states=tuple(each.before for each in kept),
        later=(),
        has_all=left <= MAX_LINES_AFTER,
        is_whole=len(kept) == len(events) and len(at.run.whole()) <= MAX_EVENTS,
        differing=differing,
        condition=condition,
        explained=kept,
        lines_after=min(left, MAX_LINES_AFTER),
        thread=thread,
        following=order.threads[thread].lines[refuted.after[thread] :][:MAX_LINES_AFTER],
    )
    return deviation, check


class EventCheck(AmbiguousStepCheck):
    """The check of such events; the last of them also needs `rest`: the claims of its line that come after it."""

    def __init__(self, events: Sequence[ExplainedEvent], rest: Sequence[Claim], steps: LineSteps) -> None:
        """Take the events, and the steps that explain lines: those by which the rest of the last line is explained."""
        super().__init__(events[-1].line.source, steps.spec, steps.interface)
        self._nodes = {id(each.event): each.node for each in events}
        self._after = {id(one.event): other.before for one, other in pairwise(events)}
        self._last, self._rest, self.steps = events[-1].event, rest, steps

    def observable(self, state: State, line: int, event: Event) -> Value:
        """Return what the node of an event may show in a state, which need be no string."""
        return self.interface.observable(self.spec, state, self._nodes[id(event)])

    def agrees(self, state: State, after: State, line: int, event: Event) -> bool:
        """Compare what an event shows with the state after it; after the last one, its line must go on."""
        is_last = event is self._last
        return super().agrees(state, after, line, event) and not (is_last and not self.rest_of_line(after))

    def rest_of_line(self, after: State) -> list[State]:
        """Return the states after the claims of the line that follow the last event; none where they do not."""
        paths = [Continuation(after)]
        for claim in self._rest:
            try:
                over = [each for each in paths if claim.may_be_over and self.steps.shows(each.state, claim)]
                more = (self.steps.claimed(each, claim) for each in paths if claim.repeat)
                paths = [*over, *chain.from_iterable(more)]
            except TlaError:
                return []
        return [path.state for path in paths]

    def _is_seen(self, state: State, after: State, line: int, event: Event) -> bool:
        """Return whether a step is that of the behaviour, or else whether the event shows what is so after it."""
        usual = self._after.get(id(event))
        return after == usual if usual is not None else super()._is_seen(state, after, line, event)


class LogSteps(ChangedSteps):
    """Changed steps of a spec that are compared with a behaviour that explains lines, and with the lines after it."""

    def __init__(
        self,
        check: EventCheck,
        probed: Spec,
        refuted: UnexplainedLine,
        reason: Reason,
        steps: LineSteps,
        deadline: Deadline,
    ) -> None:
        """Begin with the check of the events, and the same spec with probes.

        Arguments: `refuted`, the line, and `reason`, why the behaviour does not go on to it; `steps`, which explain
        lines; `deadline`, which ends the search for what explains those after it.
        """
        super().__init__(check, probed)
        self._events, self._refuted, self._run, self._lines = check, refuted, reason.at.run, steps
        self._deadline = deadline
        self._known: dict[Hashable, ExplainingRun] = {}
        self._changed: dict[tuple[OtherOutcome, ...], LineSteps] = {(): steps}
        self._keys = DistinctKeys()

    @property
    def hidden(self) -> Iterable[str]:
        """The actions whose steps need no line."""
        return self._lines.hidden

    @property
    def states_before(self) -> Iterator[State]:
        """The states before the line, that without hidden steps first."""
        return (each.state for each in self._lines.hidden_from(self._run.state))

    def count_explained(self, outcome: OtherOutcome, action: str) -> int:
        """Return how many lines from the refuted one on are explained with another outcome in each step of an action.

        It is 0 where the refuted one is not.
        """
        steps, blocked = self._with_others((outcome,), action), self._refuted.blocked
        most, order = 1 + MAX_LINES_AFTER, self._refuted.order
        found = longest_explanation(
            order, steps, blocked.positions, [self._run.state], most, self._deadline, blocked.thread
        )
        return len(found.whole()) - 1

    def take_as_seen(self, state: State, line: int, event: Event, *outcomes: OtherOutcome) -> State | None:
        """Take a step as `take` does; None also where the event shows something else, or its line does not go on."""
        self._events.steps = self._line_steps(outcomes)
        try:
            return super().take_as_seen(state, line, event, *outcomes)
        finally:
            self._events.steps = self._lines

    def later_without(self, state: State, events: Iterable[tuple[int, Event]]) -> LaterSteps:
        """Return the lines that are explained after those before the deviation's, without any step of its line."""
        return self._with_lines(LaterSteps((self._run.state,), frozenset()), [self._run.state], ())

    def further(self, found: LaterSteps, outcomes: tuple[OtherOutcome, ...]) -> LaterSteps:
        """Return steps up to the last event together with the lines after it that are explained."""
        self._events.steps = self._line_steps(outcomes)
        starts = self._events.rest_of_line(found.states[-1])
        self._events.steps = self._lines
        return self._with_lines(found, starts, outcomes) if starts else found

    def _with_lines(self, found: LaterSteps, starts: Sequence[State], outcomes: tuple[OtherOutcome, ...]) -> LaterSteps:
        runs = self._explained(starts, ()).whole()
        if outcomes and len(runs) <= MAX_LINES_AFTER:
            runs = max(runs, self._explained(starts, outcomes).whole(), key=len)
        again = sum(self._count_changed(run) for run in runs[1:])
        states = (*found.states, *(run.state for run in runs[1:]))
        places = frozenset(range(found.count, found.count + again))
        return LaterSteps(states, found.again | places, tuple(run.thread for run in runs[1:]))

    def _explained(self, starts: Sequence[State], outcomes: tuple[OtherOutcome, ...]) -> ExplainingRun:
        """Return a behaviour that explains as many of the lines after the refuted one as can be explained."""
        key = tuple(map(self._keys.key, starts)), outcomes
        if key not in self._known:
            steps, order, after = self._line_steps(outcomes), self._refuted.order, self._refuted.after
            self._known[key] = longest_explanation(order, steps, after, starts, MAX_LINES_AFTER, self._deadline)
        return self._known[key]

    def _line_steps(self, outcomes: tuple[OtherOutcome, ...]) -> LineSteps:
        if outcomes not in self._changed:
            self._changed[outcomes] = self._with_others(outcomes)
        return self._changed[outcomes]

    def _with_others(self, outcomes: Iterable[OtherOutcome], only: str = "") -> LineSteps:
        """Return the steps that explain lines, with those that have other outcomes, of one action if it is named."""
        each_time = [replace(each, nth=0) for each in outcomes]

        def others(state: State, action: str, args: Mapping[str, Value]) -> list[State]:
            return [] if only not in ("", action) else self.successors(state, action, args, *each_time)

        lines = self._lines
        return LineSteps(lines.spec, lines.interface, lines.hidden, MAX_HIDDEN_AFTER, self._deadline, others)

    def _count_changed(self, run: ExplainingRun) -> int:
        """Return how many of the steps that explain a line are none of the spec as it is."""
        assert run.before is not None
        states = [run.before.state, *(step.state for step in run.steps)]
        return sum(
            step.state not in self._lines.spec.steps(before, step.action, step.args)
            for before, step in zip(states, run.steps, strict=False)
        )
