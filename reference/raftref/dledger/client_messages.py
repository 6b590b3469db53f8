"""Requests of clients to the nodes of a group, the answers to them, and the codes of all answers.

The protocol of the spec has no clients' messages: that a client appends is an action of the leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from raftref.dledger.messages import NO_TERM, NONE, Entry, Index, NodeId, Term, Value
from raftref.dledger.storage.entry_coder import EntryHeader


class ResponseCode(IntEnum):
    """The codes of answers with their numbers. A number that is none of them is UNKNOWN.

    Source: DLedgerResponseCode of 0.3.2; PUSH_REQUEST_IS_FULL is of a later version.
    """

    UNKNOWN = -1
    SUCCESS = 200
    TIMEOUT = 300
    METADATA_ERROR = 301
    NETWORK_ERROR = 302
    UNSUPPORTED = 303
    UNKNOWN_GROUP = 400
    UNKNOWN_MEMBER = 401
    UNEXPECTED_MEMBER = 402
    EXPIRED_TERM = 403
    NOT_LEADER = 404
    NOT_FOLLOWER = 405
    INCONSISTENT_STATE = 406
    INCONSISTENT_TERM = 407
    INCONSISTENT_INDEX = 408
    INCONSISTENT_LEADER = 409
    INDEX_OUT_OF_RANGE = 410
    UNEXPECTED_ARGUMENT = 411
    REPEATED_REQUEST = 412
    REPEATED_PUSH = 413
    DISK_ERROR = 414
    DISK_FULL = 415
    TERM_NOT_READY = 416
    FALL_BEHIND_TOO_MUCH = 417
    TAKE_LEADERSHIP_FAILED = 418
    INDEX_LESS_THAN_LOCAL_BEGIN = 419
    REQUEST_WITH_EMPTY_BODYS = 420
    PUSH_REQUEST_IS_FULL = 421
    INTERNAL_ERROR = 500
    TERM_CHANGED = 501
    WAIT_QUORUM_ACK_TIMEOUT = 502
    LEADER_PENDING_FULL = 503
    ILLEGAL_MEMBER_STATE = 504
    LEADER_NOT_READY = 505
    LEADER_TRANSFERRING = 506
    LOAD_SNAPSHOT_ERROR = 507

    @classmethod
    def _missing_(cls, value: object) -> ResponseCode:
        return cls.UNKNOWN


# ---- Requests ----


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """Ask a node which node leads, and where the members are. Source: MetadataRequest."""

    dst: NodeId


@dataclass(frozen=True, slots=True)
class AppendEntryRequest:
    """Ask the leader to append an entry. Source: AppendEntryRequest."""

    dst: NodeId
    value: Value


@dataclass(frozen=True, slots=True)
class BatchAppendEntryRequest:
    """Ask the leader to append several entries.

    No released node takes one from the wire: it reads an AppendEntryRequest without a body, and fails with a
    NullPointerException. RocketMQ appends batches within the leader's process.

    Source: BatchAppendEntryRequest.
    """

    dst: NodeId
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class GetEntriesRequest:
    """Ask the leader for the entry at an index. `max_size` is sent, and no released node looks at it.

    Source: GetEntriesRequest.
    """

    dst: NodeId
    begin_index: Index
    max_size: int = 0


@dataclass(frozen=True, slots=True)
class LeadershipTransferRequest:
    """Ask `transfer`, which is to lead the term, to hand over to `transferee`.

    A leader's request to the transferee is a TransferMessage. A node that is neither of the two gets one of these.

    Source: LeadershipTransferRequest, as a client sends it.
    """

    dst: NodeId
    transfer: NodeId
    transferee: NodeId
    term: Term


ClientRequest: TypeAlias = (
    MetadataRequest | AppendEntryRequest | BatchAppendEntryRequest | GetEntriesRequest | LeadershipTransferRequest
)

# ---- Answers ----


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """The leader, as a node knows it, and the addresses of the members, as it reaches them.

    Source: MetadataResponse.
    """

    leader_id: NodeId | None
    peers: Mapping[NodeId, str]


@dataclass(frozen=True, slots=True)
class AppendEntryResponse:
    """The place of an entry that was appended: its index, its position in the data file, its term.

    With another code than SUCCESS there is no position. WAIT_QUORUM_ACK_TIMEOUT has index and term, TERM_CHANGED the
    index alone, LEADER_PENDING_FULL the term alone, and any other code neither.

    Source: AppendEntryResponse; DLedgerServer.handleAppend, DLedgerEntryPusher.
    """

    index: Index = NONE
    pos: int = -1
    term: Term = NO_TERM
    leader_id: NodeId | None = None
    code: ResponseCode = ResponseCode.SUCCESS


@dataclass(frozen=True, slots=True)
class GetEntriesResponse:
    """The entries that were asked for, with their headers in the leader's data file; there is one.

    Source: GetEntriesResponse.
    """

    entries: tuple[Entry, ...]
    headers: tuple[EntryHeader, ...]


@dataclass(frozen=True, slots=True)
class LeadershipTransferResponse:
    """The end of a transfer that a client began, with the term of the node that answers.

    Source: LeadershipTransferResponse.
    """

    code: ResponseCode
    term: Term


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of a node that does not handle a request, and the leader that it knows.

    Source: DLedgerServer, where it catches a DLedgerException.
    """

    code: ResponseCode
    leader_id: NodeId | None = None


@dataclass(frozen=True, slots=True)
class RemotingFailure:
    """The answer of a callee that could not handle a request at all: a code of the remoting protocol, and its reason.

    Source: NettyRemotingAbstract.processRequestCommand, RemotingSysResponseCode.
    """

    code: int
    remark: str


ClientResponse: TypeAlias = MetadataResponse | AppendEntryResponse | GetEntriesResponse | LeadershipTransferResponse
