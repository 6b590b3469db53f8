"""What is known of long sequences and sets that grow: which one each was made of, and what was added to it.

A log gets one entry more, and so does the set of what is committed. Who asks what is new in the one since the other,
or whether all of it has a property that the other had, need not look at all of it again. Only the last ones are known;
whoever asks must be able to find out by himself.
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
