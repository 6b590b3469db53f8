"""The leader's dispatchers in APPEND: pushing entries and pushing them again, and COMMIT when there are none."""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.choices import Feature
from raftref.dledger.leader import EntryDispatcher
from raftref.dledger.messages import BatchRequest, Code, CommitRequest, Index, NodeId, PushType, Response
from raftref.dledger.steps import NO_EFFECTS, Effects

#: The number of pushes that may be unanswered. Source: EntryDispatcher.maxPendingSize.
MAX_PENDING_SIZE = 1000


class PushingDispatcher(EntryDispatcher):
    """Pushing entries to peers, one in each APPEND, or several with Batches.

    Source: DLedgerEntryPusher.EntryDispatcher.
    """

    def _appending(self, peer: NodeId) -> bool:
        """The dispatcher for the peer is in its loop in APPEND."""
        dispatcher = self.dispatchers[peer]
        return self._serves(dispatcher) and dispatcher.type is PushType.APPEND and dispatcher.awaiting is None

    def _is_full(self, peer: NodeId) -> bool:
        return len(self.dispatchers[peer].pendings) >= MAX_PENDING_SIZE

    def _all_is_pushed(self, peer: NodeId) -> bool:
        return self.dispatchers[peer].write_index > self.ledger_store.end_index

    def _has_entries(self, index: Index, count: int) -> bool:
        return count > 0 and all(self.ledger_store.has_entry(Index(each)) for each in range(index, index + count))

    # ---- Pushing ----

    def _may_push(self, peer: NodeId, count: int) -> bool:
        """There are `count` entries from the write index on, and not too many pushes are unanswered."""
        index = self.dispatchers[peer].write_index
        return self._appending(peer) and not self._is_full(peer) and self._has_entries(index, count)

    def _next_is_gone(self, peer: NodeId) -> bool:
        """Return whether the entry at the write index lies before the log's begin: its file was deleted."""
        return self._appending(peer) and self.dispatchers[peer].write_index < self.ledger_store.begin_index

    def _compare_anew(self, peer: NodeId) -> Effects:
        """Compare, since the log begins later now.

        The TLA+ spec has no such step: there no log loses its first entries.

        Source: EntryDispatcher.getDLedgerEntryForAppend.
        """
        self.dispatchers[peer] = self.dispatchers[peer].to_compare()
        return NO_EFFECTS

    def can_do_append(self, peer: NodeId) -> bool:
        """There is an entry at the write index, and not too many are unanswered; or there is none any more."""
        return not self.has(Feature.BATCHES) and (self._may_push(peer, 1) or self._next_is_gone(peer))

    @action(when=can_do_append)
    def do_append(self, peer: NodeId) -> Effects:
        """Push the entry at the write index, without waiting for the answer to the one before.

        One that expired cannot be pushed: the dispatcher goes to COMPARE, and nothing is sent.

        Source: EntryDispatcher.doAppend, doAppendInner.
        """
        if self._next_is_gone(peer):
            return self._compare_anew(peer)
        dispatcher = self.dispatchers[peer]
        index = dispatcher.write_index
        pushed = dispatcher.pushed(index, 1) if self.has(Feature.PENDING_MAP) else dispatcher
        self.dispatchers[peer] = replace(pushed, write_index=Index(index + 1))
        return Effects(sent=(self.build_request(peer, PushType.APPEND, index),))

    def can_do_batch_append(self, peer: NodeId, count: int) -> bool:
        """There are `count` entries from the write index on, and not too many batches are unanswered.

        Or there are none any more.
        """
        return self.has(Feature.BATCHES) and (self._may_push(peer, count) or self._next_is_gone(peer))

    @action(when=can_do_batch_append)
    def do_batch_append(self, peer: NodeId, count: int) -> Effects:
        """Push `count` entries from the write index on in one APPEND: all, or those of a batch of full size.

        Those that expired cannot be pushed: the dispatcher goes to COMPARE, and nothing is sent.

        Source: EntryDispatcher.doBatchAppend, doBatchAppendInner, sendBatchAppendEntryRequest.
        """
        if self._next_is_gone(peer):
            return self._compare_anew(peer)
        index = self.dispatchers[peer].write_index
        pushed = self.dispatchers[peer].pushed(index, count)
        self.dispatchers[peer] = replace(pushed, write_index=Index(index + count))
        return Effects(sent=(self._build_batch_request(peer, index, count),))

    def _build_batch_request(self, peer: NodeId, index: Index, count: int) -> BatchRequest:
        entries = tuple(self.ledger_store.entry(Index(each)) for each in range(index, index + count))
        term, committed = self.dispatchers[peer].term, self.ledger_store.committed_index
        return BatchRequest(self.node_id, peer, term, index, entries, committed)

    # ---- Pushing again ----

    def _behind_water_mark(self, peer: NodeId) -> Index:
        return Index(self.peer_water_marks[peer] + 1)

    def _unanswered_count(self, peer: NodeId, index: Index) -> int:
        """Return the number of entries of the unanswered APPEND that begins at `index`, 0 if there is none."""
        return next((each.count for each in self.dispatchers[peer].pendings if each.index == index), 0)

    def _may_resend(self, peer: NodeId, count: int) -> bool:
        return self._waits(peer) and self._has_entries(self._behind_water_mark(peer), count)

    def _waits(self, peer: NodeId) -> bool:
        """Return whether the dispatcher pushes nothing new: all that may be is pushed, or was when it looked."""
        looked_before = self.has(Feature.LATE_RESEND)
        return self._appending(peer) and (looked_before or self._all_is_pushed(peer) or self._is_full(peer))

    def _unanswered_is_gone(self, peer: NodeId) -> bool:
        """Return whether the entry behind the peer's watermark lies before the log's begin: its file was deleted."""
        return self._waits(peer) and self._behind_water_mark(peer) < self.ledger_store.begin_index

    def can_do_check_append_response(self, peer: NodeId) -> bool:
        """All is pushed, or all that may be, and the entry behind the peer's watermark is not answered."""
        unanswered = self._unanswered_count(peer, self._behind_water_mark(peer)) == 1
        pushed = unanswered or not self.has(Feature.PENDING_MAP)
        again = self._may_resend(peer, 1) or self._unanswered_is_gone(peer)
        return not self.has(Feature.BATCHES) and pushed and again

    @action(when=can_do_check_append_response)
    def do_check_append_response(self, peer: NodeId) -> Effects:
        """Push the first unanswered entry once more: the one behind the peer's watermark.

        One that expired cannot be pushed: see `do_append`.

        Source: EntryDispatcher.doCheckAppendResponse.
        """
        if self._unanswered_is_gone(peer):
            return self._compare_anew(peer)
        return Effects(sent=(self.build_request(peer, PushType.APPEND, self._behind_water_mark(peer)),))

    def can_do_check_batch_append_response(self, peer: NodeId) -> bool:
        """All is pushed, or all that may be, and the batch behind the peer's watermark is not answered."""
        count = self._unanswered_count(peer, self._behind_water_mark(peer))
        again = self._may_resend(peer, count) or (count > 0 and self._unanswered_is_gone(peer))
        return self.has(Feature.BATCHES) and again

    @action(when=can_do_check_batch_append_response)
    def do_check_batch_append_response(self, peer: NodeId) -> Effects:
        """Push the first unanswered batch once more: the one that begins behind the peer's watermark.

        One that expired cannot be pushed: see `do_append`.

        Source: EntryDispatcher.doCheckBatchAppendResponse.
        """
        if self._unanswered_is_gone(peer):
            return self._compare_anew(peer)
        index = self._behind_water_mark(peer)
        return Effects(sent=(self._build_batch_request(peer, index, self._unanswered_count(peer, index)),))

    def can_push_answered_again(self, peer: NodeId, index: Index, count: int) -> bool:
        """The dispatcher may have looked for what has no answer before the entries were answered."""
        last = index + count - 1
        answered = 0 <= index <= last <= self.peer_water_marks[peer] and (count == 1 or self.has(Feature.BATCHES))
        may = self.has(Feature.LATE_RESEND) and self._appending(peer)
        return may and answered and self.ledger_store.begin_index <= index and self._has_entries(index, count)

    @action(when=can_push_answered_again)
    def push_answered_again(self, peer: NodeId, index: Index, count: int) -> Effects:
        """Push once more what had no answer when the dispatcher looked, and has one now.

        Args:
            peer: The follower.
            index: The first entry.
            count: How many entries; more than one in a batch alone.

        Source: EntryDispatcher.doCheckAppendResponse and doCheckBatchAppendResponse, between their lines.
        """
        if self.has(Feature.BATCHES):
            return Effects(sent=(self._build_batch_request(peer, index, count),))
        return Effects(sent=(self.build_request(peer, PushType.APPEND, index),))

    def can_check_leak(self, peer: NodeId) -> bool:
        """The dispatcher is about to push more."""
        return self.has(Feature.PENDING_MAP) and self._appending(peer) and not self._all_is_pushed(peer)

    @action(when=can_check_leak)
    def check_leak(self, peer: NodeId) -> Effects:
        """Forget what was pushed below the peer's watermark; of batches, what was pushed up to there.

        Source: EntryDispatcher.doAppend and doBatchAppend, once a second or when the map is full.
        """
        dispatcher, mark = self.dispatchers[peer], self.peer_water_marks[peer]
        first = mark + 1 if self.has(Feature.BATCHES) else mark
        kept = frozenset(each for each in dispatcher.pendings if each.index + each.count - 1 >= first)
        self.dispatchers[peer] = replace(dispatcher, pendings=kept)
        return NO_EFFECTS

    # ---- Answers, and COMMIT ----

    def can_handle_append_response(self, m: Response) -> bool:
        """The node runs; the callback of an APPEND runs whatever the dispatcher is doing."""
        return self.is_up and m.type is PushType.APPEND and self.is_addressed(m)

    @action(when=can_handle_append_response)
    def handle_append_response(self, m: Response) -> Effects:
        """Raise the peer's watermark for a stored entry; for an inconsistent one go back to COMPARE.

        REPEATED_PUSH does nothing. The watermark is that of the term in which the entry was pushed.

        Source: EntryDispatcher.doAppendInner and sendBatchAppendEntryRequest, the callbacks.
        """
        dispatcher = self.dispatchers[m.src]
        if m.code is Code.SUCCESS:
            self.dispatchers[m.src] = dispatcher.answered(m.index)
            self.update_peer_water_mark(m.src, m.term, m.last_index)
        elif m.code is Code.INCONSISTENT_STATE:
            self.dispatchers[m.src] = dispatcher.to_compare()
        return NO_EFFECTS

    def can_do_commit(self, peer: NodeId) -> bool:
        """There is nothing to push."""
        return self._appending(peer) and self._all_is_pushed(peer)

    @action(when=can_do_commit)
    def do_commit(self, peer: NodeId) -> Effects:
        """Send the peer the committed index. The answer is ignored.

        Source: EntryDispatcher.doCommit.
        """
        term, committed = self.dispatchers[peer].term, self.ledger_store.committed_index
        return Effects(sent=(CommitRequest(self.node_id, peer, term, committed),))
