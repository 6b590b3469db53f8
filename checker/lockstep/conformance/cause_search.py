"""Causes of a deviation in the spec: one outcome is changed, and the trace leaves the spec later, or not at all.

Changed is the outcome of an expression in one step of the deviation's past or, of a flaw's switch, in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lockstep.base.deadline import Deadline
from lockstep.conformance.changed_steps import KINDS, ChangedSteps
from lockstep.conformance.deviation import MAX_EVENTS, Deviation, cause_at, short_value
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import MAX_EVALUATIONS, OtherOutcome, ProbedExpression

#: How much a number is changed at most, in the step at which the trace leaves the spec; in earlier ones by one.
MAX_DIFFERENCE = 4

#: The last steps of a deviation's past in which other outcomes are tried.
MAX_STEPS_BACK = 12


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

        The likeliest comes first: with it the spec allows most of the trace; a condition is likelier than an update,
        and that than a number; what is evaluated first likelier than what depends on it.
        """
        places = sorted(past, reverse=True)
        for place in places[:MAX_STEPS_BACK]:
            if found := self._decisions_at(place):
                return found
            if self.deadline.is_over():
                return []
        if len(places) > MAX_STEPS_BACK:
            line, _ = self.deviation.events[places[MAX_STEPS_BACK]]
            self.notes.append(f"no other outcome was tried in steps up to line {line}")
        return []

    def _decisions_at(self, place: int) -> list[DeviationCause]:
        (line, event), state = self.deviation.events[place], self.deviation.states[place]
        if self.steps.check.reading.is_observation(event):
            return []
        self.steps.take(state, line, event)
        seen, is_last = self.steps.seen, place == self.deviation.last
        usual = None if is_last else self.deviation.states[place + 1]
        rest = [*self.deviation.events[place + 1 :], *self.deviation.later]
        found: dict[int, tuple[tuple[object, ...], DeviationCause]] = {}
        for order, outcome in enumerate(self.steps.outcomes(seen, MAX_DIFFERENCE if is_last else 1)):
            if self.deadline.is_over():
                self.notes.append(f"the time was over before all expressions of line {line} were tried")
                break
            after = self.steps.take_as_seen(state, line, event, outcome)
            if after is None or after == usual:
                continue
            count, again = self.steps.count_with(after, rest, outcome)
            accepts = place + 1 + count - self.deviation.last
            if accepts < 1:
                continue
            probed = self.steps.probed.probed[outcome.number]
            rank = (-accepts, *self._rank_of(probed), outcome.nth != 0, order)
            if outcome.number not in found or rank < found[outcome.number][0]:
                found[outcome.number] = rank, self._decision(probed, outcome, seen, place, (accepts, again))
        ranked = {number: cause for number, (_, cause) in sorted(found.items(), key=lambda each: each[1][0])}
        return [cause for number, cause in ranked.items() if not self._is_one_of_several(number, ranked)]

    def _is_one_of_several(self, number: int, found: Mapping[int, DeviationCause]) -> bool:
        """Return whether a formula explains no more than its siblings do, so that the formula around them is to blame.

        So it is of each conjunct of a conjunction that is true: any one that were false would make it false.
        """

        def alike(other: int) -> bool:
            same = found[other].came_to, found[other].accepts
            return found[other].kind == "formula" and same == (found[number].came_to, found[number].accepts)

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

    def _rank_of(self, probed: ProbedExpression) -> tuple[bool, int, bool]:
        """Return the rank of an expression's kind: the likelier to be what differs, the lower.

        What a system sends is an update of the network, by a module that many specs share.
        """
        is_common = probed.loc.module in self.common
        kinds = ("update", "formula", "number") if is_common else KINDS
        return is_common, kinds.index(probed.kind), probed.text.isdigit()

    def _decision(
        self,
        probed: ProbedExpression,
        outcome: OtherOutcome,
        seen: Mapping[int, Sequence[Value]],
        place: int,
        counts: tuple[int, int],
    ) -> DeviationCause:
        at, values = max(0, outcome.nth - 1), seen[outcome.number]
        return cause_at(
            self.deviation,
            self.steps.check,
            probed.kind,
            " ".join(probed.text.split()),
            place,
            counts[0],
            at=str(probed.loc),
            evaluation=_evaluation(outcome, len(values)),
            again=counts[1],
            came_to="" if probed.kind == "update" or at >= len(values) else short_value(values[at]),
            would_be=short_value(values[at] + outcome.by) if probed.kind == "number" and at < len(values) else "",
            sides=tuple(short_value(seen[side][at]) for side in probed.sides if at < len(seen.get(side, ()))),
        )

    def rule(self) -> DeviationCause | None:
        """Return what the spec says at the deviation, where no change explains it; None where that is not known.

        It is the first condition that is false, or the update that gives the field which the trace shows otherwise: the
        last one that names the most parts of its path, as in `a.n1.b`.
        """
        line, event = self.deviation.events[-1]
        if self.deviation.condition is not None:
            place, text = self.deviation.condition
            return cause_at(
                self.deviation, self.steps.check, "rule", text, self.deviation.last, 0, at=place, came_to="FALSE"
            )
        if self.steps.check.reading.is_observation(event):
            return None
        self.steps.take(self.deviation.states[-1], line, event)
        parts, best, named = set(re.split(r"[.\[]", self.deviation.differing)), None, 0
        for number in self.steps.seen:
            probed = self.steps.probed.probed[number]
            target = set(re.findall(r"\w+", probed.text.partition(" = ")[0])) if probed.kind == "update" else set()
            if target & parts and len(target & parts) >= named:
                best, named = probed, len(target & parts)
        if best is None:
            return None
        text = " ".join(best.text.split())
        return cause_at(self.deviation, self.steps.check, "rule", text, self.deviation.last, 0, at=str(best.loc))


def _evaluation(outcome: OtherOutcome, count: int) -> str:
    """Return which of the evaluations of an expression in a step are changed, where there are several."""
    return "" if count < 2 else f"{outcome.nth or 'each'} of {count}{' or more' * (count == MAX_EVALUATIONS)}"
