"""Lines of a recording of DLedger: the type of each kind, with the recording's names."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta, Struct

from lockstep.systems.recording_file import Count, Name, NodeLine, Nodes, RecordingLine
from lockstep.trace.json_lines import MAX_INTEGER

Index = Annotated[int, Meta(ge=-1, le=MAX_INTEGER)]
RoleName = Literal["LEADER", "FOLLOWER", "CANDIDATE"]
LogEntry = tuple[Index, Index, str]


class ShownNode(Struct, forbid_unknown_fields=True, frozen=True):
    """`st`: a node when the line was written."""

    role: RoleName
    term: Index
    leader: str | None
    begin: Index
    end: Index
    endTerm: Index
    committed: Index


# ---- The recording, and the lives of its nodes ----


class RecordingHeader(RecordingLine, tag="header", kw_only=True):
    """The first line: what was recorded, and how."""

    format: str
    version: Name
    scenario: str
    nodes: Nodes
    client: Name
    seed: int
    faults: str
    config: dict[str, bool | int | float | str | None]
    java: str
    fields: str


class StartLine(NodeLine, tag="start", kw_only=True):
    """A node starts."""

    why: Literal["boot", "restart"]


class RecoveredLine(NodeLine, tag="recovered", kw_only=True):
    """The state that a node loaded at its start."""

    currTerm: Index
    votedFor: str | None
    st: ShownNode
    log: tuple[LogEntry, ...]


class CrashLine(NodeLine, tag="crash", kw_only=True):
    """The process is killed."""

    st: ShownNode


class StoppingLine(NodeLine, tag="stopping", kw_only=True):
    """An orderly shutdown begins."""

    st: ShownNode


class StopLine(NodeLine, tag="stop", kw_only=True):
    """An orderly shutdown has ended."""

    st: ShownNode


class FinalLine(NodeLine, tag="final", kw_only=True):
    """A node at the end."""

    st: ShownNode
    votedFor: str | None
    log: tuple[LogEntry, ...]


class RecordingEnd(RecordingLine, tag="end", kw_only=True):
    """The last line: the counts of the lines before it, by kind."""

    counts: dict[str, Count]


# ---- Replication: pushes, the follower's queues, dispatchers, watermarks, the store ----

PushType = Literal["COMPARE", "TRUNCATE", "APPEND", "COMMIT"]


class ShownLog(Struct, forbid_unknown_fields=True, frozen=True):
    """`st` and `pre` of a store line: the log alone."""

    begin: Index
    end: Index
    endTerm: Index
    committed: Index


class ShownDispatcher(Struct, forbid_unknown_fields=True, frozen=True):
    """`disp`: the leader's EntryDispatcher for one peer."""

    type: PushType
    compareIndex: Index
    writeIndex: Index
    term: Index
    pending: Count


class PushLine(NodeLine, kw_only=True):
    """A push request; the fields of an entry are missing in COMMIT, and `entries` makes it a batch."""

    variant_field: ClassVar[str] = "type"
    entry_fields: ClassVar[tuple[str, ...]] = ("index", "entryTerm", "val", "pos")
    variant_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
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
    st: ShownNode

    def required_fields(self) -> tuple[str, ...]:
        """Return the fields of its one entry, or of a batch."""
        return ("index", "count") if self.entries is not None else super().required_fields()

    @property
    def last_index(self) -> int | None:
        """The index of the last entry it carries, None for a COMMIT."""
        return self.index if self.index is None or self.count is None else self.index + self.count - 1


class SendPush(PushLine, tag="send_push", kw_only=True):
    """A dispatcher sends a push."""

    disp: ShownDispatcher


class RecvPush(PushLine, tag="recv_push", kw_only=True):
    """A push arrives."""

    copy: Count | None = None


class QueueLine(NodeLine, tag="handler", kw_only=True):
    """The follower's queues of requests."""

    variant_field: ClassVar[str] = "op"
    variant_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
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
    st: ShownNode | None = None
    done: bool = False
    lost: tuple[tuple[Index, Count], ...] | None = None
    copy: Count | None = None


class ResponseLine(NodeLine, kw_only=True):
    """The answer to a push; that to a COMMIT has no index."""

    variant_field: ClassVar[str] = "type"

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


class RespPush(ResponseLine, tag="resp_push", kw_only=True):
    """The follower answers."""

    to: Name
    st: ShownNode
    by: Name
    copy: Count | None = None


class RecvRespPush(ResponseLine, tag="recv_resp_push", kw_only=True):
    """An answer arrives; it is ignored where the call had ended."""

    source: Name = msgspec.field(name="from")
    disp: ShownDispatcher | None
    ignored: bool = False
    copy: Count | None = None


class DispatcherLine(NodeLine, tag="dispatcher", kw_only=True):
    """A dispatcher is about to change its state; `disp` is from before."""

    variant_field: ClassVar[str] = "op"

    op: Literal["changeState"]
    peer: Name
    source: PushType = msgspec.field(name="from")
    to: PushType
    at: Index
    disp: ShownDispatcher
    by: Name


class WatermarkLine(NodeLine, tag="watermark", kw_only=True):
    """The watermarks of a term change."""

    variant_field: ClassVar[str] = "op"
    variant_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {"put": ("peer", "index", "prev")}

    op: Literal["put", "init", "clear"]
    term: Index
    peer: str | None = None
    index: Index | None = None
    prev: Index | None = None
    marks: dict[str, Index]
    by: Name


class StoreLine(NodeLine, tag="store", kw_only=True):
    """A call of the store; the line is written together with its effect."""

    variant_field: ClassVar[str] = "op"
    variant_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
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
    pre: ShownLog
    st: ShownLog
    by: Name


class CheckpointLine(NodeLine, tag="checkpoint", kw_only=True):
    """The checkpoint file was written."""

    endIndex: Index
    committedIndex: Index


# ---- Elections ----


class RoleLine(NodeLine, tag="role", kw_only=True):
    """A node changes its role, its term or its vote."""

    variant_field: ClassVar[str] = "op"

    op: Literal["changeToLeader", "changeToFollower", "changeToCandidate", "nextTerm", "setCurrVoteFor"]
    role: RoleName
    term: Index
    leaderId: str | None
    votedFor: str | None
    knownMaxTerm: Index
    endIndex: Index
    endTerm: Index
    by: Name
    prevRole: RoleName | None = None
    argTerm: Index | None = None
    prevTerm: Index | None = None


class VoteLine(NodeLine, kw_only=True):
    """A vote message; its effect has a role line."""

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
    st: ShownNode | None = None
    copy: Count | None = None


class SendVote(VoteLine, tag="send_vote", kw_only=True):
    """A candidate requests a vote."""


class RecvVote(VoteLine, tag="recv_vote", kw_only=True):
    """A request for a vote arrives."""


class RespVote(VoteLine, tag="resp_vote", kw_only=True):
    """A request for a vote is answered."""


class RecvRespVote(VoteLine, tag="recv_resp_vote", kw_only=True):
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


class HeartbeatLine(NodeLine, kw_only=True):
    """A heartbeat message; its effect has a role line."""

    mid: Count
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    leaderId: str | None = None
    code: str | None = None
    term: Index
    reqTerm: Index | None = None
    st: ShownNode | None = None
    copy: Count | None = None


class SendHeartbeat(HeartbeatLine, tag="send_heartbeat", kw_only=True):
    """A heartbeat is sent."""


class RecvHeartbeat(HeartbeatLine, tag="recv_heartbeat", kw_only=True):
    """A heartbeat arrives."""


class RespHeartbeat(HeartbeatLine, tag="resp_heartbeat", kw_only=True):
    """A heartbeat is answered."""


class RecvRespHeartbeat(HeartbeatLine, tag="recv_resp_heartbeat", kw_only=True):
    """The answer arrives; it is ignored where the call had ended."""

    ignored: bool = False


# ---- The network, the clients, and the harness that makes faults ----


class DroppedLine(RecordingLine, tag="dropped", kw_only=True):
    """A message is lost."""

    node: Name
    mid: Count
    rpc: Name
    dir: Literal["req", "resp"]
    src: Name
    dst: Name
    reason: str
    copy: Count | None = None


class DuplicatedLine(RecordingLine, tag="duplicated", kw_only=True):
    """A request will be delivered twice."""

    variant_field: ClassVar[str] = "type"

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


class HeldLine(DuplicatedLine, tag="held", kw_only=True):
    """A message is delayed."""


class NetErrorLine(NodeLine, tag="net_error", kw_only=True):
    """A call fails at its caller."""

    variant_field: ClassVar[str] = "type"

    mid: Count
    rpc: Name
    dst: Name
    type: PushType | None = None
    reason: Literal["refused", "rpc_timeout"]
    gives: str


class ClientLine(RecordingLine, kw_only=True):
    """A client's call; its effect has a store line."""

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
    st: ShownNode | None = None


class ClientAppend(ClientLine, tag="client_append", kw_only=True):
    """A client asks."""


class RecvAppend(ClientLine, tag="recv_append", kw_only=True):
    """The request arrives."""


class RespAppend(ClientLine, tag="resp_append", kw_only=True):
    """The node answers."""


class ClientAck(ClientLine, tag="client_ack", kw_only=True):
    """The answer arrives."""


class FaultLine(RecordingLine, tag="fault", kw_only=True):
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


class NoteLine(RecordingLine, tag="note", kw_only=True):
    """Free text."""

    msg: str


class QuiescedLine(RecordingLine, tag="quiesced", kw_only=True):
    """All faults have ended and the nodes are at rest."""

    reached: bool
