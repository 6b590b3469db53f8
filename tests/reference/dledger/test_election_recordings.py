"""The rules of an election held against the recordings of the real DLedger: every vote, round and heartbeat in them.

A recorded answer must be the rule's, in the state its node was in when it decided: between the line of the request
and that of the answer. A recorded conclusion must be the rule's from the answers that were recorded before it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from raftref.dledger.election_rules import (
    BIGGER_LEDGER,
    PARSE_RESULTS,
    Member,
    VoteCode,
    heart_beat_code,
    vote_code,
    vote_outcome,
)
from raftref.dledger.messages import HeartBeatMessage, Index, Term, VoteMessage
from raftref.dledger.state import Role
from tests.support.systems.dledger_lines import HARNESS_RECORDINGS

Line = dict[str, Any]
NODES = ("n0", "n1", "n2")


def lines(file: Path) -> Iterator[Line]:
    for text in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(text)


def after(known: Member, line: Line) -> Member:
    """A node after a line of its own that shows role, term, vote, leader or the end of its log."""
    if line["kind"] == "role":
        known = replace(
            known,
            role=Role(line["role"]),
            curr_term=Term(line["term"]),
            curr_vote_for=line["votedFor"],
            leader_id=line["leaderId"],
        )
    if line["kind"] == "recovered":
        known = replace(known, curr_term=Term(line["currTerm"]), curr_vote_for=line["votedFor"], leader_id=None)
    shown = line.get("st")
    if shown and line["kind"] not in ("recv_vote", "resp_vote", "recv_heartbeat", "resp_heartbeat"):
        # An empty store shows term 0 where the copy in MemberState, which votes look at, has -1.
        end_term = Term(shown["endTerm"] if shown["end"] >= 0 else -1)
        known = replace(known, ledger_end_term=end_term, ledger_end_index=Index(shown["end"]))
    return known


@dataclass
class VoteRound:
    """A request that a node has taken: what it asks, and what the node was from then on."""

    line: Line
    states: list[Member]


def decisions(file: Path, asked_by: str, answered_by: str) -> Iterator[tuple[VoteRound, Line]]:
    """Each answered request of a kind, with the states in which it may have been decided."""
    known = {
        node: Member(node, NODES, Role.CANDIDATE, Term(0), None, None, Term(-1), Index(-1), None, False)
        for node in NODES
    }
    taken: dict[tuple[str, Any], VoteRound] = {}
    for line in lines(file):
        node = line.get("node")
        if node not in known:
            continue
        call = (node, line.get("mid", "self"))
        if line["kind"] == answered_by and call in taken:
            yield taken.pop(call), line
        known[node] = after(known[node], line)
        if line["kind"] == asked_by:
            taken[call] = VoteRound(line, [known[node]])
        for (other, _), asked in taken.items():
            if other == node:
                asked.states.append(known[node])


@pytest.mark.parametrize("file", HARNESS_RECORDINGS, ids=lambda each: each.stem)
def test_the_real_dledger_answers_vote_requests_by_the_rule(file: Path) -> None:
    """DLedgerLeaderElector.handleVote."""
    answered = 0
    for asked, line in decisions(file, "recv_vote", "resp_vote"):
        recorded = asked.line
        end_term, end = Term(recorded["ledgerEndTerm"]), Index(recorded["ledgerEndIndex"])
        m = VoteMessage(recorded["candidate"], recorded["node"], Term(recorded["term"]), end_term, end)
        allowed = {vote_code(state, m, to_self=recorded["self"]) for state in asked.states}
        assert allowed == {VoteCode(line["result"])}, line
        answered += 1
    assert answered >= 9


def test_the_recordings_have_most_answers_to_a_vote_request() -> None:
    results = Counter(
        line["result"] for file in HARNESS_RECORDINGS for line in lines(file) if line["kind"] == "resp_vote"
    )
    assert set(VoteCode) - set(results) == {
        VoteCode.REJECT_UNKNOWN_LEADER,
        VoteCode.REJECT_UNEXPECTED_LEADER,
        VoteCode.REJECT_TERM_SMALL_THAN_LEDGER,
        VoteCode.REJECT_TAKING_LEADERSHIP,
    }


@pytest.mark.parametrize("file", HARNESS_RECORDINGS, ids=lambda each: each.stem)
def test_the_real_dledger_answers_heartbeats_by_the_rule(file: Path) -> None:
    """DLedgerLeaderElector.handleHeartBeat."""
    answered = 0
    for asked, line in decisions(file, "recv_heartbeat", "resp_heartbeat"):
        m = HeartBeatMessage(asked.line["leaderId"], asked.line["node"], Term(asked.line["term"]))
        assert line["code"] in {heart_beat_code(state, m) for state in asked.states}, line
        answered += 1
    assert answered >= 28


@pytest.mark.parametrize("file", HARNESS_RECORDINGS, ids=lambda each: each.stem)
def test_the_real_dledger_concludes_from_the_answers_to_a_round_by_the_rule(file: Path) -> None:
    """DLedgerLeaderElector.maintainAsCandidate; where an answer arrived beside the conclusion, nothing is compared."""
    answers: dict[str, dict[str, str | None]] = {}
    terms: dict[str, int] = {}
    rounds: dict[str, set[int]] = {}
    concluded = compared = 0
    for line in lines(file):
        node = line.get("node", "")
        if line["kind"] == "send_vote":
            rounds.setdefault(node, set()).add(line["mid"])
        if line["kind"] == "resp_vote" and line["self"]:
            answers.setdefault(node, dict.fromkeys(NODES))[node] = line["result"]
        if line["kind"] == "recv_resp_vote" and line["mid"] in rounds.get(node, ()) and line["result"] != "UNKNOWN":
            answers.setdefault(node, dict.fromkeys(NODES))[line["from"]] = line["result"]
            terms[node] = max(terms.get(node, -1), line["term"]) if line["result"] in TELL else terms.get(node, -1)
        if line["kind"] == "vote_parse":
            found, recorded = answers.pop(node), terms.pop(node, -1)
            rounds.pop(node, None)
            concluded += 1
            if counted(found) != (line["accepted"], line["notReady"], line["biggerLedger"], line["alreadyHasLeader"]):
                continue
            compared += 1
            max_term = max(line["term"], recorded)
            assert max_term == line["maxTerm"]
            outcome = vote_outcome(Term(line["term"]), Term(max_term), found)
            assert PARSE_RESULTS[outcome] == line["result"], line
    assert compared >= 0.9 * concluded > 0


TELL = ("REJECT_EXPIRED_VOTE_TERM", "REJECT_TERM_SMALL_THAN_LEDGER")


def counted(found: dict[str, str | None]) -> tuple[int, int, int, bool]:
    given = Counter(found.values())
    bigger = sum(given[code] for code in BIGGER_LEDGER)
    return given["ACCEPT"], given["REJECT_TERM_NOT_READY"], bigger, given["REJECT_ALREADY_HAS_LEADER"] > 0
