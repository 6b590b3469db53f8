"""A log whose first lines are missing, as after a rotation, is refused or left undecided, never refuted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.log_import import UnexplainedError
from lockstep.trace.json_lines import TraceError
from tests.scripts.malformed import CAPTURED
from tests.support.logs.logger_lines import ELECTED, checked, imported, logged, written
from tests.support.sampling import sampled
from tests.support.systems.dledger_lines import HARNESS_RECORDINGS

LOGS = sorted(CAPTURED.glob("*.log"))
RECORDINGS = HARNESS_RECORDINGS
#: A leader of term 0: no line shows that a term was raised.
IN_TERM_0 = (
    "[n0] [n0] [ChangeRoleToLeader] from term: 0 and currTerm: 0",
    "[n1] [n1][ChangeRoleToFollower] from term: 0 leaderId: n0 and currTerm: 0",
    "[n2] [n2][ChangeRoleToFollower] from term: 0 leaderId: n0 and currTerm: 0",
)
CUT = "does not begin where {} first started"


@pytest.mark.parametrize("name", sampled(LOG_NAMES := [path.name for path in LOGS], LOG_NAMES[:2]))
def test_a_log_is_refused_from_the_line_on_that_first_changed_a_term(name: str, tmp_path: Path) -> None:
    """A cut above it changes nothing; after any cut from there on, a node shows a life before."""
    lines = (CAPTURED / name).read_text().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if "INCREASE_TERM" in line)
    version = name.split("-")[1]
    whole = imported("".join(lines), tmp_path, version)
    assert imported("".join(lines[first:]), tmp_path, version).summary.actions == whole.summary.actions
    for cut in range(first + 1, len(lines), 11):
        with pytest.raises(TraceError, match=CUT.format("n[012]")):
            imported("".join(lines[cut:]), tmp_path, version)


@pytest.mark.parametrize("name", sampled(NAMES := [path.name for path in RECORDINGS], NAMES[::3]))
def test_a_log_of_a_recording_is_never_refuted_for_the_lines_that_are_cut(name: str, tmp_path: Path) -> None:
    """Some of them have leaders of term 0, whose followers need not say that they left a term."""
    lines = logged(CAPTURED / name, 300).splitlines(keepends=True)
    became = set[str]()
    for cut in (0, 3, 6, 9, 12, 15, 18, 21, 24):
        try:
            explanation = imported("".join(lines[cut:]), tmp_path, name.split("-")[1])
        except (TraceError, UnexplainedError) as error:
            became.add(type(error).__name__)
            continue
        became.add("explained")
        assert explanation.summary.refuted is None
        assert not checked(explanation, tmp_path).deviation
    assert became >= {"explained", "TraceError"}


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("[n0] n0_[INCREASE_TERM] from 3 to 4", "n0"),
        ("[n0] [n0] [ChangeRoleToCandidate] from term: 2 and currTerm: 1", "n0"),
        ("[n0] [n0] [ChangeRoleToLeader] from term: 1 and currTerm: 1", "n0"),
        ("[n1] [n1][ChangeRoleToFollower] from term: 1 leaderId: n0 and currTerm: 1", "n1"),
        ("[n1] [n1][HeartBeatTimeOut] x lastLeader=n0", "n1"),
        ("[n0] [n0][LEADER] term=0 ledgerBegin=0 ledgerEnd=7 committed=7 watermarks={}", "n0"),
        ("[n0] [n0][CANDIDATE] term=4 ledgerBegin=-1 ledgerEnd=-1 committed=-1 watermarks={}", "n0"),
        ("[n0] [n0][CANDIDATE] term=0 ledgerBegin=0 ledgerEnd=7 committed=7 watermarks={}", "n0"),
        ("[n0] [Push-n1]Change state from COMPARE to APPEND at 3", "n0"),
        ("[n0] [Push-n1]Retry to push entry at 3", "n0"),
        ("[n0] Recover data to the end entryIndex=5 processOffset=0", "n0"),
        ("[n0] Recover to get committed index=5 from checkpoint", "n0"),
        ("[n0/2] hello", "n0"),
    ],
)
def test_a_first_line_that_shows_a_life_before_is_refused(text: str, node: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=rf"d\.log:4: .*{CUT.format(node)}"):
        imported(written("[n1] hello", "[n2] hello", "[n1] hello", text, "[n0] hello"), tmp_path)


def test_where_its_nodes_first_start_a_log_is_explained_whatever_they_say_first(tmp_path: Path) -> None:
    assert checked(imported(written(*IN_TERM_0), tmp_path), tmp_path).verdict is Verdict.HOLDS
    assert checked(imported(written("[n2] hello", *ELECTED), tmp_path), tmp_path).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    "early",
    [
        "[n0] [n0][LEADER] term=0 ledgerBegin=-1 ledgerEnd=-1 committed=-1 watermarks={}",
        "[n0] [Push-n1]Change state from COMPARE to COMPARE at -1",
    ],
)
def test_a_line_of_a_leader_a_moment_before_the_one_that_makes_it_leader_is_no_life_before(
    early: str, tmp_path: Path
) -> None:
    """DLedgerLeaderElector.changeRoleToLeader logs after MemberState.changeToLeader; other threads write in between."""
    with pytest.raises(UnexplainedError, match=r"d\.log:1: "):
        imported(written(early, *IN_TERM_0), tmp_path)


def test_a_follower_of_a_leader_whose_election_may_be_cut_off_is_not_refuted(tmp_path: Path) -> None:
    """No line of n0 has a term before 0; in term 1 there would be a line of how it came there."""
    with pytest.raises(UnexplainedError, match=r"d\.log:2: follower of n1"):
        imported(written("[n0] hello", *IN_TERM_0[1:]), tmp_path)
    later = re.sub(r"leaderId: n0", "leaderId: n1", IN_TERM_0[1].replace("n1", "n2").replace("term: 0", "term: 1"))
    refuted = imported(written(*ELECTED, later.replace("currTerm: 0", "currTerm: 1")), tmp_path)
    assert refuted.summary.refuted == len(ELECTED) + 1
