"""The module TLC, but for its functions and sequences."""

from __future__ import annotations

import itertools
import sys

from lockstep.tla.values.kinds import TlaAssertionError, Value, as_fcn, format_value
from lockstep.tla.values.operators.bounds import elements
from lockstep.tla.values.operators.logic import boolean

__all__ = ["permutations", "tlc_assert", "tlc_print", "tlc_print_t", "to_string"]


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
    keys = list(elements(container))
    return frozenset([as_fcn(dict(zip(keys, row, strict=True))) for row in itertools.permutations(keys)])


def tlc_print(value: Value, result: Value) -> Value:
    """Evaluate ``Print(value, result)``: the value goes to standard error."""
    print(format_value(value), file=sys.stderr)
    return result


def tlc_print_t(value: Value) -> bool:
    """Evaluate ``PrintT(value)``."""
    print(format_value(value), file=sys.stderr)
    return True


def to_string(value: Value) -> str:
    """Compute ``ToString(value)``."""
    return format_value(value)
