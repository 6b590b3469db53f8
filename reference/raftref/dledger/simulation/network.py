"""The network of DLedger: the messages that a step sends, and the answers that nobody waits for any more."""

from __future__ import annotations

from collections.abc import Sequence

from raftref.dledger.messages import ElectionMessage, Message, NodeId
from raftref.dledger.steps import Effects
from raftref.simulation.network import Channels


def _is_of_election(m: Message) -> bool:
    return isinstance(m, ElectionMessage)


class Network(Channels[Message]):
    """All channels of a group; where they keep order, pushes hold up no message of an election."""

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
