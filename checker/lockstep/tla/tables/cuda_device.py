"""The graphics card that a search runs on: whether there is one, its memory, and how kernels are launched."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.base.errors import BadInputError
from lockstep.tla.tables.fingerprint_set import DeviceFullError

#: The share of the free memory of a card that a search takes.
_MEMORY_SHARE = 0.9
#: Threads of a block, and the most blocks: each thread of a kernel goes on with further items.
_THREADS, _MAX_BLOCKS = 256, 132 * 32
#: The same where Numba simulates a card: there each is a thread of Python.
_SIMULATED_THREADS, _SIMULATED_BLOCKS = 6, 2


def require_cuda() -> None:
    """Make sure that Numba finds a graphics card of NVIDIA.

    Raises:
        BadInputError: if there is no card; the message says in one line what Numba misses.
    """
    from numba import cuda

    try:
        found, why = bool(cuda.is_available()), ""
        if found:
            cuda.current_context()
    except Exception as error:  # Numba has many kinds of these, for each way in which a driver may fail
        found, why = False, f" ({' '.join(str(error).split())[:200]})"
    if not found:
        raise BadInputError(f"--device cuda: Numba finds no graphics card of NVIDIA with CUDA{why}")


class Device:
    """The card: arrays in its memory, and launches of kernels.

    Attributes:
        simulated: whether Numba simulates it (NUMBA_ENABLE_CUDASIM=1).
        budget: the bytes of its memory that may be used.
        lanes: the threads that share the trees of one state.
    """

    def __init__(self, budget: int | None = None) -> None:
        from numba import config, cuda

        self._cuda = cuda
        self.simulated = bool(config.ENABLE_CUDASIM)
        self.lanes = 1 if self.simulated else 8
        if self.simulated:
            self._threads, self._max_blocks = _SIMULATED_THREADS, _SIMULATED_BLOCKS
            warnings.filterwarnings("ignore", "overflow encountered")  # of sums of fingerprints, as on a card
        else:
            self._threads, self._max_blocks = _THREADS, _MAX_BLOCKS
            warnings.filterwarnings("ignore", "Grid size")  # the first levels are small
        free = float(cuda.current_context().get_memory_info()[0])
        most = int(_MEMORY_SHARE * free) if math.isfinite(free) else 1 << 40
        self.budget = most if budget is None else min(budget, most)

    def launch(self, kernel: Any, count: int, *arguments: Any) -> None:
        """Launch a kernel with the threads for a number of items."""
        if count:
            blocks = min(self._max_blocks, -(-count // self._threads))
            kernel[blocks, self._threads](*arguments)

    def empty(self, count: int, dtype: npt.DTypeLike) -> Any:
        """Make an array in the card's memory, which may hold anything; raises DeviceFullError if there is no more."""
        try:
            return self._cuda.device_array(max(1, count), dtype)
        except Exception as error:  # CUDA's own, by a name that depends on the version of Numba
            if "OUT_OF_MEMORY" not in str(error) and not isinstance(error, MemoryError):
                raise
            size = max(1, count) * np.dtype(dtype).itemsize
            raise DeviceFullError(f"the card has no {size:,} bytes of memory left") from error

    def put(self, array: npt.NDArray[Any]) -> Any:
        """Copy an array into the card's memory."""
        flat = np.ascontiguousarray(array).reshape(-1)
        copied = self.empty(len(flat), flat.dtype)
        if len(flat):
            copied.copy_to_device(flat)
        return copied
