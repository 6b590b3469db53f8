"""The lines of one server: its stores, its role, its FSM, its snapshots, and what it writes about itself."""

from __future__ import annotations

from typing import Literal

from lockstep.systems.hashicorp.recording.lines.line import (
    Count,
    FsmState,
    Index,
    LogEntry,
    Name,
    NodeLine,
    Place,
    Role,
)

Key = Literal["CurrentTerm", "LastVoteTerm", "LastVoteCand"]


class Written(NodeLine, kw_only=True):
    """A line that names the functions of the library that are under way, the inner one first: `electSelf<run`."""

    by: str

    @property
    def function(self) -> str:
        """The inner function."""
        return self.by.partition("<")[0]

    @property
    def caller(self) -> str:
        """The outer function, if it is told."""
        return self.by.partition("<")[2]


class StableSet(Written, tag="stable_set", kw_only=True):
    """A key is written."""

    key: Key
    value: Index | str


class StableFail(Written, tag="stable_fail", kw_only=True):
    """A key is not written: the store returned an error."""

    key: Key
    value: Index | str
    err: str


class StoreLogs(Written, tag="store_logs", kw_only=True):
    """Entries are stored."""

    entries: tuple[LogEntry, ...]


class DeleteRange(Written, tag="delete_range", kw_only=True):
    """Entries are deleted, both ends included."""

    min: Index
    max: Index
    why: Literal["truncate", "compact"]
    gone: tuple[Place, ...]


class State(Written, tag="state", kw_only=True):
    """The role changes."""

    state: Role


class LeaderObs(Written, tag="leader_obs", kw_only=True):
    """The known leader changes."""

    leader: str


class FsmApply(NodeLine, tag="fsm_apply", kw_only=True):
    """The FSM applies a command, its `count`-th."""

    i: Index
    t: Index
    v: str
    count: Count
    digest: Count


class FsmSnapshot(NodeLine, tag="fsm_snapshot", kw_only=True):
    """The FSM is read for a snapshot."""

    state: FsmState


class FsmRestore(NodeLine, tag="fsm_restore", kw_only=True):
    """The FSM takes the state of a snapshot."""

    state: FsmState
    before: FsmState


class SnapshotSaved(Written, tag="snapshot_saved", kw_only=True):
    """A snapshot is durable."""

    last_index: Index
    last_term: Index


class LibLog(NodeLine, tag="liblog", kw_only=True):
    """A line of the library's own log."""

    level: str
    text: str
    args: dict[str, object]


class HeartbeatFailed(NodeLine, tag="hb_failed_obs", kw_only=True):
    """The library says that a heartbeat failed."""

    peer: Name


class HeartbeatResumed(HeartbeatFailed, tag="hb_resumed_obs", kw_only=True):
    """The library says that heartbeats succeed again."""
