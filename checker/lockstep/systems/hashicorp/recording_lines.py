"""The lines of a recording, but for those of calls: their kinds and fields.

Every line has `seq` (0, 1, 2, ... without gaps), `t_ms` and `kind`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from lockstep.trace.json_lines import MAX_INTEGER

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Index = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Role = Literal["Follower", "Candidate", "Leader", "Shutdown"]


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
    """An entry: index, term, type, and what a client wrote; of a configuration, its voters."""

    i: Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
    t: Index
    type: Literal["Command", "Noop", "Configuration"]
    v: str | None = None


class Place(Struct, forbid_unknown_fields=True, frozen=True):
    """An entry's index and term."""

    i: Index
    t: Index


class SnapshotPlace(Struct, forbid_unknown_fields=True, frozen=True):
    """The end of a snapshot."""

    last_index: Index
    last_term: Index


class Persisted(Struct, forbid_unknown_fields=True, frozen=True):
    """The content of the stores: the three keys, the log with its ends, the newest snapshot."""

    CurrentTerm: Index
    LastVoteTerm: Index
    LastVoteCand: str
    first: Index
    last: Index
    log: tuple[LogEntry, ...]
    snapshot: SnapshotPlace | None = None


class FsmState(Struct, forbid_unknown_fields=True, frozen=True):
    """The state of the FSM: the number of commands, the last of them, and a running hash of all."""

    count: Count
    last_index: Index
    last_term: Index
    digest: Count


class Line(Struct, tag_field="kind", forbid_unknown_fields=True, kw_only=True):
    """The part that all lines share."""

    seq: Count
    t_ms: float

    @property
    def number(self) -> int:
        """The line's number in the file; 1 is the first."""
        return self.seq + 1

    @property
    def kind(self) -> str:
        """The kind of the line."""
        return str(self.__struct_config__.tag)

    @property
    def label(self) -> str:
        """The kind, with the variant where it has some: `recv.RequestVote`."""
        variants = (getattr(self, name, None) for name in ("msg", "key", "why", "state"))
        variant = next((each for each in variants if isinstance(each, str)), None)
        return self.kind if variant is None or self.kind == "stop_begin" else f"{self.kind}.{variant}"


class NodeLine(Line, kw_only=True):
    """A line of one node in one life: 0 is the bootstrap, 1 the first start."""

    node: Name
    inc: Count
    obs: Atomics | None = None

    @property
    def life(self) -> tuple[str, int]:
        """The node and which of its lives."""
        return self.node, self.inc


# ---- A server: its stores, its role, its FSM, its snapshots, and what it writes about itself ----

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
        """The outer function, if it is recorded."""
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
    """The library reports that a heartbeat failed."""

    peer: Name


class HeartbeatResumed(HeartbeatFailed, tag="hb_resumed_obs", kw_only=True):
    """The library reports that heartbeats succeed again."""


# ---- Around the servers: their lives, their clients, and the harness that makes faults ----


class Config(Struct, forbid_unknown_fields=True, frozen=True):
    """The library's configuration."""

    heartbeat_timeout_ms: Count
    election_timeout_ms: Count
    leader_lease_ms: Count
    commit_timeout_ms: Count
    max_append_entries: Annotated[int, Meta(ge=1)]
    snapshot_interval_ms: Count
    snapshot_threshold: Count
    trailing_logs: Count


class Faults(Struct, forbid_unknown_fields=True, frozen=True):
    """The rates at which the network loses, delays and copies."""

    drop_req: float
    drop_resp: float
    dup_req: float
    delay_prob: float
    delay_max_ms: float
    rpc_timeout_ms: float


class Header(Line, tag="header", kw_only=True):
    """The first line."""

    schema: str
    impl: str
    library_version: Name
    go: str
    capture: str
    nodes: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=64)]
    seed: int
    prevote: bool
    pipeline: Literal[False]
    faults: Faults
    config: Config
    note: str


class Start(NodeLine, tag="start", kw_only=True):
    """A server is about to start on what is in its stores."""

    persisted: Persisted
    heartbeat_timeout_ms: Count


class Started(NodeLine, tag="started", kw_only=True):
    """It has started."""


class StopBegin(NodeLine, tag="stop_begin", kw_only=True):
    """It begins to stop; all that it sends from now on is lost."""

    why: str


class Stopped(NodeLine, tag="stopped", kw_only=True):
    """It has stopped."""

    persisted: Persisted


class Final(NodeLine, tag="final", kw_only=True):
    """A server at the end."""

    persisted: Persisted
    fsm: FsmState


class ClientReq(NodeLine, tag="client_req", kw_only=True):
    """A client calls Apply."""

    op: Count
    v: str


class ClientResp(NodeLine, tag="client_resp", kw_only=True):
    """A client has its answer; `i` where all went well."""

    op: Count
    v: str
    ok: bool
    i: Index | None = None
    err: str | None = None
    after_stop: bool = False
    on_inc: Count | None = None


class TransferReq(NodeLine, tag="transfer_req", kw_only=True):
    """A client asks for LeadershipTransfer, to a server or to any."""

    to: str
    k: Count


class TransferResp(NodeLine, tag="transfer_resp", kw_only=True):
    """It has its answer."""

    to: str
    k: Count
    ok: bool
    err: str | None = None


class Partition(Line, tag="partition", kw_only=True):
    """The harness parts the network."""

    groups: tuple[tuple[Name, ...], ...]
    why: str | None = None


class Heal(Line, tag="heal", kw_only=True):
    """It ends that."""

    why: str | None = None


class CutOneway(Line, tag="cut_oneway", kw_only=True):
    """It cuts one direction."""

    source: Name = field(name="from")
    to: Name
    why: str | None = None


class Script(Line, tag="script", kw_only=True):
    """It names its next step."""

    step: str


class FaultsOff(Line, tag="faults_off", kw_only=True):
    """It ends all faults."""


class End(Line, tag="end", kw_only=True):
    """The last line, which counts all."""

    events: Count
