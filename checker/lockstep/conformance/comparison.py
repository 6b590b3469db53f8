"""Comparison of what nodes show with the spec's values.

An object is compared key by key, so that a part of a record or function may be shown; an array, and an object with an
ITF tag, is compared whole. JSON has strings for keys alone: the key "7" is the integer 7 where that is in the domain of
the spec's function, which may be a sequence.

Equality is decided in two steps. At a glance JSON is held against the spec's value as it is, since decoding each record
of a log takes longer than comparing it; what is equal so is equal to what the JSON decodes to. Only if it is not is it
decoded. `ComparisonCache` leaves out what neither the trace nor the spec has changed since the last event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any, NamedTuple

import msgspec

from lockstep.base.spelling import did_you_mean
from lockstep.conformance.json_values import WORDS, Meanings, Words, integer_of, is_tagged, to_value
from lockstep.tla.values.equality import eq
from lockstep.tla.values.growing_functions import GrowingFcn
from lockstep.tla.values.growing_values import GrowingSeq, GrowingSet
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaTypeError, Value, as_fcn, format_value
from lockstep.tla.values.remembered_values import added_to

#: Names are listed in a message only if they are no more than this.
MAX_LISTED_NAMES = 20

#: A set of more elements that are neither words nor numbers is decoded before it is compared.
MAX_SEARCHED_ELEMENTS = 16

#: Shorter JSON is compared anew, in bytes; longer one may be what was compared last, with more at the end.
MIN_GROWING_BYTES = 256

#: Stands for the value of a key that the spec's function does not have.
_ABSENT: Any = object()

#: Types of keys that Python never takes one for the other: a boolean it may take for an integer.
_PLAIN_KEYS = {int, str, ModelValue}

_SEQUENCES = (tuple, GrowingSeq)


@dataclass(frozen=True, slots=True)
class PartialElement:
    """An element of a set, a sequence or a bag, with the parts of it that are known."""

    parts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ElementCount:
    """The number of elements of a set or a sequence, or of arguments of a function."""

    count: int


@dataclass(frozen=True, slots=True)
class ShownValue:
    """One value that is shown beside the spec's, and whether they are equal; `path` names the field."""

    path: str
    observed: Value
    expected: Value
    equal: bool

    def __str__(self) -> str:
        observed, expected = format_value(self.observed), format_value(self.expected)
        return f"{self.path}: the trace shows {observed}, the spec says {expected}"


class Comparison(NamedTuple):
    """The number of values that were compared, and those that differ."""

    value_count: int
    differences: list[ShownValue]


class ObservationError(ValueError):
    """A shown field that cannot be compared: the spec has no such field, or its value is none or of another kind."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"field `shows.{path}`: {problem}")


def spelling_hint(name: str, names: Iterable[str]) -> str:
    """Return a hint at the name that was meant, if one is like it; all of them where there are few."""
    known = sorted(names)
    near = did_you_mean(name, known, max_words=3)
    if near:
        return near.replace(";", ":", 1)
    return f": it has {', '.join(known)}" if len(known) <= MAX_LISTED_NAMES else ""


def compare(shown: Mapping[str, Any], expected: Value, words: Words = WORDS) -> list[ShownValue]:
    """Return every value that is shown beside the spec's, in the order of the trace.

    Raises ObservationError where `shown` has a key that the spec's value has not, or what cannot be compared.
    """
    found: list[ShownValue] = []
    _walk(shown, expected, words, found)
    return found


def equal_count(shown: Mapping[str, Any], expected: Value, words: Words = WORDS) -> int | None:
    """Return how many values are shown, if all are equal to the spec's; None at the first that is not, or cannot be.

    Where it is not None, `compare` returns as many values, all equal.
    """
    return _walk(shown, expected, words, None)


def _walk(
    shown: Mapping[str, Any], expected: Value, words: Words, found: list[ShownValue] | None, path: str = ""
) -> int | None:
    """Count the values that are shown; with `found` list them all, without it return None at the first that differs."""
    table = expected.d if type(expected) is Fcn else {}
    strings, count = words.strings, 0
    for key, part in shown.items():
        value = table.get(strings.get(key, key) if strings else key, _ABSENT)
        if value is _ABSENT:
            value = _at(expected, key, words)
        kind = type(part)
        if kind is dict and _is_by_key(part, value):
            within = _walk(part, value, words, found, f"{path}{key}." if found is not None else "")
            if within is None:
                return None
            count += within
            continue
        if found is not None:
            found.append(_shown_value(f"{path}{key}", key, part, value, expected, words))
        elif kind is int or kind is bool:
            if type(value) is not kind or part != value:
                return None
        elif kind is str:
            if (strings.get(part, part) if strings else part) != value:
                return None
        elif kind is PartialElement or kind is ElementCount:
            if not is_true_inside(part, value, words):
                return None
        elif value is _ABSENT or not (_equals_at_a_glance(part, value, words.meanings) or _equals(part, value, words)):
            return None
        count += 1
    return count


def _at(function: Value, key: str, words: Words) -> Value:
    """Return the value of a function at what a key stands for; _ABSENT where that is not in its domain."""
    number = integer_of(key)
    if isinstance(function, Fcn):
        found = function.d.get(words.strings.get(key, key), _ABSENT)
        if found is not _ABSENT or number is None:
            return found
        is_boolean = number in (0, 1) and any(type(each) is bool for each in function.d)  # to Python FALSE and TRUE
        return _ABSENT if is_boolean else function.d.get(number, _ABSENT)
    if isinstance(function, _SEQUENCES) and number is not None and 1 <= number <= len(function):
        return function[number - 1]
    if isinstance(function, GrowingFcn) and number is not None and function.low <= number <= function.high:
        return function.apply(number)
    return _ABSENT


def _is_by_key(part: Mapping[str, Any], value: Value) -> bool:
    """Return whether an object is compared key by key: with a function, or a sequence if integers are its keys."""
    if is_tagged(part):
        return False
    is_by_index = isinstance(value, _SEQUENCES) and bool(part) and all(integer_of(key) is not None for key in part)
    return is_by_index or isinstance(value, Fcn | GrowingFcn)


def _shown_value(path: str, key: str, part: Any, value: Value, expected: Value, words: Words) -> ShownValue:
    if value is _ABSENT:
        hint = spelling_hint(key, map(str, expected.d)) if isinstance(expected, Fcn) else ""
        raise ObservationError(path, f"the spec shows no such field{hint}")
    if isinstance(part, PartialElement | ElementCount):
        return _shown_inside(path, part, value, words)
    try:
        observed = to_value(part, words)
        return ShownValue(path, observed, value, eq(observed, value))
    except (ValueError, TlaTypeError) as error:
        raise ObservationError(path, str(error)) from error


def _equals(part: Any, value: Value, words: Words) -> bool:
    try:
        return eq(to_value(part, words), value)
    except (ValueError, TlaTypeError):
        return False


# ---- The inside of a value ----


def is_true_inside(part: PartialElement | ElementCount, value: Value, words: Words) -> bool:
    """Return whether a value has an element with some parts, or its size."""
    elements = _elements(value)
    if elements is None:
        return False
    if isinstance(part, ElementCount):
        return len(list(elements)) == part.count
    return any(equal_count(part.parts, each, words) is not None for each in elements)


def _elements(value: Value) -> Iterable[Value] | None:
    """Return the elements of a set or sequence, or the arguments of a function, which are the elements of a bag."""
    if isinstance(value, frozenset | GrowingSet | tuple | GrowingSeq):
        return value
    value = value.force() if isinstance(value, GrowingFcn) else value
    return value.d.keys() if isinstance(value, Fcn) else None


def _shown_inside(path: str, part: PartialElement | ElementCount, value: Value, words: Words) -> ShownValue:
    elements = _elements(value)
    if elements is None:
        raise ObservationError(path, f"{format_value(value)} is no set, sequence or function")
    is_true = is_true_inside(part, value, words)
    if isinstance(part, ElementCount):
        return ShownValue(f"size of {path}", part.count, len(list(elements)), is_true)
    return ShownValue(f"an element of {path}", _described(part.parts), value, is_true)


def _described(part: Any) -> Value:
    """Return what is known of a value as messages show it."""
    if isinstance(part, ElementCount):
        return f"of size {part.count}"
    if isinstance(part, PartialElement):
        return f"with {format_value(_described(part.parts))}"
    if isinstance(part, dict) and not is_tagged(part):
        return as_fcn({name: _described(each) for name, each in part.items()})
    return part if isinstance(part, str | int) else str(part)


# ---- Equality at a glance: where it is False the values may be equal all the same ----


def _equals_at_a_glance(part: Any, value: Value, words: Meanings) -> bool:
    kind = type(part)
    if kind is str:
        return bool(words.values.get(part, part) == value)
    if kind is int or kind is bool:
        return type(value) is kind and bool(part == value)
    if kind is list:
        if type(value) is not tuple or len(part) != len(value):
            return False
        return all(_equals_at_a_glance(one, other, words) for one, other in zip(part, value, strict=True))
    if kind is not dict:
        is_null = part is None and words.null is not None
        return is_null and type(value) is type(words.null) and bool(value == words.null)
    if len(part) == 1 and (tag := next(iter(part)))[:1] == "#":
        return _equals_tagged(tag, part[tag], value, words.tagged or words)
    if type(value) is not Fcn or len(part) != len(value.d):
        return False
    table, keys = value.d, words.keys
    for key, one in part.items():
        other = table.get(keys.get(key, key) if keys else key, _ABSENT)
        if other is _ABSENT or key[:1] == "#" or not _equals_at_a_glance(one, other, words):
            return False
    return True


def _equals_tagged(tag: str, body: Any, value: Value, words: Meanings) -> bool:
    if type(body) is not list:
        return False
    if tag == "#set":
        return type(value) is frozenset and len(body) == len(value) and _equals_set(body, value, words)
    table = _plain_table(value) if tag == "#map" else None
    return table is not None and len(body) == len(table) and _known_pairs(body, table, words) == len(table)


def _equals_set(body: list[Any], value: Collection[Value], words: Meanings) -> bool:
    """Return whether as many JSON values as a set has elements are those, each one of them."""
    kinds = set(map(type, body))
    if kinds <= {str}:
        return frozenset(map(words.values.get, body, body)) == value
    if kinds == {int}:
        return set(map(type, value)) == {int} and frozenset(body) == value
    if len(body) > MAX_SEARCHED_ELEMENTS:
        return False
    found = [next(filter(partial(_equals_at_a_glance, one, words=words), value), _ABSENT) for one in body]
    return _ABSENT not in found and len(set(map(id, found))) == len(body)


def _plain_table(value: Value) -> Mapping[Value, Value] | None:
    """Return the table of a function or sequence, if Python finds a key in it exactly where TLA+ does."""
    if type(value) in _SEQUENCES:
        return dict(enumerate(value, 1))
    value = value.force() if isinstance(value, GrowingFcn) else value
    return value.d if type(value) is Fcn and set(map(type, value.d)) <= _PLAIN_KEYS else None


def _known_pairs(pairs: list[Any], table: Mapping[Value, Value], words: Meanings) -> int | None:
    """Count the keys of a table that pairs of a `#map` have; None where a pair does not equal one of the table."""
    found = set()
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in (int, str):
            return None
        key = words.values.get(pair[0], pair[0]) if type(pair[0]) is str else pair[0]
        other = table.get(key, _ABSENT)
        if other is _ABSENT or not _equals_at_a_glance(pair[1], other, words):
            return None
        found.add(key)
    return len(found)


# ---- What neither the trace nor the spec has changed ----


class _Compared(NamedTuple):
    """A field that was found equal: the spec's value, the trace's as text, and how many values were compared."""

    value: Value
    text: bytes
    value_count: int


class ComparisonCache:
    """Comparison of what nodes show, event by event, with what was found equal before.

    A node shows its log after every event, and few events change it; those that do add an entry. Where the trace shows
    what it showed the last time, and the spec's value is the same object, the answer is the same. Where both have
    something more at the end, only that is compared.
    """

    def __init__(self, words: Words = WORDS) -> None:
        self._words = words
        self._last: dict[tuple[str, ...], _Compared] = {}

    def compare(self, node: str, shown: Mapping[str, Any], expected: Value) -> Comparison:
        """Compare what a node shows with the spec's value; raises ObservationError as `compare` does."""
        count = self.equal_count(node, shown, expected)
        if count is not None:
            return Comparison(count, [])
        compared = compare(shown, expected, self._words)
        return Comparison(len(compared), [each for each in compared if not each.equal])

    def equal_count(self, node: str, shown: Mapping[str, Any], expected: Value) -> int | None:
        """Return what `equal_count` returns; what `node` shows is JSON."""
        return self._count_record((node,), shown, expected)

    def _count_record(self, place: tuple[str, ...], shown: Mapping[str, Any], expected: Value) -> int | None:
        table = expected.d if type(expected) is Fcn else {}
        rest, count = {}, 0
        for key, part in shown.items():
            value = table.get(key, _ABSENT)
            if value is _ABSENT or type(part) not in (dict, list):
                rest[key] = part
                continue
            text, last = msgspec.json.encode(part), self._last.get((*place, key))
            if last is None or last.value is not value or last.text != text:
                found = self._count_part(last, (*place, key), part, text, expected)
                if found is None:
                    return None
                last = self._last[*place, key] = _Compared(value, text, found)
            count += last.value_count
        others = equal_count(rest, expected, self._words)
        return None if others is None else count + others

    def _count_part(
        self, last: _Compared | None, here: tuple[str, ...], part: Any, text: bytes, expected: Fcn
    ) -> int | None:
        value = expected.d[here[-1]]
        if len(text) >= MIN_GROWING_BYTES:
            if last is not None and _has_grown(last, part, text, value, self._words.meanings):
                return last.value_count
            if type(value) is Fcn and type(part) is dict and _is_by_key(part, value):
                return self._count_record(here, part, value)
        return equal_count({here[-1]: part}, expected, self._words)


def _has_grown(last: _Compared, part: Any, text: bytes, value: Value, words: Meanings) -> bool:
    """Return whether trace and spec have what they had, and the same more at the end; it counts as one value."""
    if type(part) is list:
        return _continues(last.text[:-1], text) and _have_more_elements(last.value, part, value, words)
    pairs = part.get("#map") if len(part) == 1 else None
    return (
        type(pairs) is list and _continues(last.text[:-2], text) and _have_more_pairs(last.value, pairs, value, words)
    )


def _continues(begin: bytes, text: bytes) -> bool:
    """Return whether a text goes on where another ends that has no closing brackets: with one more element."""
    return text.startswith(begin) and text[len(begin) : len(begin) + 1] == b","


def _have_more_elements(old: Value, part: list[Any], value: Value, words: Meanings) -> bool:
    if type(old) not in _SEQUENCES or type(value) not in _SEQUENCES or not len(old) < len(value) == len(part):
        return False
    if added_to(old, value) is None and not all(map(is_, old, value)):
        return False
    return all(_equals_at_a_glance(*pair, words) for pair in zip(part[len(old) :], value[len(old) :], strict=True))


def _have_more_pairs(old: Value, pairs: list[Any], value: Value, words: Meanings) -> bool:
    before, after = _plain_table(old), _plain_table(value)
    if before is None or after is None or not len(before) < len(after) == len(pairs):
        return False
    if not all(map(is_, before.values(), map(after.get, before))):
        return False
    more = {key: part for key, part in after.items() if key not in before}
    return _known_pairs(pairs[len(before) :], more, words.tagged or words) == len(more) == len(pairs) - len(before)
