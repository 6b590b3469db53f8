"""The meaning of temporal formulas on a behaviour that repeats itself, straight from their definitions.

It knows nothing of normal forms, tableaux and components, and confirms what they found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lockstep.tla.liveness.temporal_formulas import (
    Always,
    And,
    Equivalent,
    Eventually,
    Fair,
    Formula,
    Implies,
    LeadsTo,
    Leaf,
    Not,
    Or,
)
from lockstep.tla.values.kinds import TlaError


@dataclass(frozen=True, slots=True)
class FairnessEvidence:
    """A condition of fairness, and how a cycle meets it.

    Attributes:
        how: ``taken``, ``not enabled`` or ``never enabled``.
        index: the state from which the step is taken, or in which the action is not enabled; None for never.
    """

    condition: str
    how: str
    index: int | None = None


class Word:
    """A behaviour without end: states, and the index of the one that comes after the last."""

    def __init__(self, states: Sequence[Any], back_to: int) -> None:
        self.states, self.back_to = states, back_to
        self._known: dict[tuple[int, int], bool | TlaError] = {}
        self._made: dict[int, tuple[Formula, Formula]] = {}
        self._kept: list[Formula] = []  # so that an id stays that of its formula

    def after(self, index: int) -> int:
        """Return the index of the next state."""
        return index + 1 if index + 1 < len(self.states) else self.back_to

    def _from(self, index: int) -> range:
        """List the indexes of all suffixes of a suffix."""
        return range(min(index, self.back_to), len(self.states))

    def holds(self, formula: Formula, index: int = 0) -> bool:
        """Return whether a formula is true of a suffix.

        Args:
            index: where the suffix begins.

        Raises:
            TlaError: if what the value depends on cannot be evaluated.
        """
        if isinstance(formula, (Always, Eventually, LeadsTo, Fair)):
            index = min(index, self.back_to)  # from there on all suffixes have the same ones
        key = id(formula), index
        if key not in self._known:
            self._kept.append(formula)
            try:
                self._known[key] = self._meaning(formula, index)
            except TlaError as error:
                self._known[key] = error
        value = self._known[key]
        if isinstance(value, TlaError):
            raise value
        return value

    def _meaning(self, formula: Formula, index: int) -> bool:
        if isinstance(formula, Leaf):
            return formula.test(self.states[index], self.states[self.after(index)])
        if isinstance(formula, Not):
            return not self.holds(formula.part, index)
        if isinstance(formula, And):
            return self._every([(part, index) for part in formula.parts])
        if isinstance(formula, Or):
            return self._some([(part, index) for part in formula.parts])
        if isinstance(formula, Always):
            return self._every([(formula.part, each) for each in self._from(index)])
        if isinstance(formula, Eventually):
            return self._some([(formula.part, each) for each in self._from(index)])
        return self._of_two(formula, index)

    def _of_two(self, formula: Implies | Equivalent | LeadsTo | Fair, index: int) -> bool:
        if isinstance(formula, Implies):
            unless = self._once(formula, lambda: Not(formula.left))
            return self._some([(unless, index), (formula.right, index)])
        if isinstance(formula, Equivalent):
            return self.holds(formula.left, index) == self.holds(formula.right, index)
        if isinstance(formula, LeadsTo):
            then = self._once(formula, lambda: Implies(formula.left, Eventually(formula.right)))
            return self._every([(then, each) for each in self._from(index)])
        cycle = range(self.back_to, len(self.states))
        if any(self.holds(formula.taken, each) for each in cycle):
            return True
        enabled = [self.holds(formula.enabled, each) for each in cycle]
        return not any(enabled) if formula.strong else not all(enabled)

    def _once(self, formula: Formula, make: Callable[[], Formula]) -> Formula:
        """Make what a formula is short for, the same at every index."""
        made = self._made.get(id(formula))
        if made is None:
            made = self._made[id(formula)] = (make(), formula)
        return made[0]

    def _every(self, parts: Sequence[tuple[Formula, int]]) -> bool:
        return not self._decided(parts, False)

    def _some(self, parts: Sequence[tuple[Formula, int]]) -> bool:
        return self._decided(parts, True)

    def _decided(self, parts: Sequence[tuple[Formula, int]], value: bool) -> bool:
        """Return whether one of the parts has a value; one that cannot be evaluated matters only where none has."""
        failed: TlaError | None = None
        for formula, index in parts:
            try:
                if self.holds(formula, index) is value:
                    return True
            except TlaError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return False


def fairness_evidence(word: Word, assumed: Sequence[Formula]) -> tuple[FairnessEvidence, ...]:
    """Return how the cycle of a behaviour meets each condition of fairness that is assumed.

    Args:
        word: a behaviour that is as assumed.
        assumed: the assumptions; those that are not WF or SF, nor conjunctions of these, are left out.
    """
    found: list[FairnessEvidence] = []
    for formula in assumed:
        if isinstance(formula, And):
            found += fairness_evidence(word, formula.parts)
        elif isinstance(formula, Fair):
            found.append(_evidence(word, formula))
    return tuple(found)


def _evidence(word: Word, fair: Fair) -> FairnessEvidence:
    cycle = range(word.back_to, len(word.states))
    for index in cycle:
        if word.holds(fair.taken, index):
            return FairnessEvidence(fair.text, "taken", index)
    resting = [index for index in cycle if not word.holds(fair.enabled, index)]
    if len(resting) == len(cycle):
        return FairnessEvidence(fair.text, "never enabled")
    return FairnessEvidence(fair.text, "not enabled", resting[0])
