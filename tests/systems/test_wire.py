"""The wire of a group: frames as lines, and the rules that messages alone are held against."""

from __future__ import annotations

import itertools
import json
import math
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.file_check import check
from lockstep.systems.wire_format import WireFrame
from lockstep.systems.wire_lines import WireLines
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    RequestVoteRequest,
    RequestVoteResponse,
)
from raftref.hashicorp.values import Entry, EntryType
from raftref.hashicorp.wire import RpcCall, RpcFailure, encode_answer, encode_request
from tests.support.wire_sessions import (
    ADDRESSES,
    DLedgerSession,
    RaftSession,
    changed,
    dledger_conversation,
    raft_conversation,
    wire_of,
)

VOTE = encode_request(RpcCall(RequestVoteRequest("n1", "n2", 2, 1, 1, False)), ADDRESSES)
BEAT = encode_request(RpcCall(HeartbeatRequest("n1", "n2", 2)), ADDRESSES)
GRANTED = encode_answer(RequestVoteResponse("n2", "n1", 2, True), ADDRESSES)

Fields = dict[str, Any]


def checked(path: Path) -> TraceVerdict:
    return check(path)


# ---- Rules -----------------------------------------------------------------------------------------------


def test_a_conversation_of_a_group_breaks_no_rule(tmp_path: Path) -> None:
    found = checked(raft_conversation().write(tmp_path / "wire.ndjson"))
    assert found.verdict is Verdict.HOLDS
    assert found.steps == 28


def test_a_capture_may_begin_and_end_anywhere(tmp_path: Path) -> None:
    whole = raft_conversation()
    for first, last in [*((k, 100) for k in (4, 9, 14, 21)), (0, 10)]:
        part = RaftSession(text=whole.text[first:last])
        found = checked(part.write(tmp_path / "wire.ndjson"))
        assert found.verdict in (Verdict.HOLDS, Verdict.INCONCLUSIVE), (first, last, found.findings)


def test_order_between_connections_is_not_taken_for_more_than_it_is(tmp_path: Path) -> None:
    """A routine of a leader that is deposed may still send in its old term; who answers knows the later one."""
    group = raft_conversation()
    group.ask(AppendEntriesRequest("n1", "n2", 2, 3, 2, (Entry(2, EntryType.COMMAND, "x"),), 1))
    group.answer(AppendEntriesResponse("n2", "n1", 3, 4, False, False))
    path = group.write(tmp_path / "wire.ndjson")
    assert checked(path).verdict is Verdict.VIOLATED  # in its stream the commit index fell
    changed(path, at("AppendEntries", 16, answer=False, LeaderCommitIndex=3))
    assert checked(path).verdict is Verdict.HOLDS
    changed(path, at("AppendEntries", 16, answer=True, Term=2))
    assert [each.name for each in checked(path).findings] == ["AnswerInTerm"]


def at(kind: str, call: int, *, answer: bool, **fields: Any) -> Callable[[Fields], bool]:
    """A change of the fields of a frame."""

    def change(line: Fields) -> bool:
        if (line["kind"], line.get("call"), line.get("answer")) != (kind, call, answer):
            return False
        line["fields"] |= fields
        return True

    return change


def entry(call: int, **fields: Any) -> Callable[[Fields], bool]:
    """A change of the first entry of an AppendEntries."""

    def change(line: Fields) -> bool:
        if (line["kind"], line.get("call"), line.get("answer")) != ("AppendEntries", call, False):
            return False
        line["fields"]["Entries"][0] |= fields
        return True

    return change


def from_(kind: str, call: int, src: str) -> Callable[[Fields], bool]:
    """Another sender of a request."""

    def change(line: Fields) -> bool:
        line["from"] = src if (is_it := (line["kind"], line.get("call")) == (kind, call)) else line.get("from", "")
        return is_it

    return change


LIES = {
    "another leader in the term": (from_("Heartbeat", 9, "n3"), {"OneLeader"}),
    "a second vote in the term": (
        at("RequestVote", 4, answer=True, Granted=True),
        {"OneVote"},
    ),
    "a vote refused without which there is no quorum": (
        at("RequestVote", 12, answer=True, Granted=False),
        {"ElectedByQuorum"},
    ),
    "a term that falls": (at("Heartbeat", 9, answer=True, Term=1), {"AnswerInTerm"}),
    "an agreement in another term": (at("AppendEntries", 8, answer=True, Term=3), {"AnswerInTerm"}),
    "terms that fall in a log": (at("AppendEntries", 7, answer=False, PrevLogTerm=3), {"EntriesInOrder"}),
    "an entry of a later term": (entry(8, Term=3), {"EntriesInOrder", "LeaderAppends"}),
    "another value at an index": (entry(6, Data="0000000000000000"), {"LeaderAppends"}),
    "another term at a committed index": (
        at("AppendEntries", 13, answer=False, PrevLogTerm=1),
        {"CommittedStays"},
    ),
    "a snapshot of another history": (
        at("InstallSnapshot", 15, answer=False, LastLogTerm=1),
        {"CommittedStays", "LeaderAppends"},
    ),
    "a commit index that nobody stored": (
        at("AppendEntries", 7, answer=False, LeaderCommitIndex=3),
        {"CommitIsAcked"},
    ),
    "a commit index that falls": (at("AppendEntries", 10, answer=False, LeaderCommitIndex=2), {"CommitRises"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_at_its_line(tmp_path: Path, lie: str) -> None:
    change, broken = LIES[lie]
    path = raft_conversation().write(tmp_path / "wire.ndjson")
    number = changed(path, change)
    found = checked(path)
    assert found.verdict is Verdict.VIOLATED
    assert {each.name for each in found.findings} >= broken
    first = found.findings[0]
    # What a vote was needed for is a later line.
    assert first.line == number or (broken == {"ElectedByQuorum"} and first.line > number)
    assert first.name in broken


def test_without_all_voters_quorums_are_not_counted(tmp_path: Path) -> None:
    path = raft_conversation().write(tmp_path / "wire.ndjson", all_voters=False)
    changed(path, LIES["a commit index that nobody stored"][0])
    found = checked(path)
    assert found.verdict is Verdict.HOLDS
    assert any("--all-voters" in note for note in found.notes)


def test_a_node_that_calls_itself_otherwise_is_malformed(tmp_path: Path) -> None:
    path = raft_conversation().write(tmp_path / "wire.ndjson")
    number = changed(path, at("RequestVote", 2, answer=True, ID="server-2"))
    found = checked(path)
    assert found.verdict is Verdict.MALFORMED
    assert f"wire.ndjson:{number}: the node that is called n2 calls itself server-2" in found.reason


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"time":1,"conn":1}\n', "field `kind`: missing"),
        (b'{"time":1,"conn":1,"kind":"Heartbeat"', "truncated"),
        (b'{"time":1,"conn":"1","kind":"Heartbeat"}\n', "field `conn`"),
    ],
)
def test_a_damaged_line_is_malformed_with_its_number(tmp_path: Path, line: bytes, problem: str) -> None:
    group = RaftSession(text=[line])
    found = checked(group.write(tmp_path / "wire.ndjson"))
    assert found.verdict is Verdict.MALFORMED
    assert "wire.ndjson:2: " in found.reason
    assert problem in found.reason


def test_a_message_without_the_fields_of_its_kind_is_passed_over_with_a_note(tmp_path: Path) -> None:
    path = raft_conversation().write(tmp_path / "wire.ndjson")
    number = changed(path, lambda line: line["kind"] == "Heartbeat" and not line["fields"].clear())
    found = checked(path)
    assert found.verdict is Verdict.HOLDS
    assert any(f"1 messages have fields that no such message has, and were passed over (lines {number})" in note
               for note in found.notes)  # fmt: skip


def test_a_routine_of_an_old_leadership_may_send_from_the_log_as_it_is_now(tmp_path: Path) -> None:
    """Source: replicateTo, which reads the log once it has been truncated, and asks in its own term."""
    group = raft_conversation()
    group.ask(AppendEntriesRequest("n1", "n2", 2, 3, 2, (Entry(3, EntryType.COMMAND, "x"),), 3))
    path = group.write(tmp_path / "wire.ndjson")
    assert checked(path).verdict is Verdict.HOLDS
    changed(path, at("AppendEntries", 16, answer=False, Term=3))
    assert checked(path).verdict is Verdict.VIOLATED


def test_an_agreement_may_have_the_term_before_that_of_the_request(tmp_path: Path) -> None:
    """Source: appendEntries, which reads the term first; another thread may enter the request's meanwhile."""
    group = RaftSession()
    group.ask(HeartbeatRequest("n1", "n2", 2))
    group.answer(HeartbeatResponse("n2", "n1", 1, success=True))
    path = group.write(tmp_path / "wire.ndjson")
    assert checked(path).verdict is Verdict.HOLDS
    changed(path, lambda line: bool(line.get("answer")) and line["fields"].update(Term=3) is None)
    assert [each.name for each in checked(path).findings] == ["AnswerInTerm"]


def test_where_something_was_not_read_no_quorum_is_missed(tmp_path: Path) -> None:
    """A gap in a capture may be noticed long after it."""
    path = raft_conversation().write(tmp_path / "wire.ndjson")
    changed(path, LIES["a vote refused without which there is no quorum"][0])
    with path.open("a") as file:
        file.write('{"time":99,"conn":77,"kind":"unreadable","answer":true,"why":"bytes are missing"}\n')
    found = checked(path)
    assert found.verdict is Verdict.HOLDS, found
    assert any("were not evaluated everywhere: messages may be missing" in note for note in found.notes)


def test_a_message_that_is_passed_over_may_have_been_a_vote(tmp_path: Path) -> None:
    path = raft_conversation().write(tmp_path / "wire.ndjson")
    changed(path, lambda line: line["kind"] == "RequestVote" and line.get("answer") and not line["fields"].clear())
    assert checked(path).verdict is Verdict.HOLDS


def test_a_request_of_nobody_is_malformed_where_all_nodes_are_named(tmp_path: Path) -> None:
    path = raft_conversation().write(tmp_path / "wire.ndjson")
    number = changed(path, from_("Heartbeat", 9, "10.0.0.1:8300"))
    found = checked(path)
    assert found.verdict is Verdict.MALFORMED
    assert f"wire.ndjson:{number}: field `from`: '10.0.0.1:8300' is none of the nodes" in found.reason


# ---- Lines -----------------------------------------------------------------------------------------------


def lines_of(requests: list[bytes], answers: list[bytes] | None = None) -> list[Fields]:
    connection = WireLines(wire_of("HashicorpRaft")).open("n2", "127.0.0.1:1")
    found: list[bytes] = []
    for data, answer in itertools.zip_longest(requests, answers or [], fillvalue=b""):
        found += connection.requests(data, 1.0)
        found += connection.answers(answer, 2.0)
    return [json.loads(line) for line in [*found, connection.closed(3.0)]]


def test_frames_are_the_same_lines_however_their_bytes_are_cut() -> None:
    whole = lines_of([VOTE + BEAT], [GRANTED])
    assert [line["kind"] for line in whole] == ["RequestVote", "Heartbeat", "RequestVote", "closed"]
    assert whole[2]["call"] == whole[0]["call"]
    assert whole[3]["unanswered"] == [whole[1]["call"]]
    single = [bytes([each]) for each in VOTE + BEAT]
    assert lines_of(single, [b""] * len(single) + [bytes([each]) for each in GRANTED]) == whole


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x16\x03\x01", "no request begins with the byte 22"),
        (b"\x00\xdb\x80\x00\x00\x00", "too long"),
        (b"\x00" + b"\x91" * 64, "nested deeper"),
        (b"\x00\xdf\xff\xff\xff\xff", "too long"),
        (b"\x00\xc1", "no value of MessagePack"),
        (b"\x01\x93\x01\x02\x03", "is no map"),
        (b"\x01\x81\xa4Term\xa1x", "Term of REQUEST_VOTE"),
    ],
)
def test_hostile_bytes_are_one_line_and_the_frames_before_them_stay(data: bytes, why: str) -> None:
    found = lines_of([VOTE, data, data, VOTE], [b"", b"", GRANTED])
    assert [line["kind"] for line in found] == ["RequestVote", "unreadable", "closed"]
    assert why in found[1]["why"]
    assert found[1]["answer"] is False


def test_a_frame_that_never_ends_is_waited_for() -> None:
    assert [line["kind"] for line in lines_of([VOTE, VOTE[:-1]])] == ["RequestVote", "closed"]


def test_an_answer_to_no_request_is_one_line() -> None:
    found = lines_of([b""], [GRANTED + GRANTED])
    assert [(line["kind"], line.get("why")) for line in found[:-1]] == [("unreadable", "an answer to no request")]


def test_an_error_has_no_term(tmp_path: Path) -> None:
    group = RaftSession()
    group.ask(RequestVoteRequest("n1", "n2", 2, 1, 1, False))
    group.answer(RpcFailure("shutdown"), "n1", "n2")
    assert json.loads(group.text[-1])["fields"] == {"Error": "shutdown"}
    assert checked(group.write(tmp_path / "wire.ndjson")).verdict is Verdict.HOLDS


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = raft_conversation().write(tmp_path / "wire.ndjson")
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2', 1))
    found = checked(path)
    assert found.verdict is Verdict.MALFORMED
    assert "field `version`: 2" in found.reason


# ---- DLedger -----------------------------------------------------------------------------------------------


def test_a_conversation_of_dledger_breaks_no_rule(tmp_path: Path) -> None:
    found = checked(dledger_conversation().write(tmp_path / "wire.ndjson"))
    assert found.verdict is Verdict.HOLDS, found.findings
    assert found.steps == 27


def test_a_capture_of_dledger_may_begin_and_end_anywhere(tmp_path: Path) -> None:
    whole = dledger_conversation()
    for first, last in [(5, 100), (16, 100), (0, 10)]:
        found = checked(DLedgerSession(text=whole.text[first:last]).write(tmp_path / "wire.ndjson"))
        assert found.verdict in (Verdict.HOLDS, Verdict.INCONCLUSIVE), (first, last, found.findings)


def pushed(call: int, **fields: Any) -> Callable[[Fields], bool]:
    """A change of the entry of a push."""

    def change(line: Fields) -> bool:
        if (line["kind"], line.get("call"), line.get("answer")) != ("PUSH", call, False):
            return False
        line["fields"]["entry"] |= fields
        return True

    return change


DLEDGER_LIES = {
    "another leader in the term": (from_("HEART_BEAT", 7, "n3"), {"OneLeader"}),
    "a second vote in the term": (at("VOTE", 4, answer=True, voteResult="ACCEPT"), {"OneVote"}),
    "a vote refused without which there is no quorum": (
        at("VOTE", 11, answer=True, voteResult="REJECT_ALREADY_VOTED"),
        {"ElectedByQuorum"},
    ),
    "a term that falls": (at("VOTE", 11, answer=True, term=0), {"AnswerInTerm"}),
    "an entry of a later term": (pushed(8, term=2), {"EntriesInOrder"}),
    "another value at an index": (pushed(6, body="0000000000000000"), {"LeaderAppends"}),
    "another term at a committed index": (pushed(12, term=0), {"CommittedStays"}),
    "another value at a committed index": (pushed(14, body="0000000000000000"), {"CommittedStays", "LeaderAppends"}),
    "a commit index that nobody stored": (at("PUSH", 13, answer=False, commitIndex=2), {"CommitIsAcked"}),
}


@pytest.mark.parametrize("lie", DLEDGER_LIES)
def test_a_lie_of_dledger_is_found_at_its_line(tmp_path: Path, lie: str) -> None:
    change, broken = DLEDGER_LIES[lie]
    path = dledger_conversation().write(tmp_path / "wire.ndjson")
    number = changed(path, change)
    found = checked(path)
    assert found.verdict is Verdict.VIOLATED
    first = found.findings[0]
    # What a vote was needed for is a later line.
    assert first.line == number or (broken == {"ElectedByQuorum"} and first.line > number)
    assert first.name in broken


def test_a_vote_of_dledger_that_cannot_be_read_may_have_been_given(tmp_path: Path) -> None:
    """Its frame is whole, and its body is none of an answer to a vote."""

    def unread(line: Fields) -> bool:
        if is_it := (line["kind"], line.get("call"), line.get("answer")) == ("VOTE", 11, True):
            line["fields"] = {"why": "the body: no JSON"}
        return is_it

    path = dledger_conversation().write(tmp_path / "wire.ndjson")
    number = changed(path, unread)
    found = checked(path)
    assert found.verdict is Verdict.HOLDS, found.findings
    assert any(f"and were passed over (lines {number})" in note for note in found.notes)
    assert any("were not evaluated everywhere: messages may be missing" in note for note in found.notes)


def frames_of_dledger(data: bytes) -> list[Fields]:
    connection = WireLines(wire_of("DLedger")).open("n2", "127.0.0.1:1")
    return [json.loads(line) for line in [*connection.requests(data, 1.0), connection.closed(2.0)]]


def framed(header: bytes, body: bytes = b"") -> bytes:
    content = len(header).to_bytes(4, "big") + header + body
    return len(content).to_bytes(4, "big") + content


BEAT_HEADER = b'{"code":51002,"flag":0,"opaque":1}'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x7f\xff\xff\xff" + bytes(8), "is longer than"),
        (b"\xff\xff\xff\xff" + bytes(8), "length of -1"),
        (framed(b"[" * 200_000), "nested too deep"),
        (framed(b'{"code":51002,"flag":1,"opaque":1}'), "an answer"),
        (b"\x00\x00\x00\x04\x01\x00\x00\x00", "is not JSON"),
    ],
)
def test_hostile_frames_of_dledger_are_one_line(data: bytes, why: str) -> None:
    found = frames_of_dledger(data + framed(BEAT_HEADER, b"{}"))
    assert [line["kind"] for line in found] == ["unreadable", "closed"]
    assert why in found[0]["why"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"[" * 5000, b'{"term":"x"}', b"\xff", b'{"term":99999999999999999999}', b'{"a":1e999}', b'{"a":[-1e999]}'],
)
def test_a_frame_of_dledger_with_a_body_that_is_none_leaves_those_behind_it(body: bytes) -> None:
    found = frames_of_dledger(framed(BEAT_HEADER, body) + framed(BEAT_HEADER, b'{"term":3}'))
    assert [line["kind"] for line in found] == ["HEART_BEAT", "HEART_BEAT", "closed"]
    assert list(found[0]["fields"]) == ["why"]
    assert found[1]["fields"] == {"term": 3}


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_json_has_not_is_no_line_but_unreadable(value: float) -> None:
    @dataclass
    class Stream:
        def requests(self, data: bytes) -> Iterator[WireFrame]:
            yield WireFrame("VOTE", 1, False, "n1", {"a": value})

        def answers(self, data: bytes) -> Iterator[WireFrame]:
            yield from ()

    connection = WireLines(replace(wire_of("DLedger"), stream=Stream)).open("n2", "127.0.0.1:1")
    found = [*connection.requests(b"x", 1.0), connection.closed(2.0)]
    assert not any(word in line for line in found for word in (b"Infinity", b"NaN"))
    assert [json.loads(line)["kind"] for line in found] == ["unreadable", "closed"]
    assert json.loads(found[1])["unanswered"] == []


def test_a_connection_that_was_given_up_keeps_none_of_its_bytes() -> None:
    wire = wire_of("DLedger")
    streams: list[weakref.ref[Any]] = []

    def stream() -> Any:
        made = wire.stream()
        streams.append(weakref.ref(made))
        return made

    connection = WireLines(replace(wire, stream=stream)).open("n2", "127.0.0.1:1")
    assert connection.requests(b"\x00\xff\xff\x00" + bytes(1000), 1.0) == []
    assert streams[0]() is not None
    assert connection.answers(b"\xff" * 12, 2.0) != []
    assert streams[0]() is None
    assert connection.requests(bytes(1000), 3.0) == []


def test_a_code_that_nobody_knows_is_a_line(tmp_path: Path) -> None:
    found = frames_of_dledger(framed(b'{"code":51003,"flag":0,"opaque":1}', b"{}"))
    assert [line["kind"] for line in found] == ["code 51003", "closed"]
