"""What clients ask of a node: storing entries as a leader, or telling why not."""

from __future__ import annotations

from raftref.action import action
from raftref.dledger.effects import NO_EFFECTS, Effects
from raftref.dledger.messages import Entry, Value
from raftref.dledger.replication.client_futures import Future
from raftref.dledger.replication.entry_pusher import EntryPusher

#: Why a client's entry is not taken. Source: DLedgerResponseCode.
NOT_LEADER, LEADER_TRANSFERRING, LEADER_PENDING_FULL = "NOT_LEADER", "LEADER_TRANSFERRING", "LEADER_PENDING_FULL"
REQUEST_WITH_EMPTY_BODYS = "REQUEST_WITH_EMPTY_BODYS"


class AppendHandler(EntryPusher):
    """How a node takes what clients append.

    Source: DLedgerServer.handleAppend.
    """

    def can_append_as_leader(self, value: Value) -> bool:
        """Only a leader takes what clients append, while not too many wait and it hands over to nobody."""
        full = self.client_futures.is_full(self.member_state.curr_term)
        return self.is_leader and not full and self.election.transferee is None

    @action(when=can_append_as_leader)
    def append_as_leader(self, value: Value) -> Effects:
        """Store a client's entry in the current term and mark it as stored by this node.

        Args:
            value: What the client appends.

        Raises:
            NotEnabled: The node does not lead, or too many clients wait.

        Returns:
            The client that is told success at once, in a group of one; else it waits.

        Source: DLedgerServer.handleAppend, DLedgerMmapFileStore.appendAsLeader, DLedgerEntryPusher.waitAck.
        """
        term = self.member_state.curr_term
        entry = Entry(term, value)
        index = self.ledger_store.append(entry, curr_term=term)
        self.update_peer_water_mark(self.node_id, term, index)
        if self.grain.clients and not self.peers:
            return Effects(acknowledged=(Future(index, entry),))
        if self.grain.clients:
            self.client_futures.put(index, entry)
        return NO_EFFECTS

    def can_append_in_batch(self, value: Value) -> bool:
        """A leader that hands over to nobody goes on with a batch, however many clients wait."""
        return self.grain.batches and self.is_leader and self.election.transferee is None

    @action(when=can_append_in_batch)
    def append_in_batch(self, value: Value) -> Effects:
        """Store an entry of a client's batch that is not the last one: for that one append_as_leader follows.

        The client waits for the last one alone, and only that one is marked as stored by this node.

        Args:
            value: What the client appends.

        Raises:
            NotEnabled: The node does not lead, or clients append no batches.

        Source: DLedgerServer.handleAppend, its loop over a BatchAppendEntryRequest.
        """
        term = self.member_state.curr_term
        self.ledger_store.append(Entry(term, value), curr_term=term)
        return NO_EFFECTS

    def refusal(self) -> str | None:
        """Return why a client's entry would not be taken: the first reason of those there are.

        Source: DLedgerServer.handleAppend, its tests in its order.
        """
        if not self.is_leader:
            return NOT_LEADER
        if self.election.transferee is not None:
            return LEADER_TRANSFERRING
        full = self.client_futures.is_full(self.member_state.curr_term)
        return LEADER_PENDING_FULL if full else None

    def can_refuse_append(self, code: str) -> bool:
        """There is this reason to take nothing; an empty batch is refused where there is no other."""
        empty = REQUEST_WITH_EMPTY_BODYS if self.grain.batches else None
        return self.grain.clients and self.is_up and code == (self.refusal() or empty)

    @action(when=can_refuse_append)
    def refuse_append(self, code: str) -> Effects:
        """Tell a client that its entry is not taken.

        Args:
            code: Why: NOT_LEADER, LEADER_TRANSFERRING, LEADER_PENDING_FULL or REQUEST_WITH_EMPTY_BODYS.

        Raises:
            NotEnabled: It is taken, or refused for another reason; or the grain has no clients.

        Source: DLedgerServer.handleAppend.
        """
        return NO_EFFECTS
