"""What nodes show, compared with what was shown before: what neither the trace nor the spec has changed, only once.

A node shows its log after every event, and few events change it; those that do add an entry. Where the trace says of a
field what it said the last time, and the spec's value is the same object, the answer is the same. Where both say what
they said and something more at the end, only that is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any, NamedTuple

import msgspec

from lockstep.conformance.comparison import are_some, by_key, equal_count, has_plain_keys, is_plainly
from lockstep.conformance.json_values import WORDS, Words
from lockstep.tla.values.growing import GrowingSeq
from lockstep.tla.values.kinds import Fcn, Value
from lockstep.tla.values.remembered.growth import added_to

_ABSENT: Any = object()
_WITH_PARTS = (dict, list)
_SEQUENCES = (tuple, GrowingSeq)

#: A text of so many bytes is worth the question whether it is a shorter one with more at its end.
_LONG = 256


class _Said(NamedTuple):
    """What was said of a field: the spec's value, the trace's as text, and how many values were compared."""

    value: Value
    text: bytes
    counted: int


class Remembering:
    """Compares what nodes show after one event after the other."""

    def __init__(self, words: Words = WORDS) -> None:
        """Remember nothing yet."""
        self._words = words
        self._last: dict[tuple[str, ...], _Said] = {}

    def equal_count(self, node: str, shown: Mapping[str, Any], expected: Value) -> int | None:
        """Return what equal_count does; `node` is who shows it, and what it shows is JSON."""
        return self._of_record((node,), shown, expected)

    def _of_record(self, place: tuple[str, ...], shown: Mapping[str, Any], expected: Value) -> int | None:
        table = expected.d if type(expected) is Fcn else {}
        rest, count = {}, 0
        for key, part in shown.items():
            value = table.get(key, _ABSENT)
            if value is _ABSENT or type(part) not in _WITH_PARTS:
                rest[key] = part
                continue
            text, last = msgspec.json.encode(part), self._last.get((*place, key))
            if last is None or last.value is not value or last.text != text:
                found = self._of_part(last, (*place, key), part, text, expected)
                if found is None:
                    return None
                last = self._last[*place, key] = _Said(value, text, found)
            count += last.counted
        others = equal_count(rest, expected, self._words)
        return None if others is None else count + others

    def _of_part(self, last: _Said | None, here: tuple[str, ...], part: Any, text: bytes, expected: Fcn) -> int | None:
        value = expected.d[here[-1]]
        if len(text) >= _LONG:
            if last is not None and _has_grown(last, part, text, value, self._words):
                return last.counted
            if type(value) is Fcn and by_key(part, value):
                return self._of_record(here, part, value)
        return equal_count({here[-1]: part}, expected, self._words)


def _has_grown(last: _Said, part: Any, text: bytes, value: Value, words: Words) -> bool:
    """Tell whether both say what they said, and the same more at the end; it is one value, compared as a whole."""
    if type(part) is list:
        return _is_longer(last.text[:-1], text) and _more_elements(last.value, part, value, words)
    pairs = part.get("#map") if len(part) == 1 else None
    return type(pairs) is list and _is_longer(last.text[:-2], text) and _more_pairs(last.value, pairs, value, words)


def _is_longer(begin: bytes, text: bytes) -> bool:
    """Tell whether a text goes on where another ends that has no closing brackets: with one more element."""
    return text.startswith(begin) and text[len(begin) : len(begin) + 1] == b","


def _more_elements(old: Value, part: list[Any], value: Value, words: Words) -> bool:
    if type(old) not in _SEQUENCES or type(value) not in _SEQUENCES or not len(old) < len(value) == len(part):
        return False
    if added_to(old, value) is None and not all(map(is_, old, value)):
        return False
    return all(map(is_plainly, part[len(old) :], value[len(old) :], [words] * (len(part) - len(old))))


def _more_pairs(old: Value, pairs: list[Any], value: Value, words: Words) -> bool:
    before, after = _table_of(old), _table_of(value)
    if before is None or after is None or not len(before) < len(after) == len(pairs):
        return False
    if not all(map(is_, before.values(), map(after.get, before))):
        return False
    more = {key: part for key, part in after.items() if key not in before}
    return are_some(pairs[len(before) :], more, words) == len(more) == len(pairs) - len(before)


def _table_of(value: Value) -> Mapping[Value, Value] | None:
    """Return the table of a function or sequence, if each of its keys is like no other to Python."""
    if type(value) in _SEQUENCES:
        return dict(enumerate(value, 1))
    return value.d if type(value) is Fcn and has_plain_keys(value.d) else None
