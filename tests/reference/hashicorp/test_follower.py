"""The follower: appendEntries, step by step, and what a failure or a crash leaves between its writes."""

from __future__ import annotations

from typing import Any

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.elections import elect_self, timeout_now
from raftref.hashicorp.failures import crash, restart
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.hashicorp_raft import observe
from raftref.hashicorp.leader import dispatch_noop
from raftref.hashicorp.logs import apply_fsm
from raftref.hashicorp.messages import HeartbeatRequest, TimeoutNowRequest
from raftref.hashicorp.server import Server
from raftref.hashicorp.snapshots import install_snapshot
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import Configuration, Index, Place, Term
from raftref.records import record
from tests.support.systems.hashicorp import (
    append,
    change,
    command,
    dies,
    durable,
    fails,
    install,
    leader,
    only,
    server,
    snapshot,
    stand,
    terms,
    values,
)

FOUR = Configuration(frozenset({"n1", "n2", "n3", "n4"}))


def handled(node: Server, *entries: Any, **given: Any) -> Any:
    return only(append_entries(node, append(*entries, **given), DONE))


def apply_all(node: Server) -> Server:
    while node.fsm.queue:
        apply_fsm(node)
    return node


# ---- Terms, roles, the leader ----


def test_the_answer_tells_where_the_log_ended_before_the_request() -> None:
    assert handled(server(1), command(1), term=1, prev=(2, 1)).last_log == 2


def test_an_older_term_is_refused_and_changes_nothing() -> None:
    node = server(3)
    before = observe(node)
    answer = handled(node, command(2), term=2, prev=(2, 3))
    assert (answer.success, answer.term, observe(node)) == (False, 3, before)


@pytest.mark.parametrize("term", [3, 4])
@pytest.mark.parametrize("role", [Role.CANDIDATE, Role.LEADER])
def test_a_candidate_or_leader_follows_a_leader_of_its_term_or_a_newer_one(role: Role, term: int) -> None:
    node = leader(2) if role is Role.LEADER else stand(server(2))
    if role is Role.CANDIDATE:
        elect_self(node, node.other_voters, DONE)
    assert handled(node, term=term).term == term
    assert (node.role, node.current_term, node.leader) == (Role.FOLLOWER, term, "n2")


def test_a_candidate_that_a_leader_has_chosen_goes_on_beside_a_leader_of_its_term() -> None:
    node = server(2)
    timeout_now(node, TimeoutNowRequest("n3", "n1"))
    elect_self(node, node.other_voters, DONE)
    handled(node, term=3)
    assert (node.role, node.leader) == (Role.CANDIDATE, "n2")
    handled(node, term=4)
    assert node.role is Role.FOLLOWER


def test_the_sender_is_the_leader_even_if_its_entries_are_refused() -> None:
    node = server(2)
    assert not handled(node, term=2, prev=(7, 2)).success
    assert node.leader == "n2"


# ---- The entry before ----


@pytest.mark.parametrize("prev", [(7, 2), (3, 1), (2, 1)], ids=["missing", "another term at the end", "another term"])
def test_a_request_is_refused_unless_the_entry_before_is_there_with_its_term(prev: tuple[int, int]) -> None:
    answer = handled(server(2, 2), command(2), term=2, prev=prev)
    assert (answer.success, answer.no_retry_backoff) == (False, True)


def test_the_entry_before_may_be_the_end_of_a_snapshot() -> None:
    node = server()
    install_snapshot(node, install(snapshot(7, 2), 2), DONE)
    assert handled(node, command(2), term=2, prev=(7, 2)).success
    assert 8 in terms(node)


def with_one_behind_its_snapshot(*flaws: Flaw) -> Server:
    """Its snapshot ends at index 7, and its log has the entry at 8 alone."""
    node = server(flaws=flaws)
    install_snapshot(node, install(snapshot(7, 2), 2), DONE)
    assert handled(node, command(2), term=2, prev=(7, 2)).success
    assert terms(node) == ({1: 1, 8: 2} if Flaw.CONFLICT_AT_SNAPSHOT in flaws else {8: 2})
    return node


@pytest.mark.parametrize("prev", [(7, 2), (5, 1)], ids=["the end of the snapshot", "below it"])
def test_the_entry_before_may_be_in_the_snapshot_and_what_that_covers_is_skipped(prev: tuple[int, int]) -> None:
    node = with_one_behind_its_snapshot()
    sent = [command(2)] * (9 - prev[0])
    assert handled(node, *sent, term=2, prev=prev).success
    assert (terms(node), node.last_log) == ({8: 2, 9: 2}, Place(Index(9), Term(2)))


@pytest.mark.parametrize("prev", [(7, 2), (5, 1)], ids=["the end of the snapshot", "below it"])
def test_as_in_1_7_3_the_entry_before_must_be_in_the_log_if_that_goes_on_behind_the_snapshot(
    prev: tuple[int, int],
) -> None:
    answer = handled(with_one_behind_its_snapshot(Flaw.COMPACTED_PREV_REJECTED), command(2), term=2, prev=prev)
    assert (answer.success, answer.no_retry_backoff, answer.last_log) == (False, True, 8)


def test_the_end_of_the_snapshot_is_compared_and_so_is_an_entry_that_the_log_has_beside_it() -> None:
    """The log may disagree with the snapshot where ConflictAtSnapshot has kept it."""
    assert not handled(with_one_behind_its_snapshot(), command(2), term=2, prev=(7, 1)).success
    assert not handled(with_one_behind_its_snapshot(Flaw.CONFLICT_AT_SNAPSHOT), term=2, prev=(1, 2)).success


# ---- Entries ----


def test_entries_that_are_there_are_skipped_and_nothing_behind_them_is_deleted() -> None:
    """A request that comes late, and is shorter than the log."""
    node = server(1, 1, 1)
    assert handled(node, command(1), term=1, prev=(1, 1)).success
    assert terms(node) == {1: 1, 2: 1, 3: 1, 4: 1}


def test_as_in_0_1_a_late_request_deletes_what_it_does_not_speak_of() -> None:
    node = server(1, 1, 1, flaws=[Flaw.TRUNCATE_WITHOUT_CONFLICT])
    handled(node, command(1), term=1, prev=(1, 1))
    assert (terms(node), node.last_log) == ({1: 1, 2: 1}, Place(Index(2), Term(1)))


def test_from_the_first_entry_on_that_differs_the_log_is_deleted_and_the_rest_is_stored() -> None:
    node = server(1, 1, 1, 1)
    assert handled(node, command(1), command(2), term=2, prev=(1, 1)).success
    assert (terms(node), node.last_log) == ({1: 1, 2: 1, 3: 2}, Place(Index(3), Term(2)))


def test_as_in_0_1_the_end_of_the_log_is_thought_to_be_where_it_was_before_the_truncation() -> None:
    node = server(1, 1, 1, 1, flaws=[Flaw.LAST_LOG_NOT_LOWERED])
    handled(node, command(2), term=2, prev=(1, 1))
    assert (terms(node), node.last_log) == ({1: 1, 2: 2}, Place(Index(5), Term(1)))


def test_an_entry_before_the_end_that_cannot_be_read_ends_the_request_without_success() -> None:
    """It was compacted away. The answer does not let the leader expect that."""
    node = server(1, 1, 1)
    node.stores = node.stores.delete_range(Index(1), Index(2))
    answer = handled(node, command(1), command(1), term=1)
    assert (answer.success, answer.no_retry_backoff) == (False, False)


# ---- Configurations ----


def test_a_configuration_counts_when_it_is_stored_and_falls_back_when_its_entry_is_deleted() -> None:
    node = server(1)
    handled(node, change(1, FOUR), term=1, prev=(2, 1))
    assert (node.configurations.latest, node.configurations.committed_index) == (FOUR, 1)
    handled(node, command(2), term=2, prev=(2, 1))
    assert (node.configurations.latest.servers, node.configurations.latest_index) == ({"n1", "n2", "n3"}, 1)


# ---- Committing ----


def test_a_follower_commits_what_the_leader_has_as_far_as_the_request_goes() -> None:
    node = server(1)
    handled(node, command(1, "a"), command(1, "b"), term=1, prev=(2, 1), commit=3)
    assert (node.commit_index, node.last_applied, values(apply_all(node))) == (3, 3, ["v2", "a"])
    assert node.configurations.committed_index == 1


def test_as_in_1_7_3_a_follower_commits_entries_that_the_leader_never_had() -> None:
    """min(LeaderCommit, lastIndex): an entry of term 1 behind what was verified is applied."""
    flawed, repaired = (server(1, 1, flaws=flaws) for flaws in ([Flaw.COMMIT_UNVERIFIED], []))
    for node in (flawed, repaired):
        assert handled(node, term=2, prev=(2, 1), commit=3).success
    assert (flawed.commit_index, repaired.commit_index) == (3, 2)


def test_an_entry_that_is_committed_and_not_there_is_a_panic() -> None:
    """processLogs: GetLog fails."""
    node = server(1, 1)
    node.stores = node.stores.delete_range(Index(2), Index(2))
    assert append_entries(node, append(term=1, prev=(3, 1), commit=3), DONE).sent == []
    assert node.role is Role.SHUTDOWN


# ---- Failures and crashes between the writes ----


def test_a_deletion_that_fails_leaves_the_log_as_it_was() -> None:
    """The answer does not let the leader expect that."""
    node = server(1, 1)
    answer = only(append_entries(node, append(command(2), term=2, prev=(1, 1)), fails(2)))
    assert (answer.success, answer.no_retry_backoff) == (False, False)
    assert (terms(node), node.last_log.index) == ({1: 1, 2: 1, 3: 1}, 3)


def test_as_in_1_7_3_the_end_of_the_log_is_stale_if_nothing_can_be_stored_after_a_deletion() -> None:
    """Later a leader learns that entries are there which are not."""
    request = append(command(2), term=2, prev=(1, 1))
    flawed, repaired = (server(1, 1, flaws=flaws) for flaws in ([Flaw.DELETE_THEN_STORE], []))
    for node in (flawed, repaired):
        assert not only(append_entries(node, request, fails(3))).success
        assert terms(node) == {1: 1}
    assert (flawed.last_log.index, repaired.last_log) == (3, Place(Index(1), Term(1)))


def test_a_process_that_dies_between_deletion_and_store_comes_back_with_what_is_stored() -> None:
    node = server(1, 1, flaws=[Flaw.DELETE_THEN_STORE])
    assert append_entries(node, append(command(2), term=2, prev=(1, 1)), dies(2)).sent == []
    restart(node)
    assert (terms(node), node.last_log, node.current_term) == ({1: 1}, Place(Index(1), Term(1)), 2)


def test_entries_are_stored_before_the_answer() -> None:
    node = server(1)
    assert handled(node, command(1), term=1, prev=(2, 1)).success
    before = durable(node)
    crash(node)
    assert durable(node) == before
    assert terms(node) == {1: 1, 2: 1, 3: 1}


# ---- Heartbeats ----


def test_a_heartbeat_says_who_leads_and_nothing_of_the_log() -> None:
    node = server(1, 1)
    answer = only(append_entries(node, HeartbeatRequest("n2", "n1", Term(1)), DONE))
    assert (record(answer).keys(), answer.success) == ({"kind", "type", "src", "dst", "term", "success"}, True)
    assert (node.leader, node.commit_index) == ("n2", 0)


def test_a_heartbeat_that_comes_between_two_states_makes_a_leader_of_a_term_that_it_did_not_win() -> None:
    """processHeartbeat runs beside the main loop: the no-op is appended in the newer term (#695)."""
    node = stand(server(2, flaws=[Flaw.HEARTBEAT_RACE]))
    elect_self(node, node.other_voters, DONE)
    node.role, node.loop = Role.LEADER, type(node.loop).LEAD
    append_entries(node, HeartbeatRequest("n2", "n1", Term(4)), DONE)
    dispatch_noop(node, DONE)
    assert (node.role, terms(node)[3], {each.term for each in node.zombies}) == (Role.FOLLOWER, 4, {4})


def test_without_the_race_a_heartbeat_waits_for_the_main_loop() -> None:
    node = stand(server(2))
    elect_self(node, node.other_voters, DONE)
    node.loop = type(node.loop).LEAD
    with pytest.raises(NotEnabled):
        append_entries(node, HeartbeatRequest("n2", "n1", Term(4)), DONE)
