"""Compiled parts of properties: each with its test, its elements, and the paths into the state that it reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.tla.compile.spec_meta import EachMeta, PartMeta, Path
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value

PathOf = tuple[str | int | None, ...]

#: A property is taken apart over the elements of constant sets if there are no more combinations than this of them.
_MAX_COMBINATIONS = 4096


@dataclass(frozen=True)
class EachPart:
    """A formula about every element of a set, or range of integers, of the state.

    Attributes:
        guard: must be true, or nothing is said; takes a state, the next one, and the part's elements.
        holds: its test, which takes the same, and the element of the set.
        domain: the set, given what the guard is given; None if it is a range.
        range: its ends, likewise.
        of_domain: the paths that domain and range read.
        whole: the paths that the test reads, but for the following.
        at: functions that it reads at an index of the element: the path, the element's field or None, an offset.
        selections: sets that it reads as far as a field has a number of the element: the path, that field,
            and the number as above.
        thresholds: what it compares a number of the element with: field, offset, the limit's function, its paths.
    """

    guard: Callable[..., bool] | None
    holds: Callable[..., bool]
    domain: Callable[..., Value] | None
    range: tuple[Callable[..., Value], Callable[..., Value]] | None
    of_domain: tuple[PathOf, ...]
    whole: tuple[PathOf, ...]
    at: tuple[tuple[PathOf, str | None, int], ...]
    selections: tuple[tuple[PathOf, str, str | None, int], ...]
    thresholds: tuple[tuple[str | None, int, Callable[..., Value], tuple[PathOf, ...]], ...]


@dataclass(frozen=True)
class PropertyPart:
    """A part of a property: a conjunct, for every combination of the elements it speaks of.

    Attributes:
        holds: its test, of a state, the next one, and the elements.
        footprint: the paths into the state that it reads; a number in one is that of an element, None is any.
        eaches: for each set of the state of whose every element it says something: which elements a change affects.
        of_step: whether it is part of a property ``[][A]_v``.
    """

    holds: Callable[..., bool]
    elements: tuple[tuple[Value, ...], ...]
    footprint: tuple[PathOf, ...]
    eaches: tuple[EachPart, ...] = ()
    of_step: bool = False


def part_of(module: Mapping[str, Any], meta: PartMeta) -> PropertyPart:
    """Make a part of a property from its META and the names of the compiled source.

    Over too many combinations of elements it is one test of all.
    """
    one, generated = module[meta["holds"]], module[meta["elements"]]
    combinations = tuple(itertools.islice(generated(), _MAX_COMBINATIONS + 1))
    footprint, of_step = _paths(meta["footprint"]), meta["of_step"]
    if len(combinations) <= _MAX_COMBINATIONS:
        eaches = tuple(_each_of(module, each) for each in meta["eaches"])
        return PropertyPart(one, combinations, footprint, eaches, of_step)

    def holds(state: State, after: State | None) -> bool:
        return all(one(state, after, *combination) for combination in generated())

    whole = tuple(tuple(None if isinstance(step, int) else step for step in path) for path in footprint)
    return PropertyPart(holds, ((),), whole, (), of_step)


def _paths(found: list[Path]) -> tuple[PathOf, ...]:
    return tuple(map(tuple, found))


def _each_of(module: Mapping[str, Any], meta: EachMeta) -> EachPart:
    return EachPart(
        guard=None if meta["guard"] is None else module[meta["guard"]],
        holds=module[meta["holds"]],
        domain=None if meta["domain"] is None else module[meta["domain"]],
        range=None if meta["range"] is None else (module[meta["range"][0]], module[meta["range"][1]]),
        of_domain=_paths(meta["of_domain"]),
        whole=_paths(meta["whole"]),
        at=tuple((tuple(path), key, offset) for path, key, offset in meta["at"]),
        selections=tuple((tuple(path), of, key, offset) for path, of, key, offset in meta["selections"]),
        thresholds=tuple(
            (each["key"], each["offset"], module[each["limit"]], _paths(each["footprint"]))
            for each in meta["thresholds"]
        ),
    )
