"""The counterexample of a search as a behaviour: of the compiled spec, or of TLC, which prints no arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lockstep.models.search_result import SpecFiles
from lockstep.tla.behaviour import Behaviour, BehaviourStep
from lockstep.tla.exploration import SearchStep, Violation
from lockstep.tla.liveness.lasso_replay import FairnessEvidence
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import ModelValue, TlaError, Value
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc.tlc_result import TlcCounterexample, TlcStep

_INIT = "Init"


def behaviour_of_violation(spec: Spec, violation: Violation) -> Behaviour:
    """Return the behaviour to a violation that a search of the compiled spec found."""
    return behaviour_of_steps(spec, violation.trace, violation.back_to, violation.fairness)


def behaviour_of_steps(
    spec: Spec, steps: Sequence[SearchStep], back_to: int | None = None, fairness: tuple[FairnessEvidence, ...] = ()
) -> Behaviour:
    """Return the behaviour of some steps of a search; see :class:`Violation` for the rest."""
    taken = tuple(
        BehaviourStep(_INIT, {}, "", step.state.as_dict())
        if step.action is None
        else BehaviourStep(step.action, step.args, str(spec.actions[step.action].loc), step.state.as_dict())
        for step in steps
    )
    return Behaviour(taken, back_to, fairness, _back_by(spec, None, taken, back_to))


def behaviour_of_tlc(found: TlcCounterexample) -> Behaviour:
    """Return the behaviour that TLC printed, whose steps have no arguments."""
    first, *others = found.steps
    steps = [BehaviourStep(first.action or _INIT, {}, "", _state(first))]
    steps += [BehaviourStep(each.action, None, _place(each), _state(each)) for each in others]
    if found.back_to is None:
        return Behaviour(tuple(steps), len(steps) - 1 if found.stuttering else None)
    back_to = found.back_to - 1
    return Behaviour(tuple(steps), back_to, back_by=_back_by(None, found.back_action, steps, back_to))


def with_arguments(behaviour: Behaviour, files: SpecFiles) -> Behaviour:
    """Return a behaviour of TLC's with the arguments of its steps: those of the compiled spec between the same states.

    They are left out where there is no such step, as where the spec is outside the language that is compiled. The
    variables come in the order of the spec, which is not that of TLC.
    """
    spec = files.load_if_possible()
    if spec is None:
        return behaviour
    first, *others = (_in_order(step, spec.variables) for step in behaviour.steps)
    steps = [first]
    for step in others:
        steps.append(_taken(spec, step.action, steps[-1].state, step.state) or step)
    back_action = None if behaviour.back_by is None else behaviour.back_by.action
    back_by = _back_by(spec, back_action, steps, behaviour.back_to)
    return Behaviour(tuple(steps), behaviour.back_to, behaviour.fairness, back_by)


def _in_order(step: BehaviourStep, variables: Sequence[str]) -> BehaviourStep:
    names = variables if set(variables) == set(step.state) else step.state
    return replace(step, state={name: step.state[name] for name in names})


def _back_by(
    spec: Spec | None, action: str | None, steps: Sequence[BehaviourStep], back_to: int | None
) -> BehaviourStep | None:
    """Return the step from the last state to the one that a behaviour goes back to, by any known action."""
    if back_to is None or back_to == len(steps) - 1:
        return None
    known = None if spec is None else _taken(spec, action, steps[-1].state, steps[back_to].state)
    return known or (None if action is None else BehaviourStep(action, None, "", steps[back_to].state))


def _state(step: TlcStep) -> dict[str, Value]:
    return {name: _value(text) for name, text in step.variables.items()}


def _value(text: str) -> Value:
    """Read a value; one that cannot be read stands for itself, and is shown as TLC printed it."""
    try:
        return parse_value(text)
    except (ValueError, TlaError, RecursionError):
        return ModelValue(text)


def _taken(
    spec: Spec, action: str | None, before: Mapping[str, Value], after: Mapping[str, Value]
) -> BehaviourStep | None:
    """Return the spec's own step between two states, by the action that TLC names where it names one."""
    try:
        begin, end = spec.state(before), spec.state(after)
        for name, args, reached in spec.successors(begin):
            if reached == end and action in (None, name, *spec.actions[name].labels):
                return BehaviourStep(name, args, str(spec.actions[name].loc), after)
    except (KeyError, TlaError, RecursionError):
        pass
    return None


def _place(step: TlcStep) -> str:
    at = step.location
    return "" if at is None else f"{at.module}.tla:{at.line}:{at.column}"
