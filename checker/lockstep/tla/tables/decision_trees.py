"""Decision trees over the columns of states: the results of evaluations by the values that they read, in their order.

An evaluation that reads the role of n1, finds ``LEADER`` there and then reads its term is a path in the tree: the root
asks for the column of the role, the branch of LEADER for that of the term, and below the term's value is the result.
Where the role is another the evaluation may have read nothing more. All trees share arrays, so that the rows of a whole
level of states go down all of them together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.kernel_threads import KernelThreads
from lockstep.tla.tables.memberships import Membership
from lockstep.tla.tables.search_kernels import ASKS, AUX, BEGIN, BRANCHES, LEAF, OPEN, RESULT, TOO_NESTED, walk_states

if TYPE_CHECKING:
    from lockstep.tla.tables.written_steps import WrittenSteps

Ints: TypeAlias = npt.NDArray[Any]
#: The columns that an evaluation read, with the numbers of their values, in order, and memberships with their outcomes.
ReadPath: TypeAlias = list[tuple["int | Membership", int]]

#: The number of the value of a column.
Lookup: TypeAlias = Callable[[int], int]
#: An evaluation: it extends a path by the columns that it reads, and returns the whole path and its result.
Evaluate: TypeAlias = Callable[[ReadPath, Lookup], tuple[ReadPath, int]]

_FIRST = 1 << 10
#: What is missing that is listed at once; more of it is met again.
_MAX_MISSED = 1 << 14


class TooNestedError(Exception):
    """More definitions wait for one another than a loop follows."""


class TreeInput(Protocol):
    """The rows that go down trees together, by number."""

    def lookup(self, which: int) -> Lookup:
        """Return the function from a column to its value in one row."""


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
        evaluation_seconds: the time by the clock that evaluating what was missing has taken.
    """

    def __init__(self, threads: KernelThreads | None = None) -> None:
        """Begin without trees; `threads` go down them."""
        self.threads = KernelThreads() if threads is None else threads
        self.trees: list[Tree] = []
        self.derived: dict[int, Tree] = {}
        self.evaluations = 0
        self.lookups = 0
        self.evaluation_seconds = 0.0
        self._nodes = _open_nodes(_FIRST)
        self._tree: list[int] = []
        self._parent: list[int] = []
        self._value: list[int] = []
        self._asks: list[int | Membership] = []
        self._branch = np.full(_FIRST, -1, np.int32)
        self._end = 1  # the first place is that of a node without room, which has no branch
        self._definitions: Ints = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """The size of the arrays, and roughly of the lists beside them."""
        return self._nodes.nbytes + self._branch.nbytes + 100 * len(self._parent)

    def nodes(self) -> npt.NDArray[np.int32]:
        """Return a row for each node: what it asks for, its branches, where they begin, the result of a leaf."""
        return self._nodes[: len(self._parent)]

    def branches(self) -> npt.NDArray[np.int32]:
        """Return the branches of all nodes: the node below for each value, and at the end of a node's, -1."""
        return self._branch[: self._end]

    def definitions(self) -> Ints:
        """Return the root of the tree of each definition, by its column."""
        last = max(self.derived, default=-1)
        if len(self._definitions) != last + 1:
            roots = np.full(last + 1, -1, np.int64)
            for column, tree in self.derived.items():
                roots[column] = tree.root
            self._definitions = roots
        return self._definitions

    def tables(self) -> tuple[Ints, Ints, Ints]:
        """Return what loops read, which is not to change while threads do: nodes, branches and definitions."""
        return self.nodes(), self.branches(), self.definitions()

    def tree(self, evaluate: Evaluate, *, on_aux: bool = False) -> Tree:
        """Make a tree; with `on_aux` its root branches on the number that comes with each row."""
        tree = Tree(evaluate, len(self._parent))
        self.trees.append(tree)
        root = self._node(len(self.trees) - 1, -1, -1)
        if on_aux:
            self._nodes[root, ASKS] = self._asks[root] = AUX
        return tree

    def _node(self, tree: int, parent: int, value: int) -> int:
        number = len(self._parent)
        if number == len(self._nodes):
            self._nodes = np.concatenate([self._nodes, _open_nodes(number)])
        self._tree.append(tree)
        self._parent.append(parent)
        self._value.append(value)
        self._asks.append(OPEN)
        return number

    def results(self, roots: Ints, rows: StateRows) -> Ints:
        """Go down trees, and evaluate what is not known.

        Args:
            roots: the root of the tree that each row goes down.

        Returns:
            The results.
        """
        found = np.empty(len(roots), np.int32)
        inputs = roots, rows.bases
        self.look_up(
            rows, len(roots), lambda which, *more: walk_states(which, *inputs, *more[:3], rows.flat, found, *more[3:])
        )
        self.lookups += len(roots)
        return found

    def look_up(self, rows: TreeInput, count: int, kernel: Callable[..., None]) -> None:
        """Let a kernel go down trees for all rows, and once more for those in which something was missing.

        Args:
            kernel: takes the numbers of rows; nodes, branches and definitions; and then places for the rows in which
                something is missing, for what that is, and for the numbers of both.
        """
        which = np.arange(count)
        while len(which):
            parts = self.threads.run(len(which), partial(_look_up_part, kernel, self.tables(), which))
            which = np.concatenate([again for again, _ in parts])
            self.supply(np.concatenate([missed for _, missed in parts]), rows)

    def supply(self, missed: Ints, rows: TreeInput) -> None:
        """Evaluate what is missing.

        Args:
            missed: the row that met it, the node, and the value for which that has no branch, -1 if it is open.
        """
        begin = time.perf_counter()
        if (missed[:, 2] == TOO_NESTED).any():
            raise TooNestedError
        wanted, first = np.unique((missed[:, 1] << 32) | (missed[:, 2] + 1), return_index=True)
        for each, row in zip(wanted.tolist(), missed[first, 0].tolist(), strict=True):
            node, value = each >> 32, (each & 0xFFFFFFFF) - 1
            child = node if value < 0 else self._child(node, value)
            if self._nodes[child, ASKS] == OPEN:
                self._evaluate(child, rows.lookup(row))
        self.evaluation_seconds += time.perf_counter() - begin

    def result(self, tree: Tree, lookup: Lookup) -> int:
        """Go down a tree for one state; evaluate what is not known."""
        node = tree.root
        while (column := int(self._nodes[node, ASKS])) != LEAF:
            if column == OPEN:
                self._evaluate(node, lookup)
            else:
                node = self._child(node, self.number(column, lookup))
        return int(self._nodes[node, RESULT])

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

    def result_at(self, node: int) -> int:
        """Return the result of a leaf."""
        return int(self._nodes[node, RESULT])

    def evaluate_again(self, lookup: Lookup) -> None:
        """Evaluate once more for the trees with one result for all states; the audit fails if it is another here."""
        for tree in self.trees:
            if self._nodes[tree.root, ASKS] == LEAF:
                tree.evaluate([], lookup)

    def forget(self, tree: Tree) -> None:
        """Forget all results of a tree whose root branches on the number that comes with each row."""
        self._nodes[tree.root, BEGIN] = self._nodes[tree.root, BRANCHES] = 0

    def settled(self, tree: Tree, count: int) -> npt.NDArray[np.bool_]:
        """Return for the numbers on which a root branches whether nothing more is read there, and all is true."""
        found = np.zeros(count, np.bool_)
        known = min(count, int(self._nodes[tree.root, BRANCHES]))
        start = int(self._nodes[tree.root, BEGIN])
        below = self._branch[start : start + known]
        found[:known] = (below >= 0) & (self._nodes[below, ASKS] == LEAF) & (self._nodes[below, RESULT] == 1)
        return found

    # ---- What is not known yet ----

    def _child(self, node: int, value: int) -> int:
        """Return the node below a node, for a value; a new one where there is none."""
        if value >= self._nodes[node, BRANCHES]:
            self._enlarge(node, max(3, (1 << (value + 1).bit_length()) - 1))
        place = int(self._nodes[node, BEGIN]) + value
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
        start, before = int(self._nodes[node, BEGIN]), int(self._nodes[node, BRANCHES])
        if before:
            self._branch[self._end : self._end + before] = self._branch[start : start + before]
        self._nodes[node, BEGIN], self._nodes[node, BRANCHES] = self._end, capacity
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
            self._nodes[node, ASKS], self._asks[node] = column, asks
            tree.columns |= 1 << column
            self._enlarge(node, max(3, (1 << (number + 1).bit_length()) - 1))  # it is new, and has none
            self._branch[int(self._nodes[node, BEGIN]) + number] = child
            node = child
        self._nodes[node, ASKS], self._nodes[node, RESULT] = LEAF, result


def _look_up_part(
    kernel: Callable[..., None], tables: tuple[Ints, Ints, Ints], which: Ints, begin: int, end: int
) -> tuple[Ints, Ints]:
    """Let a loop do a part of some rows; return those in which something is missing, and what that is."""
    again, missed = np.empty(end - begin, np.int64), np.empty((_MAX_MISSED, 3), np.int64)
    counts = np.zeros(2, np.int64)
    kernel(which[begin:end], *tables, again, missed, counts)
    return again[: counts[0]], missed[: counts[1]]


def _open_nodes(count: int) -> npt.NDArray[np.int32]:
    """Return nodes that are not evaluated yet, without branches."""
    nodes = np.zeros((count, 4), np.int32)
    nodes[:, ASKS] = OPEN
    return nodes


class StateRows:
    """States that go down trees; several rows may be one state.

    Attributes:
        flat: the numbers of all states; `bases` says where that of each row begins.
    """

    __slots__ = ("bases", "flat")

    def __init__(self, rows: Ints, which: Ints) -> None:
        """Take the rows of states, and for each row that goes down the number of its state."""
        self.flat, self.bases = rows.reshape(-1), which * rows.shape[1]

    def lookup(self, which: int) -> Lookup:
        """Return the function from a column to its value in one row."""
        flat, base = self.flat, int(self.bases[which])
        return lambda column: int(flat[base + column])


class StepRows:
    """Steps that go down trees: columns from the width of a state on are those of the next state."""

    __slots__ = ("_before", "_sources", "_steps", "_written")

    def __init__(self, before: Ints, sources: Ints, steps: Ints, written: WrittenSteps) -> None:
        """Take steps.

        Args:
            before: the states before them.
            sources: the number of that of each step.
            steps: the number of each among the steps `written`.
        """
        self._before, self._sources, self._steps, self._written = before, sources, steps, written

    def lookup(self, which: int) -> Lookup:
        """Return the function from a column to its value in one row, AUX being the pattern of what it writes."""
        row, step, width = self._before[self._sources[which]], int(self._steps[which]), self._before.shape[1]

        def value(column: int) -> int:
            if column == AUX:
                return int(self._written.pattern.array[step])
            new = self._written.value(step, column - width) if column >= width else -1
            return int(row[column % width]) if new < 0 else new

        return value
