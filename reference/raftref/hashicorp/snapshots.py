"""Snapshots: taken, saved, and installed; how the log is compacted behind them; and the FSM that they are of."""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.messages import InstallSnapshotRequest, InstallSnapshotResponse
from raftref.hashicorp.server import Server, takes_event
from raftref.hashicorp.state import Role, SnapshotPhase, Snapshotting
from raftref.hashicorp.steps import Outcome, StoreError, step
from raftref.hashicorp.values import NO_PLACE, Index, Snapshot


def can_apply_fsm(server: Server) -> bool:
    """Something waits for the FSM."""
    return server.is_up and bool(server.fsm.queue)


@step(when=can_apply_fsm)
def apply_fsm(server: Server) -> None:
    """Let the FSM apply the first entry that waits for it.

    Source: runFSM.
    """
    first, *others = server.fsm.queue
    server.fsm = replace(server.fsm.apply_single(first), queue=tuple(others))


# ---- Taking one ------------------------------------------------------------------------------------------


def can_take_snapshot(server: Server) -> bool:
    """The main loop gives the configuration, there is something new, and the FSM has come to that configuration."""
    answers = server.selects and not (server.role is Role.LEADER and server.transfer.in_progress)
    idle = server.has(Feature.SNAPSHOTS) and server.snapshotting.phase is SnapshotPhase.NONE
    applied = server.fsm.last.index
    return answers and idle and applied > 0 and applied >= server.configurations.committed_index


@step(when=can_take_snapshot)
def take_snapshot(server: Server) -> None:
    """Read the FSM, and the committed configuration.

    Source: takeSnapshot, up to Create.
    """
    fsm, configurations = server.fsm, server.configurations
    committed = (configurations.committed, configurations.committed_index)
    snapshot = Snapshot(fsm.last.index, fsm.last.term, *committed, fsm.applied)
    server.snapshotting = Snapshotting(SnapshotPhase.TAKEN, snapshot)


def can_persist_snapshot(server: Server, _outcome: Outcome) -> bool:
    """The FSM was read."""
    return server.is_up and server.snapshotting.phase is SnapshotPhase.TAKEN


@step(when=can_persist_snapshot)
def persist_snapshot(server: Server, outcome: Outcome) -> None:
    """Save what was read: it is the last snapshot from now on, even if a newer one was installed (SnapshotRegress).

    Args:
        server: The server.
        outcome: Of the write of the snapshot; if that fails, there is none.

    Source: takeSnapshot: Persist, Close, setLastSnapshot.
    """
    snapshot = _snapshot(server)
    try:
        server.save_snapshot(snapshot)
    except StoreError:
        server.snapshotting = Snapshotting()
        return
    if server.has(Flaw.SNAPSHOT_REGRESS) or snapshot.index >= server.last_snapshot.index:
        server.last_snapshot = snapshot.place
    server.snapshotting = Snapshotting(SnapshotPhase.SAVED, snapshot)


def can_compact_logs(server: Server, _outcome: Outcome) -> bool:
    """The snapshot is saved."""
    return server.is_up and server.snapshotting.phase is SnapshotPhase.SAVED


@step(when=can_compact_logs)
def compact_logs(server: Server, outcome: Outcome) -> None:
    """Delete the log behind the snapshot, but for the trailing entries.

    Args:
        server: The server.
        outcome: Of the deletion, if there is something to delete; if that fails, all stays.

    Source: takeSnapshot, compactLogs.
    """
    index = _snapshot(server).index
    server.snapshotting = Snapshotting()
    _compact(server, index)


def _snapshot(server: Server) -> Snapshot:
    assert server.snapshotting.snapshot is not None
    return server.snapshotting.snapshot


def _compact(server: Server, index: Index) -> None:
    """Delete up to the snapshot, or to TrailingLogs before the end, whichever is less. A failure is logged.

    Source: compactLogs, compactLogsWithTrailing.
    """
    first, last = server.stores.first_index(), server.last_log.index
    greatest = Index(min(index, last - server.config.trailing_logs))
    if last > server.config.trailing_logs and 0 < first <= greatest:
        _delete(server, first, greatest)


def _delete(server: Server, least: Index, greatest: Index) -> bool:
    try:
        server.delete_range(least, greatest)
    except StoreError:
        return False
    return True


# ---- Installing one --------------------------------------------------------------------------------------


@step(when=takes_event)
def install_snapshot(server: Server, m: InstallSnapshotRequest, outcome: Outcome) -> None:
    """Take the snapshot of the leader for its own.

    One that cannot be saved is an error, and not answered. Nor is one that is older than those that the store
    keeps, which is removed as it is saved (ReapedInstall): the state machine cannot open it, and keeps what it has.

    Args:
        server: The follower.
        m: The request.
        outcome: Of the writes: CurrentTerm if the request's is higher, the snapshot, the deletion of the log.

    Source: installSnapshot.
    """
    if m.term < server.current_term:
        _answer(server, m, success=False)
        return
    if m.term > server.current_term:
        server.set_state(Role.FOLLOWER)
        server.set_current_term(m.term)
    server.leader = m.src
    if m.snapshot.index <= server.last_applied and not server.has(Flaw.STALE_INSTALL):
        _answer(server, m, success=True)
        return
    try:
        server.save_snapshot(m.snapshot)
    except StoreError:
        return
    is_reaped = m.snapshot not in server.stores.snapshots
    if is_reaped and server.has(Flaw.REAPED_INSTALL):
        return
    if not is_reaped:
        _install(server, m.snapshot)
    _answer(server, m, success=True)


def _answer(server: Server, m: InstallSnapshotRequest, *, success: bool) -> None:
    server.respond(m, InstallSnapshotResponse(server.node_id, m.src, server.current_term, success))


def _install(server: Server, snapshot: Snapshot) -> None:
    agrees = _agrees_with(server, snapshot)
    server.fsm = server.fsm.restore(snapshot)
    adopt(server, snapshot)
    if server.has(Flaw.CONFLICT_AT_SNAPSHOT) or agrees:
        _compact(server, snapshot.index)
    elif not server.log or _delete(server, server.stores.first_index(), server.stores.last_index()):
        server.last_log = NO_PLACE


def _agrees_with(server: Server, snapshot: Snapshot) -> bool:
    """Return whether the entry where a snapshot ends was applied, or is in the log with the snapshot's term."""
    entry = server.log.get(snapshot.index)
    return snapshot.index <= server.last_applied or (entry is not None and entry.term == snapshot.term)


def adopt(server: Server, snapshot: Snapshot) -> None:
    """Take a snapshot for what was applied, and its configuration for the committed one.

    Source: installSnapshot, restoreSnapshot.
    """
    server.last_applied = snapshot.index
    server.last_snapshot = snapshot.place
    latest = server.configurations.set_latest(snapshot.configuration, snapshot.configuration_index)
    server.configurations = latest.set_committed()
