"""Short sets that were met before, with what is known of them.

What a state that is a set of sets has for elements comes again and again: in the state itself, and as new objects of
Python that are equal to older ones. The shape of such an element, and the key that sorts it, are found out once.
"""

from __future__ import annotations

from typing import Any

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
