"""Lines of a recording of DLedger: the type of each kind, with the recording's names.

Every line has `seq` (0, 1, 2, ... without gaps), `t_ms` and `kind`.
"""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta, Struct

from lockstep.trace.json_lines import MAX_INTEGER

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Index = Annotated[int, Meta(ge=-1, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Role = Literal["LEADER", "FOLLOWER", "CANDIDATE"]
LogEntry = tuple[Index, Index, str]


class NodeState(Struct, forbid_unknown_fields=True, frozen=True):
    """`st`: a node when the line was written."""

    role: Role
    term: Index
    leader: str | None
    begin: Index
    end: Index
    endTerm: Index
    committed: Index


class Line(Struct, tag_field="kind", forbid_unknown_fields=True, kw_only=True):
    """What every line has. `op_fields` names the fields that a line needs by its op or type."""

    op_fields: ClassVar[dict[str, tuple[str, ...]]] = {}

    seq: Count
    t_ms: float

    @property
    def number(self) -> int:
        """The line's number in the file; 1 is the first."""
        return self.seq + 1

    @property
    def variant(self) -> str:
        """What tells lines of one kind apart: the op or the type."""
        return str(getattr(self, "op", None) or getattr(self, "type", None) or "")

    def required_fields(self) -> tuple[str, ...]:
        """Return the fields that this line needs, of those that others of its kind may lack."""
        return self.op_fields.get(self.variant, ())

    @property
    def label(self) -> str:
        """The kind, with the variant where there is one: `store.truncate`."""
        return ".".join(filter(None, (str(self.__struct_config__.tag), self.variant)))


class NodeLine(Line, kw_only=True):
    """A line of one node in one incarnation."""

    node: Name
    inc: Annotated[int, Meta(ge=1)]


# ---- The recording, and the lives of its nodes ----


class RecordingHeader(Line, tag="header", kw_only=True):
    """The first line: what was recorded, and how."""

    format: str
    version: Name
    scenario: str
    nodes: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=64)]
    client: Name
    seed: int
    faults: str
    config: dict[str, bool | int | float | str | None]
    java: str
    fields: str


class Start(NodeLine, tag="start", kw_only=True):
    """A node starts."""

    why: Literal["boot", "restart"]


class Recovered(NodeLine, tag="recovered", kw_only=True):
    """What a node loaded at its start."""

    currTerm: Index
    votedFor: str | None
    st: NodeState
    log: tuple[LogEntry, ...]


class Crash(NodeLine, tag="crash", kw_only=True):
    """The process is killed."""

    st: NodeState


class Stopping(NodeLine, tag="stopping", kw_only=True):
    """An orderly shutdown begins."""

    st: NodeState


class Stop(NodeLine, tag="stop", kw_only=True):
    """An orderly shutdown has ended."""

    st: NodeState


class Final(NodeLine, tag="final", kw_only=True):
    """A node at the end."""

    st: NodeState
    votedFor: str | None
    log: tuple[LogEntry, ...]


class RecordingEnd(Line, tag="end", kw_only=True):
    """The last line: how many lines of each kind stand before it."""

    counts: dict[str, Count]


# ---- Replication: pushes, the follower's queues, dispatchers, watermarks, the store ----

PushType = Literal["COMPARE", "TRUNCATE", "APPEND", "COMMIT"]


class StoreState(Struct, forbid_unknown_fields=True, frozen=True):
    """`st` and `pre` of a store line: the log alone."""

    begin: Index
    end: Index
    endTerm: Index
    committed: Index


class DispatcherState(Struct, forbid_unknown_fields=True, frozen=True):
    """`disp`: the leader's EntryDispatcher for one peer."""

    type: PushType
    compareIndex: Index
    writeIndex: Index
    term: Index
    pending: Count


class Push(NodeLine, kw_only=True):
    """A push request; the fields of an entry are missing in COMMIT, and `entries` makes it a batch."""

    entry_fields: ClassVar[tuple[str, ...]] = ("index", "entryTerm", "val", "pos")
    op_fields: ClassVar[dict[str, tuple[str, ...]]] = {
        "COMPARE": entry_fields,
        "TRUNCATE": entry_fields,
        "APPEND": entry_fields,
    }

    mid: Count
    type: PushType
    leaderId: Name
    remoteId: Name
    term: Index
    index: Count | None = None
    entryTerm: Index | None = None
    val: str | None = None
    pos: Count | None = None
    count: Count | None = None
    entries: tuple[LogEntry, ...] | None = None
    commitIndex: Index
    st: NodeState

    def required_fields(self) -> tuple[str, ...]:
        """Return the fields of its one entry, or of a batch."""
        return ("index", "count") if self.entries is not None else super().required_fields()

    @property
    def last_index(self) -> int | None:
        """The index of the last entry it carries, None for a COMMIT."""
        return self.index if self.index is None or self.count is None else self.index + self.count - 1


class SendPush(Push, tag="send_push", kw_only=True):
    """A dispatcher sends a push."""

    disp: DispatcherState


class RecvPush(Push, tag="recv_push", kw_only=True):
    """A push arrives."""

    copy: Count | None = None


class Handler(NodeLine, tag="handler", kw_only=True):
    """The follower's queues of requests."""

    op_fields: ClassVar[dict[str, tuple[str, ...]]] = {
        "enqueue": ("mid",),
        "take": ("mid", "st"),
        "repeated": ("mid",),
        "clear": ("lost",),
    }

    op: Literal["enqueue", "take", "repeated", "clear"]
    q: Literal["write", "ctrl"]
    mid: Count | None = None
    type: PushType | None = None
    index: Index | None = None
    size: Count | None = None
    reqTerm: Index | None = None
    st: NodeState | None = None
    done: bool = False
    lost: tuple[tuple[Index, Count], ...] | None = None
    copy: Count | None = None


class Response(NodeLine, kw_only=True):
    """The answer to a push; that to a COMMIT has no index."""

    mid: Count
    type: PushType
    code: Name
    term: Index
    index: Index | None
    count: Count
    beginIndex: Index
    endIndex: Index

    @property
    def last_index(self) -> int | None:
        """The index of the last entry that was pushed, None for a COMMIT; `count` is 0 where it was no batch."""
        return None if self.index is None else self.index + max(self.count, 1) - 1


class RespPush(Response, tag="resp_push", kw_only=True):
    """The follower answers."""

    to: Name
    st: NodeState
    by: Name
    copy: Count | None = None


class RecvRespPush(Response, tag="recv_resp_push", kw_only=True):
    """An answer arrives; it is ignored where the call had ended."""

    source: Name = msgspec.field(name="from")
    disp: DispatcherState | None
    ignored: bool = False
    copy: Count | None = None


class DispatcherLine(NodeLine, tag="dispatcher", kw_only=True):
    """A dispatcher is about to change its state; `disp` is from before."""

    op: Literal["changeState"]
    peer: Name
    source: PushType = msgspec.field(name="from")
    to: PushType
    at: Index
    disp: DispatcherState
    by: Name


class Watermark(NodeLine, tag="watermark", kw_only=True):
    """The watermarks of a term change."""

    op_fields: ClassVar[dict[str, tuple[str, ...]]] = {"put": ("peer", "index", "prev")}

    op: Literal["put", "init", "clear"]
    term: Index
    peer: str | None = None
    index: Index | None = None
    prev: Index | None = None
    marks: dict[str, Index]
    by: Name


class Store(NodeLine, tag="store", kw_only=True):
    """A call of the store; the line is written together with its effect."""

    op_fields: ClassVar[dict[str, tuple[str, ...]]] = {
        "appendAsLeader": ("index", "entryTerm", "val", "pos"),
        "appendAsFollower": ("index", "entryTerm", "val", "pos", "leaderTerm", "leaderId"),
        "truncate": ("index", "entryTerm", "val", "pos", "leaderTerm", "leaderId"),
        "updateCommittedIndex": ("argTerm", "argIndex", "currTerm"),
    }

    op: Literal["appendAsLeader", "appendAsFollower", "truncate", "updateCommittedIndex"]
    ok: bool
    err: str | None = None
    noop: Literal["stale_term", "lower", "other"] | None = None
    index: Index | None = None
    entryTerm: Index | None = None
    val: str | None = None
    pos: Index | None = None
    leaderTerm: Index | None = None
    leaderId: str | None = None
    argTerm: Index | None = None
    argIndex: Index | None = None
    currTerm: Index | None = None
    clamped: bool | None = None
    pre: StoreState
    st: StoreState
    by: Name


class Checkpoint(NodeLine, tag="checkpoint", kw_only=True):
    """The checkpoint file was written."""

    endIndex: Index
    committedIndex: Index


# ---- Elections ----


class RoleLine(NodeLine, tag="role", kw_only=True):
    """A node changes its role, its term or its vote."""

    op: Literal["changeToLeader", "changeToFollower", "changeToCandidate", "nextTerm", "setCurrVoteFor"]
    role: Role
    term: Index
    leaderId: str | None
    votedFor: str | None
    knownMaxTerm: Index
    endIndex: Index
    endTerm: Index
    by: Name
    prevRole: Role | None = None
    argTerm: Index | None = None
    prevTerm: Index | None = None


class Vote(NodeLine, kw_only=True):
    """A vote message; what it leads to is told by role lines."""

    mid: Count | None = None
    self: bool = False
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    candidate: str | None = None
    term: Index
    ledgerEndIndex: Index | None = None
    ledgerEndTerm: Index | None = None
    result: str | None = None
    reqTerm: Index | None = None
    st: NodeState | None = None
    copy: Count | None = None


class SendVote(Vote, tag="send_vote", kw_only=True):
    """A vote is asked for."""


class RecvVote(Vote, tag="recv_vote", kw_only=True):
    """A request for a vote arrives."""


class RespVote(Vote, tag="resp_vote", kw_only=True):
    """A request for a vote is answered."""


class RecvRespVote(Vote, tag="recv_resp_vote", kw_only=True):
    """The answer arrives; it is ignored where the call had ended."""

    ignored: bool = False


class VoteParse(NodeLine, tag="vote_parse", kw_only=True):
    """The outcome of a round of votes."""

    term: Index
    memberNum: Count
    all: Count
    accepted: Count
    notReady: Count
    biggerLedger: Count
    alreadyHasLeader: bool
    maxTerm: Index
    result: str


class Heartbeat(NodeLine, kw_only=True):
    """A heartbeat message; what it leads to is told by role lines."""

    mid: Count
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    leaderId: str | None = None
    code: str | None = None
    term: Index
    reqTerm: Index | None = None
    st: NodeState | None = None
    copy: Count | None = None


class SendHeartbeat(Heartbeat, tag="send_heartbeat", kw_only=True):
    """A heartbeat is sent."""


class RecvHeartbeat(Heartbeat, tag="recv_heartbeat", kw_only=True):
    """A heartbeat arrives."""


class RespHeartbeat(Heartbeat, tag="resp_heartbeat", kw_only=True):
    """A heartbeat is answered."""


class RecvRespHeartbeat(Heartbeat, tag="recv_resp_heartbeat", kw_only=True):
    """The answer arrives; it is ignored where the call had ended."""

    ignored: bool = False


# ---- The network, the clients, and the harness that makes faults ----


class Dropped(Line, tag="dropped", kw_only=True):
    """A message is lost."""

    node: Name
    mid: Count
    rpc: Name
    dir: Literal["req", "resp"]
    src: Name
    dst: Name
    reason: str
    copy: Count | None = None


class Duplicated(Line, tag="duplicated", kw_only=True):
    """A request will be delivered twice."""

    node: str | None = None
    inc: Count | None = None
    mid: Count
    rpc: Name
    dir: Literal["req", "resp"] = "req"
    src: str | None = None
    dst: str | None = None
    type: str | None = None
    delayMs: float | list[float] | None = None
    reason: str | None = None
    copy: Count | None = None


class Held(Duplicated, tag="held", kw_only=True):
    """A message is delayed."""


class NetError(NodeLine, tag="net_error", kw_only=True):
    """A call fails at its caller."""

    mid: Count
    rpc: Name
    dst: Name
    type: PushType | None = None
    reason: Literal["refused", "rpc_timeout"]
    gives: str


class ClientLine(Line, kw_only=True):
    """A client's call; what it leads to is told by the store."""

    node: Name
    inc: Count | None = None
    req: Count
    mid: Count
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    val: str | None = None
    code: str | None = None
    reason: str | None = None
    index: Index | None = None
    term: Index | None = None
    by: str | None = None
    ignored: bool = False
    st: NodeState | None = None


class ClientAppend(ClientLine, tag="client_append", kw_only=True):
    """A client asks."""


class RecvAppend(ClientLine, tag="recv_append", kw_only=True):
    """The request arrives."""


class RespAppend(ClientLine, tag="resp_append", kw_only=True):
    """The node answers."""


class ClientAck(ClientLine, tag="client_ack", kw_only=True):
    """The answer arrives."""


class Fault(Line, tag="fault", kw_only=True):
    """The harness changes the faults."""

    action: Name
    drop: float | None = None
    dup: float | None = None
    delayMs: list[float] | float | None = None
    spikeProb: float | None = None
    spikeMs: list[float] | float | None = None
    fifo: bool | None = None
    rules: list[str] | None = None
    rule: str | None = None
    match: str | None = None
    node: str | None = None
    count: int | None = None


class Note(Line, tag="note", kw_only=True):
    """Free text."""

    msg: str


class Quiesced(Line, tag="quiesced", kw_only=True):
    """All faults have ended and the nodes are at rest."""

    reached: bool
