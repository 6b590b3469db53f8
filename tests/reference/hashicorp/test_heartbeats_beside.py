"""Heartbeats beside the main loop, as processHeartbeat handles them (HeartbeatRace, hashicorp/raft#695)."""

from __future__ import annotations

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.elections import elect_self, heartbeat_timeout, pre_elect_self, run_follower, timeout_now
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.messages import HeartbeatRequest, TimeoutNowRequest
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import CampaignPhase, Loop, Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import Term
from tests.support.systems.hashicorp import fails, only, server


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
