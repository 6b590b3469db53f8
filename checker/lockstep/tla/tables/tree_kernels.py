"""Going down decision trees, for many rows at once: loops that Numba compiles.

A node is four numbers: what it asks for, how many branches it has, where they begin among all branches, and the result
of a leaf. Behind the branches of a node stands one more, which is -1: that of all values it has no branch for. So a
step down is a node, the value of its column, and a branch.

What the trees lack ends a walk, and is listed: a node, and the value for which it has no branch. Python evaluates it,
and the same rows go down again. A kernel changes nothing but definitions, which it fills in as it meets them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

# What a node asks for, beside columns: it is a leaf; it is not evaluated yet; the number that comes with each row.
LEAF, OPEN, AUX = -1, -2, 1 << 24
#: The numbers of a node: what it asks for, its branches, where these begin, the result of a leaf.
ASKS, BRANCHES, BEGIN, RESULT = 0, 1, 2, 3
#: The result of a walk that met something missing.
MISS = -3
#: Definitions that may wait for one another.
MAX_WAITING = 64


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop, once for each kind of its arguments on each machine; other threads run meanwhile."""
    return njit(nogil=True, cache=True, error_model="numpy")(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Let kernels contain a function as if it was written there: a call would copy the arrays' shapes each time."""
    return njit(inline="always")(function)


@inlined
def walk(
    root: int, aux: int, nodes: Any, branches: Any, derived: Any, flat: Any, base: int, most: int, waiting: Any,
    missing: Any,
) -> Any:  # fmt: skip
    """Go down a tree for the row at a place; a definition that is not known yet is looked up in its own tree first.

    Args:
        derived: the roots of the trees of definitions, by their columns.
        most: the largest number that fits in a column.
        waiting: the nodes that wait for the value of a definition.
        missing: takes the node and the value of what is missing.

    Returns:
        The result, or MISS.
    """
    depth, node = 0, np.int64(root)
    while True:
        asks = np.int64(nodes[node, ASKS])
        if asks == LEAF:
            value = np.int64(nodes[node, RESULT])
            if depth == 0:
                return value
            depth -= 1
            node = np.int64(waiting[depth])
            if value <= most:
                flat[base + nodes[node, ASKS]] = value
        elif asks == OPEN:
            missing[0], missing[1] = node, -1
            return np.int64(MISS)
        elif asks == AUX:
            value = np.int64(aux)
        else:
            value = np.int64(flat[base + asks])
            if value < 0:
                if depth == MAX_WAITING:
                    missing[0], missing[1] = node, -2
                    return np.int64(MISS)
                waiting[depth] = node
                depth += 1
                node = np.int64(derived[asks])
                continue
        below = np.int64(branches[nodes[node, BEGIN] + min(value, np.int64(nodes[node, BRANCHES]))])
        if below < 0:
            missing[0], missing[1] = node, value
            return np.int64(MISS)
        node = below


@inlined
def note(row: int, missing: Any, missed: Any, count: int) -> Any:
    """List what is missing with the row that met it, if it fits in; return how much is listed."""
    if count < len(missed):
        missed[count, 0], missed[count, 1], missed[count, 2] = row, missing[0], missing[1]
        count += 1
    return count


@compiled
def walk_states(
    which: Any, roots: Any, bases: Any, nodes: Any, branches: Any, derived: Any, flat: Any, results: Any, again: Any,
    missed: Any, counts: Any,
) -> None:  # fmt: skip
    """Go down a tree for each of some rows.

    Args:
        which: the rows, by number.
        bases: where the state of each row begins among all numbers.
        again: takes the rows that met something missing; `counts` says how many these are, and how much that is.
        missed: takes a row, a node, and the value for which that has no branch.
    """
    waiting, missing = np.empty(MAX_WAITING, np.int64), np.empty(2, np.int64)
    most = np.int64(np.iinfo(flat.dtype).max)
    again_count, missed_count = 0, 0
    for place in range(len(which)):
        row = which[place]
        found = walk(roots[row], 0, nodes, branches, derived, flat, bases[row], most, waiting, missing)
        results[row] = found
        if found == MISS:
            missed_count = note(row, missing, missed, missed_count)
            again[again_count] = row
            again_count += 1
    counts[0], counts[1] = again_count, missed_count


@inlined
def walk_step(
    root: int, kind: int, nodes: Any, branches: Any, flat: Any, base: int, span: int, slots: Any, first: int, end: int,
    values: Any, written: int, missing: Any,
) -> Any:  # fmt: skip
    """Go down a tree of a step: columns from `span` on are those of the next state.

    Args:
        kind: the kind of the step, on which the root branches.
        slots: the columns that steps write; this one's stand from `first` to `end`.
        values: the new values; this one's begin at `written`.
    """
    node = np.int64(root)
    while True:
        asks = np.int64(nodes[node, ASKS])
        if asks == LEAF:
            return np.int64(nodes[node, RESULT])
        if asks == OPEN:
            missing[0], missing[1] = node, -1
            return np.int64(MISS)
        if asks == AUX:
            value = np.int64(kind)
        elif asks < span:
            value = np.int64(flat[base + asks])
        else:
            slot = asks - span
            value = np.int64(flat[base + slot])
            for each in range(first, end):
                if slots[each] == slot:
                    value = np.int64(values[written + each - first])
        below = np.int64(branches[nodes[node, BEGIN] + min(value, np.int64(nodes[node, BRANCHES]))])
        if below < 0:
            missing[0], missing[1] = node, value
            return np.int64(MISS)
        node = below


@compiled
def check_steps(
    which: Any, sources: Any, steps: Any, open_first: Any, predicates: Any, kinds: Any, roots: Any, nodes: Any,
    branches: Any, rows: Any, pattern: Any, slot_first: Any, slots: Any, value_first: Any, values: Any, verdicts: Any,
    again: Any, missed: Any, counts: Any,
) -> None:  # fmt: skip
    """Find the first predicate that is not true of each of some steps.

    Of a step of kind 0, which writes nothing that matters to a predicate, it is looked up once for its state.

    Args:
        which: the steps, by their places.
        predicates: those that each pattern leaves open, from its `open_first` on, with their `kinds`.
        roots: the root of the tree of each predicate.
        pattern: the pattern of what a step writes, by the number of the step; `value_first`, where its values begin.
        verdicts: takes 1 where all are true, or what the first is that is not.

    The others are as for `walk_states`.
    """
    missing, again_count, missed_count = np.empty(2, np.int64), 0, 0
    flat, wide = rows.reshape(-1), rows.shape[1]
    state_of, result_of = np.full(len(roots), -1, np.int64), np.empty(len(roots), np.int64)
    for place in range(len(which)):
        number = which[place]
        source, step = np.int64(sources[number]), np.int64(steps[number])
        of_step, verdict, misses = pattern[step], 1, False
        first, end = np.int64(slot_first[of_step]), np.int64(slot_first[of_step + 1])
        for each in range(open_first[of_step], open_first[of_step + 1]):
            predicate, kind = predicates[each], kinds[each]
            if kind == 0 and state_of[predicate] == source:
                found = result_of[predicate]
            else:
                found = walk_step(
                    roots[predicate], kind, nodes, branches, flat, source * wide, wide, slots, first, end, values,
                    np.int64(value_first[step]), missing,
                )  # fmt: skip
                if found == MISS:
                    missed_count = note(number, missing, missed, missed_count)
                if kind == 0:
                    state_of[predicate], result_of[predicate] = source, found
            misses |= found == MISS
            if found != 1 and found != MISS and verdict == 1:
                verdict = found
        verdicts[number] = verdict
        if misses:
            again[again_count] = number
            again_count += 1
    counts[0], counts[1] = again_count, missed_count
