"""Confirming a count that no other tool can reach: by another function of fingerprints, and by orbits.

Two searches that agree share no fingerprint. Under SYMMETRY each state found stands for its
orbit, all its images; these are counted, and a search without SYMMETRY has to find as many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockstep.tla.spec import Spec
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables

__all__ = ["Confirmed", "confirm"]

#: Beyond so many states the search without SYMMETRY is left out.
AFFORDABLE = 20_000_000

_COMPARED = ("distinct", "generated", "depth", "levels", "complete", "violation")


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What several searches came to.

    Attributes:
        found: what the first found; its `doubt` says where another differs.
        said: what was compared and agrees, a line each.
    """

    found: TableExploration
    said: tuple[str, ...]


def confirm(spec: Spec, *, seed: int = 0, affordable: int = AFFORDABLE, **options: Any) -> Confirmed:
    """Explore by tables until the count is confirmed, or one search differs from another.

    Args:
        spec: the specification.
        seed: chooses the function of fingerprints of the first search; the second has the next one.
        affordable: leave out the search without SYMMETRY where it would find more states.
        options: those of :func:`explore_by_tables`; each further search has a `checkpoint` of its own beside the first.
    """
    first = explore_by_tables(spec, seed=seed, orbits=spec.symmetry is not None, **options)
    if first.gave_up:
        return Confirmed(first, ())
    told = f"functions {seed} and {seed + 1} of fingerprints"
    second = explore_by_tables(spec, seed=seed + 1, **_beside(options, ".again"))
    if (why := _differs(first, second)) is not None:
        return Confirmed(_doubted(first, f"{told}: {why}"), ())
    said = [f"{told} come to the same"]
    if first.orbits is not None and first.complete and first.violation is None and first.distinct:
        doubt, line = _by_orbits(spec, first, affordable, {"seed": seed, **options})
        if doubt:
            return Confirmed(_doubted(first, doubt), tuple(said))
        said.append(line)
    return Confirmed(first, tuple(said))


def _by_orbits(spec: Spec, first: TableExploration, affordable: int, options: dict[str, Any]) -> tuple[str, str]:
    """Say where a search without SYMMETRY differs from the orbits of a search with it, or that it does not."""
    orbits = first.orbits
    assert orbits is not None
    expected = replace(first, distinct=sum(orbits.levels), generated=orbits.generated, levels=[*orbits.levels])
    told = f"the orbits have {expected.distinct:,} states and {expected.generated:,} successors"
    if expected.distinct > affordable:
        return "", f"{told}, which are too many to be explored without SYMMETRY"
    found = explore_by_tables(_without_symmetry(spec), **_beside(options, ".whole"))
    why = _differs(expected, found)
    return ("", f"{told}, as a search without SYMMETRY") if why is None else (f"orbits, and no SYMMETRY: {why}", "")


def _beside(options: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Let a further search have a checkpoint of its own, if the first has one."""
    first: Path | None = options.get("checkpoint")
    return options if first is None else {**options, "checkpoint": first.with_name(first.name + suffix)}


def _doubted(found: TableExploration, doubt: str) -> TableExploration:
    return replace(found, doubt=doubt, violation=None)


def _without_symmetry(spec: Spec) -> Spec:
    """Return a specification that is the same, but has no SYMMETRY."""
    other = Spec(spec.source)
    other.symmetry = None
    return other


def _differs(one: TableExploration, other: TableExploration) -> str | None:
    """Say in what a search differs from another; None where it does not."""
    if other.gave_up:
        return other.gave_up
    for name in _COMPARED:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            return "another violation" if name == "violation" else f"{name}: {_text(mine)} and {_text(theirs)}"
    return None


def _text(value: object) -> str:
    return f"{value:,}" if type(value) is int else str(value)
