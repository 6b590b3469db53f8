"""The sets of quantifiers: their elements, and tests of arguments that are given from outside."""

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

__all__ = ["given", "given_within", "listed", "matching", "matching_tuples", "own", "tuples", "untuple"]


def elements(container: Value) -> Iterable[Value]:
    """List a set in its deterministic order; raises TlaError if it cannot be listed, even if no element is wanted."""
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


class UnknownArgumentError(TlaError):
    """Nothing is known of an argument from an infinite set."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A parameter whose value is known."""

    name: str
    value: Value

    def among(self, container: Value) -> Iterable[Value]:
        """Return the value, if it is in the set that a quantifier binds the parameter to.

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
    """A parameter whose values pass a test, or may be any."""

    name: str
    test: Callable[[Value], bool] | None = None

    def among(self, container: Value) -> Iterable[Value]:
        """List the elements of the set that a quantifier binds the parameter to, as far as they pass the test.

        Raises:
            UnknownArgumentError: if that set is infinite.
        """
        if isinstance(container, LazySet) and not container.finite:
            raise UnknownArgumentError(f"{self.name} is not given, and {container.name} is infinite")
        found = container if type(container) is range else elements(container)
        return found if self.test is None else filter(self.test, found)


#: Knowledge of an argument; None: nothing is known, and one element stands for all of an infinite set.
Hint: TypeAlias = KnownValue | Matching | None


def matching(container: Value, hint: Hint) -> Iterable[Value]:
    """List the elements of a set that an argument may be.

    Raises:
        UnknownArgumentError: if nothing is known, the set is infinite, and no element of it stands for all.
    """
    if hint is not None:
        return hint.among(container)
    if isinstance(container, LazySet) and container.sample is not None:
        return (container.sample,)
    if isinstance(container, LazySet) and not container.finite:
        raise UnknownArgumentError(f"{container.name} is infinite and cannot be listed")
    return container if type(container) is range else elements(container)


def matching_tuples(container: Value, hints: tuple[Hint, ...]) -> Iterator[tuple[Value, ...]]:
    """List the tuples of a set whose components may be the arguments, for ``<<x, y>> \\in S``."""
    for row in tuples(elements(container), len(hints)):
        pairs = zip(hints, row, strict=True)
        if all(hint is None or any(True for _ in hint.among(frozenset((value,)))) for hint, value in pairs):
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
    """Return the element of a set that equals one given from outside.

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
