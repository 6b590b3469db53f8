"""A server whose main loop is held up: what comes between two roles waits until the loop takes events again."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.messages import HeartbeatRequest, RequestVoteRequest
from raftref.hashicorp.runtime.driver import RaftDriver
from raftref.hashicorp.runtime.durable_stores import MemoryStores
from raftref.hashicorp.runtime.replayed_run import replayed
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.state import Loop, Role
from raftref.hashicorp.values import Index, Term
from raftref.runtime.driver import NodeStep, PeerCall, PeerReply
from tests.support.systems.running_groups import ask
from tests.support.systems.running_raft import RaftGroup, command


def started(node: str, flaws: frozenset[Flaw] = frozenset()) -> RaftDriver:
    plan = FaultPlan(flaws=flaws)
    steps: list[NodeStep] = []
    made = RaftDriver(node, plan.node_ids, plan.configuration, MemoryStores(), Random(1), steps.append, flaws=flaws)
    made.start(0.0)
    return made


def calls_to(peer: str, driver: RaftDriver) -> list[PeerCall]:
    return [each for each in driver.take_outputs() if isinstance(each, PeerCall) and each.peer == peer]


def answer(candidate: RaftDriver, voter: RaftDriver, now: float) -> None:
    """Let a voter answer what a candidate asks it."""
    (call,) = calls_to(voter.node_id, candidate)
    voter.on_request(now, "asked", call.message)
    (reply,) = (each for each in voter.take_outputs() if isinstance(each, PeerReply))
    candidate.on_answer(now, call.number, reply.message)


def won(flaws: frozenset[Flaw] = frozenset()) -> RaftDriver:
    """A candidate that has won term 2 at 5.0 s, and whose main loop is held up until 6.0 s."""
    candidate, voter = started("n1", flaws), started("n2", flaws)
    candidate.turns.delay = lambda: 1.0
    candidate.on_time(3.0)
    for now in (4.0, 5.0):
        candidate.on_time(now)
        answer(candidate, voter, now)
    assert (candidate.server.role, candidate.server.loop) == (Role.LEADER, Loop.LEAD)
    candidate.take_outputs()
    return candidate


def replies(driver: RaftDriver) -> list[Any]:
    return [each.key for each in driver.take_outputs() if isinstance(each, PeerReply)]


@pytest.mark.parametrize("flaws", [frozenset(), frozenset({Flaw.HEARTBEAT_RACE})], ids=["repaired", "published"])
def test_a_heartbeat_between_winning_and_leading_waits_but_for_the_race(flaws: frozenset[Flaw]) -> None:
    candidate = won(flaws)
    candidate.on_request(5.5, "beat", HeartbeatRequest("n3", "n1", Term(3)))
    races = Flaw.HEARTBEAT_RACE in flaws
    assert replies(candidate) == ["beat"] * races
    for now in (6.0, 7.0):
        candidate.on_time(now)
    assert replies(candidate) == ["beat"] * (not races)


def test_a_request_for_a_vote_between_winning_and_leading_is_answered_once_the_server_leads() -> None:
    candidate = won()
    candidate.on_request(5.5, "vote", RequestVoteRequest("n3", "n1", Term(2), Index(1), Term(1), False))
    assert replies(candidate) == []
    candidate.on_time(6.0)
    assert candidate.server.loop is Loop.SELECT
    candidate.on_time(7.0)
    assert replies(candidate) == ["vote"]


def test_a_group_whose_threads_are_held_up_appends_all_the_same() -> None:
    run = RaftGroup(1)
    chance = Random(1)
    for node in run.group.nodes:
        run.group.hold_up(node, lambda: chance.uniform(0, 0.02))
    leader = run.elect()
    assert ask(run.group, leader, command(1)).error is None
    run.group.run_until(run.group.now + 1)
    assert list(replayed(run.plan, run.group.steps))
