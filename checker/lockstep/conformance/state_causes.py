"""Causes of a behaviour's deviation that is given by its states: in a step, in the initial state, or in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from lockstep.conformance.cause_search import MAX_DIFFERENCE, CauseSearch
from lockstep.conformance.deviation import cause_at, short_value
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.expression_causes import expression_cause
from lockstep.conformance.nearest_change import nearest_change
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.state_check import differing_variables, is_same
from lockstep.conformance.state_deviation import MAX_STEPS, StateBehaviour, StateDeviation, StateSteps
from lockstep.conformance.stated_rule import stated_rule
from lockstep.conformance.trace_verdict import INIT
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError, Value

#: The steps in which causes are looked for, and the initial states that are compared with the first one of a file.
MAX_CHANGED, MAX_INITIAL = 20, 1_000


def changed_steps(
    behaviour: StateBehaviour, probed: Spec, flaws: frozenset[str] = frozenset()
) -> list[tuple[StateDeviation, StateSteps, bool]]:
    """Return the steps that may have led to the state, and whether one other outcome makes them lead to it.

    These are all such steps, or else the nearest step alone.

    Arguments: `probed`, the spec with probes; `flaws`, as of ChangedSteps.
    """
    found, nearest = list[tuple[StateDeviation, StateSteps, bool]](), None
    for step in behaviour.possible_steps():
        if not behaviour.limit.has_time("all steps to the state were tried"):
            break
        deviation, check = behaviour.by(step)
        steps = StateSteps(check, probed, behaviour, flaws)
        nearest = nearest or (deviation, steps, False)
        if steps.goes_on(deviation.states[-1], *deviation.events[-1], MAX_DIFFERENCE):
            found.append((deviation, steps, True))
        if len(found) == MAX_CHANGED:
            break
    return found or ([] if nearest is None else [nearest])


def step_causes(
    deviation: StateDeviation, steps: StateSteps, limit: SearchLimit, common: frozenset[str], *, goes_on: bool
) -> list[DeviationCause]:
    """Return the expressions that lead to the state where they come to something else, or what is nearest to one.

    Arguments: `common`, modules that many specs share; `goes_on`, whether there is such an expression.
    """
    if goes_on:
        return CauseSearch(deviation, steps, limit, common).decisions([deviation.last])
    nearest = nearest_change(deviation, steps, limit, (), common) or stated_rule(deviation, steps)
    return [] if nearest is None else [nearest]


def initial_state_causes(behaviour: StateBehaviour, probed: Spec, limit: SearchLimit) -> Iterator[DeviationCause]:
    """Yield the expressions of Init with another outcome that makes the first state of a file an initial one."""
    deviation = behaviour.at_the_beginning()
    steps = StateSteps(behaviour.check(behaviour.spec), probed, behaviour)
    steps.end_by(limit.deadline)
    for outcome, seen, states in steps.changed_beginnings(MAX_INITIAL, limit.deadline):
        if not limit.has_time("all expressions of the initial state were tried"):
            return
        if any(is_same(behaviour.refused.given, state) for state in states):
            later = steps.follow(behaviour.given, outcome)
            cause = expression_cause(deviation, steps, outcome, seen, deviation.last, 1 + later.count)
            yield replace(cause, is_initial=True, action=INIT, reference="", again=len(later.again))
        elif len(states) == MAX_INITIAL:
            limit.note_once(f"of the initial states only {MAX_INITIAL:,} were compared with the first state")


def file_causes(deviation: StateDeviation, steps: StateSteps, limit: SearchLimit) -> Iterator[DeviationCause]:
    """Yield the changes of the file with which it goes on: a state is missing, is too much, or is another one."""
    behaviour, last = deviation.behaviour, deviation.last
    before, given = behaviour.refused.before, behaviour.refused.given
    if before is None or behaviour.refused.goes_back:
        return
    if count := _count_showing(steps, before):
        yield cause_at(deviation, steps.check, "event", "", last, 1 + count)
    for action, args, state in _successors(behaviour.spec, before, limit):
        if any(is_same(given, after) for _, _, after in _successors(behaviour.spec, state, limit)):
            shown = ", ".join(f"{name} = {short_value(value)}" for name, value in args.items())
            accepts = 1 + steps.follow(behaviour.given).count
            yield cause_at(deviation, steps.check, "step", f"{action}({shown})", last, accepts)
        is_near = len(differing_variables(given, state)) == 1
        if is_near and (count := _count_showing(steps, state)):
            yield cause_at(deviation, steps.check, "value", "", last, 1 + count)


def _successors(spec: Spec, state: State, limit: SearchLimit) -> Iterator[tuple[str, Mapping[str, Value], State]]:
    """Yield the steps of a spec from a state, within a limit; none where they cannot be listed."""
    with suppress(TlaError):
        for each in islice(spec.successors(state), MAX_STEPS):
            if not limit.has_time("all steps that may be missing were tried"):
                return
            yield each


def _count_showing(steps: StateSteps, state: State) -> int:
    """Return how many states after the one that is refused follow from another one; 0 where none differs from it."""
    later = steps.follow(state)
    return later.count if any(each != state for each in later.states) else 0
