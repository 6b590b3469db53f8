"""The rules that spec and reference both state as functions, asked beside each other on all small arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from lockstep.conformance.json_values import to_value
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import FORMAT, Header
from raftref.dledger.choices import VOTES
from raftref.dledger.election_rules import (
    PARSE_RESULTS,
    HeartBeatCode,
    Member,
    VoteCode,
    VoteOutcome,
    heart_beat_code,
    heart_beat_outcome,
    take_leadership_code,
    transfer_command_code,
    vote_code,
    vote_outcome,
)
from raftref.dledger.messages import HeartBeatMessage, Index, Term, VoteMessage
from raftref.dledger.quorum import is_quorum, quorum_index_by_counting, quorum_index_by_sorting
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.state import Role
from raftref.records import record
from tests.support.systems.dledger import WORDS
from tests.support.systems.mutants import Decision

MEMBERS = ("n1", "n2", "n3")
#: Two members of the group and one that is none.
NAMES = ("n1", "n2", "n9")
VOTER = Member("n1", MEMBERS, Role.FOLLOWER, Term(3), None, None, Term(2), Index(4), None, False)


@functools.cache
def _spec() -> tuple[Spec, State]:
    plan = FaultPlan(features=VOTES)
    header = Header(FORMAT, "test", "1", "DLedger", plan.node_ids, plan.constants())
    loaded = trace_spec(header, "test")
    (state,) = loaded.initial_states()
    return loaded, state


def _decide(ours: Any, rule: str, *args: Any) -> Decision:
    loaded, state = _spec()
    return Decision(rule, args, ours, loaded.evaluate(rule, state, *(to_value(arg, WORDS) for arg in args)))


def asked(src: str = "n2", term: int = 3, end_term: int = 2, end: int = 4) -> VoteMessage:
    """Return a request for the vote of n1."""
    return VoteMessage(src, "n1", Term(term), Term(end_term), Index(end))


def vote_codes() -> Iterator[Decision]:
    """Yield what a voter answers to every request."""
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
            yield _decide(
                vote_code(voter, m, to_self=to_self), "VoteCode", _as_record(voter), record(m), _GROUP, to_self
            )


def vote_outcomes() -> Iterator[Decision]:
    """Yield what a candidate concludes from all answers to a round of votes."""
    for codes, max_term in product(product((None, *VoteCode), repeat=3), (2, 3, 4)):
        answers = dict(zip(MEMBERS, codes, strict=True))
        yield _decide(vote_outcome(Term(3), Term(max_term), answers), "VoteOutcome", 3, max_term, _as_written(answers))


def parse_results() -> Iterator[Decision]:
    """Yield what a candidate does after each outcome of a round of votes."""
    for outcome in VoteOutcome:
        yield _decide(PARSE_RESULTS[outcome], "ParseResult", str(outcome))


def heart_beat_codes() -> Iterator[Decision]:
    """Yield what a follower answers to heartbeats."""
    for src, term, leader in product(NAMES, (2, 3, 4), (None, "n2", "n3")):
        member, m = replace(VOTER, leader_id=leader), HeartBeatMessage(src, "n1", Term(term))
        yield _decide(heart_beat_code(member, m), "HeartBeatCode", _as_record(member), record(m), _GROUP)


def heart_beat_outcomes() -> Iterator[Decision]:
    """Yield what a leader concludes from all answers to a round of heartbeats."""
    for codes, max_term in product(product((None, *HeartBeatCode), repeat=3), (-1, 2, 3, 4)):
        answers = dict(zip(MEMBERS, codes, strict=True))
        ours = heart_beat_outcome(Term(3), Term(max_term), answers)
        yield _decide(ours, "HeartBeatOutcome", 3, max_term, _as_written(answers))


def transfer_codes() -> Iterator[Decision]:
    """Yield what the leader and the transferee answer in a transfer of leadership."""
    for role, term, behind, transferee in product(Role, (2, 3, 4), (0, 5, 6), (None, "n2")):
        member = replace(VOTER, role=role, transferee=transferee)
        ours = transfer_command_code(member, Term(term), behind, 5)
        yield _decide(ours, "TransferCommandCode", _as_record(member), term, behind, 5)
    for to_take, term, role in product((-1, 2, 3), (1, 2, 3, 4), (Role.LEADER, Role.FOLLOWER, Role.CANDIDATE)):
        code = take_leadership_code(Term(to_take), Term(term), role)
        yield _decide(code or "NONE", "TakeLeadershipCode", to_take, term, str(role))


def quorums() -> Iterator[Decision]:
    """Yield what a majority is, and the index that a majority stores, in both published forms."""
    for size in range(1, 5):
        members = [f"n{nth}" for nth in range(size)]
        for count in range(size + 1):
            yield _decide(is_quorum(count, size), "IsQuorum", {"#set": members[:count]}, {"#set": members})
        for marks in product(map(Index, range(-1, 3)), repeat=size):
            written = dict(zip(members, marks, strict=True))
            yield _decide(quorum_index_by_counting(marks), "QuorumIndexByCounting", written)
            yield _decide(quorum_index_by_sorting(marks), "QuorumIndexBySorting", written)


RULES: tuple[Callable[[], Iterator[Decision]], ...] = (
    vote_codes,
    vote_outcomes,
    parse_results,
    heart_beat_codes,
    heart_beat_outcomes,
    transfer_codes,
    quorums,
)

_GROUP = {"#set": list(MEMBERS)}


def _as_record(member: Member) -> dict[str, Any]:
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


def _as_written(answers: Mapping[str, str | None]) -> dict[str, str]:
    return {member: "NONE" if one is None else str(one) for member, one in answers.items()}
