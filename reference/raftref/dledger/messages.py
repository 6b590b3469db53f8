"""Messages between the nodes of a group: pushed entries, votes, heartbeats, transfers, and the answers.

Every message is frozen and hashable. `message_from` reads one from its record, which `raftref.records` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, NewType, TypeAlias

from raftref.records import MessageRecord, from_record

NodeId: TypeAlias = str
Value: TypeAlias = str

#: A position in a log, counted from 0; NONE where there is none.
Index = NewType("Index", int)
#: A leadership, counted from 0; NONE before the first.
Term = NewType("Term", int)

NONE = Index(-1)
NO_TERM = Term(-1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log. Two entries are the same only if term and value are.

    Source: DLedgerEntry; its position in the file is left out.
    """

    term: Term
    value: Value


class PushType(StrEnum):
    """Types of pushes. Source: PushEntryRequest.Type."""

    COMPARE = "COMPARE"
    TRUNCATE = "TRUNCATE"
    APPEND = "APPEND"
    COMMIT = "COMMIT"


class ElectionType(StrEnum):
    """Types of other requests. Source: DLedgerRequestCode VOTE, HEART_BEAT, LEADERSHIP_TRANSFER."""

    VOTE = "VOTE"
    HEARTBEAT = "HEARTBEAT"
    TRANSFER = "TRANSFER"


class Code(StrEnum):
    """Answers of a follower to a push. Source: DLedgerResponseCode."""

    SUCCESS = "SUCCESS"
    INCONSISTENT_TERM = "INCONSISTENT_TERM"
    INCONSISTENT_STATE = "INCONSISTENT_STATE"
    REPEATED_PUSH = "REPEATED_PUSH"
    NOT_FOLLOWER = "NOT_FOLLOWER"


class RequestRecord(MessageRecord):
    """A request."""

    __slots__ = ()
    kind: ClassVar[str] = "request"


class ResponseRecord(MessageRecord):
    """The answer to a request."""

    __slots__ = ()
    kind: ClassVar[str] = "response"


@dataclass(frozen=True, slots=True)
class Request(RequestRecord):
    """A COMPARE, TRUNCATE or APPEND: the entry at an index of the leader's log.

    `awaited` holds while the caller would still take the answer; to one that gave up none is sent.

    Source: PushEntryRequest.
    """

    type: PushType
    src: NodeId
    dst: NodeId
    term: Term
    index: Index
    entry: Entry
    commit_index: Index
    awaited: bool = True

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The one entry it carries."""
        return (self.entry,)

    @property
    def last_index(self) -> Index:
        """The index of its entry."""
        return self.index


@dataclass(frozen=True, slots=True)
class BatchRequest(RequestRecord):
    """An APPEND of several entries; `index` is that of the first.

    Source: PushEntryRequest with a batchEntry.
    """

    src: NodeId
    dst: NodeId
    term: Term
    index: Index
    entries: tuple[Entry, ...]
    commit_index: Index
    awaited: bool = True

    @property
    def type(self) -> PushType:
        """APPEND."""
        return PushType.APPEND

    @property
    def last_index(self) -> Index:
        """The index of its last entry."""
        return Index(self.index + len(self.entries) - 1)


@dataclass(frozen=True, slots=True)
class CommitRequest(RequestRecord):
    """A COMMIT: the leader's committed index. Nobody waits for its answer.

    Source: PushEntryRequest of type COMMIT.
    """

    src: NodeId
    dst: NodeId
    term: Term
    commit_index: Index

    @property
    def type(self) -> PushType:
        """COMMIT."""
        return PushType.COMMIT

    @property
    def awaited(self) -> bool:
        """False: the answer is ignored."""
        return False


@dataclass(frozen=True, slots=True)
class Response(ResponseRecord):
    """The answer to a Request: its term and index come back, with the ends of the answering log.

    Source: PushEntryResponse, built by EntryHandler.buildResponse.
    """

    type: PushType
    src: NodeId
    dst: NodeId
    term: Term
    index: Index
    code: Code
    begin_index: Index
    end_index: Index

    @property
    def last_index(self) -> Index:
        """The index of the last entry that was pushed."""
        return self.index


@dataclass(frozen=True, slots=True)
class BatchResponse(Response):
    """The answer to a BatchRequest: the number of its entries comes back as well."""

    count: int

    @property
    def last_index(self) -> Index:
        """The index of the last entry that was pushed."""
        return Index(self.index + self.count - 1)


@dataclass(frozen=True, slots=True)
class VoteMessage(RequestRecord):
    """A candidate's request for a vote in a term, with the end of its log.

    `awaited` holds while the candidate would still count the answer.

    Source: VoteRequest.
    """

    src: NodeId
    dst: NodeId
    term: Term
    ledger_end_term: Term
    ledger_end_index: Index
    awaited: bool = True

    @property
    def type(self) -> ElectionType:
        """VOTE."""
        return ElectionType.VOTE


@dataclass(frozen=True, slots=True)
class HeartBeatMessage(RequestRecord):
    """A leader's heartbeat to a member, in the term that it leads.

    `awaited` holds while the leader would still count the answer.

    Source: HeartBeatRequest.
    """

    src: NodeId
    dst: NodeId
    term: Term
    awaited: bool = True

    @property
    def type(self) -> ElectionType:
        """HEARTBEAT."""
        return ElectionType.HEARTBEAT


@dataclass(frozen=True, slots=True)
class TransferMessage(RequestRecord):
    """A leader's request to a peer to take over once its log has reached an index.

    Source: LeadershipTransferRequest, from the leader to the transferee.
    """

    src: NodeId
    dst: NodeId
    term: Term
    index: Index
    awaited: bool = True

    @property
    def type(self) -> ElectionType:
        """TRANSFER."""
        return ElectionType.TRANSFER


@dataclass(frozen=True, slots=True)
class ElectionResponse(ResponseRecord):
    """The answer to a vote request, a heartbeat or a transfer. `code` is the name of the decision.

    Source: VoteResponse, HeartBeatResponse, LeadershipTransferResponse.
    """

    type: ElectionType
    src: NodeId
    dst: NodeId
    term: Term
    code: str


#: The requests of elections.
ElectionRequest: TypeAlias = VoteMessage | HeartBeatMessage | TransferMessage
#: The messages of elections; the others are pushed, or answer a push.
ElectionMessage: TypeAlias = ElectionRequest | ElectionResponse
#: The requests that may wait in a follower's writeRequestMap.
AppendRequest: TypeAlias = Request | BatchRequest
#: The requests that a leader pushes.
PushRequest: TypeAlias = AppendRequest | CommitRequest
Message: TypeAlias = PushRequest | Response | ElectionMessage


@dataclass(frozen=True, slots=True)
class TransferCall:
    """A leader's call to a transferee that has no answer yet, by the fields that identify it."""

    transferee: NodeId
    term: Term


@dataclass(frozen=True, slots=True)
class HeartBeat:
    """The heartbeat of the leader of a term, whoever receives it. Source: HeartBeatRequest."""

    leader: NodeId
    term: Term


_CLASSES: Mapping[tuple[str, str], type[Message]] = {
    **{("request", each): Request for each in PushType},
    ("request", PushType.COMMIT): CommitRequest,
    ("request", ElectionType.VOTE): VoteMessage,
    ("request", ElectionType.HEARTBEAT): HeartBeatMessage,
    ("request", ElectionType.TRANSFER): TransferMessage,
    **{("response", each): Response for each in PushType},
    **{("response", each): ElectionResponse for each in ElectionType},
}


def message_from(record: Mapping[str, Any]) -> Message:
    """Return the message of a record; raises KeyError or ValueError where it is none of the protocol."""
    message_class = _CLASSES[record["kind"], record["type"]]
    if message_class is Request and "entries" in record:
        message_class = BatchRequest
    elif message_class is Response and "count" in record:
        message_class = BatchResponse
    message: Message = from_record(message_class, record)
    return message
