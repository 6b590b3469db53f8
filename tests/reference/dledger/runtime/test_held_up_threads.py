"""A node whose threads are held up, or have nothing to do for now, and messages that come all at once."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest

from raftref.dledger.choices import Feature, Flaw
from raftref.dledger.client_messages import AppendEntryRequest, ResponseCode
from raftref.dledger.messages import Code, ElectionType, Index, PushType, Response
from raftref.dledger.runtime.replayed_run import replayed
from raftref.runtime.virtual import Cut
from tests.support.systems.running_dledger import DLedgerGroup
from tests.support.systems.running_groups import NODES, ask


@pytest.mark.parametrize("features", [set(), {Feature.SPLIT_QUORUM_CHECK}, {Feature.APPLIES}], ids=str)
def test_a_group_whose_threads_are_held_up_appends_all_the_same(features: set[Feature]) -> None:
    run, chance = DLedgerGroup(1, features=features), Random(1)
    leader = run.elect()
    for node in run.group.nodes:
        run.group.hold_up(node, lambda: chance.uniform(0, 0.02))
    answers = [ask(run.group, leader, AppendEntryRequest(leader, value)) for value in ("a", "b")]
    assert [each.code for each in answers] == [ResponseCode.SUCCESS] * 2
    assert list(replayed(run.plan, run.group.steps))


def test_a_pass_of_the_quorum_checker_in_two_parts_lets_other_threads_work_in_between() -> None:
    run = DLedgerGroup(1, features={Feature.SPLIT_QUORUM_CHECK})
    leader = run.elect()
    run.group.hold_up(leader, lambda: 0.05)
    ask(run.group, leader, AppendEntryRequest(leader, "a"))
    own = [step for step in run.group.steps if step.node == leader]
    read = next(at for at, step in enumerate(own) if step.action == "QuorumAckChecker")
    acted = next(at for at, step in enumerate(own) if at > read and step.action == "ActOnQuorumIndex")
    assert own[acted].at == pytest.approx(own[read].at + 0.05)
    assert acted > read + 1


def test_a_state_machine_that_misses_an_entry_tries_again_later_and_not_all_the_time() -> None:
    """ApplyUnclamped: it was given an index that the log does not reach."""
    run = DLedgerGroup(1, features={Feature.APPLIES}, flaws={Flaw.APPLY_UNCLAMPED})
    run.elect()
    driver = run.driver(run.followers[0])
    driver.server.apply_index = Index(5)
    begin = run.group.now
    run.group.run_until(begin + 3.5)
    tries = [step.at - begin for step in run.group.steps if step.action == "DoCommitted" and step.at >= begin]
    assert 2 <= len(tries) <= 4
    assert all(later - one >= 1.0 for one, later in itertools.pairwise(tries))


@pytest.mark.parametrize("seed", range(8))
def test_of_equal_heartbeats_that_come_at_once_that_one_is_awaited_whose_answer_the_leader_takes(seed: int) -> None:
    """The first is answered with TERM_NOT_READY, the others with SUCCESS, and the leader takes one answer alone."""
    run = DLedgerGroup(seed)
    late = NODES[2]
    run.group.kill(late)
    leader = run.elect()
    run.group.kill(next(node for node in NODES if node not in (leader, late)))
    run.group.cut(Cut(frozenset({late}), holds=True))
    run.group.start(late)
    run.group.run_until(run.group.now + 5.0)
    run.group.conditions.max_delay = 1.0
    run.group.heal()
    run.group.run_until(run.group.now + 5.0)
    beats = [step for step in run.group.steps if (step.node, step.action) == (late, "HandleHeartBeat")]
    assert len(beats) > 2
    assert list(replayed(run.plan, run.group.steps))


def test_of_equal_compares_that_come_at_once_that_one_is_awaited_whose_answer_the_leader_takes() -> None:
    """The last one overtakes those that were given up: a candidate refuses it, and answers the others as a follower."""
    run = DLedgerGroup(1, features={Feature.NOT_FOLLOWER})
    late = NODES[2]
    run.group.kill(late)
    leader = run.elect()
    ask(run.group, leader, AppendEntryRequest(leader, "a"))
    late_by = {ElectionType.HEARTBEAT: 0.8, PushType.COMPARE: 0.9}

    def lateness(src: str, dst: str, message: Any) -> float:
        return 1.0 if isinstance(message, Response) else late_by.get(getattr(message, "request", message).type, 0.0)

    run.group.lateness = lateness
    run.group.cut(Cut(frozenset({late}), holds=True))
    run.group.start(late)
    run.group.run_until(run.group.now + 9.0)
    while run.driver(leader).server.dispatchers[late].awaiting:
        run.group.run_until(run.group.now + 0.1)
    run.group.heal()
    late_by[PushType.COMPARE] = 0.0
    while not run.driver(leader).server.dispatchers[late].awaiting:
        run.group.run_until(run.group.now + 0.01)
    run.group.run_until(run.group.now + 3.0)
    handled = [step.action for step in run.group.steps if step.node == late and "Compare" in step.action]
    assert handled[:3] == ["ClearCompareOrTruncateRequests", "HandleDoCompare", "HandleDoCompare"]
    codes = [step.args["m"]["code"] for step in run.group.steps if step.action == "HandleCompareResponse"]
    assert Code.NOT_FOLLOWER in codes
    assert list(replayed(run.plan, run.group.steps))
