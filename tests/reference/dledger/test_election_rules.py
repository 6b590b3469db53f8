"""The rules of an election, message by message: each decision, and that spec and reference decide alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import pytest

from raftref.dledger.election_rules import (
    PARSE_RESULTS,
    HeartBeatCode,
    HeartBeatOutcome,
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
from raftref.dledger.messages import HeartBeatMessage, Term, VoteMessage
from raftref.dledger.state import Role
from tests.support.systems.rules import (
    MEMBERS,
    RULES,
    VOTER,
    Decision,
    asked,
    heart_beat_codes,
    heart_beat_outcomes,
    parse_results,
    quorums,
    transfer_codes,
    vote_codes,
    vote_outcomes,
)


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
        """HighTermLaggard: a lagging candidate of a higher term never learns that others should follow it there."""
        assert code(asked(term=9, end_term=1, end=8)) is VoteCode.REJECT_EXPIRED_LEDGER_TERM
        assert code(asked(term=9, end=3)) is VoteCode.REJECT_SMALL_LEDGER_END_INDEX

    def test_a_term_that_is_over_is_rejected_and_a_higher_one_is_not_ready(self) -> None:
        assert code(asked(term=2)) is VoteCode.REJECT_EXPIRED_VOTE_TERM
        assert code(asked(term=4)) is VoteCode.REJECT_TERM_NOT_READY

    def test_a_vote_is_given_once_and_repeated_to_the_same_candidate(self) -> None:
        assert code(asked(), curr_vote_for="n2") is VoteCode.ACCEPT
        assert code(asked(), curr_vote_for="n3") is VoteCode.REJECT_ALREADY_VOTED
        assert code(asked(), curr_vote_for="n3", leader_id="n3") is VoteCode.REJECT_ALREADY_HAS_LEADER

    def test_a_member_with_a_leader_but_no_vote_still_votes(self) -> None:
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

    def test_members_with_longer_logs_are_taken_away_from_the_answers(self) -> None:
        assert parsed(self.YES, self.SHORT, None) is VoteOutcome.BIGGER_LEDGERS
        assert parsed(self.YES, self.SHORT, self.YES) is VoteOutcome.ACCEPTED

    def test_members_on_their_way_to_the_term_make_the_candidate_ask_again_at_once(self) -> None:
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
        for other in (2, 4):
            assert transfer_command_code(leader, Term(other), 0, 9) is TransferCode.INCONSISTENT_TERM
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


#: The answers of a leader to a command of a transfer, and of its transferee.
COMMANDED = {"SUCCESS", "INCONSISTENT_TERM", "NOT_LEADER", "FALL_BEHIND_TOO_MUCH", "LEADER_TRANSFERRING"}
TOLD = {"NONE", "SUCCESS", "TAKE_LEADERSHIP_FAILED", "INTERNAL_ERROR", "EXPIRED_TERM"}

#: All that each rule of the spec can come to, by the function that asks it.
DECIDED: tuple[tuple[Callable[[], Iterator[Decision]], dict[str, Collection[object]]], ...] = (
    (vote_codes, {"VoteCode": VoteCode}),
    (vote_outcomes, {"VoteOutcome": VoteOutcome}),
    (parse_results, {"ParseResult": ParseResult}),
    (heart_beat_codes, {"HeartBeatCode": HeartBeatCode}),
    (heart_beat_outcomes, {"HeartBeatOutcome": HeartBeatOutcome}),
    (transfer_codes, {"TransferCommandCode": COMMANDED, "TakeLeadershipCode": TOLD}),
    (
        quorums,
        {"IsQuorum": (False, True), "QuorumIndexByCounting": range(-1, 3), "QuorumIndexBySorting": range(-1, 3)},
    ),
)


@pytest.mark.parametrize(("ask", "all_of_them"), DECIDED, ids=lambda each: getattr(each, "__name__", ""))
def test_spec_and_reference_decide_alike(
    ask: Callable[[], Iterator[Decision]], all_of_them: dict[str, Collection[object]]
) -> None:
    found: dict[str, set[object]] = {}
    for decision in ask():
        assert decision.ours == decision.theirs, decision
        found.setdefault(decision.rule, set()).add(decision.ours)
    assert found == {rule: set(each) for rule, each in all_of_them.items()}


def test_every_rule_is_asked() -> None:
    assert [rule for rule, _ in DECIDED] == list(RULES)
