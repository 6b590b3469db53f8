"""What a quantifier's variables range over: listing a set, and testing arguments given from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lockstep.tla.values.equality import ordered
from lockstep.tla.values.kinds import ArgumentError, TlaTypeError, Value, wrong
from lockstep.tla.values.lazy.algebra import Filtered, Unsorted
from lockstep.tla.values.lazy.sets import LazySet, is_set, member
from lockstep.tla.values.operators.numbers import interval, within

__all__ = ["given", "given_within", "listed", "sampled", "tuples", "untuple"]


def elements(container: Value) -> Iterable[Value]:
    """List a set in its deterministic order.

    Raises:
        TlaError: if it cannot be listed, even if nobody wants an element.
    """
    if type(container) is frozenset:
        return container if len(container) < 2 else ordered(container)
    return listed(container)


def listed(container: Value) -> Iterable[Value]:
    """List a set in any order."""
    if type(container) is frozenset:
        return container
    if isinstance(container, LazySet):
        return container if container.finite and type(container) is not Unsorted else container.force()
    raise wrong("a bound", "a set", container)


def sampled(container: Value) -> Iterable[Value]:
    """List a set in its deterministic order; of Nat, Int and STRING one element stands for all."""
    if isinstance(container, LazySet) and container.sample is not None:
        return (container.sample,)
    return elements(container)


def untuple(value: Value, size: int) -> tuple[Value, ...]:
    """Take a tuple apart for ``<<x, y>> \\in S``."""
    if type(value) is tuple and len(value) == size:
        return value
    raise wrong("a tuple of bound variables", f"a tuple of {size}", value)


def tuples(values: Iterable[Value], size: int) -> Iterator[tuple[Value, ...]]:
    """Take each element of a listed set apart, for ``<<x, y>> \\in S``."""
    for value in values:
        yield untuple(value, size)


def given(name: str, value: Value, container: Value) -> bool:
    """Decide whether the argument ``name`` of a step, given from outside, is an element of its quantifier's set.

    Raises:
        ArgumentError: if it cannot be compared with the elements; any other error is one of the specification.
    """
    if isinstance(container, Filtered):  # The base decides the kind; the test is the specification's.
        return given(name, value, container.base) and container.test(value)
    if not is_set(container):
        raise wrong("\\in", "a set on its right", container)
    try:
        return member(value, container)
    except TlaTypeError as error:
        raise ArgumentError(name, str(error)) from error


def given_within(name: str, value: Value, a: Value, b: Value) -> bool:
    """Decide the same where the quantifier's set is ``a..b``."""
    if type(value) is int:
        return within(value, a, b)
    return given(name, value, interval(a, b))
