"""The leader's thread for one peer: it compares, truncates, pushes entries and the committed index."""

from __future__ import annotations

from raftref.dledger import pushing
from raftref.dledger.choices import Feature
from raftref.dledger.messages import Code, Index, NodeId, PushType, Response
from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.runtime.push_quota import PushQuota
from raftref.dledger.server import ACTIONS


class DispatcherThread:
    """Decides when the dispatcher for a peer takes which of its steps.

    Source: DLedgerEntryPusher.EntryDispatcher.
    """

    def __init__(self, node: NodeContext, peer: NodeId) -> None:
        """Begin without a rest."""
        self._node = node
        self._peer = peer
        self._quota = PushQuota(node.settings.peer_push_quota, node.settings.quota_second)
        #: The entry that is pushed after a sleep, which counts for the quota once.
        self._slept_for: Index | None = None

    def begin_leadership(self) -> None:
        """Forget a rest of an earlier leadership."""
        self._node.timers.clear(("rest", self._peer))

    def rest(self) -> None:
        """Do nothing for a while, after an error. Source: doWork, its handler of exceptions."""
        self._node.timers.set(("rest", self._peer), self._node.now + self._node.settings.dispatcher_sleep)

    def take_answer(self, m: Response) -> None:
        """Rest after an answer to COMPARE or TRUNCATE that ends in doWork's handler of exceptions."""
        if m.type not in (PushType.COMPARE, PushType.TRUNCATE):
            return
        inconsistent = m.type is PushType.COMPARE and m.code is Code.INCONSISTENT_STATE
        if m.code is not Code.SUCCESS and not inconsistent:
            self.rest()

    def fail_call(self, type_: PushType) -> None:
        """Begin again after a rest, where a call failed that the thread waits for."""
        if type_ in (PushType.COMPARE, PushType.TRUNCATE):
            self._node.take("PushTimeOut", self._peer)
            self.rest()

    def work(self) -> bool:
        """Take the next step, if there is one; return whether one was taken. Source: EntryDispatcher.doWork."""
        node, peer = self._node, self._peer
        if not all(node.timers.is_due((name, peer), node.now) for name in ("rest", "quota")):
            return False
        if node.take("DoTruncate", peer) or node.take("DoCompare", peer):
            return True
        if node.server.dispatchers[peer].type is not PushType.APPEND or not node.server.is_leader:
            return False
        return self._check_leak() or self._push() or self._push_again() or self._commit()

    def _check_leak(self) -> bool:
        """Forget now and then what was answered. Source: doAppend, doBatchAppend, lastCheckLeakTimeMs."""
        node, peer = self._node, self._peer
        state = node.server.dispatchers[peer]
        pushes = bool(state.pendings) and state.write_index <= node.server.ledger_store.end_index
        return (
            pushes
            and node.timers.every(("leak", peer), node.now, node.settings.check_leak)
            and node.take("CheckLeak", peer)
        )

    def _push(self) -> bool:
        """Push what comes next, in one APPEND. Source: doAppend, doBatchAppend."""
        write_index = self._node.server.dispatchers[self._peer].write_index
        if self._node.server.has(Feature.BATCHES):
            return self._node.take("DoBatchAppend", self._peer, self._batch_count(write_index))
        return self._push_one("DoAppend", write_index)

    def _batch_count(self, first: Index) -> int:
        """Return the number of entries of a batch: all, or as many as reach its size. Source: doBatchAppendInner."""
        store, size, index = self._node.server.ledger_store, 0, first
        while store.has_entry(index) and size < self._node.settings.max_batch_push_size:
            size += store.files.header_at(index).size
            index = Index(index + 1)
        return index - first

    def _push_again(self) -> bool:
        """Push again what has had no answer for a second. Source: doCheckAppendResponse, doCheckBatchAppendResponse."""
        node, again, wait = self._node, ("again", self._peer), self._node.settings.max_push_time_out
        mark = node.server.peer_water_marks[self._peer]
        if mark >= node.server.ledger_store.end_index:
            node.timers.clear(again)
            return False
        if not node.timers.is_set(again):
            node.timers.set(again, node.now + wait)
        if not node.timers.every(again, node.now, wait):
            return False
        if node.server.has(Feature.BATCHES):
            return node.take("DoCheckBatchAppendResponse", self._peer)
        return self._push_one("DoCheckAppendResponse", Index(mark + 1))

    def _commit(self) -> bool:
        """Send the committed index now and then. Source: doCommit."""
        node, peer = self._node, self._peer
        due = node.timers.every(("commit", peer), node.now, node.settings.push_commit)
        return due and node.take("DoCommit", peer)

    # ---- Flow control --------------------------------------------------------------------------------

    def _push_one(self, action: str, index: Index) -> bool:
        """Push an entry, or sleep before that, where the peer is far behind and the quota of this second is exhausted.

        Batches have no quota. Simplified: a leader that is deposed while the dispatcher sleeps pushes nothing more,
        where DLedger pushes that entry in its old term.

        Source: doAppendInner, checkQuotaAndWait.
        """
        node = self._node
        if not ACTIONS[action].enabled(node.server, self._peer):
            return False
        if index != self._slept_for and self._is_far_behind(index):
            self._quota.sample(node.now, node.server.ledger_store.files.header_at(index).size)
            if self._quota.is_exhausted(node.now):
                node.timers.set(("quota", self._peer), self._quota.next_second(node.now))
                self._slept_for = index
                return True
        self._slept_for = None
        return node.take(action, self._peer)

    def _is_far_behind(self, index: Index) -> bool:
        """Return whether more than a thousand entries and the throttle point lie behind an entry."""
        store = self._node.server.ledger_store
        if not store.has_entry(index) or store.end_index - index <= pushing.MAX_PENDING_SIZE:
            return False
        behind = store.files.data.max_write_position - store.files.header_at(index).pos
        return behind >= self._node.settings.peer_push_throttle_point

    # ---- After the leadership ------------------------------------------------------------------------

    def work_when_deposed(self) -> bool:
        """Send the TRUNCATE that it was about to send when the leadership ended, where that flaw is published."""
        return self._node.take("DoTruncate", self._peer)
