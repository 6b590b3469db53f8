"""How a node's state machine comes to apply what is committed."""

from __future__ import annotations

from raftref.action import action
from raftref.dledger.effects import Effects
from raftref.dledger.messages import Index
from raftref.dledger.replication.entry_pusher import EntryPusher


class StateMachineCaller(EntryPusher):
    """Applies entries in their order up to the index that it was told.

    Source: StateMachineCaller, with one task: the highest index it was told.
    """

    def can_do_committed(self) -> bool:
        """It was told an index beyond what is applied."""
        return self.is_up and self.told_index > self.last_applied_index

    @action(when=can_do_committed)
    def do_committed(self) -> Effects:
        """Apply what it was told, and answer the clients of these entries.

        An entry that is not there ends it; what was applied before that will be applied again.

        Returns:
            The clients that are told success.

        Raises:
            NotEnabled: All is applied, or the node is down.

        Source: StateMachineCaller.doCommitted, DLedgerEntryPusher.completeResponseFuture.
        """
        index = Index(self.last_applied_index + 1)
        while index <= self.told_index and self.ledger_store.has_entry(index):
            index = Index(index + 1)
        applied = [Index(each) for each in range(self.last_applied_index + 1, index)]
        if index > self.told_index:
            self.last_applied_index = self.told_index
        return Effects(acknowledged=self.client_futures.answer(self.member_state.curr_term, applied))
