"""The simulated network: a channel from each node to each other one, and which of them are cut."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from raftref.simulation.channels import Addressed, BagChannel, Channel, FifoChannel

M = TypeVar("M", bound=Addressed)


class AbandonedCalls(Protocol):
    """Calls of a node whose answers it awaits no more."""

    @property
    def peer(self) -> str | None:
        """The node that was called, None where all were."""

    def includes(self, type_: Any) -> bool:
        """Return whether calls of a type are among them."""


def _never(_m: object) -> bool:
    return False


class Channels(Generic[M]):
    """All channels of a group, and a partition that may cut it in two."""

    def __init__(self, nodes: Sequence[str], *, fifo: bool, overtakes: Callable[[M], bool] = _never) -> None:
        """Connect every node with every other one.

        Args:
            nodes: The members of the group.
            fifo: Whether channels keep order.
            overtakes: Where they do: messages that nothing but their like holds up.
        """
        self.channels: dict[tuple[str, str], Channel[M]] = {
            (src, dst): FifoChannel(overtakes) if fifo else BagChannel() for src in nodes for dst in nodes if src != dst
        }
        self._side: frozenset[str] = frozenset()

    def send(self, m: M) -> None:
        """Put a message under way."""
        self.channels[m.src, m.dst].put(m)

    def is_deliverable(self, m: M) -> bool:
        """Return whether a message may come next."""
        return m in self.channels[m.src, m.dst].deliverable()

    def check_deliverable(self, m: M) -> None:
        """Raise LookupError unless a message may come next."""
        self.channels[m.src, m.dst].check(m)

    def take(self, m: M) -> None:
        """Remove one copy of a message: it is received, or lost.

        Raises:
            LookupError: It cannot come next.
        """
        self.channels[m.src, m.dst].take(m)

    def may_be_disturbed(self, m: M) -> bool:
        """Return whether a message may be lost or doubled now."""
        return self.channels[m.src, m.dst].may_be_disturbed(m)

    def duplicate(self, m: M) -> None:
        """Let a message come twice.

        Raises:
            LookupError: It cannot come next.
        """
        self.channels[m.src, m.dst].twice(m)

    def abandon(self, node: str, calls: AbandonedCalls) -> None:
        """Let `node` take no more answers to calls: requests under way are no longer awaited, answers are dropped."""

        def not_awaited(m: Any) -> Any:
            return replace(m, awaited=False) if m.kind == "request" and m.awaited and calls.includes(m.type) else m

        def without_answers(m: Any) -> Any:
            return None if m.kind == "response" and calls.includes(m.type) else m

        for (src, dst), channel in self.channels.items():
            if src == node and calls.peer in (None, dst):
                channel.change(not_awaited)
            elif dst == node and calls.peer in (None, src):
                channel.change(without_answers)

    def partition(self, side: Collection[str]) -> None:
        """Cut the nodes of one side off from all others; messages between them stay where they are."""
        self._side = frozenset(side)

    def heal(self) -> None:
        """End the partition."""
        self._side = frozenset()

    @property
    def is_partitioned(self) -> bool:
        """Whether the group is cut in two."""
        return bool(self._side)

    def connected(self, one: str, other: str) -> bool:
        """Return whether no partition lies between two nodes."""
        return (one in self._side) == (other in self._side)
