"""The deviation of a behaviour given by its states: the steps that may have led to a state, and what follows it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile

from lockstep.conformance.ambiguous_steps import AmbiguousStepCheck
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import MAX_EVENTS, Deviation, LaterSteps, refusal_of
from lockstep.conformance.json_values import to_tree
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.state_check import (
    RefusedState,
    SpecStep,
    StateCheck,
    different_parts,
    differing_variables,
    is_same,
)
from lockstep.conformance.trace_check import TraceCheck
from lockstep.conformance.trace_verdict import INIT
from lockstep.tla.spec import Spec
from lockstep.tla.state import DistinctKeys, State
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.probed_values import OtherOutcome
from lockstep.tla.values.quantifier_bounds import Matching
from lockstep.trace.trace_format import Event

#: The steps from a state that are tried, the arguments of each action among them, and the states after a deviation.
MAX_STEPS, MAX_ARGUMENTS, MAX_STATES_AFTER = 1_000, 200, 30


@dataclass(frozen=True, slots=True)
class PossibleStep:
    """A step that may have led to a state: its action, with its arguments.

    `differing` is the number of variables in which the state is another one; None where the action is not enabled.
    """

    action: str
    args: Mapping[str, Value]
    differing: int | None


class StateBehaviour:
    """A behaviour that is given by its states, up to the first that the spec does not allow: `refused`, or `given`.

    `refused_line` is the line of the file at which it is refused; `after` has the states that its events lead to, by
    the identity of the events.
    """

    def __init__(self, check: StateCheck, refused: RefusedState, limit: SearchLimit) -> None:
        """Take the check that came to the state; the limit ends the search for what follows."""
        self.checked, self.refused, self.limit, self.spec = check, refused, limit, check.spec
        self.interface = replace(check.interface, observe="")  # each event shows all variables
        self.after: dict[int, tuple[Event, Mapping[str, Value]]] = {}
        self.given = self.spec.state(refused.given)
        last = len(check.trace.states) - 1
        self.refused_line = check.trace.states[last if refused.goes_back else refused.index].line

    @cached_property
    def following(self) -> list[Mapping[str, Value]]:
        """The states after it that are looked at; the one that a loop goes back to is the last."""
        states, first = self.checked.trace.states, self.refused.index + 1
        if self.refused.goes_back:
            return []
        found: list[Mapping[str, Value]]
        found = [self.checked.values(index) for index in range(first, min(len(states), first + MAX_STATES_AFTER))]
        loop = self.checked.trace.loop
        return [*found, self.checked.values(loop)] if loop is not None and first + len(found) == len(states) else found

    @property
    def has_all(self) -> bool:
        """Whether no state after it is left out."""
        return self.refused.goes_back or len(self.checked.trace.states) - self.refused.index - 1 <= MAX_STATES_AFTER

    def check(self, spec: Spec) -> TraceCheck:
        """Return the check of the events against a spec."""
        return StateEventCheck(self, spec)

    def possible_steps(self) -> list[PossibleStep]:
        """Return the steps that may have led to the state, that which the file names or else any, the nearest first."""
        before, given = self.refused.before, self.refused.given
        if before is None:
            return []
        claim = None if self.refused.goes_back else self.checked.claimed_step(self.refused.index)
        steps = [claim] if claim is not None else self.all_steps(before)
        found = [self._possible(before, action, args, given) for action, args in steps]
        return sorted(found, key=lambda step: (step.differing is None, step.differing or 0))

    def all_steps(self, state: State) -> list[tuple[str, Mapping[str, Value]]]:
        """Return the steps of every action, enabled or not, with all arguments that can be listed, up to a limit."""
        found = list[tuple[str, Mapping[str, Value]]]()
        for action, info in self.spec.actions.items():
            every, count = {name: Matching(name) for name in info.params}, 0
            with suppress(TlaError):
                for args in islice(self.spec.arguments(state, action, every), MAX_ARGUMENTS):
                    found.append((action, args))
                    count += 1
            if count == MAX_ARGUMENTS:
                self.limit.note_once(f"of {action} only {MAX_ARGUMENTS} arguments were tried")
        if len(found) > MAX_STEPS:
            self.limit.note_once(f"only {MAX_STEPS:,} of the steps that may lead to the state were tried")
        return found[:MAX_STEPS]

    def by(self, step: PossibleStep) -> tuple[StateDeviation, TraceCheck]:
        """Return the deviation, if a step led to the state, with the check of its events."""
        assert self.refused.before is not None
        event = self._event(self.refused.index, self.refused_line, step.action, step.args, self.given)
        events, check = (*self._earlier, event), self.check(self.spec)
        check.advance(self.refused.before, *event)
        differing, condition = refusal_of(check) if check.result.findings else ("", None)
        is_whole = len(self._taken) == len(self._earlier)
        states = [self.checked.taken[0].state, *(each.state for _, each in self._taken)]
        kept = tuple(states[-len(events) :])
        return StateDeviation(events, kept, (), self.has_all, is_whole, differing, condition, self), check

    @cached_property
    def _taken(self) -> list[tuple[int, SpecStep]]:
        """The steps before the state, each with the line of the state that it leads to; none that changes nothing."""
        states = [state.line for state in self.checked.trace.states]
        return [(line, step) for line, step in zip(states[1:], self.checked.taken[1:], strict=False) if step.action]

    @cached_property
    def _earlier(self) -> tuple[tuple[int, Event], ...]:
        """The events of the last of these steps."""
        kept = self._taken[-(MAX_EVENTS - 1) :]
        return tuple(self._event(0, line, step.action, step.args, step.state) for line, step in kept)

    def at_the_beginning(self) -> StateDeviation:
        """Return the deviation of a first state that is no initial one."""
        event = self._event(0, self.refused_line, INIT, {}, self.given)
        return StateDeviation((event,), (self.given,), (), self.has_all, True, "", None, self)

    def leads(self, spec: Spec, state: State, at: int) -> bool:
        """Return whether a step of a spec leads from a state to one of those after the deviation, or none is needed."""
        given, index = self.following[at], self.refused.index + 1 + at
        claim = self.checked.claimed_step(index) if index < len(self.checked.trace.states) else None
        with suppress(TlaError):
            if is_same(given, state) or (claim and any(is_same(given, after) for after in spec.steps(state, *claim))):
                return True
            return any(is_same(given, after) for _, _, after in spec.successors(state))
        return False

    def _possible(
        self, before: State, action: str, args: Mapping[str, Value], given: Mapping[str, Value]
    ) -> PossibleStep:
        counts = list[int]()
        with suppress(TlaError):
            counts = [len(differing_variables(given, after)) for after in self.spec.steps(before, action, args)]
        return PossibleStep(action, args, min(counts, default=None))

    def _event(self, index: int, line: int, action: str, args: Mapping[str, Value], state: State) -> tuple[int, Event]:
        event = Event(index, "", action, {name: to_tree(value, self.interface.words) for name, value in args.items()})
        self.after[id(event)] = event, state.as_dict()
        return line, event


class StateEventCheck(AmbiguousStepCheck):
    """The check of the events of a behaviour that is given by its states: each must lead to the whole state."""

    def __init__(self, behaviour: StateBehaviour, spec: Spec) -> None:
        """Take the behaviour, and the spec that its events are checked against."""
        super().__init__(behaviour.checked.trace.source, spec, behaviour.interface)
        self._behaviour = behaviour

    def agrees(self, state: State, after: State, line: int, event: Event) -> bool:
        """Compare the state that an event leads to with the one after a step; what differs is a finding."""
        given = self._behaviour.after[id(event)][1]
        parts = [
            part
            for name in differing_variables(given, after)
            for part in different_parts(name, given[name], after[name], self.interface.words)
        ]
        if parts:
            self._found("shows", parts[0][0], line, event, [path for path, _, _ in parts], "")
        return not parts


@dataclass(frozen=True, slots=True)
class StateDeviation(Deviation):
    """A behaviour that is given by its states, up to the step to one that the spec does not allow."""

    behaviour: StateBehaviour

    @property
    def unit(self) -> str:
        """The word for one of what is counted."""
        return "state"

    @property
    def later_count(self) -> int:
        """The number of states after it."""
        return len(self.behaviour.following)

    def count_accepted(self, check: TraceCheck) -> int:
        """Return how many states from the deviation on another spec allows, given its check of the trace."""
        if not Deviation.count_accepted(self, check):
            return 0
        states, spec = [self.behaviour.given, *map(check.spec.state, self.behaviour.following)], check.spec
        leads = (self.behaviour.leads(spec, state, at) for at, state in enumerate(states[:-1]))
        return 1 + sum(1 for _ in takewhile(bool, leads))


class StateSteps(ChangedSteps):
    """Changed steps of a spec that are compared with a behaviour, and with the states that it is given by."""

    def __init__(
        self, check: TraceCheck, probed: Spec, behaviour: StateBehaviour, flaws: frozenset[str] = frozenset()
    ) -> None:
        """Begin with the check of its events, and the same spec with probes; `flaws` as of ChangedSteps."""
        super().__init__(check, probed, flaws)
        self._behaviour = behaviour
        self._keys = DistinctKeys()
        self._known: dict[Hashable, LaterSteps] = {}

    def further(self, found: LaterSteps, outcomes: tuple[OtherOutcome, ...]) -> LaterSteps:
        """Return steps up to the last event together with the states of the file that follow it."""
        more = self.follow(found.states[-1], *outcomes)
        again = found.again | frozenset(found.count + at for at in more.again)
        return LaterSteps((*found.states, *more.states[1:]), again)

    def follow(self, state: State, *outcomes: OtherOutcome) -> LaterSteps:
        """Return the states of the file after the deviation that follow from a state by steps, or by changed ones."""
        key = self._keys.key(state), outcomes
        if key not in self._known:
            self._known[key] = self._follow(state, [replace(each, nth=0) for each in outcomes])
        return self._known[key]

    def _follow(self, state: State, outcomes: Sequence[OtherOutcome]) -> LaterSteps:
        states, again, behaviour = [state], set[int](), self._behaviour
        for at, given in enumerate(behaviour.following):
            if behaviour.limit.deadline.is_over():
                break
            if not behaviour.leads(self.check.spec, states[-1], at):
                if not outcomes or not self._changes_to(states[-1], given, outcomes):
                    break
                again.add(at)
            states.append(behaviour.spec.state(given))
        return LaterSteps(tuple(states), frozenset(again))

    def _changes_to(self, state: State, given: Mapping[str, Value], outcomes: Sequence[OtherOutcome]) -> bool:
        """Return whether some step with other outcomes leads to given values."""
        steps = self._behaviour.all_steps(state)
        return any(is_same(given, after) for step in steps for after in self.successors(state, *step, *outcomes))
