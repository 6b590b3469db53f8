"""The product of a graph and a tableau: all behaviours that may make a formula hold."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.tla.liveness.behaviour_graph import EvaluationFailure, Graph, Valuation
from lockstep.tla.liveness.tableau import Move, Tableau
from lockstep.tla.liveness.temporal_formulas import Formula


class Product:
    """States of a graph, each with a node of a tableau, as far as they are reached; numbered in the order of finding.

    Attributes:
        steps: of each number the next ones, each with what is put off (see the tableau's moves).
        parents: of each number the one from which it was found; -1 where it is initial.
        promises: what must not be put off for ever.
    """

    def __init__(self, graph: Graph, valuation: Valuation, formulas: Sequence[Formula]) -> None:
        """Build the product.

        Args:
            formulas: what is to hold from the initial states on, in normal form.
        """
        self.graph, self._valuation = graph, valuation
        self._tableau = Tableau(formulas)
        self.promises = self._tableau.promises
        self.states: list[int] = []
        self.parents: list[int] = []
        self.steps: list[list[tuple[int, int]]] = []
        self._nodes: list[int] = []
        self._numbers: dict[int, int] = {}
        for state in graph.initial:
            self._number(state, self._tableau.start, -1)
        at = 0
        while at < len(self.states):
            self.steps.append(self._next(at))
            at += 1

    def _number(self, state: int, node: int, parent: int) -> int:
        key = node * len(self.graph.states) + state
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.states)
            self.states.append(state)
            self._nodes.append(node)
            self.parents.append(parent)
        return number

    def _next(self, number: int) -> list[tuple[int, int]]:
        state, node = self.states[number], self._nodes[number]
        if self._tableau.is_done(node):
            return [(self._number(target, node, number), 0) for target in self.graph.steps[state]]
        found: list[tuple[int, int]] = []
        moves: list[Move] | None = None
        for target in self.graph.steps[state]:
            if moves is None:
                evaluation = _StepEvaluation(self._valuation, state, target)
                listed = self._tableau.moves(node, evaluation)
                moves = None if evaluation.of_step else listed
            else:
                listed = moves
            found += [(self._number(target, after, number), postponed) for after, postponed in listed]
        return found

    def error(self, number: int) -> EvaluationFailure | None:
        """Return what could not be evaluated on the path to a number, if there is anything."""
        return self._tableau.error(self._nodes[number])

    def path_to(self, number: int) -> list[int]:
        """Return the numbers on a shortest path from an initial one, both included."""
        found = [number]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        found.reverse()
        return found


class _StepEvaluation:
    """The values of pure formulas on one step, with a record of whether the next state mattered."""

    def __init__(self, valuation: Valuation, source: int, target: int) -> None:
        self.valuation, self.source, self.target = valuation, source, target
        self.of_step = False

    def __call__(self, formula: Formula) -> bool | EvaluationFailure:
        self.of_step = self.of_step or self.valuation.is_of_step(formula)
        return self.valuation.value(formula, self.source, self.target)
