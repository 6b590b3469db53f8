"""The set of fingerprints that were seen: a table of NumPy with open addressing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.fingerprints import Hashes

_FIRST_CAPACITY = 1 << 12
#: Places that are moved together where a table grows, so that moving takes little memory beside the tables.
_MOVED_TOGETHER = 1 << 16
_FREE = np.uint64(0)
#: The fingerprint that stands for the one that means a free place.
INSTEAD_OF_FREE = np.uint64(0x9E3779B97F4A7C15)


class DeviceFullError(Exception):
    """The memory of a graphics card does not suffice for more fingerprints."""


class FingerprintSet:
    """A set of fingerprints in a table that is never more than half full."""

    def __init__(self, *, numbered: bool = False) -> None:
        """Begin empty; a `numbered` set knows the number of each fingerprint in the order of adding."""
        self._table: Hashes = np.zeros(_FIRST_CAPACITY, np.uint64)
        self._numbers = np.zeros(_FIRST_CAPACITY if numbered else 0, np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def is_numbered(self) -> bool:
        """Whether the set knows the number of each."""
        return len(self._numbers) > 0

    @property
    def nbytes(self) -> int:
        """The size of the table."""
        return self._table.nbytes + self._numbers.nbytes

    @property
    def device_bytes(self) -> int:
        """The size of what lies elsewhere than in the memory of the processor."""
        return 0

    def nbytes_with(self, more: int) -> int:
        """Compute the bytes that it takes to add more fingerprints, with those of the old table where that grows."""
        scale = 1
        while 2 * (self._count + more) > scale * len(self._table):
            scale *= 2
        return self.nbytes if scale == 1 else self.nbytes * (scale + scale // 2)

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Return for each fingerprint whether it is in the set."""
        wanted, places, left = self._begin(hashes)
        found = np.zeros(len(left), np.bool_)
        while len(left):
            there = self._table[places]
            equal = there == wanted
            found[left[equal]] = True
            on = ~equal & (there != _FREE)
            left, wanted, places = left[on], wanted[on], self._after(places[on])
        return found

    def numbers(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the numbers of fingerprints that are all in a numbered set."""
        wanted, places, left = self._begin(hashes)
        while len(left):
            left = left[self._table[places[left]] != wanted[left]]
            places[left] = self._after(places[left])
        found: npt.NDArray[np.int32] = self._numbers[places]
        return found

    def add(self, hashes: Hashes) -> None:
        """Add fingerprints that are new and there once."""
        more = len(hashes)
        while 2 * (self._count + more) > len(self._table):
            self._grow()
        first = self._count
        self._count += more
        self._put(hashes, np.arange(first, self._count, dtype=np.int32) if self.is_numbered else None)

    def _grow(self) -> None:
        old, numbers = self._table, self._numbers
        self._table = np.zeros(2 * len(old), np.uint64)
        self._numbers = np.zeros(2 * len(numbers), np.int32)
        for begin in range(0, len(old), _MOVED_TOGETHER):
            taken = begin + np.flatnonzero(old[begin : begin + _MOVED_TOGETHER] != _FREE)
            self._put(old[taken], numbers[taken] if self.is_numbered else None)

    def _put(self, hashes: Hashes, numbers: npt.NDArray[np.int32] | None) -> None:
        wanted, places, left = self._begin(hashes)
        while len(left):
            free = left[self._table[places[left]] == _FREE]
            self._table[places[free]] = wanted[free]
            left = left[self._table[places[left]] != wanted[left]]  # the place has another, of now or before
            places[left] = self._after(places[left])
        if numbers is not None:
            self._numbers[places] = numbers

    def _begin(self, hashes: Hashes) -> tuple[Hashes, Hashes, npt.NDArray[np.int64]]:
        """Return what is looked for, the place of each to look at first, and the number of each."""
        free = hashes == _FREE
        wanted = np.where(free, INSTEAD_OF_FREE, hashes) if free.any() else hashes
        return wanted, wanted & np.uint64(len(self._table) - 1), np.arange(len(wanted))

    def _after(self, places: Hashes) -> Hashes:
        """Return the places to look at next."""
        return (places + np.uint64(1)) & np.uint64(len(self._table) - 1)
