"""Kernels of the search by tables on a graphics card of NVIDIA, which Numba compiles.

Each kernel is a loop over items that all threads share. All tables lie in one array of integers, `ints`: `at` has the
place of each of them, in the order of the names below. States are rows of small numbers, one after the other; so are
the results of their trees.

What the tables lack is noted, each place of a tree once with one state that met it, and what is found meanwhile means
nothing: the processor evaluates what is missing, and the same states are done again. So no kernel may change what it
reads, but for definitions that are filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, int32

from lockstep.tla.tables.search_kernels import AUX, FREE, INSTEAD_OF_FREE, LEAF, MISS, NO_VALUE, OPEN

# The tables in `ints`, by their numbers in `at`. Those with FIRST have one entry more than lists.
NODES, BRANCHES, DERIVED = 0, 1, 2
TREE_ROOTS, AFFECTED_FIRST, AFFECTED = 3, 4, 5
GROUP_TREES, GROUP_ROOTS, BELOW_FIRST, BELOW = 6, 7, 8, 9
LIST_FIRST, LIST_STEPS, ELEMENT_FIRST, ELEMENTS = 10, 11, 12, 13
STEP_PATTERN, STEP_VALUES, SLOT_FIRST, SLOTS, VALUES = 14, 15, 16, 17, 18
PROPERTY_FIRST, PROPERTY_ROOTS, PROPERTY_KINDS = 19, 20, 21
LIMIT_FIRST, LIMIT_ROOTS, LIMIT_KINDS = 22, 23, 24
STALE_FIRST, STALE = 25, 26
CHECK_FIRST, CHECK_ROOTS = 27, 28
INVARIANT_ROOTS, CONSTRAINT_ROOTS = 29, 30
HASH_START = 31
TABLE_COUNT = 32

#: Definitions that may wait for one another.
MAX_NESTED = 16

# What kernels report, by its place in `status`.
MISSED, LONGEST, WRONG, GENERATED, NEW, ORBITS_NEW, ORBITS_GENERATED = 0, 1, 2, 3, 4, 5, 6
STATUS_COUNT = 8
#: Places for what is missing; a power of two. What finds none is met again when the states are done again.
MISS_PLACES = 1 << 14
_MAX_PROBES = 64

#: The owner of a place that was never taken; 0 is that of a fingerprint from an earlier chunk.
NO_OWNER = 0xFFFFFFFF
#: The place of a successor that the constraints exclude.
OUTSIDE = -1
#: Numbers that one thread adds up in a prefix sum.
SCAN_WIDTH = 128


def kernel(function: Callable[..., None]) -> Any:
    """Make a kernel of a function that has all its threads' work."""
    return cuda.jit(function)


def device(function: Callable[..., Any]) -> Any:
    """Make a function that kernels call."""
    return cuda.jit(function, device=True)


# ---- Going down trees ----


@device
def note_miss(node: int, value: int, state: int, misses: Any, owners: Any, status: Any) -> Any:
    """Note that a node has no branch for a value, -1 if it is not evaluated at all."""
    cuda.atomic.add(status, MISSED, 1)
    key = np.int64((np.int64(node) + 1) << 32 | (np.int64(value) + 1))
    place = (node * 31 + value) & (MISS_PLACES - 1)
    for _ in range(_MAX_PROBES):
        there = misses[place]
        if there == 0:
            there = cuda.atomic.cas(misses, place, np.int64(0), key)
        if there == 0 or there == key:
            cuda.atomic.min(owners, place, np.int64(state))
            return MISS
        place = (place + 1) & (MISS_PLACES - 1)
    return MISS


@device
def walk(
    root: int, aux: int, ints: Any, at: Any, rows: Any, base: int, unknown: int, state: int, misses: Any, owners: Any,
    status: Any,
) -> Any:  # fmt: skip
    """Go down a tree for the row at a place; a definition that is not known yet is looked up in its own tree first."""
    waiting = cuda.local.array(MAX_NESTED, int32)
    nodes, branches, derived = at[NODES], at[BRANCHES], at[DERIVED]
    depth, node, value = 0, np.int64(root), np.int64(0)
    while True:
        place = nodes + 4 * node
        column = np.int64(ints[place])
        if column == LEAF:
            result = np.int64(ints[place + 3])
            if depth == 0:
                return result
            depth -= 1
            node = np.int64(waiting[depth])
            place = nodes + 4 * node
            if result < unknown:
                rows[base + ints[place]] = result
            value = result
        elif column == OPEN:
            return note_miss(node, -1, state, misses, owners, status)
        elif column == AUX:
            value = np.int64(aux)
        else:
            value = np.int64(rows[base + column])
            if value == unknown:
                if depth == MAX_NESTED:
                    return note_miss(node, -1, state, misses, owners, status)
                waiting[depth] = node
                depth += 1
                node = np.int64(ints[derived + column])
                continue
        below = np.int64(ints[branches + ints[place + 2] + min(value, np.int64(ints[place + 1]))])
        if below < 0:
            return note_miss(node, value, state, misses, owners, status)
        node = below


@device
def walk_step(
    root: int, kind: int, step: int, ints: Any, at: Any, rows: Any, base: int, span: int, state: int, misses: Any,
    owners: Any, status: Any,
) -> Any:  # fmt: skip
    """Go down a tree of a step: columns from `span` on are those of the next state."""
    nodes, branches = at[NODES], at[BRANCHES]
    pattern = ints[at[STEP_PATTERN] + step]
    first, end = ints[at[SLOT_FIRST] + pattern], ints[at[SLOT_FIRST] + pattern + 1]
    slots, values = at[SLOTS], at[VALUES] + ints[at[STEP_VALUES] + step] - first
    node = np.int64(root)
    while True:
        place = nodes + 4 * node
        column = np.int64(ints[place])
        if column == LEAF:
            return np.int64(ints[place + 3])
        if column == OPEN:
            return note_miss(node, -1, state, misses, owners, status)
        value = np.int64(kind)
        if column != AUX:
            slot = column - span if column >= span else column
            value = np.int64(rows[base + slot])
            if column >= span:
                for each in range(first, end):
                    if ints[slots + each] == slot:
                        value = np.int64(ints[values + each])
        below = np.int64(ints[branches + ints[place + 2] + min(value, np.int64(ints[place + 1]))])
        if below < 0:
            return note_miss(node, value, state, misses, owners, status)
        node = below


# ---- Expanding states ----


@kernel
def look_up(
    count: int, lanes: int, ints: Any, at: Any, rows: Any, wide: int, results: Any, trees: int, patterns: Any,
    unknown: int, misses: Any, owners: Any, status: Any,
) -> None:  # fmt: skip
    """Look up the trees that have read what the last step to a state wrote; the others have the same result."""
    for item in range(cuda.grid(1), count * lanes, cuda.gridsize(1)):
        state, lane = item // lanes, item % lanes
        first = at[AFFECTED_FIRST] + patterns[state]
        for place in range(np.int64(ints[first]) + lane, np.int64(ints[first + 1]), lanes):
            tree = ints[at[AFFECTED] + place]
            root = ints[at[TREE_ROOTS] + tree]
            found = walk(root, 0, ints, at, rows, state * wide, unknown, state, misses, owners, status)
            results[state * trees + tree] = 0 if found == MISS else found


@device
def list_steps(number: int, ints: Any, at: Any, steps: Any, state: int, count: int, most: int, known: int) -> Any:
    """Add a list of steps to those of a state; return how many these are, also where there is no place for them."""
    first = at[LIST_FIRST] + number
    for place in range(np.int64(ints[first]), np.int64(ints[first + 1])):
        if known < most:
            steps[known * count + state] = ints[at[LIST_STEPS] + place]
        known += 1
    return known


@device
def list_inner(
    group: int, elements: int, ints: Any, at: Any, rows: Any, base: int, unknown: int, steps: Any, state: int,
    count: int, most: int, known: int, misses: Any, owners: Any, status: Any,
) -> Any:  # fmt: skip
    """Add the steps below a choice below another, given the number of its list of elements, to those of a state."""
    of_list, of_group = at[ELEMENT_FIRST] + elements, at[BELOW_FIRST] + group
    for place in range(np.int64(ints[of_list]), np.int64(ints[of_list + 1])):
        arguments = np.int64(ints[at[ELEMENTS] + place])
        for each in range(np.int64(ints[of_group]), np.int64(ints[of_group + 1])):
            root = ints[at[GROUP_ROOTS] + ints[at[BELOW] + each]]
            found = walk(root, arguments, ints, at, rows, base, unknown, state, misses, owners, status)
            if found > 0:
                known = list_steps(found, ints, at, steps, state, count, most, known)
            elif found == NO_VALUE:
                cuda.atomic.min(status, WRONG, np.int64(state))
    return known


@device
def list_chosen(
    group: int, elements: int, ints: Any, at: Any, rows: Any, base: int, unknown: int, steps: Any, state: int,
    count: int, most: int, known: int, misses: Any, owners: Any, status: Any,
) -> Any:  # fmt: skip
    """Add the steps below a choice, given the number of its list of elements, to those of a state."""
    of_list, of_group = at[ELEMENT_FIRST] + elements, at[BELOW_FIRST] + group
    for place in range(np.int64(ints[of_list]), np.int64(ints[of_list + 1])):
        arguments = np.int64(ints[at[ELEMENTS] + place])
        for each in range(np.int64(ints[of_group]), np.int64(ints[of_group + 1])):
            below = np.int64(ints[at[BELOW] + each])
            root = ints[at[GROUP_ROOTS] + below]
            found = walk(root, arguments, ints, at, rows, base, unknown, state, misses, owners, status)
            if found == NO_VALUE:
                cuda.atomic.min(status, WRONG, np.int64(state))
            elif found > 0 and ints[at[BELOW_FIRST] + below] == ints[at[BELOW_FIRST] + below + 1]:
                known = list_steps(found, ints, at, steps, state, count, most, known)
            elif found > 0:
                known = list_inner(
                    below, found, ints, at, rows, base, unknown, steps, state, count, most, known, misses, owners,
                    status,
                )  # fmt: skip
    return known


@kernel
def generate(
    count: int, most: int, groups: int, ints: Any, at: Any, rows: Any, wide: int, results: Any, trees: int,
    unknown: int, steps: Any, counts: Any, misses: Any, owners: Any, status: Any,
) -> None:  # fmt: skip
    """List the steps of each state, in TLC's order; those of one state lie `count` places apart.

    A state is wrong where an evaluation has no value.
    """
    generated, longest = np.int64(0), np.int64(0)
    for state in range(cuda.grid(1), count, cuda.gridsize(1)):
        known = np.int64(0)
        for group in range(groups):
            found = np.int64(results[state * trees + ints[at[GROUP_TREES] + group]])
            if found < 0:
                cuda.atomic.min(status, WRONG, np.int64(state))
            elif found > 0 and ints[at[BELOW_FIRST] + group] == ints[at[BELOW_FIRST] + group + 1]:
                known = list_steps(found, ints, at, steps, state, count, most, known)
            elif found > 0:
                known = list_chosen(
                    group, found, ints, at, rows, state * wide, unknown, steps, state, count, most, known, misses,
                    owners, status,
                )  # fmt: skip
        counts[state] = min(known, most)
        generated += known
        longest = max(longest, known)
    cuda.atomic.add(status, GENERATED, generated)
    cuda.atomic.max(status, LONGEST, longest)


@kernel
def find_deadlocks(count: int, counts: Any, status: Any) -> None:
    """Report states without a step as wrong."""
    for state in range(cuda.grid(1), count, cuda.gridsize(1)):
        if counts[state] == 0:
            cuda.atomic.min(status, WRONG, np.int64(state))


@kernel
def judge_steps(
    count: int, most: int, ints: Any, at: Any, rows: Any, wide: int, span: int, steps: Any, counts: Any, misses: Any,
    owners: Any, status: Any,
) -> None:  # fmt: skip
    """Report states as wrong from which a step violates a property."""
    for item in range(cuda.grid(1), count * most, cuda.gridsize(1)):
        state = item % count
        if item // count >= counts[state]:
            continue
        step = steps[item]
        first = at[PROPERTY_FIRST] + ints[at[STEP_PATTERN] + step]
        for each in range(np.int64(ints[first]), np.int64(ints[first + 1])):
            root, kind = ints[at[PROPERTY_ROOTS] + each], ints[at[PROPERTY_KINDS] + each]
            found = walk_step(root, kind, step, ints, at, rows, state * wide, span, state, misses, owners, status)
            if found != 1 and found != MISS:
                cuda.atomic.min(status, WRONG, np.int64(state))


@device
def write_step(step: int, ints: Any, at: Any, rows: Any, base: int, unknown: int) -> None:
    """Write what a step writes into a row, and make the definitions unknown that have read that."""
    pattern = ints[at[STEP_PATTERN] + step]
    first, end = ints[at[SLOT_FIRST] + pattern], ints[at[SLOT_FIRST] + pattern + 1]
    values = at[VALUES] + ints[at[STEP_VALUES] + step] - first
    for each in range(first, end):
        rows[base + ints[at[SLOTS] + each]] = ints[values + each]
    for each in range(ints[at[STALE_FIRST] + pattern], ints[at[STALE_FIRST] + pattern + 1]):
        rows[base + ints[at[STALE] + each]] = unknown


@kernel
def make_successors(
    count: int, most: int, ints: Any, at: Any, rows: Any, wide: int, unknown: int, steps: Any, counts: Any, after: Any
) -> None:
    """Make the rows of all successors, where the constraints or the VIEW need them."""
    for item in range(cuda.grid(1), count * most, cuda.gridsize(1)):
        state = item % count
        if item // count >= counts[state]:
            continue
        for column in range(wide):
            after[item * wide + column] = rows[state * wide + column]
        write_step(steps[item], ints, at, after, item * wide, unknown)


@kernel
def constrain(
    count: int, most: int, constraints: int, invariants: int, ints: Any, at: Any, rows: Any, wide: int, span: int,
    unknown: int, steps: Any, counts: Any, after: Any, places: Any, misses: Any, owners: Any, status: Any,
) -> None:  # fmt: skip
    """Give successors that the constraints exclude the place OUTSIDE; invariants have to hold in these, too."""
    for item in range(cuda.grid(1), count * most, cuda.gridsize(1)):
        state = item % count
        places[item] = 0
        if item // count >= counts[state]:
            continue
        base, verdict, step = item * wide, np.int64(1), steps[item]
        for each in range(constraints):
            if verdict == 1:
                root = ints[at[CONSTRAINT_ROOTS] + each]
                verdict = walk(root, 0, ints, at, after, base, unknown, state, misses, owners, status)
        first = at[LIMIT_FIRST] + ints[at[STEP_PATTERN] + step]
        for each in range(np.int64(ints[first]), np.int64(ints[first + 1])):
            if verdict == 1:
                root, kind = ints[at[LIMIT_ROOTS] + each], ints[at[LIMIT_KINDS] + each]
                verdict = walk_step(
                    root, kind, step, ints, at, rows, state * wide, span, state, misses, owners, status
                )  # fmt: skip
        if verdict == NO_VALUE:
            cuda.atomic.min(status, WRONG, np.int64(state))
        if verdict == 0 or verdict == NO_VALUE:
            places[item] = OUTSIDE
            for each in range(invariants):
                root = ints[at[INVARIANT_ROOTS] + each]
                found = walk(root, 0, ints, at, after, base, unknown, state, misses, owners, status)
                if found != 1 and found != MISS:
                    cuda.atomic.min(status, WRONG, np.int64(state))


# ---- Fingerprints ----


@device
def image_hash(
    image: int, images: int, step: int, ints: Any, at: Any, sums: Any, added: int, rows: Any, base: int, before: Any
) -> Any:
    """Return the fingerprint of an image after a step: that before, less what was overwritten, plus what is new.

    Arguments: `sums`, what the values of columns, and from `added` on what steps, add to fingerprints; `before`, the
    fingerprint before the step; the row at `base` is that before it.
    """
    pattern = ints[at[STEP_PATTERN] + step]
    found = before + sums[added + step * images + image]
    for each in range(ints[at[SLOT_FIRST] + pattern], ints[at[SLOT_FIRST] + pattern + 1]):
        slot = ints[at[SLOTS] + each]
        place = np.int64(ints[at[HASH_START] + slot]) + np.int64(rows[base + slot])
        found -= sums[place * images + image]
    return found


@kernel
def fingerprint(
    count: int, most: int, ints: Any, at: Any, sums: Any, added: int, images: int, rows: Any, wide: int, hashes: Any,
    steps: Any, counts: Any, found: Any,
) -> None:  # fmt: skip
    """Compute the fingerprint of each successor: the least of those of its images."""
    for item in range(cuda.grid(1), count * most, cuda.gridsize(1)):
        state = item % count
        if item // count >= counts[state]:
            continue
        least = image_hash(
            0, images, steps[item], ints, at, sums, added, rows, state * wide, hashes[state * images]
        )  # fmt: skip
        for image in range(1, images):
            other = image_hash(
                image, images, steps[item], ints, at, sums, added, rows, state * wide, hashes[state * images + image]
            )  # fmt: skip
            if other < least:
                least = other
        found[item] = least


@kernel
def fingerprint_view(
    count: int, most: int, view: int, views: Any, ints: Any, at: Any, after: Any, wide: int, unknown: int, counts: Any,
    places: Any, found: Any, misses: Any, owners: Any, status: Any,
) -> None:  # fmt: skip
    """Compute the fingerprint of each successor within the constraints: that of its VIEW, whose tree is `view`."""
    for item in range(cuda.grid(1), count * most, cuda.gridsize(1)):
        state = item % count
        if item // count >= counts[state] or places[item] == OUTSIDE:
            continue
        number = walk(view, 0, ints, at, after, item * wide, unknown, state, misses, owners, status)
        if number >= 0:
            found[item] = views[number]
        elif number != MISS:
            cuda.atomic.min(status, WRONG, np.int64(state))


# ---- The set of fingerprints ----


@kernel
def fill(count: int, value: Any, array: Any) -> None:
    """Fill an array with a value."""
    for item in range(cuda.grid(1), count, cuda.gridsize(1)):
        array[item] = value


@device
def take_place(wanted: Any, keys: Any) -> Any:
    """Return the place of a fingerprint in the table; it is put there if it is new."""
    if wanted == FREE:
        wanted = INSTEAD_OF_FREE
    mask = np.uint64(keys.size - 1)
    place = np.int64(wanted & mask)
    while True:
        there = keys[place]
        if there == FREE:
            there = cuda.atomic.cas(keys, place, FREE, wanted)
            if there == FREE:
                return place
        if there == wanted:
            return place
        place = (place + 1) & (keys.size - 1)


@kernel
def insert(
    count: int, most: int, constrained: bool, counts: Any, found: Any, places: Any, keys: Any, firsts: Any
) -> None:
    """Put the fingerprints of successors into the table; the least successor of a new one becomes its first."""
    for item in range(cuda.grid(1), count * most, cuda.gridsize(1)):
        state, number = item % count, item // count
        if number >= counts[state] or (constrained and places[item] == OUTSIDE):
            continue
        place = take_place(found[item], keys)
        places[item] = place
        order = np.uint32(state * most + number + 1)
        if firsts[place] > order:
            cuda.atomic.min(firsts, place, order)


@kernel
def count_new(count: int, most: int, counts: Any, places: Any, firsts: Any, new: Any) -> None:
    """Count the successors of each state that are the first with their fingerprint."""
    for state in range(cuda.grid(1), count, cuda.gridsize(1)):
        known = 0
        for number in range(counts[state]):
            place = places[number * count + state]
            if place >= 0 and firsts[place] == np.uint32(state * most + number + 1):
                known += 1
        new[state] = known


@kernel
def list_new(
    count: int, most: int, counts: Any, places: Any, found: Any, steps: Any, firsts: Any, starts: Any, sources: Any,
    new_steps: Any, new_found: Any, new_places: Any,
) -> None:  # fmt: skip
    """List these in order, and let them be of an earlier chunk from now on."""
    for state in range(cuda.grid(1), count, cuda.gridsize(1)):
        to = starts[state]
        for number in range(counts[state]):
            item = number * count + state
            place = places[item]
            if place >= 0 and firsts[place] == np.uint32(state * most + number + 1):
                sources[to], new_steps[to], new_found[to], new_places[to] = state, steps[item], found[item], place
                firsts[place] = np.uint32(0)
                to += 1


@kernel
def remove(count: int, places: Any, keys: Any, firsts: Any) -> None:
    """Remove the fingerprints that were added last, all of them: those before do not lie behind these."""
    for item in range(cuda.grid(1), count, cuda.gridsize(1)):
        keys[places[item]] = FREE
        firsts[places[item]] = np.uint32(NO_OWNER)


@kernel
def add(count: int, hashes: Any, keys: Any, firsts: Any) -> None:
    """Put fingerprints into the table, those of free places of an older one left out."""
    for item in range(cuda.grid(1), count, cuda.gridsize(1)):
        if hashes[item] != FREE:
            firsts[take_place(hashes[item], keys)] = np.uint32(0)


@kernel
def has(count: int, hashes: Any, keys: Any, found: Any) -> None:
    """Find out which fingerprints are in the table."""
    for item in range(cuda.grid(1), count, cuda.gridsize(1)):
        wanted = hashes[item]
        if wanted == FREE:
            wanted = INSTEAD_OF_FREE
        place = np.int64(wanted & np.uint64(keys.size - 1))
        while keys[place] != FREE and keys[place] != wanted:
            place = (place + 1) & (keys.size - 1)
        found[item] = keys[place] == wanted


# ---- Prefix sums ----


@kernel
def sum_parts(count: int, numbers: Any, sums: Any) -> None:
    """Add up each part of SCAN_WIDTH numbers."""
    for part in range(cuda.grid(1), (count + SCAN_WIDTH - 1) // SCAN_WIDTH, cuda.gridsize(1)):
        total = np.int64(0)
        for each in range(part * SCAN_WIDTH, min(count, (part + 1) * SCAN_WIDTH)):
            total += numbers[each]
        sums[part] = total


@kernel
def start_parts(count: int, numbers: Any, firsts: Any, starts: Any) -> None:
    """Compute where the things of each number begin, given where those of each part of SCAN_WIDTH numbers do."""
    for part in range(cuda.grid(1), (count + SCAN_WIDTH - 1) // SCAN_WIDTH, cuda.gridsize(1)):
        total = np.int64(firsts[part])
        for each in range(part * SCAN_WIDTH, min(count, (part + 1) * SCAN_WIDTH)):
            starts[each] = total
            total += numbers[each]


@kernel
def start_all(count: int, numbers: Any, starts: Any, status: Any) -> None:
    """Do the same for a few numbers, by one thread, and report their sum as NEW."""
    if cuda.grid(1) == 0:
        total = np.int64(0)
        for each in range(count):
            starts[each] = total
            total += numbers[each]
        status[NEW] = total


# ---- The next level ----


@kernel
def copy_rows(count: int, wide: int, sources: Any, first: int, before: Any, after: Any, to: int) -> None:
    """Copy the rows of states; those from `first` on in `sources` go to places from `to` on."""
    for item in range(cuda.grid(1), count * wide, cuda.gridsize(1)):
        number, column = item // wide, item % wide
        after[(to + number) * wide + column] = before[np.int64(sources[first + number]) * wide + column]


@kernel
def write_new(
    count: int, first: int, to: int, is_view: bool, ints: Any, at: Any, sums: Any, added: int, images: int, wide: int,
    unknown: int, sources: Any, steps: Any, found: Any, hashes: Any, rows: Any, new_hashes: Any, patterns: Any,
) -> None:  # fmt: skip
    """Make states of copies of the states before them: the rows, the fingerprints of images, what the step wrote."""
    for item in range(cuda.grid(1), count, cuda.gridsize(1)):
        state, step, base = np.int64(sources[first + item]), steps[first + item], (to + item) * wide
        for image in range(images):
            place = (to + item) * images + image
            if is_view:
                new_hashes[place] = found[first + item]
            else:
                new_hashes[place] = image_hash(
                    image, images, step, ints, at, sums, added, rows, base, hashes[state * images + image]
                )  # fmt: skip
        write_step(step, ints, at, rows, base, unknown)
        patterns[to + item] = ints[at[STEP_PATTERN] + step]


@kernel
def check(
    count: int, lanes: int, first: int, to: int, ints: Any, at: Any, sources: Any, rows: Any, wide: int, patterns: Any,
    unknown: int, misses: Any, owners: Any, status: Any,
) -> None:  # fmt: skip
    """Report states as wrong whose successor violates an invariant that has read what the step to it wrote."""
    for item in range(cuda.grid(1), count * lanes, cuda.gridsize(1)):
        number, lane = item // lanes, item % lanes
        place = to + number
        begin = at[CHECK_FIRST] + patterns[place]
        for each in range(np.int64(ints[begin]) + lane, np.int64(ints[begin + 1]), lanes):
            root = ints[at[CHECK_ROOTS] + each]
            found = walk(root, 0, ints, at, rows, place * wide, unknown, place, misses, owners, status)
            if found != 1 and found != MISS:
                cuda.atomic.min(status, WRONG, np.int64(sources[first + number]))


@device
def orbit_size(images: int, hashes: Any, base: int) -> Any:
    """Count the different images of a state."""
    different = 0
    for image in range(images):
        is_new = True
        for other in range(image):
            is_new &= hashes[base + other] != hashes[base + image]
        different += is_new
    return different


@kernel
def count_orbits(
    count: int, first: int, images: int, hashes: Any, weighted: bool, factors: Any, place: int, status: Any
) -> None:
    """Add up the different images of states, those from `first` on; if `weighted`, each as often as its factor says."""
    total = np.int64(0)
    for state in range(cuda.grid(1), count, cuda.gridsize(1)):
        size = orbit_size(images, hashes, (first + state) * images)
        total += size * factors[state] if weighted else size
    cuda.atomic.add(status, place, total)


@kernel
def widen(count: int, before: Any, unknown: int, after: Any, new_unknown: int) -> None:
    """Copy numbers into an array of wider ones."""
    for item in range(cuda.grid(1), count, cuda.gridsize(1)):
        after[item] = new_unknown if before[item] == unknown else before[item]
