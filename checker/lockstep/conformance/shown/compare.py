"""Observed values beside the spec's: JSON to TLA+ values, and where an observation differs.

What null stands for, and which strings name a constant of the spec, must be agreed on. An object is compared key by
key, so that a part of a record or function may be shown; an array, and an object with an ITF tag, is compared whole.
JSON has strings for keys alone: the key "7" is the integer 7 where that is in the domain of the spec's function, which
may be a sequence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.base.near import did_you_mean
from lockstep.conformance.shown.words import WORDS, Words, is_plainly
from lockstep.tla.values.equality import eq
from lockstep.tla.values.itf_values import from_itf, to_itf
from lockstep.tla.values.kinds import (
    Fcn,
    ModelValue,
    TlaTypeError,
    Value,
    as_fcn,
    format_value,
    sort_key,
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

#: How a key writes an integer; one of more digits is none that a spec computes with.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")

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


def to_value(tree: Any, words: Words = WORDS) -> Value:
    """Decode a JSON value of a trace: ITF, and the words agreed on; raises ValueError if it is none."""
    if tree is None:
        if words.null is None:
            raise ValueError("null stands for nothing here")
        return words.null
    if isinstance(tree, str):
        return words.strings.get(tree, tree)
    if isinstance(tree, list):
        return tuple(to_value(item, words) for item in tree)
    if isinstance(tree, dict) and not is_tagged(tree):
        return as_fcn({words.strings.get(name, name): to_value(item, words) for name, item in tree.items()})
    return from_itf(tree, words.strings, words.null)


def to_tree(value: Value, words: Words = WORDS) -> Any:
    """Encode a value as JSON of a trace, the inverse of to_value."""
    if value == words.null:
        return None
    if isinstance(value, ModelValue):
        return next((name for name, each in words.strings.items() if each == value), value.name)
    if isinstance(value, tuple):
        return [to_tree(part, words) for part in value]
    if isinstance(value, frozenset):
        return {"#set": [to_tree(part, words) for part in sorted(value, key=sort_key)]}
    if isinstance(value, Fcn) and all(isinstance(key, str | ModelValue) for key in value.d):
        return {to_tree(key, words): to_tree(part, words) for key, part in value.d.items()}
    if isinstance(value, Fcn):
        pairs = sorted(value.d.items(), key=lambda item: sort_key(item[0]))
        return {"#map": [[to_tree(key, words), to_tree(part, words)] for key, part in pairs]}
    return to_itf(value)


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


def integer_of(key: str) -> int | None:
    """Return the integer that a key writes, if it writes one."""
    return int(key) if _INTEGER.fullmatch(key) else None


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


def copies(channels: Value) -> Counter[Value]:
    """Count the messages in a node's channels of the spec: a channel is a sequence, or a bag of copies by message."""
    found: Counter[Value] = Counter()
    for channel in channels.d.values() if isinstance(channels, Fcn) else ():  # a node alone has no channels
        found.update(channel.d if isinstance(channel, Fcn) else Counter(channel))
    return found


def is_tagged(tree: Mapping[str, Any]) -> bool:
    """Tell whether an object is a value in ITF, and so compared whole."""
    return any(name[:1] == "#" for name in tree)


def _compared(path: str, part: Any, expected: Value, words: Words) -> Compared:
    try:
        observed = to_value(part, words)
        return Compared(path, observed, expected, eq(observed, expected))
    except (ValueError, TlaTypeError) as error:
        raise ObservationError(path, str(error)) from error
