"""Steps of a spec in which an expression comes to something else, and traces that go on after them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, takewhile

from lockstep.base.deadline import NEVER, Deadline
from lockstep.conformance.deviation import LaterSteps
from lockstep.conformance.trace_check import TraceCheck
from lockstep.tla.spec import AmbiguousStep, Spec
from lockstep.tla.state import State
from lockstep.tla.syntax.tree import Location
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.probed_values import OtherOutcome
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event

#: The evaluations of an expression in one step that are changed alone; in a later step, with the same change.
MAX_ALONE, MAX_AGAIN = 16, 4

#: The kinds of expressions that are changed.
KINDS = ("formula", "update", "updates", "use", "number")

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

    def end_by(self, deadline: Deadline) -> None:
        """Let no step take longer than up to a deadline: one that does has no value."""
        self._probes.deadline = deadline

    @property
    def seen(self) -> Mapping[int, Sequence[Value]]:
        """The values that each expression had in the last step that was taken, by number."""
        return self._probes.seen

    def take(self, state: State, line: int, event: Event, *outcomes: OtherOutcome) -> State | None:
        """Take a step with other outcomes; None where it is not enabled, or has no value. An observation is none.

        Without outcomes all expressions are seen, else those and the switches alone.
        """
        every = range(len(self.probed.probed))
        watched = {*self.switches, *(number for each in outcomes for number in _numbers(each))} if outcomes else every
        return self._take(state, line, event, watched, *outcomes)

    def _take(
        self, state: State, line: int, event: Event, watched: Collection[int], *outcomes: OtherOutcome
    ) -> State | None:
        if self.check.reading.is_observation(event):  # no step
            self._probes.begin(())
            return state
        args = self.check.reading.arguments(line, event)
        self._probes.begin(watched, *outcomes)
        try:
            return self.probed.step(state, event.action, args)
        except AmbiguousStep:
            states = self._every(state, event.action, args, watched, *outcomes)
        except (TlaError, RecursionError):
            return None
        finally:
            self._probes.end()
        return next((each for each in states if self._agrees(state, each, line, event)), states[0]) if states else None

    def _every(
        self,
        state: State,
        action: str,
        args: Mapping[str, Value],
        watched: Collection[int],
        *outcomes: OtherOutcome,
    ) -> list[State]:
        """Return the states after a step with other outcomes; none where it has no value."""
        self._probes.begin(watched, *outcomes)
        try:
            return list(self.probed.steps(state, action, args))
        except (TlaError, RecursionError):
            return []
        finally:
            self._probes.end()

    def successors(self, state: State, action: str, args: Mapping[str, Value], *outcomes: OtherOutcome) -> list[State]:
        """Return the states after a step with other outcomes; none where it has no value. What was seen stays."""
        seen = self._probes.seen
        try:
            watched = {number for each in outcomes for number in _numbers(each)}
            return self._every(state, action, args, watched, *outcomes)
        finally:
            self._probes.seen = seen

    def seen_in(self, state: State, action: str, args: Mapping[str, Value]) -> Mapping[int, Sequence[Value]]:
        """Return what a step evaluates, whether it is enabled or not."""
        self._every(state, action, args, range(len(self.probed.probed)))
        return dict(self.seen)

    def goes_on(self, state: State, line: int, event: Event, most: int) -> bool:
        """Return whether one other outcome in a step lets an event be one; numbers differ as `outcomes` says."""
        if self.check.reading.is_observation(event):
            return False
        self.take(state, line, event)
        seen = dict(self.seen)
        return any(self.take_as_seen(state, line, event, each) is not None for each in self.outcomes(seen, most))

    def take_as_seen(self, state: State, line: int, event: Event, *outcomes: OtherOutcome) -> State | None:
        """Take a step as `take` does; None also where the event shows or sent something else."""
        after = self.take(state, line, event, *outcomes)
        return after if after is not None and self._agrees(state, after, line, event) else None

    def _agrees(self, state: State, after: State, line: int, event: Event) -> bool:
        """Return whether an event shows and sent what a step does."""
        try:
            return self.check.agrees(state, after, line, event)
        except (TlaError, TraceError):
            return False
        finally:
            self.check.result.findings.clear()

    def differences(self, state: State, after: State, line: int, event: Event) -> int | None:
        """Return how many values an event shows otherwise than a step, or, where there are none, sent otherwise.

        None where they cannot be compared.
        """
        try:
            self.check.agrees(state, after, line, event)
            return sum(len(each.details) for each in self.check.result.findings)
        except (TlaError, TraceError):
            return None
        finally:
            self.check.result.findings.clear()

    def initial_states(
        self, deadline: Deadline = NEVER
    ) -> Iterator[tuple[OtherOutcome, Mapping[int, Sequence[Value]], State | None]]:
        """Yield other outcomes of what Init evaluates, with all that it does, and the initial state with each.

        The state is None where there is none, or several, or no other one.
        """
        usual = self._initial(2, deadline)
        for outcome, seen, states in self.changed_beginnings(2, deadline):
            yield outcome, seen, states[0] if len(states) == 1 and states != usual else None

    def changed_beginnings(
        self, most: int, deadline: Deadline
    ) -> Iterator[tuple[OtherOutcome, Mapping[int, Sequence[Value]], list[State]]]:
        """Yield other outcomes of what Init evaluates, with all that it does, and the initial states, up to `most`.

        Arguments: `deadline`, after which no more initial states are listed.
        """
        self._initial(most, deadline)
        seen = dict(self.seen)
        for outcome in self.outcomes(seen, 1):
            yield outcome, seen, self._initial(most, deadline, outcome)

    def _initial(self, most: int, deadline: Deadline, *outcomes: OtherOutcome) -> list[State]:
        """Return the first initial states with other outcomes; none where there is no value."""
        every = range(len(self.probed.probed))
        self._probes.begin({number for each in outcomes for number in _numbers(each)} or every, *outcomes)
        try:
            states = islice(self.probed.initial_states(), most)
            return list(takewhile(lambda _: not deadline.is_over(), states))
        except (TlaError, RecursionError):
            return []
        finally:
            self._probes.end()

    def plain(self, state: State, line: int, event: Event) -> State | None:
        """Take a step of the spec as it is, whatever the event shows; an observation changes nothing.

        None where it is not enabled, or has no value.
        """
        if self.check.reading.is_observation(event):
            return state
        args = self.check.reading.arguments(line, event)
        try:
            states = list(dict.fromkeys(self.check.spec.steps(state, event.action, args)))
        except (TlaError, RecursionError):
            return None
        return next((each for each in states if self._agrees(state, each, line, event)), next(iter(states), None))

    def count_accepted(self, state: State, events: Iterable[tuple[int, Event]]) -> int:
        """Return how many events are steps of the spec from a state."""
        return self.later_with(state, events).count

    def later_without(self, state: State, events: Iterable[tuple[int, Event]]) -> LaterSteps:
        """Return the events that are steps of the spec from the state before the deviation, without that."""
        return self.later_with(state, events)

    def later_with(
        self, state: State, events: Iterable[tuple[int, Event]], *outcomes: OtherOutcome, usual: Sequence[State] = ()
    ) -> LaterSteps:
        """Return the events that are steps of the spec from a state, or steps with some outcomes.

        A mistaken rule is mistaken each time: an outcome that explains later events, too, is more likely to be that of
        the rule.

        Arguments: `usual`, the states before the first events without that outcome: where one of them is reached, all
        that follows is as it was, and is left out.
        """
        states, again, given = [state], set(), list(events)
        for place, (line, event) in enumerate(given):
            if state in usual[place : place + 1]:
                break
            try:
                after = self.check.advance(state, line, event)
            except (TlaError, TraceError, RecursionError):
                after = None
            if after is None and outcomes:
                after = self._again(state, line, event, outcomes)
                again |= {place} if after is not None else set()
            if after is None:
                break
            state = after
            states.append(state)
        self.check.result.findings.clear()
        found = LaterSteps(tuple(states), frozenset(again))
        return self.further(found, outcomes) if found.count == len(given) else found

    def further(self, found: LaterSteps, outcomes: tuple[OtherOutcome, ...]) -> LaterSteps:
        """Return steps up to the last event together with what follows that and is no event: here there is nothing."""
        return found

    def evaluated(self, state: State, line: int, event: Event, numbers: Collection[int]) -> frozenset[int]:
        """Return the expressions that a step evaluates, among some."""
        self._take(state, line, event, numbers)
        return frozenset(self.seen)

    def _again(self, state: State, line: int, event: Event, outcomes: Sequence[OtherOutcome]) -> State | None:
        """Take a later step with the same outcomes, in whichever evaluation that agrees with the event."""
        if self.check.reading.is_observation(event):
            return None
        for nth in range(MAX_AGAIN + 1):
            after = self.take_as_seen(state, line, event, *(replace(outcome, nth=nth) for outcome in outcomes))
            if after is not None or all(len(self.seen.get(each.number, ())) <= nth for each in outcomes):
                return after
        return None

    def together(
        self, state: State, line: int, event: Event, deadline: Deadline
    ) -> Iterator[tuple[OtherOutcome, OtherOutcome]]:
        """Yield pairs of formulas of a step that is not enabled: one, and one that is evaluated only with its opposite.

        Such are the conditions of an action, if more than one is false. The deadline ends the search for them.
        """
        every = range(len(self.probed.probed))
        self._take(state, line, event, every)
        usual = dict(self.seen)
        for one in self.outcomes(usual, 0):
            if deadline.is_over():
                return
            if self.probed.probed[one.number].kind != "formula" or one.nth:
                continue
            self._take(state, line, event, every, one)
            new = {number: values for number, values in self.seen.items() if number not in usual}
            for other in self.outcomes(new, 0):
                if self.probed.probed[other.number].kind == "formula" and not other.nth:
                    yield one, other

    def outcomes(self, seen: Mapping[int, Sequence[Value]], most: int) -> Iterator[OtherOutcome]:
        """Yield other outcomes of what a step evaluated.

        Numbers differ by `most` at most, or, if that is more than one, as a sum from a difference.
        """
        for number, values in seen.items():
            probed = self.probed.probed[number]
            if probed.kind not in KINDS or number in self._chosen or probed.text in self._switch_names:
                continue
            numbers = [by * sign for by in range(1, most + 1) for sign in (1, -1)]
            if probed.kind == "number" and probed.sides and most > 1:
                numbers += [by for by in _opposite(seen.get(probed.sides[1], ())) if abs(by) > most]
            for by in numbers if probed.kind == "number" else (0,):
                each = len(values) > 1 and probed.kind != "updates"
                for nth in range(min(len(values), MAX_ALONE) + 1 if each else 1):
                    yield OtherOutcome(number, by, nth)
                if others := tuple(other for other in self._alike.get(number, ()) if _are_alike(other, values, seen)):
                    yield OtherOutcome(number, by, also=others)

    @cached_property
    def _alike(self) -> dict[int, tuple[int, ...]]:
        """The numbers that a definition computes more than once, by the first of them: the others.

        A spec repeats `next - 1` where code has a variable for it, and is mistaken once.
        """
        groups = defaultdict[tuple[str, str], list[int]](list)
        for number, probed in enumerate(self.probed.probed):
            name = self._definition(probed.loc)
            if name and probed.kind == "number" and not probed.text.isdigit():
                groups[name, " ".join(probed.text.split())].append(number)
        return {first: tuple(others) for first, *others in groups.values() if others}

    def _definition(self, loc: Location) -> str:
        """Return the name of the definition around a place; "" where there is none."""
        return next((name for name, each in self.probed.definitions.items() if loc.is_within(each)), "")

    @cached_property
    def switches(self) -> dict[int, str]:
        """The numbers of the formulas that say whether a flaw is in a constant set, each with the flaw."""
        return {number: name for number, name in self._choices.items() if name in self.flaws}

    @cached_property
    def _choices(self) -> dict[int, str]:
        """The numbers of the formulas that say whether a string is in a constant set, each with the string."""
        found = {}
        for number, probed in enumerate(self.probed.probed):
            match = _SWITCH.fullmatch(probed.text)
            if probed.kind == "formula" and match is not None and match[2] in self.probed.constants:
                found[number] = match[1]
        return found

    @cached_property
    def _chosen(self) -> frozenset[int]:
        """The switches, and the formulas that are a definition which names another such choice, as of a feature.

        The trace is of one configuration: a choice is not another one in one step. Where it is used may be wrong.
        """
        bodies = frozenset(self.probed.bodies.values())
        named = {number for number in self._choices if self.probed.probed[number].loc in bodies}
        return frozenset(named | self.switches.keys())

    @cached_property
    def _switch_names(self) -> frozenset[str]:
        """The names of the definitions that are the switch of a flaw."""
        places = {self.probed.probed[number].loc for number in self.switches}
        return frozenset(name for name, loc in self.probed.bodies.items() if loc in places)


def _opposite(right: Sequence[Value]) -> tuple[int, ...]:
    """Return how much a sum differs from a difference, and the other way round, given what was on the right."""
    return (-2 * right[0], 2 * right[0]) if right and type(right[0]) is int else ()


def _are_alike(other: int, values: Sequence[Value], seen: Mapping[int, Sequence[Value]]) -> bool:
    """Return whether a step evaluates another number with the same text to the same values, or not at all.

    Where it comes to something else, its names are bound to something else.
    """
    return set(seen.get(other, values)) == set(values)


def _numbers(outcome: OtherOutcome) -> Iterator[int]:
    """Yield the probes that must be watched for an outcome."""
    yield outcome.number
    yield from outcome.also
    yield from outcome.like.sides if outcome.like is not None else ()
