"""A process that was stopped reads its vote requests late: DLedgerLeaderElector.handleVote, MemberState.setCurrVoteFor.

A candidate asks again until it has won, and the process, once it runs, answers each request. By then it may follow. In
a group of five three votes elect a leader, whose heartbeat may overtake its request to a fourth.
"""

from __future__ import annotations

from typing import Any

from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import OBSERVE, trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import Continued


def vote(recorded: Continued, node: str, candidate: str) -> int:
    """Add the line of a vote by a follower of n0 in term 0; return its number."""
    vote: dict[str, Any] = {"role": "FOLLOWER", "term": 0, "leaderId": "n0", "votedFor": candidate, "knownMaxTerm": 0}
    ends = {"endIndex": recorded.end[node], "endTerm": 0}
    return recorded.add("role", node, op="setCurrVoteFor", **vote, **ends, by="net")


def becomes(recorded: Continued, node: str, op: str, **fields: Any) -> int:
    """Add the line of a change of n0's role in term 0; return its number."""
    ends = {"endIndex": recorded.end[node], "endTerm": 0, "by": "StateMaintainer"}
    return recorded.add("role", node, op=op, term=0, votedFor="n0", knownMaxTerm=0, **ends, **fields)


def imported(recorded: Continued) -> Imported:
    return import_lines(recorded.recording(), "recorded")


def actions(found: Imported, line: int) -> list[str]:
    return [event.action for event in found if event.line == line]


def test_a_vote_repeated_after_the_candidate_has_won_is_an_observation() -> None:
    recorded = Continued()
    line = vote(recorded, "n2", "n0")
    found = imported(recorded)
    assert actions(found, line) == [OBSERVE]
    assert found.summary.forced == ()
    trace = Trace(trace_lines(found.header, found), "recorded")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is Verdict.HOLDS


def test_a_first_vote_after_the_voter_has_followed_the_candidate_reaches_the_leader() -> None:
    recorded = Continued()
    votes = {"n0": "n0", "n1": "n0", "n2": None}  # n1, which voted for itself, votes for n0 in place of n2
    recorded.lines = [
        line | {"votedFor": votes[line["node"]]} if line["kind"] == "role" else line
        for line in recorded.lines
        if line.get("op") != "setCurrVoteFor" or line["node"] != "n2"
    ]
    line = vote(recorded, "n2", "n0")
    found = imported(recorded)
    assert (actions(found, line), found.summary.forced) == (["SetCurrVoteFor"], ())
    trace = Trace(trace_lines(found.header, found), "recorded")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is Verdict.HOLDS


def test_a_vote_of_a_follower_counts_where_its_leader_stands_again_in_the_same_term() -> None:
    recorded = Continued()
    becomes(recorded, "n0", "changeToCandidate", role="CANDIDATE", leaderId=None)
    becomes(recorded, "n0", "setCurrVoteFor", role="CANDIDATE", leaderId=None)
    line = vote(recorded, "n2", "n0")
    wins = becomes(recorded, "n0", "changeToLeader", role="LEADER", leaderId="n0")
    found = imported(recorded)
    assert (actions(found, line), actions(found, wins)) == (["SetCurrVoteFor"], ["ChangeToLeader"])
    trace = Trace(trace_lines(found.header, found), "recorded")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is Verdict.HOLDS


def test_another_vote_in_the_same_term_is_no_observation() -> None:
    recorded = Continued()
    line = vote(recorded, "n2", "n1")
    found = imported(recorded)
    assert actions(found, line) == ["SetCurrVoteFor"]
    trace = Trace(trace_lines(found.header, found), "recorded")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is not Verdict.HOLDS


def test_a_vote_repeated_while_the_candidate_is_one_stays_a_vote() -> None:
    recorded = Continued()
    first = next(number for number, line in enumerate(recorded.lines) if line.get("votedFor") == "n0" != line["node"])
    recorded.lines.insert(first + 1, dict(recorded.lines[first]))
    found = imported(recorded)
    assert [actions(found, line) for line in (first + 1, first + 2)] == [["SetCurrVoteFor"]] * 2
