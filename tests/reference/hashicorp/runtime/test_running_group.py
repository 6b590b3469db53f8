"""Servers that run in simulated time: they elect, replicate and recover, and their steps hold in the spec."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from raftref.hashicorp.choices import IN_V173
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.messages import AppendEntriesRequest, InstallSnapshotRequest, RequestVoteRequest
from raftref.hashicorp.runtime.client_calls import (
    ApplyRequest,
    ConfigurationChangeRequest,
    SnapshotRequest,
    StatsRequest,
)
from raftref.hashicorp.runtime.replayed_run import replayed
from raftref.hashicorp.runtime.state_machine import SnapshotStream, snapshot_data
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import Configuration, Index, Snapshot, Term
from raftref.runtime.driver import ClientAnswer, PeerCall
from raftref.runtime.virtual import NetworkConditions
from tests.support.systems.running_groups import ask, checked, clients, disturb, recover
from tests.support.systems.running_raft import SETTINGS, RaftGroup, command, leads, without_snapshots

FAULTS = ("kill", "pause", "partition")


def test_a_group_elects_one_leader_whose_entries_all_servers_apply() -> None:
    run = RaftGroup(1)
    leader = run.elect()
    assert [ask(run.group, leader, ApplyRequest(value)).error for value in ("a", "b")] == [None, None]
    run.group.run_until(run.group.now + 0.5)
    assert [run.applied(node) for node in run.group.nodes] == [["a", "b"]] * 3
    assert [run.driver(node).server.role for node in run.followers] == [Role.FOLLOWER] * 2


def test_the_same_seed_gives_the_same_run() -> None:
    def steps(seed: int) -> object:
        run = RaftGroup(seed, conditions=NetworkConditions(loss=0.05))
        clients(run.group, leads, command, 0.2)
        disturb(run.group, seed, 2.0, FAULTS, 8.0)
        run.group.run_until(8.0)
        return run.group.steps

    assert steps(5) == steps(5)
    assert steps(5) != steps(6)


def test_a_quiet_group_keeps_its_leader() -> None:
    run = RaftGroup(2)
    leader = run.elect()
    term = run.driver(leader).server.current_term
    run.group.run_until(30.0)
    assert (run.leader, run.driver(leader).server.current_term) == (leader, term)


def test_another_server_leads_once_the_leader_is_killed_and_the_killed_one_catches_up() -> None:
    run = RaftGroup(3)
    first = run.elect()
    assert ask(run.group, first, ApplyRequest("a")).error is None
    run.group.kill(first)
    run.group.run_until(run.group.now + 5)
    assert run.leader != first
    assert ask(run.group, run.leader, ApplyRequest("b")).error is None
    run.group.start(first)
    run.group.run_until(run.group.now + 2)
    assert run.applied(first) == ["a", "b"]


def test_a_leader_without_a_quorum_steps_down_when_its_lease_is_over() -> None:
    run = RaftGroup(4)
    leader = run.elect()
    run.group.partition([leader])
    run.group.run_until(run.group.now + 1.2)
    assert run.driver(leader).server.role is not Role.LEADER
    assert any(step.action == "CheckLeaderLease" for step in run.group.steps)


def test_a_leader_that_another_leader_of_its_term_has_sent_a_voter_panics_as_the_library_does() -> None:
    """Source: checkLeaderLease, which looks into replState for each voter."""
    run = RaftGroup(4, spares=1)
    leader = run.elect()
    driver, peer = run.driver(leader), run.followers[0]
    term, index = driver.server.current_term, Index(driver.server.last_index + 1)
    configuration = Configuration(frozenset({*run.plan.configuration.voters, "n4"}))
    request = InstallSnapshotRequest(peer, leader, term, Snapshot(index, term, configuration, index, ()))
    driver.on_request(run.group.now, "snapshot", SnapshotStream(request, snapshot_data(())))
    assert driver.server.role is Role.LEADER
    driver.on_time(run.group.now + run.settings.leader_lease_timeout)
    assert (driver.is_up, driver.failure) == (False, "the library panics in CheckLeaderLease")
    assert run.group.steps[-1].action == "Crash"


def test_heartbeats_alone_keep_the_lease_while_the_log_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RaftGroup(4)
    leader = run.elect()
    calls = run.group._call

    def lose_entries(src: str, call: PeerCall) -> None:
        if not isinstance(call.message, AppendEntriesRequest):
            calls(src, call)

    monkeypatch.setattr(run.group, "_call", lose_entries)
    run.group.run_until(run.group.now + 3)
    assert run.driver(leader).server.role is Role.LEADER


def test_a_vote_that_is_given_and_a_leadership_that_is_lost_count_as_contact_with_a_leader() -> None:
    run = RaftGroup(4)
    voter = run.driver("n2")
    voter.on_request(0.5, "vote", RequestVoteRequest("n1", "n2", Term(2), Index(1), Term(1), False))
    voter.on_client(0.5, "stats", StatsRequest())
    (stats,) = [each.answer for each in voter.take_outputs() if isinstance(each, ClientAnswer)]
    assert stats.last_contact == 0

    leader = run.elect()
    contact = run.driver(leader)._follower.last_contact
    run.group.partition([leader])
    run.group.run_until(run.group.now + 1.0)
    assert run.driver(leader)._follower.last_contact > contact


def test_a_paused_leader_follows_the_one_that_was_elected_meanwhile() -> None:
    run = RaftGroup(5)
    first = run.elect()
    run.group.pause(first)
    run.group.run_until(run.group.now + 6)
    run.group.resume(first)
    run.group.run_until(run.group.now + 2)
    assert run.leader != first
    assert run.driver(first).server.leader == run.leader


def test_a_server_that_is_far_behind_is_sent_a_snapshot_with_the_state_of_the_fsm() -> None:
    run = RaftGroup(6)
    leader = run.elect()
    late = run.followers[0]
    run.group.kill(late)
    for count in range(12):
        assert ask(run.group, leader, command(count), 0.05).error is None
    assert ask(run.group, leader, SnapshotRequest()).error is None
    run.group.start(late)
    run.group.run_until(run.group.now + 3)
    assert run.applied(late) == [f"v{count}" for count in range(12)]
    assert any((step.node, step.action) == (late, "InstallSnapshot") for step in run.group.steps)


def test_a_server_takes_snapshots_by_itself_once_its_log_has_grown_and_starts_on_the_newest() -> None:
    run = RaftGroup(7)
    leader = run.elect()
    for count in range(12):
        assert ask(run.group, leader, command(count), 0.05).error is None
    run.group.run_until(run.group.now + 5)
    node = run.followers[0]
    assert run.driver(node).server.last_snapshot.index > 5
    run.group.kill(node)
    run.group.start(node)
    assert run.applied(node) == [f"v{count}" for count in range(12)]


def test_no_snapshot_is_taken_below_the_threshold() -> None:
    run = RaftGroup(7, settings=replace(SETTINGS, snapshot_threshold=100))
    clients(run.group, leads, command, 0.3)
    run.group.run_until(12.0)
    assert not any(step.action == "TakeSnapshot" for step in run.group.steps)


def test_a_new_server_gets_the_log_and_a_removed_one_gets_the_entry_that_removes_it() -> None:
    run = RaftGroup(8, spares=1, settings=without_snapshots())
    leader = run.elect()
    assert ask(run.group, leader, ApplyRequest("a")).error is None
    assert ask(run.group, leader, ConfigurationChangeRequest(ChangeCommand.ADD_VOTER, "n4"), 2.0).error is None
    run.group.run_until(run.group.now + 1)
    assert run.applied("n4") == ["a"]
    server = run.driver(leader).server
    # A routine that waits for an answer when it is stopped sends nothing after it.
    for waits in (False, True, False):
        while (server.replication("n4").awaiting is not None) is not waits:
            run.group.run_until(run.group.now + 0.001)
    assert ask(run.group, leader, ConfigurationChangeRequest(ChangeCommand.REMOVE_SERVER, "n4")).error is None
    run.group.run_until(run.group.now + 1)
    assert "n4" not in run.driver("n4").server.configurations.latest.servers
    assert any(step.action == "ZombieReplicateTo" for step in run.group.steps)
    assert list(replayed(run.plan, run.group.steps))


def test_a_single_server_leads_itself() -> None:
    run = RaftGroup(9, voters=1)
    leader = run.elect()
    assert ask(run.group, leader, ApplyRequest("a")).response == 1
    run.group.kill(leader)
    run.group.start(leader)
    assert ask(run.group, run.elect(), ApplyRequest("b")).response == 2


def test_commands_that_come_together_are_stored_in_one_write() -> None:
    run = RaftGroup(10)
    driver = run.driver(run.elect())
    before = len(run.group.steps)
    driver.on_clients(run.group.now, [(lambda answer: None, ApplyRequest(f"v{each}")) for each in range(7)])
    dispatched = [step for step in run.group.steps[before:] if step.action == "DispatchLogs"]
    assert [len(step.args["logs"]) for step in dispatched] == [5, 2]


@pytest.mark.parametrize("seed", range(8))
def test_nothing_that_was_acknowledged_is_lost_though_processes_and_network_fail(seed: int) -> None:
    run = RaftGroup(seed, conditions=NetworkConditions(loss=0.01))
    answers = clients(run.group, leads, command, 0.15)
    disturb(run.group, seed, 3.0, FAULTS, 20.0)
    run.group.run_until(20.0)
    acknowledged = {request.value for request, answer in answers.given if answer.error is None}
    assert len(acknowledged) > 40
    recover(run.group, 6.0)
    for node in run.group.nodes:
        applied = run.applied(node)
        assert acknowledged <= set(applied)
        assert len(applied) == len(set(applied))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_of_the_repaired_library_holds_in_the_spec(seed: int, tmp_path: Path) -> None:
    run = RaftGroup(seed, conditions=NetworkConditions(loss=0.01))
    clients(run.group, leads, command, 0.5)
    disturb(run.group, seed, 2.0, FAULTS, 12.0)
    run.group.run_until(12.0)
    verdict = checked(tmp_path, run.plan, replayed(run.plan, run.group.steps))
    assert verdict.verdict is Verdict.HOLDS, verdict.findings
    assert verdict.events > 400


def test_a_run_of_the_published_library_conforms_and_lets_an_older_snapshot_take_the_place_of_a_newer(
    tmp_path: Path,
) -> None:
    """A server is paused before it writes a snapshot, and is sent a newer one before it has."""
    run = RaftGroup(11, flaws=IN_V173, settings=replace(without_snapshots(), trailing_logs=0, persist_time=1.5))
    leader = run.elect()
    slow = run.followers[0]
    assert ask(run.group, leader, ApplyRequest("a")).error is None
    run.group.run_until(run.group.now + 0.3)
    run.group.ask(slow, SnapshotRequest(), lambda answer: None)
    run.group.run_until(run.group.now + 0.01)
    run.group.partition([slow])
    assert ask(run.group, leader, ApplyRequest("b")).error is None
    run.driver(leader).node.settings = replace(run.settings, persist_time=0.0)
    assert ask(run.group, leader, SnapshotRequest()).error is None
    run.group.heal()
    run.group.run_until(run.group.now + 4)
    verdict = checked(tmp_path, run.plan, replayed(run.plan, run.group.steps))
    assert verdict.deviation is None
    assert "SnapshotsRiseProp" in verdict.violations
