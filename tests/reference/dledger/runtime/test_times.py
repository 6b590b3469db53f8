"""The times of a DLedger node that runs: how long it rests, and what it does again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from itertools import pairwise

import pytest

from raftref.dledger.client_messages import ResponseCode
from raftref.dledger.state import Role
from raftref.runtime.driver import START
from raftref.runtime.virtual import NetworkConditions
from tests.support.systems.running_dledger import DLedgerGroup, entry, leads
from tests.support.systems.running_groups import ask, clients, disturb


def test_a_dispatcher_gives_a_call_up_after_three_seconds_and_rests_before_it_compares_again() -> None:
    """Source: EntryDispatcher.doCompare: get(3, SECONDS); doWork, its catch: sleep(500)."""
    run = DLedgerGroup(1)
    first = run.elect()
    assert ask(run.group, first, entry(1)).code == ResponseCode.SUCCESS
    second, third = run.followers
    run.group.kill(first)
    while not any(run.driver(node).server.member_state.role is Role.LEADER for node in (second, third)):
        run.group.run_until(run.group.now + 0.05)
    run.group.run_until(run.group.now + 5.5)
    taken = [
        (step.action, step.at)
        for step in run.group.steps
        if step.node == run.leader and step.args.get("peer") == first and step.action in ("DoCompare", "PushTimeOut")
    ]
    assert [action for action, _ in taken] == ["DoCompare", "PushTimeOut", "DoCompare"]
    assert [later - at for (_, at), (_, later) in pairwise(taken)] == pytest.approx([3.0, 0.5])


#: What is done again and again, and the least time in between, in seconds. Source: DLedgerConfig, and the constants of
#: EntryDispatcher.doCommit, doAppend, and of EntryHandler.checkAbnormalFuture.
PERIODS = {
    "DoCommit": 1.0,
    "CheckLeak": 1.0,
    "DoCheckAppendResponse": 1.0,
    "CheckAppendFuture": 1.0,
    "PersistCheckPoint": 3.0,
}


@pytest.fixture(scope="module")
def busy() -> DLedgerGroup:
    """A group with clients that has lost messages, processes and links for a while."""
    run = DLedgerGroup(4, conditions=NetworkConditions(loss=0.02))
    clients(run.group, leads, entry, 0.2)
    disturb(run.group, 4, 3.0, ("kill", "pause", "partition"), 20.0)
    run.group.run_until(20.0)
    return run


@pytest.mark.parametrize("action", PERIODS)
def test_what_is_done_again_and_again_waits_for_its_period(busy: DLedgerGroup, action: str) -> None:
    moments: dict[Hashable, list[float]] = defaultdict(list)
    starts: dict[str, int] = defaultdict(int)
    for step in busy.group.steps:
        starts[step.node] += step.action == START
        if step.action == action:
            moments[step.node, starts[step.node], step.args.get("peer")].append(step.at)
    # What a handler or a dispatcher does at one moment counts once.
    rests = [rest for each in moments.values() for rest in (b - a for a, b in pairwise(each)) if rest > 0]
    assert len(rests) >= 3
    assert min(rests) > PERIODS[action] - 1e-6
    assert min(rests) < 2 * PERIODS[action]
