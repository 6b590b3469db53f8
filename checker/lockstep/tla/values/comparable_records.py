"""Records that a field tells apart: they can be compared, whatever else is in them.

Entries of a log are commands, configurations and no-ops. What one carries cannot be compared with what another does,
but their types differ, and where one field differs the records do. So of two makes of records it is enough to know that
no two have the same values in those fields which both have of one kind; nobody need compare each with each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from lockstep.tla.values.kinds import ModelValue, Value, common_shape, shape_of

__all__ = ["Groups", "all_comparable", "grouped", "pairs_comparable"]

_ATOMS = (int, str, bool, ModelValue)

#: Elements by their shapes.
Groups: TypeAlias = dict[Any, list[Value]]

#: The way to a field within records.
_Path = tuple[str, ...]


def grouped(elements: Iterable[Value]) -> Groups | None:
    """Sort elements by their shapes; None where one has no shape that tells what it can be compared with."""
    groups: Groups = {}
    for element in elements:
        shape = shape_of(element)
        if not shape:
            return None
        groups.setdefault(shape, []).append(element)
    return groups


def all_comparable(groups: Groups) -> bool:
    """Tell that each of these can be compared with each; False may mean that only comparing tells."""
    rest = dict(groups)
    while rest:
        shape, elements = rest.popitem()
        if not pairs_comparable({shape: elements}, rest):
            return False
    return True


def pairs_comparable(left: Groups, right: Groups) -> bool:
    """Tell that each of the one can be compared with each of the other; False may mean that only comparing tells."""
    return all(
        shape == other or bool(common_shape({shape, other})) or _apart(shape, elements, other, others)
        for shape, elements in left.items()
        for other, others in right.items()
    )


def _apart(shape: Any, elements: list[Value], other: Any, others: list[Value]) -> bool:
    if (key := (shape, other)) not in _PATHS:
        _PATHS[key] = tuple(_common(shape, other, ())) if _is_record(shape) and _is_record(other) else ()
    paths = _PATHS[key]
    if not paths:
        return False
    for number, path in enumerate(paths):
        if not {_at(element, path) for element in elements} & {_at(element, path) for element in others}:
            if number:  # what tells these apart will tell others apart: it is asked for first
                _PATHS[key] = (path, *paths[:number], *paths[number + 1 :])
            return True
    told = {tuple([_at(element, path) for path in paths]) for element in elements}
    return told.isdisjoint(tuple([_at(element, path) for path in paths]) for element in others)


#: The ways to what two shapes have of one kind: none where one is no record.
_PATHS: dict[tuple[Any, Any], tuple[_Path, ...]] = {}


def _is_record(shape: Any) -> bool:
    return type(shape) is tuple and len(shape) == 2 and type(shape[1]) is frozenset


def _common(shape: Any, other: Any, way: _Path) -> Iterator[_Path]:
    """Yield the ways to the fields that two shapes of records have of one kind."""
    there = dict(other[1])
    for field, part in shape[1]:
        if part in _ATOMS and there.get(field) is part:
            yield (*way, field)
        elif _is_record(part) and _is_record(there.get(field)):
            yield from _common(part, there[field], (*way, field))


def _at(value: Value, path: _Path) -> Value:
    for field in path:
        value = value.d[field]
    return value
