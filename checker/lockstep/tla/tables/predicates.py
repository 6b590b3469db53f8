"""What is checked of states and steps, as trees: the parts of properties, and the constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.compile.module.meta import Meta
from lockstep.tla.compile.module.parts import PropertyPart, part_of
from lockstep.tla.state import State
from lockstep.tla.tables.evaluate import Evaluator
from lockstep.tla.tables.layout import Rows
from lockstep.tla.tables.trees import Ints, Trees
from lockstep.tla.values.kinds import TlaError, Value

__all__ = ["OfStates", "OfSteps", "constraints", "invariants", "step_properties"]

Truths: TypeAlias = npt.NDArray[np.int8]
_TRUE = 1
_MOST_ASKED = 1 << 20


class OfStates:
    """Predicates of one state."""

    def __init__(self, evaluator: Evaluator, trees: Trees, predicates: list[Callable[[State], Any]]) -> None:
        """Make a tree of each."""
        self._trees = trees
        self._made = [trees.tree(evaluator.truth(each)) for each in predicates]
        self._roots = np.array([tree.root for tree in self._made], np.int64)

    def __len__(self) -> int:
        """Count them."""
        return len(self._made)

    def told(self, rows: Rows) -> Truths:
        """Answer for each row whether all is true: 1, or what the first that is not true is, 0 or ERROR."""
        flat, width = rows.reshape(-1), rows.shape[1]

        def columns(which: Ints, asked: Ints) -> Any:
            return flat[which * width + asked]

        return _told(self._trees, self._roots, len(rows), columns, None)


class OfSteps:
    """Predicates of a step: of a state, and what changed."""

    def __init__(self, evaluator: Evaluator, trees: Trees, predicates: list[Callable[[State, State], Any]]) -> None:
        """Make a tree of each."""
        self._trees, self._evaluator = trees, evaluator
        self._made = [trees.tree(evaluator.truth_of_step(each), on_aux=True) for each in predicates]
        self._roots = np.array([tree.root for tree in self._made], np.int64)

    def __len__(self) -> int:
        """Count them."""
        return len(self._made)

    def told(self, rows: Rows, sources: Ints, after: Rows, patterns: Ints) -> Truths:
        """Answer for each step whether all is true: 1, or what the first that is not true is, 0 or ERROR.

        Args:
            rows: states.
            sources: of each step the number of the state before it.
            after: the state after it.
            patterns: the pattern of what it writes.
        """
        before, then, width = rows.reshape(-1), after.reshape(-1), rows.shape[1]

        def columns(which: Ints, asked: Ints) -> Any:
            is_next = asked >= width
            of_now = before[np.where(is_next, 0, sources[which] * width + asked)]
            return np.where(is_next, then[np.where(is_next, which * width + asked - width, 0)], of_now)

        return _told(self._trees, self._roots, len(after), columns, patterns)


def _told(trees: Trees, roots: Ints, count: int, columns: Callable[[Ints, Ints], Any], aux: Ints | None) -> Truths:
    """Go down all trees with all rows, some at once; answer the first answer of each row that is not true."""
    found = np.ones(count, np.int8)
    size = max(1, _MOST_ASKED // max(1, len(roots)))
    for first in range(0, count if len(roots) else 0, size):
        many = min(size, count - first)
        asked = np.repeat(np.arange(first, first + many), len(roots))
        answers = trees.answers(np.tile(roots, many), asked, columns, None if aux is None else aux[asked])
        told = answers.reshape(many, len(roots))
        found[first : first + many] = told[np.arange(many), np.argmax(told != _TRUE, axis=1)]
    return found


# ---- What there is to check ----


def invariants(module: dict[str, Any]) -> list[Callable[[State], Any]]:
    """List the invariants of a specification, part by part; `module` are the names of its tracked code."""
    meta: Meta = module["META"]
    return [
        _holds_in(part, elements)
        for name in meta["invariants"]
        for part, elements in _instances(module, meta, name, of_step=False)
    ]


def step_properties(module: dict[str, Any]) -> list[Callable[[State, State], Any]]:
    """List the properties of steps, part by part; `module` are the names of the tracked code."""
    meta: Meta = module["META"]
    return [
        _holds_of(part, elements, [module[key] for key in keys])
        for name, keys in meta["action_properties"].items()
        for part, elements in _instances(module, meta, name, of_step=True)
    ]


def constraints(module: dict[str, Any]) -> tuple[list[Callable[[State], Any]], list[Callable[[State, State], Any]]]:
    """List the constraints on states, and those on steps."""
    meta: Meta = module["META"]
    return [module[key] for key in meta["constraints"]], [module[key] for key in meta["action_constraints"]]


def _instances(
    module: dict[str, Any], meta: Meta, name: str, *, of_step: bool
) -> Iterator[tuple[PropertyPart, tuple[Value, ...]]]:
    for told in meta["parts"][name]:
        if told["of_step"] is of_step:
            part = part_of(module, told)
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
