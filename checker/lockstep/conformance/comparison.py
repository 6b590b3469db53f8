"""Observed values beside the spec's: JSON to TLA+ values, and where an observation differs.

What null stands for, and which strings name a constant of the spec, must be agreed on. An object is compared key by
key, so that a part of a record or function may be shown; an array, and an object with an ITF tag, is compared whole.
JSON has strings for keys alone: the key "7" is the integer 7 where that is in the domain of the spec's function, which
may be a sequence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from lockstep.base.spelling import did_you_mean
from lockstep.conformance.json_values import WORDS, Meanings, Words, integer_of, is_tagged, to_value
from lockstep.tla.values.equality import eq
from lockstep.tla.values.kinds import (
    Fcn,
    ModelValue,
    TlaTypeError,
    Value,
    as_fcn,
    format_value,
)


@dataclass(frozen=True, slots=True)
class Has:
    """What is told of a set, a sequence or a bag: the parts of one of its elements."""

    parts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    """What is told of a set, a sequence or a function: how many elements there are, or arguments."""

    count: int


#: What no JSON has is in no domain of a spec either.
_ABSENT: Any = object()

#: Keys of functions that Python never takes one for the other: a boolean it may take for an integer.
_PLAIN_KEYS = {int, str, ModelValue}

#: A set of so few elements that are no words or numbers is compared by looking for each.
_FEW_ELEMENTS = 16

#: So many names are listed where none is like what was given.
_FEW = 20


@dataclass(frozen=True, slots=True)
class Compared:
    """One observed value beside the spec's, and whether they are equal; `path` names the field."""

    path: str
    observed: Value
    expected: Value
    equal: bool

    def __str__(self) -> str:
        """Say both in one line, as TLA+ writes them."""
        shown, said = format_value(self.observed), format_value(self.expected)
        return f"{self.path}: the trace shows {shown}, the spec says {said}"


class ObservationError(ValueError):
    """An observed field that cannot be compared: the spec has none such, or its value is none or of another kind."""

    def __init__(self, path: str, problem: str) -> None:
        """Name the field and the problem."""
        super().__init__(f"field `shows.{path}`: {problem}")


def like(name: str, names: Iterable[str]) -> str:
    """Return a hint at the name that was meant, if one is like it; all of them where there are few."""
    known = sorted(names)
    near = did_you_mean(name, known, most=3)
    if near:
        return near.replace(";", ":", 1)
    return f": it has {', '.join(known)}" if len(known) <= _FEW else ""


def compare(shown: Mapping[str, Any], expected: Value, words: Words = WORDS, path: str = "") -> Iterator[Compared]:
    """Yield every value that `shown` has beside the spec's, in the order of the trace.

    Raises ObservationError where `shown` has a key that the spec's value has not, or what cannot be compared.
    """
    for key, part in shown.items():
        here = f"{path}.{key}" if path else key
        value = _at(expected, key, words)
        if value is _ABSENT:
            near = like(key, map(str, expected.d)) if isinstance(expected, Fcn) else ""
            raise ObservationError(here, f"the spec shows no such field{near}")
        if isinstance(part, Has | Size):
            yield _compared_inside(here, part, value, words)
        elif by_key(part, value):
            yield from compare(part, value, words, here)
        else:
            yield _compared(here, part, value, words)


def equal_count(shown: Mapping[str, Any], expected: Value, words: Words = WORDS) -> int | None:
    """Return how many values are compared, if all are equal; None where one is not, or not to be compared at a glance.

    Where it is not None, `compare` yields so many, all equal. It is the way of almost every event, made short.
    """
    table = expected.d if type(expected) is Fcn else {}
    strings, count = words.strings, 0
    for key, part in shown.items():
        value = table.get(strings.get(key, key) if strings else key, _ABSENT)
        if value is _ABSENT:
            value = _at(expected, key, words)
        kind = type(part)
        if kind is int or kind is bool:
            if type(value) is not kind or part != value:
                return None
            count += 1
        elif kind is str:
            if (strings.get(part, part) if strings else part) != value:
                return None
            count += 1
        elif kind is dict and by_key(part, value):
            within = equal_count(part, value, words)
            if within is None:
                return None
            count += within
        elif kind is Has or kind is Size:
            if not is_so(part, value, words):
                return None
            count += 1
        elif value is _ABSENT or not (is_plainly(part, value, words) or _equal(part, value, words)):
            return None
        else:
            count += 1
    return count


def _at(of: Value, key: str, words: Words) -> Value:
    """Return the value of a function at what a key stands for; _ABSENT where that is not in its domain."""
    number = integer_of(key)
    if isinstance(of, Fcn):
        found = of.d.get(words.strings.get(key, key), _ABSENT)
        if found is not _ABSENT or number is None:
            return found
        is_boolean = number in (0, 1) and any(type(each) is bool for each in of.d)  # to Python these are FALSE and TRUE
        return _ABSENT if is_boolean else of.d.get(number, _ABSENT)
    if isinstance(of, tuple) and number is not None and 1 <= number <= len(of):
        return of[number - 1]
    return _ABSENT


def by_key(part: Any, value: Value) -> bool:
    """Tell whether an object is compared key by key: with a function, or a sequence if integers are its keys."""
    if not isinstance(part, Mapping) or is_tagged(part):
        return False
    is_sequence = isinstance(value, tuple) and bool(part) and all(integer_of(key) is not None for key in part)
    return is_sequence or isinstance(value, Fcn)


def _elements(value: Value) -> Iterable[Value] | None:
    """Return the elements of a set or sequence, or the arguments of a function, which are the elements of a bag."""
    if isinstance(value, frozenset | tuple):
        return value
    return value.d.keys() if isinstance(value, Fcn) else None


def is_so(part: Has | Size, value: Value, words: Words) -> bool:
    """Tell whether what is told of the inside of a value is true."""
    elements = _elements(value)
    if elements is None:
        return False
    if isinstance(part, Size):
        return len(list(elements)) == part.count
    return any(equal_count(part.parts, each, words) is not None for each in elements)


def _compared_inside(path: str, part: Has | Size, value: Value, words: Words) -> Compared:
    elements = _elements(value)
    if elements is None:
        raise ObservationError(path, f"{format_value(value)} is no set, sequence or function")
    if isinstance(part, Size):
        return Compared(f"size of {path}", part.count, len(list(elements)), is_so(part, value, words))
    return Compared(f"an element of {path}", _described(part.parts), value, is_so(part, value, words))


def _described(part: Any) -> Value:
    """Return what is told of a value as messages show it."""
    if isinstance(part, Size):
        return f"so many: {part.count}"
    if isinstance(part, Has):
        return f"with {format_value(_described(part.parts))}"
    if isinstance(part, dict) and not is_tagged(part):
        return as_fcn({name: _described(each) for name, each in part.items()})
    return part if isinstance(part, str | int) else str(part)


def _equal(part: Any, value: Value, words: Words) -> bool:
    try:
        return eq(to_value(part, words), value)
    except (ValueError, TlaTypeError):
        return False


def _compared(path: str, part: Any, expected: Value, words: Words) -> Compared:
    try:
        observed = to_value(part, words)
        return Compared(path, observed, expected, eq(observed, expected))
    except (ValueError, TlaTypeError) as error:
        raise ObservationError(path, str(error)) from error


# ---- Equal at a glance ----


def is_plainly(part: Any, value: Value, words: Words) -> bool:
    """Tell whether a JSON value equals the spec's at a glance, without being decoded; a False only says: look closer.

    Its keys and words stand for what they do outside of ITF's tags.
    """
    return _is_plainly(part, value, words.meanings)


def _is_plainly(part: Any, value: Value, words: Meanings) -> bool:
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


def _is_null(part: Any, value: Value, words: Meanings) -> bool:
    return part is None and words.null is not None and type(value) is type(words.null) and bool(value == words.null)


def _is_tagged_plainly(tag: str, body: Any, value: Value, words: Meanings) -> bool:
    if type(body) is not list:
        return False
    if tag == "#set":
        return type(value) is frozenset and len(body) == len(value) and _are_elements(body, value, words)
    return tag == "#map" and _are_pairs(body, value, words)


def _are_pairs(pairs: list[Any], value: Value, words: Meanings) -> bool:
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


def _count_of(pairs: list[Any], table: Mapping[Value, Value], words: Meanings) -> int | None:
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


def _are_elements(body: list[Any], value: Collection[Value], words: Meanings) -> bool:
    """Tell whether as many JSON values as a set has elements are those, each one of them."""
    kinds = set(map(type, body))
    if kinds <= {str}:
        return frozenset(map(words.values.get, body, body)) == value
    if kinds == {int}:
        return set(map(type, value)) == {int} and frozenset(body) == value
    if len(body) > _FEW_ELEMENTS:
        return False
    found = [next(filter(partial(_is_plainly, one, words=words), value), _ABSENT) for one in body]
    return _ABSENT not in found and len(set(map(id, found))) == len(body)
