"""Observed values beside the spec's: JSON to TLA+ values, and where an observation differs.

null is the spec's NoNode. An object is compared key by key, so that a part of a record or function may be
shown; an array is compared whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.tla.itf import from_itf
from lockstep.tla.text import format_value
from lockstep.tla.values import Fcn, ModelValue, TlaTypeError, Value, as_fcn, eq

NO_NODE = ModelValue("NoNode")


@dataclass(frozen=True, slots=True)
class Difference:
    """One observed field that the spec has otherwise; both values as TLA+ writes them."""

    path: str
    observed: str
    expected: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.path}: the trace shows {self.observed}, the spec says {self.expected}"


class UnknownFieldError(ValueError):
    """An observed field that the spec's Observe does not have."""


def to_value(tree: Any) -> Value:
    """Decode a JSON value of a trace: ITF, and null for NoNode; raises ValueError if it is none."""
    if tree is None:
        return NO_NODE
    if isinstance(tree, list):
        return tuple(to_value(item) for item in tree)
    if isinstance(tree, dict) and not any(name.startswith("#") for name in tree):
        return as_fcn({name: to_value(item) for name, item in tree.items()})
    return from_itf(tree)


def differences(shown: Mapping[str, Any], expected: Value, path: str = "") -> list[Difference]:
    """List the fields of `shown` that differ from the spec's value, in the order of the trace.

    Raises UnknownFieldError where `shown` has a key that the spec's value has not.
    """
    found: list[Difference] = []
    for key, part in shown.items():
        here = f"{path}.{key}" if path else key
        if not isinstance(expected, Fcn) or key not in expected.d:
            raise UnknownFieldError(f"field `shows.{here}`: the spec's Observe has no such field")
        value = expected.d[key]
        if isinstance(part, Mapping) and isinstance(value, Fcn):
            found += differences(part, value, here)
            continue
        observed = to_value(part)
        if not _same(observed, value):
            found.append(Difference(here, format_value(observed), format_value(value)))
    return found


def _same(observed: Value, expected: Value) -> bool:
    """Equal as TLA+ values; what cannot be compared differs."""
    try:
        return eq(observed, expected)
    except TlaTypeError:
        return False
