"""The check of events whose action may have several next states: the one that agrees with the event is taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.tla.spec import AmbiguousStep, Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event


@dataclass(frozen=True, slots=True)
class NamedTrace:
    """A trace without events: they are given one by one."""

    source: str

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield nothing."""
        return iter(())


class AmbiguousStepCheck(TraceCheck):
    """The check of events that are given one by one, and say little of some steps."""

    def __init__(self, source: str, spec: Spec, interface: Interface) -> None:
        """Prepare the check of events of a file."""
        super().__init__(NamedTrace(source), spec, interface)

    def _step(self, state: State, line: int, event: Event) -> State | None:
        """Take an event's step; where there are several, the first that agrees with it, and else the first."""
        try:
            return super()._step(state, line, event)
        except AmbiguousStep:
            states = list(self.spec.steps(state, event.action, self.reading.arguments(line, event)))
            return next((each for each in states if self._is_seen(state, each, line, event)), states[0])

    def _shows(self, after: State, line: int, event: Event) -> bool:
        """Compare what an event shows with a state; what cannot be compared, as a key that is not there, differs."""
        try:
            return super()._shows(after, line, event)
        except TraceError as error:
            self._found("shows", "", line, event, [str(error)], "")
            return False

    def _is_seen(self, state: State, after: State, line: int, event: Event) -> bool:
        """Return whether an event shows what is so in the state after a step; nothing is found wrong with it."""
        known = len(self.result.findings)
        try:
            with suppress(TlaError, TraceError):
                return self.agrees(state, after, line, event)
            return False
        finally:
            del self.result.findings[known:]
