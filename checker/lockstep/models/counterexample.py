"""The counterexample of a search, as a behaviour: of the compiled spec, or of TLC, which tells no arguments itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lockstep.base.errors import BadInputError, EnvironmentFailedError, GaveUpError
from lockstep.tla.behaviour import Behaviour, Taken
from lockstep.tla.explore import Step, Violation
from lockstep.tla.liveness.lasso_replay import Met
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import ModelValue, TlaError, Value
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc.tlc_result import Counterexample, TlcStep

_INIT = "Init"


def of_search(spec: Spec, violation: Violation) -> Behaviour:
    """Return the behaviour that a search of the compiled spec found."""
    return of_steps(spec, violation.trace, violation.back_to, violation.met)


def of_steps(spec: Spec, steps: Sequence[Step], back_to: int | None = None, met: tuple[Met, ...] = ()) -> Behaviour:
    """Return the behaviour that some steps of a search are; see :class:`Violation` for the rest."""
    taken = tuple(
        Taken(_INIT, {}, "", step.state.as_dict())
        if step.action is None
        else Taken(step.action, step.args, str(spec.actions[step.action].loc), step.state.as_dict())
        for step in steps
    )
    return Behaviour(taken, back_to, met, _back_by(spec, None, taken, back_to))


def of_tlc(
    found: Counterexample, module: Path, cfg: Path, search_path: Sequence[Path] = (), jar: Path | None = None
) -> Behaviour:
    """Return the behaviour that TLC printed.

    TLC names a step's action and no argument: these are those of a step of the compiled spec between the same two
    states. They are left out where there is none, as where the spec is outside the language that is compiled.

    Arguments: `module`, `cfg` and `search_path`, what TLC was given; `jar`, the tla2tools to use.
    """
    spec = _compiled(module, cfg, search_path, jar)
    states = [_state(step, () if spec is None else spec.variables) for step in found.steps]
    steps = [Taken(found.steps[0].action or _INIT, {}, "", states[0])]
    for step, before, after in zip(found.steps[1:], states, states[1:], strict=False):
        known = None if spec is None else _taken(spec, step.action, before, after)
        steps.append(known or Taken(step.action, None, _place(step), after))
    if found.back_to is None:
        return Behaviour(tuple(steps), len(steps) - 1 if found.stuttering else None)
    back_to = found.back_to - 1
    return Behaviour(tuple(steps), back_to, back_by=_back_by(spec, found.back_action, steps, back_to))


def _back_by(spec: Spec | None, action: str | None, steps: Sequence[Taken], back_to: int | None) -> Taken | None:
    """Return the step from the last state to the one that a behaviour goes back to, by the action if it is told."""
    if back_to is None or back_to == len(steps) - 1:
        return None
    known = None if spec is None else _taken(spec, action, steps[-1].state, steps[back_to].state)
    return known or (None if action is None else Taken(action, None, "", steps[back_to].state))


def _compiled(module: Path, cfg: Path, search_path: Sequence[Path], jar: Path | None) -> Spec | None:
    try:
        return load_spec(module, cfg, search_path=search_path, jar=jar)
    except (BadInputError, GaveUpError, EnvironmentFailedError, TlaError, RecursionError):
        return None  # TLC's verdict stands, whatever keeps us from telling the arguments


def _state(step: TlcStep, order: Sequence[str]) -> dict[str, Value]:
    """Read a state; its variables come in the order of the spec, which is not that of TLC."""
    names = order if set(order) == set(step.variables) else step.variables
    return {name: _value(step.variables[name]) for name in names}


def _value(text: str) -> Value:
    """Read a value; one that cannot be read stands for itself, and is shown as TLC printed it."""
    try:
        return parse_value(text)
    except (ValueError, TlaError, RecursionError):
        return ModelValue(text)


def _taken(spec: Spec, action: str | None, before: Mapping[str, Value], after: Mapping[str, Value]) -> Taken | None:
    """Return the spec's own step between two states, by the action that TLC names where it names one."""
    try:
        begin, end = spec.state(before), spec.state(after)
        for name, args, reached in spec.successors(begin):
            if reached == end and action in (None, name, *spec.actions[name].labels):
                return Taken(name, args, str(spec.actions[name].loc), after)
    except (KeyError, TlaError, RecursionError):
        pass
    return None


def _place(step: TlcStep) -> str:
    at = step.location
    return "" if at is None else f"{at.module}.tla:{at.line}:{at.column}"
