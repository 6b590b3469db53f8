"""Fingerprints of states from what is in them: never from the numbers that values happen to have, or Python's hashes.

The fingerprint of a state is the sum of one random-looking number for each column, made of the column's place and the
content of its value. So a step changes it by the difference of what it writes. Under SYMMETRY a state has such a sum
for each permutation, that of its image, and the least of them stands for all its images: no image is ever built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.symmetry import Images
from lockstep.tla.tables.states.layout import Layout, Path, Rows, ShapeChangedError, UnsuitedError
from lockstep.tla.tables.trees import Ints
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, forced

__all__ = ["Fingerprints", "Hashes", "Views", "content"]

#: Fingerprints, or what they are the sum of.
Hashes: TypeAlias = npt.NDArray[np.uint64]

_FIRST = 8


def content(value: Value) -> bytes:
    """Answer 16 bytes that are the same for equal values, and practically never for others."""
    kind = type(value)
    if kind is bool:
        parts = [b"b1" if value else b"b0"]
    elif kind is int:
        parts = [b"i", str(value).encode()]
    elif kind is str:
        parts = [b"s", value.encode()]
    elif kind is ModelValue:
        parts = [b"m", value.name.encode()]
    elif kind is tuple:
        parts = [b"t", *map(content, value)]
    elif kind is frozenset:
        parts = [b"f", *sorted(map(content, value))]
    elif kind is Fcn:
        parts = [b"d", *sorted(content(key) + content(each) for key, each in value.d.items())]
    else:
        return content(_listed(value))
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()


def _listed(value: Value) -> Value:
    try:
        listed = forced(value)
    except TlaError as error:
        raise UnsuitedError("a state has a value that cannot be listed") from error
    if listed is value:
        raise UnsuitedError("a state has a value that cannot be listed")
    return listed


class Fingerprints:
    """The fingerprints of states, of their images, and the least of these.

    Attributes:
        count: how many images a state has, itself among them.
    """

    def __init__(self, layout: Layout, images: Sequence[Images], seed: int = 0) -> None:
        """Prepare for the columns of a layout and the permutations but the identity; `seed` chooses the function.

        Raises:
            ShapeChangedError: if the image of a column is none.
        """
        self._layout, self._images, self._seed = layout, images, seed
        self.count = 1 + len(images)
        paths = [_path_content(path) for path in layout.paths]
        known = {path: slot for slot, path in enumerate(paths)}
        self._places = [paths]
        within = {_path_content(path[:end]) for path in layout.paths for end in range(1, len(path))}
        for image in images:
            moved = [(path[0], *map(image.of, path[1:])) for path in layout.paths]
            places = list(map(_path_content, moved))
            for path, to, place in zip(layout.paths, moved, places, strict=True):
                if place not in known:  # its image is taken apart further, or is only a part of what is one
                    raise ShapeChangedError(to if place in within else path[:-1])
            self._places.append(places)
        self._table: Hashes = np.zeros((self.count, 0), np.uint64)
        self._start = np.zeros(layout.width, np.int64)
        self._room = np.zeros(layout.width, np.int64)
        self._filled = [0] * layout.width
        self._end = 0

    def known(self) -> None:
        """Take in the values that the columns have got since."""
        for slot, values in enumerate(self._layout.values):
            if self._filled[slot] < len(values):
                self._fill(slot, values)

    def _fill(self, slot: int, values: list[Value]) -> None:
        if len(values) > self._room[slot]:
            self._move(slot, max(_FIRST, 2 * len(values)))
        first = int(self._start[slot])
        for number in range(self._filled[slot], len(values)):
            self._table[:, first + number] = self._hashes(slot, values[number])
        self._filled[slot] = len(values)

    def _move(self, slot: int, room: int) -> None:
        """Give a column more room, at the end of the table."""
        if self._end + room > self._table.shape[1]:
            grown = np.zeros((self.count, 2 * (self._end + room)), np.uint64)
            grown[:, : self._end] = self._table[:, : self._end]
            self._table = grown
        first, filled = int(self._start[slot]), self._filled[slot]
        self._table[:, self._end : self._end + filled] = self._table[:, first : first + filled]
        self._start[slot], self._room[slot] = self._end, room
        self._end += room

    def _hashes(self, slot: int, value: Value) -> list[int]:
        own = content(value)
        images = [own if (moved := each.of(value)) is value else content(moved) for each in self._images]
        return [
            _number(place[slot], image, self._seed) for place, image in zip(self._places, [own, *images], strict=True)
        ]

    def of_rows(self, rows: Rows) -> Hashes:
        """Answer the fingerprints of each image of states: a row for each image, a column for each state."""
        self.known()
        found = np.zeros((self.count, len(rows)), np.uint64)
        for slot in range(self._layout.width):
            found += self._table[:, self._start[slot] + rows[:, slot]]
        return found

    def at(self, slots: Ints, numbers: Ints) -> Hashes:
        """Answer what the values of columns add to the fingerprints of each image."""
        return self._table[:, self._start[slots] + numbers]


class Views:
    """The fingerprints of states under a VIEW: those of what it is in them."""

    def __init__(self, seed: int) -> None:
        """Begin with no value; `seed` chooses the function."""
        self._seed = seed
        self._numbers: dict[bytes, int] = {}
        self._hashes: list[int] = []

    def number(self, value: Value) -> int:
        """Answer the number of a value of the VIEW."""
        found = content(value)
        if (known := self._numbers.get(found)) is None:
            known = self._numbers[found] = len(self._hashes)
            self._hashes.append(_number(b"", found, self._seed))
        return known

    def hashes(self, numbers: Ints) -> Hashes:
        """Answer the fingerprints of values by their numbers; of none, where the number is negative, any."""
        return np.array([*self._hashes, 0], np.uint64)[numbers]


def _path_content(path: Path) -> bytes:
    return content((path[0], *path[1:]))


def _number(place: bytes, value: bytes, seed: int) -> int:
    digest = hashlib.blake2b(place + value, digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little")
