"""Long sets and sequences that grow: those that were made of one another share their elements.

Adding to the newest of them costs what is added, and not what there is. In all else they are plain sets and sequences.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lockstep.tla.values.equality import compare, lookup, ordered, sample_of_uniform
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import TlaError, Value, outside, same_shape, sort_key
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.lazy_sets import LazySet

#: The least number of elements of a set or sequence that shares them with those made of it.
MIN_SHARED = 1024


@dataclass(slots=True)
class _Elements:
    """The elements that sets share as they grow: with their numbers, and the first ones in sets' order."""

    numbers: dict[Value, int]
    sorted: list[Value] = field(default_factory=list)

    def first(self, count: int) -> Iterable[Value]:
        """List the elements with numbers below a count, in the deterministic order of sets.

        The order of those before is kept: the keys by which elements are sorted cost more than all else.
        """
        known, new = len(self.sorted), count - len(self.sorted)
        if new < 0:
            return [element for element in self.sorted if self.numbers[element] < count]
        if new == 0:
            return self.sorted
        longer = list(self.sorted)  # iterations over those before go on
        added = itertools.islice(self.numbers, known, count)
        if new * _COMPARISONS > count:
            longer = list(ordered([*longer, *added]))
        else:
            for element in added:
                insort(longer, element, key=sort_key)
        self.sorted = longer
        return longer

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the elements without their order."""
        return (_Elements, (self.numbers,))


#: About how many elements one is compared with to find its place among those that are sorted.
_COMPARISONS = 20


class GrowingSet(LazySet):
    """A long set of records of one shape, to which more are added now and then: the sets before it share its elements.

    A set has the elements whose numbers are below its own count.
    """

    __slots__ = ("_count", "_sample", "_shared")

    def __init__(self, shared: _Elements, count: int, sample: Value) -> None:
        """Share some elements, to which only `plus` adds, and have the first of them."""
        super().__init__()
        self._shared, self._count, self._sample = shared, count, sample

    @classmethod
    def from_elements(cls, elements: frozenset[Value], sample: Value) -> GrowingSet:
        """Make one of elements that all have the shape of the sample."""
        return cls(_Elements({element: number for number, element in enumerate(elements)}), len(elements), sample)

    def plus(self, more: frozenset[Value]) -> GrowingSet | None:
        """Return the union with a few more elements; None where they are not of the same shape."""
        if not all(same_shape(self._sample, element) for element in more):
            return None
        new = [element for element in more if not self.has(element)]
        if not new:
            return self
        numbers = self._shared.numbers
        if len(numbers) != self._count:  # another set was made of this one before
            return GrowingSet.from_elements(frozenset([*self.items(), *new]), self._sample)
        for number, element in enumerate(new, self._count):
            numbers[element] = number
        return GrowingSet(self._shared, self._count + len(new), self._sample)

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        if same_shape(self._sample, value):
            return self._shared.numbers.get(value, self._count) < self._count
        return lookup(self.force(), value) is not None

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return itertools.islice(self._shared.numbers, self._count)

    def since(self, older: GrowingSet) -> Iterator[Value] | None:
        """List what was added to an older set until this was there; None where this was not made of it."""
        numbers = self._shared.numbers
        if self._shared is not older._shared or older._count > self._count:
            return None
        return itertools.islice(reversed(numbers), len(numbers) - self._count, len(numbers) - older._count)

    def compared(self, other: GrowingSet) -> bool | None:
        """Decide whether another such set is equal."""
        if self._shared is other._shared or self._count != other._count:
            return self._count == other._count
        return compare(self.force(), other.force())

    def frozen(self) -> Value:
        """Return itself, as a state has it."""
        return self

    def __iter__(self) -> Iterator[Value]:
        """List the elements in their deterministic order."""
        return iter(self._shared.first(self._count))

    def __len__(self) -> int:
        return self._count


class GrowingSeq(LazyFcn):
    """A long sequence of listed values, to which more are added now and then: its beginnings share its elements.

    It has the first elements of a list, to which only `plus` adds.
    """

    __slots__ = ("_count", "_elements")

    def __init__(self, elements: list[Value], count: int) -> None:
        """Share a list, and have the first of its elements."""
        self._elements, self._count = elements, count
        self._forced, self.soft = None, False

    @property
    def domain(self) -> Value:
        """The indexes."""
        return frozenset(range(1, self._count + 1))

    @property
    def finite(self) -> bool:
        """Whether the function can be computed as a whole."""
        return True

    def plus(self, more: Iterable[Value]) -> GrowingSeq:
        """Return the sequence and then some more listed values."""
        new, elements, count = list(more), self._elements, self._count
        there = elements[count : count + len(new)]
        if any(compare(one, other) is not True for one, other in zip(there, new, strict=False)):
            elements, there = elements[:count], []  # another sequence was made of this one before
        elements += new[len(there) :]
        return GrowingSeq(elements, count + len(new))

    def apply(self, argument: Value) -> Value:
        """Return the element at an index, from 1 on."""
        if type(argument) is int and 0 < argument <= self._count:
            return self._elements[argument - 1]
        raise outside(self, argument)

    def force(self) -> Value:
        """Return the plain sequence."""
        if self._forced is None:
            self._forced = tuple(self)
        return self._forced

    def frozen(self) -> Value:
        """Return itself, as a state has it."""
        return self

    def sequence(self) -> Value:
        """Return itself, which is a sequence."""
        return self

    def compared(self, other: GrowingSeq) -> bool | None:
        """Decide whether another such sequence is equal."""
        if self._elements is other._elements or self._count != other._count:
            return self._count == other._count
        return compare(self.force(), other.force())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Value]:
        return itertools.islice(self._elements, self._count)

    def __getitem__(self, place: Any) -> Value:
        """Return an element, or some of them, as Python counts: a long beginning shares its elements with this."""
        if type(place) is int:
            return self._elements[range(self._count)[place]]
        first, last, step = place.indices(self._count)
        if (first, step) == (0, 1) and last >= MIN_SHARED:
            return GrowingSeq(self._elements, last)
        return tuple(map(self._elements.__getitem__, range(first, last, step)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the plain sequence."""
        return (tuple, (list(self),))


def unite(left: frozenset[Value], right: frozenset[Value]) -> Value:
    """Return the union of two sets that can be compared."""
    if len(left) >= MIN_SHARED and (sample := sample_of_uniform(left)):
        return GrowingSet.from_elements(left, sample[0]).plus(right) or left | right
    return left | right


#: A sequence that has a length, indexes and slices.
Sequence: TypeAlias = tuple[Value, ...] | GrowingSeq


def join(left: Sequence, right: Sequence) -> Sequence:
    """Return a sequence and then another."""
    if len(left) >= MIN_SHARED and _is_listed(left) and all(map(_is_listed, right)):
        return (left if isinstance(left, GrowingSeq) else GrowingSeq(list(left), len(left))).plus(right)
    return (*left, *right)


def _is_listed(value: Value) -> bool:
    try:
        return frozen(value) is value
    except TlaError:
        return False
