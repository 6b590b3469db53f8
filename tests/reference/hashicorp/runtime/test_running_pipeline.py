"""Servers that run in simulated time and send without waiting for answers: pipelineReplicate."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature
from raftref.hashicorp.messages import AppendEntriesRequest
from raftref.hashicorp.runtime.client_calls import ApplyRequest
from raftref.hashicorp.runtime.replayed_run import replayed
from raftref.runtime.driver import PeerCall
from raftref.runtime.virtual import NetworkConditions
from tests.support.systems.running_groups import ask, checked, clients, disturb, recover
from tests.support.systems.running_raft import SETTINGS, RaftGroup, command, leads, without_snapshots

PIPELINED = DEFAULT_FEATURES | {Feature.PIPELINE}


def actions(run: RaftGroup) -> Counter[str]:
    return Counter(step.action for step in run.group.steps)


def test_a_leader_pipelines_once_a_call_has_succeeded_and_has_two_calls_under_way_at_most() -> None:
    run = RaftGroup(1, features=PIPELINED, conditions=NetworkConditions(min_delay=0.04, max_delay=0.08))
    leader = run.elect()
    clients(run.group, leads, command, 0.01)
    most = 0
    for _ in range(300):
        run.group.run_until(run.group.now + 0.005)
        routines = run.driver(leader).server.repl_state.values()
        most = max(most, *(len(each.in_flight) for each in routines))
    assert most == 2
    assert actions(run)["PipelineSend"] > 20


def test_without_the_feature_a_leader_waits_for_each_answer() -> None:
    run = RaftGroup(1)
    run.elect()
    run.group.run_until(3.0)
    assert actions(run)["PipelineSend"] == 0


def test_a_pipeline_that_fails_is_closed_and_another_one_begins_after_a_single_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = RaftGroup(2, features=PIPELINED, settings=without_snapshots())
    leader = run.elect()
    peer, calls = run.followers[0], run.group._call
    streams: list[object] = []

    def loses_third(src: str, call: PeerCall) -> None:
        if call.peer == peer and isinstance(call.message, AppendEntriesRequest):
            streams.append(call.stream)
            run.group.conditions.loss = 1.0 if len(streams) == 3 else 0.0
        calls(src, call)
        run.group.conditions.loss = 0.0

    monkeypatch.setattr(run.group, "_call", loses_third)
    assert [ask(run.group, leader, ApplyRequest(value), 0.05).error for value in "abcdef"] == [None] * 6
    run.group.run_until(run.group.now + 3)
    assert run.applied(peer) == list("abcdef")
    failed = streams[2]
    later = streams[streams.index(None, 3) :]
    assert failed is not None
    assert failed not in later
    assert set(later) - {None}


@pytest.mark.parametrize("seed", [2])
def test_steps_of_a_group_that_pipelines_hold_in_the_spec(seed: int, tmp_path: Path) -> None:
    settings = replace(SETTINGS, heartbeat_timeout=0.5, election_timeout=0.5, leader_lease_timeout=0.25)
    conditions = NetworkConditions(max_delay=0.03, loss=0.01)
    run = RaftGroup(seed, flaws=IN_V173, features=PIPELINED, settings=settings, conditions=conditions)
    clients(run.group, leads, command, 0.1)
    disturb(run.group, seed, 2.0, ("kill", "pause", "partition"), 6.0)
    run.group.run_until(6.0)
    recover(run.group, 2.0)
    assert actions(run)["PipelineSend"] > 50
    verdict = checked(tmp_path, run.plan, replayed(run.plan, run.group.steps))
    assert verdict.verdict is Verdict.HOLDS, verdict
