"""Heartbeats beside the main loop, as processHeartbeat handles them (HeartbeatRace, hashicorp/raft#695)."""

from __future__ import annotations

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.elections import elect_self, heartbeat_timeout, pre_elect_self, run_follower, timeout_now
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.leader import dispatch_logs
from raftref.hashicorp.messages import OF_LEADERS, HeartbeatRequest, RequestVoteResponse, TimeoutNowRequest
from raftref.hashicorp.replication import handle_append_entries_response, replicate_to
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import CampaignPhase, Loop, Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import ClientLog, EntryType, Term
from raftref.hashicorp.votes import handle_request_vote_response
from tests.support.systems.hashicorp import ask_for, fails, leader, only, server, stored


def beat(node: Server, term: int) -> bool:
    """A heartbeat comes from n2; return whether it is taken for the leader's."""
    return bool(only(append_entries(node, HeartbeatRequest("n2", "n1", Term(term)), DONE)).success)


def about_to_campaign(*, pre_vote: bool = False) -> Server:
    without = () if pre_vote else (Feature.PRE_VOTE,)
    node = server(term=2, flaws=(Flaw.HEARTBEAT_RACE,), without=without)
    heartbeat_timeout(node)
    return node


def test_a_heartbeat_before_a_campaign_makes_the_candidate_a_follower() -> None:
    node = about_to_campaign()
    assert beat(node, 2)
    assert (node.role, node.loop, node.leader) == (Role.FOLLOWER, Loop.CAMPAIGN, "n2")


def test_where_the_main_loop_handles_heartbeats_it_campaigns_first() -> None:
    node = server(term=2)
    heartbeat_timeout(node)
    with pytest.raises(NotEnabled):
        beat(node, 2)


def test_the_follower_may_find_out_before_it_campaigns() -> None:
    node = about_to_campaign()
    with pytest.raises(NotEnabled):
        run_follower(node)
    beat(node, 2)
    run_follower(node)
    assert (node.role, node.loop, node.current_term) == (Role.FOLLOWER, Loop.SELECT, 2)


def test_or_it_raises_its_term_and_asks_for_votes_all_the_same_and_counts_none() -> None:
    node = about_to_campaign()
    beat(node, 2)
    effects = elect_self(node, node.other_voters, DONE)
    assert [each.awaited for each in effects.sent] == [False, False]
    assert (node.role, node.current_term, node.stores.last_vote_term) == (Role.FOLLOWER, 3, 3)
    assert node.campaign.phase is CampaignPhase.NONE
    assert not node.campaign.granted


def test_a_vote_that_such_a_follower_cannot_write_is_not_given() -> None:
    node = about_to_campaign()
    beat(node, 2)
    elect_self(node, node.other_voters, fails(2))
    assert (node.role, node.current_term, node.stores.last_vote_term) == (Role.FOLLOWER, 3, 0)


def test_so_it_asks_for_pre_votes() -> None:
    node = about_to_campaign(pre_vote=True)
    beat(node, 5)
    effects = pre_elect_self(node)
    assert {(each.term, each.awaited) for each in effects.sent} == {(6, False)}
    assert (node.role, node.loop, node.campaign.phase) == (Role.FOLLOWER, Loop.SELECT, CampaignPhase.NONE)


def test_a_candidate_that_a_leader_has_chosen_goes_on_in_spite_of_that_leaders_heartbeat() -> None:
    node = server(term=2, flaws=(Flaw.HEARTBEAT_RACE,))
    timeout_now(node, TimeoutNowRequest("n2", "n1"))
    assert beat(node, 2)
    assert node.role is Role.CANDIDATE
    elect_self(node, node.other_voters, DONE)
    assert node.campaign.phase is CampaignPhase.VOTE


def overtaken_leader() -> Server:
    """A leader of term 2 to which a heartbeat of term 3 has come, beside its main loop."""
    node = leader(flaws=frozenset({Flaw.HEARTBEAT_RACE}))
    for peer in sorted(node.other_voters):
        replicate_to(node, peer, 1)
    beat(node, 3)
    return node


def test_a_leader_that_is_overtaken_stores_one_more_command_in_the_term_of_another_leader() -> None:
    node = overtaken_leader()
    assert (node.role, node.loop, node.current_term, node.leader) == (Role.FOLLOWER, Loop.OVERTAKEN, 3, "n2")
    ask_for(node, "x")
    assert node.term_at(node.last_index) == 3
    assert (node.role, node.loop, node.leader, node.repl_state) == (Role.FOLLOWER, Loop.SELECT, "n2", {})
    with pytest.raises(NotEnabled):
        ask_for(node, "y")


def test_its_routines_go_on_in_their_own_term_until_its_main_loop_notices() -> None:
    node = overtaken_leader()
    handle_append_entries_response(node, stored(2))
    request = only(replicate_to(node, "n2", 0))
    assert request.term == 2
    effects = run_follower(node)
    assert (node.loop, node.repl_state) == (Loop.SELECT, {})
    assert any(each.types == OF_LEADERS for each in effects.abandoned)


def test_a_write_that_fails_then_ends_the_leadership_too() -> None:
    node = overtaken_leader()
    dispatch_logs(node, (ClientLog(EntryType.COMMAND, "x"),), fails(1))
    assert (node.role, node.loop, node.current_term, node.repl_state) == (Role.FOLLOWER, Loop.SELECT, 3, {})


def overtaken_candidate() -> Server:
    """A candidate of term 3 to which a heartbeat of term 4 has come, beside its main loop."""
    node = about_to_campaign()
    elect_self(node, node.other_voters, DONE)
    beat(node, 4)
    return node


def test_a_candidate_that_is_overtaken_wins_the_term_of_another_leader_by_a_vote_for_its_own() -> None:
    node = overtaken_candidate()
    assert (node.role, node.loop, node.current_term) == (Role.FOLLOWER, Loop.OVERTAKEN, 4)
    handle_request_vote_response(node, RequestVoteResponse("n3", "n1", Term(3), granted=True), DONE)
    assert (node.role, node.loop, node.current_term) == (Role.LEADER, Loop.LEAD, 4)


@pytest.mark.parametrize(("term", "ends_in"), [(3, 4), (5, 5)])
def test_or_it_follows_after_a_vote_that_does_not_decide(term: int, ends_in: int) -> None:
    node = overtaken_candidate()
    handle_request_vote_response(node, RequestVoteResponse("n3", "n1", Term(term), granted=False), DONE)
    assert (node.role, node.loop, node.current_term) == (Role.FOLLOWER, Loop.SELECT, ends_in)
    assert node.campaign.phase is CampaignPhase.NONE


def test_a_heartbeat_of_the_leader_that_has_overtaken_it_changes_nothing_more() -> None:
    node = overtaken_candidate()
    beat(node, 4)
    assert node.loop is Loop.OVERTAKEN
    beat(node, 5)
    assert (node.loop, node.current_term, node.campaign.phase) == (Loop.OVERTAKEN, 5, CampaignPhase.VOTE)
    run_follower(node)
    assert (node.loop, node.campaign.phase) == (Loop.SELECT, CampaignPhase.NONE)


def test_where_the_main_loop_handles_heartbeats_nobody_is_overtaken() -> None:
    node = leader()
    append_entries(node, HeartbeatRequest("n2", "n1", Term(3)), DONE)
    assert (node.role, node.loop, node.repl_state) == (Role.FOLLOWER, Loop.SELECT, {})
