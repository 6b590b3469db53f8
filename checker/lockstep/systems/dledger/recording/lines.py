"""The lines of a recording of DLedger: their types, and a reader that accepts nothing else.

Every line has `seq` (0, 1, 2, ... without gaps), `t_ms` and `kind`. The first line is the header, the last
the end line, which counts the lines before it by kind. An unknown kind or field, a missing field, a gap, a
file without an end line: each is a TraceError that names the file, the line and the field.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta, Struct

from lockstep.trace.json_lines import MAX_INTEGER, TraceError, converted, file_lines, json_object

CAPTURE_FORMAT = "dledger-capture/1"

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Index = Annotated[int, Meta(ge=-1, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Role = Literal["LEADER", "FOLLOWER", "CANDIDATE"]
PushType = Literal["COMPARE", "TRUNCATE", "APPEND", "COMMIT"]
LogEntry = tuple[Index, Index, str]


class NodeState(Struct, forbid_unknown_fields=True, frozen=True):
    """`st`: a node when the line was written."""

    role: Role
    term: Index
    leader: str | None
    begin: Index
    end: Index
    endTerm: Index  # noqa: N815 - the recording's name
    committed: Index


class StoreState(Struct, forbid_unknown_fields=True, frozen=True):
    """`st` and `pre` of a store line: the log alone."""

    begin: Index
    end: Index
    endTerm: Index  # noqa: N815
    committed: Index


class DispatcherState(Struct, forbid_unknown_fields=True, frozen=True):
    """`disp`: the leader's EntryDispatcher for one peer."""

    type: PushType
    compareIndex: Index  # noqa: N815
    writeIndex: Index  # noqa: N815
    term: Index
    pending: Count


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

    currTerm: Index  # noqa: N815
    votedFor: str | None  # noqa: N815
    st: NodeState
    log: tuple[LogEntry, ...]


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
    leaderId: Name  # noqa: N815
    remoteId: Name  # noqa: N815
    term: Index
    index: Count | None = None
    entryTerm: Index | None = None  # noqa: N815
    val: str | None = None
    pos: Count | None = None
    count: Count | None = None
    entries: tuple[LogEntry, ...] | None = None
    commitIndex: Index  # noqa: N815
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
    reqTerm: Index | None = None  # noqa: N815
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
    beginIndex: Index  # noqa: N815
    endIndex: Index  # noqa: N815

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
    entryTerm: Index | None = None  # noqa: N815
    val: str | None = None
    pos: Index | None = None
    leaderTerm: Index | None = None  # noqa: N815
    leaderId: str | None = None  # noqa: N815
    argTerm: Index | None = None  # noqa: N815
    argIndex: Index | None = None  # noqa: N815
    currTerm: Index | None = None  # noqa: N815
    clamped: bool | None = None
    pre: StoreState
    st: StoreState
    by: Name


class Checkpoint(NodeLine, tag="checkpoint", kw_only=True):
    """The checkpoint file was written."""

    endIndex: Index  # noqa: N815
    committedIndex: Index  # noqa: N815


class RoleLine(NodeLine, tag="role", kw_only=True):
    """A node changes its role, its term or its vote."""

    op: Literal["changeToLeader", "changeToFollower", "changeToCandidate", "nextTerm", "setCurrVoteFor"]
    role: Role
    term: Index
    leaderId: str | None  # noqa: N815
    votedFor: str | None  # noqa: N815
    knownMaxTerm: Index  # noqa: N815
    endIndex: Index  # noqa: N815
    endTerm: Index  # noqa: N815
    by: Name
    prevRole: Role | None = None  # noqa: N815
    argTerm: Index | None = None  # noqa: N815
    prevTerm: Index | None = None  # noqa: N815


class Crash(NodeLine, tag="crash", kw_only=True):
    """The process is killed."""

    st: NodeState


class Stopping(NodeLine, tag="stopping", kw_only=True):
    """An orderly shutdown begins."""

    st: NodeState


class Stop(NodeLine, tag="stop", kw_only=True):
    """An orderly shutdown has ended."""

    st: NodeState


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
    delayMs: float | list[float] | None = None  # noqa: N815
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


class Final(NodeLine, tag="final", kw_only=True):
    """A node at the end."""

    st: NodeState
    votedFor: str | None  # noqa: N815
    log: tuple[LogEntry, ...]


class RecordingEnd(Line, tag="end", kw_only=True):
    """The last line: how many lines of each kind stand before it."""

    counts: dict[str, Count]


class Vote(NodeLine, kw_only=True):
    """A vote message; what it leads to is told by role lines."""

    mid: Count | None = None
    self: bool = False
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    candidate: str | None = None
    term: Index
    ledgerEndIndex: Index | None = None  # noqa: N815
    ledgerEndTerm: Index | None = None  # noqa: N815
    result: str | None = None
    reqTerm: Index | None = None  # noqa: N815
    st: NodeState | None = None
    copy: Count | None = None


class SendVote(Vote, tag="send_vote", kw_only=True):
    """A vote is asked for."""


class RecvVote(Vote, tag="recv_vote", kw_only=True):
    """A request for a vote arrives."""


class RespVote(Vote, tag="resp_vote", kw_only=True):
    """A request for a vote is answered."""


class RecvRespVote(Vote, tag="recv_resp_vote", kw_only=True):
    """The answer arrives."""


class VoteParse(NodeLine, tag="vote_parse", kw_only=True):
    """The outcome of a round of votes."""

    term: Index
    memberNum: Count  # noqa: N815
    all: Count
    accepted: Count
    notReady: Count  # noqa: N815
    biggerLedger: Count  # noqa: N815
    alreadyHasLeader: bool  # noqa: N815
    maxTerm: Index  # noqa: N815
    result: str


class Heartbeat(NodeLine, kw_only=True):
    """A heartbeat message; what it leads to is told by role lines."""

    mid: Count
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    leaderId: str | None = None  # noqa: N815
    code: str | None = None
    term: Index
    reqTerm: Index | None = None  # noqa: N815
    st: NodeState | None = None
    copy: Count | None = None


class SendHeartbeat(Heartbeat, tag="send_heartbeat", kw_only=True):
    """A heartbeat is sent."""


class RecvHeartbeat(Heartbeat, tag="recv_heartbeat", kw_only=True):
    """A heartbeat arrives."""


class RespHeartbeat(Heartbeat, tag="resp_heartbeat", kw_only=True):
    """A heartbeat is answered."""


class RecvRespHeartbeat(Heartbeat, tag="recv_resp_heartbeat", kw_only=True):
    """The answer arrives."""


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
    delayMs: list[float] | float | None = None  # noqa: N815
    spikeProb: float | None = None  # noqa: N815
    spikeMs: list[float] | float | None = None  # noqa: N815
    fifo: bool | None = None
    rules: list[str] | None = None
    rule: str | None = None
    node: str | None = None
    count: int | None = None


class Note(Line, tag="note", kw_only=True):
    """Free text."""

    msg: str


class Quiesced(Line, tag="quiesced", kw_only=True):
    """All faults have ended and the nodes are at rest."""

    reached: bool


AnyLine = (
    RecordingHeader | Start | Recovered | Final | RecordingEnd | Crash | Stopping | Stop
    | SendPush | RecvPush | Handler | RespPush | RecvRespPush | DispatcherLine | Watermark
    | Store | Checkpoint | RoleLine | Dropped | Duplicated | Held | NetError
    | SendVote | RecvVote | RespVote | RecvRespVote | VoteParse
    | SendHeartbeat | RecvHeartbeat | RespHeartbeat | RecvRespHeartbeat
    | ClientAppend | RecvAppend | RespAppend | ClientAck | Fault | Note | Quiesced
)  # fmt: skip


def read_recording(path: Path | str) -> tuple[RecordingHeader, Iterator[Line]]:
    """Open a recording; return its header and an iterator of the lines between it and the end line.

    Raises TraceError, at once or while it is iterated, where the file is not a whole recording, and OSError
    where it cannot be read.
    """
    return parse_lines(file_lines(Path(path)), str(path))


def parse_lines(raw: Iterable[bytes], source: str) -> tuple[RecordingHeader, Iterator[Line]]:
    """Do the same for lines that were read already; `source` names them in messages."""
    raw = iter(raw)
    first = next(raw, b"")
    if b'"lockstep-trace/' in first[:200]:
        raise TraceError(source, 1, "no recording, but a trace: `lockstep check` takes it as it is")
    lines = _decoded(chain([first] if first else [], raw), source)
    header = next(lines, None)
    if header is None:
        raise TraceError(source, 1, "the file is empty: a recording starts with a header line")
    if not isinstance(header, RecordingHeader):
        raise TraceError(source, 1, "field `kind`: the first line must be a header")
    if header.format != CAPTURE_FORMAT:
        raise TraceError(source, 1, f"field `format`: {header.format!r} is not {CAPTURE_FORMAT!r}")
    if len(set(header.nodes)) != len(header.nodes):
        raise TraceError(source, 1, "field `nodes`: a node is named twice")
    return header, _body(header, lines, source)


def _body(header: RecordingHeader, lines: Iterator[Line], source: str) -> Iterator[Line]:
    counts = Counter({"header": 1})
    number, before = 1, header.t_ms
    lives: Counter[str] = Counter()
    for line in lines:
        number = line.number
        if isinstance(line, RecordingHeader):
            raise TraceError(source, number, "field `kind`: a second header")
        if not line.t_ms >= before:
            raise TraceError(source, number, f"field `t_ms`: {line.t_ms} is less than {before}, in the line above")
        before = line.t_ms
        if isinstance(line, RecordingEnd):
            _check_end(line, counts, source)
            extra = next(lines, None)
            if extra is not None:
                raise TraceError(source, extra.number, "there is more after the end line")
            return
        if isinstance(line, NodeLine) and line.node not in header.nodes:
            raise TraceError(source, number, f"field `node`: {line.node!r} is not in the header")
        _check_life(line, lives, source)
        counts[str(line.__struct_config__.tag)] += 1
        yield line
    raise TraceError(source, number, "the file is truncated: it has no end line")


def _check_life(line: Line, lives: Counter[str], source: str) -> None:
    """Raise TraceError where a line is not of the life that its node is in."""
    if not isinstance(line, NodeLine):
        return
    if isinstance(line, Start):
        lives[line.node] += 1
    if line.inc != lives[line.node]:
        raise TraceError(source, line.number, f"field `inc`: {line.inc}, but {line.node} is in life {lives[line.node]}")


def _check_end(end: RecordingEnd, counts: Counter[str], source: str) -> None:
    for kind in sorted(counts.keys() | end.counts.keys()):
        if counts[kind] != end.counts.get(kind, 0):
            problem = f"the end line counts {end.counts.get(kind, 0)}, the file has {counts[kind]}"
            raise TraceError(source, end.number, f"field `counts.{kind}`: {problem}")


def _decoded(raw: Iterable[bytes], source: str) -> Iterator[Line]:
    for number, text in enumerate(raw, start=1):
        line: Line = converted(json_object(text, source, number, "recording"), AnyLine, source, number)
        if line.seq != number - 1:
            raise TraceError(source, number, f"field `seq`: {line.seq} is not {number - 1}")
        for field in line.required_fields():
            if getattr(line, field) is None:
                raise TraceError(source, number, f"field `{field}`: missing")
        if isinstance(line, Push) and line.entries is not None:
            _check_batch(line, line.entries, source)
        yield line


def _check_batch(line: Push, entries: tuple[LogEntry, ...], source: str) -> None:
    """Raise TraceError unless these are `count` entries of an APPEND, from `index` on."""
    if line.type != "APPEND":
        raise TraceError(source, line.number, f"field `entries`: a {line.type} carries one entry")
    if not entries or len(entries) != line.count:
        raise TraceError(source, line.number, f"field `count`: {line.count}, and {len(entries)} entries")
    assert line.index is not None
    for offset, (index, _, _) in enumerate(entries):
        if index != line.index + offset:
            raise TraceError(source, line.number, f"field `entries`: {index} is not {line.index + offset}")
