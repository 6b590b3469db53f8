"""Causes of a deviation in the trace: a line that alone is wrong, that is too much, or that follows a missing step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation, LaterSteps, cause_at, short_value
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.search_limit import SearchLimit
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.quantifier_bounds import KnownValue
from lockstep.trace.trace_format import Event

#: The events that must agree after a line for the line alone to be wrong.
MIN_LATER = 5

#: The steps of each action that are put before a line, and the strings of later events that are tried as arguments.
MAX_STEPS, MAX_WORDS = 200, 4


@dataclass(slots=True)
class LineSearch:
    """The search for such causes, within its limit."""

    deviation: Deviation
    steps: ChangedSteps
    limit: SearchLimit

    def causes(self) -> Iterator[DeviationCause]:
        """Yield the changes of the trace with which it goes on.

        Only events that come later can show that a line is wrong, and among them the node's own.
        """
        line, event = self.deviation.events[-1]
        state, later, last = self.deviation.states[-1], self.deviation.later, self.deviation.last
        after = self.steps.plain(state, line, event)
        found = None if after is None else self.steps.later_with(after, later)
        is_wrong = found is not None and self._confirms(found) and not self._is_shown(self.deviation.later_shows())
        if found is not None and is_wrong:
            yield cause_at(self.deviation, self.steps.check, "value", "", last, 1 + found.count)
        found = self.steps.later_without(state, later)
        is_change = self._is_shown(self.deviation.later_shows()) and not self._is_shown(self.deviation.earlier_shows())
        if self._confirms(found) and not is_change:
            twin = None if is_wrong else self._twin(event)  # an election, say, may well repeat a step
            kind, what = ("event", "") if twin is None else ("repeated", f"line {twin[0]}")
            yield cause_at(self.deviation, self.steps.check, kind, what, last, 1 + found.count)
        elif self._are_all(found.count) and (twin := self._twin(event)) is not None and _alike(twin[1], event):
            yield cause_at(self.deviation, self.steps.check, "repeated", f"line {twin[0]}", last, 1 + found.count)
        for step, before in self._steps_before(state):
            count = self.steps.count_accepted(before, [(line, event), *later])
            if count > MIN_LATER or (count and self._are_all(count - 1)):
                yield cause_at(self.deviation, self.steps.check, "step", step, last, count)

    def _confirms(self, found: LaterSteps) -> bool:
        """Return whether the later events that are steps can show that a line is wrong."""
        return found.count >= MIN_LATER and self.deviation.is_witnessed(found)

    def _is_shown(self, shows: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether the node shows in the first of some events what the line shows otherwise than the spec.

        Where the next does so, and the spec agrees, a step after the line came to the same: nothing shows then that
        what the line shows is wrong, nor that there was no step, unless it was so before the line.
        """
        event, path = self.deviation.events[-1][1], self.deviation.differing.split(".")
        first = next((each for each in shows if path[0] in each), None)
        return first is not None and _shown(first, path) == _shown(event.shows, path)

    def _are_all(self, count: int) -> bool:
        """Return whether the trace has events after the deviation, and this is their number."""
        return 0 < count == self.deviation.later_count and self.deviation.has_all

    def alone(self) -> DeviationCause | None:
        """Return that the line alone is wrong, where all that follows agrees, though it may not show that."""
        line, event = self.deviation.events[-1]
        after = self.steps.plain(self.deviation.states[-1], line, event)
        count = 0 if after is None else self.steps.count_accepted(after, self.deviation.later)
        if not self._are_all(count) or self._is_shown(self.deviation.later_shows()):
            return None
        return cause_at(self.deviation, self.steps.check, "value", "", self.deviation.last, 1 + count)

    def _twin(self, event: Event) -> tuple[int, Event] | None:
        """Return the node's event before, with its line, where it was the same step with the same parameters."""
        before = [each for each in self.deviation.events[:-1] if each[1].node == event.node]
        if not before or (before[-1][1].action, before[-1][1].args) != (event.action, event.args):
            return None
        return before[-1]

    def _steps_before(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield steps of every action, of each up to where its arguments have no list, and the states after them."""
        spec, given = self.steps.check.spec, self._new_words()
        for action, info in spec.actions.items():
            for hints in ({}, *({name: KnownValue(name, word)} for word in given for name in info.params)):
                with suppress(TlaError):
                    for args in islice(spec.arguments(state, action, hints), MAX_STEPS):
                        if not self.limit.has_time("all steps that may be missing were tried"):
                            return
                        shown = ", ".join(f"{name} = {short_value(value)}" for name, value in args.items())
                        for after in spec.steps(state, action, args):
                            yield f"{action}({shown})", after

    def _new_words(self) -> list[Value]:
        """Return the first strings of the events from the deviation on that no event before it has.

        A step that is missing may have one as an argument: it is from a set without a list, such as a client's values.
        """
        known = {word for _, event in self.deviation.events[:-1] for word in _words(event)}
        events = [self.deviation.events[-1], *self.deviation.later]
        new = dict.fromkeys(word for _, event in events for word in _words(event) if word not in known)
        strings = self.steps.check.reading.words.strings
        return [strings.get(word, word) for word in islice(new, MAX_WORDS)]


def _shown(shows: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return what an event shows at a path; None where it shows nothing there."""
    shown: Any = shows
    for key in path:
        shown = shown.get(key) if isinstance(shown, Mapping) else None
    return shown


def _alike(event: Event, other: Event) -> bool:
    """Return whether two events show and sent the same."""
    return (event.shows, event.sent) == (other.shows, other.sent)


def _words(event: Event) -> Iterator[str]:
    """Yield the strings that an event names, but for keys."""
    pending: list[Any] = [event.sent, event.shows, event.args]
    while pending:
        match pending.pop():
            case str(word):
                yield word
            case dict() as fields:
                pending += reversed(fields.values())
            case list() as elements:
                pending += reversed(elements)
