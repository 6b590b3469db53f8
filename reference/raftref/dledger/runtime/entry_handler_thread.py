"""The follower's thread: it handles the requests of the leader that wait in its queues."""

from __future__ import annotations

from raftref.dledger.messages import Index, PushRequest, PushType
from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.server import ACTIONS

#: The actions by which a follower handles what waits in its queues, by the type of the request.
_HANDLERS = {
    PushType.COMPARE: ("ClearCompareOrTruncateRequests", "HandleDoCompare"),
    PushType.TRUNCATE: ("ClearCompareOrTruncateRequests", "HandleDoTruncate"),
    PushType.APPEND: ("HandleDoAppend", "HandleDoBatchAppend"),
    PushType.COMMIT: ("ClearCompareOrTruncateRequests", "HandleDoCommit"),
}


class EntryHandlerThread:
    """Decides when the entry handler handles which request.

    Source: DLedgerEntryPusher.EntryHandler.
    """

    def __init__(self, node: NodeContext) -> None:
        """Handle the requests to a node."""
        self._node = node

    def work(self) -> bool:
        """Handle the next request, if there is one; return whether there was. Source: EntryHandler.doWork."""
        node, m = self._node, self._next()
        if m is not None and any(
            node.take(action, m) for action in _HANDLERS[m.type] if isinstance(m, ACTIONS[action].messages)
        ):
            return True
        return self._check_abnormal_future()

    def _next(self) -> PushRequest | None:
        """Return the request that is handled next, if it is there: of the APPENDs the one behind the log's end."""
        server = self._node.server
        first = server.compare_or_truncate_requests[:1]
        return first[0] if first else server.write_request_map.get(Index(server.ledger_store.end_index + 1))

    def _check_abnormal_future(self) -> bool:
        """Look now and then at the APPENDs that are not the next. Source: EntryHandler.checkAbnormalFuture."""
        node, waiting = self._node, self._node.server.write_request_map
        if not waiting or not node.timers.every("fast forward", node.now, node.settings.check_fast_forward):
            return False
        return sum(node.take("CheckAppendFuture", m) for m in [*waiting.values()]) > 0
