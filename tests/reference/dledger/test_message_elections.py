"""Elections message by message: DLedgerLeaderElector's rounds, handlers and transfers on one node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.action import NotEnabled
from raftref.dledger.choices import PUBLISHED, REPAIRED, VOTES, Config
from raftref.dledger.election_rules import HeartBeatCode, TransferCode, VoteCode
from raftref.dledger.messages import (
    ElectionResponse,
    ElectionType,
    Entry,
    HeartBeatMessage,
    Index,
    Term,
    TransferCall,
    TransferMessage,
    VoteMessage,
)
from raftref.dledger.server import Server
from raftref.dledger.state import Role
from raftref.dledger.steps import Abandoned

MEMBERS = ("n1", "n2", "n3")
VOTE, BEAT, TRANSFER = ElectionType.VOTE, ElectionType.HEARTBEAT, ElectionType.TRANSFER


def server(
    node: str = "n1",
    term: int = 0,
    role: Role = Role.CANDIDATE,
    leader: str | None = None,
    config: Config = PUBLISHED,
) -> Server:
    made = Server(node, MEMBERS, replace(config, features=VOTES))
    made.member_state.curr_term = Term(term)
    made.member_state.role, made.member_state.leader_id = role, leader
    return made


def leader_of(term: int, *entries: str) -> Server:
    made = server(term=term, role=Role.LEADER, leader="n1")
    for value in entries:
        made.append_as_leader(value)
    return made


def answer(type_: ElectionType, src: str, code: str, term: int = 0) -> ElectionResponse:
    return ElectionResponse(type_, src, "n1", Term(term), code)


def asking(node: Server) -> Server:
    node.vote_for_quorum_responses()
    node.handle_own_vote()
    return node


def vote(term: int, src: str = "n2") -> VoteMessage:
    return VoteMessage(src, "n1", Term(term), Term(-1), Index(-1))


class TestARoundOfVotes:
    """DLedgerLeaderElector.maintainAsCandidate."""

    def test_vote_requests_have_the_present_term_and_the_end_of_the_log(self) -> None:
        """A node that comes back asks in the term that it went down in."""
        node = server(term=4)
        node.ledger_store.append(Entry(Term(3), "a"))
        sent = node.vote_for_quorum_responses().sent
        assert sent == tuple(VoteMessage("n1", peer, Term(4), Term(3), Index(0)) for peer in ("n2", "n3"))

    def test_another_candidate_may_have_the_own_vote_before_it_is_asked_for(self) -> None:
        node = server()
        node.vote_for_quorum_responses()
        node.handle_vote(vote(0))
        node.handle_own_vote()
        assert node.member_state.curr_vote_for == "n2"
        assert node.election.round.answers["n1"] == VoteCode.REJECT_ALREADY_VOTED

    def test_nothing_is_concluded_before_the_own_vote_and_anything_at_any_time_after_it(self) -> None:
        node = server()
        node.vote_for_quorum_responses()
        assert not node.can_parse_vote_responses()
        node.handle_own_vote()
        effects = node.parse_vote_responses()
        assert effects.abandoned == Abandoned(type=VOTE)
        assert (node.member_state.role, node.election.vote_next) == (Role.CANDIDATE, False)

    def test_a_quorum_makes_a_leader_that_sends_a_heartbeat(self) -> None:
        node = asking(server(term=2))
        assert node.handle_vote_response(answer(VOTE, "n3", VoteCode.ACCEPT, 2)).abandoned == Abandoned("n3", VOTE)
        effects = node.parse_vote_responses()
        assert (node.member_state.role, node.member_state.leader_id) == (Role.LEADER, "n1")
        assert effects.heart_beat is not None
        assert effects.heart_beat.term == 2

    def test_without_a_reason_to_raise_the_term_a_candidate_asks_again_in_the_same_one(self) -> None:
        node = asking(server(term=2))
        node.parse_vote_responses()
        assert asking(node).member_state.curr_term == 2

    def test_split_votes_raise_the_term_before_the_next_round(self) -> None:
        node = asking(server(term=2))
        node.handle_vote_response(answer(VOTE, "n2", VoteCode.REJECT_ALREADY_VOTED, 2))
        node.parse_vote_responses()
        node.vote_for_quorum_responses()
        assert (node.member_state.curr_term, node.member_state.curr_vote_for) == (3, None)

    def test_a_higher_term_in_an_answer_is_the_next_one(self) -> None:
        node = asking(server(term=2))
        node.handle_vote_response(answer(VOTE, "n2", VoteCode.REJECT_EXPIRED_VOTE_TERM, 7))
        node.parse_vote_responses()
        node.vote_for_quorum_responses()
        assert node.member_state.curr_term == 7

    def test_a_candidate_that_hears_of_a_term_by_a_request_goes_there_without_asking(self) -> None:
        node = server(term=2)
        node.handle_vote(vote(5))
        assert (node.member_state.curr_term, node.election.need_increase) == (2, True)
        assert not node.can_vote_for_quorum_responses()
        assert node.increase_term().sent == ()
        assert (node.member_state.curr_term, node.election.need_increase) == (5, False)

    def test_the_term_stays_while_answers_are_waited_for(self) -> None:
        node = asking(server(term=2))
        node.handle_vote(vote(5))
        assert not node.can_increase_term()
        node.parse_vote_responses()
        assert node.can_increase_term()

    def test_a_leader_that_lost_its_role_asks_in_its_own_term_and_can_win_it_again(self) -> None:
        node = leader_of(3)
        node.member_state.curr_vote_for = "n1"
        node.send_heartbeats()
        node.parse_heart_beat_responses(True)
        asking(node).handle_vote_response(answer(VOTE, "n2", VoteCode.ACCEPT, 3))
        node.parse_vote_responses()
        assert (node.member_state.role, node.member_state.curr_term) == (Role.LEADER, 3)


class TestHandlingVotes:
    """DLedgerLeaderElector.handleVote."""

    def test_a_vote_is_kept_and_answered(self) -> None:
        node = server(term=1)
        (reply,) = node.handle_vote(vote(1)).sent
        assert reply == ElectionResponse(VOTE, "n1", "n2", Term(1), VoteCode.ACCEPT)
        assert node.member_state.curr_vote_for == "n2"

    def test_a_vote_is_kept_though_nobody_waits_for_the_answer(self) -> None:
        node = server(term=1)
        assert node.handle_vote(VoteMessage("n2", "n1", Term(1), Term(-1), Index(-1), awaited=False)).sent == ()
        assert node.member_state.curr_vote_for == "n2"

    def test_a_candidate_whose_term_is_below_the_log_hears_the_term_of_the_log(self) -> None:
        """Candidate and voter have lost their files of the term (VoteFile)."""
        node = server(term=1)
        node.ledger_store.append(Entry(Term(5), "a"))
        (reply,) = node.handle_vote(VoteMessage("n2", "n1", Term(1), Term(5), Index(0))).sent
        assert reply == ElectionResponse(VOTE, "n1", "n2", Term(5), VoteCode.REJECT_TERM_SMALL_THAN_LEDGER)

    def test_a_leader_is_deposed_by_a_request_of_a_higher_term_alone(self) -> None:
        node = leader_of(1)
        (reply,) = node.handle_vote(vote(2)).sent
        assert isinstance(reply, ElectionResponse)
        assert (reply.code, reply.term) == (VoteCode.REJECT_TERM_NOT_READY, 1)
        assert (node.member_state.role, node.member_state.leader_id) == (Role.CANDIDATE, None)

    def test_a_node_that_is_down_hears_nothing(self) -> None:
        node = server()
        node.crash()
        with pytest.raises(NotEnabled):
            node.handle_vote(vote(0))
        with pytest.raises(NotEnabled):
            node.handle_heart_beat(HeartBeatMessage("n2", "n1", Term(0)))

    def test_votes_are_no_messages_unless_asked_for_and_the_other_way_round(self) -> None:
        coarse = Server("n1", MEMBERS)
        assert not coarse.can_handle_vote(vote(0))
        assert not coarse.can_vote_for_quorum_responses()
        assert not server().can_next_term(Term(1))
        assert not server().can_change_to_candidate()


class TestHeartBeats:
    """DLedgerLeaderElector.handleHeartBeat, sendHeartbeats."""

    def test_a_candidate_follows_the_leader_of_its_term_and_a_follower_stays(self) -> None:
        node = server(term=1)
        for _ in range(2):
            (reply,) = node.handle_heart_beat(HeartBeatMessage("n2", "n1", Term(1))).sent
            assert reply == ElectionResponse(BEAT, "n1", "n2", Term(-1), HeartBeatCode.SUCCESS)
            assert (node.member_state.role, node.member_state.leader_id) == (Role.FOLLOWER, "n2")

    @pytest.mark.parametrize(
        ("src", "code"), [("n9", HeartBeatCode.UNKNOWN_MEMBER), ("n1", HeartBeatCode.UNEXPECTED_MEMBER)]
    )
    def test_a_candidate_follows_neither_a_stranger_nor_itself(self, src: str, code: HeartBeatCode) -> None:
        node = server(term=1)
        (reply,) = node.handle_heart_beat(HeartBeatMessage(src, "n1", Term(1))).sent
        assert reply == ElectionResponse(BEAT, "n1", src, Term(-1), code)
        assert (node.member_state.role, node.member_state.leader_id) == (Role.CANDIDATE, None)

    def test_a_leader_that_is_late_hears_the_term(self) -> None:
        (reply,) = server(term=3).handle_heart_beat(HeartBeatMessage("n2", "n1", Term(1))).sent
        assert reply == ElectionResponse(BEAT, "n1", "n2", Term(3), HeartBeatCode.EXPIRED_TERM)

    def test_a_follower_that_heard_of_a_term_remembers_it_though_it_follows_again(self) -> None:
        node = server(term=1)
        node.handle_vote(vote(2, "n3"))
        node.handle_heart_beat(HeartBeatMessage("n2", "n1", Term(1)))
        assert (node.member_state.role, node.election.need_increase) == (Role.FOLLOWER, True)
        node.heart_beat_time_out()
        node.increase_term()
        assert node.member_state.curr_term == 2

    def test_a_leader_with_a_quorum_goes_on_whatever_term_it_hears_of_unless_that_is_repaired(self) -> None:
        """HighTermLaggard: the member of the higher term refuses its heartbeats for ever."""
        for config, role in [(PUBLISHED, Role.LEADER), (REPAIRED, Role.CANDIDATE)]:
            node = server(term=1, role=Role.LEADER, leader="n1", config=config)
            node.send_heartbeats()
            node.handle_heart_beat_response(answer(BEAT, "n2", HeartBeatCode.SUCCESS, -1))
            node.handle_heart_beat_response(answer(BEAT, "n3", HeartBeatCode.EXPIRED_TERM, 4))
            assert not node.can_parse_heart_beat_responses(True)
            node.parse_heart_beat_responses(False)
            assert node.member_state.role is role
            assert node.election.known_max_term == (-1 if role is Role.LEADER else 4)

    def test_a_leader_without_a_quorum_steps_down_for_the_last_higher_term_that_it_heard_of(self) -> None:
        node = leader_of(1)
        node.send_heartbeats()
        node.handle_heart_beat_response(answer(BEAT, "n2", HeartBeatCode.EXPIRED_TERM, 6))
        node.handle_heart_beat_response(answer(BEAT, "n3", HeartBeatCode.EXPIRED_TERM, 4))
        node.parse_heart_beat_responses(False)
        assert (node.member_state.role, node.election.known_max_term) == (Role.CANDIDATE, 4)

    def test_a_leader_without_a_quorum_goes_on_until_its_time_is_over(self) -> None:
        node = leader_of(1)
        for expired, role in [(False, Role.LEADER), (True, Role.CANDIDATE)]:
            node.send_heartbeats()
            node.parse_heart_beat_responses(expired)
            assert node.member_state.role is role


class TestTransfer:
    """handleLeadershipTransfer, handleTakeLeadership, TakeLeadershipTask.check."""

    def test_a_leader_that_hands_over_takes_no_appends(self) -> None:
        node = leader_of(1, "a")
        (asked,) = node.handle_leadership_transfer("n2").sent
        assert asked == TransferMessage("n1", "n2", Term(1), Index(0))
        assert not node.can_append_as_leader("b")
        assert node.transfer_code("n3", Term(1)) is TransferCode.LEADER_TRANSFERRING

    @pytest.mark.parametrize(
        ("count", "code"), [(999, TransferCode.SUCCESS), (1000, TransferCode.FALL_BEHIND_TOO_MUCH)]
    )
    def test_a_peer_that_lacks_a_thousand_entries_is_not_handed_over_to(self, count: int, code: TransferCode) -> None:
        """DLedgerConfig.maxLeadershipTransferWaitIndex is 1000."""
        node = leader_of(1, *map(str, range(count)))
        assert node.peer_water_marks["n2"] == -1
        assert node.transfer_code("n2", Term(1)) is code

    @pytest.mark.parametrize("code", [TransferCode.TAKE_LEADERSHIP_FAILED, TransferCode.SUCCESS])
    def test_a_leader_that_still_leads_the_term_takes_them_again_whatever_the_answer(self, code: TransferCode) -> None:
        node = leader_of(1)
        node.handle_leadership_transfer("n2")
        node.handle_transfer_response(answer(TRANSFER, "n2", code, 1))
        assert node.can_append_as_leader("b")

    @pytest.mark.parametrize(
        ("code", "left"), [(TransferCode.TAKE_LEADERSHIP_FAILED, None), (TransferCode.SUCCESS, "n3")]
    )
    def test_a_leader_that_leads_again_ends_its_transfer_when_one_of_an_earlier_term_failed(
        self, code: TransferCode, left: str | None
    ) -> None:
        """DLedgerLeaderElector.handleLeadershipTransfer: a failure clears the transferee, whichever it was."""
        node = leader_of(2)
        node.election.transfers |= {TransferCall("n2", Term(1))}
        node.handle_leadership_transfer("n3")
        node.handle_transfer_response(answer(TRANSFER, "n2", code, 1))
        assert node.election.transferee == left

    def test_an_answer_that_never_comes_ends_the_transfer_and_a_late_one_does_nothing(self) -> None:
        node = leader_of(1)
        node.handle_leadership_transfer("n2")
        node.transfer_time_out(TransferCall("n2", Term(1)))
        assert node.can_append_as_leader("b")
        node.handle_leadership_transfer("n3")
        node.handle_transfer_response(answer(TRANSFER, "n2", TransferCode.TAKE_LEADERSHIP_FAILED, 1))
        assert node.election.transferee == "n3"

    def transferee(self) -> Server:
        return server(term=1, role=Role.FOLLOWER, leader="n2")

    def request(self, src: str = "n2", index: int = -1) -> TransferMessage:
        return TransferMessage(src, "n1", Term(1), Index(index))

    def test_a_transferee_refuses_a_leader_that_it_does_not_follow(self) -> None:
        (reply,) = self.transferee().wait_to_take_leadership(self.request("n3")).sent
        assert reply == ElectionResponse(TRANSFER, "n1", "n3", Term(1), TransferCode.INCONSISTENT_LEADER)

    def test_a_transferee_waits_until_its_log_has_reached_the_leaders_or_gives_up(self) -> None:
        node = self.transferee()
        node.wait_to_take_leadership(self.request(index=0))
        assert not node.can_handle_take_leadership()
        (reply,) = node.take_leadership_time_out().sent
        assert isinstance(reply, ElectionResponse)
        assert reply.code == TransferCode.TAKE_LEADERSHIP_FAILED

    def test_a_transferee_whose_log_goes_further_does_not_give_up(self) -> None:
        node = self.transferee()
        node.wait_to_take_leadership(self.request(index=0))
        for value in "ab":
            node.ledger_store.append(Entry(Term(1), value))
        assert not node.can_take_leadership_time_out()
        assert node.can_handle_take_leadership()

    def test_a_transferee_stands_in_the_next_term_at_once_and_answers_when_it_leads(self) -> None:
        node = self.transferee()
        node.wait_to_take_leadership(self.request())
        assert node.handle_take_leadership().sent == ()
        node.increase_term()
        assert node.member_state.curr_term == 2
        asking(node).handle_vote_response(answer(VOTE, "n3", VoteCode.ACCEPT, 2))
        assert node.parse_vote_responses().sent == (
            ElectionResponse(TRANSFER, "n1", "n2", Term(1), TransferCode.SUCCESS),
        )

    def test_a_transferee_answers_that_it_failed_if_it_hears_the_old_leader_before_it_goes_to_the_term(self) -> None:
        node = self.transferee()
        node.wait_to_take_leadership(self.request())
        node.handle_take_leadership()
        failed, _ = node.handle_heart_beat(HeartBeatMessage("n2", "n1", Term(1))).sent
        assert isinstance(failed, ElectionResponse)
        assert failed.code == TransferCode.TAKE_LEADERSHIP_FAILED

    def test_a_transferee_that_left_the_term_meanwhile_says_so(self) -> None:
        node = self.transferee()
        node.wait_to_take_leadership(self.request())
        node.member_state.curr_term = Term(2)
        (reply,) = node.handle_take_leadership().sent
        assert isinstance(reply, ElectionResponse)
        assert reply.code == TransferCode.INCONSISTENT_TERM


def test_an_elector_remembers_nothing_after_a_crash_but_term_and_vote() -> None:
    node = asking(server(term=2))
    node.handle_vote(vote(5))
    node.crash()
    node.restart(0)
    assert node.election == server().election
    assert (node.member_state.curr_term, node.member_state.curr_vote_for) == (2, "n1")
