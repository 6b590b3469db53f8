"""Values as JSON and JSON as values: what the Java of the community's module Json computes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, as_fcn, format_value, wrong

__all__ = ["JsonTexts"]

#: The values that JSON has and TLA+ has not, outside of strings.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<null>null)|(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)')
_MAX_DIGITS = 10


class JsonTexts:
    """Writer of values as JSON, with sets and the fields of records in TLC's order."""

    def __init__(self, elements: Callable[[Value], Iterable[Value]]) -> None:
        self._elements = elements

    def to_json(self, value: Value) -> str:
        """Compute ``ToJson(value)``: a function whose domain is not ``1..n`` is an object, a set is an array."""
        return _text(self._plain(frozen(value)))

    def to_json_array(self, value: Value) -> str:
        """Compute ``ToJsonArray(value)`` of a sequence or set; any function but a record will do, as an object."""
        whole = frozen(value)
        is_record = type(whole) is Fcn and all(type(key) is str for key in whole.d)
        if is_record or type(whole) not in (tuple, frozenset, Fcn):
            raise wrong("ToJsonArray", "a sequence, a set or a function", whole)
        return _text(self._plain(whole))

    def to_json_object(self, value: Value) -> str:
        """Compute ``ToJsonObject(value)``: of a sequence the keys are 0, 1, and so on."""
        whole = frozen(value)
        if type(whole) is tuple:
            return _text({str(index): self._plain(each) for index, each in enumerate(whole)})
        if type(whole) is not Fcn:
            raise wrong("ToJsonObject", "a function", whole)
        return _text(self._plain(whole))

    def _plain(self, value: Value) -> Any:
        """Return a value in the form that Python's JSON takes."""
        kind = type(value)
        if kind in (bool, int, str):
            return value
        if kind is ModelValue:
            return value.name
        if kind is tuple:
            return [self._plain(each) for each in value]
        if kind is frozenset:
            return [self._plain(each) for each in self._elements(value)]
        if kind is Fcn:
            keys = self._elements(frozenset(value.d))
            return {key if type(key) is str else format_value(key): self._plain(value.d[key]) for key in keys}
        raise wrong("ToJson", "a finite value", value)


def _text(plain: Any) -> str:
    written = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return written.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")  # as Java's library has it


def value_of_json(text: str, source: str, line: int = 1) -> Value:
    """Return the value that a text in JSON stands for: objects are records, arrays are sequences.

    Args:
        source: the file that it is of, for errors.
        line: the line of the file at which it begins.

    Raises:
        TlaError: if it is no JSON, or says what TLA+ has not: null, a fraction, a number of more than 32 bits. The
            message names file and line.
    """
    try:
        read = json.loads(text, object_pairs_hook=_record)
    except json.JSONDecodeError as error:
        raise TlaError(f"{source}:{line + error.lineno - 1}: not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise TlaError(f"{source}:{line}: nested too deep") from None
    for token in _TOKEN.finditer(text):
        problem = _problem(token)
        if problem:
            raise TlaError(f"{source}:{line + text.count(chr(10), 0, token.start())}: {problem}")
    return _value(read)


def _problem(token: re.Match[str]) -> str:
    """Return the part that TLA+ has no value for; "" where there is none."""
    if token["null"]:
        return "null is no value of TLA+"
    number = token["number"]
    if number is None:
        return ""
    if not number.lstrip("-").isdigit():
        return f"{number} is no integer"
    is_long = len(number.lstrip("-")) > _MAX_DIGITS or not -(2**31) <= int(number) < 2**31
    return f"{number[:20]} has more than 32 bits" if is_long else ""


def _record(pairs: list[tuple[str, Any]]) -> Fcn:
    return Fcn(dict(pairs))


def _value(read: Any) -> Value:
    """Return what was read as a value: lists as tuples, and the empty record as the empty function."""
    if isinstance(read, Fcn):
        return as_fcn({key: _value(each) for key, each in read.d.items()})
    return tuple(map(_value, read)) if isinstance(read, list) else read
