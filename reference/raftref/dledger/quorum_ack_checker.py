"""The leader's commit rule."""

from __future__ import annotations

from raftref.dledger.action import NO_EFFECTS, Effects, action
from raftref.dledger.entry_pusher import EntryPusher
from raftref.dledger.messages import NONE, Index
from raftref.dledger.quorum import quorum_index_by_sorting
from raftref.dledger.switches import Variant


class QuorumAckChecker(EntryPusher):
    """How a leader turns the watermarks of the members into a committed index.

    Source: DLedgerEntryPusher.QuorumAckChecker.
    """

    def quorum_index(self) -> Index:
        """Return the index that a quorum stores, as far as it may be committed by counting.

        As published any entry may (D1). Repaired, as in 0.4.0, only one of the leader's own term.

        Source: QuorumAckChecker.doWork.
        """
        index = quorum_index_by_sorting(self.peer_water_marks.values())
        if self.switches.prior_term_commit is Variant.PUBLISHED:
            return index
        return index if self.ledger_store.term_at(index) == self.member_state.curr_term else NONE

    def can_quorum_ack_checker(self) -> bool:
        """Only a leader commits."""
        return self.is_leader

    @action(when=can_quorum_ack_checker)
    def quorum_ack_checker(self) -> Effects:
        """Commit what a quorum stores: one pass of the checker.

        Raises:
            NotEnabled: The node does not lead.

        Source: QuorumAckChecker.doWork.
        """
        index, term = self.quorum_index(), self.member_state.curr_term
        self.ledger_store.update_committed_index(term, index, curr_term=term)
        self.last_quorum_index = index
        return NO_EFFECTS

    def can_refresh_own_water_mark(self) -> bool:
        """Only a leader has watermarks to keep."""
        return self.is_leader

    @action(when=can_refresh_own_water_mark)
    def refresh_own_water_mark(self) -> Effects:
        """Mark all that the leader stores as its own, as it does once a second.

        Raises:
            NotEnabled: The node does not lead.

        Source: QuorumAckChecker.doWork, beside the leak check.
        """
        self.update_peer_water_mark(self.node_id, self.member_state.curr_term, self.ledger_store.end_index)
        return NO_EFFECTS
