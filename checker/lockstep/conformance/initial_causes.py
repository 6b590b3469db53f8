"""Causes of a deviation in the initial state of the spec: one outcome is changed there, and the trace goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation, LaterSteps
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.expression_causes import expression_cause
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.trace_verdict import INIT
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import OtherOutcome


@dataclass(frozen=True, slots=True)
class ChangedBeginning:
    """An initial state with another outcome of an expression.

    `seen` is what Init evaluates, and `later` are the events of the trace that are steps from that state on.
    """

    outcome: OtherOutcome
    seen: Mapping[int, Sequence[Value]]
    later: LaterSteps


def changed_beginnings(deviation: Deviation, steps: ChangedSteps, limit: SearchLimit) -> Iterator[ChangedBeginning]:
    """Yield the changes of the initial state; none where the beginning of the trace was left out."""
    events = [*deviation.events, *deviation.later]
    for outcome, seen, state in steps.initial_states(limit.deadline) if deviation.is_whole else ():
        if not limit.has_time("all expressions of the initial state were tried"):
            return
        if state is None:
            continue
        later = steps.later_with(state, events, outcome, usual=deviation.states)
        yield ChangedBeginning(outcome, seen, later)


def initial_causes(
    deviation: Deviation, steps: ChangedSteps, beginnings: Iterable[ChangedBeginning]
) -> Iterator[DeviationCause]:
    """Yield the expressions of Init that let the trace go on past the deviation where they come to something else."""
    for each in beginnings:
        accepts = each.later.count - deviation.last
        if accepts > 0:
            yield initial_cause(deviation, steps, each, accepts)


def initial_cause(deviation: Deviation, steps: ChangedSteps, changed: ChangedBeginning, accepts: int) -> DeviationCause:
    """Return another outcome of an expression as a cause in the initial state, which is before the first event."""
    found = expression_cause(deviation, steps, changed.outcome, changed.seen, deviation.last, accepts)
    cause = replace(found, again=len(changed.later.again))
    line = max(0, deviation.events[0][0] - 1)
    return replace(cause, is_initial=True, is_hidden=False, line=line, action=INIT, node="", reference="")
