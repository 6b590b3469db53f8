"""The steps that were generated, by number, and lists of integers by number, which they and their sets are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.decision_trees import Ints


class IntColumn:
    """A column of integers that grows."""

    def __init__(self, dtype: npt.DTypeLike = np.int32) -> None:
        self._values: npt.NDArray[Any] = np.zeros(64, dtype)
        self.count = 0

    def extend(self, values: Iterable[int]) -> None:
        """Add values at the end."""
        for value in values:
            if self.count == len(self._values):
                self._values = np.concatenate([self._values, np.zeros_like(self._values)])
            self._values[self.count] = value
            self.count += 1

    @property
    def array(self) -> npt.NDArray[Any]:
        """The values as an array."""
        return self._values[: self.count]


class IntLists:
    """Lists of integers by number; the list with the number 0 is empty."""

    def __init__(self) -> None:
        self.first, self.length, self.items = IntColumn(np.int64), IntColumn(), IntColumn()
        self._known: dict[tuple[int, ...], int] = {}
        self.number(())

    def number(self, items: tuple[int, ...]) -> int:
        """Return the number of a list."""
        known = self._known.get(items)
        if known is None:
            known = self._known[items] = len(self._known)
            self.first.extend([self.items.count])
            self.length.extend([len(items)])
            self.items.extend(items)
        return known

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """The place of the first element of each list among all elements, and the number of these."""
        return np.append(self.first.array, self.items.count)

    def spread(self, numbers: Ints) -> tuple[Ints, Ints, npt.NDArray[np.int32]]:
        """Lay out lists one after the other.

        Args:
            numbers: the numbers of the lists.

        Returns:
            For each element the index of its list in `numbers`, its place in the list, and the element.
        """
        length = self.length.array.take(numbers).astype(np.int64)
        which = np.repeat(np.arange(len(numbers)), length)
        place = np.arange(len(which)) - np.repeat(np.cumsum(length) - length, length)
        return which, place, self.items.array.take(self.first.array.take(numbers).take(which) + place)


class WrittenSteps:
    """Steps by number: the columns that each writes, with the numbers of the new values.

    Attributes:
        slots: the columns that a step writes, as a list for each pattern of them.
        pattern: the number of the pattern of a step.
        values: the numbers of the new values, as a list for each step in the order of its columns.
        values_of: the number of that list.
        masks: the columns of each pattern, as bits.
    """

    def __init__(self) -> None:
        self.slots, self.values = IntLists(), IntLists()
        self.pattern, self.values_of = IntColumn(), IntColumn()
        self.masks: list[int] = [0]
        self._known: dict[tuple[tuple[int, int], ...], int] = {}

    def number(self, writes: list[tuple[int, int]]) -> int:
        """Return the number of a step."""
        key = tuple(writes)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self._known)
            pattern = self.slots.number(tuple([slot for slot, _ in key]))
            if pattern == len(self.masks):
                self.masks.append(sum(1 << slot for slot, _ in key))
            self.pattern.extend([pattern])
            self.values_of.extend([self.values.number(tuple([number for _, number in key]))])
        return known

    def written(self, steps: Ints) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Lay out what steps write: for each write the index of its step in `steps`, the column, the value's number."""
        which, _, slots = self.slots.spread(self.pattern.array[steps].astype(np.int64))
        values = self.values.spread(self.values_of.array[steps].astype(np.int64))[2]
        return which, slots, values

    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Return what kernels read: of each step the pattern, of that where its columns begin, all columns; of each
        step where its values begin, all values."""
        slots, values = self.slots, self.values
        firsts = values.first.array[self.values_of.array]
        return self.pattern.array, slots.starts, slots.items.array, firsts, values.items.array

    def value(self, step: int, slot: int) -> int:
        """Return the number of the value that a step writes into a column; -1 where it writes nothing."""
        pattern, values = int(self.pattern.array[step]), int(self.values.first.array[self.values_of.array[step]])
        first = int(self.slots.first.array[pattern])
        for place in range(int(self.slots.length.array[pattern])):
            if self.slots.items.array[first + place] == slot:
                return int(self.values.items.array[values + place])
        return -1


def lists_of(table: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return where the list of each row of a table begins, and where the last one ends, and what is true in each."""
    return np.cumsum([0, *table.sum(axis=1)]), np.nonzero(table)[1]
