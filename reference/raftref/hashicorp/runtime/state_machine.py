"""The client's state machine: what a server that runs calls when its FSM applies, is read, or begins anew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from raftref.hashicorp.messages import InstallSnapshotRequest
from raftref.hashicorp.values import Log
from raftref.records import from_record, record


class StateMachine(Protocol):
    """A state machine of a client. It is deterministic: the same commands give the same state and the same answers.

    Source: FSM.
    """

    def apply(self, log: Log) -> Any:
        """Apply a command, and return what its client gets for it."""

    def snapshot(self) -> bytes:
        """Return the whole state. Source: Snapshot, FSMSnapshot.Persist."""

    def restore(self, data: bytes) -> None:
        """Take another state for the one that there is."""


class RecordingStateMachine:
    """A state machine whose state is what it has applied."""

    def __init__(self) -> None:
        """Begin with nothing applied."""
        self.applied: list[Log] = []

    def apply(self, log: Log) -> Any:
        """Remember a command, and return how many there are."""
        self.applied.append(log)
        return len(self.applied)

    def snapshot(self) -> bytes:
        """Return what was applied as JSON."""
        return snapshot_data(self.applied)

    def restore(self, data: bytes) -> None:
        """Begin anew with what another one had applied."""
        self.applied = [*applied_in(data)]


def snapshot_data(applied: Sequence[Log]) -> bytes:
    """Return the bytes of a snapshot of a RecordingStateMachine."""
    return json.dumps([record(log) for log in applied]).encode()


def applied_in(data: bytes) -> tuple[Log, ...]:
    """Return what a RecordingStateMachine had applied when its snapshot was taken.

    Raises:
        KeyError, TypeError or ValueError: The bytes are no such snapshot.
    """
    return tuple(from_record(Log, each) for each in json.loads(data))


@dataclass(frozen=True, slots=True)
class SnapshotStream:
    """An InstallSnapshot with the state of the FSM, which follows the request on the wire.

    Source: InstallSnapshotRequest, Size.
    """

    request: InstallSnapshotRequest
    data: bytes
