"""Generating successors from the results of trees, state by state, in TLC's order: a loop that Numba compiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.tla.tables.tree_kernels import MAX_WAITING, MISS, compiled, inlined, note, walk

#: The result of an evaluation that has no value.
NO_VALUE = -1
#: The kernel had no capacity for more successors.
NO_CAPACITY = -1
# What `counts` says: the successors, the states to generate once more, what is missing.
SUCCESSORS, AGAIN, MISSED = 0, 1, 2


@inlined
def list_steps(
    number: int, group: int, state: int, lists: Any, items: Any, sources: Any, steps: Any, groups: Any, count: int
) -> Any:
    """List the steps with the number of a list; return how many there are then, or NO_CAPACITY."""
    first, end = np.int64(lists[number]), np.int64(lists[number + 1])
    if count + end - first > len(sources):
        count = NO_CAPACITY
    else:
        for place in range(first, end):
            sources[count], steps[count], groups[count] = state, items[place], group
            count += 1
    return count


@compiled
def generate(
    which: Any, results: Any, top: int, group_trees: Any, group_roots: Any, below_first: Any, below: Any,
    list_first: Any, list_steps_: Any, element_first: Any, elements: Any, nodes: Any, branches: Any, derived: Any,
    rows: Any, sources: Any, steps: Any, groups: Any, failing: Any, again: Any, missed: Any, counts: Any,
) -> None:  # fmt: skip
    """List the successors of some states.

    A state in which something is missing has none yet, and is listed to be done again.

    Args:
        which: the numbers of these states.
        results: of each state those of the trees that are looked up for all.
        top: the number of groups that are not below another.
        below: the groups below each group, from its `below_first` on.
        list_first: where each list of steps begins; likewise the lists of elements that a choice has.
        groups: takes the group of each step.
        failing: takes the states in which an evaluation has no value.
        missed: takes a state, a node, and the value for which the node has no branch.
    """
    waiting, missing = np.empty(MAX_WAITING, np.int64), np.empty(2, np.int64)
    flat, wide, most = rows.reshape(-1), rows.shape[1], np.int64(np.iinfo(rows.dtype).max)
    count, again_count, missed_count = np.int64(0), 0, 0
    for place in range(len(which)):
        state = np.int64(which[place])
        base, begin, misses = state * wide, count, False
        for group in range(top):
            found = np.int64(results[state, group_trees[group]])
            if found == 0:
                continue
            if found < 0:
                failing[state] = True
                continue
            if below_first[group] == below_first[group + 1]:
                count = list_steps(found, group, state, list_first, list_steps_, sources, steps, groups, count)
                if count == NO_CAPACITY:
                    counts[SUCCESSORS] = NO_CAPACITY
                    return
                continue
            for element in range(element_first[found], element_first[found + 1]):
                for each in range(below_first[group], below_first[group + 1]):
                    lower = below[each]
                    one = walk(
                        group_roots[lower], elements[element], nodes, branches, derived, flat, base, most, waiting,
                        missing,
                    )  # fmt: skip
                    if one == MISS:
                        misses = True
                        missed_count = note(state, missing, missed, missed_count)
                    elif one == NO_VALUE:
                        failing[state] = True
                    elif one > 0 and below_first[lower] == below_first[lower + 1]:
                        count = list_steps(one, lower, state, list_first, list_steps_, sources, steps, groups, count)
                        if count == NO_CAPACITY:
                            counts[SUCCESSORS] = NO_CAPACITY
                            return
                    elif one > 0:
                        for inner in range(element_first[one], element_first[one + 1]):
                            for last in range(below_first[lower], below_first[lower + 1]):
                                lowest = below[last]
                                two = walk(
                                    group_roots[lowest], elements[inner], nodes, branches, derived, flat, base, most,
                                    waiting, missing,
                                )  # fmt: skip
                                if two == MISS:
                                    misses = True
                                    missed_count = note(state, missing, missed, missed_count)
                                elif two == NO_VALUE:
                                    failing[state] = True
                                elif two > 0:
                                    count = list_steps(
                                        two, lowest, state, list_first, list_steps_, sources, steps, groups, count
                                    )  # fmt: skip
                                    if count == NO_CAPACITY:
                                        counts[SUCCESSORS] = NO_CAPACITY
                                        return
        if misses:
            again[again_count] = state
            again_count += 1
            count = begin
    counts[SUCCESSORS], counts[AGAIN], counts[MISSED] = count, again_count, missed_count
