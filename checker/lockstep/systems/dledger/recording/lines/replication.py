"""The lines of replication: pushes and their answers, the follower's queues, dispatchers, watermarks, the store."""

from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

from lockstep.systems.dledger.recording.lines.line import Count, Index, LogEntry, Name, NodeLine, NodeState

PushType = Literal["COMPARE", "TRUNCATE", "APPEND", "COMMIT"]


class StoreState(Struct, forbid_unknown_fields=True, frozen=True):
    """`st` and `pre` of a store line: the log alone."""

    begin: Index
    end: Index
    endTerm: Index  # noqa: N815 - the recording's name
    committed: Index


class DispatcherState(Struct, forbid_unknown_fields=True, frozen=True):
    """`disp`: the leader's EntryDispatcher for one peer."""

    type: PushType
    compareIndex: Index  # noqa: N815
    writeIndex: Index  # noqa: N815
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
