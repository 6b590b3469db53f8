"""The effects of a step on everything but its own node."""

from __future__ import annotations

from dataclasses import dataclass

from raftref.dledger.messages import AppendRequest, ElectionType, HeartBeat, Message, NodeId, PushType
from raftref.dledger.state import Future


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Answers that a node stops waiting for.

    `peer` None means every peer, `type` None every type of request. Requests under way are then no longer
    awaited, and answers under way are ignored.
    """

    peer: NodeId | None = None
    type: PushType | ElectionType | None = None

    def includes(self, type_: PushType | ElectionType) -> bool:
        """Return whether calls of a type are among them."""
        return self.type is None or type_ is self.type


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a step outside its node, which alone it has changed.

    `sent` are new messages. `requeued` is a request that was taken and stays in the receiver's queue.
    `abandoned` names answers that nobody waits for any more. `heart_beat` is sent by a new leader from now on.
    `acknowledged` are the clients that are answered with SUCCESS, `failed` those with the code that stands beside them.
    """

    sent: tuple[Message, ...] = ()
    requeued: AppendRequest | None = None
    abandoned: Abandoned | None = None
    heart_beat: HeartBeat | None = None
    acknowledged: tuple[Future, ...] = ()
    failed: tuple[tuple[Future, str], ...] = ()


NO_EFFECTS = Effects()
