"""Messages between the nodes of a group: pushed entries, votes, heartbeats, transfers, and the answers.

Every message is frozen and hashable. `record()` returns a message as the spec writes it, field by field, and
`read_message` reads such a record.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, NewType, TypeAlias, cast

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

    def record(self) -> dict[str, Any]:
        """Return the entry as the spec's record."""
        return {"term": self.term, "value": self.value}


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


class MessageRecord:
    """A message that has a record in the spec: kind, type, and its fields by the spec's names.

    `commit_index` is `commitIndex` there.
    """

    __slots__ = ()
    kind: ClassVar[str]
    derived: ClassVar[tuple[str, ...]] = ()

    def record(self) -> dict[str, Any]:
        """Return the message as the spec's record."""
        names = ("type", *(each.name for each in fields(cast(Any, self))), *self.derived)
        return {"kind": self.kind, **{_spec_name(each): _spec_value(getattr(self, each)) for each in names}}


class RequestRecord(MessageRecord):
    """A request: its record says whether it is awaited, even where it never is."""

    __slots__ = ()
    kind = "request"
    derived = ("awaited",)


class ResponseRecord(MessageRecord):
    """A response."""

    __slots__ = ()
    kind = "response"


@functools.cache
def _spec_name(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(each.capitalize() for each in others)


def _spec_value(value: Any) -> Any:
    if isinstance(value, Entry):
        return value.record()
    if isinstance(value, tuple):
        return [_spec_value(each) for each in value]
    return value.value if isinstance(value, StrEnum) else value


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

    def record(self) -> dict[str, Any]:
        """Return the call as the spec's record."""
        return {"transferee": self.transferee, "term": self.term}


@dataclass(frozen=True, slots=True)
class HeartBeat:
    """The heartbeat of the leader of a term, whoever receives it. Source: HeartBeatRequest."""

    leader: NodeId
    term: Term


# ---- Messages read back from the spec's records ----


def read_entry(record: Mapping[str, Any]) -> Entry:
    """Return the entry of a record."""
    return Entry(Term(record["term"]), record["value"])


def read_call(record: Mapping[str, Any]) -> TransferCall:
    """Return the call of a record."""
    return TransferCall(record["transferee"], Term(record["term"]))


def read_message(record: Mapping[str, Any]) -> Message:
    """Return the message of a record; raises KeyError or ValueError where it is none of the protocol."""
    request = record["kind"] == "request"
    if record["type"] in tuple(ElectionType):
        return _election_request(record) if request else _election_response(record)
    return _push_request(record) if request else _push_response(record)


def _push_request(record: Mapping[str, Any]) -> Message:
    src, dst, term, committed = record["src"], record["dst"], Term(record["term"]), Index(record["commitIndex"])
    type_ = PushType(record["type"])
    if type_ is PushType.COMMIT:
        return CommitRequest(src, dst, term, committed)
    index, awaited = Index(record["index"]), record["awaited"]
    if "entries" in record:
        entries = tuple(read_entry(each) for each in record["entries"])
        return BatchRequest(src, dst, term, index, entries, committed, awaited)
    return Request(type_, src, dst, term, index, read_entry(record["entry"]), committed, awaited)


def _push_response(record: Mapping[str, Any]) -> Message:
    fields_ = (
        PushType(record["type"]),
        record["src"],
        record["dst"],
        Term(record["term"]),
        Index(record["index"]),
        Code(record["code"]),
        Index(record["beginIndex"]),
        Index(record["endIndex"]),
    )
    return BatchResponse(*fields_, record["count"]) if "count" in record else Response(*fields_)


def _election_request(record: Mapping[str, Any]) -> Message:
    src, dst, term, awaited = record["src"], record["dst"], Term(record["term"]), record["awaited"]
    match ElectionType(record["type"]):
        case ElectionType.VOTE:
            end_term, end_index = Term(record["ledgerEndTerm"]), Index(record["ledgerEndIndex"])
            return VoteMessage(src, dst, term, end_term, end_index, awaited)
        case ElectionType.HEARTBEAT:
            return HeartBeatMessage(src, dst, term, awaited)
        case ElectionType.TRANSFER:
            return TransferMessage(src, dst, term, Index(record["index"]), awaited)


def _election_response(record: Mapping[str, Any]) -> Message:
    type_ = ElectionType(record["type"])
    return ElectionResponse(type_, record["src"], record["dst"], Term(record["term"]), record["code"])
