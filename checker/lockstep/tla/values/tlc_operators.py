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
    """Evaluate ``Assert(condition, message)``; raises TlaAssertionError if the condition is false."""
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
    """Compute ``TLCModelValue(name)`` of the module TLCExt; raises TlaError if the name is no string."""
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
    """The state behind TLCGet and TLCSet: numbered registers, and the counts of a search with one worker.

    They belong to a search. Outside one neither has a meaning, and both are errors: a step would depend on what was
    evaluated before it.

    Source: tlc2.module.TLC of TLC 2.15.
    """

    def __init__(self) -> None:
        self._values: dict[int, Value] = {}
        self._count: Callable[[str], int] | None = None

    @contextmanager
    def searching(self, count: Callable[[str], int]) -> Iterator[None]:
        """Open a search, with empty registers; `count` returns a count of it, by TLC's name."""
        before = self._values, self._count
        self._values, self._count = {}, count
        try:
            yield
        finally:
            self._values, self._count = before

    def _in_search(self, use: str, what: str = "has a value") -> Callable[[str], int]:
        if self._count is None:
            raise TlaError(f"{use} {what} only in a search of all states")
        return self._count

    def get(self, key: Value) -> Value:
        """Evaluate ``TLCGet(key)``; raises TlaError outside a search, or if nothing has the key."""
        use = f"TLCGet({format_value(key)})"
        count = self._in_search(use)
        if type(key) is str:
            try:
                return count(key)
            except KeyError:
                raise TlaError(f"{use} is not supported") from None
        if key not in self._values or type(key) is not int:
            raise TlaError(f"{use} is asked for before TLCSet gave it a value")
        return self._values[key]

    def get_or_default(self, key: Value, default: Value) -> Value:
        """Evaluate ``TLCGetOrDefault(key, default)`` of the module TLCExt: a key that is no number has the default.

        Raises TlaError outside a search.
        """
        self._in_search(f"TLCGetOrDefault({format_value(key)}, ...)")
        return self._values.get(key, default) if type(key) is int else default

    def get_and_set(self, key: Value, operator: Callable[[Value, Value], Value], value: Value, default: Value) -> Value:
        """Evaluate ``TLCGetAndSet(key, Op, value, default)`` of the module TLCExt: the old value.

        Raises TlaError outside a search, or if the key is no natural number.
        """
        old = self.get_or_default(key, default)
        self.set(key, operator(old, value))
        return old

    def set(self, key: Value, value: Value) -> bool:
        """Evaluate ``TLCSet(key, value)``; raises TlaError outside a search, or if the key is no natural number."""
        self._in_search(f"TLCSet({format_value(key)}, ...)", "has an effect")
        if type(key) is not int or key < 0:
            raise TlaError(f"TLCSet needs a natural number for its register, but was given {format_value(key)}")
        self._values[key] = frozen(value)
        return True
