"""The candidate: runFollower's timer, preElectSelf, electSelf, runCandidate, timeoutNow."""

from __future__ import annotations

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.elections import elect_self, election_timeout, heartbeat_timeout, pre_elect_self, timeout_now
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.hashicorp_raft import observe
from raftref.hashicorp.messages import OF_ELECTIONS, RequestVoteRequest, RpcType, TimeoutNowRequest
from raftref.hashicorp.snapshots import install_snapshot
from raftref.hashicorp.state import CampaignPhase, Loop, Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import Configuration
from raftref.hashicorp.votes import handle_request_pre_vote_response, handle_request_vote_response, request_vote
from tests.support.systems.hashicorp import (
    append,
    ask,
    dies,
    durable,
    fails,
    install,
    leader,
    pre_vote,
    server,
    snapshot,
    stand,
    vote,
)

OTHERS = frozenset({"n2", "n3"})
PRE_VOTE = RpcType.REQUEST_PRE_VOTE
CHOSEN = TimeoutNowRequest("n2", "n1")


def test_a_voter_that_hears_nothing_of_a_leader_stands_and_asks_for_pre_votes_in_the_next_term() -> None:
    node = server(2)
    heartbeat_timeout(node)
    sent = pre_elect_self(node).sent
    assert [(m.type, m.dst, m.term) for m in sent] == [(PRE_VOTE, "n2", 3), (PRE_VOTE, "n3", 3)]
    assert (node.role, node.current_term, node.campaign.granted) == (Role.CANDIDATE, 2, {"n1"})


def test_a_server_without_a_vote_forgets_its_leader_and_stays_a_follower() -> None:
    node = server(configuration=Configuration(frozenset({"n2", "n3"}), frozenset({"n1"})))
    append_entries(node, append(term=1), DONE)
    heartbeat_timeout(node)
    assert (node.role, node.leader, node.loop) == (Role.FOLLOWER, None, Loop.SELECT)


def test_a_majority_of_pre_votes_is_followed_by_an_election_in_a_new_term() -> None:
    node = stand(server(2))
    effects = elect_self(node, OTHERS, DONE)
    assert [(m.type, m.dst, m.term) for m in effects.sent] == [
        (RpcType.REQUEST_VOTE, "n2", 3),
        (RpcType.REQUEST_VOTE, "n3", 3),
    ]
    assert (node.current_term, node.stores.last_vote_term, node.stores.last_vote_cand) == (3, 3, "n1")


def test_a_majority_of_votes_makes_a_leader() -> None:
    node = stand(server(2))
    elect_self(node, OTHERS, DONE)
    handle_request_vote_response(node, vote(3, "n3", granted=False), DONE)
    assert node.role is Role.CANDIDATE
    handle_request_vote_response(node, vote(3), DONE)
    assert (node.role, node.leader, node.loop) == (Role.LEADER, "n1", Loop.LEAD)


def test_a_voter_alone_is_its_own_majority() -> None:
    node = server(2, configuration=Configuration(frozenset({"n1"})))
    heartbeat_timeout(node)
    pre_elect_self(node)
    assert node.campaign.phase is CampaignPhase.VOTE
    elect_self(node, frozenset(), DONE)
    assert node.role is Role.LEADER


def test_a_candidate_follows_in_a_higher_term_that_a_vote_tells_of() -> None:
    node = stand(server(2))
    elect_self(node, OTHERS, DONE)
    handle_request_vote_response(node, vote(8, granted=False), DONE)
    assert (node.role, node.current_term) == (Role.FOLLOWER, 8)


def test_a_pre_vote_of_the_proposed_term_is_no_higher_term() -> None:
    node = server(2)
    heartbeat_timeout(node)
    pre_elect_self(node)
    handle_request_pre_vote_response(node, pre_vote(3, granted=False), DONE)
    assert (node.role, node.current_term) == (Role.CANDIDATE, 2)
    handle_request_pre_vote_response(node, pre_vote(4, granted=False), DONE)
    assert (node.role, node.current_term) == (Role.FOLLOWER, 4)


def test_how_many_votes_are_needed_is_found_out_when_the_campaign_begins() -> None:
    """votesNeeded is computed once; a snapshot of the same term may change the configuration in between."""
    node = stand(server(2))
    elect_self(node, OTHERS, DONE)
    five = Configuration(frozenset({"n1", "n2", "n3", "n4", "n5"}))
    given = snapshot(9, 3)
    install_snapshot(node, install(type(given)(given.index, given.term, five, given.index, ()), 3), DONE)
    assert (node.role, node.configurations.latest) == (Role.CANDIDATE, five)
    handle_request_vote_response(node, vote(3), DONE)
    assert node.role is Role.LEADER


def test_an_election_that_takes_too_long_begins_anew_and_waits_for_no_old_answer() -> None:
    node = stand(server(2))
    elect_self(node, OTHERS, DONE)
    effects = election_timeout(node)
    assert [each.types for each in effects.abandoned] == [OF_ELECTIONS]
    assert (node.loop, node.campaign.phase, node.campaign.granted) == (Loop.CAMPAIGN, CampaignPhase.NONE, frozenset())


def test_while_the_main_loop_goes_from_one_state_to_another_it_takes_no_event() -> None:
    node = server(2)
    heartbeat_timeout(node)
    with pytest.raises(NotEnabled):
        request_vote(node, ask(9, (9, 9)), DONE)


# ---- Transfers (timeoutNow) ----


@pytest.mark.parametrize("role", [Role.FOLLOWER, Role.LEADER])
def test_a_server_that_a_leader_has_chosen_campaigns_at_once_without_pre_votes_and_says_so(role: Role) -> None:
    node = leader(2) if role is Role.LEADER else server(2)
    timeout_now(node, CHOSEN)
    requests = elect_self(node, OTHERS, DONE).sent
    assert all(isinstance(m, RequestVoteRequest) and m.leadership_transfer for m in requests)


def test_a_candidate_that_a_leader_chooses_goes_on_with_its_campaign() -> None:
    """setState(Candidate) changes nothing: runCandidate's loop goes on, with the flag set."""
    node = server(2)
    heartbeat_timeout(node)
    pre_elect_self(node)
    timeout_now(node, CHOSEN)
    assert (node.loop, node.campaign.phase, node.campaign.granted) == (Loop.SELECT, CampaignPhase.PREVOTE, {"n1"})
    handle_request_pre_vote_response(node, pre_vote(3), DONE)
    requests = elect_self(node, OTHERS, DONE).sent
    assert all(isinstance(m, RequestVoteRequest) and m.leadership_transfer for m in requests)


def test_a_leaders_choice_counts_for_one_campaign_only() -> None:
    node = server(2)
    timeout_now(node, CHOSEN)
    elect_self(node, OTHERS, DONE)
    election_timeout(node)
    assert not node.campaign.transfer
    pre_elect_self(node)


# ---- What is written, and what was sent before ----


def test_a_candidate_that_cannot_write_its_vote_takes_no_answers_and_waits_for_its_timer() -> None:
    """electSelf returns nil: voteCh never has anything."""
    node = stand(server(2, flaws=[Flaw.TORN_VOTE]))
    effects = elect_self(node, frozenset({"n2"}), fails(3))
    assert [(m.dst, m.awaited) for m in effects.sent if isinstance(m, RequestVoteRequest)] == [("n2", False)]
    assert (node.role, node.campaign.phase, node.current_term) == (Role.CANDIDATE, CampaignPhase.NONE, 3)


def test_a_candidate_that_dies_at_its_vote_may_have_asked_those_before_it_in_the_list() -> None:
    node = stand(server(2, flaws=[Flaw.TORN_VOTE]))
    effects = elect_self(node, frozenset({"n3"}), dies(2))
    assert [(m.dst, m.awaited) for m in effects.sent if isinstance(m, RequestVoteRequest)] == [("n3", False)]
    assert (node.role, node.current_term) == (Role.SHUTDOWN, 3)
    assert (node.stores.last_vote_term, node.stores.last_vote_cand) == (3, None)


def test_nobody_is_asked_before_the_term_is_written() -> None:
    node = stand(server(2))
    before = durable(node)
    with pytest.raises(NotEnabled):
        elect_self(node, frozenset({"n3"}), fails(1))
    assert elect_self(node, frozenset(), fails(1)).sent == []
    assert (node.role, durable(node)) == (Role.SHUTDOWN, before)


def test_a_step_has_no_more_writes_than_it_does() -> None:
    node = stand(server(2))
    before = observe(node)
    for outcome in (fails(3), dies(3)):
        with pytest.raises(NotEnabled):
            elect_self(node, OTHERS, outcome)
    assert observe(node) == before


def test_without_pre_votes_the_election_begins_at_once() -> None:
    node = server(2, without=[Feature.PRE_VOTE])
    heartbeat_timeout(node)
    with pytest.raises(NotEnabled):
        pre_elect_self(node)
    elect_self(node, OTHERS, DONE)
    assert node.current_term == 3
