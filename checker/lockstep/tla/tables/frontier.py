"""The frontier of a search by tables: the states of a level that wait to be expanded, and the new ones of the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.expander import Expanded, Expander, Level
from lockstep.tla.tables.fingerprint_set import FingerprintSet
from lockstep.tla.tables.fingerprints import Hashes, orbit_sizes
from lockstep.tla.tables.packed_level import PackedLevel
from lockstep.tla.tables.state_layout import Rows

#: The least capacity of a piece of a level.
_LEAST_PIECE = 1 << 10


@dataclass(frozen=True, slots=True)
class NewStates:
    """The new successors of some states.

    Attributes:
        parents: the place of the state before each, in its level; in order.
        wrong: the places of expanded states with something wrong about them or a new successor.
        generated_count: the number of all successors, new or not.
    """

    parents: Ints
    hashes: Hashes
    wrong: Ints
    generated_count: int


class Frontier:
    """A level of states, expanded in the order in which TLC finds them, and the new states of the next level.

    Attributes:
        part: the states that were expanded last.
    """

    def __init__(self, expander: Expander, seen: FingerprintSet) -> None:
        """Begin without states; `seen` has the fingerprints of all that were found."""
        self._expander, self._seen = expander, seen
        self.part: Level
        self.expanded: Expanded
        self._level: deque[_Piece] = deque()
        self._next: deque[_Piece] = deque()
        #: The place of the first state that is kept: those before it have been expanded.
        self._first = 0
        self._begin = 0
        self._found: Hashes = np.zeros(0, np.uint64)
        self._accepted: list[Level] = []

    @property
    def device_bytes(self) -> int:
        """The size of what lies elsewhere than in the memory of the processor."""
        return 0

    @property
    def nbytes(self) -> int:
        """The size of the states."""
        return sum(each.states.nbytes for each in (*self._level, *self._next))

    def start(self, parts: Iterable[Rows]) -> int:
        """Take the states of a level, in one part at least; return their number."""
        self._level, self._first = deque(), 0
        for rows in parts:
            if len(self._level) > 1:
                self._level[-1].pack()
            self._level.append(_Piece(self._expander.begin(rows), len(rows)))
        return sum(each.count for each in self._level)

    def chunks(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the places of states that are expanded together, where the level has a number of them.

        States that have been expanded are forgotten, but for the last ones.
        """
        while True:
            last = self._first + self._level[0].count
            for begin in range(self._first, last, self._expander.size):
                yield begin, min(begin + self._expander.size, last)
            if len(self._level) == 1:
                assert last == count
                return
            self._level.popleft()
            self._first = last

    def sample(self, size: int) -> list[list[int]]:
        """Return some of the states of the level."""
        rows = next(each for each in self.parts() if len(each))
        found: list[list[int]] = rows[:: max(1, len(rows) // size)][:size].tolist()
        return found

    def parts(self) -> Iterator[Rows]:
        """Yield the states of the level, part by part."""
        for piece in self._level:
            states = piece.unpacked()
            for begin in range(0, piece.count, self._expander.size):
                yield states.part(begin, min(begin + self._expander.size, piece.count)).rows

    def expand(self, begin: int, end: int) -> NewStates:
        """Expand the states at some places of the level, and accept their new successors for the next.

        Their fingerprints are in the set of those seen from then on.
        """
        self._begin, self.part = begin, self._part(begin, end)
        expanded = self.expanded = self._expander.expand(self.part)
        if len(expanded.wrong):
            self._seen.limit = None  # the search ends with this part, and its verdict is worth one table too large
        new = np.flatnonzero(self._seen.add(expanded.least, expanded.outside))
        self._found = expanded.least[new]
        violating = self._accept(expanded, new)
        return NewStates(
            begin + expanded.generated.rows[new].astype(np.int64),
            self._found,
            begin + np.concatenate([expanded.wrong, violating]),
            len(expanded.generated.rows),
        )

    def _part(self, begin: int, end: int) -> Level:
        """Return the states at some places, which lie in the first piece that is kept."""
        piece = self._level[0]
        assert 0 <= begin - self._first < end - self._first <= piece.count
        piece.states = states = piece.unpacked()
        states.full = self._expander.layout.wide(states.full)
        return states.part(begin - self._first, end - self._first)

    def _accept(self, expanded: Expanded, new: Ints) -> Ints:
        """Add new states to the next level; return the numbers of states with one that is wrong."""
        size, kind = min(self._expander.size, max(_LEAST_PIECE, 2 * len(new))), self.part.full.dtype
        wrong, self._accepted, first = [np.zeros(0, np.int64)], [], 0
        while first < len(new):
            states = self._open_piece(size, kind)
            to = self._next[-1].count
            more = min(len(new) - first, len(states.full) - to)
            wrong.append(self._expander.accept(self.part, expanded, new[first : first + more], states, to))
            self._accepted.append(states.part(to, to + more))
            self._next[-1].count += more
            first += more
        return np.concatenate(wrong)

    def _open_piece(self, size: int, kind: npt.DTypeLike) -> Level:
        """Return the states of the last piece of the next level, in which there is a place: if need be of a new one."""
        if self._next:
            states = self._next[-1].states
            assert isinstance(states, Level)
            if self._next[-1].count < len(states.full) and states.full.dtype == kind:
                return states
            self._next[-1].pack()
        states = Level.empty(size, self.part, kind)
        self._next.append(_Piece(states))
        return states

    def keep(self, kept: int) -> None:
        """Keep the first of the new states; if there are more of them, the search ends, and has not seen these."""
        self._seen.remove_last(self._found[kept:])

    def new_rows(self, kept: int) -> Rows:
        """Return the first of the new states."""
        return np.concatenate([self.part.rows[:0], *(each.rows for each in self._accepted)])[:kept]

    def orbits(self, kept: int) -> tuple[int, int]:
        """Count the images of the first of the new states, and of all states that were generated."""
        hashes = np.concatenate([self.part.hashes[:0], *(each.hashes for each in self._accepted)])[:kept]
        generated = int(orbit_sizes(self.part.hashes)[self.expanded.generated.rows].sum())
        return int(orbit_sizes(hashes).sum()), generated

    def generated_before(self, place: int) -> int:
        """Count the successors of the expanded states before a place."""
        return int(np.searchsorted(self._begin + self.expanded.generated.rows, place))

    def advance(self) -> None:
        """Make the accepted states the level to expand."""
        self._level, self._next, self._accepted, self._first = self._next, deque(), [], 0


@dataclass(slots=True)
class _Piece:
    """Arrays for states, and how many there are. All but the first and the last piece of a level are packed."""

    states: Level | PackedLevel
    count: int = 0

    def pack(self) -> None:
        """Pack the states, if there are any."""
        if isinstance(self.states, Level) and self.count:
            self.states = PackedLevel(self.states.part(0, self.count))

    def unpacked(self) -> Level:
        """Return the states."""
        return self.states if isinstance(self.states, Level) else self.states.unpacked()
