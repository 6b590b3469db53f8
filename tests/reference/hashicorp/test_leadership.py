"""Requests to a leader besides storing entries: to change the group, to hand over, to say whether it leads."""

from __future__ import annotations

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.leader import check_leader_lease, process_logs
from raftref.hashicorp.leadership import (
    end_transfer,
    handle_timeout_now_response,
    handle_verify,
    leadership_transfer,
    send_timeout_now,
    verify_leader,
)
from raftref.hashicorp.logs import apply_fsm
from raftref.hashicorp.membership import ChangeCommand, append_configuration_entry, next_configuration
from raftref.hashicorp.messages import OF_LEADERS, RpcType, TimeoutNowResponse
from raftref.hashicorp.replication import (
    handle_append_entries_response,
    handle_heartbeat_response,
    heartbeat,
    replicate_to,
)
from raftref.hashicorp.server import Server
from raftref.hashicorp.snapshots import take_snapshot
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import Configuration
from tests.support.systems.hashicorp import (
    THREE,
    append,
    ask_for,
    beaten,
    command,
    fails,
    leader,
    only,
    replicate,
    stored,
    terms,
)

ADD, ADD_NONVOTER, DEMOTE, REMOVE = ChangeCommand


def settled(**given: object) -> Server:
    """A leader that has committed its no-op and its configuration."""
    node = leader(**given)
    for peer in sorted(node.other_voters):
        replicate(node, peer)
    process_logs(node)
    return node


# ---- nextConfiguration ----


@pytest.mark.parametrize(
    ("command", "server", "voters", "nonvoters"),
    [
        (ADD, "n4", "n1 n2 n3 n4", "n5"),
        (ADD, "n5", "n1 n2 n3 n5", ""),
        (ADD_NONVOTER, "n4", "n1 n2 n3", "n4 n5"),
        (ADD_NONVOTER, "n2", "n1 n2 n3", "n5"),
        (DEMOTE, "n2", "n1 n3", "n2 n5"),
        (DEMOTE, "n4", "n1 n2 n3", "n5"),
        (REMOVE, "n2", "n1 n3", "n5"),
        (REMOVE, "n5", "n1 n2 n3", ""),
        (REMOVE, "n4", "n1 n2 n3", "n5"),
    ],
)
def test_a_change_is_of_one_server(command: ChangeCommand, server: str, voters: str, nonvoters: str) -> None:
    before = Configuration(THREE.voters, frozenset({"n5"}))
    after = Configuration(frozenset(voters.split()), frozenset(nonvoters.split()))
    assert next_configuration(before, command, server) == after


# ---- appendConfigurationEntry ----


def test_a_configuration_counts_at_once_and_a_new_peer_gets_its_routines() -> None:
    node = settled()
    assert append_configuration_entry(node, ADD, "n4", DONE).abandoned == []
    assert (node.configurations.latest_index, node.configurations.committed_index) == (3, 1)
    assert (node.replication("n4").next_index, node.commitment.voters) == (4, {"n1", "n2", "n3", "n4"})


def test_one_change_at_a_time_and_none_before_the_no_op_is_committed() -> None:
    with pytest.raises(NotEnabled):
        append_configuration_entry(leader(), ADD, "n4", DONE)
    node = settled()
    append_configuration_entry(node, ADD, "n4", DONE)
    with pytest.raises(NotEnabled):
        append_configuration_entry(node, REMOVE, "n4", DONE)


def test_the_last_voter_cannot_be_removed() -> None:
    node = leader(configuration=Configuration(frozenset({"n1"})))
    process_logs(node)
    with pytest.raises(NotEnabled):
        append_configuration_entry(node, REMOVE, "n1", DONE)


def test_the_routines_for_a_peer_that_is_gone_stop_and_may_send_once_more() -> None:
    node = settled()
    effects = append_configuration_entry(node, REMOVE, "n3", DONE)
    assert [(each.types, each.peer) for each in effects.abandoned] == [(OF_LEADERS, "n3")]
    assert (sorted(node.repl_state), {each.peer for each in node.zombies}) == (["n2"], {"n3"})
    assert node.commitment.match_indexes == {"n1": 3, "n2": 2}


@pytest.mark.parametrize("shuts_down", [True, False])
def test_a_leader_that_removes_itself_replicates_on_until_that_is_committed_and_does_not_count_itself(
    shuts_down: bool,
) -> None:
    node = settled(without=[] if shuts_down else [Feature.SHUTDOWN_ON_REMOVE])
    assert append_configuration_entry(node, REMOVE, "n1", DONE).abandoned[0].peer == "n1"
    replicate(node, "n2")
    assert node.commitment.commit_index == 2
    replicate(node, "n3")
    process_logs(node)
    assert node.role is (Role.SHUTDOWN if shuts_down else Role.FOLLOWER)


def test_a_configuration_counts_even_if_its_entry_cannot_be_stored() -> None:
    """appendConfigurationEntry does not look at what became of dispatchLogs."""
    node = settled()
    append_configuration_entry(node, ADD, "n4", fails(1))
    assert (node.role, terms(node)) == (Role.FOLLOWER, {1: 1, 2: 2})
    assert "n4" in node.configurations.latest.voters


def test_a_snapshot_may_end_with_the_entry_that_took_the_place_of_a_configuration() -> None:
    """It counts though it could not be stored, and for committed when the next leader commits a command there."""
    node = settled()
    append_configuration_entry(node, ADD, "n4", fails(1))
    append_entries(node, append(command(3), term=3, prev=(2, 2), commit=3), DONE)
    apply_fsm(node)
    assert node.fsm.last.index == node.configurations.committed_index == 3
    take_snapshot(node)


# ---- leadershipTransfer ----


def test_a_leader_that_hands_over_takes_no_entries_no_changes_and_no_snapshot() -> None:
    node = settled()
    ask_for(node, "a")
    replicate(node, "n2")
    process_logs(node)
    apply_fsm(node)
    leadership_transfer(node, "n2")
    for asks in (
        lambda: ask_for(node, "b"),
        lambda: append_configuration_entry(node, ADD, "n4", DONE),
        lambda: leadership_transfer(node, "n3"),
        lambda: take_snapshot(node),
    ):
        with pytest.raises(NotEnabled):
            asks()
    end_transfer(node)
    take_snapshot(node)
    ask_for(node, "b")


def test_the_target_is_asked_to_campaign_when_it_has_all_entries() -> None:
    node = settled()
    ask_for(node, "a")
    leadership_transfer(node, "n2")
    with pytest.raises(NotEnabled):
        send_timeout_now(node)
    replicate(node, "n2")
    assert only(send_timeout_now(node)).dst == "n2"
    with pytest.raises(NotEnabled):
        send_timeout_now(node)
    handle_timeout_now_response(node, TimeoutNowResponse("n2", "n1"))
    assert node.transfer.in_progress


def test_a_leader_hands_over_to_a_peer_of_the_configuration() -> None:
    for peer in ("n1", "n4"):
        with pytest.raises(NotEnabled):
            leadership_transfer(settled(), peer)


def test_as_in_1_7_3_the_flag_outlives_the_leadership_and_refuses_entries_in_the_next() -> None:
    for flaws, left in (([Flaw.TRANSFER_FLAG_LEFT], True), ([], False)):
        node = settled(flaws=flaws)
        leadership_transfer(node, "n2")
        check_leader_lease(node)
        assert node.transfer.in_progress is left


def test_when_a_transfer_ends_its_call_is_given_up() -> None:
    node = settled()
    leadership_transfer(node, "n2")
    send_timeout_now(node)
    assert [each.types for each in end_transfer(node).abandoned] == [{RpcType.TIMEOUT_NOW}]


# ---- verifyLeader ----


def test_a_majority_that_answers_says_that_it_leads() -> None:
    node = settled()
    verify_leader(node)
    with pytest.raises(NotEnabled):
        handle_verify(node)
    heartbeat(node, "n2")
    handle_heartbeat_response(node, beaten(2))
    handle_verify(node)
    assert (node.role, node.verification.active) == (Role.LEADER, False)


def test_an_answer_to_entries_says_that_it_leads_as_well() -> None:
    """updateLastAppended ends with notifyAll(true), entries or none."""
    node = settled()
    verify_leader(node)
    replicate_to(node, "n2", 0)
    handle_append_entries_response(node, stored(2))
    assert node.verification.acks == {"n2"}


def test_a_peer_that_says_no_ends_the_leadership_and_nobody_counts_after_that() -> None:
    """verifyFuture.vote: notifyCh is nil."""
    node = settled()
    verify_leader(node)
    for peer, success in (("n2", False), ("n3", True)):
        heartbeat(node, peer)
        handle_heartbeat_response(node, beaten(2, peer, success))
    handle_verify(node)
    assert node.role is Role.FOLLOWER


def test_no_answer_counts_after_that_of_a_majority() -> None:
    node = settled()
    verify_leader(node)
    for peer, success in (("n2", True), ("n3", False)):
        heartbeat(node, peer)
        handle_heartbeat_response(node, beaten(2, peer, success))
    handle_verify(node)
    assert node.role is Role.LEADER


def test_as_in_1_7_3_servers_without_a_vote_are_counted() -> None:
    five = Configuration(THREE.voters, frozenset({"n4", "n5"}))
    for flaws, counted in (([Flaw.VERIFY_COUNTS_NONVOTERS], {"n4"}), ([], set())):
        node = settled(flaws=flaws, configuration=five)
        verify_leader(node)
        heartbeat(node, "n4")
        handle_heartbeat_response(node, beaten(2, "n4"))
        assert node.verification.acks == counted


@pytest.mark.parametrize("entries", [True, False])
def test_as_in_1_7_3_answers_to_what_was_sent_before_the_question_are_counted(entries: bool) -> None:
    for flaws, counted in (([Flaw.VERIFY_COUNTS_OLD_ACKS], {"n2"}), ([], set())):
        node = settled(flaws=flaws)
        replicate_to(node, "n2", 0) if entries else heartbeat(node, "n2")
        verify_leader(node)
        if entries:
            handle_append_entries_response(node, stored(2))
        else:
            handle_heartbeat_response(node, beaten(2))
        assert node.verification.acks == counted


def test_how_many_must_answer_is_found_out_when_the_client_asks() -> None:
    node = settled()
    verify_leader(node)
    append_configuration_entry(node, ADD, "n4", DONE)
    heartbeat(node, "n2")
    handle_heartbeat_response(node, beaten(2))
    handle_verify(node)
    assert node.role is Role.LEADER
