"""The lines of a recording, but for those of calls: their kinds and fields."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field

from lockstep.systems.recording_file import Count, Name, NodeLine, Nodes, RecordingLine
from lockstep.trace.json_lines import MAX_INTEGER

Index = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Role = Literal["Follower", "Candidate", "Leader", "Shutdown"]

#: The line of the library's own log with which a candidate begins anew.
BEGINS_ANEW = "Election timeout reached, restarting election"

#: The line of the library's own log with which a leader follows whom a peer has denied.
DENIED = "new leader elected, stepping down"

#: The line of the library's own log with which a snapshot is complete.
COMPLETE = "snapshot complete up to"


class Atomics(Struct, forbid_unknown_fields=True, frozen=True):
    """`obs`: the library's atomics when the line was written.

    `last` is the end of the log or of the snapshot, whichever is further; `applied` is what was handed to the FSM.
    """

    role: Role
    term: Index
    commit: Index
    last: Index
    applied: Index


class LogEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """An entry: index, term, type, and what a client wrote; of a configuration, its members as `n1,n2,~n3`.

    A member behind `~` has no vote.
    """

    i: Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
    t: Index
    type: Literal["Command", "Noop", "Configuration", "Barrier"]
    v: str | None = None


class EntryPlace(Struct, forbid_unknown_fields=True, frozen=True):
    """An entry's index and term."""

    i: Index
    t: Index


class SnapshotPlace(Struct, forbid_unknown_fields=True, frozen=True):
    """The end of a snapshot."""

    last_index: Index
    last_term: Index


class Persisted(Struct, forbid_unknown_fields=True, frozen=True):
    """The content of the stores: the three keys, the log with its ends, the newest snapshot.

    `commit` is the commit index that the log store keeps, if the library restores from that.
    """

    CurrentTerm: Index
    LastVoteTerm: Index
    LastVoteCand: str
    first: Index
    last: Index
    log: tuple[LogEntry, ...]
    snapshot: SnapshotPlace | None = None
    commit: Index | None = None


class FsmState(Struct, forbid_unknown_fields=True, frozen=True):
    """The state of the FSM: the number of commands if it knows that, the last of them, and a running hash of all."""

    count: Count | None
    last_index: Index
    last_term: Index
    digest: Count


class ServerLine(NodeLine, kw_only=True):
    """A line of one server in one life: 0 is the bootstrap, 1 the first start."""

    obs: Atomics | None = None

    @property
    def life(self) -> tuple[str, int]:
        """The server and which of its lives."""
        return self.node, self.inc


# ---- A server: its stores, its role, its FSM, its snapshots, and what it writes about itself ----

Key = Literal["CurrentTerm", "LastVoteTerm", "LastVoteCand"]


class Written(ServerLine, kw_only=True):
    """A line that names the functions of the library that are under way, the inner one first: `electSelf<run`."""

    by: str

    @property
    def function(self) -> str:
        """The inner function."""
        return self.by.partition("<")[0]

    @property
    def caller(self) -> str:
        """The outer function, if it is recorded."""
        return self.by.partition("<")[2]


class StableSet(Written, tag="stable_set", kw_only=True):
    """A key is written."""

    variant_field: ClassVar[str] = "key"

    key: Key
    value: Index | str


class StableFail(Written, tag="stable_fail", kw_only=True):
    """A key is not written: the store returned an error."""

    variant_field: ClassVar[str] = "key"

    key: Key
    value: Index | str
    err: str


class StoreLogs(Written, tag="store_logs", kw_only=True):
    """Entries are stored, and with them the commit index that the log store was given before, if it keeps one."""

    entries: Annotated[tuple[LogEntry, ...], Meta(min_length=1)]
    commit: Index | None = None


class DeleteRange(Written, tag="delete_range", kw_only=True):
    """Entries are deleted, both ends included."""

    variant_field: ClassVar[str] = "why"

    min: Index
    max: Index
    why: Literal["truncate", "compact"]
    gone: tuple[EntryPlace, ...]


class StateLine(Written, tag="state", kw_only=True):
    """The role changes."""

    variant_field: ClassVar[str] = "state"

    state: Role


class LeaderLine(Written, tag="leader_obs", kw_only=True):
    """The known leader changes."""

    leader: str


class FsmApply(ServerLine, tag="fsm_apply", kw_only=True):
    """The FSM applies a command, its `count`-th if it knows that."""

    i: Index
    t: Index
    v: str
    count: Count | None
    digest: Count


class FsmSnapshot(ServerLine, tag="fsm_snapshot", kw_only=True):
    """The FSM is read for a snapshot."""

    state: FsmState


class FsmRestore(ServerLine, tag="fsm_restore", kw_only=True):
    """The FSM takes the state of a snapshot."""

    state: FsmState
    before: FsmState


class SnapshotSaved(Written, tag="snapshot_saved", kw_only=True):
    """A snapshot is durable."""

    last_index: Index
    last_term: Index


class LibLog(ServerLine, tag="liblog", kw_only=True):
    """A line of the library's own log."""

    level: str
    text: str
    args: dict[str, object]


class HeartbeatFailed(ServerLine, tag="hb_failed_obs", kw_only=True):
    """The library reports that a heartbeat failed."""

    peer: Name


class HeartbeatResumed(HeartbeatFailed, tag="hb_resumed_obs", kw_only=True):
    """The library reports that heartbeats succeed again."""


# ---- Around the servers: their lives, their clients, and the harness that makes faults ----


class RecordedConfig(Struct, forbid_unknown_fields=True, frozen=True):
    """The library's configuration."""

    heartbeat_timeout_ms: Count
    election_timeout_ms: Count
    leader_lease_ms: Count
    commit_timeout_ms: Count
    max_append_entries: Annotated[int, Meta(ge=1)]
    snapshot_interval_ms: Count
    snapshot_threshold: Count
    trailing_logs: Count


class RecordedFaults(Struct, forbid_unknown_fields=True, frozen=True):
    """The rates at which the network loses, delays and copies."""

    drop_req: float
    drop_resp: float
    dup_req: float
    delay_prob: float
    delay_max_ms: float
    rpc_timeout_ms: float


class RecordingHeader(RecordingLine, tag="header", kw_only=True):
    """The first line."""

    schema: str
    impl: str
    library_version: Name
    go: str
    capture: str
    nodes: Nodes
    seed: int
    prevote: bool
    pipeline: bool
    fast_path: bool = False
    restore_committed_logs: bool = False
    faults: RecordedFaults
    config: RecordedConfig
    note: str


class StartLine(ServerLine, tag="start", kw_only=True):
    """A server is about to start on what is in its stores."""

    persisted: Persisted
    heartbeat_timeout_ms: Count


class StartedLine(ServerLine, tag="started", kw_only=True):
    """It has started."""


class StopBeginLine(ServerLine, tag="stop_begin", kw_only=True):
    """It begins to stop; all that it sends from now on is lost."""

    why: str


class StoppedLine(ServerLine, tag="stopped", kw_only=True):
    """It has stopped."""

    persisted: Persisted


class FinalLine(ServerLine, tag="final", kw_only=True):
    """A server at the end."""

    persisted: Persisted
    fsm: FsmState


class ClientReq(ServerLine, tag="client_req", kw_only=True):
    """A client calls Apply."""

    op: Count
    v: str


class ClientResp(ServerLine, tag="client_resp", kw_only=True):
    """A client has its answer; `i` where all went well."""

    any_life: ClassVar[bool] = True

    op: Count
    v: str
    ok: bool
    i: Index | None = None
    err: str | None = None
    after_stop: bool = False
    on_inc: Count | None = None


class TransferReq(ServerLine, tag="transfer_req", kw_only=True):
    """A client asks for LeadershipTransfer, to a server or to any."""

    to: str
    k: Count


class TransferResp(ServerLine, tag="transfer_resp", kw_only=True):
    """It has its answer."""

    to: str
    k: Count
    ok: bool
    err: str | None = None


class VerifyReq(ServerLine, tag="verify_req", kw_only=True):
    """A client calls VerifyLeader."""

    k: Count


class VerifyResp(ServerLine, tag="verify_resp", kw_only=True):
    """It has its answer: `ok` if the server has confirmed that it leads."""

    k: Count
    ok: bool
    err: str | None = None


class PartitionLine(RecordingLine, tag="partition", kw_only=True):
    """The harness parts the network."""

    variant_field: ClassVar[str] = "why"

    groups: tuple[tuple[Name, ...], ...]
    why: str | None = None


class HealLine(RecordingLine, tag="heal", kw_only=True):
    """It ends that."""

    variant_field: ClassVar[str] = "why"

    why: str | None = None


class CutLine(RecordingLine, tag="cut_oneway", kw_only=True):
    """It cuts one direction."""

    variant_field: ClassVar[str] = "why"

    source: Name = field(name="from")
    to: Name
    why: str | None = None


class ScriptLine(RecordingLine, tag="script", kw_only=True):
    """It names its next step."""

    step: str


class FaultsOffLine(RecordingLine, tag="faults_off", kw_only=True):
    """It ends all faults."""


class RecordingEnd(RecordingLine, tag="end", kw_only=True):
    """The last line, which counts all."""

    events: Count
