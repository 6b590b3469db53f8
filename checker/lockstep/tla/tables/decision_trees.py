"""Decision trees over the columns of states: the results of evaluations by the values that they read, in their order.

An evaluation that reads the role of n1, finds ``LEADER`` there and then reads its term is a path in the tree: the root
asks for the column of the role, the branch of LEADER for that of the term, and below the term's value is the result.
Where the role is another the evaluation may have read nothing more. All trees share arrays, so that the rows of a whole
level of states go down all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.memberships import Membership

Ints: TypeAlias = npt.NDArray[Any]
#: The columns that an evaluation read, with the numbers of their values, in order, and memberships with their outcomes.
ReadPath: TypeAlias = list[tuple["int | Membership", int]]

#: The number of the value of a column.
Lookup: TypeAlias = Callable[[int], int]
#: An evaluation: it extends a path by the columns that it reads, and returns the whole path and its result.
Evaluate: TypeAlias = Callable[[ReadPath, Lookup], tuple[ReadPath, int]]

#: The column of a root that branches on a number that comes with each row: of arguments, or of a step's writes.
AUX = 1 << 24

#: What a node asks for that is a leaf, or is not evaluated yet.
_LEAF, _OPEN = -1, -2
_FIRST = 1 << 10


class TreeInput(Protocol):
    """The rows that go down trees together, by number."""

    def values(self, which: Ints, columns: Ints) -> Ints:
        """Return the values of columns, one for each of some rows."""

    def lookup(self, which: int) -> Lookup:
        """Return the function from a column to its value in one row."""

    def distinct_states(self, which: Ints) -> tuple[StateRows, Ints]:
        """Return the states of some rows, each once, and the number among these of each."""


class Tree:
    """One tree: the evaluation, and the number of its root.

    Attributes:
        evaluate: extends a path with what it reads by a function from columns to values; returns the whole path and the
            result.
        columns: the columns that were read anywhere in it, as bits.
        touched: the columns that it had read when that was last computed, and which sets of columns have one of them.
    """

    __slots__ = ("columns", "evaluate", "root", "touched")

    def __init__(self, evaluate: Evaluate, root: int) -> None:
        self.evaluate, self.root, self.columns = evaluate, root, 0
        self.touched: tuple[int, npt.NDArray[np.bool_]] = (0, np.zeros(0, np.bool_))


class Trees:
    """Nodes in arrays. A node is a leaf with a result, or asks for a column and has a branch for each value.

    Attributes:
        derived: the trees of columns whose values are computed when they are first asked for.
    """

    def __init__(self) -> None:
        self.trees: list[Tree] = []
        self.derived: dict[int, Tree] = {}
        self.evaluations = 0
        self.lookups = 0
        self._column = np.full(_FIRST, _OPEN, np.int32)
        self._result = np.zeros(_FIRST, np.int32)
        self._start = np.zeros(_FIRST, np.int64)
        self._capacity = np.zeros(_FIRST, np.int32)
        self._tree: list[int] = []
        self._parent: list[int] = []
        self._value: list[int] = []
        self._asks: list[int | Membership] = []
        self._branch = np.full(_FIRST, -1, np.int32)
        self._end = 1  # the first place is that of a node without room, which has no branch

    @property
    def nbytes(self) -> int:
        """The size of the arrays, and roughly of the lists beside them."""
        arrays = (self._column, self._result, self._start, self._capacity, self._branch)
        return sum(each.nbytes for each in arrays) + 100 * len(self._parent)

    def nodes(self) -> npt.NDArray[np.int32]:
        """Return a row for each node: what it asks for, its branches, where they begin, the result of a leaf."""
        count = len(self._parent)
        columns = self._column, self._capacity, self._start, self._result
        return np.stack([each[:count].astype(np.int32) for each in columns], axis=1)

    def branches(self) -> npt.NDArray[np.int32]:
        """Return the branches of all nodes: the node below for each value, and at the end of a node's, -1."""
        return self._branch[: self._end]

    def tree(self, evaluate: Evaluate, *, on_aux: bool = False) -> Tree:
        """Make a tree; with `on_aux` its root branches on the number that comes with each row."""
        tree = Tree(evaluate, len(self._parent))
        self.trees.append(tree)
        root = self._node(len(self.trees) - 1, -1, -1)
        if on_aux:
            self._column[root] = self._asks[root] = AUX
        return tree

    def _node(self, tree: int, parent: int, value: int) -> int:
        number = len(self._parent)
        if number == len(self._column):
            self._column = np.concatenate([self._column, np.full(number, _OPEN, np.int32)])
            self._result, self._start, self._capacity = (
                np.concatenate([each, np.zeros_like(each)]) for each in (self._result, self._start, self._capacity)
            )
        self._tree.append(tree)
        self._parent.append(parent)
        self._value.append(value)
        self._asks.append(_OPEN)
        return number

    def results(self, roots: Ints, rows: TreeInput, aux: Ints | None = None) -> Ints:
        """Go down trees; evaluate what is not known.

        Args:
            roots: the root of the tree that each row goes down.
            aux: the number that comes with each row, where roots branch on it.

        Returns:
            The results.
        """
        at = roots.copy()
        left = np.arange(len(roots))
        self.lookups += len(roots)
        while len(left):
            nodes = at.take(left)
            wanted = self._column.take(nodes)
            if len(wanted) and int(wanted.min()) < 0:
                if (wanted == _OPEN).any():
                    self._open(nodes, left, rows)
                    wanted = self._column.take(nodes)
                on = np.flatnonzero(wanted != _LEAF)
                left, nodes, wanted = left.take(on), nodes.take(on), wanted.take(on)
                if not len(left):
                    break
            if aux is not None and int(wanted.max()) == AUX:
                values = np.where(wanted == AUX, aux.take(left), rows.values(left, np.where(wanted == AUX, 0, wanted)))
            else:
                values = rows.values(left, wanted)
            below = self._below(nodes, values)
            if int(below.min()) < 0:
                missing = np.flatnonzero(below < 0)
                if self.derived and int(values.min()) < 0:
                    values = self._with_derived(values, wanted, left, rows)
                    missing = np.flatnonzero(self._below(nodes, values) < 0)
                self._grow(nodes[missing], values[missing], left[missing], rows)
                below = self._below(nodes, values)
            at[left] = below
        return self._result.take(at)

    def result(self, tree: Tree, lookup: Lookup) -> int:
        """Go down a tree for one state; evaluate what is not known."""
        node = tree.root
        while (column := int(self._column[node])) != _LEAF:
            if column == _OPEN:
                self._evaluate(node, lookup)
            else:
                node = self._child(node, self.number(column, lookup))
        return int(self._result[node])

    def number(self, column: int, lookup: Lookup) -> int:
        """Return the number of the value of a column, also of a derived one."""
        number = lookup(column)
        return number if number >= 0 else self.result(self.derived[column], lookup)

    def reads(self, tree: Tree) -> int:
        """Return the columns that were read anywhere in a tree, as bits, with what those depend on that are derived."""
        found = tree.columns
        if not self.derived or not found >> min(self.derived):
            return found
        waiting, followed = [tree], {tree.root}  # definitions may ask one another, each in another state
        while waiting:
            columns = waiting.pop().columns
            found |= columns
            for column, derived in self.derived.items():
                if columns >> column & 1 and derived.root not in followed:
                    followed.add(derived.root)
                    waiting.append(derived)
        return found

    def touched(self, masks: Sequence[int], trees: Sequence[Tree]) -> npt.NDArray[np.bool_]:
        """Return for each of some sets of columns, as bits, and each tree whether the tree has read one of them.

        The sets are those of the time before, and further ones.
        """
        found = np.zeros((len(masks), len(trees)), np.bool_)
        for number, tree in enumerate(trees):
            found[:, number] = self._touched(masks, tree)
        return found

    def _touched(self, masks: Sequence[int], tree: Tree) -> npt.NDArray[np.bool_]:
        reads = self.reads(tree)
        before, known = tree.touched
        if before != reads:
            known = known[:0]
        if len(known) < len(masks):
            more = [bool(mask & reads) for mask in masks[len(known) :]]
            known = np.concatenate([known, np.array(more, np.bool_)])
            tree.touched = reads, known
        return known

    def _with_derived(self, values: Ints, wanted: Ints, left: Ints, rows: TreeInput) -> Ints:
        """Return the values of columns with those of derived ones, which are negative until then."""
        found = values.astype(np.int64)
        unknown = np.flatnonzero(values < 0)
        for column in np.unique(wanted[unknown]).tolist():
            of_column = unknown[wanted[unknown] == column]
            states, numbers = rows.distinct_states(left[of_column])
            results = self.results(np.full(len(states), self.derived[column].root, np.int64), states)
            states.fill(column, results)
            found[of_column] = results[numbers]
        return found

    def _below(self, nodes: Ints, values: Ints) -> Ints:
        """Return the nodes below nodes for values; -1 where there is none. The last place of a node has none."""
        places = np.minimum(values, self._capacity.take(nodes))
        return self._branch.take(self._start.take(nodes) + places)

    def result_at(self, node: int) -> int:
        """Return the result of a leaf."""
        return int(self._result[node])

    def evaluate_again(self, lookup: Lookup) -> None:
        """Evaluate once more for the trees with one result for all states; the audit fails if it is another here."""
        for tree in self.trees:
            if self._column[tree.root] == _LEAF:
                tree.evaluate([], lookup)

    def forget(self, tree: Tree) -> None:
        """Forget all results of a tree whose root branches on the number that comes with each row."""
        self._start[tree.root] = self._capacity[tree.root] = 0

    def settled(self, tree: Tree, count: int) -> npt.NDArray[np.bool_]:
        """Return for the numbers on which a root branches whether nothing more is read there, and all is true."""
        found = np.zeros(count, np.bool_)
        known = min(count, int(self._capacity[tree.root]))
        start = int(self._start[tree.root])
        below = self._branch[start : start + known]
        found[:known] = (below >= 0) & (self._column[below] == _LEAF) & (self._result[below] == 1)
        return found

    # ---- What is not known yet ----

    def _open(self, nodes: Ints, left: Ints, rows: TreeInput) -> None:
        """Evaluate for nodes that have neither a result nor a column."""
        open_ = np.flatnonzero(self._column[nodes] == _OPEN)
        wanted, first = np.unique(nodes[open_], return_index=True)
        for node, place in zip(wanted.tolist(), left[open_[first]].tolist(), strict=True):
            self._evaluate(node, rows.lookup(place))

    def _grow(self, nodes: Ints, values: Ints, at: Ints, rows: TreeInput) -> None:
        """Add branches for values that are new there, and evaluate."""
        wanted, first = np.unique((nodes.astype(np.int64) << 32) | values, return_index=True)
        for each, place in zip(wanted.tolist(), at[first].tolist(), strict=True):
            child = self._child(each >> 32, each & 0xFFFFFFFF)
            if self._column[child] == _OPEN:
                self._evaluate(child, rows.lookup(place))

    def _child(self, node: int, value: int) -> int:
        """Return the node below a node, for a value; a new one where there is none."""
        if value >= self._capacity[node]:
            self._enlarge(node, max(3, (1 << (value + 1).bit_length()) - 1))
        place = int(self._start[node]) + value
        child = int(self._branch[place])
        if child < 0:
            asks = self._asks[node]
            if isinstance(asks, Membership):
                child = self._of_outcome(node, asks, asks.outcome(value))
            else:
                child = self._node(self._tree[node], node, value)
            self._branch[place] = child
        return child

    def _of_outcome(self, node: int, asks: Membership, outcome: int) -> int:
        """Return the node below a node that asks for a membership; there is one for all values of one outcome."""
        child = asks.below.get(outcome)
        if child is None:
            child = asks.below[outcome] = self._node(self._tree[node], node, outcome)
        return child

    def _enlarge(self, node: int, capacity: int) -> None:
        end = self._end + capacity + 1
        if end > len(self._branch):
            more = max(len(self._branch), capacity + 1)
            self._branch = np.concatenate([self._branch, np.full(more, -1, np.int32)])
        start, before = int(self._start[node]), int(self._capacity[node])
        if before:
            self._branch[self._end : self._end + before] = self._branch[start : start + before]
        self._start[node], self._capacity[node] = self._end, capacity
        self._end = end

    def _path_to(self, node: int) -> ReadPath:
        path: ReadPath = []
        while (parent := self._parent[node]) >= 0:
            path.append((self._asks[parent], self._value[node]))
            node = parent
        path.reverse()
        return path

    def _evaluate(self, node: int, lookup: Lookup) -> None:
        """Evaluate with what is known at a node, and put what was read, and the result, below it."""
        tree = self.trees[self._tree[node]]
        known = self._path_to(node)
        self.evaluations += 1
        path, result = tree.evaluate(known, lookup)
        for asks, value in path[len(known) :]:
            if isinstance(asks, Membership):
                column, number = asks.column, self.number(asks.column, lookup)
                child = self._of_outcome(node, asks, value)
            else:
                column, number, child = asks, value, self._node(self._tree[node], node, value)
            self._column[node], self._asks[node] = column, asks
            tree.columns |= 1 << column
            self._enlarge(node, max(3, (1 << (number + 1).bit_length()) - 1))  # it is new, and has none
            self._branch[self._end - int(self._capacity[node]) - 1 + number] = child
            node = child
        self._column[node], self._result[node] = _LEAF, result


def places_of(table: Ints) -> tuple[Ints, Ints]:
    """Return the rows and columns of what is not zero in a table, row by row; many times faster than NumPy's own."""
    places = np.flatnonzero(table)
    rows = places // max(1, table.shape[1])
    return rows, places - rows * table.shape[1]


class StateRows:
    """States that go down trees; several rows may be one state."""

    __slots__ = ("_base", "_flat", "_rows", "_which")

    def __init__(self, rows: Ints, which: Ints) -> None:
        """Take the rows of states, and for each row that goes down the number of its state."""
        self._rows, self._which = rows, which
        self._flat, self._base = rows.reshape(-1), which * rows.shape[1]

    def __len__(self) -> int:
        return len(self._which)

    def values(self, which: Ints, columns: Ints) -> Ints:
        """Return the values of columns, one for each of some rows."""
        found: Ints = self._flat.take(self._base.take(which) + columns)
        return found

    def lookup(self, which: int) -> Lookup:
        """Return the function from a column to its value in one row."""
        flat, base = self._flat, int(self._base[which])
        return lambda column: int(flat[base + column])

    def distinct_states(self, which: Ints) -> tuple[StateRows, Ints]:
        """Return the states of some rows, each once, and the number among these of each."""
        rows = self._which[which]
        last = np.empty(len(self._rows), np.int64)
        last[rows] = np.arange(len(rows))
        first = np.flatnonzero(last[rows] == np.arange(len(rows)))
        last[rows[first]] = np.arange(len(first))
        return StateRows(self._rows, rows[first]), last[rows]

    def fill(self, column: int, numbers: Ints) -> None:
        """Put numbers into a column of the rows, if there is room for numbers as large."""
        if len(numbers) and int(numbers.max()) <= np.iinfo(self._rows.dtype).max:
            self._rows[self._which, column] = numbers


class StepRows:
    """Steps that go down trees: columns from the width of a state on are those of the next state.

    The number that comes with each row is the pattern of what the step writes.
    """

    __slots__ = ("_base", "_before", "_patterns", "_steps", "_width", "_written")

    def __init__(
        self, before: Ints, sources: Ints, steps: Ints, patterns: Ints, written: Callable[[Ints, Ints], Ints]
    ) -> None:
        """Take steps.

        Args:
            sources: the number of the state before each step.
            patterns: the pattern of what each writes.
            written: returns the values that steps write into columns, negative where they write nothing there.
        """
        self._width = before.shape[1]
        self._before, self._base = before.reshape(-1), sources * self._width
        self._steps, self._patterns, self._written = steps, patterns, written

    def values(self, which: Ints, columns: Ints) -> Ints:
        """Return the values of columns, one for each of some rows."""
        is_next = columns >= self._width
        slots = np.where(is_next, columns - self._width, columns)
        found: Ints = self._before.take(self._base.take(which) + slots)
        later = np.flatnonzero(is_next)
        if len(later):
            new = self._written(self._steps[which[later]], slots[later])
            found[later] = np.where(new < 0, found[later], new)
        return found

    def lookup(self, which: int) -> Lookup:
        """Return the function from a column to its value in one row."""
        place, base = np.array([which]), int(self._base[which])

        def value(column: int) -> int:
            if column < self._width:
                return int(self._before[base + column])
            return int(self._patterns[which] if column == AUX else self.values(place, np.array([column]))[0])

        return value

    def distinct_states(self, which: Ints) -> tuple[StateRows, Ints]:
        """Refuse: a tree of steps has no derived column."""
        raise AssertionError("a tree of steps has no derived column")
