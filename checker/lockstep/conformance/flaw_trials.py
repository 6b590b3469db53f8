"""The flaws that explain a deviation: a known flaw's switch is set the other way, in every step of the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation
from lockstep.conformance.search_limit import SearchLimit
from lockstep.tla.values.probed_values import OtherOutcome


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
class FlawTrials:
    """The trials of such flaws, within their limit."""

    deviation: Deviation
    steps: ChangedSteps
    limit: SearchLimit
    #: The place of the first event whose step evaluates the switch of a flaw, by flaw.
    _first: dict[str, int] = field(default_factory=dict)

    def sets(self) -> list[tuple[frozenset[str], int]]:
        """Return the flaws whose switches, set the other way, let the trace go on, with how far; else pairs of them.

        Only what some step evaluates is tried: another switch changes nothing. Pairs are tried that change the step at
        which the trace leaves the spec, and those in which one flaw changes earlier states or what is evaluated.
        """
        base = self._taken_with(frozenset())
        tried = (name for name in sorted(base.evaluated) if self.limit.has_time("all flaws were tried"))
        runs = {name: self._taken_with(frozenset({name})) for name in tried}
        found = {frozenset({name}): run.accepts for name, run in runs.items() if run.accepts}
        for pair in () if found else self._pairs(base, runs):
            if not self.limit.has_time("all pairs of flaws were tried"):
                break
            if accepts := self._taken_with(pair).accepts:
                found[pair] = accepts
        return sorted(found.items(), key=lambda each: (-each[1], sorted(each[0])))

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
