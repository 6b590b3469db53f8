"""The pipeline of AppendEntries: pipelineReplicate, pipelineSend, pipelineDecode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.follower import append_entries
from raftref.hashicorp.leader import check_leader_lease, process_logs, step_down
from raftref.hashicorp.leadership import handle_verify, verify_leader
from raftref.hashicorp.messages import AppendEntriesRequest, AppendEntriesResponse, HeartbeatRequest, RpcType
from raftref.hashicorp.pipeline import pipeline_abort, pipeline_send
from raftref.hashicorp.replication import handle_append_entries_response, replicate_to, rpc_error, send_latest_snapshot
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster, FaultPlan
from raftref.hashicorp.state import PipelinePhase, Role
from raftref.hashicorp.steps import DONE, Abandoned, Effects
from raftref.hashicorp.values import Index, Place, Term, Zombie
from raftref.hashicorp.zombies import zombie_replicate_to
from tests.support.systems.hashicorp import append, ask_for, command, leader, only, server, snapshot, stored


def answer(sent_index: int, term: int = 2, *, success: bool = True) -> AppendEntriesResponse:
    """An answer of n2 to a request whose entries end there."""
    return replace(stored(term, success=success), sent_index=Index(sent_index))


def take(node: Server, sent_index: int, term: int = 2, *, success: bool = True) -> Effects:
    return handle_append_entries_response(node, answer(sent_index, term, success=success))


def matched(node: Server) -> tuple[int, int]:
    """The next index of n2, and what it is known to store."""
    return node.replication("n2").next_index, node.commitment.match_indexes.get("n2", 0)


def ready(*values: str, flaws: frozenset[Flaw] = frozenset()) -> Server:
    """A leader of term 2 whose no-op, entry 2, n2 has stored; behind it are entries that were not sent."""
    node = leader(beside={Feature.PIPELINE}, flaws=flaws)
    replicate_to(node, "n2", 1)
    take(node, 2)
    if values:
        ask_for(node, *values)
    return node


def test_a_call_that_succeeds_allows_a_pipeline_and_one_that_is_refused_does_not() -> None:
    node = leader(beside={Feature.PIPELINE})
    with pytest.raises(NotEnabled):
        pipeline_send(node, "n2", 1)
    replicate_to(node, "n2", 1)
    take(node, 2, success=False)
    with pytest.raises(NotEnabled):
        pipeline_send(node, "n2", 0)
    replicate_to(node, "n2", 0)
    take(node, 0)
    pipeline_send(node, "n2", 0)
    assert node.replication("n2").has_pipeline


def test_without_the_pipeline_a_success_allows_none() -> None:
    node = leader()
    replicate_to(node, "n2", 1)
    handle_append_entries_response(node, stored(2))
    assert node.replication("n2").pipeline is PipelinePhase.NONE


def test_each_request_begins_behind_the_entries_of_the_one_before() -> None:
    node = ready("a", "b", "c")
    sent: list[AppendEntriesRequest] = [only(pipeline_send(node, "n2", count)) for count in (2, 0, 1)]
    assert [each.prev_log_entry for each in sent] == [2, 4, 4]
    assert [each.sent_index for each in sent] == [4, 0, 5]
    assert matched(node) == (3, 2)


def test_a_routine_with_a_pipeline_makes_no_single_call() -> None:
    node = ready("a")
    pipeline_send(node, "n2", 1)
    with pytest.raises(NotEnabled):
        replicate_to(node, "n2", 1)


def test_the_decoder_takes_the_answers_in_the_order_of_the_requests() -> None:
    node = ready("a", "b")
    pipeline_send(node, "n2", 1)
    pipeline_send(node, "n2", 1)
    with pytest.raises(NotEnabled):
        take(node, 4)
    assert take(node, 3).abandoned == []
    assert matched(node) == (4, 3)
    take(node, 4)
    assert matched(node) == (5, 4)
    assert node.commitment.commit_index == 4


def test_an_answer_to_a_request_without_entries_proves_no_entry() -> None:
    node = ready("a")
    pipeline_send(node, "n2", 0)
    take(node, 0)
    assert matched(node) == (3, 2)


def test_a_refusal_closes_the_pipeline_and_leaves_next_index_where_it_is() -> None:
    """pipelineDecode: abort pipeline if not successful."""
    node = ready("a", "b")
    pipeline_send(node, "n2", 1)
    pipeline_send(node, "n2", 1)
    effects = take(node, 3, success=False)
    assert effects.abandoned == [Abandoned(frozenset({RpcType.APPEND_ENTRIES}), "n2")]
    assert matched(node) == (3, 2)
    assert node.replication("n2").in_flight == ()
    assert only(replicate_to(node, "n2", 2)).prev_log_entry == 2


def test_the_routine_that_sends_may_not_know_yet_that_the_pipeline_is_closed() -> None:
    node = ready("a", "b")
    pipeline_send(node, "n2", 1)
    take(node, 3, success=False)
    late = only(zombie_replicate_to(node, Zombie("n2", Term(2), Index(4)), 1))
    assert (late.prev_log_entry, late.awaited) == (3, False)


def test_after_an_answer_of_a_higher_term_the_leader_is_to_step_down_and_the_routine_goes_on_until_then() -> None:
    node = ready("a")
    pipeline_send(node, "n2", 1)
    take(node, 3, term=5, success=False)
    assert (node.must_step_down, node.replication("n2").running) == (True, True)
    replicate_to(node, "n2", 1)
    take(node, 3, term=5, success=False)
    assert not node.replication("n2").running
    step_down(node)
    assert (node.role, node.current_term) == (Role.FOLLOWER, 2)


def test_an_error_closes_the_pipeline() -> None:
    node = ready("a")
    pipeline_send(node, "n2", 1)
    assert rpc_error(node, "n2", RpcType.APPEND_ENTRIES).abandoned
    assert not node.replication("n2").has_pipeline
    with pytest.raises(NotEnabled):
        pipeline_send(node, "n2", 1)


def test_a_pipeline_ends_where_an_entry_that_should_be_sent_is_gone() -> None:
    """pipelineSend: setupAppendEntries fails, and the single call that follows sends the snapshot."""
    node = ready("a", "b", "c")
    pipeline_send(node, "n2", 1)
    with pytest.raises(NotEnabled):
        pipeline_abort(node, "n2")
    node.stores = node.stores.save_snapshot(snapshot(5, 2), 2).delete_range(Index(1), Index(5))
    node.last_snapshot = Place(Index(5), Term(2))
    pipeline_abort(node, "n2")
    assert only(send_latest_snapshot(node, "n2")).snapshot.index == 5


def test_a_leadership_that_ends_leaves_a_routine_behind_all_that_it_sent_and_one_behind_each_answer() -> None:
    node = ready("a", "b")
    pipeline_send(node, "n2", 1)
    pipeline_send(node, "n2", 1)
    check_leader_lease(node)
    assert {each.next_index for each in node.zombies if each.peer == "n2"} == {3, 4, 5}


def test_a_routine_whose_leadership_is_over_may_send_more_behind_what_it_sends() -> None:
    node = ready("a", "b")
    pipeline_send(node, "n2", 1)
    check_leader_lease(node)
    assert only(zombie_replicate_to(node, Zombie("n2", Term(2), Index(3)), 1)).prev_log_entry == 2
    zombie_replicate_to(node, Zombie("n2", Term(2), Index(4)), 1)
    assert only(zombie_replicate_to(node, Zombie("n2", Term(2), Index(5)), 0)).prev_log_entry == 4


@pytest.mark.parametrize(("flaws", "confirmed"), [((), False), ((Flaw.VERIFY_COUNTS_OLD_ACKS,), True)])
def test_an_answer_to_a_call_of_before_the_question_confirms_no_leader(
    flaws: tuple[Flaw, ...], confirmed: bool
) -> None:
    node = ready("a", "b", flaws=frozenset(flaws))
    pipeline_send(node, "n2", 1)
    verify_leader(node)
    pipeline_send(node, "n2", 1)
    take(node, 3)
    assert node.verification.is_verified is confirmed
    take(node, 4)
    handle_verify(node)
    process_logs(node)
    assert node.role is Role.LEADER


# ---- The follower, and the way there ----


def test_an_answer_names_the_request_only_where_there_are_pipelines() -> None:
    request = append(command(2), term=2, prev=(1, 1))
    plain, pipelined = server(), server(beside={Feature.PIPELINE})
    assert only(append_entries(plain, request, DONE)).sent_index is None
    assert only(append_entries(pipelined, request, DONE)).sent_index == 2
    assert only(append_entries(pipelined, append(term=2, prev=(1, 1)), DONE)).sent_index == 0


def test_requests_of_a_pipeline_arrive_in_their_order() -> None:
    cluster = Cluster(FaultPlan(features=frozenset(Feature)))
    channel = cluster.network
    requests = [
        append(term=2, prev=(1, 1), src="n1", dst="n2"),
        append(term=2, prev=(1, 1), commit=1, src="n1", dst="n2"),
        append(command(2), term=2, prev=(1, 1), commit=1, src="n1", dst="n2"),
        append(term=2, prev=(2, 2), commit=1, src="n1", dst="n2"),
    ]
    for each in reversed(requests):
        channel.send(each)
    for place, each in enumerate(requests):
        assert [m for m in requests[place:] if channel.is_deliverable(m)] == [each]
        for later in requests[place + 1 :]:
            with pytest.raises(LookupError):
                channel.check_deliverable(later)
        channel.take(each)


def test_requests_that_are_given_up_arrive_in_any_order() -> None:
    channel = Cluster(FaultPlan(features=frozenset(Feature))).network
    first, second = (append(term=2, prev=(at, 1), src="n1", dst="n2") for at in (1, 2))
    channel.send(first)
    channel.send(second)
    channel.abandon("n1", Abandoned(frozenset({RpcType.APPEND_ENTRIES}), "n2"))
    assert channel.is_deliverable(replace(second, awaited=False))


def test_no_request_of_a_pipeline_comes_twice() -> None:
    """One connection carries them all, and of two answers one would be left over for a later request."""
    cluster = Cluster(FaultPlan(features=frozenset(Feature)))
    request, heartbeat = append(term=2, prev=(1, 1), src="n1", dst="n2"), HeartbeatRequest("n1", "n2", Term(2))
    for each in (request, replace(request, awaited=False), heartbeat):
        cluster.network.send(each)
        assert cluster.may_disturb("n2", "Lose", each)
        assert cluster.may_disturb("n2", "Duplicate", each) == (each is not request)
