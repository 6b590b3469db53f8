"""Values as JSON in the encoding of the Informal Trace Format (ITF)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lockstep.tla.values import Fcn, ModelValue, Value, as_fcn, build_set, sort_key

__all__ = ["from_itf", "to_itf"]

_SAFE = 2**53


def to_itf(value: Value) -> Any:
    """Encode a value as a tree that ``json`` can write.

    Sets become ``{"#set": [...]}``, records objects, other functions ``{"#map": [[key, value], ...]}``, sequences
    arrays, integers beyond 2**53 ``{"#bigint": "..."}``, model values their names.

    Args:
        value: any finite TLA+ value.

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


def from_itf(tree: Any, model_values: Iterable[str] = ()) -> Value:
    """Decode a value from its ITF tree.

    Args:
        tree: what ``json`` read.
        model_values: the strings to be read as model values.

    Returns:
        The value.

    Raises:
        ValueError: if the tree is not ITF.
    """
    names = model_values if isinstance(model_values, frozenset) else frozenset(model_values)
    if isinstance(tree, str):
        return ModelValue(tree) if tree in names else tree
    if isinstance(tree, (bool, int)):
        return tree
    if isinstance(tree, list):
        return tuple([from_itf(item, names) for item in tree])
    if isinstance(tree, dict):
        return _from_object(tree, names)
    raise ValueError(f"not an ITF value: {tree!r}")


def _from_object(tree: dict[str, Any], names: frozenset[str]) -> Value:
    if len(tree) == 1:
        ((tag, body),) = tree.items()
        if tag == "#set":
            return build_set([from_itf(item, names) for item in body])
        if tag == "#tup":
            return tuple([from_itf(item, names) for item in body])
        if tag == "#bigint":
            return int(body)
        if tag == "#map":
            return as_fcn({from_itf(key, names): from_itf(item, names) for key, item in body})
    for name in tree:
        if name.startswith("#"):
            raise ValueError(f"unknown ITF tag {name!r}")
    return as_fcn({name: from_itf(item, names) for name, item in tree.items()})
