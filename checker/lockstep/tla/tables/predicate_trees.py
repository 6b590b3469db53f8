"""The predicates of states and steps as trees: the parts of properties, and the constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.compile.property_parts import PropertyPart, part_of
from lockstep.tla.compile.spec_meta import Meta
from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Ints, StateRows, StepRows, Tree, Trees
from lockstep.tla.tables.evaluator import Evaluator
from lockstep.tla.tables.search_kernels import check, check_steps
from lockstep.tla.tables.state_layout import Rows
from lockstep.tla.tables.step_kinds import ColumnAddedError, StepKinds
from lockstep.tla.tables.written_steps import lists_of
from lockstep.tla.values.kinds import TlaError, Value

Verdicts: TypeAlias = npt.NDArray[np.int8]


class StatePredicates:
    """Predicates of one state.

    Attributes:
        trees: the tree of each; `roots` are the numbers of their roots.
    """

    def __init__(self, evaluator: Evaluator, trees: Trees, predicates: list[Callable[[State], Any]]) -> None:
        self._all = trees
        self.trees = [trees.tree(evaluator.truth(each)) for each in predicates]
        self.roots = np.array([tree.root for tree in self.trees], np.int64)

    def __len__(self) -> int:
        return len(self.trees)

    def verdicts(self, rows: Rows) -> Verdicts:
        """Return for each row 1 where all is true, or what the first predicate that is not true is, 0 or ERROR."""
        every = np.array([0, len(self)]), self.roots
        return self._verdicts(rows, np.zeros(len(rows), np.int64), every)

    def verdicts_after(self, rows: Rows, patterns: Ints, masks: Sequence[int]) -> Verdicts:
        """Return the verdicts on rows after a step before which all was true.

        Each predicate must have been evaluated before that step.

        Args:
            rows: the states after the steps.
            patterns: the pattern of what each step wrote.
            masks: the columns that each pattern writes.
        """
        first, checked = lists_of(self._all.touched(masks, self.trees))
        return self._verdicts(rows, patterns, (first, self.roots[checked]))

    def _verdicts(self, rows: Rows, patterns: Ints, checked: tuple[Ints, Ints]) -> Verdicts:
        """Look up, for each row, the predicates that its pattern affects."""
        found = np.ones(len(rows), np.int8)
        if len(self):
            inputs = StateRows(rows, np.arange(len(rows)))
            self._all.look_up(
                inputs,
                len(rows),
                lambda which, *more: check(which, patterns, *checked, *more[:3], rows, found, *more[3:]),
            )
        return found


class StepPredicates:
    """Predicates of a step: of a state, and what changed.

    Attributes:
        trees: the tree of each, with the kinds of steps on which its root branches; `roots` are their roots.
    """

    def __init__(self, evaluator: Evaluator, trees: Trees, predicates: list[Callable[[State, State], Any]]) -> None:
        self._all, self._steps = trees, evaluator.steps
        self.trees: list[tuple[Tree, StepKinds]] = []
        for each in predicates:
            kinds = StepKinds(evaluator.steps.masks, evaluator.span)
            self.trees.append((trees.tree(evaluator.truth_of_step(each, kinds), on_aux=True), kinds))
        self.roots = np.array([tree.root for tree, _ in self.trees], np.int64)

    def __len__(self) -> int:
        return len(self.trees)

    def verdicts(self, rows: Rows, sources: Ints, steps: Ints) -> Verdicts:
        """Return for each step 1 where all is true, or what the first predicate that is not true is, 0 or ERROR.

        Args:
            sources: the number of the state before each step.
        """
        found = np.ones(len(steps), np.int8)
        while len(self):
            try:
                self._look_up(rows, sources, steps, found)
            except ColumnAddedError:
                for tree, kinds in self.trees:
                    if kinds.restart():
                        self._all.forget(tree)
            else:
                break
        return found

    def _look_up(self, rows: Rows, sources: Ints, steps: Ints, found: Verdicts) -> None:
        of_steps, open_ = (sources, steps), self.open_by_pattern()
        written = self._steps.arrays()
        self._all.look_up(
            StepRows(rows, sources, steps, self._steps),
            len(steps),
            lambda which, *more: check_steps(
                which, *of_steps, *open_, self.roots, *more[:2], rows, *written, found, *more[3:]
            ),
        )

    def open_by_pattern(self) -> tuple[Ints, Ints, Ints]:
        """List for each pattern the predicates that steps of its kinds leave open, with these kinds.

        Returns:
            Where the list of each pattern begins, and where the last one ends; the predicates; the kinds.
        """
        patterns = len(self._steps.masks)
        kinds = np.zeros((patterns, len(self)), np.int64)
        is_open = np.zeros((patterns, len(self)), np.bool_)
        for place, (tree, of_steps) in enumerate(self.trees):
            kinds[:, place] = of_steps.by_pattern()
            is_open[:, place] = ~self._all.settled(tree, of_steps.count)[kinds[:, place]]
        first, predicates = lists_of(is_open)
        return first, predicates, kinds[is_open]


# ---- The predicates of a specification ----


def invariants(module: dict[str, Any]) -> list[Callable[[State], Any]]:
    """Return the invariants of a specification, part by part; `module` are the names of its tracked code."""
    meta: Meta = module["META"]
    return [
        _holds_in(part, elements)
        for name in meta["invariants"]
        for part, elements in _instances(module, meta, name, of_step=False)
    ]


def step_properties(module: dict[str, Any]) -> list[Callable[[State, State], Any]]:
    """Return the properties of steps, part by part; `module` are the names of the tracked code."""
    meta: Meta = module["META"]
    return [
        _holds_of(part, elements, [module[key] for key in keys])
        for name, keys in meta["action_properties"].items()
        for part, elements in _instances(module, meta, name, of_step=True)
    ]


def constraints(module: dict[str, Any]) -> tuple[list[Callable[[State], Any]], list[Callable[[State, State], Any]]]:
    """Return the constraints on states, and those on steps."""
    meta: Meta = module["META"]
    return [module[key] for key in meta["constraints"]], [module[key] for key in meta["action_constraints"]]


def _instances(
    module: dict[str, Any], meta: Meta, name: str, *, of_step: bool
) -> Iterator[tuple[PropertyPart, tuple[Value, ...]]]:
    for each in meta["parts"][name]:
        if each["of_step"] is of_step:
            part = part_of(module, each)
            yield from ((part, elements) for elements in part.elements)


def _holds_in(part: PropertyPart, elements: tuple[Value, ...]) -> Callable[[State], Any]:
    return lambda state: part.holds(state, None, *elements)


def _holds_of(
    part: PropertyPart, elements: tuple[Value, ...], whole: list[Callable[[State, State], Any]]
) -> Callable[[State, State], Any]:
    """Return the test of a part of ``[][A]_v``: where that of A fails, the whole may hold, for v stayed as it was."""

    def holds(state: State, after: State) -> bool:
        try:
            if part.holds(state, after, *elements):
                return True
        except TlaError:
            pass
        return all(each(state, after) for each in whole)

    return holds
