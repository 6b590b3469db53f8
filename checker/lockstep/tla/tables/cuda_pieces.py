"""States of a level in pieces, each in the memory of a graphics card or, where there is no place, of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables import cuda_kernels as kernels
from lockstep.tla.tables.cuda_device import Device

#: The kinds of numbers in which rows may be, by how many values a column may have.
ROW_KINDS: tuple[npt.DTypeLike, ...] = (np.uint8, np.uint16, np.uint32)


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of what a piece has of each state.

    Attributes:
        states: the most states of a piece.
        wide: the columns of a row, those of definitions among them.
        trees: the trees that are looked up for every state.
        images: the images of a state.
        row_kind: the kind of numbers of a row; the largest of them stands for a definition that is not known.
    """

    states: int
    wide: int
    trees: int
    images: int
    row_kind: npt.DTypeLike

    @property
    def unknown(self) -> int:
        """The number that stands for a definition that is not known."""
        return int(np.iinfo(np.dtype(self.row_kind)).max)

    @property
    def state_bytes(self) -> int:
        """The bytes of a state."""
        return self.wide * np.dtype(self.row_kind).itemsize + 4 * self.trees + 8 * self.images + 4


class CudaPiece:
    """Some states of a level, one after the other.

    Attributes:
        count: how many there are.
        arrays: the rows, the results of trees, the fingerprints of images, the patterns of the last steps.
        on_device: whether they are in the memory of the card.
    """

    def __init__(self, shape: Shape, device: Device) -> None:
        self.shape, self.count, self.on_device = shape, 0, True
        self._device = device
        self.arrays: list[Any] = [device.empty(shape.states * wide, kind) for wide, kind in self._parts()]

    def _parts(self) -> list[tuple[int, npt.DTypeLike]]:
        shape = self.shape
        return [(shape.wide, shape.row_kind), (shape.trees, np.int32), (shape.images, np.uint64), (1, np.int32)]

    @property
    def nbytes(self) -> int:
        """The size of the arrays, wherever they are."""
        return sum(int(each.nbytes) for each in self.arrays)

    @property
    def free(self) -> int:
        """The number of states that can be added."""
        return self.shape.states - self.count

    def part(self, begin: int, end: int) -> list[Any]:
        """Return the arrays of some states."""
        return [array[begin * wide : end * wide] for array, (wide, _) in zip(self.arrays, self._parts(), strict=True)]

    def put(self, begin: int, arrays: list[npt.NDArray[Any]]) -> None:
        """Copy states from the memory of the processor to places from `begin` on."""
        for array, more, (wide, kind) in zip(self.arrays, arrays, self._parts(), strict=True):
            flat = np.ascontiguousarray(more, kind).reshape(-1)
            if len(flat):
                array[begin * wide : begin * wide + len(flat)].copy_to_device(flat)

    def fetch(self) -> list[npt.NDArray[Any]]:
        """Return the states in the memory of the processor, a row for each."""
        found = []
        for array, (wide, _) in zip(self.part(0, self.count), self._parts(), strict=True):
            here = array.copy_to_host() if self.on_device else array
            found.append(here.reshape(self.count, wide))
        return found

    def leave_device(self) -> None:
        """Move the states into the memory of the processor."""
        if self.on_device:
            self.arrays, self.on_device = [each.reshape(-1) for each in self.fetch()], False

    def enter_device(self, into: CudaPiece) -> CudaPiece:
        """Return the states in the memory of the card, in the arrays of another piece."""
        into.count = self.count
        into.put(0, self.fetch())
        return into

    def widened(self, shape: Shape) -> CudaPiece:
        """Return the same states with rows of wider numbers."""
        if not self.on_device:
            rows = self.arrays[0]
            wide = rows.astype(shape.row_kind)
            wide[rows == self.shape.unknown] = shape.unknown
        else:
            count = int(self.arrays[0].size)
            wide = self._device.empty(count, shape.row_kind)
            arguments = self.arrays[0], self.shape.unknown, wide, shape.unknown
            self._device.launch(kernels.widen, count, count, *arguments)
        self.arrays[0], self.shape = wide, shape
        return self
