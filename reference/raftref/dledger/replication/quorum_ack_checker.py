"""The leader's commit rule, and the answers to its clients."""

from __future__ import annotations

from raftref.action import action
from raftref.dledger.effects import NO_EFFECTS, Effects
from raftref.dledger.messages import NONE, Index, Term
from raftref.dledger.replication.entry_pusher import Check, EntryPusher
from raftref.dledger.replication.quorum import quorum_index_by_sorting
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
        """Only a leader commits, one pass after the other."""
        return self.is_leader and self.checking is None

    @action(when=can_quorum_ack_checker)
    def quorum_ack_checker(self) -> Effects:
        """Look at what a quorum stores, and tell clients of other terms TERM_CHANGED; a pass of one step commits.

        Returns:
            The clients that are told success.

        Raises:
            NotEnabled: The node does not lead, or is within a pass.

        Source: QuorumAckChecker.doWork, up to the reading of the watermarks.
        """
        term = self.member_state.curr_term
        self.client_futures.clean(term)
        self.checking = Check(term, self.quorum_index())
        return self._act_on_quorum_index(self.checking) if self.grain.atomic_quorum_check else NO_EFFECTS

    def can_act_on_quorum_index(self) -> bool:
        """A pass has read the watermarks; whether the node still leads is not asked."""
        return self.is_up and self.checking is not None

    @action(when=can_act_on_quorum_index)
    def act_on_quorum_index(self) -> Effects:
        """Commit what the pass has read, answer clients, tell the state machine.

        Returns:
            The clients that are told success.

        Raises:
            NotEnabled: No pass has read anything, or the node is down.

        Source: QuorumAckChecker.doWork, from updateCommittedIndex on.
        """
        assert self.checking is not None
        return self._act_on_quorum_index(self.checking)

    def _act_on_quorum_index(self, check: Check) -> Effects:
        self.update_committed_index(check.term, check.index)
        published = self.switches.ack_by_quorum_index is Variant.PUBLISHED
        ack = check.index if published else min(check.index, self.ledger_store.committed_index)
        told = self.client_futures.answer(check.term, self._to_answer(check.term, ack))
        self.last_quorum_index, self.checking = ack, None
        return Effects(acknowledged=told)

    def _to_answer(self, term: Term, to: Index) -> set[Index]:
        """Return which clients of a term a pass answers: downwards, above the last pass, without a gap.

        Where there is a gap, all below are answered as well. With a state machine that answers, none.

        Source: QuorumAckChecker.doWork, its loop over responses; checkResponseFuturesElapsed on needCheck.
        """
        if self.grain.applies:
            return set()
        waiting, index = self.client_futures.of_term(term), to
        while index > self.last_quorum_index and index in waiting:
            index = Index(index - 1)
        answered = {Index(each) for each in range(index + 1, to + 1)}
        is_gap = index > self.last_quorum_index
        return answered | {each for each in waiting if each < to} if is_gap else answered

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

    def _first_unanswered(self) -> Index:
        return Index((self.last_applied_index if self.grain.applies else self.last_quorum_index) + 1)

    def can_check_response_futures_timeout(self) -> bool:
        """A client waits behind the quorum index and was not told yet that it takes too long."""
        late = self.client_futures.first_late(self.member_state.curr_term, self._first_unanswered())
        return self.is_leader and late is not None

    @action(when=can_check_response_futures_timeout)
    def check_response_futures_timeout(self) -> Effects:
        """Tell the first client that waits too long WAIT_QUORUM_ACK_TIMEOUT; its entry may be committed yet.

        Raises:
            NotEnabled: The node does not lead, or no client waits right behind the quorum index.

        Source: DLedgerEntryPusher.checkResponseFuturesTimeout.
        """
        late = self.client_futures.first_late(self.member_state.curr_term, self._first_unanswered())
        assert late is not None
        self.client_futures.time_out(late)
        return NO_EFFECTS
