"""Values as JSON in the encoding of the Informal Trace Format (ITF)."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lockstep.tla.values.equality import build_set
from lockstep.tla.values.kinds import (
    Fcn,
    ModelValue,
    TlaTypeError,
    Value,
    as_fcn,
    sort_key,
)

_SAFE = 2**53


def to_itf(value: Value) -> Any:
    """Encode a value as a tree that ``json`` can write.

    Sets become ``{"#set": [...]}``, records objects, other functions ``{"#map": [[key, value], ...]}``, sequences
    arrays, integers above 2**53 ``{"#bigint": "..."}``, model values their names.

    Returns:
        The JSON tree; the same value always gives the same tree.
    """
    kind = type(value)
    if kind is bool or kind is str:
        return value
    if kind is int:
        return value if -_SAFE < value < _SAFE else {"#bigint": str(value)}
    if kind is ModelValue:
        return value.name
    if kind is tuple:
        return [to_itf(element) for element in value]
    if kind is frozenset:
        return {"#set": [to_itf(element) for element in sorted(value, key=sort_key)]}
    if kind is Fcn:
        keys = sorted(value.d, key=sort_key)
        if all(type(key) is str and not key.startswith("#") for key in keys):
            return {key: to_itf(value.d[key]) for key in keys}
        return {"#map": [[to_itf(key), to_itf(value.d[key])] for key in keys]}
    return to_itf(value.force())


def from_itf(tree: Any, model_values: Iterable[str] = (), null: Value | None = None) -> Value:
    """Decode a value from its ITF tree.

    Args:
        tree: what ``json`` read.
        model_values: the strings to be read as model values.
        null: what JSON's null is read as, which ITF has not; None: nothing.

    Returns:
        The value.

    Raises:
        ValueError: if the tree is not ITF: an unknown tag, a body of another form, values in one set that cannot be
            compared, a key twice, or deeper than Python can follow.
    """
    names = model_values if isinstance(model_values, frozenset) else frozenset(model_values)
    try:
        return _ItfReader(names, null).value(tree)
    except TlaTypeError as error:
        raise ValueError(f"not an ITF value: {error}") from error
    except RecursionError as error:
        raise ValueError("not an ITF value: it is nested too deeply") from error


@dataclass(frozen=True, slots=True)
class _ItfReader:
    """Reads trees: `names` are the strings that are model values, `null` is what null is."""

    names: frozenset[str]
    null: Value | None

    def value(self, tree: Any) -> Value:
        if isinstance(tree, str):
            return ModelValue(tree) if tree in self.names else tree
        if isinstance(tree, (bool, int)):
            return tree
        if isinstance(tree, list):
            return tuple([self.value(item) for item in tree])
        if isinstance(tree, dict):
            return self._object(tree)
        if tree is None and self.null is not None:
            return self.null
        raise ValueError(f"not an ITF value: {reprlib.repr(tree)}")

    def _object(self, tree: dict[str, Any]) -> Value:
        if len(tree) == 1:
            ((tag, body),) = tree.items()
            if tag == "#set":
                return build_set([self.value(item) for item in _items(tag, body)])
            if tag == "#tup":
                return tuple([self.value(item) for item in _items(tag, body)])
            if tag == "#bigint":
                return _big_integer(body)
            if tag == "#map":
                return self._map(_items(tag, body))
            if tag == "#unserializable":
                raise ValueError(f"the tool that wrote the ITF file could not write this value: {reprlib.repr(body)}")
        for name in tree:
            if name.startswith("#"):
                raise ValueError(f"unknown ITF tag {reprlib.repr(name)}")
        return as_fcn({name: self.value(item) for name, item in tree.items()})

    def _map(self, pairs: list[Any]) -> Value:
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise ValueError(f"'#map' needs pairs of key and value, not {reprlib.repr(pair)}")
        keys = [self.value(key) for key, _ in pairs]
        if len(build_set(keys)) != len(keys):  # refuses keys that cannot be compared, as 1 and TRUE
            raise ValueError("'#map' has a key twice")
        return as_fcn({key: self.value(item) for key, (_, item) in zip(keys, pairs, strict=True)})


def _items(tag: str, body: Any) -> list[Any]:
    if not isinstance(body, list):
        raise ValueError(f"{tag!r} needs an array, not {reprlib.repr(body)}")
    return body


def _big_integer(body: Any) -> int:
    # int() takes more than ITF has: blanks, underscores, digits of other scripts.
    if not isinstance(body, str) or not re.fullmatch(r"-?[0-9]{1,4000}", body):
        raise ValueError("'#bigint' needs a string of at most 4000 digits")
    return int(body)
