"""Messages as the spec writes them, read back: the inverse of `record()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raftref.dledger.messages import (
    BatchRequest,
    BatchResponse,
    Code,
    CommitRequest,
    ElectionResponse,
    ElectionType,
    Entry,
    HeartBeatMessage,
    Index,
    Message,
    PushType,
    Request,
    Response,
    Term,
    TransferCall,
    TransferMessage,
    VoteMessage,
)


def entry_of(record: Mapping[str, Any]) -> Entry:
    """Return the entry of a record."""
    return Entry(Term(record["term"]), record["value"])


def call_of(record: Mapping[str, Any]) -> TransferCall:
    """Return the call of a record."""
    return TransferCall(record["transferee"], Term(record["term"]))


def message_of(record: Mapping[str, Any]) -> Message:
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
        entries = tuple(entry_of(each) for each in record["entries"])
        return BatchRequest(src, dst, term, index, entries, committed, awaited)
    return Request(type_, src, dst, term, index, entry_of(record["entry"]), committed, awaited)


def _push_response(record: Mapping[str, Any]) -> Message:
    told = (
        PushType(record["type"]),
        record["src"],
        record["dst"],
        Term(record["term"]),
        Index(record["index"]),
        Code(record["code"]),
        Index(record["beginIndex"]),
        Index(record["endIndex"]),
    )
    return BatchResponse(*told, record["count"]) if "count" in record else Response(*told)


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
