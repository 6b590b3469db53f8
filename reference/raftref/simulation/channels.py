"""Messages under way from one node to another.

A channel keeps order (FIFO), or is a bag from which any message may come next. Which one comes next, is lost or doubled
is the caller's choice; a channel knows no chance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar


class Addressed(Hashable, Protocol):
    """A message with its sender and its receiver."""

    @property
    def src(self) -> str:
        """The sender."""

    @property
    def dst(self) -> str:
        """The receiver."""


M = TypeVar("M", bound=Addressed)


class Channel(Protocol[M]):
    """Messages under way from one node to another."""

    def __len__(self) -> int:
        """Return how many messages are under way, copies included."""

    def __iter__(self) -> Iterator[M]:
        """Yield what is under way, in the order in which it was first sent."""

    def deliverable(self) -> Sequence[M]:
        """Return the messages that may come next."""

    def check(self, m: M) -> None:
        """Raise LookupError unless `m` may come next."""

    def may_be_disturbed(self, m: M) -> bool:
        """Return whether `m` may be lost or doubled now."""

    def put(self, m: M) -> None:
        """Send a message."""

    def take(self, m: M) -> None:
        """Remove one copy of a deliverable message."""

    def twice(self, m: M) -> None:
        """Add a copy of a deliverable message."""

    def change(self, after: Callable[[M], M | None]) -> None:
        """Replace every message by what `after` makes of it; None drops it."""


def _never(_m: object) -> bool:
    return False


class FifoChannel(Generic[M]):
    """A channel that delivers in order."""

    def __init__(self, overtakes: Callable[[M], bool] = _never) -> None:
        """Begin empty.

        Args:
            overtakes: Returns whether a message overtakes all but its like; the first such message may come next, too.
        """
        self._overtakes = overtakes
        self._queue: list[M] = []

    def __len__(self) -> int:
        """Return how many messages are under way."""
        return len(self._queue)

    def __iter__(self) -> Iterator[M]:
        """Yield the messages, the next one first."""
        return iter(self._queue)

    def deliverable(self) -> Sequence[M]:
        """Return the first message, and the first of those that overtake."""
        first = self._first_that_overtakes()
        return self._queue[:1] + ([self._queue[first]] if first else [])

    def _first_that_overtakes(self) -> int:
        """Return where the first message that overtakes stands; 0 where there is none, too."""
        return next((place for place, m in enumerate(self._queue) if self._overtakes(m)), 0)

    def put(self, m: M) -> None:
        """Send a message behind all others."""
        self._queue.append(m)

    def take(self, m: M) -> None:
        """Remove `m`, the first message or the first of those that overtake."""
        self.check(m)
        del self._queue[self._first_that_overtakes() if self._overtakes(m) else 0]

    def twice(self, m: M) -> None:
        """Let the first message, which must be `m`, come twice."""
        if not self.may_be_disturbed(m):
            raise LookupError(f"not the first message: {m}")
        self._queue.insert(0, m)

    def change(self, after: Callable[[M], M | None]) -> None:
        """Replace every message by what `after` makes of it; None drops it."""
        self._queue = [changed for m in self._queue if (changed := after(m)) is not None]

    def check(self, m: M) -> None:
        """Raise LookupError unless `m` may come next."""
        if m not in self.deliverable():
            raise LookupError(f"not the next message: {m}")

    def may_be_disturbed(self, m: M) -> bool:
        """Return whether `m` is the first message of all."""
        return self._queue[:1] == [m]


class BagChannel(Generic[M]):
    """A channel that delivers in any order: how many copies of each message are under way."""

    def __init__(self) -> None:
        """Begin empty."""
        self._copies: dict[M, int] = {}

    def __len__(self) -> int:
        """Return how many messages are under way, copies included."""
        return sum(self._copies.values())

    def __iter__(self) -> Iterator[M]:
        """Yield the different messages, the one sent first first."""
        return iter(self._copies)

    def deliverable(self) -> Sequence[M]:
        """Return every message."""
        return list(self._copies)

    def put(self, m: M) -> None:
        """Send a message."""
        self._copies[m] = self._copies.get(m, 0) + 1

    def take(self, m: M) -> None:
        """Remove one copy."""
        self.check(m)
        if self._copies[m] > 1:
            self._copies[m] -= 1
        else:
            del self._copies[m]

    def twice(self, m: M) -> None:
        """Add one copy."""
        self.check(m)
        self._copies[m] += 1

    def change(self, after: Callable[[M], M | None]) -> None:
        """Replace every message, with its copies; what becomes equal becomes copies of one message."""
        changed: dict[M, int] = {}
        for m, count in self._copies.items():
            replaced = after(m)
            if replaced is not None:
                changed[replaced] = changed.get(replaced, 0) + count
        self._copies = changed

    def check(self, m: M) -> None:
        """Raise LookupError unless `m` is under way."""
        if m not in self._copies:
            raise LookupError(f"not under way: {m}")

    def may_be_disturbed(self, m: M) -> bool:
        """Return whether `m` is under way."""
        return m in self._copies
