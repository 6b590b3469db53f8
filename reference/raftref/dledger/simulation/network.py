"""The network of DLedger: the messages that a step sends, and the answers that nobody waits for any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from raftref.dledger.messages import CommitRequest, ElectionMessage, ElectionResponse, Message, NodeId, Response
from raftref.dledger.steps import Abandoned, Effects
from raftref.simulation import Network as Channels


def _is_of_election(m: Message) -> bool:
    return isinstance(m, ElectionMessage)


class Network(Channels[Message]):
    """All channels of a group; where they keep order, what is pushed holds up no message of an election."""

    def __init__(self, nodes: Sequence[NodeId], *, fifo: bool) -> None:
        """Connect every node with every other one.

        Args:
            nodes: The members of the group.
            fifo: Whether channels keep order.
        """
        super().__init__(nodes, fifo=fifo, overtakes=_is_of_election)

    def apply(self, node: NodeId, effects: Effects) -> None:
        """Apply the effects of a step of `node`."""
        if effects.requeued is not None:
            self.send(effects.requeued)
        for m in effects.sent:
            self.send(m)
        if effects.abandoned is not None:
            self.abandon(node, effects.abandoned)

    def abandon(self, node: NodeId, abandoned: Abandoned) -> None:
        """Let `node` take no more answers to the calls it abandoned.

        Its requests under way are no longer awaited; answers to them under way are dropped.
        """

        def is_abandoned(m: Message) -> bool:
            return abandoned.type is None or m.type is abandoned.type

        def not_awaited(m: Message) -> Message:
            if isinstance(m, CommitRequest | Response | ElectionResponse):
                return m
            return replace(m, awaited=False) if m.awaited and is_abandoned(m) else m

        def without_answers(m: Message) -> Message | None:
            return None if isinstance(m, Response | ElectionResponse) and is_abandoned(m) else m

        for (src, dst), channel in self.channels.items():
            if src == node and abandoned.peer in (None, dst):
                channel.change(not_awaited)
            elif dst == node and abandoned.peer in (None, src):
                channel.change(without_answers)
