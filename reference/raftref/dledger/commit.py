"""The leader's commit rule, and the state machine that applies what is committed."""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.choices import Feature, Flaw
from raftref.dledger.clients import TERM_CHANGED, AppendHandler
from raftref.dledger.messages import NONE, Index
from raftref.dledger.quorum import quorum_index_by_sorting
from raftref.dledger.state import Node, QuorumPass
from raftref.dledger.steps import NO_EFFECTS, Effects


class QuorumAckChecker(AppendHandler):
    """Passes of a leader, which turn the watermarks of the members into a committed index.

    Source: DLedgerEntryPusher.QuorumAckChecker.
    """

    def quorum_index(self) -> Index:
        """Return the index that a quorum stores, as far as it may be committed by counting.

        As published any entry may (PriorTermCommit). Repaired, as in 0.4.0, only one of the leader's own term.

        Source: QuorumAckChecker.doWork.
        """
        index = quorum_index_by_sorting(self.peer_water_marks.values())
        if self.has(Flaw.PRIOR_TERM_COMMIT):
            return index
        return index if self.ledger_store.term_at(index) == self.member_state.curr_term else NONE

    def can_quorum_ack_checker(self) -> bool:
        """The node leads, and no pass is under way."""
        return self.is_leader and self.checking is None

    @action(when=can_quorum_ack_checker)
    def quorum_ack_checker(self) -> Effects:
        """Read what a quorum stores, and answer clients of other terms with TERM_CHANGED; a whole pass commits it.

        Source: QuorumAckChecker.doWork, up to the reading of the watermarks.
        """
        term = self.member_state.curr_term
        failed = tuple((each, TERM_CHANGED) for each in self.client_futures.clean(term))
        self.checking = QuorumPass(term, self.quorum_index())
        effects = NO_EFFECTS if self.has(Feature.SPLIT_QUORUM_CHECK) else self._act(self.checking)
        return replace(effects, failed=failed)

    def can_act_on_quorum_index(self) -> bool:
        """A pass has read the watermarks; whether the node still leads is not asked."""
        return self.is_up and self.checking is not None

    @action(when=can_act_on_quorum_index)
    def act_on_quorum_index(self) -> Effects:
        """Commit what the pass has read, answer clients, let the state machine apply.

        Source: QuorumAckChecker.doWork, from updateCommittedIndex on.
        """
        assert self.checking is not None
        return self._act(self.checking)

    def _act(self, pass_: QuorumPass) -> Effects:
        self.learn_committed(pass_.term, pass_.index)
        by_quorum = self.has(Flaw.ACK_BY_QUORUM_INDEX)
        ack = pass_.index if by_quorum else min(pass_.index, self.ledger_store.committed_index)
        acknowledged = self.client_futures.answer(pass_.term, self.indexes_to_answer(pass_.term, ack))
        self.last_quorum_index, self.checking = ack, None
        return Effects(acknowledged=acknowledged)

    def can_refresh_own_water_mark(self) -> bool:
        """The node leads."""
        return self.is_leader

    @action(when=can_refresh_own_water_mark)
    def refresh_own_water_mark(self) -> Effects:
        """Mark all that the leader stores as its own, as it does once a second.

        Source: QuorumAckChecker.doWork, beside the leak check.
        """
        self.update_peer_water_mark(self.node_id, self.member_state.curr_term, self.ledger_store.end_index)
        return NO_EFFECTS


class StateMachineCaller(Node):
    """The state machine, which applies entries in their order.

    Source: StateMachineCaller, with one task: the highest index that it was given.
    """

    def can_do_committed(self) -> bool:
        """An index above the last applied one is to be applied."""
        return self.is_up and self.apply_index > self.last_applied_index

    @action(when=can_do_committed)
    def do_committed(self) -> Effects:
        """Apply entries, and answer their clients.

        An entry that is not there ends it; what was applied before that will be applied again.

        Source: StateMachineCaller.doCommitted, DLedgerEntryPusher.completeResponseFuture.
        """
        index = Index(self.last_applied_index + 1)
        while index <= self.apply_index and self.ledger_store.has_entry(index):
            index = Index(index + 1)
        applied = [Index(each) for each in range(self.last_applied_index + 1, index)]
        if index > self.apply_index:
            self.last_applied_index = self.apply_index
        return Effects(acknowledged=self.client_futures.answer(self.member_state.curr_term, applied))
