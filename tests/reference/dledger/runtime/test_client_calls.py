"""Clients of a DLedger node that runs: each answer that is not a success, and what comes with one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.dledger.choices import Feature
from raftref.dledger.client_messages import (
    AppendEntryRequest,
    AppendEntryResponse,
    BatchAppendEntryRequest,
    GetEntriesRequest,
    LeadershipTransferRequest,
    MetadataRequest,
    Refusal,
    ResponseCode,
)
from raftref.dledger.messages import NO_TERM, ElectionResponse, HeartBeatMessage, Index, Term, VoteMessage
from raftref.dledger.runtime.replayed_run import replayed
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.wire import call_with
from raftref.dledger.wire_answers import encode_answer
from raftref.dledger.wire_fields import Version
from raftref.runtime.driver import PeerReply
from tests.support.systems.running_dledger import ADDRESSES, DLedgerGroup, entry, handing_over
from tests.support.systems.running_groups import Answers, ask


def test_an_entry_is_answered_with_its_place_and_can_be_read() -> None:
    run = DLedgerGroup(1)
    leader = run.elect()
    answer = ask(run.group, leader, entry(1))
    assert (answer.code, answer.leader_id, answer.index, answer.term) == (ResponseCode.SUCCESS, leader, 0, 1)
    assert answer.pos == 0
    found = ask(run.group, leader, GetEntriesRequest("", Index(0)))
    assert [each.value for each in found.entries] == ["v1"]
    assert ask(run.group, leader, GetEntriesRequest("", Index(1))).code == ResponseCode.INDEX_OUT_OF_RANGE


def test_a_follower_refuses_and_names_the_leader() -> None:
    run = DLedgerGroup(1)
    leader = run.elect()
    for request in (entry(1), GetEntriesRequest("", Index(0))):
        answer = ask(run.group, run.followers[0], request)
        assert (answer.code, answer.leader_id) == (ResponseCode.NOT_LEADER, leader)


def test_any_node_names_the_leader_and_the_members() -> None:
    run = DLedgerGroup(1)
    leader = run.elect()
    answer = ask(run.group, run.followers[0], MetadataRequest(""))
    assert (answer.leader_id, answer.peers) == (leader, ADDRESSES)


def test_a_request_for_another_node_is_refused() -> None:
    run = DLedgerGroup(1)
    leader = run.elect()
    answer = ask(run.group, leader, AppendEntryRequest(run.followers[0], "a"))
    assert answer.code == ResponseCode.UNKNOWN_MEMBER


def test_an_empty_batch_is_refused() -> None:
    run = DLedgerGroup(1, features={Feature.BATCHES})
    leader = run.elect()
    assert ask(run.group, leader, BatchAppendEntryRequest("", ())).code == ResponseCode.REQUEST_WITH_EMPTY_BODYS


def test_a_client_that_waits_too_long_for_a_quorum_is_answered_and_its_entry_may_be_committed_later() -> None:
    run = DLedgerGroup(1)
    leader = run.elect()
    run.group.partition([leader])
    assert ask(run.group, leader, entry(1), 3.0).code == ResponseCode.WAIT_QUORUM_ACK_TIMEOUT
    run.group.heal()
    run.group.run_until(run.group.now + 4)
    assert run.committed(leader) == ["v1"]


def test_a_client_of_a_leader_that_is_deposed_hears_of_it_once_that_node_leads_again_in_another_term() -> None:
    """Only a leader looks through those that wait. Source: QuorumAckChecker.doWork, checkTermForPendingMap."""
    run = DLedgerGroup(1)
    first, answers = run.elect(), Answers()
    run.group.partition([first])
    while run.driver(first).server.is_leader:
        answers.ask(run.group, first, entry(len(answers.given)))
        run.group.run_until(run.group.now + 0.5)
    run.group.run_until(run.group.now + 12)
    run.group.heal()
    run.group.run_until(run.group.now + 10)
    assert ResponseCode.TERM_CHANGED not in {answer.code for _, answer in answers.given}
    if run.leader != first:
        assert ask(run.group, run.leader, handing_over(run, run.leader, first), 3.0).code == ResponseCode.SUCCESS
    run.group.run_until(run.group.now + 1)
    assert {answer.code for _, answer in answers.given} == {
        ResponseCode.TERM_CHANGED,
        ResponseCode.WAIT_QUORUM_ACK_TIMEOUT,
    }


def test_a_leader_for_whose_entries_too_many_wait_takes_no_more_and_names_its_term() -> None:
    """Source: DLedgerServer.handleAppend, isPendingFull: more than maxPendingRequestsNum."""
    run = DLedgerGroup(1, settings=Settings(max_pending_requests_num=2))
    leader, answers = run.elect(), Answers()
    run.group.partition([leader])
    for count in range(5):
        answers.ask(run.group, leader, entry(count))
    run.group.run_until(run.group.now + 0.1)
    full = AppendEntryResponse(Index(-1), -1, Term(1), leader, ResponseCode.LEADER_PENDING_FULL)
    assert [answer for _, answer in answers.given] == [full] * 2
    assert list(replayed(run.plan, run.group.steps))


def test_no_more_clients_may_wait_than_in_the_spec() -> None:
    with pytest.raises(ValueError, match="no more than 10000 clients may wait: 10001"):
        Settings(max_pending_requests_num=10_001)


# ---- The places that refusals name ----


def test_a_refusal_has_the_leader_and_neither_index_nor_position_nor_term() -> None:
    """Source: DLedgerServer.handleAppend, its handler of exceptions: copyBaseInfo of a request whose term is -1."""
    run = DLedgerGroup(1)
    leader = run.elect()

    def refusal(code: ResponseCode) -> AppendEntryResponse:
        return AppendEntryResponse(Index(-1), -1, Term(-1), leader, code)

    follower = run.followers[0]
    assert ask(run.group, follower, entry(1)) == refusal(ResponseCode.NOT_LEADER)
    assert ask(run.group, leader, AppendEntryRequest(follower, "a")) == refusal(ResponseCode.UNKNOWN_MEMBER)
    run.driver(leader).on_disk_space(run.group.now, is_full=True)
    assert ask(run.group, leader, entry(1)) == refusal(ResponseCode.DISK_FULL)


def test_a_client_that_waited_too_long_gets_index_and_term_and_no_position() -> None:
    """Source: DLedgerEntryPusher.checkResponseFuturesTimeout, which sets no pos."""
    run = DLedgerGroup(1)
    leader = run.elect()
    run.group.partition([leader])
    assert ask(run.group, leader, entry(1), 3.0) == AppendEntryResponse(
        Index(0), -1, Term(1), leader, ResponseCode.WAIT_QUORUM_ACK_TIMEOUT
    )


def test_a_client_whose_term_is_over_gets_the_index_alone_and_the_new_leader() -> None:
    """Source: QuorumAckChecker.doWork, TERM_CHANGED, which sets neither term nor pos."""
    run = DLedgerGroup(1, settings=replace(Settings(), max_wait_ack_time=1000.0))
    first, answers = run.elect(), Answers()
    run.group.partition([first])
    answers.ask(run.group, first, entry(1))
    run.group.run_until(run.group.now + 16)
    run.group.heal()
    run.group.run_until(run.group.now + 8)
    if run.leader != first:
        assert ask(run.group, run.leader, handing_over(run, run.leader, first), 3.0).code == ResponseCode.SUCCESS
    run.group.run_until(run.group.now + 2)
    assert answers.last() == AppendEntryResponse(Index(0), -1, Term(-1), first, ResponseCode.TERM_CHANGED)


def test_the_wire_shows_a_refusal_as_java_does_with_the_term_of_the_request() -> None:
    call = call_with(AppendEntryRequest("n1", "a"), 7, "g", Version.V0_3)
    refused = AppendEntryResponse(leader_id="n2", code=ResponseCode.NOT_LEADER)
    assert encode_answer(refused, call) == encode_answer(Refusal(ResponseCode.NOT_LEADER, "n2"), call)


def test_a_leadership_is_handed_over_to_the_peer_that_is_named() -> None:
    run = DLedgerGroup(1)
    first = run.elect()
    to = run.followers[1]
    assert ask(run.group, first, entry(1)).code == ResponseCode.SUCCESS
    assert ask(run.group, first, handing_over(run, first, to), 3.0).code == ResponseCode.SUCCESS
    assert run.leader == to


def test_while_a_leader_hands_over_it_takes_no_entry() -> None:
    run = DLedgerGroup(1)
    leader, answers = run.elect(), Answers()
    run.group.pause(run.followers[0])
    for request in (handing_over(run, leader, run.followers[0]), AppendEntryRequest(leader, "v1")):
        run.driver(leader).on_client(
            run.group.now, lambda answer, r=request: answers.given.append((r, answer)), request
        )
    run.group.run_until(run.group.now + 4)
    by_request = {type(request): answer.code for request, answer in answers.given}
    assert by_request == {
        AppendEntryRequest: ResponseCode.LEADER_TRANSFERRING,
        LeadershipTransferRequest: ResponseCode.NETWORK_ERROR,
    }


def test_a_leadership_is_not_handed_over_to_a_stranger_or_by_a_follower() -> None:
    run = DLedgerGroup(1)
    leader = run.elect()
    assert ask(run.group, leader, handing_over(run, leader, "n9")).code == ResponseCode.UNKNOWN_MEMBER
    follower, other = run.followers
    assert ask(run.group, follower, handing_over(run, follower, other)).code == ResponseCode.NOT_LEADER


def test_a_command_to_hand_over_in_another_term_is_refused_without_the_term() -> None:
    """Source: DLedgerServer.handleLeadershipTransfer, whose refusal copies the term of the request."""
    run = DLedgerGroup(1)
    leader = run.elect()
    answer = ask(run.group, leader, LeadershipTransferRequest(leader, leader, run.followers[0], Term(9)))
    assert answer == Refusal(ResponseCode.INCONSISTENT_TERM, leader)


@pytest.mark.parametrize(
    ("m", "code"),
    [
        (HeartBeatMessage("", "n1", NO_TERM), "UNKNOWN_MEMBER"),
        (HeartBeatMessage("n9", "n1", Term(99)), "UNKNOWN_MEMBER"),
        (VoteMessage("n9", "n1", Term(99), Term(9), Index(9)), "REJECT_UNKNOWN_LEADER"),
    ],
)
def test_one_who_is_no_member_hears_the_term_and_changes_nothing(m: VoteMessage | HeartBeatMessage, code: str) -> None:
    """Source: DLedgerLeaderElector.handleHeartBeat, handleVote."""
    run = DLedgerGroup(1)
    run.elect()
    driver = run.driver("n1")
    term, before = driver.server.member_state.curr_term, driver.server.observe()
    driver.take_outputs()
    driver.on_request(run.group.now, "key", m)
    assert driver.take_outputs() == [PeerReply("key", ElectionResponse(m.type, "n1", m.src, term, code))]
    assert driver.server.observe() == before
