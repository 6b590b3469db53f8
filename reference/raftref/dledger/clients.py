"""Clients of a leader: what they append, why it may be refused, and when they are answered."""

from __future__ import annotations

from raftref.action import action
from raftref.dledger.choices import Feature
from raftref.dledger.messages import Entry, Index, Term, Value
from raftref.dledger.state import Future, Node
from raftref.dledger.steps import NO_EFFECTS, Effects

#: The reasons for which a client's entry is not taken. Source: DLedgerResponseCode.
NOT_LEADER, LEADER_TRANSFERRING, LEADER_PENDING_FULL = "NOT_LEADER", "LEADER_TRANSFERRING", "LEADER_PENDING_FULL"
DISK_FULL, REQUEST_WITH_EMPTY_BODYS = "DISK_FULL", "REQUEST_WITH_EMPTY_BODYS"
#: The answers to clients that wait in vain.
TERM_CHANGED, WAIT_QUORUM_ACK_TIMEOUT = "TERM_CHANGED", "WAIT_QUORUM_ACK_TIMEOUT"


class AppendHandler(Node):
    """Appending by clients, and the futures that they wait for.

    Source: DLedgerServer.handleAppend, DLedgerEntryPusher.
    """

    # ---- Appending ----

    def can_append_as_leader(self, value: Value) -> bool:
        """The node leads and hands over to nobody, not too many clients wait, and its disk is not full."""
        return self.refusal() is None

    @action(when=can_append_as_leader)
    def append_as_leader(self, value: Value) -> Effects:
        """Store a client's entry in the current term and mark it as stored by this node.

        In a group of one the client is answered at once; else it waits.

        Source: DLedgerServer.handleAppend, DLedgerMmapFileStore.appendAsLeader, DLedgerEntryPusher.waitAck.
        """
        term = self.member_state.curr_term
        entry = Entry(term, value)
        index = self.ledger_store.append(entry, curr_term=term)
        self.update_peer_water_mark(self.node_id, term, index)
        if not self.has(Feature.CLIENTS):
            return NO_EFFECTS
        if not self.peers:
            return Effects(acknowledged=(Future(index, entry),))
        self.client_futures.put(index, entry)
        return NO_EFFECTS

    def can_append_in_batch(self, value: Value) -> bool:
        """The node leads and hands over to nobody, and its disk is not full, however many clients wait."""
        return (
            self.has(Feature.BATCHES)
            and self.refusal() in (None, LEADER_PENDING_FULL)
            and not self.ledger_store.is_disk_full
        )

    @action(when=can_append_in_batch)
    def append_in_batch(self, value: Value) -> Effects:
        """Store an entry of a client's batch that is not the last one: for that one append_as_leader follows.

        The client waits for the last one alone, and only that one is marked as stored by this node.

        Source: DLedgerServer.handleAppend, its loop over a BatchAppendEntryRequest.
        """
        term = self.member_state.curr_term
        self.ledger_store.append(Entry(term, value), curr_term=term)
        return NO_EFFECTS

    def refusal(self) -> str | None:
        """Return the first reason for which a client's entry would not be taken, if there is one.

        The TLA+ spec has no full disks; in memory no disk is full.

        Source: DLedgerServer.handleAppend, its tests in its order; DLedgerMmapFileStore.appendAsLeader.
        """
        if not self.is_leader:
            return NOT_LEADER
        if self.election.transferee is not None:
            return LEADER_TRANSFERRING
        if self.client_futures.is_full(self.member_state.curr_term):
            return LEADER_PENDING_FULL
        return DISK_FULL if self.ledger_store.is_disk_full else None

    def can_refuse_append(self, code: str) -> bool:
        """There is this reason to take nothing; an empty batch is refused where there is no other."""
        empty = REQUEST_WITH_EMPTY_BODYS if self.has(Feature.BATCHES) else None
        return self.has(Feature.CLIENTS) and self.is_up and code == (self.refusal() or empty)

    @action(when=can_refuse_append)
    def refuse_append(self, code: str) -> Effects:
        """Answer a client that its entry is not taken, and why.

        Source: DLedgerServer.handleAppend.
        """
        return NO_EFFECTS

    # ---- Waiting ----

    def indexes_to_answer(self, term: Term, to: Index) -> set[Index]:
        """Return the indexes whose futures a pass ends: downwards from `to`, above the last pass, without a gap.

        Where there is a gap, all below are ended as well. With a state machine that answers, none.

        Source: QuorumAckChecker.doWork, its loop over responses; checkResponseFuturesElapsed on needCheck.
        """
        if self.has(Feature.APPLIES):
            return set()
        waiting, index = self.client_futures.in_term(term), to
        while index > self.last_quorum_index and index in waiting:
            index = Index(index - 1)
        answered = {Index(each) for each in range(index + 1, to + 1)}
        is_gap = index > self.last_quorum_index
        return answered | {each for each in waiting if each < to} if is_gap else answered

    def _first_late(self) -> Future | None:
        answered = self.last_applied_index if self.has(Feature.APPLIES) else self.last_quorum_index
        return self.client_futures.first_late(self.member_state.curr_term, Index(answered + 1))

    def can_check_response_futures_timeout(self) -> bool:
        """A client waits right behind the answered ones, and its time is not over yet."""
        return self.is_leader and self._first_late() is not None

    @action(when=can_check_response_futures_timeout)
    def check_response_futures_timeout(self) -> Effects:
        """Answer the first client that waits too long with WAIT_QUORUM_ACK_TIMEOUT; its entry may be committed yet.

        Source: DLedgerEntryPusher.checkResponseFuturesTimeout.
        """
        late = self._first_late()
        assert late is not None
        self.client_futures.time_out(late)
        return Effects(failed=((late, WAIT_QUORUM_ACK_TIMEOUT),))
