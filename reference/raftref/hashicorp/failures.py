"""The end of a process, and its start."""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.logs import hand_to_fsm, is_for_fsm, process_configuration_log_entry
from raftref.hashicorp.server import Server, runs
from raftref.hashicorp.snapshots import adopt
from raftref.hashicorp.steps import step
from raftref.hashicorp.values import Index, Log


@step(when=runs)
def crash(server: Server) -> None:
    """Die: what is not durable is lost."""
    server.go_down()


def can_restart(server: Server) -> bool:
    """The process does not run, and the log behind the newest snapshot has no gap: else NewRaft panics."""
    stores = server.stores
    first = Index(stores.snapshots[0].index + 1 if stores.snapshots else 1)
    return not server.is_up and stores.has_range(first, stores.last_index())


@step(when=can_restart)
def restart(server: Server) -> None:
    """Start on what is durable. As in the sketch the whole log is applied then (ReplayUncommitted).

    Source: NewRaft.
    """
    start(server)
    if server.has(Flaw.REPLAY_UNCOMMITTED):
        _replay(server)


def start(server: Server) -> None:
    """Read the stores: of the log behind the newest snapshot, or what is applied, only the configurations count.

    The entries wait for a leader's commit index, unless the log store keeps one (RestoreCommittedLogs).

    Source: NewRaft, restoreSnapshot.
    """
    server.forget()
    server.last_log = server.stores.end_of_log()
    for snapshot in server.stores.snapshots[:1]:
        server.fsm = replace(server.fsm, applied=snapshot.applied)
        adopt(server, snapshot)
    if server.has(Feature.RESTORE_COMMITTED_LOGS):
        _restore_committed(server)
    first, last = max(server.last_snapshot.index, server.last_applied) + 1, server.last_log.index
    for index in range(first, last + 1):
        process_configuration_log_entry(server, Log(Index(index), server.log[Index(index)]))


def _restore_committed(server: Server) -> None:
    """Apply what is known to be committed; no configuration is read of it.

    Source: restoreFromCommittedLogs.
    """
    server.commit_index = min(server.stores.commit_index, server.last_log.index)
    hand_to_fsm(server, server.commit_index)


def _replay(server: Server) -> None:
    """Apply the log at once, committed or not."""
    last = server.last_log.index
    for index in range(server.last_applied + 1, last + 1):
        log = Log(Index(index), server.log[Index(index)])
        if is_for_fsm(log):
            server.fsm = server.fsm.apply_single(log)
    server.last_applied = Index(max(server.last_applied, last))
