"""DLedger nodes that run in simulated time: they elect, replicate and recover, and their steps hold in the spec."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from raftref.dledger.choices import IN_0_2_7, Feature, Flaw
from raftref.dledger.client_messages import BatchAppendEntryRequest, ResponseCode
from raftref.dledger.messages import ElectionType, Term
from raftref.dledger.runtime.driver import DLedgerDriver
from raftref.dledger.runtime.replayed_run import replayed
from raftref.dledger.state import Role
from raftref.runtime.replay import ReplayError
from raftref.runtime.virtual import NetworkConditions
from tests.support.systems.running_dledger import DLedgerGroup, entry, leads
from tests.support.systems.running_groups import ask, checked, clients, disturb, recover

FAULTS = ("kill", "pause", "partition", "lose_power")


def chaotic(
    seed: int, time: float, faults: Collection[str] = FAULTS, period: float = 0.5, **given: Any
) -> DLedgerGroup:
    run = DLedgerGroup(seed, conditions=NetworkConditions(loss=0.02), **given)
    clients(run.group, leads, entry, period)
    disturb(run.group, seed, 3.0, faults, time)
    run.group.run_until(time)
    return run


def test_a_group_elects_one_leader_whose_entries_all_nodes_commit() -> None:
    run = DLedgerGroup(1)
    leader = run.elect()
    assert [ask(run.group, leader, entry(count)).code for count in (1, 2)] == [ResponseCode.SUCCESS] * 2
    run.group.run_until(run.group.now + 3)
    assert [run.committed(node) for node in run.group.nodes] == [["v1", "v2"]] * 3
    assert [run.driver(node).server.member_state.role for node in run.followers] == [Role.FOLLOWER] * 2


def test_the_same_seed_gives_the_same_run() -> None:
    assert chaotic(5, 12.0).group.steps == chaotic(5, 12.0).group.steps
    assert chaotic(5, 12.0).group.steps != chaotic(6, 12.0).group.steps


def test_a_quiet_group_keeps_its_leader() -> None:
    run = DLedgerGroup(2)
    leader = run.elect()
    run.group.run_until(40.0)
    assert (run.leader, run.driver(leader).server.member_state.curr_term) == (leader, 1)


def test_another_node_leads_once_the_leader_is_killed_and_the_killed_one_catches_up() -> None:
    run = DLedgerGroup(3)
    first = run.elect()
    assert ask(run.group, first, entry(1)).code == ResponseCode.SUCCESS
    run.group.kill(first)
    run.group.run_until(run.group.now + 14)
    assert run.leader != first
    assert ask(run.group, run.leader, entry(2), 2.0).code == ResponseCode.SUCCESS
    run.group.start(first)
    run.group.run_until(run.group.now + 6)
    assert run.committed(first) == ["v1", "v2"]


def test_a_candidate_that_follows_before_its_votes_are_in_stands_for_election_again_when_its_leader_dies() -> None:
    """It stood in vain, cut off from the others, and waits for votes as it hears of a leader.

    Source: DLedgerLeaderElector.maintainAsCandidate, whose wait ends in any role.
    """
    run = DLedgerGroup(3)
    leader, (cut_off, other) = run.elect(), run.followers
    run.group.kill(other)
    run.group.partition([cut_off])
    while run.driver(cut_off).server.election.round.type is not ElectionType.VOTE:
        run.group.run_until(run.group.now + 0.1)
    run.group.heal()
    while run.driver(cut_off).server.member_state.role is not Role.FOLLOWER:
        run.group.run_until(run.group.now + 0.01)
    run.group.kill(leader)
    run.group.start(other)
    run.group.run_until(run.group.now + 20)
    assert run.leader in (cut_off, other)


def test_a_leader_that_hears_no_quorum_stands_for_election_and_the_others_elect_one() -> None:
    run = DLedgerGroup(4)
    first = run.elect()
    run.group.partition([first])
    run.group.run_until(run.group.now + 20)
    assert run.driver(first).server.member_state.role is Role.CANDIDATE
    second = run.leader
    run.group.heal()
    run.group.run_until(run.group.now + 10)
    assert {run.driver(node).server.member_state.leader_id for node in run.group.nodes} == {run.leader}
    assert second != first


def test_a_paused_leader_follows_the_one_that_was_elected_meanwhile() -> None:
    run = DLedgerGroup(5)
    first = run.elect()
    run.group.pause(first)
    run.group.run_until(run.group.now + 14)
    run.group.resume(first)
    run.group.run_until(run.group.now + 10)
    assert run.leader != first
    assert run.driver(first).server.member_state.leader_id == run.leader


def test_a_machine_that_loses_power_has_lost_nothing_that_was_acknowledged() -> None:
    run = DLedgerGroup(6)
    leader = run.elect()
    assert ask(run.group, leader, entry(1)).code == ResponseCode.SUCCESS
    for node in run.group.nodes:
        run.group.lose_power(node)
        run.group.start(node)
    run.group.run_until(run.group.now + 20)
    assert ask(run.group, run.leader, entry(2), 2.0).code == ResponseCode.SUCCESS
    assert run.committed(run.leader) == ["v1", "v2"]


def test_batches_are_pushed_together() -> None:
    run = DLedgerGroup(7, features={Feature.BATCHES})
    leader = run.elect()
    answer = ask(run.group, leader, BatchAppendEntryRequest("", ("a", "b", "c")))
    assert (answer.code, answer.index) == (ResponseCode.SUCCESS, 2)
    run.group.run_until(run.group.now + 3)
    assert [run.committed(node) for node in run.group.nodes] == [["a", "b", "c"]] * 3
    pushed = [step.args["count"] for step in run.group.steps if step.action == "DoBatchAppend"]
    assert 2 in pushed


@pytest.mark.parametrize("seed", range(6))
def test_nothing_that_was_acknowledged_is_lost_though_processes_machines_and_network_fail(seed: int) -> None:
    run = DLedgerGroup(seed, conditions=NetworkConditions(loss=0.01))
    answers = clients(run.group, leads, entry, 0.3)
    disturb(run.group, seed, 5.0, FAULTS, 50.0)
    run.group.run_until(50.0)
    acknowledged = {request.value for request, answer in answers.given if answer.code == ResponseCode.SUCCESS}
    assert len(acknowledged) > 40
    recover(run.group, 30.0)
    assert ask(run.group, run.leader, entry(0), 3.0).code == ResponseCode.SUCCESS
    run.group.run_until(run.group.now + 3)
    for node in run.group.nodes:
        committed = run.committed(node)
        assert acknowledged <= set(committed)
        assert len(committed) == len(set(committed))


# ---- Steps that are taken again ----


SETUPS: dict[str, dict[str, Any]] = {
    "repaired": {},
    "batches": {"features": {Feature.BATCHES}},
    "not follower": {"features": {Feature.NOT_FOLLOWER}},
    # A loss of power may take the unforced file of term and vote: no step of the spec does that.
    "published": {"flaws": IN_0_2_7, "faults": ("kill", "pause", "partition")},
}


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("seed", range(2))
def test_every_step_of_a_run_can_be_taken_again(setup: str, seed: int) -> None:
    run = chaotic(seed, 30.0, **SETUPS[setup])
    assert len(list(replayed(run.plan, run.group.steps))) > 200


@pytest.mark.parametrize("setup", ["repaired", "batches", pytest.param("not follower", marks=pytest.mark.nightly)])
def test_a_run_of_a_repaired_group_holds_in_the_spec(setup: str, tmp_path: Path) -> None:
    run = chaotic(3, 16.0, period=1.0, **SETUPS[setup])
    verdict = checked(tmp_path, run.plan, replayed(run.plan, run.group.steps))
    assert verdict.verdict is Verdict.HOLDS, verdict.findings
    assert verdict.events > 150


@pytest.mark.parametrize(
    ("seed", "violated"),
    [
        pytest.param(23, {"IndexOrder", "CommittedMonotonicProp"}, marks=pytest.mark.nightly),
        (17, {"CommittedEntriesStayProp", "AcknowledgedIsDurable"}),
    ],
)
def test_the_flaws_of_the_published_release_violate_what_a_repaired_group_keeps(
    seed: int, violated: set[str], tmp_path: Path
) -> None:
    faults = ("kill", "partition", "partition", "pause")

    def verdict(flaws: Collection[Flaw]) -> TraceVerdict:
        run = DLedgerGroup(seed, flaws=flaws, conditions=NetworkConditions(loss=0.03))
        clients(run.group, leads, entry, 0.5)
        disturb(run.group, seed, 3.0, faults, 40.0)
        run.group.run_until(40.0)
        return checked(tmp_path, run.plan, replayed(run.plan, run.group.steps))

    published = verdict(IN_0_2_7)
    assert published.deviation is None
    assert violated <= published.violations.keys()
    assert verdict(()).verdict is Verdict.HOLDS


class ForgetfulOfVotes(DLedgerDriver):
    """A driver that writes its term without the vote: the planted mistake."""

    def start(self, now: float) -> None:
        persist = self.node.term_file.persist
        self.node.term_file.persist = lambda term, vote: persist(term, None)  # type: ignore[method-assign]
        super().start(now)


class ForgetfulOfTerms(DLedgerDriver):
    """A driver that never writes its term: another planted mistake."""

    def start(self, now: float) -> None:
        self.node.term_file.persist = lambda term, vote: None  # type: ignore[method-assign]
        super().start(now)


@pytest.mark.parametrize(
    ("driver", "field"), [(ForgetfulOfVotes, "currVoteFor is None"), (ForgetfulOfTerms, "currTerm is 0, and 1")]
)
def test_what_is_not_durable_is_noticed_when_the_process_comes_up_again(
    driver: type[DLedgerDriver], field: str
) -> None:
    run = DLedgerGroup(3, driver=driver)
    leader = run.elect()
    run.group.kill(leader)
    run.group.start(leader)
    with pytest.raises(ReplayError, match=f"{leader} Start .*{field}"):
        list(replayed(run.plan, run.group.steps))


def test_a_step_that_shows_something_else_or_is_missing_or_unknown_is_refused() -> None:
    run = DLedgerGroup(2)
    run.elect()
    steps = run.group.steps
    assert list(replayed(run.plan, steps))
    lie = replace(steps[-1], shows={**steps[-1].shows, "currTerm": Term(7)})
    with pytest.raises(ReplayError, match="currTerm is 7, and 1"):
        list(replayed(run.plan, [*steps[:-1], lie]))
    with pytest.raises(ReplayError, match="no such message is under way"):
        list(replayed(run.plan, [step for step in steps if step.action != "SendHeartbeats"]))
    with pytest.raises(ReplayError, match="is not enabled"):
        list(replayed(run.plan, [step for step in steps if step.action != "IncreaseTerm"]))
    with pytest.raises(ReplayError, match="no such action"):
        list(replayed(run.plan, [replace(steps[0], action="Vanish")]))


def test_of_requests_that_a_paused_node_takes_at_once_the_last_one_is_answered() -> None:
    """A candidate asks three times in one term; the voter enters that term after it has refused for the first time."""
    run = DLedgerGroup(1)
    first = run.elect()
    paused, other = run.followers
    run.group.kill(first)
    run.group.run_until(run.group.now + 4)
    run.group.pause(paused)
    run.group.run_until(run.group.now + 20)
    run.group.resume(paused)
    run.group.run_until(run.group.now + 1)
    taken = [step.args["m"] for step in run.group.steps if (step.node, step.action) == (paused, "HandleVote")]
    assert max(taken.count(m) for m in taken if m["src"] == other) >= 3
    assert list(replayed(run.plan, run.group.steps))


def test_a_follower_whose_files_differ_from_the_leaders_refuses_every_entry_until_it_starts_again() -> None:
    """The leader compares, finds both logs equal, and pushes the same entry again.

    Source: EntryHandler.handleDoAppend; EntryDispatcher.doCompare, which lets APPEND follow where both logs end alike.
    """
    run = DLedgerGroup(1)
    leader = run.elect()
    assert ask(run.group, leader, entry(1)).code == ResponseCode.SUCCESS
    behind = run.followers[0]
    run.driver(behind).server.ledger_store.files.data.append(b"stray bytes", blank=False)
    assert ask(run.group, leader, entry(2)).code == ResponseCode.SUCCESS
    run.group.run_until(run.group.now + 2)
    assert run.driver(behind).server.ledger_store.end_index == 0
    refused = [step for step in run.group.steps if (step.node, step.action) == (behind, "HandleDoAppend")]
    assert len(refused) > 3
    run.group.kill(behind)
    run.group.start(behind)
    run.group.run_until(run.group.now + 8)
    assert run.committed(behind) == ["v1", "v2"]


class KilledInWriteError(Exception):
    """The process is killed while it writes."""


@pytest.mark.parametrize(
    ("action", "at_leader"), [("AppendAsLeader", True), ("HandleDoAppend", False), ("PersistCheckPoint", True)]
)
def test_a_step_whose_process_was_killed_before_it_was_recorded_is_found_when_the_next_one_comes_up(
    action: str, at_leader: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writes of a process stay after kill -9; the record of a step is written behind them."""
    run = DLedgerGroup(1)
    leader = run.elect()
    assert ask(run.group, leader, entry(0), 3.0).code is ResponseCode.SUCCESS
    killed = leader if at_leader else run.followers[0]
    driver = run.driver(killed)
    records = driver.record_step

    def record_step(taken: str, args: Any, shows: Any) -> None:
        if taken == action:
            raise KilledInWriteError
        records(taken, args, shows)

    monkeypatch.setattr(driver, "record_step", record_step)
    run.group.ask(leader, replace(entry(1), dst=leader), lambda _: None)
    with pytest.raises(KilledInWriteError):
        run.group.run_until(run.group.now + 5)
    run.group.kill(killed)
    run.group.start(killed)
    recover(run.group, 20.0)
    verdict = checked(tmp_path, run.plan, replayed(run.plan, run.group.steps))
    assert verdict.verdict is Verdict.HOLDS, verdict.reason
    (comes_up,) = [step for step in run.group.steps if (step.node, step.action) == (killed, "Start")][1:]
    assert action in [event["action"] for event in replayed(run.plan, run.group.steps) if event["node"] == killed]
    lie = replace(comes_up, shows={**comes_up.shows, "currVoteFor": "n9"})
    with pytest.raises(ReplayError, match=r"currVoteFor is n9|is not enabled"):
        list(replayed(run.plan, [lie if step is comes_up else step for step in run.group.steps]))
