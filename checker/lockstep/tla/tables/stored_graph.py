"""All states and steps of a search, stored as arrays and read as lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload

import numpy as np

from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.state_layout import Layout, Rows

#: States that are kept once they are decoded.
_MAX_DECODED = 1 << 16


class StoredStates(Sequence[State]):
    """States by number, decoded from their rows one by one."""

    def __init__(self, layout: Layout) -> None:
        self._layout, self.nbytes = layout, 0
        self._parts: list[Rows] = []
        self._whole: Rows = np.zeros((0, layout.width), np.int16)
        self._decoded = lru_cache(_MAX_DECODED)(self._decode)

    def add(self, rows: Rows) -> None:
        """Add states at the end."""
        self._parts.append(np.ascontiguousarray(rows))  # of what has room for more columns, these alone
        self.nbytes += self._parts[-1].nbytes

    @property
    def rows(self) -> Rows:
        """The rows of all."""
        if self._parts:
            self._whole = np.concatenate([self._whole, *self._parts])
            self._parts = []
        return self._whole

    def rows_of(self, states: Sequence[State]) -> Rows:
        """Return the rows that states have, or would have if they were among these."""
        return self._layout.encode(states)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> State: ...
    @overload
    def __getitem__(self, place: slice) -> list[State]: ...
    def __getitem__(self, place: int | slice) -> State | list[State]:
        """Return a state, or some."""
        if isinstance(place, slice):
            return [self._decoded(number) for number in range(*place.indices(len(self)))]
        return self._decoded(range(len(self))[place])

    def _decode(self, number: int) -> State:
        return self._layout.decode(self.rows[number].tolist())


class StoredSuccessors(Sequence[list[int]]):
    """The next states of each state, by number, in the order in which they were generated."""

    def __init__(self) -> None:
        self._sources: list[Ints] = []
        self._targets: list[Ints] = []
        self._starts: Ints = np.zeros(1, np.int64)
        self._all: Ints = np.zeros(0, np.int32)
        self._count = self.nbytes = 0

    def add(self, sources: Ints, targets: Ints, count: int) -> None:
        """Add steps of states, in their order; `count` is the number of states that have theirs now."""
        self._sources.append(sources)
        self._targets.append(targets)
        self._count = count
        self.nbytes += sources.nbytes + targets.nbytes

    def edges(self) -> tuple[Ints, Ints]:
        """Return the source and the target of every step."""
        empty = [np.zeros(0, np.int64)]
        return np.concatenate(self._sources or empty), np.concatenate(self._targets or empty)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> list[int]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[int]]: ...
    def __getitem__(self, place: int | slice) -> list[int] | list[list[int]]:
        """Return the next states of a state, or of some."""
        if len(self._starts) != self._count + 1:
            sources, self._all = self.edges()
            self._starts = np.searchsorted(sources, np.arange(self._count + 1))
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(self._count))]
        number = range(self._count)[place]
        found: list[int] = self._all[self._starts[number] : self._starts[number + 1]].tolist()
        return found

    def __iter__(self) -> Iterator[list[int]]:
        return (self[number] for number in range(self._count))


class StoredGraph:
    """States and steps.

    Attributes:
        actions: the name of the action of each step, in the order of the steps, where edges are kept.
    """

    def __init__(self, layout: Layout) -> None:
        self.states, self.successors = StoredStates(layout), StoredSuccessors()
        self.actions: list[str] = []

    @property
    def nbytes(self) -> int:
        """The size of the arrays, and of the list of actions, about."""
        return self.states.nbytes + self.successors.nbytes + 8 * len(self.actions)
