"""The set of fingerprints that were seen, in the memory of a graphics card: a table with open addressing.

Beside each fingerprint stands its first successor in the chunk of states that is expanded: the least place of those
that have it, and 0 once the chunk is done. So it does not matter which thread puts a fingerprint in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables import cuda_kernels as kernels
from lockstep.tla.tables.cuda_device import Device
from lockstep.tla.tables.fingerprint_set import DeviceFullError
from lockstep.tla.tables.fingerprints import Hashes
from lockstep.tla.tables.search_kernels import INSTEAD_OF_FREE

_FIRST_CAPACITY = 1 << 12
#: The bytes of a place.
_PLACE = 12
#: How full the table may be where the card has no memory for a larger one.
_MAX_LOAD = 0.85


class CudaFingerprintSet:
    """A set of fingerprints that is half full at most, or fuller where the card has no memory for a larger table.

    Attributes:
        peak: what it takes of the memory of the processor: nothing.
        keys: the fingerprints; those of free places are 0.
        firsts: the first successor of each in the present chunk.
    """

    is_numbered = False
    peak = 0

    def __init__(self, device: Device) -> None:
        self._device, self._count = device, 0
        self.keys, self.firsts = self._table(_FIRST_CAPACITY)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The size of the table, in the memory of the processor."""
        return 0

    @property
    def device_bytes(self) -> int:
        """The size of the table, in the memory of the card."""
        return _PLACE * int(self.keys.size)

    def _table(self, capacity: int) -> tuple[Any, Any]:
        keys, firsts = self._device.empty(capacity, np.uint64), self._device.empty(capacity, np.uint32)
        self._device.launch(kernels.fill, capacity, capacity, np.uint64(0), keys)
        self._device.launch(kernels.fill, capacity, capacity, np.uint32(kernels.NO_OWNER), firsts)
        return keys, firsts

    def reserve(self, more: int, others: int) -> None:
        """Make the table large enough for more fingerprints.

        Args:
            others: the bytes of the card's memory that other arrays take.

        Raises:
            DeviceFullError: if the memory does not suffice.
        """
        needed, capacity = self._count + more, int(self.keys.size)
        while 2 * needed > capacity:
            capacity *= 2
        while capacity > self.keys.size and self.device_bytes + _PLACE * capacity + others > self._device.budget:
            capacity //= 2
        if needed > _MAX_LOAD * capacity:
            raise DeviceFullError(f"the card has no memory for more than {self._count:,} fingerprints")
        if capacity > self.keys.size:
            old = self.keys
            self.keys, self.firsts = self._table(capacity)
            self._device.launch(kernels.add, old.size, int(old.size), old, self.keys, self.firsts)

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Return for each fingerprint whether it is in the set."""
        found = self._device.empty(len(hashes), np.uint8)
        count = len(hashes)
        self._device.launch(kernels.has, count, count, self._device.put(hashes), self.keys, found)
        answers: npt.NDArray[np.bool_] = found.copy_to_host()[:count].astype(np.bool_)
        return answers

    def add(self, hashes: Hashes) -> None:
        """Add fingerprints that are new and there once; raises DeviceFullError if they do not fit."""
        self.reserve(len(hashes), 0)
        known = self._device.put(np.where(hashes == 0, INSTEAD_OF_FREE, hashes).astype(np.uint64))
        self._device.launch(kernels.add, len(hashes), len(hashes), known, self.keys, self.firsts)
        self._count += len(hashes)

    def count_added(self, more: int) -> None:
        """Count fingerprints that a kernel has put in."""
        self._count += more

    def remove_last(self, places: Any, count: int) -> None:
        """Remove the fingerprints that a kernel has put in last, all of them, and before they were counted."""
        self._device.launch(kernels.remove, count, count, places, self.keys, self.firsts)
