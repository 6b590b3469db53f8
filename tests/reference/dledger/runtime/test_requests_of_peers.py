"""Requests of peers to a DLedger node: which answer goes to which of them, and who is no peer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from random import Random
from typing import Any

import pytest

from raftref.disks.simulated_disk import SimulatedDisk
from raftref.dledger.choices import PUBLISHED, REPAIRED, Config
from raftref.dledger.client_messages import ResponseCode
from raftref.dledger.messages import (
    Code,
    CommitRequest,
    Entry,
    HeartBeatMessage,
    Index,
    Message,
    PushRequest,
    PushType,
    Request,
    Term,
    TransferMessage,
)
from raftref.dledger.runtime.driver import MAX_WAITING_APPENDS, MAX_WAITING_REQUESTS, DLedgerDriver
from raftref.dledger.runtime.leader_positions import PositionedPush
from raftref.dledger.runtime.peer_calls import PeerCalls
from raftref.dledger.state import Role
from raftref.dledger.storage.entry_coder import header_of
from raftref.runtime.driver import NoReply, PeerReply
from tests.support.systems.running_dledger import ADDRESSES, FILES

TERM = Term(5)


class Follower:
    """A node n1 that follows n2, and what it answers."""

    def __init__(self, config: Config) -> None:
        self.steps: list[str] = []
        self.driver = DLedgerDriver("n1", ADDRESSES, SimulatedDisk(), config, Random(1), self._taken, storage=FILES)
        self.now = 0.0
        self.driver.start(self.now)
        while self.driver.server.member_state.leader_id != "n2":
            self.asks("heartbeat", HeartBeatMessage("n2", "n1", TERM))

    def _taken(self, step: Any) -> None:
        self.steps.append(step.action)

    def asks(self, key: Hashable, m: Message | PositionedPush) -> list[tuple[Hashable, Any]]:
        """Return the answers by their keys, None for one that will never come."""
        self.now += 0.001
        self.driver.on_request(self.now, key, m)
        return [
            (out.key, getattr(out.message, "code", None) if isinstance(out, PeerReply) else None)
            for out in self.driver.take_outputs()
            if isinstance(out, PeerReply | NoReply)
        ]

    def push(self, key: Hashable, type_: PushType, index: int, src: str = "n2") -> list[tuple[Hashable, Any]]:
        return self.asks(key, Request(type_, src, "n1", TERM, Index(index), Entry(TERM, "x"), Index(-1)))

    def take_role(self, role: Role) -> None:
        """Change its role, as between two elections."""
        self.driver.server.member_state.role = role


@pytest.mark.parametrize("config", [PUBLISHED, REPAIRED])
def test_an_append_that_a_compare_clears_gets_no_answer_and_not_that_of_a_later_one(config: Config) -> None:
    """Source: EntryHandler.handlePush, which clears writeRequestMap, and the futures in it with it."""
    follower = Follower(config)
    assert follower.push("a0", PushType.APPEND, 0) == [("a0", Code.SUCCESS)]
    follower.take_role(Role.CANDIDATE)
    assert follower.push("a1", PushType.APPEND, 1) == []
    assert follower.push("c0", PushType.COMPARE, 0) == [("a1", None)]
    follower.take_role(Role.FOLLOWER)
    answers = follower.push("new a1", PushType.APPEND, 1)
    assert answers == [("c0", Code.SUCCESS), ("new a1", Code.SUCCESS)]


def test_the_second_of_two_appends_is_the_one_that_is_answered_as_repeated() -> None:
    """Source: EntryHandler.handlePush, whose future is that of the request that came."""
    follower = Follower(REPAIRED)
    follower.take_role(Role.CANDIDATE)
    assert follower.push("first", PushType.APPEND, 0) == []
    assert follower.push("second", PushType.APPEND, 0) == [("second", Code.REPEATED_PUSH)]
    follower.take_role(Role.FOLLOWER)
    assert follower.push("next", PushType.APPEND, 1) == [("first", Code.SUCCESS), ("next", Code.SUCCESS)]


def test_what_comes_to_a_full_queue_is_lost_and_what_waits_there_is_handled_later() -> None:
    """Source: EntryHandler.compareOrTruncateRequests, a queue of 100; there the thread that brings one more waits."""
    follower = Follower(PUBLISHED)
    follower.take_role(Role.CANDIDATE)
    commit = CommitRequest("n2", "n1", TERM, Index(-1))
    answers = [follower.asks(number, commit) for number in range(MAX_WAITING_REQUESTS)]
    assert answers == [[(number, Code.SUCCESS)] for number in range(MAX_WAITING_REQUESTS)]
    assert follower.asks("too many", commit) == [("too many", None)]
    assert follower.push("compare", PushType.COMPARE, 0) == [("compare", None)]
    assert len(follower.driver.server.compare_or_truncate_requests) == MAX_WAITING_REQUESTS == 100
    follower.take_role(Role.FOLLOWER)
    assert follower.push("append", PushType.APPEND, 0) == [("append", Code.SUCCESS)]
    assert follower.steps.count("HandleDoCommit") == MAX_WAITING_REQUESTS


def test_of_the_appends_that_do_not_come_next_a_thousand_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: EntryDispatcher.maxPendingSize. Whatever waits, the next one is stored."""
    assert MAX_WAITING_APPENDS == 1000
    monkeypatch.setattr("raftref.dledger.runtime.driver.MAX_WAITING_APPENDS", 10)
    follower = Follower(PUBLISHED)
    follower.take_role(Role.CANDIDATE)
    for index in range(2, 12):
        assert follower.push(index, PushType.APPEND, index) == []
    assert follower.push("too many", PushType.APPEND, 12) == [("too many", None)]
    assert len(follower.driver.server.write_request_map) == 10
    assert follower.push("again", PushType.APPEND, 2) == [("again", Code.REPEATED_PUSH)]
    follower.take_role(Role.FOLLOWER)
    assert ("next", Code.SUCCESS) in follower.push("next", PushType.APPEND, 0)


def test_an_event_looks_at_none_of_the_requests_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are recorded all the same, with each step."""
    follower, compared, kept = Follower(PUBLISHED), list[object](), list[object]()
    equal, keep = Request.__eq__, PeerCalls.keep

    def counted_equal(m: Request, other: object) -> bool:
        compared.append(m)
        return equal(m, other)

    def counted_keep(calls: PeerCalls, waiting: Iterable[PushRequest]) -> None:
        kept.append(waiting)
        keep(calls, waiting)

    follower.driver.on_time(follower.now)
    for index in range(2, 102):
        follower.push(index, PushType.APPEND, index)
    monkeypatch.setattr(Request, "__eq__", counted_equal)
    monkeypatch.setattr(PeerCalls, "keep", counted_keep)
    follower.driver.on_time(follower.now)
    assert (compared, kept) == ([], [])
    follower.push("behind the gap", PushType.APPEND, 200)
    assert (compared, kept) == ([], [])
    follower.push("next", PushType.APPEND, 0)
    assert (len(compared) < 10, len(kept)) == (True, 1)


def test_a_second_command_to_take_the_leadership_gets_no_answer_while_the_first_waits() -> None:
    """The spec has one that waits. Source: DLedgerServer.handleLeadershipTransfer, at the transferee."""
    follower = Follower(REPAIRED)
    assert follower.asks("first", TransferMessage("n2", "n1", TERM, Index(3))) == []
    assert follower.asks("second", TransferMessage("n2", "n1", TERM, Index(3))) == [("second", None)]


@pytest.mark.parametrize(
    "m",
    [
        *(
            Request(type_, "n9", "n1", TERM, Index(0), Entry(TERM, "x"), Index(-1))
            for type_ in PushType
            if type_ != "COMMIT"
        ),
        CommitRequest("n9", "n1", TERM, Index(0)),
        TransferMessage("n9", "n1", TERM, Index(0)),
    ],
)
def test_who_is_no_member_neither_pushes_nor_hands_over(m: Message) -> None:
    follower = Follower(PUBLISHED)
    taken, asked = len(follower.steps), m
    if isinstance(m, Request):
        asked = PositionedPush(m, (header_of(m.entry, m.index, 4711, with_crc=False),))  # type: ignore[assignment]
    assert follower.asks("stranger", asked) == [("stranger", ResponseCode.UNKNOWN_MEMBER)]
    assert len(follower.steps) == taken
    # Nor does it say where the leader's entries lie.
    assert follower.push("a0", PushType.APPEND, 0) == [("a0", Code.SUCCESS)]
