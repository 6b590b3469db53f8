"""The leader's side of replication: for each peer COMPARE, TRUNCATE, APPEND, and COMMIT when idle."""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.effects import NO_EFFECTS, Abandoned, Effects
from raftref.dledger.messages import (
    BatchRequest,
    Code,
    CommitRequest,
    Index,
    NodeId,
    PushType,
    Request,
    Response,
)
from raftref.dledger.replication.dispatcher_state import DispatcherState
from raftref.dledger.replication.entry_pusher import EntryPusher
from raftref.dledger.switches import Variant

#: So many pushes may be unanswered. Source: EntryDispatcher.maxPendingSize.
MAX_PENDING_SIZE = 1000


class EntryDispatcher(EntryPusher):
    """How a leader brings each peer's log into line with its own.

    DLedger runs one dispatcher for each peer; here the peer is an argument, and what the dispatcher for it
    knows is `dispatchers[peer]`. A deposed leader's dispatcher may still send the TRUNCATE it was about to.

    Source: DLedgerEntryPusher.EntryDispatcher.
    """

    def can_do_compare(self, peer: NodeId) -> bool:
        """A leader may compare an entry it can read, while it waits for nothing."""
        dispatcher = self._fresh(peer)
        return (
            self.is_leader
            and dispatcher.type is PushType.COMPARE
            and dispatcher.awaiting is None
            and self.ledger_store.has_entry(self._revised(dispatcher.compare_index))
        )

    def _fresh(self, peer: NodeId) -> DispatcherState:
        anew = self.switches.stale_compare_index is Variant.REPAIRED
        return self.dispatchers[peer].fresh(self.member_state.curr_term, anew=anew)

    def _revised(self, compare_index: Index) -> Index:
        """Return where to compare: an index outside the log is replaced by its end."""
        store = self.ledger_store
        return compare_index if store.begin_index <= compare_index <= store.end_index else store.end_index

    @action(when=can_do_compare)
    def do_compare(self, peer: NodeId) -> Effects:
        """Ask whether the peer holds the entry at the compare index.

        The dispatcher of another term begins here.

        Args:
            peer: The member to ask.

        Returns:
            The COMPARE.

        Raises:
            NotEnabled: The node does not lead or has no such entry, or its dispatcher has something else to do.

        Source: EntryDispatcher.checkAndFreshState; EntryDispatcher.doCompare, up to the push.
        """
        dispatcher = self._fresh(peer)
        index = self._revised(dispatcher.compare_index)
        self.dispatchers[peer] = replace(dispatcher, compare_index=index, awaiting=PushType.COMPARE)
        return Effects(sent=(self.build_request(peer, PushType.COMPARE, index),))

    def can_handle_compare_response(self, m: Response) -> bool:
        """The dispatcher for its sender waits for this answer."""
        return self._awaits(m, PushType.COMPARE)

    @action(when=can_handle_compare_response)
    def handle_compare_response(self, m: Response) -> Effects:
        """Learn whether the peer holds the entry, and append, truncate or compare further down.

        Args:
            m: The answer to COMPARE.

        Returns:
            What is abandoned: the call is over, so other copies of it and of its answer count no more.

        Raises:
            NotEnabled: Nobody waits for it.

        Source: EntryDispatcher.doCompare, from the answer on.
        """
        self.dispatchers[m.src] = self.dispatchers[m.src].waiting_for(None)
        self._after_compare(m.src, m)
        return Effects(abandoned=Abandoned(m.src, PushType.COMPARE))

    def _after_compare(self, peer: NodeId, m: Response) -> None:
        """Choose between the outcomes of a comparison. Source: EntryDispatcher.doCompare."""
        dispatcher, store = self.dispatchers[peer], self.ledger_store
        compared = dispatcher.compare_index
        logs_do_not_meet = m.end_index < store.begin_index or m.begin_index > store.end_index
        if m.code not in (Code.SUCCESS, Code.INCONSISTENT_STATE):
            self.dispatchers[peer] = dispatcher.to_compare()
        elif m.code is Code.SUCCESS:
            if m.end_index == compared:
                self._to_append(peer, compared)
            else:
                self.dispatchers[peer] = dispatcher.to_truncate(compared)
        elif logs_do_not_meet or compared < m.begin_index:
            self.dispatchers[peer] = dispatcher.to_truncate(store.begin_index)
        elif compared > m.end_index:
            self._compare_down(peer, m.end_index)
        else:
            self._compare_down(peer, Index(compared - 1))

    def _compare_down(self, peer: NodeId, index: Index) -> None:
        """Compare a lower entry next; below the first one the peer's whole log is to be cut."""
        dispatcher, begin = self.dispatchers[peer], self.ledger_store.begin_index
        if index < begin:
            self.dispatchers[peer] = dispatcher.to_truncate(begin)
        else:
            self.dispatchers[peer] = replace(dispatcher, compare_index=index)

    def can_do_truncate(self, peer: NodeId) -> bool:
        """A running node may send the TRUNCATE it decided on; neither role nor term are checked again."""
        dispatcher = self.dispatchers[peer]
        return (
            self.is_up
            and dispatcher.type is PushType.TRUNCATE
            and self.ledger_store.has_entry(dispatcher.truncate_index)
            and dispatcher.awaiting is None
        )

    @action(when=can_do_truncate)
    def do_truncate(self, peer: NodeId) -> Effects:
        """Tell the peer where its log must end.

        Args:
            peer: The member to tell.

        Returns:
            The TRUNCATE, which carries the entry itself.

        Raises:
            NotEnabled: Nothing is to be truncated, or the dispatcher waits for an answer.

        Source: EntryDispatcher.doTruncate, up to the push.
        """
        dispatcher = self.dispatchers[peer]
        self.dispatchers[peer] = dispatcher.waiting_for(PushType.TRUNCATE)
        return Effects(sent=(self.build_request(peer, PushType.TRUNCATE, dispatcher.truncate_index),))

    def can_handle_truncate_response(self, m: Response) -> bool:
        """The dispatcher for its sender waits for this answer."""
        return self._awaits(m, PushType.TRUNCATE)

    @action(when=can_handle_truncate_response)
    def handle_truncate_response(self, m: Response) -> Effects:
        """Go on to APPEND if the peer obeyed; begin again with COMPARE otherwise.

        Args:
            m: The answer to TRUNCATE.

        Returns:
            What is abandoned: the call is over, so other copies of it and of its answer count no more.

        Raises:
            NotEnabled: Nobody waits for it.

        Source: EntryDispatcher.doTruncate, from the answer on; doWork's handler of exceptions.
        """
        self.dispatchers[m.src] = self.dispatchers[m.src].waiting_for(None)
        if m.code is Code.SUCCESS:
            self._to_append(m.src, m.index)
        else:
            self.dispatchers[m.src] = self.dispatchers[m.src].to_compare()
        return Effects(abandoned=Abandoned(m.src, PushType.TRUNCATE))

    def _appending(self, peer: NodeId) -> bool:
        """The dispatcher for the peer is in its loop in APPEND."""
        dispatcher = self.dispatchers[peer]
        return (
            self.is_leader
            and dispatcher.term == self.member_state.curr_term
            and dispatcher.type is PushType.APPEND
            and dispatcher.awaiting is None
        )

    def _is_full(self, peer: NodeId) -> bool:
        return len(self.dispatchers[peer].pendings) >= MAX_PENDING_SIZE

    def _all_is_pushed(self, peer: NodeId) -> bool:
        return self.dispatchers[peer].write_index > self.ledger_store.end_index

    def can_do_append(self, peer: NodeId) -> bool:
        """There is an entry at the write index, and not too many are unanswered."""
        return not self.grain.batches and self._may_push(peer, 1)

    def _may_push(self, peer: NodeId, count: int) -> bool:
        """There are so many entries from the write index on, and not too many pushes are unanswered."""
        return self._appending(peer) and not self._is_full(peer) and self._has(self._at(peer), count)

    def _at(self, peer: NodeId) -> Index:
        return self.dispatchers[peer].write_index

    def _has(self, index: Index, count: int) -> bool:
        return count > 0 and all(self.ledger_store.has_entry(Index(each)) for each in range(index, index + count))

    @action(when=can_do_append)
    def do_append(self, peer: NodeId) -> Effects:
        """Push the entry at the write index, without waiting for the answer to the one before.

        Args:
            peer: The member to push to.

        Returns:
            The APPEND.

        Raises:
            NotEnabled: The dispatcher is not in APPEND, or everything is pushed.

        Source: EntryDispatcher.doAppend, doAppendInner.
        """
        dispatcher = self.dispatchers[peer]
        index = dispatcher.write_index
        pushed = dispatcher.pushed(index, 1) if self.grain.pending_map else dispatcher
        self.dispatchers[peer] = replace(pushed, write_index=Index(index + 1))
        return Effects(sent=(self.build_request(peer, PushType.APPEND, index),))

    def can_do_batch_append(self, peer: NodeId, count: int) -> bool:
        """There are so many entries from the write index on, and not too many batches are unanswered."""
        return self.grain.batches and self._may_push(peer, count)

    @action(when=can_do_batch_append)
    def do_batch_append(self, peer: NodeId, count: int) -> Effects:
        """Push entries from the write index on in one APPEND.

        Args:
            peer: The member to push to.
            count: How many: all there are, or as many as make a batch of full size.

        Returns:
            The APPEND.

        Raises:
            NotEnabled: The dispatcher is not in APPEND, or there are not so many, or no batches are pushed.

        Source: EntryDispatcher.doBatchAppend, doBatchAppendInner, sendBatchAppendEntryRequest.
        """
        index = self._at(peer)
        pushed = self.dispatchers[peer].pushed(index, count)
        self.dispatchers[peer] = replace(pushed, write_index=Index(index + count))
        return Effects(sent=(self._build_batch_request(peer, index, count),))

    def can_do_check_append_response(self, peer: NodeId) -> bool:
        """Everything is pushed, or all that may be, and the entry behind the peer's watermark is not answered."""
        index = self._behind_water_mark(peer)
        pushed = not self.grain.pending_map or self._unanswered_count(peer, index) == 1
        return not self.grain.batches and pushed and self._may_resend(peer, 1)

    def _behind_water_mark(self, peer: NodeId) -> Index:
        return Index(self.peer_water_marks[peer] + 1)

    def _unanswered_count(self, peer: NodeId, index: Index) -> int:
        """Return how many entries were pushed from `index` on in an APPEND without an answer, 0 if none was."""
        return next((each.count for each in self.dispatchers[peer].pendings if each.index == index), 0)

    def _may_resend(self, peer: NodeId, count: int) -> bool:
        waits = self._all_is_pushed(peer) or self._is_full(peer)
        return self._appending(peer) and waits and self._has(self._behind_water_mark(peer), count)

    @action(when=can_do_check_append_response)
    def do_check_append_response(self, peer: NodeId) -> Effects:
        """Push the first unanswered entry once more: the one behind the peer's watermark.

        Args:
            peer: The member that did not answer.

        Returns:
            The APPEND.

        Raises:
            NotEnabled: The dispatcher is not in APPEND, has more to push, or lacks no answer.

        Source: EntryDispatcher.doCheckAppendResponse.
        """
        return Effects(sent=(self.build_request(peer, PushType.APPEND, self._behind_water_mark(peer)),))

    def can_do_check_batch_append_response(self, peer: NodeId) -> bool:
        """Everything is pushed, or all that may be, and the batch behind the peer's watermark is not answered."""
        count = self._unanswered_count(peer, self._behind_water_mark(peer))
        return self.grain.batches and self._may_resend(peer, count)

    @action(when=can_do_check_batch_append_response)
    def do_check_batch_append_response(self, peer: NodeId) -> Effects:
        """Push the first unanswered batch once more: the one that begins behind the peer's watermark.

        Args:
            peer: The member that did not answer.

        Returns:
            The APPEND.

        Raises:
            NotEnabled: The dispatcher is not in APPEND, has more to push, or lacks no answer, or no batches are pushed.

        Source: EntryDispatcher.doCheckBatchAppendResponse.
        """
        index = self._behind_water_mark(peer)
        return Effects(sent=(self._build_batch_request(peer, index, self._unanswered_count(peer, index)),))

    def can_check_leak(self, peer: NodeId) -> bool:
        """The dispatcher is about to push more."""
        return self.grain.pending_map and self._appending(peer) and not self._all_is_pushed(peer)

    @action(when=can_check_leak)
    def check_leak(self, peer: NodeId) -> Effects:
        """Forget what was pushed below the peer's watermark; of batches, what was pushed up to there.

        Args:
            peer: The member it was pushed to.

        Raises:
            NotEnabled: The dispatcher is not in APPEND, or has nothing to push.

        Source: EntryDispatcher.doAppend and doBatchAppend, once a second or when the map is full.
        """
        dispatcher, mark = self.dispatchers[peer], self.peer_water_marks[peer]
        first = mark + 1 if self.grain.batches else mark
        kept = frozenset(each for each in dispatcher.pendings if each.index + each.count - 1 >= first)
        self.dispatchers[peer] = replace(dispatcher, pendings=kept)
        return NO_EFFECTS

    def can_handle_append_response(self, m: Response) -> bool:
        """The callback of an APPEND runs whatever the dispatcher is doing."""
        return self.is_up and m.type is PushType.APPEND and self.is_addressed(m)

    @action(when=can_handle_append_response)
    def handle_append_response(self, m: Response) -> Effects:
        """Raise the peer's watermark for a stored entry; for an inconsistent one go back to COMPARE.

        That it was pushed before (REPEATED_PUSH) does nothing. The watermark is that of the term in which the entry
        was pushed.

        Args:
            m: The answer to APPEND.

        Raises:
            NotEnabled: The node is down, or the message is none such.

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
        """Tell the peer how far the leader has committed.

        Args:
            peer: The member to tell.

        Returns:
            The COMMIT; its answer is ignored.

        Raises:
            NotEnabled: The dispatcher is not in APPEND, or has more to push.

        Source: EntryDispatcher.doCommit.
        """
        term, committed = self.dispatchers[peer].term, self.ledger_store.committed_index
        return Effects(sent=(CommitRequest(self.node_id, peer, term, committed),))

    def can_push_time_out(self, peer: NodeId) -> bool:
        """The dispatcher waits for an answer."""
        return self.is_up and self.dispatchers[peer].awaiting is not None

    @action(when=can_push_time_out)
    def push_time_out(self, peer: NodeId) -> Effects:
        """Give up waiting for the answer to COMPARE or TRUNCATE, and begin again with COMPARE.

        Args:
            peer: The member that does not answer.

        Returns:
            What is abandoned: a late answer is ignored.

        Raises:
            NotEnabled: The dispatcher waits for nothing, or the node is down.

        Source: EntryDispatcher.doWork's handler of exceptions.
        """
        dispatcher = self.dispatchers[peer]
        self.dispatchers[peer] = dispatcher.to_compare().waiting_for(None)
        return Effects(abandoned=Abandoned(peer, dispatcher.awaiting))

    def build_request(self, peer: NodeId, type_: PushType, index: Index) -> Request:
        """Make the push of the entry at `index`, in the term that the dispatcher serves.

        Source: EntryDispatcher.buildPushRequest.
        """
        return Request(
            type_,
            self.node_id,
            peer,
            self.dispatchers[peer].term,
            index,
            self.ledger_store.entry(index),
            self.ledger_store.committed_index,
        )

    def _build_batch_request(self, peer: NodeId, index: Index, count: int) -> BatchRequest:
        entries = tuple(self.ledger_store.entry(Index(each)) for each in range(index, index + count))
        term, committed = self.dispatchers[peer].term, self.ledger_store.committed_index
        return BatchRequest(self.node_id, peer, term, index, entries, committed)

    def _awaits(self, m: Response, type_: PushType) -> bool:
        return self.is_up and m.type is type_ and self.is_addressed(m) and self.dispatchers[m.src].awaiting is type_

    def _to_append(self, peer: NodeId, index: Index) -> None:
        """Go to APPEND: the peer is known to store the log up to `index`.

        Source: EntryDispatcher.changeState(APPEND), which sets the watermark of the dispatcher's term.
        """
        self.update_peer_water_mark(peer, self.dispatchers[peer].term, index)
        self.dispatchers[peer] = self.dispatchers[peer].to_append(index)
