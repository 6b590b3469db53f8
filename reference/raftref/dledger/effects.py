"""What a step of DLedger asks of the world outside."""

from __future__ import annotations

from dataclasses import dataclass

from raftref.dledger.messages import AppendRequest, ElectionType, HeartBeat, Message, NodeId, PushType
from raftref.dledger.replication.client_futures import Future


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Whose answers a node stops waiting for.

    `peer` None means every peer, `type` None every type of request. Requests under way are then no longer
    awaited, and answers under way are ignored.
    """

    peer: NodeId | None = None
    type: PushType | ElectionType | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """What a step asks of the world outside: it has changed nothing but its node.

    `sent` are new messages. `requeued` is a request that was taken and stays in the receiver's queue.
    `abandoned` names answers nobody waits for any more. `heart_beat` is what a new leader tells from now on.
    `acknowledged` are the clients that are told success.
    """

    sent: tuple[Message, ...] = ()
    requeued: AppendRequest | None = None
    abandoned: Abandoned | None = None
    heart_beat: HeartBeat | None = None
    acknowledged: tuple[Future, ...] = ()


NO_EFFECTS = Effects()
