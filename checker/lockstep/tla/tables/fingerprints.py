"""Fingerprints of states from their content: never from the numbers that values happen to have, or Python's hashes.

The fingerprint of a state is the sum of one random-looking number for each column, made of the column's place and the
content of its value. So a step changes it by the difference of what it writes. Under SYMMETRY a state has such a sum
for each permutation, that of its image, and the least of them stands for all its images: no image is ever built.

Those of all images are arrays with a row for each state, so that what a step changes is added to what lies together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.symmetry import Images
from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.state_layout import Layout, Path, Rows, ShapeChangedError, UnsuitedError
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.value_bytes import encoded

#: Fingerprints; or for each state those of its images, or the terms of their sum.
Hashes: TypeAlias = npt.NDArray[np.uint64]

#: Values for which a column has room at first.
_FIRST_CAPACITY = 8
#: States up to which their fingerprints are computed one by one.
_MAX_ONE_BY_ONE = 32


@dataclass(frozen=True, slots=True)
class FingerprintFunction:
    """The function that makes fingerprints of 64 bits; there is one for each seed."""

    seed: int = 0

    def __call__(self, place: bytes, value: bytes) -> int:
        """Return the number for a value at a place."""
        key = self.seed.to_bytes(8, "little")
        return int.from_bytes(hashlib.blake2b(place + value, digest_size=8, key=key).digest(), "little")


def content(value: Value) -> bytes:
    """Return 16 bytes that are the same for equal values, and practically never for others.

    Raises:
        UnsuitedError: if not all of it can be listed.
    """
    try:
        return hashlib.blake2b(encoded(value), digest_size=16).digest()
    except TlaError as error:
        raise UnsuitedError("a state has a value that cannot be listed") from error


class Fingerprints:
    """The fingerprints of states, of their images, and the least of these.

    Attributes:
        image_count: the number of images of a state, itself among them.
    """

    def __init__(self, layout: Layout, images: Sequence[Images], function: FingerprintFunction) -> None:
        """Prepare for the columns of a layout and the permutations but the identity.

        Raises:
            ShapeChangedError: if the image of a column is none.
        """
        self._layout, self._images, self._function = layout, images, function
        self.image_count = 1 + len(images)
        paths = [_path_content(path) for path in layout.paths]
        known = {path: slot for slot, path in enumerate(paths)}
        self._places = [paths]
        within = {_path_content(path[:end]) for path in layout.paths for end in range(1, len(path))}
        for image in images:
            moved = [(path[0], *map(image.image, path[1:])) for path in layout.paths]
            places = list(map(_path_content, moved))
            for path, to, place in zip(layout.paths, moved, places, strict=True):
                if place not in known:  # its image is taken apart further, or is only a part of what is one
                    raise ShapeChangedError(to if place in within else path[:-1])
            self._places.append(places)
        self._table: Hashes = np.zeros((0, self.image_count), np.uint64)
        self._start = np.zeros(layout.width, np.int64)
        self._capacity = np.zeros(layout.width, np.int64)
        self._filled = [0] * layout.width
        self._contents: dict[bytes, list[bytes]] = {}
        self._end = 0

    def add_values(self) -> None:
        """Add the values that the columns have got since the last time."""
        for slot, values in enumerate(self._layout.values):
            if self._filled[slot] < len(values):
                self._fill(slot, values)

    def _fill(self, slot: int, values: list[Value]) -> None:
        if len(values) > self._capacity[slot]:
            self._enlarge(slot, max(_FIRST_CAPACITY, 2 * len(values)))
        first = int(self._start[slot])
        for number in range(self._filled[slot], len(values)):
            self._table[first + number] = self._hashes(slot, values[number])
        self._filled[slot] = len(values)

    def _enlarge(self, slot: int, capacity: int) -> None:
        """Move a column to the end of the table, where it has more capacity."""
        if self._end + capacity > len(self._table):
            grown = np.zeros((2 * (self._end + capacity), self._table.shape[1]), np.uint64)
            grown[: self._end] = self._table[: self._end]
            self._table = grown
        first, filled = int(self._start[slot]), self._filled[slot]
        self._table[self._end : self._end + filled] = self._table[first : first + filled]
        self._start[slot], self._capacity[slot] = self._end, capacity
        self._end += capacity

    def _hashes(self, slot: int, value: Value) -> list[int]:
        own = content(value)
        if (images := self._contents.get(own)) is None:  # many columns have the same values
            moved = [each.image(value) for each in self._images]
            images = self._contents[own] = [own, *[own if each is value else content(each) for each in moved]]
        return [self._function(place[slot], image) for place, image in zip(self._places, images, strict=True)]

    @property
    def sums(self) -> tuple[Ints, Hashes]:
        """Where the values of each column begin, and what each value adds to the fingerprints of the images."""
        return self._start, self._table[: self._end]

    def of_rows(self, rows: Rows) -> Hashes:
        """Return the fingerprints of states' images, a row for each state."""
        self.add_values()
        found = np.zeros((len(rows), self._table.shape[1]), np.uint64)
        if len(rows) < _MAX_ONE_BY_ONE:
            for row, places in zip(found, self._start + rows[:, : self._layout.width], strict=True):
                self._table[places].sum(axis=0, out=row)
            return found
        for slot in range(self._layout.width):
            found += self._table.take(self._start[slot] + rows[:, slot], axis=0)
        return found

    def at(self, slots: Ints, numbers: Ints) -> Hashes:
        """Return what the values of columns add to the fingerprints of each image."""
        return self._table.take(self._start[slots] + numbers, axis=0)


class ViewFingerprints:
    """The fingerprints of states under a VIEW: those of its values."""

    def __init__(self, function: FingerprintFunction) -> None:
        self._function = function
        self._numbers: dict[bytes, int] = {}
        self._hashes: list[int] = []

    def number(self, value: Value) -> int:
        """Return the number of a value of the VIEW."""
        found = content(value)
        if (known := self._numbers.get(found)) is None:
            known = self._numbers[found] = len(self._hashes)
            self._hashes.append(self._function(b"", found))
        return known

    @property
    def all(self) -> Hashes:
        """The fingerprints of values by their numbers, and one for a value that is none."""
        return np.array([*self._hashes, 0], np.uint64)

    def hashes(self, numbers: Ints) -> Hashes:
        """Return the fingerprints of values by their numbers; any one for a negative number."""
        found: Hashes = self.all[numbers]
        return found


def _path_content(path: Path) -> bytes:
    return content((path[0], *path[1:]))


def least_fingerprints(hashes: Hashes) -> Hashes:
    """Return of each state the least of the fingerprints of its images."""
    return reduce(np.minimum, hashes.T)  # one column after the other is faster than many short rows


def orbit_sizes(hashes: Hashes) -> Ints:
    """Count the different images of each state, given the fingerprints of all images."""
    sizes: Ints = 1 + (np.diff(np.sort(hashes, axis=1), axis=1) != 0).sum(axis=1)
    return sizes


def collision_probability(distinct: int, generated: int, images: int) -> float:
    """Estimate the probability that two states had the same fingerprint, so that something was not seen.

    It is what TLC calculates: every state that was generated and is not distinct might have been one. That the least of
    several images counts makes it more probable, since small numbers are met more often.
    """
    return distinct * max(1, generated - distinct) / 2.0**64 * images**2 / (2 * images - 1)
