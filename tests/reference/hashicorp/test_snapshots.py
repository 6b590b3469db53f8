"""Snapshots: takeSnapshot, compactLogs, installSnapshot, and a start on what is durable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.elections import heartbeat_timeout, pre_elect_self
from raftref.hashicorp.failures import crash, restart
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.logs import apply_fsm
from raftref.hashicorp.server import Server
from raftref.hashicorp.snapshots import compact_logs, install_snapshot, persist_snapshot, take_snapshot
from raftref.hashicorp.state import Role, SnapshotPhase
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import Index, Log, Place, Term
from tests.support.systems.hashicorp import append, command, dies, fails, install, only, server, snapshot, terms, values


def applied(upto: int, *more: int, **given: Any) -> Server:
    """A follower that has applied its log up to an index; behind that it has commands of these terms."""
    node = server(*[1] * (upto - 1), *more, **given)
    append_entries(node, append(term=node.current_term, prev=(upto, 1), commit=upto), DONE)
    while node.fsm.queue:
        apply_fsm(node)
    return node


def took(node: Server) -> Server:
    take_snapshot(node)
    persist_snapshot(node, DONE)
    return node


def indexes(node: Server) -> list[int]:
    return [each.index for each in node.stores.snapshots]


# ---- Taking ----


def test_a_snapshot_is_of_what_the_fsm_has_applied_and_leaves_the_trailing_logs() -> None:
    node = took(applied(6, 1))
    compact_logs(node, DONE)
    assert (node.last_snapshot, indexes(node), sorted(terms(node))) == (Place(Index(6), Term(1)), [6], [6, 7])
    assert node.last_log.index == 7


def test_compaction_deletes_nothing_behind_the_snapshot() -> None:
    node = applied(3, 1, 1, 1, trailing_logs=0)
    compact_logs(took(node), DONE)
    assert sorted(terms(node)) == [4, 5, 6]


def test_a_compaction_of_an_empty_log_writes_nothing() -> None:
    node = applied(3, trailing_logs=0)
    compact_logs(took(node), DONE)
    assert (terms(node), node.last_log.index) == ({}, 3)
    with pytest.raises(NotEnabled):
        compact_logs(took(node), fails(1))


def test_there_must_be_something_to_snapshot() -> None:
    with pytest.raises(NotEnabled):
        take_snapshot(server(1, 1))


def test_a_configuration_that_the_fsm_has_not_come_to_must_wait() -> None:
    node = applied(3)
    node.configurations = replace(node.configurations, committed_index=Index(4))
    with pytest.raises(NotEnabled):
        take_snapshot(node)


def test_an_entry_that_is_applied_while_a_snapshot_is_saved_is_not_in_it() -> None:
    node = applied(3)
    take_snapshot(node)
    append_entries(node, append(command(1, "late"), term=1, prev=(3, 1), commit=4), DONE)
    apply_fsm(node)
    persist_snapshot(node, DONE)
    assert (indexes(node), values(node)[-1]) == ([3], "late")
    assert len(node.stores.snapshots[0].applied) == 2


def test_a_snapshot_that_cannot_be_saved_is_none_and_another_may_be_taken() -> None:
    node = applied(3)
    take_snapshot(node)
    persist_snapshot(node, fails(1))
    assert (indexes(node), node.last_snapshot.index, node.snapshotting.phase) == ([], 0, SnapshotPhase.NONE)
    take_snapshot(node)


def test_a_compaction_that_fails_leaves_the_log() -> None:
    node = took(applied(6))
    compact_logs(node, fails(1))
    assert (len(terms(node)), node.snapshotting.phase) == (6, SnapshotPhase.NONE)


def test_a_process_that_dies_before_the_compaction_starts_from_the_snapshot() -> None:
    node = applied(6)
    take_snapshot(node)
    persist_snapshot(node, dies(1))
    restart(node)
    assert (node.last_applied, node.last_snapshot.index, values(node)) == (6, 6, [f"v{i}" for i in range(2, 7)])


def test_as_in_1_7_3_a_snapshot_that_is_saved_late_sets_the_last_one_back() -> None:
    for flaws, wanted in (([Flaw.SNAPSHOT_REGRESS], 3), ([], 9)):
        node = applied(3, flaws=flaws)
        take_snapshot(node)
        install_snapshot(node, install(snapshot(9, 1), 1), DONE)
        persist_snapshot(node, DONE)
        assert node.last_snapshot.index == wanted


# ---- Installing ----


def test_as_in_1_7_3_a_snapshot_leaves_the_commit_index_and_the_end_of_the_log_where_they_were() -> None:
    node = applied(3, flaws=[Flaw.CONFLICT_AT_SNAPSHOT])
    state = (Log(Index(5), command(1, "other")),)
    answer = only(install_snapshot(node, install(snapshot(7, 1, *state), 1), DONE))
    assert (answer.success, values(node), node.last_applied, node.commit_index) == (True, ["other"], 7, 3)
    assert (node.last_index, node.last_log.index, node.fsm.last.index) == (7, 3, 7)


def test_entries_that_wait_for_the_fsm_come_before_the_snapshot() -> None:
    node = server(1, 1)
    append_entries(node, append(term=1, prev=(3, 1), commit=3), DONE)
    assert len(node.fsm.queue) == 2
    install_snapshot(node, install(snapshot(7, 1), 1), DONE)
    assert (node.fsm.queue, values(node)) == ((), [])


def test_an_older_term_is_refused_and_a_newer_one_is_entered() -> None:
    node = server(3)
    assert not only(install_snapshot(node, install(snapshot(7, 1), 2), DONE)).success
    assert only(install_snapshot(node, install(snapshot(7, 1), 5), DONE)).term == 5
    assert (node.current_term, node.leader) == (5, "n2")


@pytest.mark.parametrize("term", [2, 1000])
def test_a_candidate_of_the_same_term_stays_a_candidate(term: int) -> None:
    """installSnapshot compares the term alone."""
    node = server(2, term=term)
    heartbeat_timeout(node)
    pre_elect_self(node)
    same = int(str(term))  # of great numbers another object
    install_snapshot(node, install(snapshot(7, 2), same), DONE)
    assert node.role is Role.CANDIDATE


def test_as_in_1_7_3_a_snapshot_of_what_was_applied_long_ago_sets_the_fsm_back() -> None:
    for flaws, wanted in (([Flaw.STALE_INSTALL], 2), ([], 6)):
        node = applied(6, flaws=flaws)
        assert only(install_snapshot(node, install(snapshot(2, 1), 1), DONE)).success
        assert node.fsm.last.index == wanted


def test_as_in_1_7_3_a_log_that_disagrees_with_the_snapshot_stays_as_it_is() -> None:
    """Then every request behind the snapshot is refused, and the snapshot is sent again (#697)."""
    for flaws, kept in (([Flaw.CONFLICT_AT_SNAPSHOT], True), ([], False)):
        node = server(1, 1, 1, term=3, flaws=flaws, trailing_logs=9)
        install_snapshot(node, install(snapshot(4, 2), 3), DONE)
        assert (bool(terms(node)), node.last_log.index) == (kept, 4 if kept else 0)
        answer = only(append_entries(node, append(command(3), term=3, prev=(4, 2)), DONE))
        assert answer.success is not kept


def test_a_snapshot_that_agrees_with_the_log_leaves_what_is_behind_it() -> None:
    node = server(1, 1, 1, 1)
    install_snapshot(node, install(snapshot(3, 1), 1), DONE)
    assert sorted(terms(node)) == [4, 5]


def test_a_snapshot_that_cannot_be_saved_is_not_answered() -> None:
    node = server()
    assert install_snapshot(node, install(snapshot(7, 1), 1), fails(1)).sent == []
    assert (node.last_snapshot.index, node.leader) == (0, "n2")


@pytest.mark.parametrize("kept", [(7, 9), (9, 9)])
def test_as_in_1_7_3_a_snapshot_older_than_all_that_are_kept_is_not_answered(kept: tuple[int, int]) -> None:
    """It is reaped as its sink is closed, and cannot be opened then: "no such file or directory"."""
    for flaws, is_answered in (([Flaw.STALE_INSTALL, Flaw.REAPED_INSTALL], False), ([Flaw.STALE_INSTALL], True)):
        node = server(flaws=flaws)
        for index in kept:
            install_snapshot(node, install(snapshot(index, 1), 1), DONE)
        assert bool(install_snapshot(node, install(snapshot(5, 1), 1), DONE).sent) is is_answered
        assert (indexes(node), node.last_applied, node.fsm.last.index) == (sorted(kept, reverse=True), 9, 9)


def test_a_snapshot_of_a_place_that_is_kept_is_installed_and_the_oldest_goes() -> None:
    """As in raft-1.7.3-snapshot_loop.ndjson, where that of index 7 is installed eight times."""
    node = server(flaws=[Flaw.STALE_INSTALL, Flaw.REAPED_INSTALL])
    for index, kept in ((9, [9]), (7, [9, 7]), (7, [9, 7])):
        assert only(install_snapshot(node, install(snapshot(index, 1), 1), DONE)).success
        assert (indexes(node), node.last_applied) == (kept, index)


def test_a_snapshot_that_is_taken_twice_fills_a_store_that_keeps_two() -> None:
    node = applied(4)
    for _ in range(2):
        compact_logs(took(node), DONE)
    assert indexes(node) == [4, 4]


def test_a_compaction_that_fails_does_not_keep_a_snapshot_from_being_installed() -> None:
    node = server(1, 1, 1, 1)
    assert only(install_snapshot(node, install(snapshot(3, 1), 1), fails(2))).success
    assert (len(terms(node)), node.last_snapshot.index) == (5, 3)


# ---- Starting ----


def test_a_crash_loses_role_leader_and_what_was_committed_but_not_term_log_and_snapshots() -> None:
    node = took(applied(4, 1))
    crash(node)
    restart(node)
    assert (node.role, node.leader, node.commit_index, node.last_applied) == (Role.FOLLOWER, None, 0, 4)
    assert (len(terms(node)), indexes(node), node.last_log.index) == (5, [4], 5)


def test_a_start_leaves_the_entries_behind_the_snapshot_to_whoever_leads() -> None:
    node = applied(2, 1, 1)
    crash(node)
    restart(node)
    assert (values(node), node.last_applied) == ([], 0)


def test_as_in_the_sketch_a_start_applies_the_whole_log_committed_or_not() -> None:
    node = applied(2, 1, 1, flaws=[Flaw.REPLAY_UNCOMMITTED])
    crash(node)
    restart(node)
    assert (values(node), node.last_applied) == (["v2", "v3", "v4"], 4)


def test_after_a_start_from_a_snapshot_there_is_nothing_new_to_snapshot() -> None:
    """runFSM begins with lastIndex 0, whatever the FSM was restored from."""
    node = took(applied(4))
    crash(node)
    restart(node)
    assert (values(node), node.fsm.last.index) == (["v2", "v3", "v4"], 0)
    with pytest.raises(NotEnabled):
        take_snapshot(node)


def test_a_server_whose_log_has_a_gap_behind_its_snapshot_does_not_start() -> None:
    """NewRaft panics."""
    node = server(1, 1, 1)
    node.stores = node.stores.delete_range(Index(2), Index(3))
    crash(node)
    with pytest.raises(NotEnabled):
        restart(node)
