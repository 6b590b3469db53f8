"""The voter: requestVote and requestPreVote, test by test in the library's order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.failures import crash, restart
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.hashicorp_raft import observe
from raftref.hashicorp.messages import HeartbeatRequest
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation.cluster import Cluster
from raftref.hashicorp.simulation.fault_plan import FaultPlan
from raftref.hashicorp.snapshots import install_snapshot
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import Configuration, Term
from raftref.hashicorp.votes import request_pre_vote, request_vote, request_vote_around_heartbeat
from tests.support.systems.hashicorp import (
    append,
    ask,
    ask_before,
    dies,
    durable,
    fails,
    install,
    leader,
    only,
    server,
    snapshot,
    vote,
)

#: A candidate's log that is as good as that of `server(2, 2)`.
AS_GOOD = (3, 2)


def granted(node: Server, term: int, last: tuple[int, int] = AS_GOOD, src: str = "n2", transfer: bool = False) -> bool:
    answer: bool = only(request_vote(node, ask(term, last, src, transfer), DONE)).granted
    return answer


def following(node: Server, who: str = "n2") -> Server:
    append_entries(node, append(term=node.current_term, src=who), DONE)
    return node


# ---- Who asks ----


#: n2 has no vote, and n4 is no member.
OLD = Configuration(frozenset({"n1", "n3"}), frozenset({"n2"}))


@pytest.mark.parametrize("src", ["n2", "n4"])
def test_a_voter_need_not_know_the_candidate(src: str) -> None:
    """The voter's log may be behind the changes of members."""
    assert granted(server(2, 2, configuration=OLD), 3, src=src)
    assert only(request_pre_vote(server(2, 2, configuration=OLD), ask_before(3, AS_GOOD, src))).granted


@pytest.mark.parametrize("src", ["n2", "n4"])
def test_the_log_of_a_candidate_that_the_voter_does_not_know_must_be_as_good_as_its_own(src: str) -> None:
    assert not granted(server(2, 2, configuration=OLD), 3, (2, 2), src=src)
    assert not only(request_pre_vote(server(2, 2, configuration=OLD), ask_before(3, (2, 2), src))).granted


def test_as_in_1_7_3_a_candidate_that_is_not_in_the_configuration_is_refused_before_its_term_is_looked_at() -> None:
    node = server(2, 2, flaws=[Flaw.UNKNOWN_CANDIDATE_REJECTED])
    assert not granted(node, 9, src="n4")
    assert node.current_term == 2


def test_a_voter_without_a_configuration_turns_nobody_away() -> None:
    node = server(configuration=Configuration(), flaws=[Flaw.UNKNOWN_CANDIDATE_REJECTED])
    assert granted(node, 2, (1, 1), src="n4")


def test_a_voter_that_knows_a_leader_refuses_every_other_candidate_and_does_not_raise_its_term() -> None:
    """LeaderWithID comes before the terms: a server that was cut off unseats nobody."""
    node = following(server(2, 2), "n3")
    assert not granted(node, 9)
    assert (node.current_term, node.leader) == (2, "n3")


def test_the_known_leader_itself_is_not_refused_for_being_known() -> None:
    assert granted(following(server(2, 2)), 3)
    assert not granted(following(server(2, 2, flaws=[Flaw.KNOWN_LEADER_REJECTED])), 3)


def test_a_candidate_that_a_leader_has_chosen_is_voted_for_though_a_leader_is_known() -> None:
    assert granted(following(server(2, 2), "n3"), 3, transfer=True)


def test_as_in_1_7_3_a_candidate_without_a_vote_is_refused_but_its_term_is_entered() -> None:
    """A server that was demoted does not keep the group from going on."""
    node = server(2, configuration=OLD, flaws=[Flaw.UNKNOWN_CANDIDATE_REJECTED])
    assert not granted(node, 3)
    assert node.current_term == 3


# ---- Terms ----


def test_an_older_term_is_refused_and_the_answer_has_the_voters_term() -> None:
    node = server(2, 2, term=5)
    answer = only(request_vote(node, ask(4, AS_GOOD), DONE))
    assert (answer.term, answer.granted, node.current_term) == (5, False, 5)


@pytest.mark.parametrize("role", [Role.FOLLOWER, Role.LEADER])
def test_a_newer_term_is_entered_and_the_answer_has_it(role: Role) -> None:
    node = leader(2) if role is Role.LEADER else server(2)
    node.leader = None
    answer = only(request_vote(node, ask(9, (9, 9)), DONE))
    assert (answer.term, node.current_term, node.role, node.leader) == (9, 9, Role.FOLLOWER, None)


# ---- Votes on disk ----


def test_a_vote_is_given_once_in_a_term_and_to_the_same_candidate_again() -> None:
    node = server(2, 2)
    assert granted(node, 3)
    assert not granted(node, 3, src="n3")
    assert granted(node, 3)


def test_the_same_candidate_is_granted_again_without_a_look_at_its_log() -> None:
    node = server(2, 2)
    assert granted(node, 3)
    assert granted(node, 3, (1, 1))


# ---- Logs ----


@pytest.mark.parametrize(
    ("last", "wanted"),
    [((3, 2), True), ((2, 2), False), ((9, 1), False), ((1, 3), True), ((4, 2), True)],
)
def test_a_log_is_better_that_ends_in_a_later_term_or_in_the_same_one_at_a_higher_index(
    last: tuple[int, int], wanted: bool
) -> None:
    assert granted(server(2, 2), 4, last) is wanted
    assert only(request_pre_vote(server(2, 2), ask_before(4, last))).granted is wanted


def test_as_in_0_1_a_shorter_log_is_refused_even_if_it_ends_in_a_later_term() -> None:
    assert not granted(server(2, 2, flaws=[Flaw.LONGER_LOG_OLDER_TERM]), 4, (1, 3))


def test_a_server_whose_snapshot_is_further_than_its_log_compares_the_snapshot() -> None:
    """getLastEntry."""
    node = server()
    install_snapshot(node, install(snapshot(7, 2), 2, src="n3"), DONE)
    node.leader = None
    assert not granted(node, 4, (6, 2))
    assert granted(node, 4, (7, 2))


# ---- What is written before it answers ----


def test_term_and_vote_are_on_disk_before_the_answer() -> None:
    node = server(2, 2)
    assert granted(node, 3)
    crash(node)
    assert (node.current_term, node.stores.last_vote_term, node.stores.last_vote_cand) == (3, 3, "n2")


def test_a_crash_between_the_two_writes_of_a_vote_leaves_a_vote_that_nobody_gave() -> None:
    """persistVote: (2, n2) becomes (3, n2), and n2 is granted term 3 with a log that was never compared (#661)."""
    node = server(2, 2, flaws=[Flaw.TORN_VOTE], term=2)
    assert granted(node, 2)
    request_vote(node, ask(3, AS_GOOD, "n3"), dies(2))
    assert (node.role, node.stores.last_vote_term, node.stores.last_vote_cand) == (Role.SHUTDOWN, 3, "n2")
    restart(node)
    assert granted(node, 3, (1, 1))


def test_without_torn_votes_a_vote_is_one_write() -> None:
    node = server(2, 2, term=2)
    assert granted(node, 2)
    request_vote(node, ask(3, AS_GOOD, "n3"), dies(2))
    assert (node.stores.last_vote_term, node.stores.last_vote_cand) == (3, "n3")


def test_a_vote_that_cannot_be_written_is_refused_in_the_new_term() -> None:
    node = server(2, 2, flaws=[Flaw.TORN_VOTE])
    answer = only(request_vote(node, ask(3, AS_GOOD), fails(3)))
    assert (answer.granted, answer.term) == (False, 3)
    assert (node.stores.last_vote_term, node.stores.last_vote_cand) == (3, None)


def test_a_term_that_cannot_be_written_is_a_panic_and_the_process_dies_as_it_was() -> None:
    """setCurrentTerm panics."""
    node = server(2, 2)
    before = durable(node)
    assert request_vote(node, ask(3, AS_GOOD), fails(1)).sent == []
    assert (node.role, durable(node)) == (Role.SHUTDOWN, before)


# ---- Pre-votes ----


def test_a_pre_vote_changes_nothing_and_does_not_look_at_the_votes_that_were_given() -> None:
    node = server(2, 2)
    assert granted(node, 3, src="n3")
    before = observe(node)
    assert only(request_pre_vote(node, ask_before(3, AS_GOOD))).granted
    assert observe(node) == before


def test_the_answer_to_a_pre_vote_has_the_proposed_term_unless_it_is_refused_at_the_first_tests() -> None:
    assert only(request_pre_vote(server(2, 2), ask_before(7, (1, 1)))).term == 7
    assert only(request_pre_vote(following(server(2, 2), "n3"), ask_before(7, AS_GOOD))).term == 2
    assert only(request_pre_vote(server(2, 2, term=9), ask_before(7, AS_GOOD))).term == 9


def test_a_request_that_nobody_awaits_is_handled_without_an_answer() -> None:
    node = server(2, 2)
    effects = request_vote(node, replace(ask(3, AS_GOOD), awaited=False), DONE)
    assert (effects.sent, node.stores.last_vote_cand) == ([], "n2")


# ---- A heartbeat within a vote (HeartbeatRace) ----


def beat(term: int, src: str = "n3") -> HeartbeatRequest:
    return HeartbeatRequest(src, "n1", Term(term))


def test_a_voter_that_a_heartbeat_reaches_while_it_enters_a_term_knows_the_old_leader_there() -> None:
    """Source: requestVote, which forgets the leader before it writes the term; processHeartbeat."""
    node = server(2, 2, flaws={Flaw.HEARTBEAT_RACE})
    request = ask(node.current_term + 1, AS_GOOD)
    sent = request_vote_around_heartbeat(node, request, beat(node.current_term)).sent
    assert [(m.dst, m.term, getattr(m, "granted", None)) for m in sent] == [
        ("n3", request.term - 1, None),
        ("n2", request.term, True),
    ]
    assert (node.leader, node.current_term, node.stores.last_vote_cand) == ("n3", request.term, "n2")
    with pytest.raises(NotEnabled):
        request_vote_around_heartbeat(node, ask(request.term + 1, AS_GOOD), beat(request.term))  # it knows a leader


def test_a_heartbeat_within_a_vote_is_of_the_term_that_the_voter_leaves() -> None:
    node = server(2, 2, flaws={Flaw.HEARTBEAT_RACE})
    for term in (node.current_term - 1, node.current_term + 1):
        with pytest.raises(NotEnabled):
            request_vote_around_heartbeat(node, ask(node.current_term + 1, AS_GOOD), beat(term))
    repaired = server(2, 2)
    with pytest.raises(NotEnabled):
        request_vote_around_heartbeat(repaired, ask(repaired.current_term + 1, AS_GOOD), beat(repaired.current_term))


def test_a_message_of_another_kind_is_no_request_around_a_heartbeat() -> None:
    cluster = Cluster(FaultPlan(flaws=frozenset({Flaw.HEARTBEAT_RACE})))
    answer = replace(vote(2, src="n2"), dst="n1")
    for m in (answer, beat(1)):
        cluster.network.send(m)
    assert not cluster.enabled("n1", "RequestVoteAroundHeartbeat", answer, beat(1))
