"""What the spec lets be seen of a state, as lines show it."""

from __future__ import annotations

from collections.abc import Callable

from lockstep.logs.lines import Claim
from lockstep.logs.steps.path import values_at
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, TlaError, Value, format_value


def seen(spec: Spec, observe: str, state: State, claim: Claim) -> Value:
    """Return what a state shows: what the definition `observe` gives, of the claim's node if it takes one.

    Raises TlaError where it has no value.
    """
    if observe not in spec.definitions:
        return Fcn(dict(state.as_dict()))
    return spec.evaluate(observe, state, *([claim.node] if spec.arity(observe) else []))


def unknown_node(spec: Spec, observe: str, claim: Claim) -> str | None:
    """Say that a line's node cannot be observed, not even in the first state; None where it can be."""
    if claim.node is None or not claim.shows:
        return None
    try:
        seen(spec, observe, next(iter(spec.initial_states())), claim)
    except TlaError as error:
        return f"`node`: {observe}({format_value(claim.node)}) has no value: {error}"
    return None


def what_is_read(spec: Spec, observe: str) -> Callable[[State], tuple[Value, ...]]:
    """Return what takes from a state the variables that an observation reads, all where that is not known."""
    try:
        read = {path[0] for path in spec.footprint(observe)}
    except KeyError:
        return lambda state: state
    return values_at([number for number, name in enumerate(spec.variables) if name in read])
