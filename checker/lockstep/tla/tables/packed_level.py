"""States that wait to be expanded, in as few bytes as their numbers need.

States that were found one after the other have most columns in common, and most numbers are small. So a column whose
number is the same in all of them is kept once, and each other one in the narrowest kind of integers that holds it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.expander import Level
from lockstep.tla.tables.search_kernels import gather, scatter


class PackedRows:
    """Rows of numbers, one at least, packed column by column."""

    def __init__(self, rows: Ints) -> None:
        low, high = rows.min(axis=0), rows.max(axis=0)
        self._kind, self._count, self._first = rows.dtype, len(rows), rows[0].copy()
        self._parts: list[tuple[Ints, Ints]] = []
        left: npt.NDArray[np.bool_] = low < high
        for kind in (np.int8, np.int16, np.int32, np.int64):
            limits = np.iinfo(kind)
            fits = left & (low >= limits.min) & (high <= limits.max)
            if fits.any():
                columns = np.flatnonzero(fits)
                packed = np.empty((len(rows), len(columns)), kind)
                gather(rows, columns, packed)
                self._parts.append((columns, packed))
            left &= ~fits

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return int(self._first.nbytes) + sum(columns.nbytes + packed.nbytes for columns, packed in self._parts)

    def unpacked(self) -> Ints:
        """Return the rows as they were."""
        rows = np.empty((self._count, len(self._first)), self._kind)
        rows[:] = self._first
        for columns, packed in self._parts:
            scatter(packed, columns, rows)
        return rows


class PackedLevel:
    """Some states of a level, one at least. The fingerprints of their images stay as they are."""

    def __init__(self, level: Level) -> None:
        self._full, self._results = PackedRows(level.full), PackedRows(level.results)
        self._patterns = PackedRows(level.patterns[:, np.newaxis])
        self._hashes, self._width = level.hashes.copy(), level.width

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return self._hashes.nbytes + sum(each.nbytes for each in (self._full, self._results, self._patterns))

    def unpacked(self) -> Level:
        """Return the states as they were."""
        others = self._results.unpacked(), self._patterns.unpacked()[:, 0]
        return Level(self._full.unpacked(), self._width, self._hashes, *others)
