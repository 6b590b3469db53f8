"""Where long arrays are: in memory as long as there is room, then in mapped files that have no name.

What has no name is gone with the process, however that ends. A file is given its whole size on the disk at once, so
that a full disk is told here, and never in the middle of writing to an array.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "FullError", "Room", "resident"]

Array: TypeAlias = npt.NDArray[Any]
#: A file has so many bytes at least; it holds several arrays, and is given back when none of them is needed.
_BLOCK = 1 << 26
_ALIGNED = 64


class FullError(Exception):
    """There is no room left, neither in memory nor on the disk; the message says how much there was."""


class Room:
    """The room for arrays.

    Attributes:
        used: how many bytes of memory are in use, as its owner tells now and then.
        mapped: how many bytes the files have.
    """

    def __init__(self, most: int | None = None, most_files: int | None = None, folder: Path | None = None) -> None:
        """Begin empty.

        Args:
            most: how many bytes of memory there are; the second half is left to what needs no room of this kind.
            most_files: how many bytes of files there may be; with 0 all is in memory.
            folder: where the files are, which is on a disk.
        """
        self.used, self.mapped = 0, 0
        self._most, self._most_files, self._folder = most, most_files, folder
        self._block: Array = np.zeros(0, np.uint8)
        self._end = 0

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Make an array of zeros.

        Raises:
            FullError: if there is no room for it.
        """
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if self._fits(size):
            return np.zeros(shape, dtype)
        return self._carved(size).view(dtype).reshape(shape)

    def kept(self, array: Array) -> Array:
        """Answer an array of the same content, in a file if there is no room in memory."""
        if not array.size or self._fits(0):
            return array
        made = self.zeros(array.shape, array.dtype)
        made[...] = array
        return made

    def _fits(self, size: int) -> bool:
        return self._most is None or self._most_files == 0 or 2 * (self.used + size) <= self._most

    def _carved(self, size: int) -> Array:
        if self._end + size > len(self._block):
            self._block, self._end = self._mapped(max(_BLOCK, size)), 0
        part = self._block[self._end : self._end + size]
        self._end += -(-size // _ALIGNED) * _ALIGNED
        return part

    def _mapped(self, size: int) -> Array:
        if self._most_files is not None and self.mapped + size > self._most_files:
            raise FullError(f"the search would need more than {self._most_files / 1e9:.3g} GB of files")
        try:
            if self._folder is not None:
                self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)
                block = np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)
        except OSError as error:
            raise FullError(f"the search would need more room on the disk: {error.strerror}") from error
        self.mapped += size
        weakref.finalize(block, self._given_back, size)
        return block

    def _given_back(self, size: int) -> None:
        self.mapped -= size


def resident(arrays: Iterable[Array]) -> int:
    """Answer how many bytes of arrays are in memory, and not in a file."""
    return sum(each.nbytes for each in arrays if not _is_mapped(each))


def _is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, (mmap.mmap, memoryview))
