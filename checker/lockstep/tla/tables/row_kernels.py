"""States as rows, in loops that Numba compiles: what a step affects is looked up, and successors are made and compared.

A state has the results of all trees that are looked up for it, the fingerprints of its images, and the pattern of what
the last step wrote. What no step to it has written gives what it gave before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.tla.tables.tree_kernels import MAX_WAITING, MISS, compiled, note, walk

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
    """Put all fingerprints of a table into a larger one."""
    mask = np.uint64(len(table) - 1)
    for each in range(len(old)):
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
