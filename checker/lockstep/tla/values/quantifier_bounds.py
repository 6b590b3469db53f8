"""What a quantifier's variables range over: listing a set, and testing arguments given from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from lockstep.tla.values.equality import ordered, stored
from lockstep.tla.values.kinds import (
    ArgumentError,
    Fcn,
    ForeignWordError,
    ModelValue,
    TlaError,
    TlaTypeError,
    Value,
    format_value,
    wrong,
)
from lockstep.tla.values.lazy_set_algebra import Filtered, Unsorted
from lockstep.tla.values.lazy_sets import LazySet, is_set, member
from lockstep.tla.values.number_operators import interval, within

__all__ = ["given", "given_within", "listed", "own", "told", "told_tuples", "tuples", "untuple"]


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


class UntoldError(TlaError):
    """A set has no end, and nothing is told of which element is meant."""


@dataclass(frozen=True, slots=True)
class Exactly:
    """A parameter of which the value is told."""

    name: str
    value: Value

    def among(self, container: Value) -> Iterable[Value]:
        """Answer the value, if it is in the set that a quantifier binds the parameter to.

        Raises:
            ArgumentError: if it cannot be compared with the elements.
        """
        if type(container) is range:
            fits = given_within(self.name, self.value, container.start, container.stop - 1)
        else:
            fits = given(self.name, self.value, container)
        return (self.value,) if fits else ()


@dataclass(frozen=True, slots=True)
class Matching:
    """A parameter of which a part is told, or nothing: a test tells the values that have it."""

    name: str
    test: Callable[[Value], bool] | None = None

    def among(self, container: Value) -> Iterable[Value]:
        """List the elements of the set that a quantifier binds the parameter to, as far as they pass the test.

        Raises:
            UntoldError: if that set is Nat, Int, STRING or another that has no end.
        """
        if isinstance(container, LazySet) and not container.finite:
            raise UntoldError(f"{self.name} is not told, and {container.name} has no end")
        found = container if type(container) is range else elements(container)
        return found if self.test is None else filter(self.test, found)


#: What is told of a parameter; None: nothing, and of a set without end one element stands for all.
Told: TypeAlias = Exactly | Matching | None


def told(container: Value, what: Told) -> Iterable[Value]:
    """List the elements of a set that go with what is told of a parameter.

    Raises:
        UntoldError: if nothing is told, the set has no end, and no element of it stands for all.
    """
    if what is not None:
        return what.among(container)
    if isinstance(container, LazySet) and container.sample is not None:
        return (container.sample,)
    if isinstance(container, LazySet) and not container.finite:
        raise UntoldError(f"{container.name} is infinite and cannot be listed")
    return container if type(container) is range else elements(container)


def told_tuples(container: Value, what: tuple[Told, ...]) -> Iterator[tuple[Value, ...]]:
    """List the tuples of a set whose components go with what is told of each, for ``<<x, y>> \\in S``."""
    for row in tuples(elements(container), len(what)):
        if all(
            each is None or any(True for _ in each.among(frozenset((value,))))
            for each, value in zip(what, row, strict=True)
        ):
            yield row


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
        ArgumentError: if it cannot be compared with the elements, or is a string where all are model values; any other
            error is one of the specification.
    """
    if isinstance(container, Filtered):  # The base decides the kind; the test is the specification's.
        return given(name, value, container.base) and container.test(value)
    if not is_set(container):
        raise wrong("\\in", "a set on its right", container)
    try:
        held = member(value, container)
    except TlaTypeError as error:
        raise ArgumentError(name, str(error)) from error
    if not held and type(value) is str and type(container) is frozenset and _are_model_values(container):
        known = ", ".join(sorted(map(format_value, container)))
        raise ForeignWordError(name, f"{format_value(value)} is none of the model values {known}")
    return held


def own(value: Value, container: Value) -> Value:
    """Answer, of an element of a set that was given from outside, the equal one that is in the set.

    A message is read from a trace, and what it carries then stands in logs; what a specification has made itself is
    compared with itself in no time.
    """
    if type(value) is Fcn and type(container) is frozenset:
        found = stored(container, value)
        return value if found is None else found[0]
    return value


def _are_model_values(container: frozenset[Value]) -> bool:
    return bool(container) and all(type(value) is ModelValue for value in container)


def given_within(name: str, value: Value, a: Value, b: Value) -> bool:
    """Decide the same where the quantifier's set is ``a..b``."""
    if type(value) is int:
        return within(value, a, b)
    return given(name, value, interval(a, b))
