"""The threads of the store: one forces the data file, one writes the checkpoint."""

from __future__ import annotations

from raftref.dledger.runtime.node_context import NodeContext


class StoreThreads:
    """Decides when the files of one node are forced, and its checkpoint is written.

    Source: DLedgerMmapFileStore, its FlushDataService.
    """

    def __init__(self, node: NodeContext) -> None:
        """Keep the files of a node."""
        self._node = node

    def work(self) -> bool:
        """Do what is due; return whether anything was."""
        flushed = self._flush()
        return self._persist_check_point() or flushed

    def _flush(self) -> bool:
        """Force what was written. Source: FlushDataService.doWork."""
        node = self._node
        return (
            not node.server.ledger_store.is_forced
            and node.timers.every("flush", node.now, node.settings.flush_file_interval)
            and node.take("FlushDataService")
        )

    def _persist_check_point(self) -> bool:
        """Write the committed index, if it has changed. Source: DLedgerMmapFileStore.persistCheckPoint."""
        node, store = self._node, self._node.server.ledger_store
        return (
            store.check_point != store.committed_index
            and node.timers.every("check point", node.now, node.settings.check_point_interval)
            and node.take("PersistCheckPoint")
        )
