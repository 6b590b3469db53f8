"""Arguments of actions as events have them: what `record()` writes is read here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raftref.hashicorp.core.outcome import Outcome, Result
from raftref.hashicorp.leader.membership import ChangeCommand
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InstallSnapshotRequest,
    InstallSnapshotResponse,
    Message,
    RequestPreVoteRequest,
    RequestVoteRequest,
    RpcType,
    TimeoutNowRequest,
    TimeoutNowResponse,
    VoteResponse,
)
from raftref.hashicorp.stores.codec import entry_of, snapshot_of
from raftref.hashicorp.values import ClientLog, EntryType, Index, Term, Zombie

_REQUESTS: Mapping[RpcType, type[Any]] = {
    RpcType.REQUEST_VOTE: RequestVoteRequest,
    RpcType.REQUEST_PRE_VOTE: RequestPreVoteRequest,
    RpcType.APPEND_ENTRIES: AppendEntriesRequest,
    RpcType.HEARTBEAT: HeartbeatRequest,
    RpcType.INSTALL_SNAPSHOT: InstallSnapshotRequest,
    RpcType.TIMEOUT_NOW: TimeoutNowRequest,
}
_RESPONSES: Mapping[RpcType, type[Any]] = {
    RpcType.REQUEST_VOTE: VoteResponse,
    RpcType.REQUEST_PRE_VOTE: VoteResponse,
    RpcType.APPEND_ENTRIES: AppendEntriesResponse,
    RpcType.HEARTBEAT: HeartbeatResponse,
    RpcType.INSTALL_SNAPSHOT: InstallSnapshotResponse,
    RpcType.TIMEOUT_NOW: TimeoutNowResponse,
}


def message_of(record: Mapping[str, Any]) -> Message:
    """Read a message."""
    type_ = RpcType(record["type"])
    kind = (_REQUESTS if record["kind"] == "request" else _RESPONSES)[type_]
    given = {_field_name(name): value for name, value in record.items() if name not in ("kind", "type")}
    if kind is VoteResponse:
        given["type"] = type_
    if "entries" in given:
        given["entries"] = tuple(entry_of(each) for each in given["entries"])
    if "snapshot" in given:
        given["snapshot"] = snapshot_of(given["snapshot"])
    message: Message = kind(**given)
    return message


def _field_name(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def argument_of(name: str, value: Any) -> Any:
    """Read an argument, by the name of the parameter."""
    match name:
        case "m":
            return message_of(value)
        case "outcome":
            return Outcome(Result(value["result"]), value["write"])
        case "asked":
            return frozenset(value["#set"])
        case "logs":
            return tuple(ClientLog(EntryType(each["type"]), each["value"]) for each in value)
        case "zombie":
            return Zombie(value["peer"], Term(value["term"]), Index(value["nextIndex"]))
        case "command":
            return ChangeCommand(value)
        case "type":
            return RpcType(value)
        case _:
            return value
