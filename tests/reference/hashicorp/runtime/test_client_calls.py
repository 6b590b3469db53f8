"""Clients of a server that runs: each answer that is not a success, and what comes with one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from raftref.hashicorp.choices import IN_V173, Flaw
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.messages import HeartbeatRequest, HeartbeatResponse
from raftref.hashicorp.runtime.client_calls import (
    ApplyRequest,
    BarrierRequest,
    ClientRequest,
    ConfigurationChangeRequest,
    LeadershipTransferRequest,
    RaftError,
    ReadRequest,
    SnapshotRequest,
    StatsRequest,
    VerifyLeaderRequest,
)
from raftref.hashicorp.runtime.state_machine import RecordingStateMachine
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import Entry, EntryType, Index, Log, Term
from raftref.runtime.driver import ClientAnswer, PeerCall
from tests.support.systems.running_groups import Answers, ask
from tests.support.systems.running_raft import RaftGroup, without_snapshots

ADD_N4 = ConfigurationChangeRequest(ChangeCommand.ADD_NONVOTER, "n4")


def quiet(seed: int = 1, **given: Any) -> RaftGroup:
    run = RaftGroup(seed, settings=without_snapshots(), **given)
    run.elect()
    return run


def test_a_command_is_answered_with_its_place_and_what_the_fsm_returns() -> None:
    run = quiet()
    server = run.driver(run.leader).server
    answer = ask(run.group, run.leader, ApplyRequest("a"))
    assert (answer.error, answer.leader) == (None, run.leader)
    assert (answer.index, answer.term, answer.response) == (server.last_index, server.current_term, 1)


def test_a_barrier_is_answered_once_the_fsm_has_come_to_it() -> None:
    run = quiet()
    answers = Answers()
    for request in (ApplyRequest("a"), BarrierRequest()):
        run.driver(run.leader).on_client(
            run.group.now, lambda answer, r=request: answers.given.append((r, answer)), request
        )
    run.group.run_until(run.group.now + 1)
    assert [(type(request), answer.error) for request, answer in answers.given] == [
        (ApplyRequest, None),
        (BarrierRequest, None),
    ]


@pytest.mark.parametrize(
    "request_", [ApplyRequest("a"), BarrierRequest(), VerifyLeaderRequest(), LeadershipTransferRequest(), ADD_N4]
)
def test_a_follower_refuses_and_names_the_leader(request_: ClientRequest) -> None:
    run = quiet()
    answer = ask(run.group, run.followers[0], request_)
    assert (answer.error, answer.leader) == (RaftError.NOT_LEADER, run.leader)


def test_a_leader_that_steps_down_answers_that_it_lost_its_leadership() -> None:
    run = quiet(spares=1)
    leader, answers = run.leader, Answers()
    run.group.partition([leader])
    for request in (ApplyRequest("lost"), BarrierRequest(), VerifyLeaderRequest()):
        answers.ask(run.group, leader, request)
    run.group.run_until(run.group.now + 0.01)
    answers.ask(run.group, leader, ADD_N4)
    answers.ask(run.group, leader, ConfigurationChangeRequest(ChangeCommand.ADD_VOTER, "n4"))
    run.group.run_until(run.group.now + 2)
    assert {type(request) for request, answer in answers.given if answer.error == RaftError.LEADERSHIP_LOST} == {
        ApplyRequest,
        BarrierRequest,
        VerifyLeaderRequest,
        ConfigurationChangeRequest,
    }
    # The second change still waited for the first.
    assert [answer.error for _, answer in answers.given].count(RaftError.NOT_LEADER) == 1
    assert len(answers.given) == 5


def test_an_entry_that_was_overwritten_is_never_acknowledged() -> None:
    """Its index is committed later, by another leader, with another entry."""
    run = quiet()
    old, answers = run.leader, Answers()
    run.group.partition([old])
    answers.ask(run.group, old, ApplyRequest("lost"))
    run.group.run_until(run.group.now + 5)
    assert ask(run.group, run.leader, ApplyRequest("kept")).error is None
    run.group.heal()
    run.group.run_until(run.group.now + 3)
    assert run.applied(old) == ["kept"]
    assert [answer.error for _, answer in answers.given] == [RaftError.LEADERSHIP_LOST]


def test_a_leader_is_verified_by_a_quorum() -> None:
    run = quiet()
    assert ask(run.group, run.leader, VerifyLeaderRequest(), 0.05).error is None


def test_a_leader_that_a_peer_denies_steps_down_and_answers_that_it_does_not_lead() -> None:
    run = quiet()
    driver = run.driver(run.leader)
    while any(driver.server.replication(peer).beating for peer in run.followers):
        run.group.run_until(run.group.now + 0.001)
    driver.on_client(run.group.now, "client", VerifyLeaderRequest())
    call = next(each for each in driver.take_outputs() if isinstance(each, PeerCall))
    assert isinstance(call.message, HeartbeatRequest)
    newer = Term(driver.server.current_term + 1)
    driver.on_answer(run.group.now, call.number, HeartbeatResponse(call.peer, driver.node_id, newer, False))
    (answer,) = [each for each in driver.take_outputs() if isinstance(each, ClientAnswer)]
    assert (answer.key, answer.answer.error) == ("client", RaftError.NOT_LEADER)
    assert driver.server.role is Role.FOLLOWER


def test_while_a_leader_hands_over_it_takes_no_entry_and_no_second_transfer() -> None:
    run = quiet(spares=1)
    leader, to = run.leader, run.followers[0]
    answers = Answers()
    run.group.pause(to)
    run.group.run_until(run.group.now + 0.2)
    assert ask(run.group, leader, ApplyRequest("a")).error is None
    driver = run.driver(leader)
    requests: list[ClientRequest] = [
        LeadershipTransferRequest(to),
        ApplyRequest("b"),
        BarrierRequest(),
        LeadershipTransferRequest(),
        ADD_N4,
        SnapshotRequest(),
    ]
    for request in requests:
        driver.on_client(run.group.now, lambda answer, r=request: answers.given.append((r, answer)), request)
    run.group.run_until(run.group.now + 3)
    errors = {type(request): answer.error for request, answer in answers.given if request is not requests[0]}
    assert errors == dict.fromkeys(map(type, requests), RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS)
    assert [answer.error for request, answer in answers.given if request is requests[0]] == [
        "leadership transfer timeout"
    ]
    assert ask(run.group, leader, ApplyRequest("c")).error is None


def test_a_transfer_that_goes_well_is_a_success_for_the_leader_that_is_none_any_more() -> None:
    run = quiet()
    old, to = run.leader, run.followers[1]
    assert ask(run.group, old, LeadershipTransferRequest(to), 1.0).error is None
    assert run.leader == to


def test_a_transfer_to_nobody_in_particular_goes_to_a_voter() -> None:
    run = quiet()
    old = run.leader
    assert ask(run.group, old, LeadershipTransferRequest(), 1.0).error is None
    assert run.leader != old


def test_a_transfer_fails_where_the_target_cannot_be_asked() -> None:
    run = quiet()
    old, to = run.leader, run.followers[0]
    run.group.run_until(run.group.now + 0.2)
    run.group.kill(to)
    answer = ask(run.group, old, LeadershipTransferRequest(to), 3.0)
    assert answer.error in (f"failed to make TimeoutNow RPC to {to}", "leadership transfer timeout")
    assert run.leader == old


def test_a_server_does_not_hand_over_to_itself_or_to_a_stranger() -> None:
    run = quiet(spares=1)
    leader = run.leader
    assert ask(run.group, leader, LeadershipTransferRequest(leader)).error == "cannot transfer leadership to itself"
    answer = ask(run.group, leader, LeadershipTransferRequest("n4"))
    assert answer.error == "cannot find replication state for n4"
    alone = quiet(voters=1)
    assert ask(alone.group, alone.leader, LeadershipTransferRequest()).error == "cannot find peer"


def test_a_change_waits_for_the_one_before_it_and_no_longer_than_its_client() -> None:
    run = quiet(spares=2)
    leader, answers = run.leader, Answers()
    change = ConfigurationChangeRequest(ChangeCommand.ADD_NONVOTER, "n5", timeout=0.2)
    run.group.partition([leader])
    driver = run.driver(leader)
    for request in (ADD_N4, change):
        driver.on_client(run.group.now, lambda answer, r=request: answers.given.append((r, answer)), request)
    driver_time = run.group.now + 0.25
    run.group.at(driver_time, lambda: run.group._drive(leader, lambda each, now: each.on_time(now)))
    run.group.run_until(driver_time)
    assert [(request, answer.error) for request, answer in answers.given] == [(change, RaftError.ENQUEUE_TIMEOUT)]


def test_a_change_of_another_configuration_than_named_is_refused_and_one_that_leaves_no_voter() -> None:
    run = quiet(voters=1, spares=1)
    leader = run.leader
    stale = replace(ADD_N4, server="n2", prev_index=Index(7))
    assert ask(run.group, leader, stale).error == "configuration changed since 7 (latest is 1)"
    removes = ConfigurationChangeRequest(ChangeCommand.REMOVE_SERVER, leader)
    assert ask(run.group, leader, removes).error == "need at least one voter in configuration"
    assert ask(run.group, leader, replace(stale, prev_index=Index(1))).error is None


@pytest.mark.parametrize("command", [ChangeCommand.ADD_VOTER, ChangeCommand.ADD_NONVOTER])
def test_a_server_that_no_member_can_reach_is_not_added_and_the_group_goes_on(command: ChangeCommand) -> None:
    """An entry with it would reach no follower: none takes a configuration with a stranger."""
    run = quiet()
    leader = run.leader
    error = ask(run.group, leader, ConfigurationChangeRequest(command, "zz")).error
    assert error == "no address of zz is known"
    removes = ConfigurationChangeRequest(ChangeCommand.REMOVE_SERVER, "zz")
    assert ask(run.group, leader, removes).error is None
    assert ask(run.group, leader, ApplyRequest("a")).error is None


def test_a_leader_that_removes_itself_is_shut_down() -> None:
    run = quiet()
    old, answers = run.leader, Answers()
    removes = ConfigurationChangeRequest(ChangeCommand.REMOVE_SERVER, old)
    answer = ask(run.group, old, removes)
    assert (answer.error, answer.index) == (None, run.driver(old).server.stores.last_index())
    for request in (ApplyRequest("a"), SnapshotRequest(), ReadRequest(Index(3))):
        answers.ask(run.group, old, request)
    run.group.run_until(run.group.now + 5)
    assert [answer.error for _, answer in answers.given] == [RaftError.RAFT_SHUTDOWN] * 3
    assert ask(run.group, old, StatsRequest()).state is Role.SHUTDOWN
    assert run.leader != old


def test_a_snapshot_of_nothing_is_refused_and_one_of_something_has_its_place() -> None:
    run = quiet()
    leader = run.leader
    assert ask(run.group, leader, SnapshotRequest()).error == RaftError.NOTHING_NEW_TO_SNAPSHOT
    place = ask(run.group, leader, ApplyRequest("a"))
    answer = ask(run.group, leader, SnapshotRequest())
    assert (answer.error, answer.index, answer.term) == (None, place.index, place.term)


def test_a_snapshot_that_cannot_be_written_is_refused_once_and_may_be_asked_for_again() -> None:
    run = quiet()
    leader = run.leader
    assert ask(run.group, leader, ApplyRequest("a")).error is None
    run.group.fill_disk(leader)
    assert ask(run.group, leader, SnapshotRequest()).error == "failed to close snapshot: it could not be written"
    run.group.fill_disk(leader, is_full=False)
    assert ask(run.group, leader, SnapshotRequest()).error is None


def test_a_snapshot_waits_until_the_fsm_has_come_to_the_configuration() -> None:
    run = quiet(spares=1)
    leader = run.leader
    assert ask(run.group, leader, ApplyRequest("a")).error is None
    assert ask(run.group, leader, ADD_N4).error is None
    error = ask(run.group, leader, SnapshotRequest()).error
    assert error == (
        "cannot take snapshot now, wait until the configuration entry at 4 has been applied (have applied 3)"
    )


def test_any_server_shows_its_state_and_its_statistics() -> None:
    run = quiet()
    assert ask(run.group, run.leader, ApplyRequest("a")).error is None
    run.group.run_until(run.group.now + 0.5)
    follower = run.followers[0]
    read = [ask(run.group, follower, ReadRequest(Index(index))) for index in range(5)]
    assert [each.entry and each.entry.value for each in read] == [None, None, None, "a", None]
    stats = ask(run.group, follower, StatsRequest(), 0.05)
    assert (stats.state, stats.leader, stats.applied_index, stats.peer_count) == (Role.FOLLOWER, run.leader, 3, 2)
    assert 0 <= stats.last_contact < 1
    assert ask(run.group, run.leader, StatsRequest()).last_contact == 0


@dataclass(frozen=True)
class CountedLog:
    """A command that counts how often its index is looked at."""

    place: int
    entry: Entry
    looks: list[int]

    @property
    def index(self) -> int:
        self.looks.append(self.place)
        return self.place


def test_a_read_looks_at_no_more_commands_than_a_search_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as long with a long history as with a short one, and reads no snapshot of all of it."""
    run = quiet()
    driver, looks = run.driver(run.leader), list[int]()
    entry = Entry(Term(1), EntryType.COMMAND, "a")
    logs: Any = tuple(CountedLog(2 * number, entry, looks) for number in range(10_000))
    driver.server.fsm = replace(driver.server.fsm, applied=logs)
    monkeypatch.setattr(driver.machine, "snapshot", None)
    for index, found in ((4_444, entry), (4_445, None), (20_000, None)):
        looks.clear()
        driver.on_client(run.group.now, "client", ReadRequest(Index(index)))
        (answer,) = [each.answer for each in driver.take_outputs() if isinstance(each, ClientAnswer)]
        assert answer.entry == found
        assert 0 < len(looks) < 20


def test_a_state_machine_does_not_copy_its_history_with_each_command() -> None:
    machine = RecordingStateMachine()
    history = machine.applied
    for number in (1, 2):
        assert machine.apply(Log(Index(number), Entry(Term(1), EntryType.COMMAND, "a"))) == number
    assert machine.applied is history


def test_the_flag_of_a_transfer_outlives_the_leadership_only_in_the_published_library() -> None:
    """The target campaigns, and its answer to TimeoutNow is lost: the old leader waits for it until the call fails."""

    def flag(flaws: frozenset[Flaw]) -> bool:
        run = quiet(3, flaws=flaws)
        old, to = run.leader, run.followers[0]
        run.group.run_until(run.group.now + 0.2)
        take = run.group._reply

        def lose_answers(src: str, reply: Any) -> None:
            if type(reply.message).__name__ != "TimeoutNowResponse":
                take(src, reply)

        run.group._reply = lose_answers  # type: ignore[method-assign]
        ask(run.group, old, LeadershipTransferRequest(to), 0.4)
        server = run.driver(old).server
        assert server.role is Role.FOLLOWER
        in_progress = server.transfer.in_progress
        run.group.run_until(run.group.now + 1.5)
        assert not run.driver(old).server.transfer.in_progress
        return in_progress

    assert flag(IN_V173)
    assert not flag(frozenset())
