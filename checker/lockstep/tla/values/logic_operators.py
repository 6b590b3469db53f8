"""Logic: formulas, equality, CASE, and values computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from lockstep.tla.values.equality import eq
from lockstep.tla.values.kinds import TlaError, Value, wrong

__all__ = ["BOOLEAN", "Lazy", "boolean", "ne", "no_case"]

BOOLEAN = frozenset({True, False})


class Lazy:
    """A value computed at its first use, and then stored: a LET definition, or an argument that may go unused."""

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._value: Value = None

    @property
    def is_computed(self) -> bool:
        """Whether the value is there already."""
        return self._compute is None

    def __call__(self) -> Value:
        """Return the value, computing it the first time."""
        compute = self._compute
        if compute is not None:
            self._value = compute()
            self._compute = None
        return self._value


def boolean(value: Value) -> bool:
    """Return a value that must be TRUE or FALSE."""
    if value is True or value is False:
        return bool(value)
    raise wrong("a formula", "TRUE or FALSE", value)


def no_case(place: str) -> NoReturn:
    """Raise the error of a CASE without a true guard."""
    raise TlaError(f"no case applies at {place}")


def ne(left: Value, right: Value) -> bool:
    """Decide ``left # right``."""
    return not eq(left, right)
