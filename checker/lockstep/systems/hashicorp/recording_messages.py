"""The lines of requests and answers, and what becomes of them in the network."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, field

from lockstep.systems.hashicorp.recording_lines import Index, LogEntry, ServerLine
from lockstep.systems.recording_file import Count, Name

Msg = Literal["AppendEntries", "RequestVote", "RequestPreVote", "InstallSnapshot", "TimeoutNow"]
Copy = Annotated[int, Meta(ge=0, le=1)]


class Body(Struct, forbid_unknown_fields=True, frozen=True):
    """The content of a request or an answer."""


class AppendEntries(Body, frozen=True):
    """A heartbeat has no entries, and 0 for the entry before and for the commit index."""

    term: Index
    leader: Name
    prev_index: Index
    prev_term: Index
    commit: Index
    entries: tuple[LogEntry, ...]

    @property
    def is_heartbeat(self) -> bool:
        """Whether the routine of heartbeats sent it: the other one names the entry before, or sends the first."""
        return not self.prev_index and not self.entries


class AppendEntriesAnswer(Body, frozen=True):
    """`last_log` is the end of the log when the handler began."""

    term: Index
    success: bool
    last_log: Index
    no_retry_backoff: bool
    err: str | None = None


class RequestVote(Body, frozen=True):
    """`transfer`: a leader has chosen the candidate."""

    term: Index
    cand: Name
    last_index: Index
    last_term: Index
    transfer: bool


class RequestPreVote(Body, frozen=True):
    """The term is the one that the candidate would enter."""

    term: Index
    cand: Name
    last_index: Index
    last_term: Index


class VoteAnswer(Body, frozen=True):
    """The answer to a request for a vote or a pre-vote."""

    term: Index
    granted: bool
    err: str | None = None


class InstallSnapshot(Body, frozen=True):
    """`config` are the voters, `size` the bytes of the snapshot."""

    term: Index
    leader: Name
    last_index: Index
    last_term: Index
    size: Count
    config: str
    config_index: Index


class InstallSnapshotAnswer(Body, frozen=True):
    """Whether the snapshot was installed."""

    term: Index
    success: bool
    err: str | None = None


class TimeoutNow(Body, frozen=True):
    """A leader asks its successor to campaign."""

    leader: Name


class TimeoutNowAnswer(Body, frozen=True):
    """It has no content."""

    err: str | None = None


REQUESTS: dict[str, type[Body]] = {
    "AppendEntries": AppendEntries,
    "RequestVote": RequestVote,
    "RequestPreVote": RequestPreVote,
    "InstallSnapshot": InstallSnapshot,
    "TimeoutNow": TimeoutNow,
}

ANSWERS: dict[str, type[Body]] = {
    "AppendEntries": AppendEntriesAnswer,
    "RequestVote": VoteAnswer,
    "RequestPreVote": VoteAnswer,
    "InstallSnapshot": InstallSnapshotAnswer,
    "TimeoutNow": TimeoutNowAnswer,
}


class RpcLine(ServerLine, kw_only=True):
    """A line of a call. Its `body` is one of REQUESTS or ANSWERS, by `msg`."""

    variant_field: ClassVar[str] = "msg"

    msg: Msg
    rpc: Count


class Send(RpcLine, tag="send", kw_only=True):
    """A request is handed to the transport; it was built before, by the routine that calls, or that has a pipeline."""

    to: Name
    body: Any
    pipelined: bool = False


class Duplicate(RpcLine, tag="duplicate", kw_only=True):
    """The network makes a second copy of a request."""

    copy: Literal[1]
    to: Name


class Recv(RpcLine, tag="recv", kw_only=True):
    """The main loop takes a request: its handler begins. `beside`: a heartbeat that another routine handles."""

    copy: Copy
    source: Name = field(name="from")
    body: Any
    beside: bool = False


class Respond(RpcLine, tag="respond", kw_only=True):
    """The handler ends with this answer."""

    copy: Copy
    to: Name
    body: Any
    err: str | None = None
    beside: bool = False


class ReplyRecv(RpcLine, tag="reply_recv", kw_only=True):
    """An answer reaches its caller, which acts on it later."""

    source: Name = field(name="from")
    body: Any
    err: str | None = None


class Drop(RpcLine, tag="drop", kw_only=True):
    """A request is lost."""

    copy: Copy
    to: Name
    reason: str


class ReplyDrop(RpcLine, tag="reply_drop", kw_only=True):
    """An answer is lost; `to` is the caller."""

    copy: Copy
    to: Name
    reason: str


class RpcError(RpcLine, tag="rpc_error", kw_only=True):
    """A call fails at its caller; the request may arrive all the same."""

    peer: Name
    err: str
