"""What is remembered of values that come again: what long ones were made of, and the shapes of short sets.

A log gets one entry more, and so does the set of committed entries. What is new in the longer one, and whether all of
it has a property that the shorter one had, can be found without looking at all of it again. Only the latest values are
remembered, so every caller must also work without.

The elements of a set of sets come again and again: in the state itself, and as new objects of Python that are equal to
older ones. The shape of such an element, and the key that sorts it, are computed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: How many elements make a sequence or set long.
LONG = 16

_MOST_KNOWN = 32

_grown: dict[int, tuple[Any, Any, Iterable[Any]]] = {}


def grew(value: Any, base: Any, added: Iterable[Any]) -> Any:
    """Remember that a sequence is `base` and then `added`, or a set both together; return it."""
    if len(base) >= LONG and value is not base:
        if len(_grown) >= _MOST_KNOWN:
            del _grown[next(iter(_grown))]
        _grown[id(value)] = (value, base, added)
    return value


def made_of(value: Any) -> tuple[Any, Iterable[Any]] | None:
    """Return what a value was made of and what was added to that, if it is known."""
    found = _grown.get(id(value))
    return None if found is None or found[0] is not value else found[1:]


def added_to(base: Any, value: Any) -> Iterable[Any] | None:
    """Return what was added to `base` to make the value; None where that is not known."""
    if value is base:
        return ()
    found = _grown.get(id(value))
    return None if found is None or found[0] is not value or found[1] is not base else found[2]


#: Of so many sets something is remembered.
_MOST = 4096


class Met:
    """What is known of a set: its shape, and the keys that sort it and its equals, by what orders names."""

    __slots__ = ("keys", "shape", "value")

    def __init__(self, value: frozenset[Any], shape: Any, keys: dict[Any, tuple[Any, ...]]) -> None:
        """Keep the very set too, so that its id stays its own."""
        self.value, self.shape, self.keys = value, shape, keys


#: By the id of the very set. For reading alone: it is asked too often for a call of its own.
by_id: dict[int, Met] = {}
#: The keys of equal sets, for each shape: what Python holds equal is equal in TLA+ too if it is of one shape, where
#: nothing is a boolean here and an integer there.
_keys: dict[Any, dict[frozenset[Any], dict[Any, tuple[Any, ...]]]] = {}


def remember(value: frozenset[Any], shape: Any) -> Met:
    """Remember the shape of a set, and return what is known of it."""
    if len(by_id) >= _MOST:
        by_id.clear()
        _keys.clear()
    known = by_id[id(value)] = Met(value, shape, _keys.setdefault(shape, {}).setdefault(value, {}))
    return known
