"""The leader's main loop: runLeader, dispatchLogs, commitment, processLogs, and how a leadership ends."""

from __future__ import annotations

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.elections import elect_self
from raftref.hashicorp.leader import check_leader_lease, dispatch_logs, dispatch_noop, process_logs, step_down
from raftref.hashicorp.logs import apply_fsm
from raftref.hashicorp.messages import OF_LEADERS
from raftref.hashicorp.replication import handle_append_entries_response, replicate_to
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import Commitment, Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import ClientLog, Configuration, EntryType, Index, Place, Term, Zombie
from raftref.hashicorp.zombies import zombie_replicate_to
from tests.support.systems.hashicorp import (
    ask_for,
    fails,
    lead,
    leader,
    only,
    replicate,
    server,
    stand,
    stored,
    terms,
    values,
)

FOUR = Configuration(frozenset({"n1", "n2", "n3", "n4"}))


def committing(node: Server) -> Server:
    process_logs(node)
    while node.fsm.queue:
        apply_fsm(node)
    return node


# ---- A leadership begins ----


def test_a_leader_begins_with_a_no_op_and_routines_for_all_peers_that_begin_where_it_does() -> None:
    node = leader(1)
    assert terms(node) == {1: 1, 2: 1, 3: 2}
    assert node.commitment.start_index == 3
    assert {peer: each.next_index for peer, each in node.repl_state.items()} == {"n2": 3, "n3": 3}


def test_a_leader_that_cannot_write_its_no_op_follows() -> None:
    node = stand(server(1))
    elect_self(node, node.other_voters, DONE)
    node.set_state(Role.LEADER)
    node.loop = type(node.loop).LEAD
    dispatch_noop(node, fails(1))
    assert (node.role, terms(node), node.repl_state) == (Role.FOLLOWER, {1: 1, 2: 1}, {})
    assert node.zombies == {Zombie("n2", Term(2), Index(3)), Zombie("n3", Term(2), Index(3))}


# ---- commitment ----


@pytest.mark.parametrize(
    ("marks", "committed"),
    [((5, 4, 2), 4), ((5, 0, 0), 0), ((5, 5, 0, 0), 0), ((5, 5, 5, 0), 5), ((3, 4, 5, 6, 7), 5), ((9,), 9)],
)
def test_an_index_that_a_majority_has_reached_is_committed(marks: tuple[int, ...], committed: int) -> None:
    commitment = Commitment(Index(2), frozenset(f"n{each}" for each in range(len(marks))))
    for number, mark in enumerate(marks):
        commitment = commitment.match(f"n{number}", Index(mark))
    assert commitment.commit_index == committed


def test_as_in_0_1_half_of_an_even_number_is_enough() -> None:
    commitment = Commitment(Index(2), frozenset({"a", "b", "c", "d"}), half_commits=True)
    commitment = commitment.match("a", Index(5))
    commitment = commitment.match("b", Index(5))
    assert commitment.commit_index == 5


def test_nothing_before_the_leadership_commits_by_itself() -> None:
    commitment = Commitment(Index(6), frozenset({"a", "b", "c"}))
    commitment = commitment.match("a", Index(5))
    commitment = commitment.match("b", Index(5))
    assert commitment.commit_index == 0


def test_a_server_without_a_vote_does_not_count_and_a_mark_never_falls() -> None:
    commitment = Commitment(Index(1), frozenset({"a"}))
    commitment = commitment.match("b", Index(9))
    commitment = commitment.match("a", Index(4))
    commitment = commitment.match("a", Index(3))
    assert (commitment.commit_index, commitment.match_indexes) == (4, {"a": 4})


def test_a_new_configuration_keeps_the_marks_of_those_who_still_vote_and_computes_anew() -> None:
    commitment = Commitment(Index(1), frozenset({"a", "b", "c"}))
    commitment = commitment.match("a", Index(4))
    commitment = commitment.set_configuration(frozenset({"a"}))
    assert (commitment.commit_index, commitment.match_indexes) == (4, {"a": 4})
    commitment = commitment.set_configuration(frozenset({"a", "b"}))
    assert commitment.match_indexes == {"a": 4}


# ---- dispatchLogs, processLogs ----


def test_a_leader_commits_with_a_majority_and_hands_commands_and_barriers_to_the_fsm() -> None:
    node = leader(1)
    ask_for(node, "a", "b")
    dispatch_logs(node, (ClientLog(EntryType.BARRIER),), DONE)
    replicate(node, "n2")
    committing(node)
    assert (node.commit_index, node.last_applied, values(node)) == (6, 6, ["v2", "a", "b"])
    assert node.fsm.last == Place(Index(6), Term(2))


def test_without_a_queue_what_is_committed_is_applied_at_once() -> None:
    node = leader(without=[Feature.FSM_QUEUE])
    ask_for(node, "a")
    replicate(node, "n2")
    process_logs(node)
    assert (values(node), node.fsm.queue) == (["a"], ())


def test_a_voter_alone_commits_when_it_has_stored() -> None:
    """dispatchLogs calls match, which recalculates; the sketch sets the mark, and waits for answers that never come."""
    alone = Configuration(frozenset({"n1"}))
    node, sketch = (leader(configuration=alone, flaws=f) for f in ([], [Flaw.MATCH_WITHOUT_RECALCULATE]))
    assert (node.commitment.commit_index, sketch.commitment.commit_index) == (2, 0)
    assert sketch.commitment.match_indexes == {"n1": 2}


def test_a_leader_that_cannot_store_follows_and_keeps_its_log() -> None:
    node = leader()
    dispatch_logs(node, (ClientLog(EntryType.COMMAND, "a"),), fails(1))
    assert (node.role, terms(node), node.last_log.index) == (Role.FOLLOWER, {1: 1, 2: 2}, 2)


def test_an_entry_that_is_in_no_majority_is_not_committed() -> None:
    node = leader(configuration=FOUR)
    ask_for(node, "a")
    replicate(node, "n2")
    with pytest.raises(NotEnabled):
        process_logs(node)
    flawed = leader(configuration=FOUR, flaws=[Flaw.EVEN_QUORUM])
    replicate(flawed, "n2")
    process_logs(flawed)
    assert flawed.commit_index == 2


def test_the_configuration_is_committed_with_its_entry() -> None:
    node = leader()
    assert node.configurations.committed_index == 0
    replicate(node, "n3")
    process_logs(node)
    assert node.configurations.committed_index == 1


# ---- A leadership ends ----


def test_a_leader_that_hears_of_no_majority_follows_and_its_routines_may_send_once_more() -> None:
    node = leader(1)
    ask_for(node, "a")
    effects = check_leader_lease(node)
    assert (node.role, node.leader, node.repl_state) == (Role.FOLLOWER, None, {})
    assert [each.types for each in effects.abandoned] == [OF_LEADERS]
    m = only(zombie_replicate_to(node, Zombie("n2", Term(2), Index(3)), 2))
    assert (m.term, m.awaited, [each.value for each in m.entries]) == (2, False, [None, "a"])


def test_a_leader_that_is_a_majority_alone_needs_to_hear_of_nobody() -> None:
    node = leader(configuration=Configuration(frozenset({"n1"}), frozenset({"n2"})))
    with pytest.raises(NotEnabled):
        check_leader_lease(node)


def test_a_leader_that_a_peer_tells_of_a_higher_term_follows_in_its_own() -> None:
    """handleStaleTerm: resp.Term > req.Term."""
    node = leader()
    replicate_to(node, "n2", 1)
    handle_append_entries_response(node, stored(9, success=False))
    assert (node.role, node.replication("n2").running) == (Role.LEADER, False)
    step_down(node)
    assert (node.role, node.current_term) == (Role.FOLLOWER, 2)
    assert {each.peer for each in node.zombies} == {"n3"}


def test_a_leader_again_begins_anew() -> None:
    node = leader()
    check_leader_lease(node)
    lead(node)
    assert (node.current_term, terms(node)) == (3, {1: 1, 2: 2, 3: 3})
    assert node.commitment.match_indexes == {"n1": 3}
