"""The fields of every request and every answer on the wire, as data.

Names and defaults are those of DLedger's classes. A field that is missing or null has its default; fields that no class
has are ignored.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, TypeAlias

from raftref.dledger.client_messages import (
    AppendEntryRequest,
    BatchAppendEntryRequest,
    GetEntriesRequest,
    LeadershipTransferRequest,
    MetadataRequest,
    ResponseCode,
)
from raftref.dledger.election_rules import VoteCode
from raftref.dledger.messages import (
    BatchRequest,
    CommitRequest,
    Entry,
    HeartBeatMessage,
    PushType,
    Request,
    TransferMessage,
    Value,
    VoteMessage,
)
from raftref.dledger.remoting import read_text, write_object
from raftref.dledger.storage.entry_coder import EntryHeader, to_body, to_value
from raftref.wire_error import WireError, shown


class Rpc(IntEnum):
    """The codes of requests. PULL, 51003, has no handler in any released version.

    Source: DLedgerRequestCode.
    """

    METADATA = 50000
    APPEND = 50001
    GET = 50002
    VOTE = 51001
    HEART_BEAT = 51002
    PUSH = 51004
    LEADERSHIP_TRANSFER = 51005


class Version(StrEnum):
    """The versions whose messages differ."""

    V0_2_7 = "0.2.7"
    V0_3 = "0.3"


#: The requests that have the sender's `localId`.
SETS_LOCAL_ID: Mapping[Version, frozenset[Rpc]] = {
    Version.V0_2_7: frozenset({Rpc.HEART_BEAT, Rpc.LEADERSHIP_TRANSFER}),
    Version.V0_3: frozenset({Rpc.VOTE, Rpc.HEART_BEAT, Rpc.PUSH, Rpc.LEADERSHIP_TRANSFER}),
}

#: The answer to a vote that is none. Source: VoteResponse.RESULT.
NO_VOTE_RESULT = "UNKNOWN"

# ---- Types of fields ----

#: Reads a value of JSON that is not null. The text says which field it is, for the WireError.
Reader: TypeAlias = Callable[[Any, str], Any]


def _integer(bits: int) -> Reader:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(value: Any, what: str) -> int:
        # A bool is an int in Python.
        if type(value) is not int or not low <= value <= high:
            raise WireError(f"{what} is no {bits}-bit integer: {shown(value)}")
        return value

    return read


def _read_bytes(value: Any, what: str) -> bytes:
    try:
        return base64.b64decode(read_text(value, what), validate=True)
    except WireError:
        raise
    except ValueError:
        raise WireError(f"{what} is no base64: {shown(value)}") from None


def _one_of(*names: str) -> Reader:
    known = frozenset(names)

    def read(value: Any, what: str) -> str:
        if not isinstance(value, str) or value not in known:
            raise WireError(f"{what} is unknown: {shown(value)}")
        return value

    return read


def _list_of(element: Reader) -> Reader:
    def read(value: Any, what: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise WireError(f"{what} is no list: {shown(value)}")
        return tuple(element(each, f"an element of {what}") for each in value)

    return read


def _read_texts(value: Any, what: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise WireError(f"{what} is no object: {shown(value)}")
    return {read_text(key, f"a key of {what}"): read_text(each, f"a value of {what}") for key, each in value.items()}


@dataclass(frozen=True, slots=True)
class Field:
    """How a field is read, and its value where it is missing. One without a reader is written only."""

    read: Reader | None
    default: Any = None


Fields: TypeAlias = Mapping[str, Field]


def _long(default: int | None = 0) -> Field:
    return Field(_integer(64), default)


def _int(default: int = 0) -> Field:
    return Field(_integer(32), default)


def read_fields(fields: Fields, values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return the values of the fields of an object of JSON.

    Args:
        fields: Its fields.
        values: The object.
        what: What it is, for the error.

    Raises:
        WireError: A value is not of its field's type.
    """
    found = {}
    for name, field in fields.items():
        value = values.get(name)
        if field.read is not None:
            found[name] = field.default if value is None else field.read(value, f"{name} of {what}")
    return found


_TEXT, _BYTES = Field(read_text), Field(_read_bytes)

#: The fields of an entry. Source: DLedgerEntry.
ENTRY: Fields = {
    "body": _BYTES,
    "bodyCrc": _int(),
    "chainCrc": _int(),
    "channel": _int(),
    "index": _long(),
    "magic": _int(),
    "pos": _long(),
    "size": _int(),
    "term": _long(),
}


def _read_entry(value: Any, what: str) -> tuple[Entry, EntryHeader]:
    if not isinstance(value, dict):
        raise WireError(f"{what} is no object: {shown(value)}")
    found = read_fields(ENTRY, value, what)
    body = found["body"]
    if body is None:
        raise WireError(f"{what} has no body")
    place = found["magic"], found["size"], found["index"], found["term"], found["pos"]
    header = EntryHeader(*place, found["channel"], found["chainCrc"], found["bodyCrc"], len(body))
    return Entry(header.term, to_value(body)), header


def write_entries(entries: tuple[Entry, ...], headers: tuple[EntryHeader, ...]) -> list[dict[str, Any]]:
    """Return entries as objects of JSON; raises WireError where the headers are those of others."""
    if [each.term for each in entries] != [each.term for each in headers]:
        raise WireError(f"{len(headers)} headers do not belong to {len(entries)} entries")
    return [
        {
            "body": write_value(entry.value),
            "bodyCrc": header.body_crc,
            "chainCrc": header.chain_crc,
            "channel": header.channel,
            "index": header.index,
            "magic": header.magic,
            "pos": header.pos,
            "size": header.size,
            "term": header.term,
        }
        for entry, header in zip(entries, headers, strict=True)
    ]


def write_value(value: Value) -> str:
    """Return the base64 of an entry's body; raises WireError where its value is no text."""
    try:
        return base64.b64encode(to_body(value)).decode("ascii")
    except UnicodeEncodeError as error:
        raise WireError(f"a value is no text: {error.reason}") from None


# ---- The RPCs ----

#: The fields of everything. Source: RequestOrResponse.
BASE: Fields = {
    "group": _TEXT,
    "remoteId": _TEXT,
    "localId": _TEXT,
    "code": _int(ResponseCode.SUCCESS),
    "leaderId": _TEXT,
    "term": _long(-1),
}


@dataclass(frozen=True, slots=True)
class RpcFormat:
    """The requests of an RPC, by their classes here, and the fields of requests and answers besides those of all."""

    requests: tuple[type, ...]
    request_fields: Fields
    response_fields: Fields


#: Every RPC. Source: the classes of io.openmessaging.storage.dledger.protocol.
FORMATS: Mapping[Rpc, RpcFormat] = {
    Rpc.METADATA: RpcFormat((MetadataRequest,), {}, {"peers": Field(_read_texts)}),
    Rpc.APPEND: RpcFormat(
        (AppendEntryRequest, BatchAppendEntryRequest),
        {"body": _BYTES, "batchMsgs": Field(_list_of(_read_bytes))},
        {"index": _long(-1), "pos": _long(-1)},
    ),
    Rpc.GET: RpcFormat(
        (GetEntriesRequest,),
        {"beginIndex": _long(None), "maxSize": _int()},
        {"entries": Field(_list_of(_read_entry), ())},
    ),
    Rpc.VOTE: RpcFormat(
        (VoteMessage,),
        {"ledgerEndIndex": _long(-1), "ledgerEndTerm": _long(-1)},
        {"voteResult": Field(_one_of(*VoteCode, NO_VOTE_RESULT), NO_VOTE_RESULT)},
    ),
    Rpc.HEART_BEAT: RpcFormat((HeartBeatMessage,), {}, {}),
    Rpc.PUSH: RpcFormat(
        (Request, BatchRequest, CommitRequest),
        {
            "type": Field(_one_of(*PushType), PushType.APPEND),
            "commitIndex": _long(-1),
            "entry": Field(_read_entry),
            "batchEntry": Field(_list_of(_read_entry), ()),
            # What follows from the entries: a getter without a field.
            "batch": Field(None, False),
            "count": Field(None, 0),
            "firstEntryIndex": Field(None, -1),
            "lastEntryIndex": Field(None, -1),
            "totalSize": Field(None, 0),
        },
        {"index": _long(None), "beginIndex": _long(), "endIndex": _long(), "count": _int()},
    ),
    Rpc.LEADERSHIP_TRANSFER: RpcFormat(
        (TransferMessage, LeadershipTransferRequest),
        {"transferId": _TEXT, "transfereeId": _TEXT, "takeLeadershipLedgerIndex": _long()},
        {},
    ),
}

#: The RPC of each class of requests.
RPC_OF: Mapping[type, Rpc] = {each: rpc for rpc, format_ in FORMATS.items() for each in format_.requests}


def read_body(fields: Fields, values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return the values of these fields and of those of all; see read_fields."""
    return read_fields({**BASE, **fields}, values, what)


def write_body(fields: Fields, values: Mapping[str, Any]) -> bytes:
    """Return an object of JSON that has these fields and those of all, each with its value or its default."""
    return write_object({name: values.get(name, field.default) for name, field in {**BASE, **fields}.items()})
