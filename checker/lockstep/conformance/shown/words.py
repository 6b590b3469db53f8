"""What words of JSON stand for, and whether a JSON value equals the spec's, as seen at a glance.

A log has a record for each entry, and to make each of them only to compare it takes longer than to compare it. So a
JSON value is first held against the spec's as it is. What this finds equal is equal to what the JSON decodes to; a
False only says: look closer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lockstep.tla.values.kinds import Fcn, ModelValue, Value


@dataclass(frozen=True, slots=True)
class Words:
    """What words of JSON stand for: null (None: nothing), and those strings that name a constant of the spec."""

    null: Value | None = None
    strings: Mapping[str, Value] = field(default_factory=dict)
    meanings: _Meanings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Tell what the words stand for outside of a value with an ITF tag, and within one."""
        named: dict[str, Value] = {word: ModelValue(word) for word in self.strings}
        tagged = _Meanings(self.null, named, {})
        object.__setattr__(self, "meanings", _Meanings(self.null, self.strings, self.strings, tagged))


@dataclass(frozen=True, slots=True)
class _Meanings:
    """What words stand for at a place of a JSON value: `values` in the place of a value, `keys` as keys of objects.

    Within a value that has an ITF tag (`tagged`; None: this is within one) a string that names a constant is the model
    value of its name, and keys are what they are.
    """

    null: Value | None
    values: Mapping[str, Value]
    keys: Mapping[str, Value]
    tagged: _Meanings | None = None


WORDS = Words()

#: What no JSON has is in no function of a spec either.
_ABSENT: Any = object()

#: Keys of functions that Python never takes one for the other: a boolean it may take for an integer.
_PLAIN_KEYS = {int, str, ModelValue}

#: A set of so few elements that are no words or numbers is compared by looking for each.
_FEW = 16


def is_plainly(part: Any, value: Value, words: Words) -> bool:
    """Tell whether a JSON value equals the spec's at a glance, without being decoded; a False only says: look closer.

    Its keys and words stand for what they do outside of ITF's tags.
    """
    return _is_plainly(part, value, words.meanings)


def _is_plainly(part: Any, value: Value, words: _Meanings) -> bool:
    kind = type(part)
    if kind is str:
        return bool(words.values.get(part, part) == value)
    if kind is int or kind is bool:
        return type(value) is kind and bool(part == value)
    if kind is list:
        if type(value) is not tuple or len(part) != len(value):
            return False
        return all(_is_plainly(one, other, words) for one, other in zip(part, value, strict=True))
    if kind is not dict:
        return _is_null(part, value, words)
    if len(part) == 1 and (tag := next(iter(part)))[:1] == "#":
        return _is_tagged_plainly(tag, part[tag], value, words.tagged or words)
    if type(value) is not Fcn or len(part) != len(value.d):
        return False
    table, keys = value.d, words.keys
    for key, one in part.items():
        other = table.get(keys.get(key, key) if keys else key, _ABSENT)
        if other is _ABSENT or key[:1] == "#" or not _is_plainly(one, other, words):
            return False
    return True


def has_plain_keys(table: Mapping[Value, Value]) -> bool:
    """Tell whether Python finds a key in a table exactly where TLA+ does, if it is an integer, a string or a name."""
    return set(map(type, table)) <= _PLAIN_KEYS


def _is_null(part: Any, value: Value, words: _Meanings) -> bool:
    return part is None and words.null is not None and type(value) is type(words.null) and bool(value == words.null)


def _is_tagged_plainly(tag: str, body: Any, value: Value, words: _Meanings) -> bool:
    if type(body) is not list:
        return False
    if tag == "#set":
        return type(value) is frozenset and len(body) == len(value) and _are_elements(body, value, words)
    return tag == "#map" and _are_pairs(body, value, words)


def _are_pairs(pairs: list[Any], value: Value, words: _Meanings) -> bool:
    """Tell at a glance whether the pairs of a `#map` are a function."""
    if type(value) is tuple:
        table: Mapping[Value, Value] = dict(enumerate(value, 1))
    elif type(value) is Fcn and has_plain_keys(value.d):
        table = value.d
    else:
        return False
    return len(pairs) == len(table) and _count_of(pairs, table, words) == len(table)


def are_some(pairs: list[Any], table: Mapping[Value, Value], words: Words) -> int | None:
    """Count the keys of a table that pairs of a `#map` tell of; None where a pair is not plainly one of it.

    The keys of the table are plain ones.
    """
    return _count_of(pairs, table, words.meanings.tagged or words.meanings)


def _count_of(pairs: list[Any], table: Mapping[Value, Value], words: _Meanings) -> int | None:
    found = set()
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in (int, str):
            return None
        key = words.values.get(pair[0], pair[0]) if type(pair[0]) is str else pair[0]
        other = table.get(key, _ABSENT)
        if other is _ABSENT or not _is_plainly(pair[1], other, words):
            return None
        found.add(key)
    return len(found)


def _are_elements(body: list[Any], value: Collection[Value], words: _Meanings) -> bool:
    """Tell whether as many JSON values as a set has elements are those, each one of them."""
    kinds = set(map(type, body))
    if kinds <= {str}:
        return frozenset(map(words.values.get, body, body)) == value
    if kinds == {int}:
        return set(map(type, value)) == {int} and frozenset(body) == value
    if len(body) > _FEW:
        return False
    found = [next(filter(partial(_is_plainly, one, words=words), value), _ABSENT) for one in body]
    return _ABSENT not in found and len(set(map(id, found))) == len(body)
