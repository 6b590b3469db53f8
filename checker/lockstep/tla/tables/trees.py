"""Decision trees over the columns of states: what an evaluation answered, by the values of what it read, in its order.

An evaluation that reads the role of n1, finds ``LEADER`` there and then reads its term is a way in the tree: the root
asks for the column of the role, the branch of LEADER for that of the term, and below the term's value is the answer.
Where the role is another the evaluation may have read nothing more. All trees share arrays, so that the rows of a whole
level of states go down all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["AUX", "Ints", "Tree", "Trees", "Way"]

Ints: TypeAlias = npt.NDArray[np.int64]
#: The columns that an evaluation read, with the numbers of their values, in order.
Way: TypeAlias = list[tuple[int, int]]

#: The column of a root that branches on a number that comes with each row: of arguments, or of what a step writes.
AUX = 1 << 24

_LEAF, _OPEN = -1, -2
_FIRST = 1 << 10


class Tree:
    """One tree: what to evaluate, and the tree's number.

    Attributes:
        evaluate: answers of a way that is known, and of what answers further columns, the whole way and the answer.
        root: the number of its root.
        columns: the columns that were read anywhere in it, as bits.
    """

    __slots__ = ("columns", "evaluate", "leaves", "root")

    def __init__(self, evaluate: Callable[[Way, Callable[[int], int]], tuple[Way, int]], root: int) -> None:
        """Make a tree of what to evaluate."""
        self.evaluate, self.root, self.columns, self.leaves = evaluate, root, 0, 0


class Trees:
    """Nodes in arrays. A node is a leaf with an answer, or asks for a column and has a branch for each value."""

    def __init__(self) -> None:
        """Begin with no tree."""
        self.trees: list[Tree] = []
        self.evaluations = 0
        self.looked_up = 0
        self._column = np.full(_FIRST, _OPEN, np.int32)
        self._answer = np.zeros(_FIRST, np.int32)
        self._start = np.zeros(_FIRST, np.int64)
        self._room = np.zeros(_FIRST, np.int32)
        self._tree: list[int] = []
        self._parent: list[int] = []
        self._value: list[int] = []
        self._branch = np.full(_FIRST, -1, np.int32)
        self._end = 0

    @property
    def nbytes(self) -> int:
        """The size of the arrays, and roughly of the lists beside them."""
        arrays = (self._column, self._answer, self._start, self._room, self._branch)
        return sum(each.nbytes for each in arrays) + 100 * len(self._parent)

    def tree(self, evaluate: Callable[[Way, Callable[[int], int]], tuple[Way, int]], *, on_aux: bool = False) -> Tree:
        """Make a tree; with `on_aux` its root branches on the number that comes with each row."""
        tree = Tree(evaluate, len(self._parent))
        self.trees.append(tree)
        root = self._node(len(self.trees) - 1, -1, -1)
        if on_aux:
            self._column[root] = AUX
        return tree

    def _node(self, tree: int, parent: int, value: int) -> int:
        number = len(self._parent)
        if number == len(self._column):
            self._column = np.concatenate([self._column, np.full(number, _OPEN, np.int32)])
            self._answer, self._start, self._room = (
                np.concatenate([each, np.zeros_like(each)]) for each in (self._answer, self._start, self._room)
            )
        self._tree.append(tree)
        self._parent.append(parent)
        self._value.append(value)
        return number

    def answers(
        self, roots: Ints, rows: Ints, columns: Callable[[Ints, Ints], npt.NDArray[np.int32]], aux: Ints | None = None
    ) -> Ints:
        """Go down trees with rows; evaluate what is not known.

        Args:
            roots: the root of the tree to go down, for each of what is asked.
            rows: the row to go with.
            columns: answers the values of columns, given rows and columns.
            aux: the number that comes with each, where roots branch on it.

        Returns:
            The answers.
        """
        at = roots.copy()
        left = np.arange(len(roots))
        self.looked_up += len(roots)
        while len(left):
            nodes = at[left]
            asked = self._column[nodes]
            if (asked < 0).any():
                if (asked == _OPEN).any():
                    self._open(nodes, left, rows, columns, aux)
                    asked = self._column[nodes]
                on = asked != _LEAF
                left, nodes, asked = left[on], nodes[on], asked[on]
                if not len(left):
                    break
            values = self._values(asked, rows[left], columns, None if aux is None else aux[left])
            below = self._below(nodes, values)
            if (missing := below < 0).any():
                where = np.flatnonzero(missing)
                self._grow(nodes[where], values[where], left[where], rows, columns, aux)
                below = self._below(nodes, values)
            at[left] = below
        return self._answer[at].astype(np.int64)

    @staticmethod
    def _values(
        asked: npt.NDArray[np.int32],
        rows: Ints,
        columns: Callable[[Ints, Ints], npt.NDArray[np.int32]],
        aux: Ints | None,
    ) -> npt.NDArray[np.int32]:
        if aux is None:
            return columns(rows, asked.astype(np.int64))
        of_aux = asked == AUX
        if of_aux.all():
            return aux.astype(np.int32)
        if not of_aux.any():
            return columns(rows, asked.astype(np.int64))
        return np.where(of_aux, aux, columns(rows, np.where(of_aux, 0, asked).astype(np.int64))).astype(np.int32)

    def _below(self, nodes: Ints, values: npt.NDArray[np.int32]) -> Ints:
        inside = values < self._room[nodes]
        found = self._branch[np.where(inside, self._start[nodes] + values, 0)]
        return np.where(inside, found, -1).astype(np.int64)

    # ---- What is not known yet ----

    def _open(
        self,
        nodes: Ints,
        left: Ints,
        rows: Ints,
        columns: Callable[[Ints, Ints], npt.NDArray[np.int32]],
        aux: Ints | None,
    ) -> None:
        """Evaluate for the nodes of which nothing is known but how they are reached."""
        open_ = np.flatnonzero(self._column[nodes] == _OPEN)
        wanted, first = np.unique(nodes[open_], return_index=True)
        for node, place in zip(wanted.tolist(), left[open_[first]].tolist(), strict=True):
            self._evaluate(node, _looking(int(rows[place]), columns))

    def _grow(
        self,
        nodes: Ints,
        values: npt.NDArray[np.int32],
        asking: Ints,
        rows: Ints,
        columns: Callable[[Ints, Ints], npt.NDArray[np.int32]],
        aux: Ints | None,
    ) -> None:
        """Add branches for values that were not met there before, and evaluate."""
        wanted, first = np.unique((nodes << 32) | values.astype(np.int64), return_index=True)
        for each, place in zip(wanted.tolist(), asking[first].tolist(), strict=True):
            child = self._child(each >> 32, each & 0xFFFFFFFF)
            if self._column[child] == _OPEN:
                self._evaluate(child, _looking(int(rows[place]), columns))

    def _child(self, node: int, value: int) -> int:
        """Answer the node below a node, for a value; a new one where there is none."""
        room = int(self._room[node])
        if value >= room:
            self._make_room(node, max(4, 1 << (value + 1).bit_length()))
        place = int(self._start[node]) + value
        child = int(self._branch[place])
        if child < 0:
            child = self._node(self._tree[node], node, value)
            self._branch[place] = child
        return child

    def _make_room(self, node: int, room: int) -> None:
        if self._end + room > len(self._branch):
            more = max(len(self._branch), room)
            self._branch = np.concatenate([self._branch, np.full(more, -1, np.int32)])
        start, before = int(self._start[node]), int(self._room[node])
        self._branch[self._end : self._end + before] = self._branch[start : start + before]
        self._start[node], self._room[node] = self._end, room
        self._end += room

    def _way(self, node: int) -> Way:
        way: Way = []
        while (parent := self._parent[node]) >= 0:
            way.append((int(self._column[parent]), self._value[node]))
            node = parent
        way.reverse()
        return way

    def _evaluate(self, node: int, look: Callable[[int], int]) -> None:
        """Evaluate with what is known at a node, and put what was read, and the answer, below it."""
        tree = self.trees[self._tree[node]]
        known = self._way(node)
        self.evaluations += 1
        way, answer = tree.evaluate(known, look)
        for column, value in way[len(known) :]:
            self._column[node] = column
            tree.columns |= 1 << column
            node = self._child(node, value)
        self._column[node], self._answer[node] = _LEAF, answer
        tree.leaves += 1


def _looking(row: int, columns: Callable[[Ints, Ints], npt.NDArray[np.int32]]) -> Callable[[int], int]:
    where = np.array([row], np.int64)
    return lambda column: int(columns(where, np.array([column], np.int64))[0])
