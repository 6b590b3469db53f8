"""What a leader keeps for a peer: the state of the two routines that it runs for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from raftref.hashicorp.messages import RpcType
from raftref.hashicorp.values import NO_INDEX, NO_TERM, Index, NodeId, Term, Zombie


@dataclass(slots=True)
class FollowerReplication:
    """One peer: what it is sent next, and what it was sent and has not answered.

    `current_term` is that of the leadership. `awaiting` is the call of the replication routine that has no answer yet,
    and `sent_index` the last index that it was about, 0 if it had no entry. `beating`: a heartbeat has no answer yet.
    `old_call` and `old`: call or heartbeat were sent before VerifyLeader was asked. `running` holds until the peer
    tells of a higher term.

    Source: followerReplication.
    """

    current_term: Term = NO_TERM
    next_index: Index = NO_INDEX
    running: bool = False
    awaiting: RpcType | None = None
    sent_index: Index = NO_INDEX
    beating: bool = False
    old: bool = False
    old_call: bool = False

    def sends(self, type_: RpcType, sent_index: Index) -> None:
        """Wait for the answer to a call."""
        self.awaiting, self.sent_index = type_, sent_index

    def is_answered(self) -> tuple[Index, bool]:
        """Wait no more; return the last index that the call was about, and whether it was sent before the question."""
        answered = self.sent_index, self.old_call
        self.awaiting, self.sent_index, self.old_call = None, NO_INDEX, False
        return answered

    def is_beaten(self) -> bool:
        """Wait for no heartbeat any more; return whether it was sent before the question."""
        old, self.beating, self.old = self.old, False, False
        return old

    def is_asked(self) -> None:
        """Remember what was sent before VerifyLeader was asked."""
        self.old = self.old or self.beating
        self.old_call = self.old_call or self.awaiting is not None

    def zombie(self, peer: NodeId) -> Zombie:
        """Return what is left of the routine when it is told to stop, and is about to send."""
        return Zombie(peer, self.current_term, self.next_index)

    def record(self) -> dict[str, Any]:
        """Return it as the spec's record."""
        return {
            "running": self.running,
            "term": self.current_term,
            "nextIndex": self.next_index,
            "awaiting": "NOTHING" if self.awaiting is None else self.awaiting.value,
            "sentIndex": self.sent_index,
            "beating": self.beating,
            "old": self.old,
            "oldCall": self.old_call,
        }


NO_REPLICATION = FollowerReplication()
