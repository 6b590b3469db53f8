"""The frontier of a search by tables: the states of a level that wait to be expanded, and the new ones of the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.expander import Expanded, Expander, Level
from lockstep.tla.tables.fingerprint_set import FingerprintSet
from lockstep.tla.tables.fingerprints import Hashes, first_places, orbit_sizes
from lockstep.tla.tables.state_layout import Rows


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
        accepted: the new states, in parts.
    """

    def __init__(self, expander: Expander, seen: FingerprintSet) -> None:
        """Begin without states; `seen` has the fingerprints of all that were found."""
        self._expander, self._seen = expander, seen
        self.level: Level
        self.part: Level
        self.expanded: Expanded
        self.accepted: list[Level] = []
        self._begin = 0
        self._found: Hashes = np.zeros(0, np.uint64)

    @property
    def device_bytes(self) -> int:
        """The size of what lies elsewhere than in the memory of the processor."""
        return 0

    @property
    def nbytes(self) -> int:
        """The size of the states."""
        return sum(each.nbytes for each in (self.level, *self.accepted))

    def start(self, parts: Iterable[Rows]) -> int:
        """Take the states of a level, in one part at least; return their number."""
        self.level = Level.joined([self._expander.begin(rows) for rows in parts])
        return len(self.level.full)

    def chunks(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the places of states that are expanded together, where the level has a number of them."""
        for begin in range(0, count, self._expander.size):
            yield begin, min(begin + self._expander.size, count)

    def sample(self, size: int) -> list[list[int]]:
        """Return some of the states of the level."""
        rows = self.level.rows
        found: list[list[int]] = rows[:: max(1, len(rows) // size)][:size].tolist()
        return found

    def parts(self) -> Iterator[Rows]:
        """Yield the states of the level, part by part."""
        for begin in range(0, len(self.level.full), self._expander.size):
            yield self.level.part(begin, begin + self._expander.size).rows

    def expand(self, begin: int, end: int) -> NewStates:
        """Expand the states at some places of the level, and accept their new successors for the next."""
        self._begin, self.part = begin, self.level.part(begin, end)
        expanded = self.expanded = self._expander.expand(self.part)
        candidates = np.flatnonzero(~expanded.outside & ~self._seen.has(expanded.least))
        new = candidates[first_places(expanded.least[candidates])]
        self._found = expanded.least[new]
        accepted, violating = self._expander.accept(self.part, expanded, new)
        self.accepted.append(accepted)
        return NewStates(
            begin + expanded.generated.rows[new],
            self._found,
            begin + np.concatenate([expanded.wrong, violating]),
            len(expanded.generated.rows),
        )

    def keep(self, kept: int) -> None:
        """Add the first of the new states to the set of those seen."""
        self._seen.add(self._found[:kept])

    def orbits(self, kept: int) -> tuple[int, int]:
        """Count the images of the first of the new states, and of all states that were generated."""
        new = int(orbit_sizes(self.accepted[-1].hashes[:kept]).sum())
        return new, int(orbit_sizes(self.part.hashes)[self.expanded.generated.rows].sum())

    def generated_before(self, place: int) -> int:
        """Count the successors of the expanded states before a place."""
        return int(np.searchsorted(self._begin + self.expanded.generated.rows, place))

    def advance(self) -> None:
        """Make the accepted states the level to expand."""
        parts = [each for each in self.accepted if len(each.full)] or [self.level.part(0, 0)]
        self.level, self.accepted = Level.joined(parts), []
