"""The rules of an election, message by message: spec/dledger/ElectionRules.tla in Python.

Each is one decision of the code, its tests in the code's order: the answer of a voter, the conclusion of a
candidate, and the same for heartbeats and for the transfer of leadership. There is no state here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from raftref.dledger.messages import NO_TERM, HeartBeatMessage, Index, NodeId, Term, VoteMessage
from raftref.dledger.quorum import is_quorum
from raftref.dledger.state import Role


class VoteCode(StrEnum):
    """Answers of a member to a candidate. Source: VoteResponse.RESULT, but for UNKNOWN, which is no answer."""

    ACCEPT = "ACCEPT"
    REJECT_UNKNOWN_LEADER = "REJECT_UNKNOWN_LEADER"
    REJECT_UNEXPECTED_LEADER = "REJECT_UNEXPECTED_LEADER"
    REJECT_EXPIRED_LEDGER_TERM = "REJECT_EXPIRED_LEDGER_TERM"
    REJECT_SMALL_LEDGER_END_INDEX = "REJECT_SMALL_LEDGER_END_INDEX"
    REJECT_EXPIRED_VOTE_TERM = "REJECT_EXPIRED_VOTE_TERM"
    REJECT_ALREADY_HAS_LEADER = "REJECT_ALREADY_HAS_LEADER"
    REJECT_ALREADY_VOTED = "REJECT_ALREADY_VOTED"
    REJECT_TERM_NOT_READY = "REJECT_TERM_NOT_READY"
    REJECT_TERM_SMALL_THAN_LEDGER = "REJECT_TERM_SMALL_THAN_LEDGER"
    REJECT_TAKING_LEADERSHIP = "REJECT_TAKING_LEADERSHIP"


#: The answers that carry a term which the candidate may have to go to.
CARRIES_TERM = frozenset({VoteCode.REJECT_EXPIRED_VOTE_TERM, VoteCode.REJECT_TERM_SMALL_THAN_LEDGER})
#: The answers of members whose log goes further than the candidate's.
BIGGER_LEDGER = frozenset({VoteCode.REJECT_EXPIRED_LEDGER_TERM, VoteCode.REJECT_SMALL_LEDGER_END_INDEX})


class ParseResult(StrEnum):
    """The next act of a candidate after a round of votes. Source: VoteResponse.ParseResult."""

    WAIT_TO_REVOTE = "WAIT_TO_REVOTE"
    WAIT_TO_VOTE_NEXT = "WAIT_TO_VOTE_NEXT"
    REVOTE_IMMEDIATELY = "REVOTE_IMMEDIATELY"
    PASSED = "PASSED"


class VoteOutcome(StrEnum):
    """Outcomes of a round of votes, in the order of the code's tests."""

    HIGHER_TERM = "HIGHER_TERM"
    HAS_LEADER = "HAS_LEADER"
    NO_QUORUM = "NO_QUORUM"
    BIGGER_LEDGERS = "BIGGER_LEDGERS"
    ACCEPTED = "ACCEPTED"
    NOT_READY = "NOT_READY"
    SPLIT = "SPLIT"


class HeartBeatCode(StrEnum):
    """Answers of a member to a heartbeat. Source: DLedgerResponseCode."""

    SUCCESS = "SUCCESS"
    UNKNOWN_MEMBER = "UNKNOWN_MEMBER"
    UNEXPECTED_MEMBER = "UNEXPECTED_MEMBER"
    EXPIRED_TERM = "EXPIRED_TERM"
    INCONSISTENT_LEADER = "INCONSISTENT_LEADER"
    TERM_NOT_READY = "TERM_NOT_READY"


class HeartBeatOutcome(StrEnum):
    """Outcomes of a round of heartbeats, in the order of the code's tests."""

    QUORUM = "QUORUM"
    NOT_READY = "NOT_READY"
    HIGHER_TERM = "HIGHER_TERM"
    INCONSISTENT_LEADER = "INCONSISTENT_LEADER"
    NO_QUORUM = "NO_QUORUM"


class TransferCode(StrEnum):
    """Answers to a transfer of leadership. Source: DLedgerResponseCode."""

    SUCCESS = "SUCCESS"
    NOT_LEADER = "NOT_LEADER"
    FALL_BEHIND_TOO_MUCH = "FALL_BEHIND_TOO_MUCH"
    LEADER_TRANSFERRING = "LEADER_TRANSFERRING"
    INCONSISTENT_LEADER = "INCONSISTENT_LEADER"
    INCONSISTENT_TERM = "INCONSISTENT_TERM"
    EXPIRED_TERM = "EXPIRED_TERM"
    TAKE_LEADERSHIP_FAILED = "TAKE_LEADERSHIP_FAILED"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    NETWORK_ERROR = "NETWORK_ERROR"


@dataclass(frozen=True, slots=True)
class Member:
    """A node as it looks to a rule of an election.

    Source: MemberState, with its copy of where the store ends.
    """

    node_id: NodeId
    members: Collection[NodeId]
    role: Role
    curr_term: Term
    curr_vote_for: NodeId | None
    leader_id: NodeId | None
    ledger_end_term: Term
    ledger_end_index: Index
    transferee: NodeId | None
    is_taking_leadership: bool


def vote_code(voter: Member, m: VoteMessage, *, to_self: bool) -> VoteCode:
    """Decide on a vote. The logs are compared before the terms, and the voter's role is not asked.

    Args:
        voter: The member that decides.
        m: The candidate's request.
        to_self: Whether the candidate asks itself.

    Source: DLedgerLeaderElector.handleVote.
    """
    candidate_end = (m.ledger_end_term, m.ledger_end_index)
    if m.src not in voter.members:
        return VoteCode.REJECT_UNKNOWN_LEADER
    if not to_self and m.src == voter.node_id:
        return VoteCode.REJECT_UNEXPECTED_LEADER
    if m.ledger_end_term < voter.ledger_end_term:
        return VoteCode.REJECT_EXPIRED_LEDGER_TERM
    if candidate_end < (voter.ledger_end_term, voter.ledger_end_index):
        return VoteCode.REJECT_SMALL_LEDGER_END_INDEX
    if m.term != voter.curr_term:
        return VoteCode.REJECT_EXPIRED_VOTE_TERM if m.term < voter.curr_term else VoteCode.REJECT_TERM_NOT_READY
    if voter.curr_vote_for not in (None, m.src):
        return VoteCode.REJECT_ALREADY_VOTED if voter.leader_id is None else VoteCode.REJECT_ALREADY_HAS_LEADER
    if m.term < voter.ledger_end_term:
        return VoteCode.REJECT_TERM_SMALL_THAN_LEDGER
    no_further = candidate_end <= (voter.ledger_end_term, voter.ledger_end_index)
    if not to_self and voter.is_taking_leadership and no_further:
        return VoteCode.REJECT_TAKING_LEADERSHIP
    return VoteCode.ACCEPT


def answered_term(voter: Member, code: VoteCode) -> Term:
    """Return the term that the answer to a vote carries: the voter's, or that of its last entry where that is higher.

    Source: DLedgerLeaderElector.handleVote.
    """
    return voter.ledger_end_term if code is VoteCode.REJECT_TERM_SMALL_THAN_LEDGER else voter.curr_term


def vote_outcome(term: Term, max_term: Term, answers: Mapping[NodeId, str | None]) -> VoteOutcome:
    """Return the outcome of a round of votes.

    Args:
        term: The term of the round.
        max_term: The highest term that an answer carried.
        answers: The answer of each member of the group, None where there is none yet.

    Source: DLedgerLeaderElector.maintainAsCandidate.
    """
    size = len(answers)
    given = [code for code in answers.values() if code is not None]
    accepted = given.count(VoteCode.ACCEPT)
    if max_term > term:
        return VoteOutcome.HIGHER_TERM
    if VoteCode.REJECT_ALREADY_HAS_LEADER in given:
        return VoteOutcome.HAS_LEADER
    if not is_quorum(len(given), size):
        return VoteOutcome.NO_QUORUM
    if not is_quorum(sum(code not in BIGGER_LEDGER for code in given), size):
        return VoteOutcome.BIGGER_LEDGERS
    if is_quorum(accepted, size):
        return VoteOutcome.ACCEPTED
    if is_quorum(accepted + given.count(VoteCode.REJECT_TERM_NOT_READY), size):
        return VoteOutcome.NOT_READY
    return VoteOutcome.SPLIT


#: The next act of the candidate. Source: DLedgerLeaderElector.maintainAsCandidate.
PARSE_RESULTS = {
    VoteOutcome.HIGHER_TERM: ParseResult.WAIT_TO_VOTE_NEXT,
    VoteOutcome.HAS_LEADER: ParseResult.WAIT_TO_REVOTE,
    VoteOutcome.NO_QUORUM: ParseResult.WAIT_TO_REVOTE,
    VoteOutcome.BIGGER_LEDGERS: ParseResult.WAIT_TO_REVOTE,
    VoteOutcome.ACCEPTED: ParseResult.PASSED,
    VoteOutcome.NOT_READY: ParseResult.REVOTE_IMMEDIATELY,
    VoteOutcome.SPLIT: ParseResult.WAIT_TO_VOTE_NEXT,
}


def heart_beat_code(member: Member, m: HeartBeatMessage) -> HeartBeatCode:
    """Decide on a heartbeat. The logs are not compared.

    Args:
        member: The member that hears it.
        m: The heartbeat.

    Source: DLedgerLeaderElector.handleHeartBeat.
    """
    if m.src not in member.members:
        return HeartBeatCode.UNKNOWN_MEMBER
    if m.src == member.node_id:
        return HeartBeatCode.UNEXPECTED_MEMBER
    if m.term != member.curr_term:
        return HeartBeatCode.EXPIRED_TERM if m.term < member.curr_term else HeartBeatCode.TERM_NOT_READY
    if member.leader_id not in (None, m.src):
        return HeartBeatCode.INCONSISTENT_LEADER
    return HeartBeatCode.SUCCESS


def heart_beat_outcome(term: Term, max_term: Term, answers: Mapping[NodeId, str | None]) -> HeartBeatOutcome:
    """Return the outcome of a round of heartbeats; a higher term counts only without a quorum.

    Args:
        term: The term of the round.
        max_term: The last higher term that an answer carried, -1 for none.
        answers: The answer of each member of the group, the leader's own among them, None where there is none.

    Source: DLedgerLeaderElector.sendHeartbeats.
    """
    given = list(answers.values())
    success = given.count(HeartBeatCode.SUCCESS)
    if is_quorum(success, len(answers)):
        return HeartBeatOutcome.QUORUM
    if is_quorum(success + given.count(HeartBeatCode.TERM_NOT_READY), len(answers)):
        return HeartBeatOutcome.NOT_READY
    if max_term > term:
        return HeartBeatOutcome.HIGHER_TERM
    if HeartBeatCode.INCONSISTENT_LEADER in given:
        return HeartBeatOutcome.INCONSISTENT_LEADER
    return HeartBeatOutcome.NO_QUORUM


def transfer_command_code(member: Member, term: Term, fall_behind: int, max_wait_index: int) -> TransferCode:
    """Decide on a client's command to hand over the leadership of a term to a peer.

    Args:
        member: The member that gets the command.
        term: The term the client speaks of.
        fall_behind: The number of entries that the peer is known to lack.
        max_wait_index: The number from which on it is too far behind.

    Source: DLedgerServer.handleLeadershipTransfer, then DLedgerLeaderElector's.
    """
    if member.curr_term != term:
        return TransferCode.INCONSISTENT_TERM
    if member.role is not Role.LEADER:
        return TransferCode.NOT_LEADER
    if fall_behind >= max_wait_index:
        return TransferCode.FALL_BEHIND_TOO_MUCH
    return TransferCode.SUCCESS if member.transferee is None else TransferCode.LEADER_TRANSFERRING


def take_leadership_code(to_take: Term, term: Term, role: Role) -> TransferCode | None:
    """Return the answer to the old leader when its transferee changes its role; None: nothing yet.

    Args:
        to_take: The term that the transferee is to lead, -1 where nobody waits for it.
        term: The term in which it changes.
        role: The role that it takes.

    Source: TakeLeadershipTask.check.
    """
    if to_take == NO_TERM:
        return None
    if term > to_take:
        return TransferCode.EXPIRED_TERM
    if role is Role.FOLLOWER:
        return TransferCode.TAKE_LEADERSHIP_FAILED
    if term < to_take:
        return TransferCode.INTERNAL_ERROR
    return TransferCode.SUCCESS if role is Role.LEADER else None
