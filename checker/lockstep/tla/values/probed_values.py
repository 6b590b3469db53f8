"""Probes of a compiled spec: what its expressions come to in a step, and another outcome in their place.

A probe stands around an expression: a formula, whose other outcome is the opposite; a number, whose others are one more
and one less; an update of EXCEPT, all updates of one EXCEPT, or the use of an operator that changes a record, whose
other outcome is that they are left out; or a side of a comparison, which is only noted. Probes are only in specs that
were loaded for them, and do nothing but during a step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from lockstep.base.deadline import NEVER
from lockstep.tla.syntax.tree import Location
from lockstep.tla.values.kinds import Fcn, TlaError, Value

__all__ = ["LikeEvaluation", "OtherOutcome", "ProbedExpression", "Probes", "order_of"]

#: The evaluations of one expression in one step whose values are kept; later ones are counted.
MAX_EVALUATIONS = 64

#: The number of evaluations of one expression in one step after which the clock is read.
DEADLINE_EVERY = 4096


@dataclass(frozen=True, slots=True)
class ProbedExpression:
    """An expression with a probe.

    Attributes:
        loc: its place.
        kind: "formula", "number", "update", "updates", "use" or "operand".
        text: its text.
        sides: the numbers of the probes of both sides, if it is a comparison, a sum or a difference.
    """

    loc: Location
    kind: str
    text: str
    sides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LikeEvaluation:
    """The evaluations of a formula that are like another one.

    Attributes:
        value: what it came to.
        sides: the numbers of the probes of both sides, if it compares numbers.
        order: how the left one compared with the right one there: -1, 0 or 1; None where they are no numbers.
    """

    value: Value
    sides: tuple[int, ...] = ()
    order: int | None = None


@dataclass(frozen=True, slots=True)
class OtherOutcome:
    """Another outcome of an expression.

    Attributes:
        number: that of its probe.
        by: how much a number differs; 0 for the opposite of a formula, or for what is left out.
        nth: which of its evaluations in a step has that outcome, from 1; 0 for all of them.
        like: which of its evaluations have it, wherever they are; None for all of them.
        also: the numbers of other probes with the same outcome.
    """

    number: int
    by: int = 0
    nth: int = 0
    like: LikeEvaluation | None = None
    also: tuple[int, ...] = ()


class Probes:
    """The probes of one spec: `seen` has what each came to in the last step, in the order of first evaluation.

    A step in which one expression is evaluated very often raises TlaError where the `deadline` is over.
    """

    def __init__(self) -> None:
        self.deadline = NEVER
        self.seen: dict[int, list[Value]] = {}
        self._counts: dict[int, int] = {}
        self._others: dict[int, OtherOutcome] = {}
        self._watched: Collection[int] = ()

    def begin(self, watched: Collection[int], *outcomes: OtherOutcome) -> None:
        """Begin a step, with other outcomes of some expressions.

        Arguments: `watched`, the numbers of the probes that are noted; those with another outcome must be among them.
        """
        self.seen, self._counts = {}, {}
        self._others = {number: each for each in outcomes for number in (each.number, *each.also)}
        self._watched = watched

    def end(self) -> None:
        """End the step: from here on every expression has its own outcome, and is not noted."""
        self._others, self._watched = {}, ()

    def value(self, number: int, value: Value) -> Value:
        """Note what a formula or number came to; return it, or its other outcome."""
        if number not in self._watched:
            return value
        other = self._evaluated(number, value)
        if other is None or (other.like is not None and not self._is_like(value, other.like)):
            return value
        return not value if isinstance(value, bool) else value + other.by

    def operand(self, number: int, value: Value) -> Value:
        """Note what a side of a comparison came to; return it."""
        if number in self._watched:
            self._evaluated(number, value)
        return value

    def update(self, number: int, of: Callable[[Any], Value], whole: int | None = None) -> Callable[[Any], Value]:
        """Return an update of EXCEPT with what it gives noted; left out, it gives what was there.

        Arguments: `whole`, the number of all updates of this EXCEPT together, where there are several.
        """
        if number not in self._watched and whole not in self._watched:
            return of

        def updated(at: Any) -> Value:
            value = of(at)
            others = [self._evaluated(each, value) for each in (number, whole) if each is not None]
            return at if any(others) else value

        return updated

    def use(self, number: int, value: Value, given: Callable[[], tuple[Any, ...]]) -> Value:
        """Note what an operator gave, if it is a record; left out, it gives its first argument with the same fields."""
        if number not in self._watched or type(value) is not Fcn or self._evaluated(number, value) is None:
            return value
        return next((each for each in given() if type(each) is Fcn and each.d.keys() == value.d.keys()), value)

    def _is_like(self, value: Value, like: LikeEvaluation) -> bool:
        """Return whether a formula that came to a value, its sides just noted, is like another evaluation of it."""
        if value != like.value:
            return False
        return not like.sides or order_of(*(self.seen[side][-1] for side in like.sides)) == like.order

    def _evaluated(self, number: int, value: Value) -> OtherOutcome | None:
        """Note an evaluation; return the other outcome that this one has, if any."""
        nth = self._counts[number] = self._counts.get(number, 0) + 1
        if nth % DEADLINE_EVERY == 0 and self.deadline.is_over():
            raise TlaError("the time is over")
        noted = self.seen.setdefault(number, [])
        if nth <= MAX_EVALUATIONS:
            noted.append(value)
        other = self._others.get(number)
        return other if other is not None and other.nth in (0, nth) else None


def order_of(left: Value, right: Value) -> int | None:
    """Return how two numbers compare: -1, 0 or 1; None where they are none."""
    if type(left) is not int or type(right) is not int:
        return None
    return (left > right) - (left < right)
