"""The elements of a set of records that have one value in a field, by an index that grows as the set does."""

from __future__ import annotations

from collections.abc import Callable

from lockstep.tla.values.equality import has_same
from lockstep.tla.values.field_indexes import FieldIndex
from lockstep.tla.values.growing_values import GrowingSet
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.remembered_values import MIN_REMEMBERED, Latest, made_of

__all__ = ["having"]

#: The indexes of the latest listed sets, by field: a set and those made of it share theirs.
_indexes = Latest(32)


def having(container: Value, field: str, key: Callable[[], Value]) -> Value:
    """Return the set of the elements with a value in a field, and maybe others, which the caller must leave out.

    It is the whole set, whatever that is, where that is short or unlisted, or only comparing each element with the
    value decides.

    Arguments: `key` computes the value; it is not asked where the set is short.
    """
    if type(container) is GrowingSet:
        found = container.having(field, key())
    elif type(container) is frozenset and len(container) >= MIN_REMEMBERED:
        found = _index(container, field).having(key())
        found = None if found is None else [element for element in found if has_same(container, element)]
    else:
        found = None
    return container if found is None else frozenset(found)


def _index(container: frozenset[Value], field: str) -> FieldIndex:
    known = _indexes.get(id(container))
    indexes: dict[str, FieldIndex] = {}
    if known is not None:
        indexes = known[1]
    else:
        grown = made_of(container)
        before = None if grown is None else _indexes.get(id(grown[0]))
        if grown is not None and before is not None:
            indexes = dict(before[1])
            for index in indexes.values():
                index.enter(each for each in grown[1] if each not in grown[0])
        _indexes.remember(container, indexes)
    if field not in indexes:
        indexes[field] = FieldIndex(field)
        indexes[field].enter(container)
    return indexes[field]
