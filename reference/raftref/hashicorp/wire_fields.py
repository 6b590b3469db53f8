"""The fields of every request and every answer on the wire, as data.

Names are those of the library's structs. A field that is missing or nil has Go's zero value; fields that no struct has
are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    HeartbeatRequest,
    InstallSnapshotRequest,
    RequestPreVoteRequest,
    RequestVoteRequest,
    TimeoutNowRequest,
)
from raftref.hashicorp.msgpack import Extension, Signed
from raftref.hashicorp.values import EntryType
from raftref.wire_error import WireError, shown


class RpcCode(IntEnum):
    """The first byte of a request. Source: net_transport.go, rpcAppendEntries and the others."""

    APPEND_ENTRIES = 0
    REQUEST_VOTE = 1
    INSTALL_SNAPSHOT = 2
    TIMEOUT_NOW = 3
    REQUEST_PRE_VOTE = 4


#: The version that a server speaks. Source: config.go, ProtocolVersionMax.
PROTOCOL_VERSION = 3
#: The version of a snapshot with a configuration. Source: config.go, SnapshotVersionMax.
SNAPSHOT_VERSION = 1

#: The types of entries; AddPeerDeprecated, 2, and RemovePeerDeprecated, 3, are left out. Source: log.go, LogType.
ENTRY_TYPES: Mapping[int, EntryType] = {
    0: EntryType.COMMAND,
    1: EntryType.NOOP,
    4: EntryType.BARRIER,
    5: EntryType.CONFIGURATION,
}
ENTRY_TYPE_CODES: Mapping[EntryType, int] = {type_: code for code, type_ in ENTRY_TYPES.items()}

#: ServerSuffrage of those with a vote, and of the others. Source: configuration.go.
VOTER, NONVOTER = 0, 1

# ---- Types of fields ----

#: Reads a value that is not nil. The text says which field it is, for the WireError.
Reader: TypeAlias = Callable[[Any, str], Any]


def _integer(low: int, high: int, name: str) -> Reader:
    def read(value: Any, what: str) -> int:
        # A bool is an int in Python.
        if type(value) is not int or not low <= value <= high:
            raise WireError(f"{what} is no {name} integer: {shown(value)}")
        return value

    return read


def _read_bool(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise WireError(f"{what} is no bool: {shown(value)}")
    return value


def _read_bytes(value: Any, what: str) -> bytes:
    if not isinstance(value, bytes):
        raise WireError(f"{what} is no bytes: {shown(value)}")
    return value


def _read_time(value: Any, what: str) -> bytes | Extension:
    if not isinstance(value, bytes | Extension):
        raise WireError(f"{what} is no time: {shown(value)}")
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """How a field is read, and Go's zero value of it."""

    read: Reader
    zero: Any


Fields: TypeAlias = Mapping[str, Field]

UINT64 = Field(_integer(0, (1 << 64) - 1, "unsigned 64-bit"), 0)
INT64 = Field(_integer(-(1 << 63), (1 << 63) - 1, "64-bit"), 0)
BOOL = Field(_read_bool, False)
BYTES = Field(_read_bytes, None)


def read_fields(fields: Fields, value: Any, what: str) -> dict[str, Any]:
    """Return the values of the fields of a struct.

    Args:
        fields: Its fields.
        value: What was read for it.
        what: What it is, for the error.

    Raises:
        WireError: It is no map, or a value is not of its field's type.
    """
    if not isinstance(value, dict):
        raise WireError(f"{what} is no map: {shown(value)}")
    return {
        name: field.zero if value.get(name) is None else field.read(value[name], f"{name} of {what}")
        for name, field in fields.items()
    }


def _list_of(fields: Fields) -> Field:
    def read(value: Any, what: str) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise WireError(f"{what} is no array: {shown(value)}")
        return [read_fields(fields, each, f"an element of {what}") for each in value]

    return Field(read, None)


# ---- Structs ----

#: Source: commands.go, RPCHeader, which every other struct embeds.
HEADER: Fields = {"ProtocolVersion": INT64, "ID": BYTES, "Addr": BYTES}
#: Source: log.go, Log.
LOG: Fields = {
    "Index": UINT64,
    "Term": UINT64,
    "Type": UINT64,
    "Data": BYTES,
    "Extensions": BYTES,
    "AppendedAt": Field(_read_time, None),
}
#: Source: configuration.go, Server and Configuration.
SERVER: Fields = {"Suffrage": INT64, "ID": BYTES, "Address": BYTES}
CONFIGURATION: Fields = {"Servers": _list_of(SERVER)}


@dataclass(frozen=True, slots=True)
class RpcFormat:
    """The requests of an RPC, by their classes here, and the fields of requests and answers."""

    requests: tuple[type, ...]
    request_fields: Fields
    response_fields: Fields


#: Every RPC. Source: commands.go.
FORMATS: Mapping[RpcCode, RpcFormat] = {
    RpcCode.APPEND_ENTRIES: RpcFormat(
        (AppendEntriesRequest, HeartbeatRequest),
        {
            **HEADER,
            "Term": UINT64,
            "Leader": BYTES,
            "PrevLogEntry": UINT64,
            "PrevLogTerm": UINT64,
            "Entries": _list_of(LOG),
            "LeaderCommitIndex": UINT64,
        },
        {**HEADER, "Term": UINT64, "LastLog": UINT64, "Success": BOOL, "NoRetryBackoff": BOOL},
    ),
    RpcCode.REQUEST_VOTE: RpcFormat(
        (RequestVoteRequest,),
        {
            **HEADER,
            "Term": UINT64,
            "Candidate": BYTES,
            "LastLogIndex": UINT64,
            "LastLogTerm": UINT64,
            "LeadershipTransfer": BOOL,
        },
        {**HEADER, "Term": UINT64, "Peers": BYTES, "Granted": BOOL},
    ),
    RpcCode.INSTALL_SNAPSHOT: RpcFormat(
        (InstallSnapshotRequest,),
        {
            **HEADER,
            "SnapshotVersion": INT64,
            "Term": UINT64,
            "Leader": BYTES,
            "LastLogIndex": UINT64,
            "LastLogTerm": UINT64,
            "Peers": BYTES,
            "Configuration": BYTES,
            "ConfigurationIndex": UINT64,
            "Size": INT64,
        },
        {**HEADER, "Term": UINT64, "Success": BOOL},
    ),
    RpcCode.TIMEOUT_NOW: RpcFormat((TimeoutNowRequest,), HEADER, HEADER),
    RpcCode.REQUEST_PRE_VOTE: RpcFormat(
        (RequestPreVoteRequest,),
        {**HEADER, "Term": UINT64, "LastLogIndex": UINT64, "LastLogTerm": UINT64},
        {**HEADER, "Term": UINT64, "Granted": BOOL},
    ),
}

#: The RPC of each class of requests.
CODE_OF: Mapping[type, RpcCode] = {each: code for code, format_ in FORMATS.items() for each in format_.requests}


def fill(fields: Fields, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a struct that has these fields, each with its value or Go's zero value."""
    assert values.keys() <= fields.keys()
    filled = {name: values.get(name, field.zero) for name, field in fields.items()}
    return {name: Signed(value) if fields[name] is INT64 else value for name, value in filled.items()}
