"""The algebra of sets that are not listed: ``\\cup``, ``\\cap``, ``\\``, ``UNION``, filters; and sets out of order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lockstep.tla.values.constructed_sets import PowerSet
from lockstep.tla.values.equality import build_set, eq
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.lazy_sets import LazySet, is_finite, is_listable, member


class _Union(LazySet):
    """A union that TLC leaves unlisted: listed one part after the other, an element of two parts twice.

    Source: tlc2.value.impl.UnionValue and CupValue of TLC 2.15.
    """

    __slots__ = ("parts",)
    name = "a union"

    def __init__(self, parts: Iterable[Value]) -> None:
        super().__init__()
        self.parts = parts

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return all(map(is_finite, self.each()))

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        return any(member(value, part) for part in self.each())

    def items(self) -> Iterator[Value]:
        """List the elements of one part after the other."""
        return (element for part in self.each() for element in self.order(part))

    def each(self) -> Iterable[Value]:
        """List the parts."""
        return self.parts

    def united(self, elements: Iterable[Value]) -> frozenset[Value]:
        """Make a set of the elements, refusing to mix what cannot be compared."""
        return build_set(elements)


class BinaryUnion(_Union):
    """``left \\cup right`` where a side is not listed."""

    __slots__ = ()

    def __init__(self, left: Value, right: Value) -> None:
        super().__init__((left, right))

    def made_of(self) -> Iterable[Value]:
        """List both sides."""
        return self.parts


class BigUnion(_Union):
    """``UNION container`` where the container, or what it holds, is not listed."""

    __slots__ = ()

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.parts) and all(map(is_listable, self.parts))

    def each(self) -> Iterable[Value]:
        """List the sets in the container."""
        return self.order(self.parts)


class UnionOver(_Union):
    """``UNION {e : x \\in S}`` or ``UNION {a, b}`` of sets that can all be listed, and are when they must be."""

    __slots__ = ()
    parts: list[Value]

    def items(self) -> Iterator[Value]:
        """List the elements of one set after the other, in the order of the sets."""
        return (element for inner in self._in_order() for element in self.order(inner))

    def _in_order(self) -> Iterable[Value]:
        if len(self.parts) < 2:
            return self.parts
        if all(isinstance(part, PowerSet) for part in self.parts):
            bases = {frozen(part.base): part for part in reversed(self.parts)}
            return [bases[base] for base in self.order(build_set(bases))]
        by_size = {len(inner): inner for inner in self.parts}
        if len(by_size) == len(self.parts):  # size decides first, so that none must be listed
            return [by_size[size] for size in sorted(by_size)]
        made = {frozen(inner): inner for inner in reversed(self.parts)}
        return [made[inner] for inner in self.order(build_set(made))]


class _PairOfSets(LazySet):
    __slots__ = ("left", "right")

    def __init__(self, left: Value, right: Value) -> None:
        super().__init__()
        self.left, self.right = left, right

    def made_of(self) -> Iterable[Value]:
        """List both sides."""
        return self.left, self.right


class Intersection(_PairOfSets):
    """``left \\cap right`` where neither side is listed."""

    __slots__ = ()
    name = "an intersection"

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
        """Return whether ``value`` is an element."""
        return member(value, self.left) and member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        first, second = (self.left, self.right) if is_listable(self.left) else (self.right, self.left)
        return (value for value in self.order(first) if member(value, second))


class SetDifference(_PairOfSets):
    """``left \\ right`` where the left side is not listed."""

    __slots__ = ()
    name = "a difference"

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
        """Return whether ``value`` is an element."""
        return member(value, self.left) and not member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return (value for value in self.order(self.left) if not member(value, self.right))


class Filtered(LazySet):
    """``{x \\in base : test}`` over a base that is not listed."""

    __slots__ = ("base", "test")
    name = "a filtered set"

    def __init__(self, base: Value, test: Callable[[Value], bool]) -> None:
        super().__init__()
        self.base, self.test = base, test

    def made_of(self) -> Iterable[Value]:
        """List the base."""
        return (self.base,)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        if not is_finite(self.base):
            raise TlaError("a filtered infinite set may be finite or not")
        return True

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        return member(value, self.base) and self.test(value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return filter(self.test, self.order(self.base))


class Unsorted(LazySet):
    """A set of values that cannot all be compared: it can be searched for an element, but not be listed."""

    __slots__ = ("elements", "problem")

    def __init__(self, elements: list[Value], problem: TlaError) -> None:
        super().__init__()
        self.elements, self.problem = elements, problem

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element, by comparing it with one after the other."""
        return any(eq(element, value) for element in self.elements)

    def items(self) -> Iterator[Value]:
        """Refuse to list the elements."""
        raise self.problem

    def force(self) -> frozenset[Value]:
        """Refuse to list the elements."""
        raise self.problem

    def __iter__(self) -> Iterator[Value]:
        raise self.problem


def is_eager(value: Value) -> bool:
    """Return whether TLC computes with a set at once, element by element."""
    return type(value) is frozenset or type(value) is Unsorted
