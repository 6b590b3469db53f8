"""Conversations of groups on the wire, encoded by the codecs of the references and written as lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.systems.registry import SYSTEMS
from lockstep.systems.wire_lines import WireConnection, WireLines, header_line
from raftref.dledger import messages as dledger
from raftref.dledger.remoting import FrameReader
from raftref.dledger.storage.entry_coder import header_of
from raftref.dledger.wire import AnyRequest, call_with, decode_call, encode_call
from raftref.dledger.wire_answers import AnyResponse
from raftref.dledger.wire_answers import encode_answer as encode_dledger_answer
from raftref.dledger.wire_fields import Version
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InstallSnapshotRequest,
    InstallSnapshotResponse,
    Request,
    RequestPreVoteRequest,
    RequestPreVoteResponse,
    RequestVoteRequest,
    RequestVoteResponse,
    Response,
)
from raftref.hashicorp.values import Configuration, Entry, EntryType, Snapshot
from raftref.hashicorp.wire import RpcCall, RpcFailure, encode_answer, encode_request

NODES = ("n1", "n2", "n3")
ADDRESSES = {node: f"127.0.0.1:{8000 + number}" for number, node in enumerate(NODES, start=1)}


def wire_of(spec: str) -> Any:
    wire = SYSTEMS[spec].wire
    assert wire is not None
    return wire()


@dataclass
class RaftSession:
    """Servers of hashicorp/raft, each pair with one connection; a second goes by."""

    lines: WireLines = field(default_factory=lambda: WireLines(wire_of("HashicorpRaft")))
    text: list[bytes] = field(default_factory=list)
    connections: dict[tuple[str, str], WireConnection] = field(default_factory=dict)
    now: float = 1_000_000.0

    def connection(self, src: str, dst: str) -> WireConnection:
        if (src, dst) not in self.connections:
            self.connections[src, dst] = self.lines.open(dst, ADDRESSES[src])
            self.text.append(self.connections[src, dst].opened(self.now))
        return self.connections[src, dst]

    def ask(self, m: Request) -> None:
        self.now += 1
        data = encode_request(RpcCall(m), ADDRESSES)
        self.text += self.connection(m.src, m.dst).requests(data, self.now)

    def answer(self, m: Response | RpcFailure, src: str = "", dst: str = "") -> None:
        self.now += 1
        asked = (src, dst) if isinstance(m, RpcFailure) else (m.dst, m.src)
        self.text += self.connection(*asked).answers(encode_answer(m, ADDRESSES), self.now)

    def vote(self, src: str, dst: str, term: int, *, granted: bool = True, end: tuple[int, int] = (1, 1)) -> None:
        self.ask(RequestVoteRequest(src, dst, term, *end, False))
        self.answer(RequestVoteResponse(dst, src, term, granted))

    def beat(self, src: str, dst: str, term: int) -> None:
        self.ask(HeartbeatRequest(src, dst, term))
        self.answer(HeartbeatResponse(dst, src, term, True))

    def append(
        self, src: str, dst: str, term: int, previous: tuple[int, int], entries: str, commit: int, *, ok: bool = True
    ) -> None:
        """Send entries, a letter each, of the leader's term; `previous` are index and term of the one before."""
        listed = tuple(Entry(term, EntryType.COMMAND, each) for each in entries)
        self.ask(AppendEntriesRequest(src, dst, term, *previous, listed, commit))
        self.answer(AppendEntriesResponse(dst, src, term, previous[0], ok, False))

    def snapshot(self, src: str, dst: str, term: int, end: tuple[int, int]) -> None:
        everyone = Configuration(frozenset(NODES), frozenset())
        self.ask(InstallSnapshotRequest(src, dst, term, Snapshot(*end, everyone, 1, ())))
        self.answer(InstallSnapshotResponse(dst, src, term, True))

    def write(self, path: Path, *, all_voters: bool = True) -> Path:
        header = header_line("HashicorpRaft", ADDRESSES, all_voters=all_voters)
        path.write_bytes(header + b"".join(self.text))
        return path


def raft_conversation() -> RaftSession:
    """n1 leads term 2 and commits two entries; n2 leads term 3, and overwrites one that n1 kept to itself."""
    group = RaftSession()
    group.ask(RequestPreVoteRequest("n1", "n2", 2, 1, 1))
    group.answer(RequestPreVoteResponse("n2", "n1", 2, True))
    group.vote("n1", "n2", 2)
    group.vote("n1", "n3", 2, granted=False)
    group.vote("n3", "n2", 2, granted=False)
    for follower in ("n2", "n3"):
        group.append("n1", follower, 2, (1, 1), "a", 0)
    group.append("n1", "n2", 2, (2, 2), "b", 2)
    group.append("n1", "n3", 2, (2, 2), "b", 3)
    group.beat("n1", "n2", 2)
    group.ask(AppendEntriesRequest("n1", "n3", 2, 3, 2, (Entry(2, EntryType.COMMAND, "x"),), 3))  # and n1 dies
    group.vote("n2", "n1", 3, granted=False, end=(3, 2))
    group.vote("n2", "n3", 3, end=(3, 2))
    group.append("n2", "n1", 3, (3, 2), "c", 3)
    group.append("n2", "n3", 3, (3, 2), "c", 4)
    group.snapshot("n2", "n1", 3, (3, 2))
    return group


@dataclass
class DLedgerSession:
    """Nodes of DLedger, each pair with one connection; a second goes by."""

    lines: WireLines = field(default_factory=lambda: WireLines(wire_of("DLedger")))
    text: list[bytes] = field(default_factory=list)
    connections: dict[tuple[str, str], WireConnection] = field(default_factory=dict)
    now: float = 1_000_000.0
    opaque: int = 0

    def call(self, m: AnyRequest, answer: AnyResponse | None, *headers: Any) -> None:
        """Send a request, and its answer if there is one."""
        src, dst = m.src, m.dst  # type: ignore[union-attr]  # it is none of a client
        if (src, dst) not in self.connections:
            self.connections[src, dst] = self.lines.open(dst, ADDRESSES[src])
            self.text.append(self.connections[src, dst].opened(self.now))
        self.opaque += 1
        self.now += 1
        data = encode_call(call_with(m, self.opaque, "g", Version.V0_3, headers))
        self.text += self.connections[src, dst].requests(data, self.now)
        if answer is not None:
            call = decode_call(next(FrameReader().feed(data)))
            self.now += 1
            self.text += self.connections[src, dst].answers(encode_dledger_answer(answer, call), self.now)

    def vote(self, src: str, dst: str, term: int, code: str = "ACCEPT", end: tuple[int, int] = (-1, -1)) -> None:
        m = dledger.VoteMessage(src, dst, term, end[1], end[0])
        self.call(m, dledger.ElectionResponse(dledger.ElectionType.VOTE, dst, src, term, code))

    def beat(self, src: str, dst: str, term: int) -> None:
        m = dledger.HeartBeatMessage(src, dst, term)
        self.call(m, dledger.ElectionResponse(dledger.ElectionType.HEARTBEAT, dst, src, term, "SUCCESS"))

    def push(
        self, type_: str, src: str, dst: str, term: int, index: int, entry: tuple[str, int], commit: int, end: int
    ) -> None:
        """Push an entry, a value and a term, to a follower whose log ends at an index then."""
        pushed = dledger.Entry(entry[1], entry[0])
        m = dledger.Request(dledger.PushType(type_), src, dst, term, index, pushed, commit)
        header = header_of(pushed, index, 50 * index, with_crc=False)
        code = dledger.Code.SUCCESS
        self.call(m, dledger.Response(m.type, dst, src, term, index, code, 0, end), header)

    def commit(self, src: str, dst: str, term: int, commit: int) -> None:
        self.call(dledger.CommitRequest(src, dst, term, commit), None)

    def write(self, path: Path, *, all_voters: bool = True) -> Path:
        path.write_bytes(header_line("DLedger", ADDRESSES, all_voters=all_voters) + b"".join(self.text))
        return path


def dledger_conversation() -> DLedgerSession:
    """n1 leads term 1 and commits two entries; n2 leads term 2, compares, and appends a third."""
    group = DLedgerSession()
    group.vote("n1", "n2", 0, "REJECT_TERM_NOT_READY")
    group.vote("n1", "n2", 1)
    group.vote("n1", "n3", 1, "REJECT_ALREADY_VOTED")
    group.vote("n3", "n2", 1, "REJECT_ALREADY_VOTED")
    for follower in ("n2", "n3"):
        group.push("APPEND", "n1", follower, 1, 0, ("a", 1), -1, 0)
    group.beat("n1", "n2", 1)
    group.push("APPEND", "n1", "n2", 1, 1, ("b", 1), 0, 1)
    group.push("APPEND", "n1", "n3", 1, 1, ("b", 1), 1, 1)
    group.commit("n1", "n2", 1, 1)
    group.vote("n2", "n3", 2, end=(1, 1))
    group.push("COMPARE", "n2", "n3", 2, 1, ("b", 1), 1, 1)
    group.push("APPEND", "n2", "n3", 2, 2, ("c", 2), 1, 2)
    group.push("COMPARE", "n2", "n1", 2, 1, ("b", 1), 2, 1)
    return group


#: Changes one line of a file, and returns whether it was the one that was meant.
Change = Callable[[dict[str, Any]], bool]


def changed(path: Path, change: Change) -> int:
    """Change the first line of a file that a change is about; return its number."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    number = next(number for number, line in enumerate(lines[1:], start=2) if change(line))
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")
    return number
