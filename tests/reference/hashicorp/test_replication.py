"""The routines of a leader: replicateTo, sendLatestSnapshot, heartbeat, and who still waits for an answer."""

from __future__ import annotations

from typing import Any

import pytest

from hashicorp import ask_for, beaten, leader, only, replicate, snapshot, stored
from raftref.action import NotEnabled
from raftref.hashicorp.messages import InstallSnapshotResponse, RpcType
from raftref.hashicorp.raft import Raft
from raftref.hashicorp.values import Index, Place, Term, Zombie


def long(**given: Any) -> Raft:
    """A leader of term 2 whose log goes to 6."""
    node = leader(1, 1, **given)
    ask_for(node, "a", "b")
    return node


def test_a_routine_sends_what_is_behind_next_index_and_tells_what_comes_before() -> None:
    m = only(long().replicate_to("n2", 2))
    assert (m.prev_log_entry, m.prev_log_term, m.leader_commit_index) == (3, 1, 0)
    assert [(each.term, each.value) for each in m.entries] == [(2, None), (2, "a")]


def test_a_routine_sends_no_more_than_a_request_may_have_and_as_few_as_it_was_woken_for() -> None:
    node = long(max_append_entries=2)
    with pytest.raises(NotEnabled):
        node.replicate_to("n2", 3)
    assert only(node.replicate_to("n2", 0)).entries == ()


def test_a_routine_waits_for_one_answer_at_a_time() -> None:
    node = long()
    node.replicate_to("n2", 1)
    with pytest.raises(NotEnabled):
        node.replicate_to("n2", 1)
    node.heartbeat("n2")
    with pytest.raises(NotEnabled):
        node.heartbeat("n2")


def test_an_answer_moves_next_index_behind_what_was_sent_and_marks_it() -> None:
    node = long()
    replicate(node, "n2")
    assert (node.replication("n2").next_index, node.leader_state.commitment.match_indexes["n2"]) == (7, 6)
    assert node.leader_state.commitment.commit_index == 6


def test_an_answer_to_a_request_without_entries_proves_no_entry() -> None:
    node = long()
    node.replicate_to("n2", 0)
    node.handle_append_entries_response(stored(2, last_log=6))
    assert (node.replication("n2").next_index, node.leader_state.commitment.match_indexes) == (4, {"n1": 6})


@pytest.mark.parametrize(("last_log", "wanted"), [(1, 2), (9, 3), (0, 1), (2, 3)])
def test_a_refusal_moves_next_index_back_by_one_or_to_the_end_of_the_peers_log(last_log: int, wanted: int) -> None:
    node = long()
    node.replicate_to("n2", 1)
    node.handle_append_entries_response(stored(2, last_log=last_log, success=False))
    assert node.replication("n2").next_index == wanted


def test_next_index_never_falls_below_the_first() -> None:
    node = long()
    for _ in range(9):
        node.replicate_to("n2", 0)
        node.handle_append_entries_response(stored(2, last_log=0, success=False))
    assert only(node.replicate_to("n2", 1)).prev_log_entry == 0


# ---- Snapshots ----


def compacted() -> Raft:
    """A leader whose log begins at 4, behind a snapshot at 3."""
    node = long()
    node.stores.snapshots.save(snapshot(3, 1))
    node.last_snapshot = Place(Index(3), Term(1))
    node.stores.logs.delete_range(Index(1), Index(3))
    return node


def test_what_comes_before_may_be_the_end_of_the_last_snapshot() -> None:
    m = only(compacted().replicate_to("n2", 1))
    assert (m.prev_log_entry, m.prev_log_term) == (3, 1)


def test_a_peer_that_needs_an_entry_that_is_gone_is_sent_the_latest_snapshot() -> None:
    node = compacted()
    node.leader_state.repl_state["n2"].next_index = Index(2)
    with pytest.raises(NotEnabled):
        node.replicate_to("n2", 1)
    m = only(node.send_latest_snapshot("n2"))
    assert (m.term, m.snapshot.index) == (2, 3)
    node.handle_install_snapshot_response(InstallSnapshotResponse("n2", "n1", Term(2), True))
    assert (node.replication("n2").next_index, node.leader_state.commitment.match_indexes["n2"]) == (4, 3)


def test_a_snapshot_that_was_refused_is_sent_again_and_a_newer_term_ends_the_routine() -> None:
    node = compacted()
    node.leader_state.repl_state["n2"].next_index = Index(2)
    node.send_latest_snapshot("n2")
    node.handle_install_snapshot_response(InstallSnapshotResponse("n2", "n1", Term(2), False))
    node.send_latest_snapshot("n2")
    node.handle_install_snapshot_response(InstallSnapshotResponse("n2", "n1", Term(3), False))
    assert node.leader_state.step_down


def test_without_a_snapshot_a_routine_that_lacks_an_entry_sends_nothing() -> None:
    node = long()
    node.stores.logs.delete_range(Index(1), Index(3))
    for sends in (lambda: node.replicate_to("n2", 1), lambda: node.send_latest_snapshot("n2")):
        with pytest.raises(NotEnabled):
            sends()


# ---- Heartbeats and errors ----


def test_a_heartbeat_with_a_higher_term_does_not_end_the_leadership() -> None:
    node = long()
    node.heartbeat("n2")
    node.handle_heartbeat_response(beaten(9, success=False))
    assert (node.leader_state.step_down, node.replication("n2").beating) == (False, False)


@pytest.mark.parametrize("type_", [RpcType.APPEND_ENTRIES, RpcType.HEARTBEAT])
def test_a_call_that_is_given_up_can_be_made_again(type_: RpcType) -> None:
    node = long()
    node.replicate_to("n2", 2)
    node.heartbeat("n2")
    effects = node.rpc_error("n2", type_)
    assert [(each.types, each.peer) for each in effects.abandoned] == [({type_}, "n2")]
    if type_ is RpcType.HEARTBEAT:
        node.heartbeat("n2")
    else:
        node.replicate_to("n2", 2)
    with pytest.raises(NotEnabled):
        node.rpc_error("n2", RpcType.INSTALL_SNAPSHOT)


def test_a_routine_of_a_lost_leadership_sends_what_the_log_has_now_in_its_old_term() -> None:
    node = long()
    node.check_leader_lease()
    zombie = Zombie("n3", Term(2), Index(4))
    assert zombie in node.zombies
    assert len(only(node.zombie_replicate_to(zombie, 3)).entries) == 3
    with pytest.raises(NotEnabled):
        node.zombie_replicate_to(Zombie("n3", Term(1), Index(4)), 0)


def test_heartbeats_of_a_lost_leadership_go_on_while_its_other_routine_waits() -> None:
    node = long()
    node.check_leader_lease()
    m = only(node.zombie_heartbeat(Zombie("n3", Term(2), Index(4))))
    assert (m.term, m.awaited) == (Term(2), False)
    with pytest.raises(NotEnabled):
        node.zombie_heartbeat(Zombie("n3", Term(1), Index(4)))
