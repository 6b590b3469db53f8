"""Records that differ in a common field: they can be compared, whatever else is in them.

Entries of a log are commands, configurations and no-ops. Their payloads cannot be compared with each other,
but their types differ, and where one field differs the records do. So of two kinds of records it is enough to know that
no two have the same values in those fields that both have of one type; they need not be compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from lockstep.tla.values.kinds import ModelValue, Value, common_shape, shape_of

_ATOMS = (int, str, bool, ModelValue)

#: Elements by their shapes.
Groups: TypeAlias = dict[Any, list[Value]]

#: The way to a field within records.
_Path = tuple[str, ...]


def grouped(elements: Iterable[Value]) -> Groups | None:
    """Group elements by their shapes; None where the shape of one does not decide what it can be compared with."""
    groups: Groups = {}
    for element in elements:
        shape = shape_of(element)
        if not shape:
            return None
        groups.setdefault(shape, []).append(element)
    return groups


def all_comparable(groups: Groups) -> bool:
    """Return whether shapes show that each of these can be compared with each; if not, only comparing decides."""
    rest = dict(groups)
    while rest:
        shape, elements = rest.popitem()
        if not pairs_comparable({shape: elements}, rest):
            return False
    return True


def pairs_comparable(left: Groups, right: Groups) -> bool:
    """Return whether shapes show that each of the one can be compared with each of the other."""
    return all(
        shape == other or bool(common_shape({shape, other})) or _differ(shape, elements, other, others)
        for shape, elements in left.items()
        for other, others in right.items()
    )


def _differ(shape: Any, elements: list[Value], other: Any, others: list[Value]) -> bool:
    if (key := (shape, other)) not in _PATHS:
        _PATHS[key] = tuple(_common(shape, other, ())) if _is_record(shape) and _is_record(other) else ()
    paths = _PATHS[key]
    if not paths:
        return False
    for number, path in enumerate(paths):
        if not {_at(element, path) for element in elements} & {_at(element, path) for element in others}:
            if number:  # the field in which these differ is where others will: it is looked at first
                _PATHS[key] = (path, *paths[:number], *paths[number + 1 :])
            return True
    rows = {tuple([_at(element, path) for path in paths]) for element in elements}
    return rows.isdisjoint(tuple([_at(element, path) for path in paths]) for element in others)


#: The ways to the fields that two shapes have of one type: none where one is no record.
_PATHS: dict[tuple[Any, Any], tuple[_Path, ...]] = {}


def _is_record(shape: Any) -> bool:
    return type(shape) is tuple and len(shape) == 2 and type(shape[1]) is frozenset


def _common(shape: Any, other: Any, way: _Path) -> Iterator[_Path]:
    """Yield the ways to the fields that two shapes of records have of one type."""
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
