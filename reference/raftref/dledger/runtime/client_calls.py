"""Requests of clients to a member of a DLedger group, and its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from raftref.dledger.messages import NO_TERM, NONE, Entry, Index, NodeId, Term, Value


class ClientCode(StrEnum):
    """Answers to clients. Source: DLedgerResponseCode."""

    SUCCESS = "SUCCESS"
    UNKNOWN_MEMBER = "UNKNOWN_MEMBER"
    UNKNOWN_GROUP = "UNKNOWN_GROUP"
    NOT_LEADER = "NOT_LEADER"
    INDEX_OUT_OF_RANGE = "INDEX_OUT_OF_RANGE"
    TERM_CHANGED = "TERM_CHANGED"
    WAIT_QUORUM_ACK_TIMEOUT = "WAIT_QUORUM_ACK_TIMEOUT"
    LEADER_PENDING_FULL = "LEADER_PENDING_FULL"
    LEADER_TRANSFERRING = "LEADER_TRANSFERRING"
    REQUEST_WITH_EMPTY_BODYS = "REQUEST_WITH_EMPTY_BODYS"
    DISK_FULL = "DISK_FULL"


@dataclass(frozen=True, slots=True)
class AppendEntryRequest:
    """Append entries; `values` has one, or those of a batch. `group` and `remote_id`, if named, must be the node's.

    Source: AppendEntryRequest, BatchAppendEntryRequest.
    """

    values: tuple[Value, ...]
    group: str | None = None
    remote_id: NodeId | None = None


@dataclass(frozen=True, slots=True)
class AppendEntryResponse:
    """Whether an entry is committed, and where: of a batch index and position of its last, and all `positions`.

    Source: AppendEntryResponse, BatchAppendFuture.
    """

    code: ClientCode
    leader_id: NodeId | None = None
    term: Term = NO_TERM
    index: Index = NONE
    pos: int = -1
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class GetEntriesRequest:
    """Read the entry at an index, committed or not. Source: GetEntriesRequest."""

    begin_index: Index


@dataclass(frozen=True, slots=True)
class GetEntriesResponse:
    """The entry, None where the code is not SUCCESS. Source: GetEntriesResponse."""

    code: ClientCode
    leader_id: NodeId | None = None
    entry: Entry | None = None
    index: Index = NONE


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """Ask who leads. Source: MetadataRequest."""


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """The leader as this node knows it, and the members. Source: MetadataResponse."""

    leader_id: NodeId | None
    term: Term
    members: tuple[NodeId, ...]
    code: ClientCode = field(default=ClientCode.SUCCESS)


@dataclass(frozen=True, slots=True)
class LeadershipTransferRequest:
    """Hand the leadership over to a peer. Source: LeadershipTransferRequest, as a command of an operator."""

    transferee: NodeId


@dataclass(frozen=True, slots=True)
class LeadershipTransferResponse:
    """How the transfer went, by a code of the protocol. Source: LeadershipTransferResponse."""

    code: str
    term: Term


ClientRequest = AppendEntryRequest | GetEntriesRequest | MetadataRequest | LeadershipTransferRequest
