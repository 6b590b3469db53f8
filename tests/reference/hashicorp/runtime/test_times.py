"""The times of a server of hashicorp/raft that runs: how long it rests, and what it does again and again."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from raftref.hashicorp.runtime.client_calls import ApplyRequest
from tests.support.systems.running_groups import ask
from tests.support.systems.running_raft import SETTINGS, RaftGroup, without_snapshots


def times(run: RaftGroup, leader: str, peer: str, *actions: str) -> list[tuple[str, float]]:
    """The steps of a leader for a peer, with their times."""
    return [
        (step.action, step.at)
        for step in run.group.steps
        if step.node == leader
        and step.action in actions
        and step.args.get("peer") == peer
        and step.args.get("type") in (None, "AppendEntries")
    ]


def test_a_routine_whose_calls_fail_rests_twice_as_long_each_time() -> None:
    """Source: replication.go, replicateTo: backoff(failureWait, s.failures, maxFailureScale)."""
    settings = replace(without_snapshots(), rpc_timeout=0.1, commit_timeout=0.001)
    run = RaftGroup(2, settings=settings)
    leader = run.elect()
    peer = run.followers[0]
    run.group.kill(peer)
    run.group.run_until(run.group.now + 4)
    taken = times(run, leader, peer, "RPCError", "ReplicateTo")
    rests = [
        later - at for (action, at), (then, later) in pairwise(taken) if (action, then) == ("RPCError", "ReplicateTo")
    ]
    assert len(rests) >= 7
    for failures, rest in enumerate(rests, start=1):
        assert 0 <= rest - settings.backoff(failures) <= 2 * settings.commit_timeout
    assert settings.backoff(7) == 16 * settings.backoff(3)


def test_a_routine_goes_on_at_once_while_its_peer_lacks_entries() -> None:
    """Source: replication.go, replicateTo: goto START."""
    settings = replace(without_snapshots(), commit_timeout=1.0)
    run = RaftGroup(3, settings=settings)
    leader = run.elect()
    peer = run.followers[0]
    run.group.kill(peer)
    for count in range(5 * SETTINGS.max_append_entries):
        assert ask(run.group, leader, ApplyRequest(f"v{count}")).error is None
    run.group.start(peer)
    begin = run.group.now
    while len(run.applied(peer)) < 4 * SETTINGS.max_append_entries:
        run.group.run_until(run.group.now + 0.01)
        assert run.group.now < begin + 60
    sent = [at for _, at in times(run, leader, peer, "ReplicateTo") if at > begin]
    assert any(all(later - at < 0.05 for at, later in pairwise(sent[n : n + 5])) for n in range(len(sent) - 4))


@pytest.mark.parametrize(("action", "least"), [("Heartbeat", 0.1), ("ReplicateTo", 0.05)])
def test_a_leader_with_nothing_to_send_sends_after_once_to_twice_a_time(action: str, least: float) -> None:
    """Source: replication.go, heartbeat: HeartbeatTimeout/10, and replicate: CommitTimeout, both by randomTimeout."""
    run = RaftGroup(4, settings=without_snapshots())
    leader = run.elect()
    begin = run.group.now
    run.group.run_until(begin + 10)
    moments = [at for _, at in times(run, leader, run.followers[0], action) if at > begin]
    rests = [later - at for at, later in pairwise(moments)]
    answered = 2 * run.group.conditions.max_delay
    assert least <= min(rests) < 1.2 * least
    assert 1.8 * least < max(rests) <= 2 * least + answered


def test_a_candidate_without_enough_votes_begins_anew_after_once_to_twice_a_time() -> None:
    """Source: raft.go, runCandidate: randomTimeout(electionTimeout)."""
    run = RaftGroup(5)
    candidate, *others = run.group.nodes
    for other in others:
        run.group.kill(other)
    run.group.run_until(40)
    moments = [step.at for step in run.group.steps if (step.node, step.action) == (candidate, "ElectionTimeout")]
    rests = [later - at for at, later in pairwise(moments)]
    assert 1.0 <= min(rests) < 1.2
    assert 1.8 < max(rests) <= 2.0
