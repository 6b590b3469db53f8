"""The leader's dispatchers in COMPARE and TRUNCATE: bringing the log of each peer in line with its own."""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.choices import Flaw
from raftref.dledger.messages import Code, Index, NodeId, PushType, Request, Response
from raftref.dledger.state import DispatcherState, Node
from raftref.dledger.steps import Abandoned, Effects


class EntryDispatcher(Node):
    """Comparing and truncating the logs of peers.

    DLedger runs one dispatcher for each peer; here the peer is an argument, and `dispatchers[peer]` is the state of
    its dispatcher. As published, that of a deposed leader still sends the TRUNCATE it was about to (DeposedTruncate).

    Source: DLedgerEntryPusher.EntryDispatcher.
    """

    def build_request(self, peer: NodeId, type_: PushType, index: Index) -> Request:
        """Make the push of the entry at `index`, in the term that the dispatcher serves.

        Source: EntryDispatcher.buildPushRequest.
        """
        store = self.ledger_store
        term = self.dispatchers[peer].term
        return Request(type_, self.node_id, peer, term, index, store.entry(index), store.committed_index)

    def _awaits(self, m: Response, type_: PushType) -> bool:
        return self.is_up and m.type is type_ and self.is_addressed(m) and self.dispatchers[m.src].awaiting is type_

    def _to_append(self, peer: NodeId, index: Index) -> None:
        """Go to APPEND: the peer is known to store the log up to `index`.

        Source: EntryDispatcher.changeState(APPEND), which sets the watermark of the dispatcher's term.
        """
        self.update_peer_water_mark(peer, self.dispatchers[peer].term, index)
        self.dispatchers[peer] = self.dispatchers[peer].to_append(index)

    # ---- COMPARE ----

    def can_do_compare(self, peer: NodeId) -> bool:
        """The node leads, can read the entry to compare, and waits for nothing."""
        dispatcher = self._fresh(peer)
        return (
            self.is_leader
            and dispatcher.type is PushType.COMPARE
            and dispatcher.awaiting is None
            and self.ledger_store.has_entry(self._index_to_compare(dispatcher))
        )

    def _fresh(self, peer: NodeId) -> DispatcherState:
        keeps = self.has(Flaw.STALE_COMPARE_INDEX)
        return self.dispatchers[peer].fresh(self.member_state.curr_term, keeps_compare_index=keeps)

    def _index_to_compare(self, dispatcher: DispatcherState) -> Index:
        """Return the compare index, or the end of the log where that is no index of it."""
        store, index = self.ledger_store, dispatcher.compare_index
        return index if store.begin_index <= index <= store.end_index else store.end_index

    @action(when=can_do_compare)
    def do_compare(self, peer: NodeId) -> Effects:
        """Ask whether the peer holds the entry at the compare index. The dispatcher of another term begins here.

        Source: EntryDispatcher.checkAndFreshState; EntryDispatcher.doCompare, up to the push.
        """
        dispatcher = self._fresh(peer)
        index = self._index_to_compare(dispatcher)
        self.dispatchers[peer] = replace(dispatcher, compare_index=index, awaiting=PushType.COMPARE)
        return Effects(sent=(self.build_request(peer, PushType.COMPARE, index),))

    def can_handle_compare_response(self, m: Response) -> bool:
        """The dispatcher for its sender waits for this answer."""
        return self._awaits(m, PushType.COMPARE)

    @action(when=can_handle_compare_response)
    def handle_compare_response(self, m: Response) -> Effects:
        """Learn whether the peer holds the entry, and append, truncate or compare further down.

        The call is over: other copies of it and of its answer count no more.

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

    # ---- TRUNCATE ----

    def can_do_truncate(self, peer: NodeId) -> bool:
        """The node runs and has decided on a TRUNCATE; as published, neither role nor term are checked again."""
        dispatcher = self.dispatchers[peer]
        return (
            self.is_up
            and (self.has(Flaw.DEPOSED_TRUNCATE) or self._serves(dispatcher))
            and dispatcher.type is PushType.TRUNCATE
            and self.ledger_store.has_entry(dispatcher.truncate_index)
            and dispatcher.awaiting is None
        )

    def _serves(self, dispatcher: DispatcherState) -> bool:
        """Return whether the node leads the term of a dispatcher."""
        return self.is_leader and dispatcher.term == self.member_state.curr_term

    @action(when=can_do_truncate)
    def do_truncate(self, peer: NodeId) -> Effects:
        """Send the peer the entry with which its log must end.

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

        The call is over: other copies of it and of its answer count no more.

        Source: EntryDispatcher.doTruncate, from the answer on; doWork's handler of exceptions.
        """
        self.dispatchers[m.src] = self.dispatchers[m.src].waiting_for(None)
        if m.code is Code.SUCCESS:
            self._to_append(m.src, m.index)
        else:
            self.dispatchers[m.src] = self.dispatchers[m.src].to_compare()
        return Effects(abandoned=Abandoned(m.src, PushType.TRUNCATE))

    def can_push_time_out(self, peer: NodeId) -> bool:
        """The dispatcher waits for an answer."""
        return self.is_up and self.dispatchers[peer].awaiting is not None

    @action(when=can_push_time_out)
    def push_time_out(self, peer: NodeId) -> Effects:
        """Give up waiting for the answer to COMPARE or TRUNCATE, and begin again with COMPARE.

        Source: EntryDispatcher.doWork's handler of exceptions; a late answer is ignored.
        """
        dispatcher = self.dispatchers[peer]
        self.dispatchers[peer] = dispatcher.to_compare().waiting_for(None)
        return Effects(abandoned=Abandoned(peer, dispatcher.awaiting))
