"""Long sets and sequences that grow: those that were made of one another share their elements.

Adding to the newest of them costs what is added, and not what there is. In all else they are plain sets and sequences.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lockstep.tla.values.comparable_records import ComparableRecords, Groups, all_comparable
from lockstep.tla.values.equality import compare, groups_of, lookup
from lockstep.tla.values.field_indexes import FieldIndex
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.integer_intervals import interval_of
from lockstep.tla.values.kinds import Fcn, TlaError, Value, outside, sort_key
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.lazy_sets import LazySet

#: What elements are sorted by.
SortKey: TypeAlias = Callable[[Value], tuple[Any, ...]]

#: The least number of elements of a set or sequence that shares them with those made of it.
MIN_SHARED = 1024


@dataclass(slots=True)
class _Elements:
    """The elements that sets share as they grow: with their numbers, and the first ones in each order."""

    numbers: dict[Value, int]
    sorted: dict[SortKey, list[Value]] = field(default_factory=dict)
    indexes: dict[str, FieldIndex] = field(default_factory=dict)
    records: ComparableRecords = field(init=False)

    def __post_init__(self) -> None:
        self.records = ComparableRecords(self.numbers)

    def first(self, count: int, key: SortKey) -> Iterable[Value]:
        """List the elements with numbers below a count, sorted by a key.

        The order of those before is kept: the keys by which elements are sorted cost more than all else.
        """
        before = self.sorted.get(key, [])
        known, new = len(before), count - len(before)
        if new < 0:
            return [element for element in before if self.numbers[element] < count]
        if new == 0:
            return before
        longer = list(before)  # iterations over those before go on
        added = itertools.islice(self.numbers, known, count)
        if new * _COMPARISONS > count:
            longer = sorted([*longer, *added], key=key)
        else:
            for element in added:
                insort(longer, element, key=key)
        self.sorted[key] = longer
        return longer

    def having(self, name: str, value: Value) -> list[Value] | None:
        """List the elements with a value in a field; None where only comparing each of them with it decides."""
        index = self.indexes.get(name)
        if index is None:
            index = self.indexes[name] = FieldIndex(name)
        index.enter(itertools.islice(reversed(self.numbers), len(self.numbers) - index.count))
        return index.having(value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the elements without what is known of them."""
        return (_Elements, (self.numbers,))


#: About how many elements one is compared with to find its place among those that are sorted.
_COMPARISONS = 20


class GrowingSet(LazySet):
    """A long set of records, to which more are added now and then: the sets before it share its elements.

    A set has the elements whose numbers are below its own count.
    """

    __slots__ = ("_count", "shared")

    def __init__(self, shared: _Elements, count: int) -> None:
        """Share some elements, to which only `plus` adds, and have the first of them."""
        super().__init__()
        self.shared, self._count = shared, count

    @classmethod
    def from_elements(cls, elements: frozenset[Value]) -> GrowingSet:
        """Make one of records that shapes show to be comparable."""
        return cls(_Elements({element: number for number, element in enumerate(elements)}), len(elements))

    def plus(self, more: frozenset[Value]) -> GrowingSet | None:
        """Return the union with a few more elements; None where shapes do not show that they can be compared."""
        records = self.shared.records
        new = []
        for element in more:
            if not records.can_compare(element):
                return None
            if not self.has(element):
                new.append(element)
                records.enter((element,))
        if not new:
            return self
        numbers = self.shared.numbers
        count = self._count + len(new)
        if len(numbers) == self._count:
            numbers.update(zip(new, itertools.count(self._count)))
        elif not all(numbers.get(element, count) < count for element in new):  # another set was made of this one before
            return GrowingSet.from_elements(frozenset([*self.items(), *new]))
        return GrowingSet(self.shared, count)

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        if self.shared.records.can_compare(value):
            return self.shared.numbers.get(value, self._count) < self._count
        return lookup(self.force(), value) is not None

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return itertools.islice(self.shared.numbers, self._count)

    def since(self, older: GrowingSet) -> Iterator[Value] | None:
        """List what was added to an older set until this was there; None where this was not made of it."""
        numbers = self.shared.numbers
        if self.shared is not older.shared or older._count > self._count:
            return None
        return itertools.islice(reversed(numbers), len(numbers) - self._count, len(numbers) - older._count)

    def having(self, name: str, value: Value) -> list[Value] | None:
        """List the elements with a value in a field; None where only comparing each of them with it decides."""
        numbers, found = self.shared.numbers, self.shared.having(name, value)
        return None if found is None else [element for element in found if numbers[element] < self._count]

    def compared(self, other: GrowingSet) -> bool | None:
        """Decide whether another such set is equal."""
        if self.shared is other.shared or self._count != other._count:
            return self._count == other._count
        return compare(self.force(), other.force())

    def frozen(self) -> Value:
        """Return itself, as a state has it."""
        return self

    def sorted_by(self, key: SortKey) -> Iterable[Value]:
        """List the elements by a key, which must be the same object each time for the same order."""
        return self.shared.first(self._count, key)

    def __iter__(self) -> Iterator[Value]:
        """List the elements in their deterministic order."""
        return iter(self.sorted_by(sort_key))

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
        return interval_of(1, self._count)

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

    def shares(self, other: GrowingSeq) -> bool:
        """Return whether one of two such sequences is known to be the beginning of the other."""
        return self._elements is other._elements

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
            return self.beginning(last)
        return tuple(map(self._elements.__getitem__, range(first, last, step)))

    def beginning(self, count: int) -> GrowingSeq:
        """Return the sequence of the first elements, which shares them."""
        return GrowingSeq(self._elements, count)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the plain sequence."""
        return (tuple, (list(self),))


def unite(left: frozenset[Value], right: frozenset[Value]) -> Value:
    """Return the union of two sets that can be compared."""
    if len(left) >= MIN_SHARED and (groups := groups_of(left)) is not None and _are_records(groups):
        return GrowingSet.from_elements(left).plus(right) or left | right
    return left | right


def _are_records(groups: Groups) -> bool:
    """Return whether shapes show that some values are functions which can all be compared."""
    return all(type(next(iter(elements))) is Fcn for elements in groups.values()) and all_comparable(groups)


#: A sequence that has a length, indexes and slices.
Sequence: TypeAlias = tuple[Value, ...] | GrowingSeq


def join(left: Sequence, right: Sequence) -> Sequence:
    """Return a sequence and then another."""
    if len(left) >= MIN_SHARED and is_plain(left) and all(map(is_plain, right)):
        return (left if isinstance(left, GrowingSeq) else GrowingSeq(list(left), len(left))).plus(right)
    return (*left, *right)


def is_plain(value: Value) -> bool:
    """Return whether nothing in a value is computed on demand."""
    try:
        return frozen(value) is value
    except TlaError:
        return False
