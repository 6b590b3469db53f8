"""The change with which a spec comes nearest to an event that no single change explains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.expression_causes import expression_cause, is_literal
from lockstep.conformance.initial_causes import ChangedBeginning, initial_cause
from lockstep.conformance.search_limit import SearchLimit
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import OtherOutcome

#: The likelier a kind of expression is to be what differs, the lower.
_RANKS = {"formula": 0, "use": 1, "update": 2, "updates": 2, "number": 3}


@dataclass(frozen=True, slots=True)
class PartialChange:
    """Another outcome with which fewer values differ: in the deviation's step, or in the initial state.

    `left` of them still differ; `seen` is what was evaluated there. `beginning` is the change of the initial state.
    """

    outcome: OtherOutcome
    seen: Mapping[int, Sequence[Value]]
    left: int
    beginning: ChangedBeginning | None = None


def nearest_change(
    deviation: Deviation,
    steps: ChangedSteps,
    limit: SearchLimit,
    beginnings: Iterable[ChangedBeginning],
    common: Collection[str],
) -> DeviationCause | None:
    """Return the change with which fewest values that the deviation shows differ; None where each leaves most of them.

    Of those that leave as few an
    expression in a module that many specs share comes last; a condition first, for what depends on it comes with it.
    One with which nothing differs is none: had no other step spoken against it, it would be the cause.
    """
    (line, event), state = deviation.events[-1], deviation.states[-1]
    usual = steps.take(state, line, event)
    count = None if usual is None else steps.differences(state, usual, line, event)
    if count is None:
        return None

    def rank(each: PartialChange) -> tuple[int, bool, bool, int]:
        probed = steps.probed.probed[each.outcome.number]
        return each.left, probed.loc.module in common, is_literal(probed.text), _RANKS[probed.kind]

    changes = [*_in_the_step(deviation, steps, limit), *_in_the_beginning(deviation, steps, beginnings)]
    nearest = min((each for each in changes if 0 < each.left <= count / 2), key=rank, default=None)
    if nearest is None:
        return None
    if nearest.beginning is not None:
        cause = initial_cause(deviation, steps, nearest.beginning, 0)
    else:
        cause = expression_cause(deviation, steps, nearest.outcome, nearest.seen, deviation.last, 0)
    return replace(cause, differ=(nearest.left, count))


def _in_the_step(deviation: Deviation, steps: ChangedSteps, limit: SearchLimit) -> Iterator[PartialChange]:
    (line, event), state = deviation.events[-1], deviation.states[-1]
    steps.take(state, line, event)
    seen = dict(steps.seen)
    for outcome in steps.outcomes(seen, 1):
        if not limit.has_time("all expressions were tried in part"):
            return
        after = steps.take(state, line, event, outcome)
        left = None if after is None else steps.differences(state, after, line, event)
        if left is not None:
            yield PartialChange(outcome, seen, left)


def _in_the_beginning(
    deviation: Deviation, steps: ChangedSteps, beginnings: Iterable[ChangedBeginning]
) -> Iterator[PartialChange]:
    (line, event), last = deviation.events[-1], deviation.last
    for each in beginnings:
        before = each.later.states[-1]
        after = steps.plain(before, line, event) if each.later.count == last else None
        left = None if after is None else steps.differences(before, after, line, event)
        if left is not None:
            yield PartialChange(each.outcome, each.seen, left, each)
