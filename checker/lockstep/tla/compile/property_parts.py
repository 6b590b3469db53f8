"""The parts of a property, compiled: each with its test, the elements it is for, and what of a state it reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.tla.compile.spec_meta import EachMeta, PartMeta, Path
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value

__all__ = ["EachPart", "PathOf", "PropertyPart", "part_of"]

PathOf = tuple[str | int | None, ...]
_MOST_COMBINATIONS = 4096
"""A property is taken apart over the elements of constant sets as long as there are no more combinations of them."""


@dataclass(frozen=True)
class EachPart:
    """What a part says of every element of a set, or range of integers, of the state.

    Attributes:
        guard: what must be true, or nothing is said; of a state, the next one, and the part's elements.
        holds: its test, of the same, and the element of the set.
        domain: the set, of what the guard is of; None if it is a range.
        range: its ends, likewise.
        of_domain: the paths that these read.
        whole: the paths that the test reads, but for the following.
        at: sequences that it reads at an index of the element: the path, the element's field or None, an offset.
        thresholds: what it compares a number of the element with: field, offset, the limit's function, its paths.
    """

    guard: Callable[..., bool] | None
    holds: Callable[..., bool]
    domain: Callable[..., Value] | None
    range: tuple[Callable[..., Value], Callable[..., Value]] | None
    of_domain: tuple[PathOf, ...]
    whole: tuple[PathOf, ...]
    at: tuple[tuple[PathOf, str | None, int], ...]
    thresholds: tuple[tuple[str | None, int, Callable[..., Value], tuple[PathOf, ...]], ...]


@dataclass(frozen=True)
class PropertyPart:
    """A part of a property: a conjunct, for every combination of the elements it speaks of.

    Attributes:
        holds: its test, of a state, the next one, and the elements.
        elements: the combinations of elements.
        footprint: the paths into the state that it reads; a number in one is that of an element, None is any.
        eaches: where it says something of every element of a set of the state, or of some sets, what tells for each
            of these which elements a change concerns.
        of_step: whether it is of a property ``[][A]_v``.
    """

    holds: Callable[..., bool]
    elements: tuple[tuple[Value, ...], ...]
    footprint: tuple[PathOf, ...]
    eaches: tuple[EachPart, ...] = ()
    of_step: bool = False


def part_of(module: Mapping[str, Any], told: PartMeta) -> PropertyPart:
    """Make a part of a property of what the compiled source says of it.

    Args:
        module: the names of the compiled source.
        told: what it says.

    Returns:
        The part; over too many combinations of elements it is one test of all.
    """
    one, generated = module[told["holds"]], module[told["elements"]]
    combinations = tuple(itertools.islice(generated(), _MOST_COMBINATIONS + 1))
    footprint = tuple(map(tuple, told["footprint"]))
    of_step = told["of_step"]
    if len(combinations) <= _MOST_COMBINATIONS:
        return PropertyPart(
            one, combinations, footprint, tuple(_each_of(module, each) for each in told["eaches"]), of_step
        )

    def holds(state: State, after: State | None) -> bool:
        return all(one(state, after, *combination) for combination in generated())

    whole = tuple(tuple(None if isinstance(step, int) else step for step in path) for path in footprint)
    return PropertyPart(holds, ((),), whole, (), of_step)


def _each_of(module: Mapping[str, Any], told: EachMeta) -> EachPart:
    def paths(found: list[Path]) -> tuple[PathOf, ...]:
        return tuple(map(tuple, found))

    return EachPart(
        guard=None if told["guard"] is None else module[told["guard"]],
        holds=module[told["holds"]],
        domain=None if told["domain"] is None else module[told["domain"]],
        range=None if told["range"] is None else (module[told["range"][0]], module[told["range"][1]]),
        of_domain=paths(told["of_domain"]),
        whole=paths(told["whole"]),
        at=tuple((tuple(path), key, offset) for path, key, offset in told["at"]),
        thresholds=tuple(
            (each["key"], each["offset"], module[each["limit"]], paths(each["footprint"]))
            for each in told["thresholds"]
        ),
    )
