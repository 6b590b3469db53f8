"""What the nodes of a group tell each other: pushed entries, votes, heartbeats, transfers, and the answers.

Every message is frozen and hashable. `record()` gives a message as the spec writes it, field by field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NewType, TypeAlias

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
    """What a push asks for. Source: PushEntryRequest.Type."""

    COMPARE = "COMPARE"
    TRUNCATE = "TRUNCATE"
    APPEND = "APPEND"
    COMMIT = "COMMIT"


class ElectionType(StrEnum):
    """What else a node may ask of another. Source: DLedgerRequestCode VOTE, HEART_BEAT, LEADERSHIP_TRANSFER."""

    VOTE = "VOTE"
    HEARTBEAT = "HEARTBEAT"
    TRANSFER = "TRANSFER"


class Code(StrEnum):
    """How a follower answers a push. Source: DLedgerResponseCode."""

    SUCCESS = "SUCCESS"
    INCONSISTENT_TERM = "INCONSISTENT_TERM"
    INCONSISTENT_STATE = "INCONSISTENT_STATE"
    REPEATED_PUSH = "REPEATED_PUSH"


@dataclass(frozen=True, slots=True)
class Request:
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

    def record(self) -> dict[str, Any]:
        """Return the request as the spec's record."""
        return {
            "kind": "request",
            "type": self.type.value,
            "src": self.src,
            "dst": self.dst,
            "term": self.term,
            "index": self.index,
            "entry": self.entry.record(),
            "commitIndex": self.commit_index,
            "awaited": self.awaited,
        }


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A COMMIT: how far the leader has committed. Nobody waits for its answer.

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

    def record(self) -> dict[str, Any]:
        """Return the request as the spec's record, which has neither index nor entry."""
        return {
            "kind": "request",
            "type": PushType.COMMIT.value,
            "src": self.src,
            "dst": self.dst,
            "term": self.term,
            "commitIndex": self.commit_index,
            "awaited": False,
        }


@dataclass(frozen=True, slots=True)
class Response:
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

    def record(self) -> dict[str, Any]:
        """Return the response as the spec's record."""
        return {
            "kind": "response",
            "type": self.type.value,
            "src": self.src,
            "dst": self.dst,
            "term": self.term,
            "index": self.index,
            "code": self.code.value,
            "beginIndex": self.begin_index,
            "endIndex": self.end_index,
        }


@dataclass(frozen=True, slots=True)
class VoteMessage:
    """A candidate asks a member for its vote in a term, and tells where its log ends.

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

    def record(self) -> dict[str, Any]:
        """Return the request as the spec's record."""
        return {
            "kind": "request",
            "type": self.type.value,
            "src": self.src,
            "dst": self.dst,
            "term": self.term,
            "ledgerEndTerm": self.ledger_end_term,
            "ledgerEndIndex": self.ledger_end_index,
            "awaited": self.awaited,
        }


@dataclass(frozen=True, slots=True)
class HeartBeatMessage:
    """A leader tells a member that it leads a term.

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

    def record(self) -> dict[str, Any]:
        """Return the request as the spec's record."""
        return {
            "kind": "request",
            "type": self.type.value,
            "src": self.src,
            "dst": self.dst,
            "term": self.term,
            "awaited": self.awaited,
        }


@dataclass(frozen=True, slots=True)
class TransferMessage:
    """A leader asks a peer to take over once its log has reached an index.

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

    def record(self) -> dict[str, Any]:
        """Return the request as the spec's record."""
        return {
            "kind": "request",
            "type": self.type.value,
            "src": self.src,
            "dst": self.dst,
            "term": self.term,
            "index": self.index,
            "awaited": self.awaited,
        }


@dataclass(frozen=True, slots=True)
class ElectionResponse:
    """The answer to a vote request, a heartbeat or a transfer. `code` says what was decided, by its name.

    Source: VoteResponse, HeartBeatResponse, LeadershipTransferResponse.
    """

    type: ElectionType
    src: NodeId
    dst: NodeId
    term: Term
    code: str

    def record(self) -> dict[str, Any]:
        """Return the response as the spec's record."""
        return {
            "kind": "response",
            "type": self.type.value,
            "src": self.src,
            "dst": self.dst,
            "term": self.term,
            "code": str(self.code),
        }


#: What a node asks of another in an election.
ElectionRequest: TypeAlias = VoteMessage | HeartBeatMessage | TransferMessage
#: What travels in elections; the rest is pushed, or answers a push.
ElectionMessage: TypeAlias = ElectionRequest | ElectionResponse
Message: TypeAlias = Request | CommitRequest | Response | ElectionMessage


@dataclass(frozen=True, slots=True)
class TransferCall:
    """A leader's call to a transferee that has no answer yet, by what tells it from others."""

    transferee: NodeId
    term: Term

    def record(self) -> dict[str, Any]:
        """Return the call as the spec's record."""
        return {"transferee": self.transferee, "term": self.term}


@dataclass(frozen=True, slots=True)
class HeartBeat:
    """A leader of a term tells that it leads. Source: HeartBeatRequest."""

    leader: NodeId
    term: Term
