"""The thread that commits what a quorum stores and answers clients, and the one of the state machine behind it."""

from __future__ import annotations

from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.runtime.waiting_clients import WaitingClients


class QuorumCheckThread:
    """Decides when the quorum checker makes a pass, and which.

    Source: DLedgerEntryPusher.QuorumAckChecker; StateMachineCaller.
    """

    def __init__(self, node: NodeContext, waiting: WaitingClients) -> None:
        """Check for a node, whose clients wait among others."""
        self._node = node
        self._waiting = waiting

    def work(self) -> bool:
        """Commit what a quorum stores, and answer clients. Source: QuorumAckChecker.doWork."""
        node, server = self._node, self._node.server
        if server.checking is not None or not server.is_leader:
            return node.take("ActOnQuorumIndex")
        stale = self._waiting.waits_in_another_term(server.member_state.curr_term)
        if stale or server.quorum_index() > server.last_quorum_index:
            return node.take("QuorumAckChecker")
        return self._refresh_own_water_mark() or self._time_out_client()

    def _refresh_own_water_mark(self) -> bool:
        """Mark now and then what this node stores itself. Source: QuorumAckChecker.doWork."""
        node = self._node
        behind = node.server.peer_water_marks[node.node_id] < node.server.ledger_store.end_index
        return (
            behind
            and node.timers.every("refresh", node.now, node.settings.refresh_own_water_mark)
            and node.take("RefreshOwnWaterMark")
        )

    def _time_out_client(self) -> bool:
        """Let a client wait no longer. Source: checkResponseFuturesTimeout of DLedgerEntryPusher."""
        node, since = self._node, self._waiting.oldest()
        if since is None:
            node.timers.clear("ack")
            return False
        node.timers.set("ack", since + node.settings.max_wait_ack_time)
        return node.timers.is_due("ack", node.now) and node.take("CheckResponseFuturesTimeout")

    def apply(self) -> bool:
        """Let the state machine apply what is committed; where an entry is missing it tries again a little later.

        Simplified: DLedger tries again when the committed index is learnt once more, which a leader sends that often.

        Source: StateMachineCaller.doCommitted.
        """
        node, server = self._node, self._node.server
        if not (node.timers.is_due("apply", node.now) and node.take("DoCommitted")):
            return False
        if server.last_applied_index < server.apply_index:
            node.timers.set("apply", node.now + node.settings.push_commit)
        return True
