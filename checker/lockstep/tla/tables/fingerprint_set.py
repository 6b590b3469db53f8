"""The set of fingerprints that were seen: a table with open addressing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.fingerprints import Hashes
from lockstep.tla.tables.search_kernels import add_new, move_all, places_in, remove_last

_FIRST_CAPACITY = 1 << 12
_NONE_SKIPPED = np.zeros(0, np.bool_)


class DeviceFullError(Exception):
    """The memory of a graphics card does not suffice for more fingerprints."""


class MemoryLimitError(Exception):
    """The table of fingerprints would need more memory than it may have."""


class FingerprintSet:
    """A set of fingerprints in a table that is never more than three quarters full.

    Attributes:
        limit: the most bytes of its tables, the old one and the new one while it grows; None where there is no limit.
        peak: the most bytes that it took while fingerprints were last added.
    """

    def __init__(self, *, numbered: bool = False) -> None:
        """Begin empty; a `numbered` set knows the number of each fingerprint in the order of adding."""
        self._table: Hashes = np.zeros(_FIRST_CAPACITY, np.uint64)
        self._numbers = np.zeros(_FIRST_CAPACITY if numbered else 0, np.int32)
        self._count = 0
        self.limit: int | None = None
        self.peak = self.nbytes

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

    @property
    def nbytes_as_it_grows(self) -> int:
        """The bytes that it takes while it grows: the table, and one twice as large."""
        return 3 * self.nbytes

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Return for each fingerprint whether it is in the set."""
        return self._places(hashes) >= 0

    def numbers(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the numbers of fingerprints that are all in a numbered set."""
        found: npt.NDArray[np.int32] = self._numbers[self._places(hashes)]
        return found

    def _places(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        places = np.empty(len(hashes), np.int64)
        places_in(hashes, self._table, places)
        return places

    def add(self, hashes: Hashes, skipped: npt.NDArray[np.bool_] = _NONE_SKIPPED) -> npt.NDArray[np.bool_]:
        """Add fingerprints; return which of them were new, of equal ones the first.

        Args:
            skipped: those that are left out, if any are.

        Raises:
            MemoryLimitError: if the table would have to be larger than the limit; some of them are in the set then.
        """
        is_new, begin, self.peak = np.empty(len(hashes), np.bool_), 0, self.nbytes
        while True:
            most = len(self._table) // 4 * 3
            begin, self._count = add_new(
                begin, hashes, skipped, self._table, self._numbers, self._count, most, is_new
            )  # fmt: skip
            if begin == len(hashes):
                return is_new
            if self.limit is not None and self.nbytes_as_it_grows > self.limit:
                raise MemoryLimitError
            self._grow()

    def remove_last(self, hashes: Hashes) -> None:
        """Remove the fingerprints that were added last, in their order."""
        remove_last(hashes, self._table)
        self._count -= len(hashes)

    def _grow(self) -> None:
        old, numbers, self.peak = self._table, self._numbers, self.nbytes_as_it_grows
        self._table, self._numbers = np.zeros(2 * len(old), np.uint64), np.zeros(2 * len(numbers), np.int32)
        move_all(old, numbers, self._table, self._numbers)
