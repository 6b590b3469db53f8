"""The RPCs of the library: requests, and the responses to them.

Every message is frozen and hashable. `record()` gives a message as the spec writes it, field by field.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias, cast

from raftref.hashicorp.values import Configuration, Entry, Index, NodeId, Snapshot, Term


class RpcType(StrEnum):
    """Which RPC a message belongs to. Source: commands.go.

    A heartbeat is an AppendEntries of a routine of its own, and its answer is that routine's.
    """

    REQUEST_VOTE = "RequestVote"
    REQUEST_PRE_VOTE = "RequestPreVote"
    APPEND_ENTRIES = "AppendEntries"
    HEARTBEAT = "Heartbeat"
    INSTALL_SNAPSHOT = "InstallSnapshot"
    TIMEOUT_NOW = "TimeoutNow"


#: What a candidate calls, and what a leader does.
OF_ELECTIONS = frozenset({RpcType.REQUEST_VOTE, RpcType.REQUEST_PRE_VOTE})
OF_LEADERS = frozenset(RpcType) - OF_ELECTIONS


class MessageRecord:
    """Gives a message as the spec's record: kind, type, and its fields by the spec's names.

    `last_log_index` is `lastLogIndex` there.
    """

    __slots__ = ()
    kind: ClassVar[str]

    def record(self) -> dict[str, Any]:
        """Return the message as the spec's record."""
        names = ("type", *(each.name for each in fields(cast(Any, self)) if each.name != "type"))
        return {"kind": self.kind, **{_spec_name(each): _spec_value(getattr(self, each)) for each in names}}


class RequestRecord(MessageRecord):
    """A request."""

    __slots__ = ()
    kind = "request"


class ResponseRecord(MessageRecord):
    """A response."""

    __slots__ = ()
    kind = "response"


@functools.cache
def _spec_name(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(each.capitalize() for each in others)


def _spec_value(value: Any) -> Any:
    if isinstance(value, Entry | Snapshot | Configuration):
        return value.record()
    if isinstance(value, tuple):
        return [_spec_value(each) for each in value]
    return value.value if isinstance(value, StrEnum) else value


# ---- Requests. `awaited` holds while the caller would still take the answer; to one that gave up none is sent. ----


@dataclass(frozen=True, slots=True)
class RequestVoteRequest(RequestRecord):
    """A candidate asks for a vote in its term, and tells where its log ends.

    `leadership_transfer` says that a leader has chosen it.
    """

    src: NodeId
    dst: NodeId
    term: Term
    last_log_index: Index
    last_log_term: Term
    leadership_transfer: bool
    awaited: bool = True

    @property
    def type(self) -> RpcType:
        """RequestVote."""
        return RpcType.REQUEST_VOTE


@dataclass(frozen=True, slots=True)
class RequestPreVoteRequest(RequestRecord):
    """A candidate asks whether it would get a vote in the term after its own, which it does not enter."""

    src: NodeId
    dst: NodeId
    term: Term
    last_log_index: Index
    last_log_term: Term
    awaited: bool = True

    @property
    def type(self) -> RpcType:
        """RequestPreVote."""
        return RpcType.REQUEST_PRE_VOTE


@dataclass(frozen=True, slots=True)
class AppendEntriesRequest(RequestRecord):
    """A leader sends entries, tells what comes before them, and how far it has committed."""

    src: NodeId
    dst: NodeId
    term: Term
    prev_log_entry: Index
    prev_log_term: Term
    entries: tuple[Entry, ...]
    leader_commit_index: Index
    awaited: bool = True

    @property
    def type(self) -> RpcType:
        """AppendEntries."""
        return RpcType.APPEND_ENTRIES


@dataclass(frozen=True, slots=True)
class HeartbeatRequest(RequestRecord):
    """A leader says that it leads a term: an AppendEntries without anything else."""

    src: NodeId
    dst: NodeId
    term: Term
    awaited: bool = True

    @property
    def type(self) -> RpcType:
        """Heartbeat."""
        return RpcType.HEARTBEAT

    @property
    def as_append_entries(self) -> AppendEntriesRequest:
        """What it is as an AppendEntries."""
        return AppendEntriesRequest(self.src, self.dst, self.term, Index(0), Term(0), (), Index(0), self.awaited)


@dataclass(frozen=True, slots=True)
class InstallSnapshotRequest(RequestRecord):
    """A leader sends its latest snapshot."""

    src: NodeId
    dst: NodeId
    term: Term
    snapshot: Snapshot
    awaited: bool = True

    @property
    def type(self) -> RpcType:
        """InstallSnapshot."""
        return RpcType.INSTALL_SNAPSHOT


@dataclass(frozen=True, slots=True)
class TimeoutNowRequest(RequestRecord):
    """A leader tells the server that it has chosen to campaign at once."""

    src: NodeId
    dst: NodeId
    awaited: bool = True

    @property
    def type(self) -> RpcType:
        """TimeoutNow."""
        return RpcType.TIMEOUT_NOW


# ---- Responses. ----


@dataclass(frozen=True, slots=True)
class VoteResponse(ResponseRecord):
    """The answer to RequestVote, or to RequestPreVote.

    Source: RequestVoteResponse, RequestPreVoteResponse.
    """

    type: RpcType
    src: NodeId
    dst: NodeId
    term: Term
    granted: bool


@dataclass(frozen=True, slots=True)
class AppendEntriesResponse(ResponseRecord):
    """The answer to AppendEntries. `last_log` is where the log ended before the request was handled."""

    src: NodeId
    dst: NodeId
    term: Term
    last_log: Index
    success: bool
    no_retry_backoff: bool

    @property
    def type(self) -> RpcType:
        """AppendEntries."""
        return RpcType.APPEND_ENTRIES


@dataclass(frozen=True, slots=True)
class HeartbeatResponse(ResponseRecord):
    """The answer to a heartbeat: its caller looks at nothing else."""

    src: NodeId
    dst: NodeId
    term: Term
    success: bool

    @property
    def type(self) -> RpcType:
        """Heartbeat."""
        return RpcType.HEARTBEAT


@dataclass(frozen=True, slots=True)
class InstallSnapshotResponse(ResponseRecord):
    """The answer to InstallSnapshot."""

    src: NodeId
    dst: NodeId
    term: Term
    success: bool

    @property
    def type(self) -> RpcType:
        """InstallSnapshot."""
        return RpcType.INSTALL_SNAPSHOT


@dataclass(frozen=True, slots=True)
class TimeoutNowResponse(ResponseRecord):
    """The answer to TimeoutNow: it was received."""

    src: NodeId
    dst: NodeId

    @property
    def type(self) -> RpcType:
        """TimeoutNow."""
        return RpcType.TIMEOUT_NOW


Request: TypeAlias = (
    RequestVoteRequest
    | RequestPreVoteRequest
    | AppendEntriesRequest
    | HeartbeatRequest
    | InstallSnapshotRequest
    | TimeoutNowRequest
)
Response: TypeAlias = (
    VoteResponse | AppendEntriesResponse | HeartbeatResponse | InstallSnapshotResponse | TimeoutNowResponse
)
Message: TypeAlias = Request | Response
