"""Confirmation of a count that no other tool can reach: by another function of fingerprints, and by orbits.

Two searches with different functions share no fingerprint. Under SYMMETRY each state found stands for its orbit, all
its images; these are counted, and a search without SYMMETRY has to find as many.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables

#: The most states for which a search without SYMMETRY confirms the count.
MAX_WITHOUT_SYMMETRY = 20_000_000

_COMPARED = ("distinct", "generated", "depth", "levels", "complete", "violation")


def explore_until_confirmed(
    spec: Spec, options: SearchOptions, *, max_without_symmetry: int = MAX_WITHOUT_SYMMETRY
) -> TableExploration:
    """Explore by tables until the count is confirmed, or one search differs from another.

    Each further search has a checkpoint of its own, beside the one that is named.

    Args:
        options: the options of the first search; the second has the next `fingerprint_seed`.
        max_without_symmetry: leave out the search without SYMMETRY where it would find more states.

    Returns:
        The result of the first search; with the comparisons that confirm it, or the difference that makes it doubtful.
    """
    seed = options.fingerprint_seed
    first = explore_by_tables(spec, replace(options, count_orbits=spec.symmetry is not None))
    if first.gave_up:
        return first
    functions = f"functions {seed} and {seed + 1} of fingerprints"
    second = explore_by_tables(spec, replace(_own_checkpoint(options, ".again"), fingerprint_seed=seed + 1))
    if (difference := _difference(first, second)) is not None:
        return _doubted(first, f"{functions}: {difference}")
    confirmed = replace(first, confirmed=(f"{functions} come to the same",))
    if first.orbits is not None and first.complete and first.violation is None and first.distinct:
        return _confirmed_by_orbits(spec, options, confirmed, max_without_symmetry)
    return confirmed


def _confirmed_by_orbits(spec: Spec, options: SearchOptions, first: TableExploration, most: int) -> TableExploration:
    """Compare the orbits of a search under SYMMETRY with a search without it."""
    orbits = first.orbits
    assert orbits is not None
    expected = replace(first, distinct=sum(orbits.levels), generated=orbits.generated, levels=[*orbits.levels])
    counts = f"the orbits have {expected.distinct:,} states and {expected.generated:,} successors"
    if expected.distinct > most:
        left_out = f"{counts}, which are too many to be explored without SYMMETRY"
        return replace(first, confirmed=(*first.confirmed, left_out))
    found = explore_by_tables(_without_symmetry(spec), _own_checkpoint(options, ".whole"))
    if (difference := _difference(expected, found)) is not None:
        return _doubted(first, f"orbits, and no SYMMETRY: {difference}")
    return replace(first, confirmed=(*first.confirmed, f"{counts}, as a search without SYMMETRY"))


def _own_checkpoint(options: SearchOptions, suffix: str) -> SearchOptions:
    """Give a further search a checkpoint of its own, if the first has one."""
    first = options.checkpoint
    return options if first is None else replace(options, checkpoint=first.with_name(first.name + suffix))


def _doubted(found: TableExploration, doubt: str) -> TableExploration:
    return replace(found, doubt=doubt, violation=None)


def _without_symmetry(spec: Spec) -> Spec:
    other = Spec(spec.source)
    other.symmetry = None
    return other


def _difference(one: TableExploration, other: TableExploration) -> str | None:
    """Return the first difference between two searches; None where there is none."""
    if other.gave_up:
        return other.gave_up
    for name in _COMPARED:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            return "another violation" if name == "violation" else f"{name}: {_text(mine)} and {_text(theirs)}"
    return None


def _text(value: object) -> str:
    return f"{value:,}" if type(value) is int else str(value)
