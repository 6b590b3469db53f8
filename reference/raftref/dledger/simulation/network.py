"""The simulated network: a channel from each node to each other one, and which of them are cut.

A channel keeps order (FIFO) or is a bag, from which any message may come next. What comes next, is lost or
is doubled is for the caller to choose; the network itself knows no chance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from raftref.dledger import (
    Abandoned,
    CommitRequest,
    Effects,
    ElectionMessage,
    ElectionResponse,
    Message,
    NodeId,
    Response,
)

Gone: TypeAlias = Callable[[Message], bool]


class Channel(Protocol):
    """Messages under way from one node to another."""

    def __len__(self) -> int:
        """Return how many messages are under way, copies included."""

    def __iter__(self) -> Iterator[Message]:
        """Yield what is under way, in the order in which it was first sent."""

    def deliverable(self) -> Sequence[Message]:
        """Return the messages of which one may come next."""

    def check(self, m: Message) -> None:
        """Raise LookupError unless `m` may come next."""

    def may_be_disturbed(self, m: Message) -> bool:
        """Tell whether `m` may be lost or doubled now."""

    def put(self, m: Message) -> None:
        """Send a message."""

    def take(self, m: Message) -> None:
        """Remove one copy of a deliverable message."""

    def twice(self, m: Message) -> None:
        """Add a copy of a deliverable message."""

    def no_longer_awaited(self, gone: Gone) -> None:
        """Let nobody wait any more for the answers to the requests that `gone` holds for."""

    def without_answers(self, gone: Gone) -> None:
        """Drop the responses that `gone` holds for."""


class FifoChannel:
    """A channel that delivers in order."""

    def __init__(self) -> None:
        """Begin empty."""
        self._queue: list[Message] = []

    def __len__(self) -> int:
        """Return how many messages are under way."""
        return len(self._queue)

    def __iter__(self) -> Iterator[Message]:
        """Yield the messages, the next one first."""
        return iter(self._queue)

    def deliverable(self) -> Sequence[Message]:
        """Return the first message, and the first of an election: what is pushed holds none of them up."""
        first = self._first_of_election()
        return self._queue[:1] + ([self._queue[first]] if first else [])

    def _first_of_election(self) -> int:
        """Return where the first message of an election stands; 0 where there is none, too."""
        return next((place for place, m in enumerate(self._queue) if isinstance(m, ElectionMessage)), 0)

    def put(self, m: Message) -> None:
        """Send a message behind all others."""
        self._queue.append(m)

    def take(self, m: Message) -> None:
        """Remove `m`, the first message or the first of an election."""
        self.check(m)
        del self._queue[self._first_of_election() if isinstance(m, ElectionMessage) else 0]

    def twice(self, m: Message) -> None:
        """Let the first message, which must be `m`, come twice."""
        if not self.may_be_disturbed(m):
            raise LookupError(f"not the first message: {m}")
        self._queue.insert(0, m)

    def no_longer_awaited(self, gone: Gone) -> None:
        """Let nobody wait any more for the answers to the requests that `gone` holds for."""
        self._queue = [_not_awaited(m, gone) for m in self._queue]

    def without_answers(self, gone: Gone) -> None:
        """Drop the responses that `gone` holds for."""
        self._queue = [m for m in self._queue if not (_is_answer(m) and gone(m))]

    def check(self, m: Message) -> None:
        """Raise LookupError unless `m` may come next."""
        if m not in self.deliverable():
            raise LookupError(f"not the next message: {m}")

    def may_be_disturbed(self, m: Message) -> bool:
        """Tell whether `m` is the first message of all."""
        return self._queue[:1] == [m]


class BagChannel:
    """A channel that delivers in any order: how many copies of each message are under way."""

    def __init__(self) -> None:
        """Begin empty."""
        self._copies: dict[Message, int] = {}

    def __len__(self) -> int:
        """Return how many messages are under way, copies included."""
        return sum(self._copies.values())

    def __iter__(self) -> Iterator[Message]:
        """Yield the different messages, the one sent first first."""
        return iter(self._copies)

    def deliverable(self) -> Sequence[Message]:
        """Return every message."""
        return list(self._copies)

    def put(self, m: Message) -> None:
        """Send a message."""
        self._copies[m] = self._copies.get(m, 0) + 1

    def take(self, m: Message) -> None:
        """Remove one copy."""
        self.check(m)
        if self._copies[m] > 1:
            self._copies[m] -= 1
        else:
            del self._copies[m]

    def twice(self, m: Message) -> None:
        """Add one copy."""
        self.check(m)
        self._copies[m] += 1

    def no_longer_awaited(self, gone: Gone) -> None:
        """Let nobody wait any more; requests that differed only in being awaited become copies."""
        after: dict[Message, int] = {}
        for m, count in self._copies.items():
            changed = _not_awaited(m, gone)
            after[changed] = after.get(changed, 0) + count
        self._copies = after

    def without_answers(self, gone: Gone) -> None:
        """Drop the responses that `gone` holds for, with all their copies."""
        self._copies = {m: count for m, count in self._copies.items() if not (_is_answer(m) and gone(m))}

    def check(self, m: Message) -> None:
        """Raise LookupError unless `m` is under way."""
        if m not in self._copies:
            raise LookupError(f"not under way: {m}")

    def may_be_disturbed(self, m: Message) -> bool:
        """Tell whether `m` is under way."""
        return m in self._copies


def _not_awaited(m: Message, gone: Gone) -> Message:
    if isinstance(m, CommitRequest | Response | ElectionResponse):
        return m
    return replace(m, awaited=False) if m.awaited and gone(m) else m


def _is_answer(m: Message) -> bool:
    return isinstance(m, Response | ElectionResponse)


class Network:
    """All channels of a group, and a partition that may cut it in two."""

    def __init__(self, nodes: Sequence[NodeId], *, fifo: bool) -> None:
        """Connect every node with every other one.

        Args:
            nodes: The members of the group.
            fifo: Whether channels keep order.
        """
        self.channels: dict[tuple[NodeId, NodeId], Channel] = {
            (src, dst): FifoChannel() if fifo else BagChannel() for src in nodes for dst in nodes if src != dst
        }
        self._side: frozenset[NodeId] = frozenset()

    def send(self, m: Message) -> None:
        """Put a message under way."""
        self.channels[m.src, m.dst].put(m)

    def is_deliverable(self, m: Message) -> bool:
        """Tell whether a message may come next."""
        return m in self.channels[m.src, m.dst].deliverable()

    def check_deliverable(self, m: Message) -> None:
        """Raise LookupError unless a message may come next."""
        self.channels[m.src, m.dst].check(m)

    def take(self, m: Message) -> None:
        """Remove one copy of a message: it is received, or lost.

        Raises:
            LookupError: It cannot come next.
        """
        self.channels[m.src, m.dst].take(m)

    def may_be_disturbed(self, m: Message) -> bool:
        """Tell whether a message may be lost or doubled now."""
        return self.channels[m.src, m.dst].may_be_disturbed(m)

    def duplicate(self, m: Message) -> None:
        """Let a message come twice.

        Raises:
            LookupError: It cannot come next.
        """
        self.channels[m.src, m.dst].twice(m)

    def apply(self, node: NodeId, effects: Effects) -> None:
        """Do what a step of `node` asks of the network."""
        if effects.requeued is not None:
            self.send(effects.requeued)
        for m in effects.sent:
            self.send(m)
        if effects.abandoned is not None:
            self.abandon(node, effects.abandoned)

    def abandon(self, node: NodeId, abandoned: Abandoned) -> None:
        """Let `node` take no more answers to what it abandoned.

        Its requests under way are no longer awaited; answers to them under way are dropped.
        """

        def gone(m: Message) -> bool:
            return abandoned.type is None or m.type is abandoned.type

        for (src, dst), channel in self.channels.items():
            if src == node and abandoned.peer in (None, dst):
                channel.no_longer_awaited(gone)
            elif dst == node and abandoned.peer in (None, src):
                channel.without_answers(gone)

    def partition(self, side: Collection[NodeId]) -> None:
        """Cut the nodes of one side off from all others; messages between them stay where they are."""
        self._side = frozenset(side)

    def heal(self) -> None:
        """End the partition."""
        self._side = frozenset()

    @property
    def is_partitioned(self) -> bool:
        """Whether the group is cut in two."""
        return bool(self._side)

    def connected(self, one: NodeId, other: NodeId) -> bool:
        """Tell whether no partition lies between two nodes."""
        return (one in self._side) == (other in self._side)
