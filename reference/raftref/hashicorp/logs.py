"""Entries on their way: configurations that count when stored, and commands that the FSM applies once committed."""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Feature
from raftref.hashicorp.server import Server
from raftref.hashicorp.steps import PanicError, step
from raftref.hashicorp.stores import LogNotFoundError
from raftref.hashicorp.values import EntryType, Index, Log


def process_configuration_log_entry(server: Server, log: Log) -> None:
    """Let the configuration of an entry count from when it is stored, and take the one before for committed.

    Source: processConfigurationLogEntry.
    """
    if log.entry.type is EntryType.CONFIGURATION:
        server.configurations = server.configurations.set_committed().set_latest(log.entry.configuration, log.index)


def hand_to_fsm(server: Server, index: Index) -> None:
    """Hand the entries up to an index to the FSM; panic where one is not there.

    Source: processLogs, prepareLog.
    """
    if index <= server.last_applied:
        return
    try:
        logs = [Log(Index(at), server.stores.get_log(Index(at))) for at in range(server.last_applied + 1, index + 1)]
    except LogNotFoundError as error:
        raise PanicError from error
    for log in logs:
        if is_for_fsm(log):
            server.fsm = server.fsm.enqueue(log) if server.has(Feature.FSM_QUEUE) else server.fsm.apply_single(log)
    server.last_applied = index


def is_for_fsm(log: Log) -> bool:
    """Return whether an entry is for the FSM: a command or a barrier."""
    return log.entry.type in (EntryType.COMMAND, EntryType.BARRIER)


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
