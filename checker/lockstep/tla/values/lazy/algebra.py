"""The algebra of sets that are not listed: ``\\cup``, ``\\cap``, ``\\``, ``UNION``, filters; and sets out of order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from lockstep.tla.values.equality import eq, lookup
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.lazy.kept import frozen
from lockstep.tla.values.lazy.sets import LazySet, is_finite, is_listable, member

__all__ = ["BigUnion", "Difference", "Filtered", "Intersection", "Union2", "Unsorted", "is_eager"]


class Union2(LazySet):
    """``left \\cup right`` where a side is not listed."""

    __slots__ = ("left", "right")
    name = "a union"

    def __init__(self, left: Value, right: Value) -> None:
        """Take both sides."""
        super().__init__()
        self.left, self.right = left, right

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.left) and is_listable(self.right)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return is_finite(self.left) and is_finite(self.right)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.left) or member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return _distinct(itertools.chain(self.order(self.left), self.order(self.right)))


class BigUnion(LazySet):
    """``UNION container`` where the container, or what it holds, is not listed."""

    __slots__ = ("container",)
    name = "a union"

    def __init__(self, container: Value) -> None:
        """Take the set of sets."""
        super().__init__()
        self.container = container

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.container) and all(map(is_listable, self.container))

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return all(map(is_finite, self.order(self.container)))

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return any(member(value, inner) for inner in self.order(self.container))

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return _distinct(element for inner in self.order(self.container) for element in self.order(inner))


class Intersection(LazySet):
    """``left \\cap right`` where neither side is listed."""

    __slots__ = ("left", "right")
    name = "an intersection"

    def __init__(self, left: Value, right: Value) -> None:
        """Take both sides."""
        super().__init__()
        self.left, self.right = left, right

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.left) or is_listable(self.right)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        if not is_finite(self.left) and not is_finite(self.right):
            raise TlaError("an intersection of two infinite sets may be finite or not")
        return True

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.left) and member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        first, second = (self.left, self.right) if is_listable(self.left) else (self.right, self.left)
        return (value for value in self.order(first) if member(value, second))


class Difference(LazySet):
    """``left \\ right`` where the left side is not listed."""

    __slots__ = ("left", "right")
    name = "a difference"

    def __init__(self, left: Value, right: Value) -> None:
        """Take both sides."""
        super().__init__()
        self.left, self.right = left, right

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.left)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        if is_finite(self.left):
            return True
        if not is_finite(self.right):
            raise TlaError("a difference of two infinite sets may be finite or not")
        return False

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.left) and not member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return (value for value in self.order(self.left) if not member(value, self.right))


class Filtered(LazySet):
    """``{x \\in base : test}`` over a base that is not listed."""

    __slots__ = ("base", "test")
    name = "a filtered set"

    def __init__(self, base: Value, test: Callable[[Value], bool]) -> None:
        """Take the base and the test."""
        super().__init__()
        self.base, self.test = base, test

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.base)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        if not is_finite(self.base):
            raise TlaError("a filtered infinite set may be finite or not")
        return True

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.base) and self.test(value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return filter(self.test, self.order(self.base))


class Unsorted(LazySet):
    """A set of values that cannot all be compared: it can be asked for an element, but not be listed."""

    __slots__ = ("elements", "problem")

    def __init__(self, elements: list[Value], problem: TlaError) -> None:
        """Take the elements in their order, and what kept them from being sorted."""
        super().__init__()
        self.elements, self.problem = elements, problem

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return True

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element, by comparing it with one after the other."""
        return any(eq(element, value) for element in self.elements)

    def items(self) -> Iterator[Value]:
        """Refuse to list the elements."""
        raise self.problem

    def force(self) -> frozenset[Value]:
        """Refuse to list the elements."""
        raise self.problem

    def __iter__(self) -> Iterator[Value]:
        """Refuse to list the elements."""
        raise self.problem


def _distinct(elements: Iterable[Value]) -> Iterator[Value]:
    """List each of some elements once, refusing to mix what cannot be compared."""
    seen: set[Value] = set()
    for element in elements:
        value = frozen(element)
        if lookup(seen, value) is None:
            seen.add(value)
            yield value


def is_eager(value: Value) -> bool:
    """Tell whether TLC computes with a set at once, element by element."""
    return type(value) is frozenset or type(value) is Unsorted
