"""A server whose main loop waits for an event while a heartbeat is handled beside it, which does not wake it."""

from __future__ import annotations

from random import Random

from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.messages import AppendEntriesRequest, HeartbeatRequest, Response
from raftref.hashicorp.runtime.client_calls import ApplyRequest, FutureResult, RaftError
from raftref.hashicorp.runtime.driver import RaftDriver
from raftref.hashicorp.runtime.durable_stores import MemoryStores
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.state import Loop, Role
from raftref.hashicorp.values import Index, Term
from raftref.runtime.driver import ClientAnswer, NodeStep, PeerCall, PeerReply

RACE = frozenset({Flaw.HEARTBEAT_RACE})


def started(node: str, flaws: frozenset[Flaw]) -> RaftDriver:
    plan = FaultPlan(flaws=flaws)
    steps: list[NodeStep] = []
    made = RaftDriver(node, plan.node_ids, plan.configuration, MemoryStores(), Random(1), steps.append, flaws=flaws)
    made.start(0.0)
    return made


def answered(candidate: RaftDriver, now: float) -> tuple[int, Response]:
    """Return the answer of n2 to the call that the candidate has made, with the number of that call."""
    voter = started("n2", RACE)
    (call,) = (each for each in candidate.take_outputs() if isinstance(each, PeerCall) and each.peer == "n2")
    voter.on_request(now, "asked", call.message)
    (reply,) = (each for each in voter.take_outputs() if isinstance(each, PeerReply))
    return call.number, reply.message


def candidate_of_term_2(flaws: frozenset[Flaw] = RACE) -> RaftDriver:
    """A server that asks for votes in term 2 since 3.0 s."""
    made = started("n1", flaws)
    made.on_time(3.0)
    made.on_answer(3.0, *answered(made, 3.0))
    assert (made.server.role, made.server.current_term) == (Role.CANDIDATE, 2)
    return made


def leader_of_term_2(flaws: frozenset[Flaw] = RACE) -> RaftDriver:
    """A server that leads term 2 since 3.0 s."""
    made = candidate_of_term_2(flaws)
    made.on_answer(3.0, *answered(made, 3.0))
    assert made.server.leads
    made.take_outputs()
    return made


def beat(driver: RaftDriver, term: int) -> None:
    driver.on_request(3.1, "beat", HeartbeatRequest("n3", "n1", Term(term)))


def answers(driver: RaftDriver) -> list[FutureResult]:
    return [each.answer for each in driver.take_outputs() if isinstance(each, ClientAnswer)]


def test_a_leader_appends_one_more_command_in_the_term_of_the_heartbeat_and_follows_then() -> None:
    leader = leader_of_term_2()
    beat(leader, 3)
    assert leader.server.loop is Loop.OVERTAKEN
    leader.on_client(3.2, "client", ApplyRequest("x"))
    assert leader.server.term_at(leader.server.last_index) == 3
    assert (leader.server.role, leader.server.loop) == (Role.FOLLOWER, Loop.SELECT)
    assert [each.error for each in answers(leader)] == [RaftError.LEADERSHIP_LOST]
    leader.on_client(3.3, "client", ApplyRequest("y"))
    assert [each.error for each in answers(leader)] == [RaftError.NOT_LEADER]


def test_a_client_whose_command_is_not_committed_yet_is_answered_once_the_leader_notices() -> None:
    leader = leader_of_term_2()
    leader.on_client(3.05, "client", ApplyRequest("x"))
    beat(leader, 3)
    assert answers(leader) == []
    leader.on_time(3.0 + leader.node.settings.leader_lease_timeout)
    assert leader.server.loop is Loop.SELECT
    assert [each.error for each in answers(leader)] == [RaftError.LEADERSHIP_LOST]


def test_another_request_wakes_the_loop_which_follows_before_it_takes_that() -> None:
    leader = leader_of_term_2()
    beat(leader, 3)
    leader.take_outputs()
    leader.on_request(3.2, "entries", AppendEntriesRequest("n3", "n1", Term(3), Index(1), Term(1), (), Index(0)))
    assert leader.server.loop is Loop.SELECT
    assert [each.key for each in leader.take_outputs() if isinstance(each, PeerReply)] == ["entries"]


def test_a_candidate_wins_the_term_of_the_heartbeat_by_a_vote_for_its_own() -> None:
    candidate = candidate_of_term_2()
    vote = answered(candidate, 3.05)
    beat(candidate, 3)
    assert candidate.server.loop is Loop.OVERTAKEN
    candidate.on_answer(3.2, *vote)
    assert (candidate.server.role, candidate.server.current_term) == (Role.LEADER, 3)


def test_a_candidate_whose_time_is_over_follows_without_another_campaign() -> None:
    candidate = candidate_of_term_2()
    beat(candidate, 3)
    candidate.on_time(3.0 + 2 * candidate.node.settings.election_timeout)
    assert (candidate.server.role, candidate.server.loop) == (Role.FOLLOWER, Loop.SELECT)
    assert candidate.server.current_term == 3


def test_where_the_main_loop_handles_heartbeats_no_command_is_appended_after_one() -> None:
    leader = leader_of_term_2(frozenset())
    beat(leader, 3)
    leader.on_client(3.2, "client", ApplyRequest("x"))
    assert leader.server.term_at(leader.server.last_index) == 2
    assert [each.error for each in answers(leader)] == [RaftError.NOT_LEADER]
