"""A process that was stopped reads its vote requests late: DLedgerLeaderElector.handleVote, MemberState.setCurrVoteFor.

A candidate asks again until it has won, and the process, once it runs, answers each request. By then it may follow.
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


def vote(told: Continued, node: str, candidate: str) -> int:
    """Add the line of a vote by a follower of n0 in term 0; return its number."""
    vote: dict[str, Any] = {"role": "FOLLOWER", "term": 0, "leaderId": "n0", "votedFor": candidate, "knownMaxTerm": 0}
    ends = {"endIndex": told.end[node], "endTerm": 0}
    return told.add("role", node, op="setCurrVoteFor", **vote, **ends, by="net")


def imported(told: Continued) -> Imported:
    return import_lines(told.recording(), "told")


def actions(found: Imported, line: int) -> list[str]:
    return [event.action for event in found if event.line == line]


def test_a_vote_repeated_after_the_candidate_has_won_is_an_observation() -> None:
    told = Continued()
    line = vote(told, "n2", "n0")
    found = imported(told)
    assert actions(found, line) == [OBSERVE]
    assert found.summary.forced == ()
    trace = Trace(trace_lines(found.header, found), "told")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is Verdict.HOLDS


def test_another_vote_in_the_same_term_is_no_observation() -> None:
    told = Continued()
    line = vote(told, "n2", "n1")
    found = imported(told)
    assert actions(found, line) == ["SetCurrVoteFor"]
    trace = Trace(trace_lines(found.header, found), "told")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is not Verdict.HOLDS


def test_a_vote_repeated_while_the_candidate_is_one_stays_a_vote() -> None:
    told = Continued()
    first = next(number for number, line in enumerate(told.lines) if line.get("votedFor") == "n0" != line["node"])
    told.lines.insert(first + 1, dict(told.lines[first]))
    found = imported(told)
    assert [actions(found, line) for line in (first + 1, first + 2)] == [["SetCurrVoteFor"]] * 2
