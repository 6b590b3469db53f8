"""The module TLC, but for its functions and sequences."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lockstep.tla.values.equality import eq
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import (
    ModelValue,
    TlaAssertionError,
    TlaError,
    Value,
    as_fcn,
    forced,
    format_value,
    wrong,
)
from lockstep.tla.values.lazy_set_algebra import Filtered
from lockstep.tla.values.logic_operators import boolean
from lockstep.tla.values.quantifier_bounds import elements

__all__ = [
    "Registers",
    "assert_eq",
    "model_value",
    "permutations",
    "tlc_assert",
    "tlc_print",
    "tlc_print_t",
    "to_string",
]


def tlc_assert(condition: Value, message: Value) -> bool:
    """Evaluate ``Assert(condition, message)``.

    Raises:
        TlaAssertionError: if the condition is false.
    """
    if boolean(condition):
        return True
    raise TlaAssertionError(message if type(message) is str else format_value(message))


def permutations(container: Value) -> Value:
    """Compute ``Permutations(container)``: the bijections of a finite set."""
    keys = list(elements(forced(container)))
    return frozenset([as_fcn(dict(zip(keys, row, strict=True))) for row in itertools.permutations(keys)])


def tlc_print(value: Value, result: Value) -> Value:
    """Evaluate ``Print(value, result)``: the value goes to standard error."""
    print(to_string(value), file=sys.stderr)
    return result


def tlc_print_t(value: Value) -> bool:
    """Evaluate ``PrintT(value)``."""
    print(to_string(value), file=sys.stderr)
    return True


def assert_eq(left: Value, right: Value) -> bool:
    """Evaluate ``AssertEq(left, right)`` of the module TLCExt: whether they are equal; prints both if not."""
    if eq(left, right):
        return True
    for each in ("Assertion failed", left, right):
        tlc_print_t(each)
    return False


def model_value(name: Value) -> Value:
    """Compute ``TLCModelValue(name)`` of the module TLCExt.

    Raises:
        TlaError: if the name is no string.
    """
    if type(name) is not str:
        raise wrong("TLCModelValue", "a string", name)
    return ModelValue(name)


def to_string(value: Value) -> str:
    """Compute ``ToString(value)``."""
    return format_value(_filtered(value))


def _filtered(value: Value) -> Value:
    """Evaluate the tests of filtered sets, which TLC lists to show them."""
    if type(value) is tuple:
        return tuple(map(_filtered, value))
    return value.force() if isinstance(value, Filtered) and value.finite else value


class Registers:
    """What TLCGet and TLCSet speak of: numbered registers, and how far a search with one worker is.

    They belong to a search. Outside one neither has a meaning, and both are errors: a step would depend on what was
    evaluated before it.

    Source: tlc2.module.TLC of TLC 2.15.
    """

    def __init__(self) -> None:
        """Begin outside a search."""
        self._kept: dict[int, Value] = {}
        self._tell: Callable[[str], int] | None = None

    @contextmanager
    def searching(self, tell: Callable[[str], int]) -> Iterator[None]:
        """Open a search, with empty registers; `tell` answers how far it is, by TLC's word for it."""
        before = self._kept, self._tell
        self._kept, self._tell = {}, tell
        try:
            yield
        finally:
            self._kept, self._tell = before

    def get(self, key: Value) -> Value:
        """Evaluate ``TLCGet(key)``.

        Raises:
            TlaError: outside a search; if nothing was set, or the key is none.
        """
        if self._tell is None:
            raise TlaError(f"TLCGet({format_value(key)}) has a value only in a search of all states")
        if type(key) is str:
            try:
                return self._tell(key)
            except KeyError:
                raise TlaError(f"TLCGet({format_value(key)}) is not supported") from None
        if key not in self._kept or type(key) is not int:
            raise TlaError(f"TLCGet({format_value(key)}) is asked for before TLCSet gave it a value")
        return self._kept[key]

    def get_or_default(self, key: Value, default: Value) -> Value:
        """Evaluate ``TLCGetOrDefault(key, default)`` of the module TLCExt: a key that is no number has the default.

        Raises:
            TlaError: outside a search.
        """
        if self._tell is None:
            raise TlaError(f"TLCGetOrDefault({format_value(key)}, ...) has a value only in a search of all states")
        return self._kept.get(key, default) if type(key) is int else default

    def get_and_set(self, key: Value, operator: Callable[[Value, Value], Value], value: Value, default: Value) -> Value:
        """Evaluate ``TLCGetAndSet(key, Op, value, default)`` of the module TLCExt: the old value.

        Raises:
            TlaError: outside a search; if the key is no natural number.
        """
        old = self.get_or_default(key, default)
        self.set(key, operator(old, value))
        return old

    def set(self, key: Value, value: Value) -> bool:
        """Evaluate ``TLCSet(key, value)``.

        Raises:
            TlaError: outside a search; if the key is no natural number.
        """
        if self._tell is None:
            raise TlaError(f"TLCSet({format_value(key)}, ...) has an effect only in a search of all states")
        if type(key) is not int or key < 0:
            raise TlaError(f"TLCSet needs a natural number for its register, but was given {format_value(key)}")
        self._kept[key] = frozen(value)
        return True
