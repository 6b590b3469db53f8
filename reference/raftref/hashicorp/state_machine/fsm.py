"""The state machine of the client, and the routine that feeds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from raftref.hashicorp.values import EntryType, Log, Place, Snapshot


class Fsm(Protocol):
    """What a client makes of the committed commands.

    Source: FSM.
    """

    def apply(self, log: Log) -> None:
        """Apply a command."""

    def snapshot(self) -> tuple[Log, ...]:
        """Return the state, as the commands that lead to it."""

    def restore(self, applied: tuple[Log, ...]) -> None:
        """Forget the state, and take this one."""


class RecordingFsm:
    """A state machine whose state is what it has applied."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._applied: tuple[Log, ...] = ()

    def apply(self, log: Log) -> None:
        """Apply a command."""
        self._applied = (*self._applied, log)

    def snapshot(self) -> tuple[Log, ...]:
        """Return what it has applied."""
        return self._applied

    def restore(self, applied: tuple[Log, ...]) -> None:
        """Take this for what it has applied."""
        self._applied = applied


@dataclass(slots=True)
class FsmRoutine:
    """The routine beside the main loop that feeds the FSM; `queue` is what waits for it.

    `last` is where the log was when it last applied something, or restored a snapshot that was installed. It is unknown
    after a start, also where the FSM began with a snapshot.

    Source: runFSM.
    """

    fsm: Fsm = field(default_factory=RecordingFsm)
    last: Place = field(default_factory=Place)
    queue: tuple[Log, ...] = ()

    def apply_single(self, log: Log) -> None:
        """Apply an entry: the FSM sees no barrier.

        Source: runFSM, applySingle.
        """
        if log.entry.type is EntryType.COMMAND:
            self.fsm.apply(log)
        self.last = Place(log.index, log.entry.term)

    def restore(self, snapshot: Snapshot) -> None:
        """Begin anew with a snapshot; what waited comes before it.

        Source: runFSM, restore.
        """
        self.fsm.restore(snapshot.applied)
        self.last, self.queue = snapshot.place, ()

    def record(self) -> dict[str, Any]:
        """Return of it what the spec shows."""
        return {**self.last.record(), "applied": [each.record() for each in self.fsm.snapshot()]}
