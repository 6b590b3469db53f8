"""The RPCs of the library: requests, and the responses to them. Every message is frozen and hashable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from raftref.hashicorp.values import Entry, Index, NodeId, Snapshot, Term
from raftref.records import MAY_LACK, MessageRecord, from_record


class RpcType(StrEnum):
    """The RPCs. Source: commands.go.

    A heartbeat is an AppendEntries of a routine of its own, and its answer is that routine's.
    """

    REQUEST_VOTE = "RequestVote"
    REQUEST_PRE_VOTE = "RequestPreVote"
    APPEND_ENTRIES = "AppendEntries"
    HEARTBEAT = "Heartbeat"
    INSTALL_SNAPSHOT = "InstallSnapshot"
    TIMEOUT_NOW = "TimeoutNow"


#: The calls of a candidate, and those of a leader.
OF_ELECTIONS = frozenset({RpcType.REQUEST_VOTE, RpcType.REQUEST_PRE_VOTE})
OF_LEADERS = frozenset(RpcType) - OF_ELECTIONS


@dataclass(frozen=True, slots=True)
class Message(MessageRecord):
    """A message from one server to another."""

    type: ClassVar[RpcType]
    src: NodeId
    dst: NodeId


@dataclass(frozen=True, slots=True)
class Request(Message):
    """A request. `awaited` holds while the caller would still take the answer; to one that gave up none is sent."""

    kind: ClassVar[str] = "request"
    awaited: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True)
class Response(Message):
    """The answer to a request."""

    kind: ClassVar[str] = "response"


@dataclass(frozen=True, slots=True)
class RequestVoteRequest(Request):
    """A candidate requests a vote in its term, with the end of its log.

    `leadership_transfer`: a leader has chosen it.
    """

    type: ClassVar[RpcType] = RpcType.REQUEST_VOTE
    term: Term
    last_log_index: Index
    last_log_term: Term
    leadership_transfer: bool


@dataclass(frozen=True, slots=True)
class RequestVoteResponse(Response):
    """A vote, or a refusal."""

    type: ClassVar[RpcType] = RpcType.REQUEST_VOTE
    term: Term
    granted: bool


@dataclass(frozen=True, slots=True)
class RequestPreVoteRequest(Request):
    """A candidate asks whether it would get a vote in the term after its own, which it does not enter."""

    type: ClassVar[RpcType] = RpcType.REQUEST_PRE_VOTE
    term: Term
    last_log_index: Index
    last_log_term: Term


@dataclass(frozen=True, slots=True)
class RequestPreVoteResponse(Response):
    """A vote that would be given, or a refusal."""

    type: ClassVar[RpcType] = RpcType.REQUEST_PRE_VOTE
    term: Term
    granted: bool


@dataclass(frozen=True, slots=True)
class AppendEntriesRequest(Request):
    """A leader sends entries, with the entry before them and its commit index."""

    type: ClassVar[RpcType] = RpcType.APPEND_ENTRIES
    term: Term
    prev_log_entry: Index
    prev_log_term: Term
    entries: tuple[Entry, ...]
    leader_commit_index: Index

    @property
    def sent_index(self) -> Index:
        """The last index of its entries, 0 if it has none."""
        return Index(self.prev_log_entry + len(self.entries) if self.entries else 0)

    def is_earlier(self, other: AppendEntriesRequest) -> bool:
        """Return whether it comes before another request of the same pipeline.

        Each begins behind the entries of the one before. Of those that begin at one place only the last has entries,
        and the commit index rises.
        """
        return self._order < other._order

    @property
    def _order(self) -> tuple[int, int, int]:
        return self.prev_log_entry, len(self.entries), self.leader_commit_index


@dataclass(frozen=True, slots=True)
class AppendEntriesResponse(Response):
    """The answer to AppendEntries. `last_log` is where the log ended before the request was handled.

    `sent_index` is that of the request, which no answer has on the wire: there the answers of a pipeline come in the
    order of its requests. Without the pipeline it is left out.
    """

    type: ClassVar[RpcType] = RpcType.APPEND_ENTRIES
    term: Term
    last_log: Index
    success: bool
    no_retry_backoff: bool
    sent_index: Index | None = field(default=None, metadata=MAY_LACK)


@dataclass(frozen=True, slots=True)
class HeartbeatRequest(Request):
    """A leader claims its term: an AppendEntries without anything else."""

    type: ClassVar[RpcType] = RpcType.HEARTBEAT
    term: Term

    @property
    def as_append_entries(self) -> AppendEntriesRequest:
        """The same as an AppendEntries."""
        nothing = (Index(0), Term(0), (), Index(0))
        return AppendEntriesRequest(self.src, self.dst, self.term, *nothing, awaited=self.awaited)


@dataclass(frozen=True, slots=True)
class HeartbeatResponse(Response):
    """The answer to a heartbeat: its caller looks at nothing else."""

    type: ClassVar[RpcType] = RpcType.HEARTBEAT
    term: Term
    success: bool


@dataclass(frozen=True, slots=True)
class InstallSnapshotRequest(Request):
    """A leader sends its latest snapshot."""

    type: ClassVar[RpcType] = RpcType.INSTALL_SNAPSHOT
    term: Term
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class InstallSnapshotResponse(Response):
    """The answer to InstallSnapshot."""

    type: ClassVar[RpcType] = RpcType.INSTALL_SNAPSHOT
    term: Term
    success: bool


@dataclass(frozen=True, slots=True)
class TimeoutNowRequest(Request):
    """A leader asks the server that it has chosen to campaign at once."""

    type: ClassVar[RpcType] = RpcType.TIMEOUT_NOW


@dataclass(frozen=True, slots=True)
class TimeoutNowResponse(Response):
    """The answer to TimeoutNow: it was received."""

    type: ClassVar[RpcType] = RpcType.TIMEOUT_NOW


_CLASSES: Mapping[tuple[str, str], type[Message]] = {
    (each.kind, each.type): each for base in (Request, Response) for each in base.__subclasses__()
}


def message_from(record: Mapping[str, Any]) -> Message:
    """Return the message that a record stands for; raises KeyError or TypeError where it is none of the protocol."""
    message: Message = from_record(_CLASSES[record["kind"], record["type"]], record)
    return message
