"""The leader's thread for one peer: it compares, truncates, pushes entries and the committed index."""

from __future__ import annotations

from raftref.dledger.choices import Feature
from raftref.dledger.messages import Code, NodeId, PushType, Response
from raftref.dledger.runtime.node_context import NodeContext


class DispatcherThread:
    """Decides when the dispatcher for a peer takes which of its steps.

    Source: DLedgerEntryPusher.EntryDispatcher.
    """

    def __init__(self, node: NodeContext, peer: NodeId) -> None:
        """Begin without a rest."""
        self._node = node
        self._peer = peer

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
        if not node.timers.is_due(("rest", peer), node.now):
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
        node, peer = self._node, self._peer
        if not node.server.has(Feature.BATCHES):
            return node.take("DoAppend", peer)
        left = node.server.ledger_store.end_index - node.server.dispatchers[peer].write_index + 1
        return node.take("DoBatchAppend", peer, min(node.settings.max_batch_count, left))

    def _push_again(self) -> bool:
        """Push again what has had no answer for a second. Source: doCheckAppendResponse, doCheckBatchAppendResponse."""
        node, again, wait = self._node, ("again", self._peer), self._node.settings.check_leak
        if node.server.peer_water_marks[self._peer] >= node.server.ledger_store.end_index:
            node.timers.clear(again)
            return False
        if not node.timers.is_set(again):
            node.timers.set(again, node.now + wait)
        action = "DoCheckBatchAppendResponse" if node.server.has(Feature.BATCHES) else "DoCheckAppendResponse"
        return node.timers.every(again, node.now, wait) and node.take(action, self._peer)

    def _commit(self) -> bool:
        """Send the committed index now and then. Source: doCommit."""
        node, peer = self._node, self._peer
        due = node.timers.every(("commit", peer), node.now, node.settings.push_commit)
        return due and node.take("DoCommit", peer)

    def work_when_deposed(self) -> bool:
        """Send the TRUNCATE that it was about to send when the leadership ended, where that flaw is published."""
        return self._node.take("DoTruncate", self._peer)
