"""The protocol of clients: lines of JSON on a connection that begins with the byte 0x4C.

The library has none, as its applications have their own. This one shares the port of the servers: no RPC begins with
that byte. Behind it comes a line for each request, an object with `op`; each is answered by a line, in their order.

| op | fields | a success has |
| --- | --- | --- |
| `apply` | `value`, a text | `index`, `term`, and `response`, what the state machine returns |
| `barrier`, `verify` | | |
| `read` | `index` | `index`, `term`, `value` of the command there, if this server's state machine has applied it |
| `status` | | `state`, `term`, `lastLog`, `commitIndex`, `appliedIndex`, `lastSnapshot`, `voters`, `nonvoters` |
| `transfer` | `to`, or none for any voter | |
| `change` | `command` (`AddVoter`, `AddNonvoter`, `DemoteVoter`, `RemoveServer`), `server` | `index`, `term` |
| `snapshot` | | `index`, `term` of the snapshot |

Each answer has `error`, null or a text, such as `ErrNotLeader`, and `leader`, whom the server knows, or null. What is
no request is answered by an error, and ends the connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.runtime.client_calls import (
    ApplyRequest,
    BarrierRequest,
    ClientRequest,
    ConfigurationChangeRequest,
    FutureResult,
    LeadershipTransferRequest,
    ReadRequest,
    ReadResult,
    SnapshotRequest,
    StatsRequest,
    StatsResult,
    VerifyLeaderRequest,
)
from raftref.hashicorp.values import Entry, Index, NodeId
from raftref.records import record
from raftref.wire_error import WireError, shown

#: The first byte of a client's connection.
CLIENT_BYTE = b"\x4c"
#: The begin of the error where there is no command at an index that is read.
NO_COMMAND = "no command at index"
#: The size of the longest line, and of the longest value.
MAX_LINE_BYTES, MAX_VALUE_BYTES = 1 << 20, 1 << 17

#: An answer as JSON.
Answer: TypeAlias = dict[str, Any]


def request_line(op: str, /, **fields: Any) -> bytes:
    """Return the line of a request."""
    return json.dumps({"op": op, **fields}).encode() + b"\n"


def read_request(line: bytes) -> ClientRequest:
    """Read the line of a request; raises WireError where it is none."""
    fields = _object(line)
    match fields.get("op"):
        case "apply":
            value = _text(fields, "value")
            if len(value.encode()) > MAX_VALUE_BYTES:
                raise WireError(f"a value is longer than {MAX_VALUE_BYTES} bytes")
            return ApplyRequest(value)
        case "barrier":
            return BarrierRequest()
        case "verify":
            return VerifyLeaderRequest()
        case "read":
            return ReadRequest(_index(fields))
        case "status":
            return StatsRequest()
        case "transfer":
            to = None if fields.get("to") is None else _text(fields, "to")
            return LeadershipTransferRequest(to)
        case "change":
            command = _text(fields, "command")
            if command not in frozenset(ChangeCommand):
                raise WireError(f"no change is {shown(command)}")
            return ConfigurationChangeRequest(ChangeCommand(command), _text(fields, "server"))
        case "snapshot":
            return SnapshotRequest()
        case other:
            raise WireError(f"no request is {shown(other)}")


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a line is no JSON: {shown(line)}") from error
    if not isinstance(value, dict):
        raise WireError(f"a line is no object: {shown(line)}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise WireError(f"{name} is no text: {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise WireError(f"{name} is no Unicode: {error.reason}") from error
    return value


def _index(fields: Mapping[str, Any]) -> Index:
    value = fields.get("index")
    if type(value) is not int or value < 0:
        raise WireError(f"an index is none: {shown(value)}")
    return Index(value)


def answer_line(answer: FutureResult | ReadResult | StatsResult, leader: NodeId | None) -> bytes:
    """Return the line of an answer; `leader` is the one that the server knows."""
    fields: Answer = {"error": None, "leader": leader}
    match answer:
        case FutureResult():
            fields |= {"error": answer.error, "leader": answer.leader, "index": answer.index, "term": answer.term}
            fields |= {"response": answer.response}
        case ReadResult(index=index, entry=None):
            fields["error"] = f"{NO_COMMAND} {index} has been applied"
        case ReadResult(index=index, entry=Entry() as entry):
            fields |= {"index": index, "term": entry.term, "value": entry.value}
        case StatsResult():
            fields |= {"state": answer.state.value, "term": answer.term, "lastLog": record(answer.last_log)}
            fields |= {"commitIndex": answer.commit_index, "appliedIndex": answer.applied_index}
            fields |= {"lastSnapshot": record(answer.last_snapshot)}
            fields |= {"voters": sorted(answer.latest_configuration.voters)}
            fields |= {"nonvoters": sorted(answer.latest_configuration.nonvoters)}
    return json.dumps(fields).encode() + b"\n"


def error_line(error: str) -> bytes:
    """Return the line of an answer to what is no request."""
    return json.dumps({"error": error, "leader": None}).encode() + b"\n"


def read_answer(line: bytes) -> Answer:
    """Read the line of an answer; raises WireError where it is none."""
    fields = _object(line)
    for name in ("error", "leader"):
        if not isinstance(fields.get(name), str | None):
            raise WireError(f"the {name} of an answer is no text: {shown(fields[name])}")
    return fields
