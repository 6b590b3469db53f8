"""The client's state machine: what a server that runs calls when its FSM applies, is read, or begins anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from raftref.hashicorp.messages import InstallSnapshotRequest
from raftref.hashicorp.values import Log
from raftref.records import from_record, record

#: The longest entry of a snapshot as JSON: one of brackets alone would take some thirty times its size in memory. The
#: longest command of a client has 128 KiB, and six times as much where each character is escaped.
MAX_LOG_CHARS = 1 << 22
#: As many characters are read for an entry at first; most have fewer.
_FIRST_LOG_CHARS = 1 << 10

_DECODER = json.JSONDecoder()
_MARK = re.compile(r"[ \t\n\r]*([\[\],]?)[ \t\n\r]*")


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


def applied_in(data: bytes) -> Iterator[Log]:
    """Yield what a RecordingStateMachine had applied when its snapshot was taken.

    Raises:
        KeyError, TypeError, ValueError or RecursionError: The bytes are no such snapshot.
    """
    return (from_record(Log, each) for each in _values_in(data.decode()))


def _values_in(text: str) -> Iterator[Any]:
    """Yield the values of an array in JSON, one read after the other: the first that is no entry ends the rest."""
    mark, at = _mark_at(text, 0)
    if mark != "[":
        raise ValueError("a snapshot is no array")
    mark, behind = _mark_at(text, at)
    if mark == "]":
        at = behind
    while mark != "]":
        value, at = _value_at(text, at)
        yield value
        mark, at = _mark_at(text, at)
        if mark not in ("]", ","):
            raise ValueError("no comma follows an entry of a snapshot")
    if at != len(text):
        raise ValueError("something follows a snapshot")


def _mark_at(text: str, at: int) -> tuple[str, int]:
    """Return the bracket or comma at a place, "" where there is none, and the place behind it and its spaces."""
    found = _MARK.match(text, at)
    assert found is not None
    return found[1], found.end()


def _value_at(text: str, at: int) -> tuple[Any, int]:
    """Return the value in JSON that begins at a place, and the place behind it; raises ValueError or RecursionError."""
    size = _FIRST_LOG_CHARS
    while True:
        try:
            value, length = _DECODER.raw_decode(text[at : at + size])
        except ValueError:
            if size >= min(MAX_LOG_CHARS, len(text) - at):
                raise
            size *= 16
        else:
            return value, at + length


@dataclass(frozen=True, slots=True)
class SnapshotStream:
    """An InstallSnapshot with the state of the FSM, which follows the request on the wire.

    Source: InstallSnapshotRequest, Size.
    """

    request: InstallSnapshotRequest
    data: bytes
