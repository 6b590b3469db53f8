"""The routines of a leader: replicateTo, sendLatestSnapshot, heartbeat, and who still waits for an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.leader import check_leader_lease
from raftref.hashicorp.messages import InstallSnapshotResponse, RpcType
from raftref.hashicorp.replication import (
    handle_append_entries_response,
    handle_heartbeat_response,
    handle_install_snapshot_response,
    heartbeat,
    replicate_to,
    rpc_error,
    send_latest_snapshot,
)
from raftref.hashicorp.server import Server
from raftref.hashicorp.values import Index, Place, Term, Zombie
from raftref.hashicorp.zombies import zombie_heartbeat, zombie_replicate_to
from tests.support.systems.hashicorp import ask_for, beaten, leader, only, replicate, snapshot, stored


def long(**given: Any) -> Server:
    """A leader of term 2 whose log goes to 6."""
    node = leader(1, 1, **given)
    ask_for(node, "a", "b")
    return node


def test_a_routine_sends_what_is_behind_next_index_and_tells_what_comes_before() -> None:
    m = only(replicate_to(long(), "n2", 2))
    assert (m.prev_log_entry, m.prev_log_term, m.leader_commit_index) == (3, 1, 0)
    assert [(each.term, each.value) for each in m.entries] == [(2, None), (2, "a")]


def test_a_routine_sends_no_more_than_a_request_may_have_and_as_few_as_it_was_woken_for() -> None:
    node = long(max_append_entries=2)
    with pytest.raises(NotEnabled):
        replicate_to(node, "n2", 3)
    assert only(replicate_to(node, "n2", 0)).entries == ()


@pytest.mark.parametrize("first", [3, 4])
def test_a_routine_sends_no_range_that_lacks_its_last_entry(first: int) -> None:
    """setNewLogs: GetLog fails."""
    node = leader(*[1] * (first - 2))
    ask_for(node, "a", "b")
    node.stores = node.stores.delete_range(Index(first + 1), Index(first + 1))
    with pytest.raises(NotEnabled):
        replicate_to(node, "n2", 2)
    assert len(only(replicate_to(node, "n2", 1)).entries) == 1


def test_a_routine_waits_for_one_answer_at_a_time() -> None:
    node = long()
    replicate_to(node, "n2", 1)
    with pytest.raises(NotEnabled):
        replicate_to(node, "n2", 1)
    heartbeat(node, "n2")
    with pytest.raises(NotEnabled):
        heartbeat(node, "n2")


def test_an_answer_moves_next_index_behind_what_was_sent_and_marks_it() -> None:
    node = long()
    replicate(node, "n2")
    assert (node.replication("n2").next_index, node.commitment.match_indexes["n2"]) == (7, 6)
    assert node.commitment.commit_index == 6


def test_an_answer_to_a_request_without_entries_proves_no_entry() -> None:
    node = long()
    replicate_to(node, "n2", 0)
    handle_append_entries_response(node, stored(2, last_log=6))
    assert (node.replication("n2").next_index, node.commitment.match_indexes) == (4, {"n1": 6})


@pytest.mark.parametrize(("last_log", "wanted"), [(1, 2), (9, 3), (0, 1), (2, 3)])
def test_a_refusal_moves_next_index_back_by_one_or_to_the_end_of_the_peers_log(last_log: int, wanted: int) -> None:
    node = long()
    replicate_to(node, "n2", 1)
    handle_append_entries_response(node, stored(2, last_log=last_log, success=False))
    assert node.replication("n2").next_index == wanted


def test_next_index_never_falls_below_the_first() -> None:
    node = long()
    for _ in range(9):
        replicate_to(node, "n2", 0)
        handle_append_entries_response(node, stored(2, last_log=0, success=False))
    assert only(replicate_to(node, "n2", 1)).prev_log_entry == 0


# ---- Snapshots ----


def compacted() -> Server:
    """A leader whose log begins at 4, behind a snapshot at 3."""
    node = long()
    node.stores = node.stores.save_snapshot(snapshot(3, 1), 2)
    node.last_snapshot = Place(Index(3), Term(1))
    node.stores = node.stores.delete_range(Index(1), Index(3))
    return node


def test_the_entry_before_a_request_may_be_the_end_of_the_last_snapshot() -> None:
    m = only(replicate_to(compacted(), "n2", 1))
    assert (m.prev_log_entry, m.prev_log_term) == (3, 1)


def test_a_peer_that_needs_an_entry_that_is_gone_is_sent_the_latest_snapshot() -> None:
    node = compacted()
    node.set_replication("n2", replace(node.replication("n2"), next_index=Index(2)))
    with pytest.raises(NotEnabled):
        replicate_to(node, "n2", 1)
    m = only(send_latest_snapshot(node, "n2"))
    assert (m.term, m.snapshot.index) == (2, 3)
    handle_install_snapshot_response(node, InstallSnapshotResponse("n2", "n1", Term(2), True))
    assert (node.replication("n2").next_index, node.commitment.match_indexes["n2"]) == (4, 3)


def test_a_snapshot_that_was_refused_is_sent_again_and_a_newer_term_ends_the_routine() -> None:
    node = compacted()
    node.set_replication("n2", replace(node.replication("n2"), next_index=Index(2)))
    send_latest_snapshot(node, "n2")
    handle_install_snapshot_response(node, InstallSnapshotResponse("n2", "n1", Term(2), False))
    send_latest_snapshot(node, "n2")
    handle_install_snapshot_response(node, InstallSnapshotResponse("n2", "n1", Term(3), False))
    assert node.must_step_down


def test_without_a_snapshot_a_routine_that_lacks_an_entry_sends_nothing() -> None:
    node = long()
    node.stores = node.stores.delete_range(Index(1), Index(3))
    for sends in (lambda: replicate_to(node, "n2", 1), lambda: send_latest_snapshot(node, "n2")):
        with pytest.raises(NotEnabled):
            sends()


# ---- Heartbeats and errors ----


def test_a_heartbeat_with_a_higher_term_does_not_end_the_leadership() -> None:
    node = long()
    heartbeat(node, "n2")
    handle_heartbeat_response(node, beaten(9, success=False))
    assert (node.must_step_down, node.replication("n2").beating) == (False, False)


@pytest.mark.parametrize("type_", [RpcType.APPEND_ENTRIES, RpcType.HEARTBEAT])
def test_a_call_that_is_given_up_can_be_made_again(type_: RpcType) -> None:
    node = long()
    replicate_to(node, "n2", 2)
    heartbeat(node, "n2")
    effects = rpc_error(node, "n2", type_)
    assert [(each.types, each.peer) for each in effects.abandoned] == [({type_}, "n2")]
    if type_ is RpcType.HEARTBEAT:
        heartbeat(node, "n2")
    else:
        replicate_to(node, "n2", 2)
    with pytest.raises(NotEnabled):
        rpc_error(node, "n2", RpcType.INSTALL_SNAPSHOT)


def test_a_routine_of_a_lost_leadership_sends_what_the_log_has_now_in_its_old_term() -> None:
    node = long()
    check_leader_lease(node)
    zombie = Zombie("n3", Term(2), Index(4))
    assert zombie in node.zombies
    assert len(only(zombie_replicate_to(node, zombie, 3)).entries) == 3
    with pytest.raises(NotEnabled):
        zombie_replicate_to(node, Zombie("n3", Term(1), Index(4)), 0)


def test_heartbeats_of_a_lost_leadership_go_on_while_its_other_routine_waits() -> None:
    node = long()
    check_leader_lease(node)
    m = only(zombie_heartbeat(node, Zombie("n3", Term(2), Index(4))))
    assert (m.term, m.awaited) == (Term(2), False)
    with pytest.raises(NotEnabled):
        zombie_heartbeat(node, Zombie("n3", Term(1), Index(4)))
