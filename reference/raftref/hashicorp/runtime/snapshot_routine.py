"""The goroutine of snapshots: it takes one when a client asks, or the log has grown, and shortens the log after it."""

from __future__ import annotations

from collections.abc import Hashable

from raftref.hashicorp.runtime.client_calls import RaftError
from raftref.hashicorp.runtime.fsm_routine import FsmRoutine
from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.state import SnapshotPhase
from raftref.hashicorp.steps import DONE


class SnapshotRoutine:
    """Decides when one server takes a snapshot.

    Source: runSnapshots, takeSnapshot.
    """

    def __init__(self, node: NodeContext, fsm: FsmRoutine, futures: Futures) -> None:
        """Take snapshots of the state of `fsm`; `futures` answers the clients that asked for one."""
        self._node = node
        self._fsm = fsm
        self._futures = futures
        #: The clients that have asked for a snapshot, and whether the one that is being taken is for the first of them.
        self._clients: list[Hashable] = []
        self._is_for_client = False

    def start(self) -> None:
        """Begin to look at the log now and then."""
        self._node.timers.set("snapshot", self._node.now + self._node.between(self._node.settings.snapshot_interval))

    def ask(self, key: Hashable) -> None:
        """Let a client ask for a snapshot. Source: Snapshot."""
        self._clients.append(key)

    def shut_down(self) -> None:
        """Answer every client that has asked. Source: ErrRaftShutdown."""
        for key in self._clients:
            self._futures.answer(key, RaftError.RAFT_SHUTDOWN)
        self._clients = []

    def work(self) -> bool:
        """Take a snapshot that was asked for, or is due, and write the one that was taken. Source: runSnapshots."""
        node = self._node
        match node.server.snapshotting.phase:
            case SnapshotPhase.TAKEN:
                return node.timers.is_due("persist", node.now) and self._persist()
            case SnapshotPhase.SAVED:
                return self._end_snapshot()
        if self._clients:
            return self._take_for_client()
        if not node.timers.is_due("snapshot", node.now):
            return False
        self.start()
        grown = node.server.stores.last_index() - node.server.last_snapshot.index
        return grown >= node.settings.snapshot_threshold and self._take_snapshot()

    def _take_snapshot(self) -> bool:
        if not self._node.take("TakeSnapshot"):
            return False
        self._fsm.take_snapshot()
        self._node.timers.set("persist", self._node.now + self._node.settings.persist_time)
        return True

    def _take_for_client(self) -> bool:
        """Read the FSM for a client that asks for a snapshot, or refuse to. Source: takeSnapshot."""
        server = self._node.server
        last, committed = server.fsm.last.index, server.configurations.committed_index
        if last == 0:
            self._answer_first(RaftError.NOTHING_NEW_TO_SNAPSHOT)
        elif last < committed:
            wait = f"wait until the configuration entry at {committed} has been applied (have applied {last})"
            self._answer_first(f"cannot take snapshot now, {wait}")
        elif not self._take_snapshot():
            self._answer_first(RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS)
        else:
            self._is_for_client = True
        return True

    def _answer_first(self, error: str) -> None:
        self._futures.answer(self._clients.pop(0), error)

    def _persist(self) -> bool:
        """Write the snapshot that was taken; if that fails there is none, and a client is answered so."""
        took = self._node.take("PersistSnapshot", DONE)
        if self._node.server.snapshotting.phase is SnapshotPhase.NONE and self._is_for_client:
            self._is_for_client = False
            self._answer_first("failed to close snapshot: it could not be written")
        return took

    def _end_snapshot(self) -> bool:
        saved = self._node.server.snapshotting.snapshot
        took = self._node.take("CompactLogs", DONE)
        if self._is_for_client and saved is not None:
            self._futures.answer(self._clients.pop(0), None, saved.index, saved.term)
        self._is_for_client = False
        return took
