"""The rules of an election, message by message: each decision, and that spec and reference decide alike."""

from __future__ import annotations

import functools
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from dledger import WORDS
from lockstep.conformance.compare import to_value
from lockstep.systems.specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.format import FORMAT, Header
from raftref.dledger import VOTES, HeartBeatMessage, Index, Role, Term, VoteMessage
from raftref.dledger.election.election_rules import (
    PARSE_RESULTS,
    HeartBeatCode,
    HeartBeatOutcome,
    Member,
    ParseResult,
    TransferCode,
    VoteCode,
    VoteOutcome,
    heart_beat_code,
    heart_beat_outcome,
    take_leadership_code,
    transfer_command_code,
    vote_code,
    vote_outcome,
)
from raftref.dledger.simulation import FaultPlan, constants

MEMBERS = ("n1", "n2", "n3")
VOTER = Member("n1", MEMBERS, Role.FOLLOWER, Term(3), None, None, Term(2), Index(4), None, False)


def asked(src: str = "n2", term: int = 3, end_term: int = 2, end: int = 4) -> VoteMessage:
    return VoteMessage(src, "n1", Term(term), Term(end_term), Index(end))


def code(m: VoteMessage, **known: Any) -> VoteCode:
    return vote_code(replace(VOTER, **known), m, to_self=False)


class TestVoteCode:
    """DLedgerLeaderElector.handleVote, its tests in its order."""

    def test_a_stranger_is_rejected_first_of_all(self) -> None:
        assert code(asked("n9", term=1, end_term=0)) is VoteCode.REJECT_UNKNOWN_LEADER

    def test_a_member_asks_itself_by_no_message(self) -> None:
        assert code(asked("n1")) is VoteCode.REJECT_UNEXPECTED_LEADER
        assert vote_code(VOTER, asked("n1"), to_self=True) is VoteCode.ACCEPT

    def test_logs_are_compared_before_terms_so_a_poor_log_of_a_high_term_bumps_no_term(self) -> None:
        """D17: a lagging candidate of a higher term never learns that others should follow it there."""
        assert code(asked(term=9, end_term=1, end=8)) is VoteCode.REJECT_EXPIRED_LEDGER_TERM
        assert code(asked(term=9, end=3)) is VoteCode.REJECT_SMALL_LEDGER_END_INDEX

    def test_a_term_that_is_over_is_rejected_and_a_higher_one_is_not_ready(self) -> None:
        assert code(asked(term=2)) is VoteCode.REJECT_EXPIRED_VOTE_TERM
        assert code(asked(term=4)) is VoteCode.REJECT_TERM_NOT_READY

    def test_a_vote_is_given_once_and_repeated_to_the_same_candidate(self) -> None:
        assert code(asked(), curr_vote_for="n2") is VoteCode.ACCEPT
        assert code(asked(), curr_vote_for="n3") is VoteCode.REJECT_ALREADY_VOTED
        assert code(asked(), curr_vote_for="n3", leader_id="n3") is VoteCode.REJECT_ALREADY_HAS_LEADER

    def test_who_has_a_leader_but_no_vote_still_votes(self) -> None:
        assert code(asked(), leader_id="n3") is VoteCode.ACCEPT

    @pytest.mark.parametrize("role", [Role.LEADER, Role.FOLLOWER, Role.CANDIDATE])
    def test_the_role_of_the_voter_is_not_asked(self, role: Role) -> None:
        assert code(asked(), role=role) is VoteCode.ACCEPT

    def test_a_term_below_the_voters_log_is_rejected(self) -> None:
        assert code(asked(end_term=5), ledger_end_term=Term(5)) is VoteCode.REJECT_TERM_SMALL_THAN_LEDGER

    def test_a_transferee_turns_away_whose_log_goes_no_further_but_not_itself(self) -> None:
        taking = replace(VOTER, is_taking_leadership=True)
        assert vote_code(taking, asked(), to_self=False) is VoteCode.REJECT_TAKING_LEADERSHIP
        assert vote_code(taking, asked(end=5), to_self=False) is VoteCode.ACCEPT
        assert vote_code(taking, asked("n1"), to_self=True) is VoteCode.ACCEPT


def parsed(*codes: str | None, max_term: int = 3) -> VoteOutcome:
    return vote_outcome(Term(3), Term(max_term), dict(zip(MEMBERS, codes, strict=True)))


class TestVoteOutcome:
    """DLedgerLeaderElector.maintainAsCandidate, its tests in its order."""

    YES, NOT_READY = VoteCode.ACCEPT, VoteCode.REJECT_TERM_NOT_READY
    SHORT, TAKEN = VoteCode.REJECT_SMALL_LEDGER_END_INDEX, VoteCode.REJECT_ALREADY_VOTED
    LED = VoteCode.REJECT_ALREADY_HAS_LEADER

    def test_a_higher_term_comes_first_even_before_a_quorum(self) -> None:
        assert parsed(self.YES, self.YES, self.LED, max_term=4) is VoteOutcome.HIGHER_TERM

    def test_one_member_with_a_leader_outweighs_a_quorum(self) -> None:
        assert parsed(self.YES, self.YES, self.LED) is VoteOutcome.HAS_LEADER

    def test_too_few_answers_are_no_quorum(self) -> None:
        assert parsed(self.YES, None, None) is VoteOutcome.NO_QUORUM

    def test_those_with_longer_logs_are_taken_away_from_the_answers(self) -> None:
        assert parsed(self.YES, self.SHORT, None) is VoteOutcome.BIGGER_LEDGERS
        assert parsed(self.YES, self.SHORT, self.YES) is VoteOutcome.ACCEPTED

    def test_those_on_their_way_to_the_term_make_the_candidate_ask_again_at_once(self) -> None:
        assert parsed(self.YES, self.NOT_READY, None) is VoteOutcome.NOT_READY

    def test_votes_that_others_got_are_split(self) -> None:
        assert parsed(self.YES, self.TAKEN, None) is VoteOutcome.SPLIT

    def test_only_a_higher_term_and_split_votes_raise_the_term(self) -> None:
        raises = {outcome for outcome, result in PARSE_RESULTS.items() if result is ParseResult.WAIT_TO_VOTE_NEXT}
        assert raises == {VoteOutcome.HIGHER_TERM, VoteOutcome.SPLIT}


class TestHeartBeats:
    """DLedgerLeaderElector.handleHeartBeat, sendHeartbeats."""

    @pytest.mark.parametrize(
        ("src", "term", "leader", "expected"),
        [
            ("n9", 3, None, HeartBeatCode.UNKNOWN_MEMBER),
            ("n1", 3, None, HeartBeatCode.UNEXPECTED_MEMBER),
            ("n2", 2, None, HeartBeatCode.EXPIRED_TERM),
            ("n2", 4, "n3", HeartBeatCode.TERM_NOT_READY),
            ("n2", 3, "n3", HeartBeatCode.INCONSISTENT_LEADER),
            ("n2", 3, None, HeartBeatCode.SUCCESS),
            ("n2", 3, "n2", HeartBeatCode.SUCCESS),
        ],
    )
    def test_a_heartbeat_is_judged_by_term_and_leader_and_not_by_logs(
        self, src: str, term: int, leader: str | None, expected: HeartBeatCode
    ) -> None:
        assert heart_beat_code(replace(VOTER, leader_id=leader), HeartBeatMessage(src, "n1", Term(term))) is expected

    def test_a_higher_term_does_not_depose_a_leader_that_has_its_quorum(self) -> None:
        answers = {"n1": HeartBeatCode.SUCCESS, "n2": HeartBeatCode.SUCCESS, "n3": HeartBeatCode.EXPIRED_TERM}
        assert heart_beat_outcome(Term(3), Term(9), answers) is HeartBeatOutcome.QUORUM
        assert heart_beat_outcome(Term(3), Term(9), answers | {"n2": None}) is HeartBeatOutcome.HIGHER_TERM


class TestTransfer:
    """DLedgerServer.handleLeadershipTransfer, TakeLeadershipTask.check."""

    def test_a_command_is_for_the_leader_of_the_term_and_a_peer_that_is_near(self) -> None:
        leader = replace(VOTER, role=Role.LEADER)
        assert transfer_command_code(leader, Term(2), 0, 9) is TransferCode.INCONSISTENT_TERM
        assert transfer_command_code(VOTER, Term(3), 0, 9) is TransferCode.NOT_LEADER
        assert transfer_command_code(leader, Term(3), 9, 9) is TransferCode.FALL_BEHIND_TOO_MUCH
        assert (
            transfer_command_code(replace(leader, transferee="n2"), Term(3), 8, 9) is TransferCode.LEADER_TRANSFERRING
        )
        assert transfer_command_code(leader, Term(3), 8, 9) is TransferCode.SUCCESS

    def test_the_old_leader_hears_of_the_transferees_next_change_of_role(self) -> None:
        assert take_leadership_code(Term(4), Term(4), Role.CANDIDATE) is None
        assert take_leadership_code(Term(4), Term(4), Role.LEADER) is TransferCode.SUCCESS
        assert take_leadership_code(Term(4), Term(4), Role.FOLLOWER) is TransferCode.TAKE_LEADERSHIP_FAILED
        assert take_leadership_code(Term(4), Term(3), Role.FOLLOWER) is TransferCode.TAKE_LEADERSHIP_FAILED
        assert take_leadership_code(Term(4), Term(3), Role.CANDIDATE) is TransferCode.INTERNAL_ERROR
        assert take_leadership_code(Term(4), Term(5), Role.CANDIDATE) is TransferCode.EXPIRED_TERM
        assert take_leadership_code(Term(-1), Term(5), Role.LEADER) is None


# ---- Spec and reference decide alike ----


@functools.cache
def spec() -> tuple[Spec, State]:
    plan = FaultPlan(grain=VOTES)
    header = Header(FORMAT, "test", "1", "DLedger", plan.node_ids, {**constants(plan)})
    loaded = trace_spec(header, "test")
    (state,) = loaded.initial_states()
    return loaded, state


def decides(rule: str, *args: Any) -> Any:
    loaded, state = spec()
    return loaded.evaluate(rule, state, *(to_value(arg, WORDS) for arg in args))


def as_record(member: Member) -> dict[str, Any]:
    return {
        "id": member.node_id,
        "currTerm": member.curr_term,
        "hasVoted": member.curr_vote_for is not None,
        "currVoteFor": member.curr_vote_for,
        "hasLeader": member.leader_id is not None,
        "leaderId": member.leader_id,
        "isLeader": member.role is Role.LEADER,
        "ledgerEndTerm": member.ledger_end_term,
        "ledgerEndIndex": member.ledger_end_index,
        "hasTransferee": member.transferee is not None,
        "isTakingLeadership": member.is_taking_leadership,
    }


GROUP = {"#set": list(MEMBERS)}
NAMES = ("n1", "n2", "n9")


def test_spec_and_reference_answer_every_vote_request_alike() -> None:
    found = set()
    known = product((1, 2), (None, "n2", "n3"), (None, "n3"), (1, 2), (1, 2), (False, True))
    for curr_term, vote, leader, end_term, end, taking in known:
        voter = replace(
            VOTER,
            curr_term=Term(curr_term),
            curr_vote_for=vote,
            leader_id=leader,
            ledger_end_term=Term(end_term),
            ledger_end_index=Index(end),
            is_taking_leadership=taking,
        )
        for src, term, m_end_term, m_end, to_self in product(NAMES, (0, 1, 2, 3), (1, 2), (1, 2), (False, True)):
            m = asked(src, term, m_end_term, m_end)
            ours = vote_code(voter, m, to_self=to_self)
            assert ours == decides("VoteCode", as_record(voter), m.record(), GROUP, to_self), (voter, m, to_self)
            found.add(ours)
    assert found == set(VoteCode)


def test_spec_and_reference_draw_the_same_conclusion_from_all_answers_to_a_round() -> None:
    found = set()
    for codes, max_term in product(product((None, *VoteCode), repeat=3), (3, 4)):
        answers = dict(zip(MEMBERS, codes, strict=True))
        written = {member: "NONE" if one is None else str(one) for member, one in answers.items()}
        ours = vote_outcome(Term(3), Term(max_term), answers)
        assert ours == decides("VoteOutcome", 3, max_term, written), answers
        assert PARSE_RESULTS[ours] == decides("ParseResult", str(ours))
        found.add(ours)
    assert found == set(VoteOutcome)


def test_spec_and_reference_answer_and_conclude_alike_on_heartbeats() -> None:
    for src, term, leader in product(NAMES, (2, 3, 4), (None, "n2", "n3")):
        member, m = replace(VOTER, leader_id=leader), HeartBeatMessage(src, "n1", Term(term))
        assert heart_beat_code(member, m) == decides("HeartBeatCode", as_record(member), m.record(), GROUP)
    found = set()
    for codes, max_term in product(product((None, *HeartBeatCode), repeat=3), (-1, 2, 4)):
        answers = dict(zip(MEMBERS, codes, strict=True))
        written = {member: "NONE" if one is None else str(one) for member, one in answers.items()}
        ours = heart_beat_outcome(Term(3), Term(max_term), answers)
        assert ours == decides("HeartBeatOutcome", 3, max_term, written)
        found.add(ours)
    assert found == set(HeartBeatOutcome)


def test_spec_and_reference_decide_alike_on_transfers() -> None:
    for role, term, behind, transferee in product(Role, (2, 3), (0, 5), (None, "n2")):
        member = replace(VOTER, role=role, transferee=transferee)
        ours = transfer_command_code(member, Term(term), behind, 5)
        assert ours == decides("TransferCommandCode", as_record(member), term, behind, 5)
    for to_take, term, role in product((-1, 2, 3), (1, 2, 3, 4), (Role.LEADER, Role.FOLLOWER, Role.CANDIDATE)):
        told = take_leadership_code(Term(to_take), Term(term), role)
        assert (told or "NONE") == decides("TakeLeadershipCode", to_take, term, str(role))
