"""Causes of a deviation in the spec: one outcome is changed, and the trace leaves the spec later, or not at all.

Changed is the outcome of an expression in one step of the deviation's past or, of a flaw's switch, in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockstep.base.deadline import Deadline
from lockstep.conformance.cause_places import first_left_out, likely_places, other_places
from lockstep.conformance.changed_steps import ChangedSteps, LaterSteps
from lockstep.conformance.deviation import MAX_EVENTS, Deviation, cause_at, short_value
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.mistaken_rules import RuleEvidence, mistaken_rule
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import MAX_EVALUATIONS, OtherOutcome, ProbedExpression

#: How much a number is changed at most, in the step at which the trace leaves the spec; in earlier ones by one.
MAX_DIFFERENCE = 4

#: The likelier a kind of expression is to be what differs, the lower; and in a module that many specs share.
_RANKS = {"formula": 0, "update": 1, "use": 1, "updates": 2, "number": 3}
_COMMON_RANKS = {"update": 0, "use": 0, "updates": 1, "formula": 2, "number": 3}


@dataclass(frozen=True, slots=True)
class FlawedRun:
    """A trace taken with some switches of flaws set the other way.

    Attributes:
        accepts: the number of events from the deviation on that are allowed then.
        evaluated: the flaws whose switches some step evaluates.
        differs: whether some state before the deviation is another one.
    """

    accepts: int
    evaluated: frozenset[str]
    differs: bool


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
    """The search for causes of one deviation, until its deadline; `notes` say what was not tried.

    `steps` are those of the trace's check; `common` are modules that many specs share, whose expressions are the last
    to be blamed.
    """

    deviation: Deviation
    steps: ChangedSteps
    deadline: Deadline
    common: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    #: The place of the first event whose step evaluates the switch of a flaw, by flaw.
    _first: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note what is not looked at."""
        if not self.deviation.is_whole:
            self.notes.append(f"only the last {MAX_EVENTS:,} events were looked at")

    # ---- Flaws ----

    def flaw_sets(self) -> list[tuple[frozenset[str], int]]:
        """Return the flaws whose switches, set the other way, let the trace go on, with how far; else pairs of them.

        Only what some step evaluates is tried: another switch changes nothing. Pairs are tried that change the step at
        which the trace leaves the spec, and those in which one flaw changes earlier states or what is evaluated.
        """
        base = self._taken_with(frozenset())
        runs = {name: self._taken_with(frozenset({name})) for name in sorted(base.evaluated) if self._has_time("flaws")}
        found = {frozenset({name}): run.accepts for name, run in runs.items() if run.accepts}
        for pair in () if found else self._pairs(base, runs):
            if not self._has_time("pairs of flaws"):
                break
            if accepts := self._taken_with(pair).accepts:
                found[pair] = accepts
        return sorted(found.items(), key=lambda each: (-each[1], sorted(each[0])))

    def _has_time(self, what: str) -> bool:
        note = f"the time was over before all {what} were tried"
        if self.deadline.is_over() and note not in self.notes:
            self.notes.append(note)
        return not self.deadline.is_over()

    def _pairs(self, base: FlawedRun, runs: Mapping[str, FlawedRun]) -> Iterator[frozenset[str]]:
        """Yield the pairs to try, each once, given the runs without a flaw and with each one."""
        (line, event), state = self.deviation.events[-1], self.deviation.states[-1]
        tried = set[frozenset[str]]()
        for one, run in runs.items():
            for other in sorted(run.evaluated - {one}):
                pair = frozenset({one, other})
                has_effect = run.differs or not run.evaluated <= base.evaluated
                if pair in tried:
                    continue
                if has_effect or self.steps.take_as_seen(state, line, event, *self._outcomes(pair)) is not None:
                    tried.add(pair)
                    yield pair

    def _outcomes(self, flaws: frozenset[str]) -> list[OtherOutcome]:
        return [OtherOutcome(number) for number, name in self.steps.switches.items() if name in flaws]

    def _taken_with(self, flaws: frozenset[str]) -> FlawedRun:
        """Take the events with some switches set the other way, up to the first that is not a step then.

        Until a step evaluates one of them, the states are those of the trace.
        """
        switches, events = self.steps.switches, [*self.deviation.events, *self.deviation.later]
        begin = min((self._first[name] for name in flaws if name in self._first), default=0)
        state, seen, differs = self.deviation.states[begin], {*self._first}, False
        for place, (line, event) in enumerate(events[begin:], begin):
            after = self.steps.take_as_seen(state, line, event, *self._outcomes(flaws))
            new = {switches[number] for number in self.steps.seen.keys() & switches.keys()} & self.steps.flaws
            seen |= new
            if not flaws:
                self._first.update(dict.fromkeys(new - self._first.keys(), place))
            if after is None:
                return FlawedRun(max(0, place - self.deviation.last), frozenset(seen), differs)
            differs = differs or (place < self.deviation.last and after != self.deviation.states[place + 1])
            state = after
        return FlawedRun(len(events) - self.deviation.last, frozenset(seen), differs)

    # ---- Expressions ----

    def decisions(self, past: Iterable[int]) -> list[DeviationCause]:
        """Return the expressions that decide the deviation, in the last of the steps in which there are such.

        The likeliest comes first: with it the spec allows most of the trace; it may be mistaken wherever it is
        evaluated, as no step speaks against that; a condition is likelier than an update, and that than a number; what
        is evaluated first likelier than what depends on it. An earlier step is looked at, too, where other steps speak
        against each of those found; and steps outside the past, where there are none. Only those that
        allow most are held against other steps: nothing speaks against one that allows less.
        """
        known, found = list(past), list[DeviationCause]()
        for place in likely_places(self.deviation, self.steps.check, known):
            found += self._decisions_at(place)
            found += [] if found or place != self.deviation.last else self._together()
            if any(not cause.against for cause in found) or self.deadline.is_over():
                break
        else:
            for place in other_places(self.deviation, known):
                found += [] if found else self._decisions_at(place)
            if not found and (line := first_left_out(self.deviation, known)) is not None:
                self.notes.append(f"no other outcome was tried in steps up to line {line}")

        def rank(cause: DeviationCause) -> tuple[int, bool, bool]:
            is_common = cause.place.partition(".tla")[0] in self.common
            return -cause.accepts, is_common, bool(cause.against) or _is_literal(cause.what)

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
            if self.deadline.is_over():
                self.notes.append(f"the time was over before all expressions of line {line} were tried")
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
        against = self._against(place, [*found.values()])

        def rank(each: ChangedStep) -> tuple[object, ...]:
            probed = self.steps.probed.probed[each.outcome.number]
            return -each.accepts, self._is_common(probed), *self._rank_of(each), each.outcome.nth != 0, each.order

        ranked = {
            each.outcome.number: self._decision(each, seen, place, against[each.outcome.number])
            for each in sorted(found.values(), key=rank)
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
        for one, other in self.steps.together(state, line, event):
            if self.deadline.is_over():
                break
            after, seen = self.steps.take_as_seen(state, line, event, one, other), dict(self.steps.seen)
            if after is None:
                continue
            later = self.steps.later_with(after, self.deviation.later, one, other)
            changed = ChangedStep(one, one, needs_all=False, order=0, later=later, accepts=1 + later.count)
            probed = self.steps.probed.probed[other.number]
            besides = f"{probed.loc}: {' '.join(probed.text.split())}"
            found.append(replace(self._decision(changed, seen, last, 0), besides=besides))
        is_first = self.deviation.condition[0]
        return sorted(found, key=lambda cause: (-cause.accepts, cause.place != is_first))[:1]

    def _against(self, place: int, found: Sequence[ChangedStep]) -> dict[int, int]:
        """Return for each changed step that explains most how many others speak against such a change of the rule."""
        most = max((each.accepts for each in found), default=0)
        rules = {each.outcome.number: each for each in found if each.accepts == most}
        against = dict.fromkeys([each.outcome.number for each in found], 0)
        evidence = RuleEvidence(self.deviation, self.steps, place, rules) if rules else None
        for number, changed in rules.items():
            if evidence is not None and self._has_time("conditions were held against other steps"):
                against[number] = evidence.against(changed.rule, changed.later)
        return against

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
        is_literal = _is_literal(probed.text)
        kind = "number" if is_literal else probed.kind
        return changed.needs_all and kind == "formula", ranks[kind], is_literal

    def _is_common(self, probed: ProbedExpression) -> bool:
        """Return whether an expression is in a module that many specs share, or uses an operator of one."""
        used = self.steps.probed.definitions.get(probed.text.partition("(")[0]) if probed.kind == "use" else None
        return not self.common.isdisjoint([probed.loc.module] if used is None else [probed.loc.module, used.module])

    def _decision(
        self,
        changed: ChangedStep,
        seen: Mapping[int, Sequence[Value]],
        place: int,
        against: int,
    ) -> DeviationCause:
        outcome = changed.outcome
        probed, at, values = self.steps.probed.probed[outcome.number], max(0, outcome.nth - 1), seen[outcome.number]
        is_update, sides = probed.kind in ("update", "updates", "use"), probed.sides if probed.kind == "formula" else ()
        return cause_at(
            self.deviation,
            self.steps.check,
            probed.kind,
            " ".join(probed.text.split()),
            place,
            changed.accepts,
            at=str(probed.loc),
            evaluation="" if probed.kind == "updates" else _evaluation(outcome, len(values)),
            again=len(changed.later.again),
            against=against,
            came_to="" if is_update or at >= len(values) else short_value(values[at]),
            would_be=short_value(values[at] + outcome.by) if probed.kind == "number" and at < len(values) else "",
            sides=tuple(short_value(seen[side][at]) for side in sides if at < len(seen.get(side, ()))),
        )


def _is_literal(text: str) -> bool:
    """Return whether an expression is a value that is written down: the last to be blamed."""
    return text.isdigit() or text in ("TRUE", "FALSE")


def _evaluation(outcome: OtherOutcome, count: int) -> str:
    """Return which of the evaluations of an expression in a step are changed, where there are several."""
    return "" if count < 2 else f"{outcome.nth or 'each'} of {count}{' or more' * (count == MAX_EVALUATIONS)}"
