"""The graph of a search, and the values of formulas on its steps: each leaf is evaluated once, where needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lockstep.tla.liveness.temporal_formulas import And, Formula, Leaf, Not, Or, leaves_of, parts_of
from lockstep.tla.values.kinds import TlaError


@dataclass(frozen=True, eq=False, slots=True)
class EvaluationFailure:
    """The value of a formula that cannot be evaluated."""

    error: TlaError


@dataclass(frozen=True, slots=True)
class Graph:
    """States by number, with their steps.

    Attributes:
        steps: of each state the next ones, each once; the state itself is one of them, since every state may stutter.
        initial: the initial states, each once.
    """

    states: Sequence[Any]
    steps: Sequence[Sequence[int]]
    initial: Sequence[int]


def graph_of(states: Sequence[Any], steps: Iterable[Iterable[int]], initial: Iterable[int]) -> Graph:
    """Make a graph: steps that are there several times are one, and every state gets a step to itself."""
    # What stutters comes first, so that a behaviour which stops where it may is found before one that goes on.
    whole = [list(dict.fromkeys([number, *each])) for number, each in enumerate(steps)]
    return Graph(states, whole, list(dict.fromkeys(initial)))


class Valuation:
    """The values of leaves on the steps of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[int, dict[int, bool | EvaluationFailure]] = {}
        self._of_step: dict[int, bool] = {}
        self._kept: list[Formula] = []  # so that an id stays that of its formula
        self._failed: list[tuple[TlaError, Leaf]] = []

    def leaf_value(self, leaf: Leaf, source: int, target: int) -> bool | EvaluationFailure:
        """Return the value of a leaf on a step, or the error that its evaluation raised."""
        known = self._known.get(id(leaf))
        if known is None:
            known = self._known[id(leaf)] = {}
            self._kept.append(leaf)
        key = source * len(self.graph.states) + target if leaf.of_step else source
        value = known.get(key)
        if value is None:
            states = self.graph.states
            try:
                value = leaf.test(states[source], states[target])
            except TlaError as error:
                value = EvaluationFailure(error)
                self._failed.append((error, leaf))
            known[key] = value
        return value

    def raised_by(self, error: TlaError, formula: Formula) -> bool:
        """Return whether the evaluation of a leaf of a formula raised an error."""
        leaves = set(map(id, leaves_of(formula)))
        return any(each is error and id(leaf) in leaves for each, leaf in self._failed)

    def is_of_step(self, formula: Formula) -> bool:
        """Return whether the next state may matter to a pure formula."""
        known = self._of_step.get(id(formula))
        if known is None:
            if isinstance(formula, Leaf):
                known = formula.of_step
            elif isinstance(formula, Not):
                known = self.is_of_step(formula.part)
            else:
                known = any(map(self.is_of_step, parts_of(formula)))
            self._of_step[id(formula)] = known
            self._kept.append(formula)
        return known

    def value(self, formula: Formula, source: int, target: int) -> bool | EvaluationFailure:
        """Return the value of a formula of a step; its parts are evaluated in their order, as long as they matter.

        Args:
            formula: a formula in normal form without temporal operators.
        """
        if isinstance(formula, Leaf):
            return self.leaf_value(formula, source, target)
        if isinstance(formula, Not):
            value = self.value(formula.part, source, target)
            return value if isinstance(value, EvaluationFailure) else not value
        if not isinstance(formula, (And, Or)):
            raise TypeError(f"{type(formula).__name__} is not of one step")
        decides = isinstance(formula, Or)
        for part in formula.parts:
            value = self.value(part, source, target)
            if isinstance(value, EvaluationFailure) or value is decides:
                return value
        return not decides

    def holds(self, formula: Formula, source: int, target: int) -> bool:
        """Return the value of a formula of a step that must have one.

        Raises:
            TlaError: if the formula cannot be evaluated.
        """
        value = self.value(formula, source, target)
        if isinstance(value, EvaluationFailure):
            raise value.error
        return value
