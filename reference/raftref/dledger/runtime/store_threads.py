"""The threads of the store: one forces the data file, one writes the checkpoint, one looks after the space."""

from __future__ import annotations

from contextlib import suppress

from raftref.disks.disk import DiskError
from raftref.disks.disk_space import DiskSpace
from raftref.dledger.runtime.node_context import NodeContext
from raftref.runtime.driver import DISK_FULL, DISK_HAS_SPACE


class StoreThreads:
    """Decides when the files of one node are forced, its checkpoint is written, and old files are deleted.

    Source: DLedgerMmapFileStore, its FlushDataService and CleanSpaceService.
    """

    def __init__(self, node: NodeContext, space: DiskSpace | None) -> None:
        """Keep the files of a node; without `space` the disk is never asked how full it is."""
        self._node = node
        self._space = space

    def work(self) -> bool:
        """Do what is due; return whether the node took a step."""
        self._clean_space()
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

    def _clean_space(self) -> None:
        """Delete old files, and learn whether the disk is full. Source: CleanSpaceService.doWork."""
        node, store = self._node, self._node.server.ledger_store
        if self._space is None or not node.timers.every("space", node.now, node.settings.clean_space_interval):
            return
        was_full = store.is_disk_full
        with suppress(DiskError):  # the first file that is left begins with no whole header; DLedger logs that
            store.clean_space(self._space.time_of_day(), self._space.used_ratio())
        if store.is_disk_full is not was_full:
            self._record(is_full=store.is_disk_full)

    def learn_space(self, *, is_full: bool) -> None:
        """Append nothing while the disk is full. Source: DLedgerMmapFileStore.isDiskFull."""
        self._node.server.ledger_store.is_disk_full = is_full
        self._record(is_full=is_full)

    def _record(self, *, is_full: bool) -> None:
        self._node.record(DISK_FULL if is_full else DISK_HAS_SPACE)
