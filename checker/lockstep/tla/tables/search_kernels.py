"""The loops of a search by tables, which Numba compiles: walks down trees, successors, fingerprints, new states.

A node of a tree is four numbers: what it asks for, how many branches it has, where they begin among all branches, and
the result of a leaf. Behind the branches of a node stands one more, which is -1: that of all values it has no branch
for. So a step down is a node, the value of its column, and a branch.

What the trees lack ends a walk, and is listed: a node, and the value for which it has no branch. Python evaluates it,
and the same rows go down again. Going down changes nothing but definitions, which are filled in as they are met.

A state has the results of all trees that are looked up for it, the fingerprints of its images, and the pattern of what
the last step wrote. What no step to it has written gives what it gave before.

All loops stand in one file: Numba keeps a compiled one until its file changes, whatever else it is made of.
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
#: Definitions that may wait for one another, and what is listed where more would.
MAX_WAITING, TOO_NESTED = 64, -2


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a loop, once for each kind of its arguments on each machine; other threads run meanwhile."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder to keep it in
        return njit(**options)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Let kernels contain a function as if it was written there: a call would copy the arrays' shapes each time."""
    return njit(inline="always")(function)


def is_loaded() -> bool:
    """Return whether this process has loaded or compiled the loops."""
    return bool(look_up.signatures)


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
                    missing[0], missing[1] = node, TOO_NESTED
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


# ---- Successors ----

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
    list_first: Any, items: Any, element_first: Any, elements: Any, nodes: Any, branches: Any, derived: Any,
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
    # Both depths of choices are written out. One function that takes a result at either depth, inlined, makes this loop
    # ten times as slow: Numba counts references to the arrays at each such place.
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
                count = list_steps(found, group, state, list_first, items, sources, steps, groups, count)
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
                        count = list_steps(one, lower, state, list_first, items, sources, steps, groups, count)
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
                                        two, lowest, state, list_first, items, sources, steps, groups, count
                                    )  # fmt: skip
                                    if count == NO_CAPACITY:
                                        counts[SUCCESSORS] = NO_CAPACITY
                                        return
        if misses:
            again[again_count] = state
            again_count += 1
            count = begin
    counts[SUCCESSORS], counts[AGAIN], counts[MISSED] = count, again_count, missed_count


# ---- States ----

#: The number that means a free place in a table of fingerprints, and the one that stands for it.
FREE, INSTEAD_OF_FREE = np.uint64(0), np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


@compiled
def look_up(
    which: Any, patterns: Any, affected_first: Any, affected: Any, roots: Any, nodes: Any, branches: Any, derived: Any,
    rows: Any, results: Any, again: Any, missed: Any, counts: Any,
) -> None:  # fmt: skip
    """Look up the trees that have read what the last step to a state wrote.

    Args:
        which: the numbers of the states.
        affected: the trees that each pattern affects, from its `affected_first` on.
        again: takes the states in which something is missing; `counts` says how many these are, and how much that is.
        missed: takes a state, a node, and the value for which the node has no branch.
    """
    waiting, missing = np.empty(MAX_WAITING, np.int64), np.empty(2, np.int64)
    flat, wide, most = rows.reshape(-1), rows.shape[1], np.int64(np.iinfo(rows.dtype).max)
    again_count, missed_count = 0, 0
    for place in range(len(which)):
        state, misses = np.int64(which[place]), False
        pattern = patterns[state]
        for each in range(affected_first[pattern], affected_first[pattern + 1]):
            tree = affected[each]
            found = walk(
                roots[tree], 0, nodes, branches, derived, flat, state * wide, most, waiting, missing
            )  # fmt: skip
            results[state, tree] = found
            if found == MISS:
                misses = True
                missed_count = note(state, missing, missed, missed_count)
        if misses:
            again[again_count] = state
            again_count += 1
    counts[0], counts[1] = again_count, missed_count


@compiled
def check(
    which: Any, patterns: Any, check_first: Any, check_roots: Any, nodes: Any, branches: Any, derived: Any, rows: Any,
    verdicts: Any, again: Any, missed: Any, counts: Any,
) -> None:  # fmt: skip
    """Find the first predicate that is not true of each state, among those that have read what its pattern writes.

    Args:
        verdicts: takes 1 where all are true, or what the first is that is not.

    The others are as for `look_up`.
    """
    waiting, missing = np.empty(MAX_WAITING, np.int64), np.empty(2, np.int64)
    flat, wide, most = rows.reshape(-1), rows.shape[1], np.int64(np.iinfo(rows.dtype).max)
    again_count, missed_count = 0, 0
    for place in range(len(which)):
        state, misses, verdict = np.int64(which[place]), False, 1
        pattern = patterns[state]
        for each in range(check_first[pattern], check_first[pattern + 1]):
            found = walk(
                check_roots[each], 0, nodes, branches, derived, flat, state * wide, most, waiting, missing
            )  # fmt: skip
            if found == MISS:
                misses = True
                missed_count = note(state, missing, missed, missed_count)
            elif found != 1 and verdict == 1:
                verdict = found
        verdicts[state] = verdict
        if misses:
            again[again_count] = state
            again_count += 1
    counts[0], counts[1] = again_count, missed_count


@compiled
def fingerprint(
    sources: Any, steps: Any, pattern: Any, slot_first: Any, slots: Any, added: Any, start: Any, sums: Any, rows: Any,
    hashes: Any, least: Any,
) -> None:  # fmt: skip
    """Compute the fingerprint of each successor, the least of those of its images.

    An image's is that before the step, less what is overwritten, plus what the step writes.

    Args:
        added: what the values that each step writes add to the fingerprints of the images.
        start: where the values of each column begin in `sums`, which has what each adds.
        hashes: the fingerprints of the images before.
    """
    images = hashes.shape[1]
    for each in range(len(sources)):
        state, step = np.int64(sources[each]), np.int64(steps[each])
        of_step = pattern[step]
        first, end = slot_first[of_step], slot_first[of_step + 1]
        smallest = np.uint64(0xFFFFFFFFFFFFFFFF)
        for image in range(images):
            found = hashes[state, image] + added[step, image]
            for place in range(first, end):
                slot = slots[place]
                found -= sums[start[slot] + rows[state, slot], image]
            smallest = min(smallest, found)
        least[each] = smallest


@compiled
def take(
    new: Any, sources: Any, steps: Any, least: Any, is_view: bool, pattern: Any, slot_first: Any, slots: Any,
    value_first: Any, values: Any, stale_first: Any, stale: Any, added: Any, start: Any, sums: Any, rows: Any,
    results: Any, hashes: Any, to: int, new_rows: Any, new_results: Any, new_hashes: Any, new_patterns: Any,
) -> None:  # fmt: skip
    """Make the states after some steps, from place `to` on: rows, results, fingerprints of images, patterns.

    Args:
        new: the numbers of the steps among all.
        is_view: whether a fingerprint is that of a VIEW, which has no images.
        stale: the columns of definitions that have read what a pattern writes; they are unknown again.
    """
    for each in range(len(new)):
        number, place = new[each], to + each
        state, step = np.int64(sources[number]), np.int64(steps[number])
        of_step, written = pattern[step], value_first[step]
        first, end = slot_first[of_step], slot_first[of_step + 1]
        for column in range(rows.shape[1]):
            new_rows[place, column] = rows[state, column]
        for tree in range(results.shape[1]):
            new_results[place, tree] = results[state, tree]
        for image in range(hashes.shape[1]):
            new_hashes[place, image] = least[number] if is_view else hashes[state, image] + added[step, image]
        new_patterns[place] = of_step
        for at in range(first, end):
            slot = slots[at]
            if not is_view:
                old = start[slot] + rows[state, slot]
                for image in range(hashes.shape[1]):
                    new_hashes[place, image] -= sums[old, image]
            new_rows[place, slot] = values[written + at - first]
        for at in range(stale_first[of_step], stale_first[of_step + 1]):
            new_rows[place, stale[at]] = -1


# ---- States that wait ----


@compiled
def gather(rows: Any, columns: Any, packed: Any) -> None:
    """Copy some columns of rows beside each other, into numbers of another kind."""
    for row in range(rows.shape[0]):
        for place in range(len(columns)):
            packed[row, place] = rows[row, columns[place]]


@compiled
def scatter(packed: Any, columns: Any, rows: Any) -> None:
    """Copy columns back to where they were in rows."""
    for row in range(rows.shape[0]):
        for place in range(len(columns)):
            rows[row, columns[place]] = packed[row, place]


# ---- The set of fingerprints ----


@compiled
def add_new(
    begin: int, hashes: Any, skipped: Any, table: Any, numbers: Any, count: int, most: int, is_new: Any
) -> tuple[int, int]:
    """Put fingerprints into a table, in order, until it has `most` of them; note those that were not there.

    Args:
        begin: the place of the first one to put in.
        skipped: those that are left out; none if there are none.
        numbers: takes the number of each, in the order in which they are put in; it is empty if they have none.
        count: the number of fingerprints in the table.

    Returns:
        The place of the first one that was not put in, and the number of fingerprints in the table.
    """
    mask, numbered, skips = np.uint64(len(table) - 1), len(numbers) > 0, len(skipped) > 0
    for each in range(begin, len(hashes)):
        if skips and skipped[each]:
            is_new[each] = False
            continue
        if count >= most:
            return each, count
        wanted = hashes[each] if hashes[each] != FREE else INSTEAD_OF_FREE
        place = wanted & mask
        while table[place] != FREE and table[place] != wanted:
            place = (place + _ONE) & mask
        is_new[each] = table[place] == FREE
        if is_new[each]:
            table[place] = wanted
            if numbered:
                numbers[place] = count
            count += 1
    return len(hashes), count


@compiled
def places_in(hashes: Any, table: Any, places: Any) -> None:
    """Find the place of each fingerprint in a table; -1 where it is not there."""
    mask = np.uint64(len(table) - 1)
    for each in range(len(hashes)):
        wanted = hashes[each] if hashes[each] != FREE else INSTEAD_OF_FREE
        place = wanted & mask
        while table[place] != FREE and table[place] != wanted:
            place = (place + _ONE) & mask
        places[each] = np.int64(place) if table[place] == wanted else -1


@compiled
def move_all(old: Any, old_numbers: Any, table: Any, numbers: Any) -> None:
    """Put all fingerprints of a table into a larger one, from a free place on: no run of places is torn."""
    mask, begin = np.uint64(len(table) - 1), 0
    while old[begin] != FREE:
        begin += 1
    for place_of_old in range(begin, begin + len(old)):
        each = place_of_old % len(old)
        wanted = old[each]
        if wanted != FREE:
            place = wanted & mask
            while table[place] != FREE:
                place = (place + _ONE) & mask
            table[place] = wanted
            if len(numbers) > 0:
                numbers[place] = old_numbers[each]


@compiled
def remove_last(hashes: Any, table: Any) -> None:
    """Remove the fingerprints that were put in last, all of them: no other stands behind one of these."""
    mask = np.uint64(len(table) - 1)
    for back in range(len(hashes)):
        wanted = hashes[len(hashes) - 1 - back]
        wanted = wanted if wanted != FREE else INSTEAD_OF_FREE
        place = wanted & mask
        while table[place] != wanted:
            place = (place + _ONE) & mask
        table[place] = FREE
