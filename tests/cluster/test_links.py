"""The links of a scripted group: what a rule holds, drops and lets pass, on frames of both systems."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockstep.cluster.node_processes import free_addresses
from raftref.dledger.messages import HeartBeatMessage, VoteMessage
from raftref.dledger.wire import call_with, encode_call
from raftref.dledger.wire_fields import Version
from raftref.hashicorp.messages import HeartbeatRequest, RequestVoteRequest
from raftref.hashicorp.wire import RpcCall, encode_request
from tests.scripts.reproduce.dledger_stream import DLedgerStream
from tests.scripts.reproduce.links import Links, Rule, Stream, cut_off, drop, hold
from tests.scripts.reproduce.raft_stream import RaftStream

VOTE = encode_call(call_with(VoteMessage("n1", "n2", 3, 0, 1), 7, "g", Version.V0_3))
BEAT = encode_call(call_with(HeartBeatMessage("n1", "n2", 3), 8, "g", Version.V0_3))
ADDRESSES = {"n1": "127.0.0.1:1", "n2": "127.0.0.1:2"}
RAFT_VOTE = encode_request(RpcCall(RequestVoteRequest("n1", "n2", 3, 1, 1, False)), ADDRESSES)
RAFT_BEAT = encode_request(RpcCall(HeartbeatRequest("n1", "n2", 3)), ADDRESSES)


class Callee(threading.Thread):
    """A node that takes whatever comes to it."""

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(daemon=True)
        self._listening = socket.create_server(address)
        self.received = b""
        self.start()

    def run(self) -> None:
        connection, _ = self._listening.accept()
        with connection, self._listening:
            while data := connection.recv(1 << 16):
                self.received += data


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


def sent(folder: Path, stream: type[Stream], data: list[bytes], *rules: Rule) -> tuple[Links, Callee, socket.socket]:
    addresses = dict(zip(("n1", "n2"), free_addresses(2), strict=True))
    links, callee = Links(addresses, stream, folder / "links.ndjson"), Callee(addresses["n2"])
    links.__enter__()
    links.rules(*rules)
    caller = socket.create_connection(links.address("n1", "n2"))
    for each in data:
        caller.sendall(each)
    return links, callee, caller


def received(links: Links, callee: Callee, caller: socket.socket) -> bytes:
    caller.close()
    callee.join(10)
    links.__exit__()
    return callee.received


@pytest.mark.parametrize(("stream", "frames"), [(DLedgerStream, [VOTE, BEAT]), (RaftStream, [RAFT_VOTE, RAFT_BEAT])])
def test_frames_pass_unchanged_however_their_bytes_are_cut(
    folder: Path, stream: type[Stream], frames: list[bytes]
) -> None:
    whole = b"".join(frames)
    links, callee, caller = sent(folder, stream, [whole[:5], whole[5:31], whole[31:]])
    links.seen(src="n1", dst="n2", count=2)
    assert received(links, callee, caller) == whole


def test_a_frame_of_dledger_that_is_dropped_leaves_the_others(folder: Path) -> None:
    links, callee, caller = sent(folder, DLedgerStream, [VOTE, BEAT], drop("VOTE", src="n1"))
    links.seen("HEART_BEAT")
    assert received(links, callee, caller) == BEAT


def test_behind_a_frame_of_raft_that_is_dropped_a_connection_is_dead(folder: Path) -> None:
    links, callee, caller = sent(folder, RaftStream, [RAFT_BEAT, RAFT_VOTE, RAFT_BEAT], drop("RequestVote"))
    links.seen("Heartbeat", count=2)
    assert received(links, callee, caller) == RAFT_BEAT


def test_a_frame_of_dledger_that_is_held_is_overtaken_and_comes_when_it_is_released(folder: Path) -> None:
    late = hold("VOTE")
    links, callee, caller = sent(folder, DLedgerStream, [VOTE, BEAT], late)
    links.seen("HEART_BEAT")
    links.held(late).release()
    assert received(links, callee, caller) == BEAT + VOTE


def test_a_frame_that_is_held_outlasts_its_caller_and_is_not_overtaken_in_an_ordered_stream(folder: Path) -> None:
    late = hold("RequestVote")
    links, callee, caller = sent(folder, RaftStream, [RAFT_VOTE, RAFT_BEAT], late)
    links.seen("Heartbeat")
    caller.close()
    assert callee.received == b""
    links.held(late).release()
    assert received(links, callee, caller) == RAFT_VOTE + RAFT_BEAT


def test_a_rule_holds_no_more_frames_than_its_limit(folder: Path) -> None:
    late = hold("VOTE", limit=1)
    links, callee, caller = sent(folder, DLedgerStream, [VOTE, VOTE, VOTE], late)
    links.seen("VOTE", count=3)
    links.held(late).release()
    assert received(links, callee, caller) == VOTE * 3


def test_nothing_comes_from_a_node_that_is_cut_off(folder: Path) -> None:
    links, callee, caller = sent(folder, DLedgerStream, [VOTE, BEAT], *cut_off("n2"))
    links.seen("HEART_BEAT")
    assert received(links, callee, caller) == b""
