"""What is checked of states and steps, as trees: the parts of properties, and the constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.compile.property_parts import PropertyPart, part_of
from lockstep.tla.compile.spec_meta import Meta
from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Asked, Ints, RowsAsked, StepsAsked, Tree, Trees, places_of
from lockstep.tla.tables.evaluator import Evaluator
from lockstep.tla.tables.state_layout import Rows
from lockstep.tla.tables.step_kinds import Kinds, MoreMattersError
from lockstep.tla.values.kinds import TlaError, Value

__all__ = ["OfStates", "OfSteps", "constraints", "invariants", "step_properties"]

Truths: TypeAlias = npt.NDArray[np.int8]
_TRUE = 1
_MOST_ASKED = 1 << 20
_NONE: Ints = np.zeros(0, np.int64)


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
        everything = np.ones((1, len(self)), np.bool_)
        return _told(self._trees, self._roots, everything, np.zeros(len(rows), np.int64), _of_rows(rows))

    def told_after(self, rows: Rows, patterns: Ints, masks: Sequence[int]) -> Truths:
        """Answer the same for rows before whose last step, of a pattern that wrote the columns of a mask, all was true.

        Each must have been asked of the state before that step.
        """
        concerned = self._trees.touched(masks, self._made)
        return _told(self._trees, self._roots, concerned, patterns, _of_rows(rows))


class OfSteps:
    """Predicates of a step: of a state, and what changed."""

    def __init__(self, evaluator: Evaluator, trees: Trees, predicates: list[Callable[[State, State], Any]]) -> None:
        """Make a tree of each."""
        self._trees, self._steps = trees, evaluator.steps
        self._made: list[tuple[Tree, Kinds]] = []
        for each in predicates:
            kinds = Kinds(evaluator.steps.masks, evaluator.span)
            self._made.append((trees.tree(evaluator.truth_of_step(each, kinds), on_aux=True), kinds))

    def __len__(self) -> int:
        """Count them."""
        return len(self._made)

    def told(self, rows: Rows, sources: Ints, steps: Ints, patterns: Ints) -> Truths:
        """Answer for each step whether all is true: 1, or what the first that is not true is, 0 or ERROR.

        Args:
            rows: states.
            sources: of each step the number of the state before it.
            steps: its number.
            patterns: the pattern of what it writes.
        """
        found = np.ones(len(steps), np.int8)
        size = max(1, _MOST_ASKED // max(1, len(self._made)))
        for first in range(0, len(steps) if self._made else 0, size):
            some = slice(first, first + size)
            found[some] = self._told(rows, sources[some], steps[some], patterns[some])
        return found

    def _told(self, rows: Rows, sources: Ints, steps: Ints, patterns: Ints) -> Truths:
        while True:
            try:
                return self._asked(rows, sources, steps, patterns)
            except MoreMattersError:
                for tree, kinds in self._made:
                    if kinds.began_anew():
                        self._trees.forget(tree)

    def _asked(self, rows: Rows, sources: Ints, steps: Ints, patterns: Ints) -> Truths:
        """Ask what the kinds of steps leave open; a step that writes nothing of what matters, once for its state."""
        asked, roots, of, back, told_of, count = [_NONE], [_NONE], [_NONE], [_NONE], [_NONE], 0
        for tree, kinds in self._made:
            of_patterns = kinds.of_patterns()
            kind = of_patterns.take(patterns)
            open_ = ~self._trees.settled(tree, kinds.count).take(kind)
            moved, still = np.flatnonzero(open_ & (kind != 0)), np.flatnonzero(open_ & (kind == 0))
            first = np.diff(sources[still], prepend=-1) != 0
            asked += [moved, still[first]]
            of += [kind[moved], kind[still[first]]]
            told_of += [moved, still]
            back += [count + np.arange(len(moved)), count + len(moved) - 1 + np.cumsum(first)]
            more = len(moved) + int(first.sum())
            roots.append(np.full(more, tree.root, np.int64))
            count += more
        which = np.concatenate(asked)
        steps_asked = StepsAsked(rows, sources[which], steps[which], patterns[which], self._steps.at)
        told = self._trees.answers(np.concatenate(roots), steps_asked, np.concatenate(of))
        return _first_that_fails(len(steps), np.concatenate(told_of), told[np.concatenate(back)])


def _of_rows(rows: Rows) -> Callable[[Ints], Asked]:
    return lambda which: RowsAsked(rows, which)


def _told(
    trees: Trees, roots: Ints, concerned: npt.NDArray[np.bool_], kinds: Ints, asked: Callable[[Ints], Asked]
) -> Truths:
    """Ask of each row the trees that concern its kind; answer the first answer of each row that is not true."""
    found = np.ones(len(kinds), np.int8)
    size = max(1, _MOST_ASKED // max(1, len(roots)))
    for first in range(0, len(kinds) if len(roots) else 0, size):
        which, tree = places_of(concerned.take(kinds[first : first + size], axis=0))
        which += first
        told = trees.answers(roots[tree], asked(which))
        found[first : first + size] = _first_that_fails(len(found[first : first + size]), which - first, told)
    return found


def _first_that_fails(count: int, which: Ints, told: Ints) -> Truths:
    """Answer for each of so many what is told of it first that is not true; `which` tells of which of them each is."""
    found = np.ones(count, np.int8)
    failing = np.flatnonzero(told != _TRUE)[::-1]  # of those that are told of one the last one stays
    found[which[failing]] = told[failing]
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
