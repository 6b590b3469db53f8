"""The other steps of a trace as evidence for a change of a rule: were it mistaken so each time, would they be steps?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation, LaterSteps
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import LikeEvaluation, OtherOutcome, order_of
from lockstep.trace.trace_format import Event

#: The steps of a trace that are held against a rule which is mistaken wherever it applies, and those that must speak
#: against it before it is no use to look at more; and those that follow one which differs.
MAX_STEPS_HELD, MAX_AGAINST, MAX_FOLLOWED = 400, 10, 40


@dataclass(frozen=True, slots=True)
class HeldStep:
    """An event that is a step of the spec, and the states before and after it."""

    before: State
    line: int
    event: Event
    after: State


def mistaken_rule(steps: ChangedSteps, outcome: OtherOutcome, seen: Mapping[int, Sequence[Value]]) -> OtherOutcome:
    """Return the outcome that a mistaken rule has in every step, if it has this one in a step.

    A formula has it wherever it comes to the same value, and, if it compares two numbers, where these are in the same
    order: at a boundary it may be mistaken alone.

    Arguments: `seen`, the values of the expressions in that step.
    """
    probed, at = steps.probed.probed[outcome.number], max(0, outcome.nth - 1)
    if probed.kind != "formula":
        return replace(outcome, nth=0)
    value, sides = seen[outcome.number][at], [seen.get(side, ())[at : at + 1] for side in probed.sides]
    order = order_of(*(side[0] for side in sides)) if len(sides) == 2 and all(sides) else None
    return replace(outcome, nth=0, like=LikeEvaluation(value, probed.sides if order is not None else (), order))


class RuleEvidence:
    """The steps before a place of a deviation, and those after it, which may speak against a change of a rule there."""

    def __init__(self, deviation: Deviation, steps: ChangedSteps, place: int, rules: Iterable[OtherOutcome]) -> None:
        """Take note of the expressions, among those of `rules`, that each step before the place evaluates."""
        first = max(0, place - MAX_STEPS_HELD)
        self._steps = steps
        self._earlier = _taken(deviation.events[first:place], deviation.states[first : place + 1])
        self._rest = [*deviation.events[place + 1 :], *deviation.later]
        numbers = frozenset(number for rule in rules for number in (rule.number, *rule.also))
        self._evaluated = [steps.evaluated(each.before, each.line, each.event, numbers) for each in self._earlier]

    def against(self, rule: OtherOutcome, later: LaterSteps) -> int:
        """Return how many steps speak against a rule, given the steps after the place in which it was so."""
        starts = [at for at, numbers in enumerate(self._evaluated) if not numbers.isdisjoint((rule.number, *rule.also))]
        after = _taken(self._rest, later.states)
        others = [at for at in range(len(after)) if at not in later.again]
        return self._speaking(rule, self._earlier, starts) + self._speaking(rule, after, others)

    def _speaking(self, rule: OtherOutcome, steps: Sequence[HeldStep], starts: Iterable[int]) -> int:
        """Return how many steps, MAX_AGAINST at most, show that a rule did not have another outcome there.

        They are steps of the spec as it is, and with that outcome they, or the MAX_FOLLOWED after them, would not be.
        """
        count, end = 0, 0
        for start in starts:
            if start >= end:
                end, is_refuted = self._followed(rule, steps, start)
                count += is_refuted
            if count == MAX_AGAINST:
                break
        return count

    def _followed(self, rule: OtherOutcome, steps: Sequence[HeldStep], start: int) -> tuple[int, bool]:
        """Return the place behind the steps that were taken with an outcome, and whether the last is no step then."""
        state, place = steps[start].before, start
        for place, step in enumerate(steps[start : start + MAX_FOLLOWED], start):
            after = self._steps.take_as_seen(state, step.line, step.event, rule)
            if after is None or after == step.after:
                return place + 1, after is None
            state = after
        return place + 1, False


def _taken(events: Sequence[tuple[int, Event]], states: Sequence[State]) -> list[HeldStep]:
    """Return the events between states as steps."""
    return [HeldStep(before, *event, after) for event, (before, after) in zip(events, pairwise(states), strict=False)]
