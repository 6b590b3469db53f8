"""Steps of a spec in which an expression comes to something else, and traces that go on after them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from lockstep.conformance.trace_check import TraceCheck
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.syntax.tree import Location
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.probed_values import OtherOutcome
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event

#: The evaluations of an expression in one step that are changed alone; in a later step, with the same change.
MAX_ALONE, MAX_AGAIN = 16, 4

#: The kinds of expressions that are changed.
KINDS = ("formula", "update", "number")

#: A formula that says whether a string is in a constant set.
_SWITCH = re.compile(r'"(\w+)"\s*\\in\s*(\w+)')


class ChangedSteps:
    """Steps of a spec with probes, compared with the events of a trace; `seen` has what the last one evaluated."""

    def __init__(self, check: TraceCheck, probed: Spec, flaws: frozenset[str] = frozenset()) -> None:
        """Begin with the check of a trace, whose own spec has no probes, and the same spec with probes.

        Arguments: `flaws`, the strings that stand for flaws in the spec's constant sets.
        """
        assert probed.probes is not None
        self.check, self.probed, self.flaws, self._probes = check, probed, flaws, probed.probes

    @property
    def seen(self) -> Mapping[int, Sequence[Value]]:
        """The values that each expression had in the last step that was taken, by number."""
        return self._probes.seen

    def take(self, state: State, line: int, event: Event, *outcomes: OtherOutcome) -> State | None:
        """Take a step with other outcomes; None where it is not enabled, or has no value. An observation is none.

        Without outcomes all expressions are seen, else those and the switches alone.
        """
        if self.check.reading.is_observation(event):  # no step
            self._probes.begin(())
            return state
        every = range(len(self.probed.probed))
        self._probes.begin({*self.switches, *(each.number for each in outcomes)} if outcomes else every, *outcomes)
        try:
            return self.probed.step(state, event.action, self.check.reading.arguments(line, event))
        except (TlaError, RecursionError):
            return None
        finally:
            self._probes.end()

    def take_as_seen(self, state: State, line: int, event: Event, *outcomes: OtherOutcome) -> State | None:
        """Take a step as `take` does; None also where the event shows or sent something else."""
        after = self.take(state, line, event, *outcomes)
        if after is None:
            return None
        try:
            return after if self.check.agrees(state, after, line, event) else None
        except (TlaError, TraceError):
            return None
        finally:
            self.check.result.findings.clear()

    def plain(self, state: State, line: int, event: Event) -> State | None:
        """Take a step of the spec as it is, whatever the event shows; an observation changes nothing.

        None where it is not enabled, or has no value.
        """
        if self.check.reading.is_observation(event):
            return state
        try:
            return self.check.spec.step(state, event.action, self.check.reading.arguments(line, event))
        except (TlaError, RecursionError):
            return None

    def count_accepted(self, state: State, events: Iterable[tuple[int, Event]]) -> int:
        """Return how many events are steps of the spec from a state."""
        return self.count_with(state, events, None)[0]

    def count_with(
        self, state: State, events: Iterable[tuple[int, Event]], outcome: OtherOutcome | None
    ) -> tuple[int, int]:
        """Return how many events are steps of the spec from a state, and how many of them only with an outcome.

        A mistaken rule is mistaken each time: an outcome that explains later events, too, is more likely to be that of
        the rule.
        """
        count = again = 0
        for line, event in events:
            try:
                after = self.check.advance(state, line, event)
            except (TlaError, TraceError, RecursionError):
                after = None
            if after is None and outcome is not None:
                after = self._again(state, line, event, outcome)
                again += after is not None
            if after is None:
                break
            state, count = after, count + 1
        self.check.result.findings.clear()
        return count, again

    def _again(self, state: State, line: int, event: Event, outcome: OtherOutcome) -> State | None:
        """Take a later step with the same outcome, in whichever evaluation that agrees with the event."""
        if self.check.reading.is_observation(event):
            return None
        for nth in range(MAX_AGAIN + 1):
            after = self.take_as_seen(state, line, event, replace(outcome, nth=nth))
            if after is not None or len(self.seen.get(outcome.number, ())) <= nth:
                return after
        return None

    def outcomes(self, seen: Mapping[int, Sequence[Value]], most: int) -> Iterator[OtherOutcome]:
        """Yield other outcomes of what a step evaluated; numbers differ by `most` at most."""
        for number, values in seen.items():
            probed = self.probed.probed[number]
            if probed.kind not in KINDS or number in self.switches or probed.text in self._switch_names:
                continue
            numbers = [by * sign for by in range(1, most + 1) for sign in (1, -1)]
            for by in numbers if probed.kind == "number" else (0,):
                for nth in range(min(len(values), MAX_ALONE) + 1 if len(values) > 1 else 1):
                    yield OtherOutcome(number, by, nth)

    @cached_property
    def switches(self) -> dict[int, str]:
        """The numbers of the formulas that say whether a flaw is in a constant set, each with the flaw."""
        found = {}
        for number, probed in enumerate(self.probed.probed):
            match = _SWITCH.fullmatch(probed.text)
            if probed.kind == "formula" and match is not None and match[1] in self.flaws:
                found[number] = match[1]
        return found

    @cached_property
    def _switch_names(self) -> frozenset[str]:
        """The names of the definitions that are such a formula."""
        places = {_end(self.probed.probed[number].loc) for number in self.switches}
        return frozenset(name for name, loc in self.probed.definitions.items() if _end(loc) in places)


def _end(loc: Location) -> tuple[str, int, int]:
    return loc.module, loc.end_line, loc.end_column
