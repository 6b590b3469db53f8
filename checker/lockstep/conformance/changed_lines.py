"""Causes of a deviation in the trace: a line that alone is wrong, that is too much, or that follows a missing step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from lockstep.base.deadline import Deadline
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation, cause_at, short_value
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError
from lockstep.trace.trace_format import Event

#: The events that must agree after a line for the line alone to be wrong.
MIN_LATER = 5

#: The steps of each action that are put before a line.
MAX_STEPS = 200


@dataclass(slots=True)
class LineSearch:
    """The search for such causes, until its deadline; `notes` say what was not tried."""

    deviation: Deviation
    steps: ChangedSteps
    deadline: Deadline
    notes: list[str] = field(default_factory=list)

    def causes(self) -> Iterator[DeviationCause]:
        """Yield the changes of the trace with which it goes on.

        Only events that come later can show that a line is wrong, and among them the node's own.
        """
        line, event = self.deviation.events[-1]
        state, later, last = self.deviation.states[-1], self.deviation.later, self.deviation.last
        if len(later) < MIN_LATER:
            return
        after = self.steps.plain(state, line, event)
        count = 0 if after is None else self.steps.count_accepted(after, later)
        is_wrong = self._confirms(count)
        if is_wrong:
            yield cause_at(self.deviation, self.steps.check, "value", "", last, 1 + count)
        if self._confirms(count := self.steps.count_accepted(state, later)):
            twin = None if is_wrong else self._twin(event)  # an election, say, may well repeat a step
            kind, what = ("event", "") if twin is None else ("repeated", f"line {twin}")
            yield cause_at(self.deviation, self.steps.check, kind, what, last, 1 + count)
        for step, before in self._steps_before(state):
            count = self.steps.count_accepted(before, [(line, event), *later])
            if self._confirms(count - 1):
                yield cause_at(self.deviation, self.steps.check, "step", step, last, count)

    def _confirms(self, count: int) -> bool:
        """Return whether the first of the later events can show that a line is wrong; where a field differs, by it."""
        node, differing = self.deviation.events[-1][1].node, self.deviation.differing.partition(".")[0]
        own = [event for _, event in self.deviation.later[: max(0, count)] if event.node == node]
        return count >= MIN_LATER and any(not differing or differing in event.shows for event in own)

    def _twin(self, event: Event) -> int | None:
        """Return the line of the node's event before, where it was the same step with the same parameters."""
        before = [each for each in self.deviation.events[:-1] if each[1].node == event.node]
        if not before or (before[-1][1].action, before[-1][1].args) != (event.action, event.args):
            return None
        return before[-1][0]

    def _steps_before(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield steps of every action, of each up to where its arguments have no list, and the states after them."""
        spec = self.steps.check.spec
        for action in spec.actions:
            with suppress(TlaError):
                for args in islice(spec.arguments(state, action), MAX_STEPS):
                    if self.deadline.is_over():
                        self.notes.append("the time was over before all steps that may be missing were tried")
                        return
                    shown = ", ".join(f"{name} = {short_value(value)}" for name, value in args.items())
                    for after in spec.steps(state, action, args):
                        yield f"{action}({shown})", after
