"""Snapshots: taken, saved, and installed; and how the log is compacted behind them."""

from __future__ import annotations

from raftref.hashicorp.core.member import Member
from raftref.hashicorp.core.outcome import Outcome
from raftref.hashicorp.core.state import Role, SnapshotPhase, Snapshotting
from raftref.hashicorp.core.step import step
from raftref.hashicorp.messages import InstallSnapshotRequest, InstallSnapshotResponse
from raftref.hashicorp.stores import StoreError
from raftref.hashicorp.switches import Feature, Flaw
from raftref.hashicorp.values import NO_PLACE, Index, Snapshot


class Snapshots(Member):
    """A server whose FSM applies entries, and is saved.

    Source: runFSM, takeSnapshot, compactLogs, installSnapshot.
    """

    def can_apply_fsm(self) -> bool:
        """Something waits for the FSM."""
        return self.is_up and bool(self.fsm_routine.queue)

    @step(when=can_apply_fsm)
    def apply_fsm(self) -> None:
        """Let the FSM apply the first entry that waits for it.

        Source: runFSM.
        """
        first, *others = self.fsm_routine.queue
        self.fsm_routine.queue = tuple(others)
        self.fsm_routine.apply_single(first)

    # ---- Taking one ----------------------------------------------------------------------------------

    def can_take_snapshot(self) -> bool:
        """The main loop tells the configuration, there is something new, and the FSM has come to that configuration."""
        tells = self.selects and not (self.role is Role.LEADER and self.transfer.in_progress)
        idle = self.has(Feature.SNAPSHOTS) and self.snapshotting.phase is SnapshotPhase.NONE
        read = self.fsm_routine.last.index
        return tells and idle and read > 0 and read >= self.configurations.committed_index

    @step(when=can_take_snapshot)
    def take_snapshot(self) -> None:
        """Read the FSM, and the committed configuration.

        Source: takeSnapshot, up to Create.
        """
        last, configurations = self.fsm_routine.last, self.configurations
        snapshot = Snapshot(
            last.index,
            last.term,
            configurations.committed,
            configurations.committed_index,
            self.fsm_routine.fsm.snapshot(),
        )
        self.snapshotting = Snapshotting(SnapshotPhase.TAKEN, snapshot)

    def can_persist_snapshot(self, outcome: Outcome) -> bool:
        """The FSM was read."""
        return self.is_up and self.snapshotting.phase is SnapshotPhase.TAKEN

    @step(when=can_persist_snapshot)
    def persist_snapshot(self, outcome: Outcome) -> None:
        """Save what was read: it is the last snapshot from now on, even if a newer one was installed (SnapshotRegress).

        Args:
            outcome: Of the write of the snapshot; if that fails, there is none.

        Source: takeSnapshot: Persist, Close, setLastSnapshot.
        """
        snapshot = self._snapshot
        try:
            self.stores.snapshots.save(snapshot)
        except StoreError:
            self.snapshotting = Snapshotting()
            return
        if self.has(Flaw.SNAPSHOT_REGRESS) or snapshot.index >= self.last_snapshot.index:
            self.last_snapshot = snapshot.place
        self.snapshotting.phase = SnapshotPhase.SAVED

    def can_compact_logs(self, outcome: Outcome) -> bool:
        """What was read is saved."""
        return self.is_up and self.snapshotting.phase is SnapshotPhase.SAVED

    @step(when=can_compact_logs)
    def compact_logs(self, outcome: Outcome) -> None:
        """Delete the log behind the snapshot, but for the trailing entries.

        Args:
            outcome: Of the deletion, if there is something to delete; if that fails, all stays.

        Source: takeSnapshot, compactLogs.
        """
        index = self._snapshot.index
        self.snapshotting = Snapshotting()
        self._compact(index)

    @property
    def _snapshot(self) -> Snapshot:
        assert self.snapshotting.snapshot is not None
        return self.snapshotting.snapshot

    def _compact(self, index: Index) -> None:
        """Delete up to the snapshot, or to TrailingLogs before the end, whichever is less. A failure is logged.

        Source: compactLogs, compactLogsWithTrailing.
        """
        first, last = self.stores.logs.first_index(), self.last_log.index
        greatest = Index(min(index, last - self.config.trailing_logs))
        if last > self.config.trailing_logs and 0 < first <= greatest:
            self._delete(first, greatest)

    def _delete(self, least: Index, greatest: Index) -> bool:
        try:
            self.stores.logs.delete_range(least, greatest)
        except StoreError:
            return False
        return True

    # ---- Installing one ------------------------------------------------------------------------------

    def can_install_snapshot(self, m: InstallSnapshotRequest, outcome: Outcome) -> bool:
        """The main loop takes an event, and the request is for this server."""
        return self.selects and self.is_addressed(m)

    @step(when=can_install_snapshot)
    def install_snapshot(self, m: InstallSnapshotRequest, outcome: Outcome) -> None:
        """Take the snapshot of the leader for its own.

        One that cannot be saved is an error, and not answered. Nor is one that is older than those that the store
        keeps, which is removed as it is saved (ReapedInstall): the state machine cannot open it, and keeps what it has.

        Args:
            m: The request.
            outcome: Of the writes: CurrentTerm if the request's is higher, the snapshot, the deletion of the log.

        Source: installSnapshot.
        """
        if m.term < self.current_term:
            self._answer(m, success=False)
            return
        if m.term > self.current_term:
            self.set_state(Role.FOLLOWER)
            self.set_current_term(m.term)
        self.leader = m.src
        if m.snapshot.index <= self.last_applied and not self.has(Flaw.STALE_INSTALL):
            self._answer(m, success=True)
            return
        try:
            self.stores.snapshots.save(m.snapshot)
        except StoreError:
            return
        is_reaped = m.snapshot not in self.stores.snapshots.all_snapshots()
        if is_reaped and self.has(Flaw.REAPED_INSTALL):
            return
        if not is_reaped:
            self._install(m.snapshot)
        self._answer(m, success=True)

    def _answer(self, m: InstallSnapshotRequest, *, success: bool) -> None:
        self.respond(m, InstallSnapshotResponse(self.node_id, m.src, self.current_term, success))

    def _install(self, snapshot: Snapshot) -> None:
        agrees = self._agrees_with(snapshot)
        self.fsm_routine.restore(snapshot)
        self.adopt(snapshot)
        if self.has(Flaw.CONFLICT_AT_SNAPSHOT) or agrees:
            self._compact(snapshot.index)
        elif not self.log or self._delete(self.stores.logs.first_index(), self.stores.logs.last_index()):
            self.last_log = NO_PLACE

    def _agrees_with(self, snapshot: Snapshot) -> bool:
        """Tell whether the entry where a snapshot ends was applied, or is in the log with the snapshot's term."""
        entry = self.log.get(snapshot.index)
        return snapshot.index <= self.last_applied or (entry is not None and entry.term == snapshot.term)

    def adopt(self, snapshot: Snapshot) -> None:
        """Take a snapshot for what was applied, and its configuration for the committed one.

        Source: installSnapshot, restoreSnapshot.
        """
        self.last_applied = snapshot.index
        self.last_snapshot = snapshot.place
        self.configurations.set_latest(snapshot.configuration, snapshot.configuration_index)
        self.configurations.set_committed()
