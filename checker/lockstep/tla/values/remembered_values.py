"""Facts remembered about values: the parts that long ones were made of, and the shapes of short sets.

A log gets one entry more, and so does the set of committed entries. The new elements of the longer one, and whether
it has a property that the shorter one had, can be found without looking at all of it again. Only the latest values are
remembered, so every caller must also work without.

The elements of a set of sets come again and again: in the state itself, and as new objects of Python that are equal to
older ones. The shape of such an element, and the key that sorts it, are computed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: The least number of elements of a long sequence or set.
MIN_REMEMBERED = 16


class Latest(dict[int, tuple[Any, ...]]):
    """Facts about the latest values, by their ids: an entry begins with the value, which so keeps its id."""

    def __init__(self, limit: int) -> None:
        """Begin with nothing; there are never more entries than the limit."""
        super().__init__()
        self.limit = limit

    def remember(self, value: Any, *known: Any) -> None:
        """Enter what is known of a value, in the place of the oldest entry if need be."""
        if len(self) >= self.limit:
            del self[next(iter(self))]
        self[id(value)] = (value, *known)


#: The base and the addition that each of the latest long values was made of.
_grown = Latest(32)


def remember_growth(value: Any, base: Any, added: Iterable[Any]) -> Any:
    """Remember that a sequence is `base` and then `added`, or a set both together; return it."""
    if len(base) >= MIN_REMEMBERED and value is not base:
        _grown.remember(value, base, added)
    return value


def made_of(value: Any) -> tuple[Any, Iterable[Any]] | None:
    """Return what a value was made of and what was added to that, if it is known."""
    found = _grown.get(id(value))
    return None if found is None else (found[1], found[2])


def added_to(base: Any, value: Any) -> Iterable[Any] | None:
    """Return what was added to `base` to make the value; None where that is not known."""
    if value is base:
        return ()
    found = _grown.get(id(value))
    return found[2] if found is not None and found[1] is base else None


@dataclass(slots=True)
class SetFacts:
    """The shape of a set, and the keys that sort it and its equals, by what orders names.

    The set is there, too, so that its id stays its own.
    """

    value: frozenset[Any]
    shape: Any
    keys: dict[Any, tuple[Any, ...]]


_MAX_SETS = 4096

#: By the id of the very set. For reading alone: it is read too often for a call of its own.
by_id: dict[int, SetFacts] = {}
#: The keys of equal sets, for each shape: sets of one shape that Python holds equal are equal in TLA+ too, since no
#: element is a boolean in one and an integer in the other.
_keys: dict[Any, dict[frozenset[Any], dict[Any, tuple[Any, ...]]]] = {}


def remember_shape_of(value: frozenset[Any], shape: Any) -> SetFacts:
    """Remember the shape of a set, and return what is known of it."""
    if len(by_id) >= _MAX_SETS:
        by_id.clear()
        _keys.clear()
    known = by_id[id(value)] = SetFacts(value, shape, _keys.setdefault(shape, {}).setdefault(value, {}))
    return known
