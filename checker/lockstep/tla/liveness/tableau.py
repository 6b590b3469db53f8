"""The tableau of a formula in normal form: the formulas that must hold after a step.

After Manna and Pnueli, *Temporal Verification of Reactive Systems: Safety*, chapter 5, as TLC's (tlc2.tool.liveness,
TBGraph); but its nodes are made on the way, along with the states that they are for, so that a leaf is evaluated only
where the parts before it leave that open. Its steps record what they put off: a <>F that is put off for ever fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from lockstep.tla.liveness.behaviour_graph import EvaluationFailure
from lockstep.tla.liveness.temporal_formulas import Always, And, Eventually, Formula, Or, is_pure, parts_of

#: A node to go on with, and which <>F are put off, a bit for each.
Move: TypeAlias = tuple[int, int]
#: The value of a pure formula on the step in question.
Evaluate: TypeAlias = Callable[[Formula], "bool | EvaluationFailure"]
_Branch: TypeAlias = tuple[frozenset[int], int]


class Tableau:
    """The nodes of a tableau: each a set of formulas that are to hold from some state on.

    Attributes:
        promises: a bit for each <>F.
    """

    def __init__(self, formulas: Sequence[Formula]) -> None:
        """Take the formulas in normal form that are to hold from the initial state on, all of them."""
        self._formulas: list[Formula | EvaluationFailure] = []
        self._places: dict[int, int] = {}
        self._pure: dict[int, bool] = {}
        self._bits: dict[int, int] = {}
        self._first: EvaluationFailure | None = None
        for formula in formulas:
            self._enter(formula)
        self.promises = (1 << len(self._bits)) - 1
        self._nodes: list[tuple[int, ...]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self.start = self._node(frozenset(self._places[id(formula)] for formula in formulas))

    def _enter(self, formula: Formula) -> None:
        """Number a formula and its parts in the order in which they are written, which is that of evaluation."""
        if id(formula) in self._places:
            return
        self._add(formula)
        self._pure[id(formula)] = is_pure(formula)
        if isinstance(formula, Eventually):
            self._bits[id(formula)] = 1 << len(self._bits)
        for part in parts_of(formula):
            self._enter(part)

    def _add(self, formula: Formula | EvaluationFailure) -> int:
        if isinstance(formula, EvaluationFailure):
            formula = self._first = self._first or formula  # one error stands for all, lest there be a node for each
        place = self._places.get(id(formula))
        if place is None:
            place = self._places[id(formula)] = len(self._formulas)
            self._formulas.append(formula)
        return place

    def _node(self, places: frozenset[int]) -> int:
        number = self._numbers.get(places)
        if number is None:
            number = self._numbers[places] = len(self._nodes)
            self._nodes.append(tuple(sorted(places)))
        return number

    def is_done(self, node: int) -> bool:
        """Return whether a node leaves nothing to hold."""
        return not self._nodes[node]

    def error(self, node: int) -> EvaluationFailure | None:
        """Return what could not be evaluated on the path to a node, if there is anything."""
        for place in self._nodes[node]:
            formula = self._formulas[place]
            if isinstance(formula, EvaluationFailure):
                return formula
        return None

    def moves(self, node: int, evaluate: Evaluate) -> list[Move]:
        """List the ways to go on from a node by a step.

        A formula that cannot be evaluated is taken to hold, and is remembered in all nodes from there on.

        Args:
            node: the node.
            evaluate: returns the value of a pure formula on the step.

        Returns:
            The moves. One that leaves more to hold than another, or puts off more, is left out.
        """
        todo = tuple(self._formulas[place] for place in self._nodes[node])
        found: list[_Branch] = []
        for branch in self._branches(todo, frozenset(), 0, evaluate):
            if not any(_is_no_more(each, branch) for each in found):
                found = [each for each in found if not _is_no_more(branch, each)]
                found.append(branch)
        return [(self._node(places), postponed) for places, postponed in found]

    def _branches(
        self, todo: tuple[Formula | EvaluationFailure, ...], later: frozenset[int], postponed: int, evaluate: Evaluate
    ) -> Iterator[_Branch]:
        """Yield the ways to make formulas hold: what is left for the next state, and what is put off."""
        if not todo:
            yield later, postponed
            return
        formula, rest = todo[0], todo[1:]
        if isinstance(formula, EvaluationFailure):
            yield from self._branches(rest, later | {self._add(formula)}, postponed, evaluate)
        elif self._pure[id(formula)]:
            value = evaluate(formula)
            if value is not False:
                more = (value, *rest) if isinstance(value, EvaluationFailure) else rest
                yield from self._branches(more, later, postponed, evaluate)
        elif isinstance(formula, And):
            yield from self._branches((*formula.parts, *rest), later, postponed, evaluate)
        elif isinstance(formula, Or):
            yield from self._alternatives(formula, rest, later, postponed, evaluate)
        elif isinstance(formula, Always):
            yield from self._branches((formula.part, *rest), later | {self._add(formula)}, postponed, evaluate)
        elif isinstance(formula, Eventually):
            yield from self._now_or_later(formula, rest, later, postponed, evaluate)

    def _alternatives(
        self,
        formula: Or,
        rest: tuple[Formula | EvaluationFailure, ...],
        later: frozenset[int],
        postponed: int,
        evaluate: Evaluate,
    ) -> Iterator[_Branch]:
        for part in formula.parts:
            yield from self._branches((part, *rest), later, postponed, evaluate)
            if self._pure[id(part)] and evaluate(part) is not False:
                return  # the parts after it do not matter, and are not evaluated

    def _now_or_later(
        self,
        formula: Eventually,
        rest: tuple[Formula | EvaluationFailure, ...],
        later: frozenset[int],
        postponed: int,
        evaluate: Evaluate,
    ) -> Iterator[_Branch]:
        yield from self._branches((formula.part, *rest), later, postponed, evaluate)
        if not (self._pure[id(formula.part)] and evaluate(formula.part) is True):
            put_off = postponed | self._bits[id(formula)]
            yield from self._branches(rest, later | {self._add(formula)}, put_off, evaluate)


def _is_no_more(one: _Branch, other: _Branch) -> bool:
    """Return whether all that a branch leaves or puts off is left or put off by another."""
    return one[0] <= other[0] and not one[1] & ~other[1]
