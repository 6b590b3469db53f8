"""The set of fingerprints that were seen: a table of NumPy with open addressing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.states.content import Hashes

__all__ = ["Seen"]

_FIRST = 1 << 12
#: Places that are moved together where a table grows, so that moving takes little memory beside the tables.
_AT_ONCE = 1 << 16
_ZERO = np.uint64(0)
_INSTEAD_OF_ZERO = np.uint64(0x9E3779B97F4A7C15)


class Seen:
    """A set of fingerprints, 8 bytes a word, in a table that is never more than half full."""

    def __init__(self, words: int, *, numbered: bool = False) -> None:
        """Begin with none; if they are `numbered`, the set tells the number of each in the order of adding."""
        self._table: Hashes = np.zeros((words, _FIRST), np.uint64)
        self._numbers = np.zeros(_FIRST if numbered else 0, np.int32)
        self._count = 0

    def __len__(self) -> int:
        """Count them."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The size of the table."""
        return self._table.nbytes + self._numbers.nbytes

    def nbytes_with(self, more: int) -> int:
        """Compute how many bytes it takes to put in more fingerprints: of the old table, too, where that grows."""
        width = self._table.shape[1]
        while 2 * (self._count + more) > width:
            width *= 2
        scale = width // self._table.shape[1]
        return self.nbytes if scale == 1 else self.nbytes * (scale + scale // 2)

    def has(self, hashes: Hashes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Tell of each fingerprint whether it is in the set."""
        wanted, places, left = self._begin(hashes)
        found = np.zeros(len(left), np.bool_)
        while len(left):
            there = self._table[0][places]
            equal = there == wanted[0]
            for table, word in zip(self._table[1:], wanted[1:], strict=True):
                equal &= table[places] == word
            found[left[equal]] = True
            on = ~equal & (there != _ZERO)
            left, wanted, places = left[on], wanted[:, on], self._after(places[on])
        return found

    def numbers(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Answer the numbers of fingerprints that are all in a numbered set."""
        wanted, places, left = self._begin(hashes)
        while len(left):
            left = left[self._other(places[left], wanted[:, left])]
            places[left] = self._after(places[left])
        found: npt.NDArray[np.int32] = self._numbers[places]
        return found

    def add(self, hashes: Hashes) -> None:
        """Put in fingerprints, each of which is new and there once."""
        more = hashes.shape[1]
        while 2 * (self._count + more) > self._table.shape[1]:
            self._grow()
        first = self._count
        self._count += more
        self._put(hashes, np.arange(first, self._count, dtype=np.int32) if self.is_numbered else None)

    @property
    def is_numbered(self) -> bool:
        """Whether the set tells the number of each."""
        return len(self._numbers) > 0

    def _grow(self) -> None:
        old, numbers = self._table, self._numbers
        self._table = np.zeros((len(old), 2 * old.shape[1]), np.uint64)
        self._numbers = np.zeros(2 * len(numbers), np.int32)
        for begin in range(0, old.shape[1], _AT_ONCE):
            taken = begin + np.flatnonzero(old[0][begin : begin + _AT_ONCE] != _ZERO)
            self._put(old[:, taken], numbers[taken] if self.is_numbered else None)

    def _put(self, hashes: Hashes, numbers: npt.NDArray[np.int32] | None) -> None:
        wanted, places, left = self._begin(hashes)
        while len(left):
            free = left[self._table[0][places[left]] == _ZERO]
            for table, word in zip(self._table, wanted, strict=True):
                table[places[free]] = word[free]
            left = left[self._other(places[left], wanted[:, left])]  # what is taken, by another now or before
            places[left] = self._after(places[left])
        if numbers is not None:
            self._numbers[places] = numbers

    def _begin(self, hashes: Hashes) -> tuple[Hashes, Hashes, npt.NDArray[np.int64]]:
        """Answer what is looked for, the place of each to look at first, and the number of each."""
        wanted = _without_zero(hashes)
        return wanted, wanted[0] & np.uint64(self._table.shape[1] - 1), np.arange(wanted.shape[1])

    def _after(self, places: Hashes) -> Hashes:
        """Answer the places to look at next."""
        return (places + np.uint64(1)) & np.uint64(self._table.shape[1] - 1)

    def _other(self, places: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
        """Tell where what is at a place is not what is looked for."""
        found: npt.NDArray[np.bool_] = self._table[0][places] != wanted[0]
        for table, word in zip(self._table[1:], wanted[1:], strict=True):
            found |= table[places] != word
        return found


def _without_zero(hashes: Hashes) -> Hashes:
    """Let zero, which as the first word marks a free place, be another number."""
    if not (zero := hashes[0] == _ZERO).any():
        return hashes
    return np.stack([np.where(zero, _INSTEAD_OF_ZERO, hashes[0]), *hashes[1:]])
