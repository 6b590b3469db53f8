"""The set of fingerprints that were seen: a table of NumPy with open addressing."""

from __future__ import annotations

import numpy as np

from lockstep.tla.tables.content import Hashes

__all__ = ["Seen"]

_FIRST = 1 << 12
_ZERO = np.uint64(0)
_INSTEAD_OF_ZERO = np.uint64(0x9E3779B97F4A7C15)


class Seen:
    """A set of fingerprints, each 8 bytes, in a table that is never more than half full."""

    def __init__(self) -> None:
        """Begin with none."""
        self._table = np.zeros(_FIRST, np.uint64)
        self._count = 0

    def __len__(self) -> int:
        """Count them."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The size of the table."""
        return self._table.nbytes

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

    def add(self, hashes: Hashes) -> None:
        """Put in fingerprints, each of which is new and there once."""
        while 2 * (self._count + len(hashes)) > len(self._table):
            self._grow()
        self._count += len(hashes)
        self._put(_without_zero(hashes))

    def _grow(self) -> None:
        old = self._table
        self._table = np.zeros(2 * len(old), np.uint64)
        self._put(old[old != _ZERO])

    def _put(self, wanted: Hashes) -> None:
        mask = np.uint64(len(self._table) - 1)
        places = wanted & mask
        while len(wanted):
            free = self._table[places] == _ZERO
            self._table[places[free]] = wanted[free]
            on = self._table[places] != wanted  # what is taken, by another now or before
            wanted, places = wanted[on], (places[on] + np.uint64(1)) & mask


def _without_zero(hashes: Hashes) -> Hashes:
    """Let zero, which marks a free place, be another number."""
    return np.where(hashes == _ZERO, _INSTEAD_OF_ZERO, hashes)
