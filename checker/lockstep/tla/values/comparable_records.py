"""Records that differ in a common field: they can be compared, whatever else is in them.

Entries of a log are commands, configurations and no-ops. Their payloads cannot be compared with each other,
but their types differ, and where one field differs the records do. So of two kinds of records it is enough to know that
no two have the same values in those fields that both have of one type; they need not be compared one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lockstep.tla.values.kinds import Fcn, ModelValue, Value, common_shape, shape_of

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


class ComparableRecords:
    """Records that can all be compared with each other, and others that come to them."""

    __slots__ = ("_by_shape", "_decided", "_values")

    def __init__(self, records: Iterable[Value] = ()) -> None:
        """Begin with some."""
        self._by_shape: Groups = {}
        self._values: dict[tuple[Any, _Path], _Values] = {}
        self._decided = True
        self.enter(records)

    def enter(self, records: Iterable[Value]) -> None:
        """Take records that can be compared with each that is there; with other values among them nothing is known."""
        for record in records:
            shape = type(record) is Fcn and record.shape()
            if not shape:
                self._decided = False
                return
            self._by_shape.setdefault(shape, []).append(record)

    def can_compare(self, value: Value) -> bool:
        """Return whether shapes show that a value can be compared with each; if not, only comparing decides."""
        shape = self._decided and type(value) is Fcn and value.shape()
        return bool(shape) and all(
            shape == other or bool(common_shape({shape, other})) or self._differs(value, shape, other)
            for other in self._by_shape
        )

    def _differs(self, value: Value, shape: Any, other: Any) -> bool:
        return any(
            _at(value, path) not in self._values_at(other, path) and _found(shape, other, number)
            for number, path in enumerate(_paths(shape, other))
        )

    def _values_at(self, shape: Any, path: _Path) -> set[Value]:
        """Return what the records of a shape have in a field."""
        known = self._values.setdefault((shape, path), _Values())
        records = self._by_shape[shape]
        known.values.update(_at(record, path) for record in itertools.islice(records, known.count, None))
        known.count = len(records)
        return known.values


@dataclass(slots=True)
class _Values:
    """The values of a field in the first records of a list, and how many records these are."""

    values: set[Value] = field(default_factory=set)
    count: int = 0


def _paths(shape: Any, other: Any) -> tuple[_Path, ...]:
    """Return the ways to the fields that two shapes have of one type: none where one is no record."""
    if (key := (shape, other)) not in _PATHS:
        _PATHS[key] = tuple(_common(shape, other, ())) if _is_record(shape) and _is_record(other) else ()
    return _PATHS[key]


def _found(shape: Any, other: Any, number: int) -> bool:
    """Remember where two shapes differ: it is where others will, and is looked at first; return True."""
    if number:
        paths = _PATHS[shape, other]
        _PATHS[shape, other] = (paths[number], *paths[:number], *paths[number + 1 :])
    return True


def _differ(shape: Any, elements: list[Value], other: Any, others: list[Value]) -> bool:
    paths = _paths(shape, other)
    if not paths:
        return False
    for number, path in enumerate(paths):
        if not {_at(element, path) for element in elements} & {_at(element, path) for element in others}:
            return _found(shape, other, number)
    rows = {tuple([_at(element, path) for path in paths]) for element in elements}
    return rows.isdisjoint(tuple([_at(element, path) for path in paths]) for element in others)


#: The ways to the fields that two shapes have of one type, the one in which records last differed first.
_PATHS: dict[tuple[Any, Any], tuple[_Path, ...]] = {}


def _is_record(shape: Any) -> bool:
    return type(shape) is tuple and len(shape) == 2 and type(shape[1]) is frozenset


def _common(shape: Any, other: Any, way: _Path) -> Iterator[_Path]:
    """Yield the ways to the fields that two shapes of records have of one type."""
    there = dict(other[1])
    for name, part in shape[1]:
        if part in _ATOMS and there.get(name) is part:
            yield (*way, name)
        elif _is_record(part) and _is_record(there.get(name)):
            yield from _common(part, there[name], (*way, name))


def _at(value: Value, path: _Path) -> Value:
    for name in path:
        value = value.d[name]
    return value
