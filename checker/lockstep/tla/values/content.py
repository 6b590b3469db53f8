"""What is in a value, as bytes: the same for equal values, whatever Python takes for equal."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, forced

__all__ = ["content"]


def content(value: Value) -> bytes:
    """Answer 16 bytes that are the same for equal values, and practically never for others.

    Python holds 1 and TRUE equal; these differ.

    Raises:
        TlaError: if not all of the value can be listed.
    """
    return hashlib.blake2b(_written(value), digest_size=16).digest()


def _written(value: Value) -> bytes:
    """Write a value so that equal values are written alike, others never, and each shows where it ends."""
    kind = type(value)
    if kind is str:
        return _written_word(value)
    if kind is bool:
        return b"b1" if value else b"b0"
    if kind is int:
        return b"i%d." % value
    if kind is Fcn:
        return b"d%d." % len(value.d) + b"".join(sorted([_written(key) + _written(at) for key, at in value.d.items()]))
    if kind is tuple:
        return b"t%d." % len(value) + b"".join(map(_written, value))
    if kind is frozenset:
        return b"f%d." % len(value) + b"".join(sorted(map(_written, value)))
    if kind is ModelValue:
        return b"m" + _written_word(value.name)
    return _written(_listed(value))


@lru_cache(maxsize=4096)
def _written_word(word: str) -> bytes:
    text = word.encode()
    return b"s%d.%s" % (len(text), text)


def _listed(value: Value) -> Value:
    listed = forced(value)
    if listed is value:
        raise TlaError("the value cannot be listed")
    return listed
