"""The codec against bytes of real servers: raft v1.7.3, three servers and a nonvoter, recorded by a proxy.

Every pair is equal byte for byte, both ways. Servers of a configuration are written in the order of their ids, which is
that in which the recorded group was made.
"""

from __future__ import annotations

from pathlib import Path

import pytest

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
    TimeoutNowRequest,
    TimeoutNowResponse,
)
from raftref.hashicorp.stored_values import go_time
from raftref.hashicorp.transport import AnswerReader, ReceivedAnswer, RequestReader
from raftref.hashicorp.values import NO_INDEX, Configuration, Entry, EntryType, Index, Snapshot, Term
from raftref.hashicorp.wire import RpcCall, decode_answer, decode_request, encode_answer, encode_request
from raftref.hashicorp.wire_fields import CODE_OF, RpcCode
from tests.support.frames import Pair, recorded_pairs

PAIRS = recorded_pairs(Path(__file__).parent / "frames" / "1.7.3.txt")
ADDRESSES = {f"n{k}": f"127.0.0.1:800{k}" for k in range(1, 5)}
VOTERS = Configuration(frozenset({"n1", "n2", "n3"}))
WITH_N4 = Configuration(VOTERS.voters, frozenset({"n4"}))
T2, T3, T4 = Term(2), Term(3), Term(4)
NOTHING: tuple[Entry, ...] = ()


def index(number: int) -> Index:
    return Index(number)


def commands(term: Term, *values: str) -> tuple[Entry, ...]:
    return tuple(Entry(term, EntryType.COMMAND, value) for value in values)


def of_n2(at: int, entries: tuple[Entry, ...], commit: int) -> tuple[Request, Response]:
    """A successful AppendEntries of n2, which leads term 2, to n3."""
    return (
        AppendEntriesRequest("n2", "n3", T2, index(at), T2, entries, index(commit)),
        AppendEntriesResponse("n3", "n2", T2, index(at), True, False),
    )


EXPECTED: dict[str, tuple[Request, Response]] = {
    "AppendEntries of a barrier": of_n2(12, (Entry(T2, EntryType.BARRIER),), 12),
    "AppendEntries of a command": (
        AppendEntriesRequest("n1", "n4", T4, index(39), T4, commands(T4, "last"), index(38)),
        AppendEntriesResponse("n4", "n1", T4, index(39), True, False),
    ),
    "AppendEntries of a command of no bytes": of_n2(8, commands(T2, ""), 8),
    "AppendEntries of a command that is no UTF-8": of_n2(7, commands(T2, "\x00\udcff\udcfe"), 7),
    "AppendEntries of a command with extensions": of_n2(10, commands(T2, "with extensions"), 10),
    "AppendEntries of a configuration": (
        AppendEntriesRequest(
            *("n3", "n1", T3, index(37), T3), (Entry(T3, EntryType.CONFIGURATION, None, WITH_N4),), index(37)
        ),
        AppendEntriesResponse("n1", "n3", T3, index(37), True, False),
    ),
    "AppendEntries of a long command": of_n2(11, commands(T2, "long " * 60), 11),
    "AppendEntries of nothing": (
        AppendEntriesRequest("n2", "n1", T2, index(17), T2, NOTHING, index(13)),
        AppendEntriesResponse("n1", "n2", T2, index(17), True, False),
    ),
    "AppendEntries of nothing, which the log does not reach": (
        AppendEntriesRequest("n3", "n4", T3, index(38), T3, NOTHING, index(37)),
        AppendEntriesResponse("n4", "n3", T3, index(0), False, True),
    ),
    "AppendEntries of several commands": of_n2(13, commands(T2, "burst 0", "burst 1"), 13),
    "InstallSnapshot": (
        InstallSnapshotRequest("n3", "n4", T3, Snapshot(index(37), T3, VOTERS, index(1), ())),
        InstallSnapshotResponse("n4", "n3", T3, True),
    ),
    "TimeoutNow": (TimeoutNowRequest("n2", "n3"), TimeoutNowResponse("n3", "n2")),
    "a heartbeat": (HeartbeatRequest("n3", "n1", T3), HeartbeatResponse("n1", "n3", T3, True)),
    "a vote that is given": (
        RequestVoteRequest("n2", "n1", T2, index(1), Term(1), False),
        RequestVoteResponse("n1", "n2", T2, True),
    ),
    "a vote that is given in a transfer": (
        RequestVoteRequest("n3", "n2", T3, index(33), T2, True),
        RequestVoteResponse("n2", "n3", T3, True),
    ),
    "a vote that is refused": (
        RequestVoteRequest("n2", "n3", T2, index(1), Term(1), False),
        RequestVoteResponse("n3", "n2", T2, False),
    ),
    "a vote that would be given": (
        RequestPreVoteRequest("n2", "n3", T2, index(1), Term(1)),
        RequestPreVoteResponse("n3", "n2", T2, True),
    ),
    "a vote that would be refused": (
        RequestPreVoteRequest("n2", "n1", T4, index(38), T3),
        RequestPreVoteResponse("n1", "n2", T3, False),
    ),
}


def read_request(name: str) -> RpcCall:
    (received,) = RequestReader().feed(PAIRS[name].request)
    return decode_request(received, EXPECTED[name][0].dst, ADDRESSES)


def only_answer(pair: Pair) -> ReceivedAnswer:
    (received,) = AnswerReader().feed(pair.answer)
    return received


def test_every_rpc_was_recorded_and_every_pair_is_expected() -> None:
    assert set(EXPECTED) == set(PAIRS)
    assert {read_request(name).code for name in PAIRS} == set(RpcCode)
    assert {type(request) for request, _ in EXPECTED.values()} == set(CODE_OF)


@pytest.mark.parametrize("name", PAIRS)
def test_real_bytes_are_the_messages_that_were_sent(name: str) -> None:
    request, answer = EXPECTED[name]
    assert read_request(name).message == request
    assert decode_answer(only_answer(PAIRS[name]), request) == answer


@pytest.mark.parametrize("name", PAIRS)
def test_messages_become_the_bytes_that_go_sent(name: str) -> None:
    request, answer = EXPECTED[name]
    recorded = read_request(name)
    call = RpcCall(request, recorded.details, recorded.data)
    assert encode_request(call, ADDRESSES) == PAIRS[name].request
    is_heartbeat = isinstance(answer, HeartbeatResponse)
    last_log = index(only_answer(PAIRS[name]).fields["LastLog"]) if is_heartbeat else NO_INDEX
    assert encode_answer(answer, ADDRESSES, last_log=last_log) == PAIRS[name].answer


def test_an_entry_keeps_what_the_reference_has_no_place_for() -> None:
    (details,) = read_request("AppendEntries of a command with extensions").details
    assert details.extensions == b"ext"
    (entry,) = read_request("AppendEntries of a command").details
    # These servers wrote their local time zone, which is 0 minutes from UTC and not called so.
    assert entry.appended_at == go_time(1_795_829_245_847_012_713)[:13] + b"\0\0"


def test_a_snapshot_comes_with_its_bytes_and_a_configuration_with_its_addresses() -> None:
    snapshot = read_request("InstallSnapshot")
    assert snapshot.data.startswith(b"value 0\nvalue 1\n")
    assert len(snapshot.data) == 556
    assert snapshot.addresses == {name: ADDRESSES[name] for name in ("n1", "n2", "n3")}
    assert read_request("AppendEntries of a configuration").addresses == ADDRESSES
