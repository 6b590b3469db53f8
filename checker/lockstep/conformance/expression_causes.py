"""A cause of a deviation that is an expression of the spec: what it came to, and what it would have to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation, cause_at, short_value
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import MAX_EVALUATIONS, OtherOutcome


def expression_cause(
    deviation: Deviation,
    steps: ChangedSteps,
    outcome: OtherOutcome,
    seen: Mapping[int, Sequence[Value]],
    place: int,
    accepts: int,
) -> DeviationCause:
    """Return another outcome of an expression as a cause, given what the step at a place evaluated."""
    probed, at, values = steps.probed.probed[outcome.number], max(0, outcome.nth - 1), seen[outcome.number]
    count = len(values) + sum(len(seen.get(other, ())) for other in outcome.also)
    is_update, sides = probed.kind in ("update", "updates", "use"), probed.sides if probed.kind == "formula" else ()
    return cause_at(
        deviation,
        steps.check,
        probed.kind,
        " ".join(probed.text.split()),
        place,
        accepts,
        at=str(probed.loc),
        evaluation="" if probed.kind == "updates" else _evaluation(outcome, count),
        came_to="" if is_update or at >= len(values) else short_value(values[at]),
        would_be=short_value(values[at] + outcome.by) if probed.kind == "number" and at < len(values) else "",
        sides=tuple(short_value(seen[side][at]) for side in sides if at < len(seen.get(side, ()))),
    )


def is_literal(text: str) -> bool:
    """Return whether an expression is a value that is written down: the last to be blamed."""
    return text.isdigit() or text in ("TRUE", "FALSE")


def _evaluation(outcome: OtherOutcome, count: int) -> str:
    """Return which of the evaluations of an expression in a step are changed, where there are several."""
    return "" if count < 2 else f"{outcome.nth or 'each'} of {count}{' or more' * (count == MAX_EVALUATIONS)}"
