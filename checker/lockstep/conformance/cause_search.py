"""Causes of a deviation in the spec: one outcome is changed, and the trace leaves the spec later, or not at all.

Changed is the outcome of an expression in one step of the deviation's past or, of a flaw's switch, in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lockstep.conformance.cause_places import first_left_out, likely_places, other_places
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import MAX_EVENTS, Deviation, LaterSteps
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.expression_causes import expression_cause, is_literal
from lockstep.conformance.mistaken_rules import RuleEvidence, mistaken_rule
from lockstep.conformance.search_limit import SearchLimit
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import OtherOutcome, ProbedExpression

#: How much a number is changed at most, in the step at which the trace leaves the spec; in earlier ones by one.
MAX_DIFFERENCE = 4

#: The likelier a kind of expression is to be what differs, the lower; and in a module that many specs share.
_RANKS = {"formula": 0, "update": 1, "use": 1, "updates": 2, "number": 3}
_COMMON_RANKS = {"update": 0, "use": 0, "updates": 1, "formula": 2, "number": 3}


@dataclass(frozen=True, slots=True)
class ChangedStep:
    """A step in which an expression has another outcome.

    Attributes:
        outcome: that outcome, and `rule`, the one that it has in other steps if the rule is always so.
        needs_all: whether it takes several evaluations of the expression that have it.
        order: its place among those that were tried.
        later: the events after it that are steps then.
        accepts: the number of events from the deviation on that are steps.
    """

    outcome: OtherOutcome
    rule: OtherOutcome
    needs_all: bool
    order: int
    later: LaterSteps
    accepts: int


@dataclass(slots=True)
class CauseSearch:
    """The search for causes of one deviation, within its limit.

    `steps` are those of the trace's check; `common` are modules that many specs share, whose expressions are the last
    to be blamed.
    """

    deviation: Deviation
    steps: ChangedSteps
    limit: SearchLimit
    common: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Note what is not looked at, and let no step take longer than the search."""
        self.steps.end_by(self.limit.deadline)
        if not self.deviation.is_whole:
            self.limit.notes.append(f"only the last {MAX_EVENTS:,} events were looked at")

    def decisions(self, past: Iterable[int]) -> list[DeviationCause]:
        """Return the expressions that decide the deviation, in the last of the steps in which there are such.

        The likeliest comes first: with it the spec allows most of the trace; it may be mistaken wherever it is
        evaluated, as no step speaks against that; a condition is likelier than an update, and that than a number; what
        is evaluated first likelier than what depends on it. An earlier step is looked at, too, where other steps speak
        against each of those that allow most; and steps outside the past, where there are none. One that allows less is
        not held against other steps, and ends no search.
        """
        known, found = list(past), list[DeviationCause]()
        for place in likely_places(self.deviation, self.steps.check, known):
            found += self._decisions_at(place)
            found += [] if found or place != self.deviation.last else self._together()
            most = max((cause.accepts for cause in found), default=0)
            if any(cause.accepts == most and not cause.against for cause in found) or self.limit.deadline.is_over():
                break
        else:
            for place in other_places(self.deviation, known):
                found += [] if found else self._decisions_at(place)
            if not found and (line := first_left_out(self.deviation, known)) is not None:
                self.limit.notes.append(f"no other outcome was tried in steps up to line {line}")

        def rank(cause: DeviationCause) -> tuple[int, bool, bool]:
            is_common = cause.place.partition(".tla")[0] in self.common
            return -cause.accepts, is_common, bool(cause.against) or is_literal(cause.what)

        return sorted(found, key=rank)

    def _decisions_at(self, place: int) -> list[DeviationCause]:
        (line, event), state = self.deviation.events[place], self.deviation.states[place]
        if self.steps.check.reading.is_observation(event):
            return []
        self.steps.take(state, line, event)
        seen, is_last = self.steps.seen, place == self.deviation.last
        usual = None if is_last else self.deviation.states[place + 1]
        rest = [*self.deviation.events[place + 1 :], *self.deviation.later]
        found: dict[int, ChangedStep] = {}
        for order, outcome in enumerate(self.steps.outcomes(seen, MAX_DIFFERENCE if is_last else 1)):
            if not self.limit.has_time(f"all expressions of line {line} were tried"):
                break
            after = self.steps.take_as_seen(state, line, event, outcome)
            if after is None or after == usual:
                continue
            later = self.steps.later_with(after, rest, outcome)
            accepts = place + 1 + later.count - self.deviation.last
            needs_all = outcome.nth == 0 and len(seen[outcome.number]) > 1
            changed = ChangedStep(outcome, mistaken_rule(self.steps, outcome, seen), needs_all, order, later, accepts)
            best = found.get(outcome.number)
            if accepts > 0 and (best is None or accepts > best.accepts):
                found[outcome.number] = changed
            elif best is not None and outcome.nth and accepts == best.accepts:
                found[outcome.number] = replace(best, needs_all=False)
        against = self._against(place, found)

        def rank(each: ChangedStep) -> tuple[object, ...]:
            probed = self.steps.probed.probed[each.outcome.number]
            return -each.accepts, self._is_common(probed), *self._rank_of(each), each.outcome.nth != 0, each.order

        ranked = {
            each.outcome.number: self._cause(each, seen, place, against[each.outcome.number])
            for each in sorted(found.values(), key=rank)
            if not (against[each.outcome.number] and self._is_hardly_wrong(each))
        }
        return [cause for number, cause in ranked.items() if not self._is_one_of_several(number, ranked)]

    def _together(self) -> list[DeviationCause]:
        """Return two conditions that are false at the deviation, one behind the other, and let the trace go on.

        Of those that explain as much the first is the one that the check found to be false, if it is among them.
        """
        (line, event), state, last = self.deviation.events[-1], self.deviation.states[-1], self.deviation.last
        if self.deviation.condition is None:
            return []
        found = list[DeviationCause]()
        for one, other in self.steps.together(state, line, event, self.limit.deadline):
            after, seen = self.steps.take_as_seen(state, line, event, one, other), dict(self.steps.seen)
            if after is None:
                continue
            later = self.steps.later_with(after, self.deviation.later, one, other)
            changed = ChangedStep(one, one, needs_all=False, order=0, later=later, accepts=1 + later.count)
            probed = self.steps.probed.probed[other.number]
            besides = f"{probed.loc}: {' '.join(probed.text.split())}"
            found.append(replace(self._cause(changed, seen, last, 0), besides=besides))
        is_first = self.deviation.condition[0]
        return sorted(found, key=lambda cause: (-cause.accepts, cause.place != is_first))[:1]

    def _against(self, place: int, found: dict[int, ChangedStep]) -> Counter[int]:
        """Return for each changed step that explains most how many others speak against such a change of the rule.

        A rule that more steps speak against than need it is not mistaken each time, though it may be where this action
        uses it: what it explains ends before the step of another action that needs it, and another rule may explain
        most then.
        """
        against, held = Counter[int](), set[int]()
        evidence = RuleEvidence(self.deviation, self.steps, place, [each.rule for each in found.values()])
        while found:
            most = max(each.accepts for each in found.values())
            new = [number for number, each in found.items() if each.accepts == most and number not in held]
            for number in new:
                if not self.limit.has_time("all conditions were held against other steps"):
                    return against
                held.add(number)
                changed = found[number]
                against[number] = evidence.against(changed.rule, changed.later)
                if against[number] > len(changed.later.again) > 0:
                    later = changed.later.until_again(self._others_than(place))
                    found[number] = replace(changed, later=later, accepts=place + 1 + later.count - self.deviation.last)
                    if found[number].accepts <= 0:
                        del found[number]
            if not new:
                break
        return against

    def _others_than(self, place: int) -> frozenset[int]:
        """Return the events after a place of other actions than its own, numbered from there."""
        action = self.deviation.events[place][1].action
        rest = [*self.deviation.events[place + 1 :], *self.deviation.later]
        return frozenset(at for at, (_, event) in enumerate(rest) if event.action != action)

    def _is_one_of_several(self, number: int, found: Mapping[int, DeviationCause]) -> bool:
        """Return whether a formula explains no more than its siblings do, so that the formula around them is to blame.

        So it is of each conjunct of a conjunction that is true: any one that were false would make it false.
        """

        def alike(other: int) -> bool:
            mine, same = found[number], found[other]
            return same.kind == "formula" and (same.came_to, same.accepts, same.against > 0) == (
                mine.came_to,
                mine.accepts,
                mine.against > 0,
            )

        locs = {each: self.steps.probed.probed[each].loc for each in found if alike(each)}
        if found[number].kind != "formula":
            return False
        mine = locs[number]
        around = [loc for each, loc in locs.items() if each != number and mine.is_within(loc)]
        return any(
            sibling.is_within(loc) and not sibling.is_within(mine) and not mine.is_within(sibling)
            for loc in around
            for each, sibling in locs.items()
            if each != number and sibling != loc
        )

    def _rank_of(self, changed: ChangedStep) -> tuple[bool, int, bool]:
        """Return the rank of an expression's kind: the likelier to be what differs, the lower.

        What a system sends is an update of the network, by a module that many specs share.
        """
        probed = self.steps.probed.probed[changed.outcome.number]
        ranks = _COMMON_RANKS if self._is_common(probed) else _RANKS
        is_written = is_literal(probed.text)
        kind = "number" if is_written else probed.kind
        return changed.needs_all and kind == "formula", ranks[kind], is_written

    def _is_hardly_wrong(self, changed: ChangedStep) -> bool:
        """Return whether an expression is a value that is written down, or one that many specs share.

        Where other steps speak against it as well, it is no cause.
        """
        probed = self.steps.probed.probed[changed.outcome.number]
        return is_literal(probed.text) or self._is_common(probed)

    def _is_common(self, probed: ProbedExpression) -> bool:
        """Return whether an expression is in a module that many specs share, or uses an operator of one."""
        used = self.steps.probed.definitions.get(probed.text.partition("(")[0]) if probed.kind == "use" else None
        return not self.common.isdisjoint([probed.loc.module] if used is None else [probed.loc.module, used.module])

    def _cause(
        self, changed: ChangedStep, seen: Mapping[int, Sequence[Value]], place: int, against: int
    ) -> DeviationCause:
        cause = expression_cause(self.deviation, self.steps, changed.outcome, seen, place, changed.accepts)
        return replace(cause, again=len(changed.later.again), against=against)
