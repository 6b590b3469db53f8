"""The set of fingerprints that were seen: a table of NumPy with open addressing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.states.content import Hashes

__all__ = ["Seen"]

_FIRST = 1 << 12
_ZERO = np.uint64(0)
_INSTEAD_OF_ZERO = np.uint64(0x9E3779B97F4A7C15)


class Seen:
    """A set of fingerprints, each 8 bytes, in a table that is never more than half full."""

    def __init__(self, *, numbered: bool = False) -> None:
        """Begin with none; if they are `numbered`, the set tells the number of each in the order of adding."""
        self._table = np.zeros(_FIRST, np.uint64)
        self._numbers = np.zeros(_FIRST if numbered else 0, np.int32)
        self._count = 0

    def __len__(self) -> int:
        """Count them."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The size of the table."""
        return self._table.nbytes + self._numbers.nbytes

    def has(self, hashes: Hashes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Tell of each fingerprint whether it is in the set."""
        found = np.zeros(len(hashes), np.bool_)
        wanted = _without_zero(hashes)
        mask = np.uint64(len(self._table) - 1)
        places = wanted & mask
        left = np.arange(len(wanted))
        while len(left):
            there = self._table[places]
            equal = there == wanted
            found[left[equal]] = True
            on = ~equal & (there != _ZERO)
            left, wanted, places = left[on], wanted[on], (places[on] + np.uint64(1)) & mask
        return found

    def numbers(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Answer the numbers of fingerprints that are all in a numbered set."""
        wanted = _without_zero(hashes)
        mask = np.uint64(len(self._table) - 1)
        places = wanted & mask
        left = np.arange(len(wanted))
        while len(left):
            left = left[self._table[places[left]] != wanted[left]]
            places[left] = (places[left] + np.uint64(1)) & mask
        found: npt.NDArray[np.int32] = self._numbers[places]
        return found

    def add(self, hashes: Hashes) -> None:
        """Put in fingerprints, each of which is new and there once."""
        while 2 * (self._count + len(hashes)) > len(self._table):
            self._grow()
        first = self._count
        self._count += len(hashes)
        self._put(_without_zero(hashes), np.arange(first, self._count, dtype=np.int32) if self.is_numbered else None)

    @property
    def is_numbered(self) -> bool:
        """Whether the set tells the number of each."""
        return len(self._numbers) > 0

    def _grow(self) -> None:
        old, numbers = self._table, self._numbers
        self._table = np.zeros(2 * len(old), np.uint64)
        self._numbers = np.zeros(2 * len(numbers), np.int32)
        taken = np.flatnonzero(old != _ZERO)
        self._put(old[taken], numbers[taken] if self.is_numbered else None)

    def _put(self, wanted: Hashes, numbers: npt.NDArray[np.int32] | None) -> None:
        mask = np.uint64(len(self._table) - 1)
        places = wanted & mask
        left = np.arange(len(wanted))
        while len(left):
            free = left[self._table[places[left]] == _ZERO]
            self._table[places[free]] = wanted[free]
            on = self._table[places[left]] != wanted[left]  # what is taken, by another now or before
            left = left[on]
            places[left] = (places[left] + np.uint64(1)) & mask
        if numbers is not None:
            self._numbers[places] = numbers


def _without_zero(hashes: Hashes) -> Hashes:
    """Let zero, which marks a free place, be another number."""
    return np.where(hashes == _ZERO, _INSTEAD_OF_ZERO, hashes)
