"""A trace up to the event at which it leaves the spec, with the states before its last events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lockstep.conformance.causal_past import PlacedEvent, causes, closure
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.run_search import CandidateRun
from lockstep.conformance.trace_check import Events, TraceCheck
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, format_beginning
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event

#: The text of a value in a cause is cut at this length.
MAX_VALUE = 120

#: The last events up to a deviation that are kept, and those after it.
MAX_EVENTS, MAX_LATER = 1000, 100


@dataclass(frozen=True, slots=True)
class LaterSteps:
    """The events of a trace that are steps of the spec from a state on.

    Attributes:
        states: that state, and the one after each event.
        again: the places of those that are steps only with another outcome.
        threads: of events that are lines of logs, the number of the log of each; they are the last ones.
    """

    states: tuple[State, ...]
    again: frozenset[int]
    threads: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of events that are steps."""
        return len(self.states) - 1

    def until_again(self, among: frozenset[int]) -> LaterSteps:
        """Return those before the first, among some places, that is a step only with another outcome."""
        end = min(self.again & among, default=self.count)
        threads = self.threads[: max(0, len(self.threads) - (self.count - end))]
        return LaterSteps(self.states[: end + 1], frozenset(at for at in self.again if at < end), threads)


@dataclass(frozen=True, slots=True)
class Deviation:
    """A trace up to where it leaves the spec.

    `events` are the last ones with their lines, that at which it leaves the spec the last; `states` are those before
    each; `later` are the events after it, all of them if `has_all`. `is_whole`: no event before `events` is left out.
    `differing` is the first field that the trace shows otherwise than the spec, and `condition` the place and text of
    the first condition that is false; empty where it is something else.
    """

    events: tuple[tuple[int, Event], ...]
    states: tuple[State, ...]
    later: tuple[tuple[int, Event], ...]
    has_all: bool
    is_whole: bool
    differing: str
    condition: tuple[str, str] | None

    @property
    def last(self) -> int:
        """The place among the events at which the trace leaves the spec."""
        return len(self.events) - 1

    @property
    def line(self) -> int:
        """The line at which the trace leaves the spec."""
        return self.events[-1][0]

    @property
    def unit(self) -> str:
        """The word for one of what is counted."""
        return "event"

    @property
    def later_count(self) -> int:
        """The number of the events after it that can show what is wrong."""
        return len(self.later)

    def is_witnessed(self, found: LaterSteps) -> bool:
        """Return whether one of the later events that are steps can show that its own is wrong.

        Such are those of the same node; where a field differs, those that show it.
        """
        node, differing = self.events[-1][1].node, self.differing.partition(".")[0]
        own = [event for _, event in self.later[: found.count] if event.node == node]
        return any(not differing or differing in event.shows for event in own)

    def later_shows(self) -> Iterator[Mapping[str, Any]]:
        """Yield what the node shows after it."""
        return (event.shows for _, event in self.later if event.node == self.events[-1][1].node)

    def earlier_shows(self) -> Iterator[Mapping[str, Any]]:
        """Yield what the node shows before it, the last first."""
        return (event.shows for _, event in self.events[-2::-1] if event.node == self.events[-1][1].node)

    def source_at(self, place: int) -> str:
        """Return the file of an event, where the events are of several files; else ""."""
        return ""

    def is_hidden(self, place: int) -> bool:
        """Return whether an event has no line, but comes before one."""
        return False

    def count_accepted(self, check: TraceCheck) -> int:
        """Return how many events from the deviation on another spec allows, given its check of the trace."""
        state = check.initial() if self.is_whole else self.states[0]
        for place, (line, event) in enumerate([*self.events, *self.later]):
            try:
                after = check.advance(state, line, event)
            except (TlaError, TraceError):
                after = None
            if after is None:
                return max(0, place - self.last)
            state = after
        return 1 + len(self.later)

    def past(self, check: TraceCheck) -> list[int]:
        """Return the places of the events that happened before the deviation, and its own, in their order."""
        placed = [PlacedEvent(place, line, event) for place, (line, event) in enumerate(self.events)]
        direct = causes(CandidateRun(tuple(placed), self.states, ()), check)
        return sorted(closure(self.last, direct))


def find_deviation(trace: Events, check: TraceCheck) -> Deviation | None:
    """Take a trace's events up to the one at which it leaves the spec; None where it does not.

    Raises TraceError where it is malformed before that.
    """
    events: deque[tuple[int, Event]] = deque(maxlen=MAX_EVENTS)
    states: deque[State] = deque(maxlen=MAX_EVENTS)
    state, rest = check.initial(), iter(trace)
    for count, (line, event) in enumerate(rest, start=1):
        events.append((line, event))
        states.append(state)
        after = check.advance(state, line, event)
        if after is None:
            differing, condition = refusal_of(check)
            later, has_all = _later(rest)
            return Deviation(tuple(events), tuple(states), later, has_all, count == len(events), differing, condition)
        state = after
    return None


def refusal_of(check: TraceCheck) -> tuple[str, tuple[str, str] | None]:
    """Return why the last event was refused: the field that differs, and the condition that is false, with its place.

    The finding is taken from the check.
    """
    found = check.result.findings.pop()
    is_step = found.kind == "step" and found.spec_line and found.details
    condition = (found.spec_line, found.details[0].partition(": ")[2]) if is_step else None
    return (found.name if found.kind == "shows" else ""), condition


def _later(rest: Iterator[tuple[int, Event]]) -> tuple[tuple[tuple[int, Event], ...], bool]:
    """Return some events after a deviation, up to where the trace can be read, and whether these are all."""
    found: list[tuple[int, Event]] = []
    try:
        for each in islice(rest, MAX_LATER):
            found.append(each)
        return tuple(found), next(rest, None) is None
    except TraceError:
        return tuple(found), False


def cause_at(
    deviation: Deviation,
    check: TraceCheck,
    kind: str,
    what: str,
    place: int,
    accepts: int,
    *,
    at: str = "",
    came_to: str = "",
    would_be: str = "",
    sides: tuple[str, ...] = (),
    evaluation: str = "",
    again: int = 0,
    against: int = 0,
) -> DeviationCause:
    """Return a cause that matters at the event of a place; the other arguments are its attributes."""
    line, event = deviation.events[place]
    is_all = accepts == 1 + deviation.later_count
    return DeviationCause(
        kind=kind,
        what=what,
        line=line,
        action=event.action,
        node=event.node,
        accepts=accepts,
        whole=is_all and deviation.has_all,
        at_least=is_all and not deviation.has_all,
        place=at,
        came_to=came_to,
        would_be=would_be,
        sides=sides,
        evaluation=evaluation,
        again=again,
        against=against,
        unit=deviation.unit,
        source=deviation.source_at(place),
        is_hidden=deviation.is_hidden(place),
        reference=check.interface.locate(event.action),
    )


def short_value(value: Value) -> str:
    """Return the text of a value for a cause, cut where it is long."""
    is_listed = isinstance(value, bool | int | str | ModelValue | tuple | frozenset | Fcn)
    return format_beginning(value, MAX_VALUE) if is_listed else "a set without a list"
