"""A log store that keeps a commit index, and a start that applies the log up to it: RestoreCommittedLogs of v1.8.0."""

from __future__ import annotations

import pytest

from raftref.hashicorp.choices import Feature
from raftref.hashicorp.failures import crash, restart
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.leader import process_logs
from raftref.hashicorp.logs import apply_fsm
from raftref.hashicorp.server import Server
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import NO_CONFIGURATION, Configuration
from tests.support.systems.hashicorp import append, ask_for, change, command, leader, server, values

RESTORES = {Feature.RESTORE_COMMITTED_LOGS}
ALONE = Configuration(frozenset({"n1"}))


def again(node: Server) -> Server:
    """The process dies and comes back; what waits for the FSM is applied."""
    crash(node)
    restart(node)
    while node.fsm.queue:
        apply_fsm(node)
    return node


def test_a_leader_stores_the_commit_index_that_it_had_before_the_entries() -> None:
    node = leader(beside=RESTORES, configuration=ALONE)
    process_logs(node)
    assert (node.commit_index, node.stores.commit_index) == (2, 0)
    ask_for(node, "a")
    assert (node.commit_index, node.stores.commit_index) == (2, 2)


@pytest.mark.parametrize(("commit", "stored"), [(9, 3), (2, 2)])
def test_a_follower_stores_that_of_its_leader_up_to_the_last_new_entry(commit: int, stored: int) -> None:
    node = server(beside=RESTORES)
    append_entries(node, append(command(1, "a"), command(1, "b"), term=1, prev=(1, 1), commit=commit), DONE)
    assert node.stores.commit_index == stored


def test_a_request_without_new_entries_stores_none() -> None:
    node = server(1, beside=RESTORES)
    append_entries(node, append(term=1, prev=(2, 1), commit=2), DONE)
    assert (node.commit_index, node.stores.commit_index) == (2, 0)


def test_a_start_applies_what_is_known_to_be_committed() -> None:
    node = server(beside=RESTORES)
    append_entries(node, append(command(1, "a"), command(1, "b"), term=1, prev=(1, 1), commit=2), DONE)
    again(node)
    assert (node.commit_index, node.last_applied, values(node)) == (2, 2, ["a"])


def test_without_it_a_start_applies_nothing() -> None:
    node = server()
    append_entries(node, append(command(1, "a"), command(1, "b"), term=1, prev=(1, 1), commit=2), DONE)
    again(node)
    assert (node.commit_index, node.last_applied, values(node)) == (0, 0, [])


def test_such_a_start_forgets_a_configuration_among_what_it_applies() -> None:
    """v1.8.0: the scan for configurations begins behind what is applied; the bootstrap's is entry 1."""
    node = server(beside=RESTORES)
    append_entries(node, append(command(1, "a"), term=1, prev=(1, 1), commit=2), DONE)
    again(node)
    assert node.configurations.latest == NO_CONFIGURATION
    assert not node.is_voter


def test_one_that_is_not_committed_yet_counts() -> None:
    node = server(beside=RESTORES)
    two = Configuration(frozenset({"n1", "n2"}))
    append_entries(node, append(command(1, "a"), change(1, two), term=1, prev=(1, 1), commit=2), DONE)
    again(node)
    assert node.configurations.latest == two
