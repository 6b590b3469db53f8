"""The wire of NetworkTransport: its frames as lines, and what they establish.

Source: net_transport.go, commands.go.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lockstep.systems.wire_format import UNKNOWN, MisnamedNodeError, WireFact, WireFormat, WireFrame, WireLine, digest
from raftref.hashicorp.messages import RpcType
from raftref.hashicorp.msgpack import Extension, unpack
from raftref.hashicorp.transport import AnswerReader, ReceivedRequest, RequestReader
from raftref.hashicorp.values import EntryType
from raftref.hashicorp.wire import is_heartbeat
from raftref.hashicorp.wire_fields import CONFIGURATION, ENTRY_TYPES, FORMATS, RpcCode, read_fields
from raftref.wire_error import WireError


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "backslashreplace")


class RaftStream:
    """A connection: requests, and their answers in the same order."""

    def __init__(self) -> None:
        self._requests, self._answers = RequestReader(), AnswerReader()
        #: The requests without an answer: number, name, code.
        self._asked: deque[tuple[int, str, RpcCode]] = deque()
        self._count = 0

    def requests(self, data: bytes) -> Iterator[WireFrame]:
        """Take the next bytes of the caller and yield the requests that are complete; raises WireError."""
        for received in self._requests.feed(data):
            is_beat = received.code is RpcCode.APPEND_ENTRIES and is_heartbeat(received.fields)
            name = RpcType.HEARTBEAT if is_beat else RpcType[received.code.name]
            self._asked.append((self._count, name, received.code))
            self._count += 1
            yield WireFrame(name, self._count - 1, False, _sender(received.fields), _request_fields(received))

    def answers(self, data: bytes) -> Iterator[WireFrame]:
        """Take the next bytes of the callee and yield the answers that are complete; raises WireError."""
        for received in self._answers.feed(data):
            if not self._asked:
                raise WireError("an answer to no request")
            number, name, code = self._asked.popleft()
            fields: dict[str, Any] = {"Error": received.error} if received.error else {}
            if received.fields is not None:
                read = read_fields(FORMATS[code].response_fields, received.fields, f"an answer to {name}")
                fields |= {key: _shown(key, value) for key, value in read.items()}
            elif not received.error:
                raise WireError(f"an answer to {name} has neither an error nor fields")
            yield WireFrame(name, number, True, "", fields)


def _sender(fields: Mapping[str, Any]) -> str:
    return _text(fields["ID"] or fields["Addr"] or fields.get("Leader") or fields.get("Candidate"))


def _request_fields(received: ReceivedRequest) -> dict[str, Any]:
    shown = {key: _shown(key, value) for key, value in received.fields.items()}
    return shown | {"Data": digest(received.data)} if received.code is RpcCode.INSTALL_SNAPSHOT else shown


def _shown(name: str, value: Any) -> Any:
    """Return a field as a line has it."""
    match value:
        case bytes() if name in ("ID", "Addr", "Leader", "Candidate"):
            return _text(value)
        case bytes() if name == "Configuration":
            return _servers(value)
        case bytes() if name == "AppendedAt":
            return value.hex()
        case bytes():
            return digest(value) if value else ""
        case Extension():
            return value.data.hex()
        case list():
            return [_entry(each) for each in value]
        case _:
            return value


def _entry(fields: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: _shown(key, value) for key, value in fields.items()}
    if ENTRY_TYPES.get(fields["Type"]) is EntryType.CONFIGURATION:
        shown["Servers"] = _servers(fields["Data"] or b"")
    return shown


def _servers(data: bytes) -> Any:
    """Return the servers of a configuration; a digest where it is none."""
    try:
        servers = read_fields(CONFIGURATION, unpack(data), "a configuration")["Servers"] or []
    except WireError:
        return digest(data)
    names = ("ID", "Address")
    return [{"Suffrage": each["Suffrage"], **{name: _text(each[name]) for name in names}} for each in servers]


# ---- What frames establish ----


def _facts(line: WireLine) -> Iterator[WireFact]:
    """Yield what a frame establishes."""
    if line.is_answer:
        _refuse_other_name(line)
        yield from _of_answer(line)
    elif line.kind == RpcType.REQUEST_PRE_VOTE:
        yield "Shows", {"n": line.src, "term": line.fields["Term"] - 1}  # It proposes the next one.
    elif line.kind in _OF_REQUESTS:
        ask = {"src": line.src, "dst": line.dst, "call": line.call, "term": line.fields["Term"]}
        action, more = _OF_REQUESTS[line.kind](line)
        yield action, {**ask, **more}


def _refuse_other_name(line: WireLine) -> None:
    """Raise MisnamedNodeError where an answer has another ID than the name of the node that sent it."""
    if (name := line.fields.get("ID")) and name != line.src:
        raise MisnamedNodeError(f"the node that is called {line.src} calls itself {name}")


def _of_vote(line: WireLine) -> WireFact:
    return "AsksVote", {"last": line.fields["LastLogIndex"]}


def _of_heartbeat(line: WireLine) -> WireFact:
    return "Leads", {"last": UNKNOWN}


def _of_entries(line: WireLine) -> WireFact:
    """Return the entries, with the one before them, whose value the message does not have."""
    fields, entries = line.fields, line.fields["Entries"] or []
    previous = fields["PrevLogEntry"]
    if [each["Index"] for each in entries] != list(range(previous + 1, previous + 1 + len(entries))):
        raise WireError(f"the entries behind {previous} do not follow each other")
    sent = [{"term": fields["PrevLogTerm"], "value": ""}]
    sent += ({"term": each["Term"], "value": _value(each)} for each in entries)
    return "Replicates", {
        "stream": line.conn,
        "from": previous,
        "sent": sent,
        # A leader counts what a follower has stored by the last entry of a request that has some.
        "last": previous + len(entries) if entries else UNKNOWN,
        "commit": fields["LeaderCommitIndex"] or UNKNOWN,
    }


def _value(entry: Mapping[str, Any]) -> str:
    return json.dumps([entry["Type"], entry["Data"], entry["Extensions"]])


def _of_snapshot(line: WireLine) -> WireFact:
    """Return the last entry in a snapshot: to the follower it is one of the leader's log."""
    index = line.fields["LastLogIndex"]
    sent = [{"term": line.fields["LastLogTerm"], "value": ""}]
    return "Replicates", {"stream": UNKNOWN, "from": index, "sent": sent, "last": index, "commit": UNKNOWN}


_OF_REQUESTS: Mapping[str, Callable[[WireLine], WireFact]] = {
    RpcType.REQUEST_VOTE: _of_vote,
    RpcType.HEARTBEAT: _of_heartbeat,
    RpcType.APPEND_ENTRIES: _of_entries,
    RpcType.INSTALL_SNAPSHOT: _of_snapshot,
}


def _of_answer(line: WireLine) -> Iterator[WireFact]:
    """Yield what an answer establishes; one with an error has no term that counts."""
    if line.kind not in _OF_REQUESTS:
        return
    if line.fields.get("Error"):
        yield "Drops", {"stream": UNKNOWN, "over": [line.call]}
        return
    ok = line.fields["Granted" if line.kind == RpcType.REQUEST_VOTE else "Success"]
    yield "Answers", {"call": line.call, "term": line.fields["Term"], "ok": ok}


WIRE = WireFormat(
    RaftStream,
    _facts,
    "what is on a disk, and when a write to it fails; what a server has applied; its own vote; crashes and restarts; "
    "anything under TLS",
)
