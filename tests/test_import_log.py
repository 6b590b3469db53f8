"""Logs of DLedger itself: partial observations, explained by hidden steps between them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.conformance import TraceVerdict, check_trace
from lockstep.specs import trace_spec
from lockstep.trace.dledger.importer import Imported
from lockstep.trace.dledger_log import UnexplainedError, import_log
from lockstep.trace.dledger_log.lines import parse_log
from lockstep.trace.dledger_log.runs import HIDDEN
from lockstep.trace.format import OBSERVE, TraceError, read_trace, write_trace
from lockstep.verdict import Verdict
from lockstep_command import lockstep
from logger_lines import logged
from malformed import CAPTURED

FIGURE8 = (CAPTURED / "dledger-0.2.7-figure8.log").read_text()
RECORDINGS = sorted(CAPTURED.glob("*.ndjson"))


def imported(text: str, folder: Path, version: str = "0.2.7") -> Imported:
    path = folder / "d.log"
    path.write_text(text)
    return import_log(path, version)


def checked(explanation: Imported, folder: Path) -> TraceVerdict:
    path = folder / "explained.trace.ndjson"
    write_trace(path, explanation.header, explanation.events)
    trace = read_trace(path)
    return check_trace(trace, trace_spec(trace.header, str(path)))


def changed(before: str, after: str) -> str:
    assert FIGURE8.count(before) == 1
    return FIGURE8.replace(before, after)


def line_of(text: str, words: str) -> int:
    return 1 + text[: text.index(words)].count("\n")


def test_the_log_of_figure_8_alone_tells_that_a_committed_entry_is_lost(tmp_path: Path) -> None:
    explanation = imported(FIGURE8, tmp_path)
    found = checked(explanation, tmp_path)
    assert found.deviation is None
    places = {name: finding.recorded_line for name, finding in found.violations.items()}
    assert places["CommittedEntriesStayProp"] == line_of(FIGURE8, "12203.686 ")
    assert places["IndexOrder"] == places["CommittedEntriesStayProp"]
    assert places["LeaderCompleteness"] == line_of(FIGURE8, "12177.787 ")


def test_the_log_of_a_partition_is_explained_and_no_property_fails(tmp_path: Path) -> None:
    explanation = import_log(CAPTURED / "dledger-0.2.7-leader_partition.log")
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS
    assert explanation.summary.states > 1


@pytest.mark.parametrize("every_ms", [4000, 300])
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_what_was_recorded_is_explained_where_it_is_only_logged(
    recording: Path, every_ms: float, tmp_path: Path
) -> None:
    """A recording tells every step; of the log made of it only few are left."""
    explanation = imported(logged(recording, every_ms), tmp_path, recording.name.split("-")[1])
    found = checked(explanation, tmp_path)
    assert found.deviation is None
    assert found.observed > 0
    assert explanation.summary.refuted is None
    assert sum(explanation.summary.hidden.values()) > 0


def test_only_steps_are_hidden_that_dledger_does_not_log(tmp_path: Path) -> None:
    explanation = imported(FIGURE8, tmp_path)
    assert set(explanation.summary.hidden) <= HIDDEN
    logged_ones = {event.action for event in explanation.events} - set(explanation.summary.hidden) - {OBSERVE}
    assert {"NextTerm", "ChangeToLeader", "ChangeToFollower", "ChangeToCandidate", "Restart"} <= logged_ones


def test_every_line_of_a_kind_that_the_spec_knows_is_in_the_explanation(tmp_path: Path) -> None:
    """But for the recovery's two lines, which the Restart shows, and a round of votes, of which only members count."""
    explanation = imported(FIGURE8, tmp_path)
    told = {event.line for event in explanation.events}
    for line in parse_log(FIGURE8.encode().splitlines(keepends=True), "d.log"):
        if line.kind not in ("", "vote_result", "recovered_end", "recovered_committed"):
            assert line.number in told, line


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ("n1_[INCREASE_TERM] from 2 to 3", "n1_[INCREASE_TERM] from 7 to 8", "currTerm"),
        ("[n1] [ChangeRoleToLeader] from term: 3 and", "[n1] [ChangeRoleToLeader] from term: 9 and", "currTerm"),
        ("[n1][CANDIDATE] term=3", "[n1][LEADER] term=3", "role"),
        ("[n1][CANDIDATE] term=3", "[n1][CANDIDATE] term=1", "currTerm"),
    ],
)
def test_a_line_that_contradicts_role_or_term_is_refuted_where_it_stands(
    before: str, after: str, field: str, tmp_path: Path
) -> None:
    text = changed(before, after)
    explanation = imported(text, tmp_path)
    deviation = checked(explanation, tmp_path).deviation
    assert explanation.summary.refuted == line_of(text, after)
    assert deviation is not None
    assert deviation.recorded_line == line_of(text, after)
    assert deviation.name == field


def test_who_follows_one_that_was_not_elected_is_refuted(tmp_path: Path) -> None:
    text = FIGURE8.replace("leaderId: n0 and currTerm: 1", "leaderId: n2 and currTerm: 1", 1)
    deviation = checked(imported(text, tmp_path), tmp_path).deviation
    assert deviation is not None
    assert deviation.action == "ChangeToFollower"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ledgerEnd=3 committed=2", "ledgerEnd=3 committed=9"),
        ("compareIndex=2\n", "compareIndex=7\n"),
        ("Change state from TRUNCATE to APPEND at 0", "Change state from TRUNCATE to APPEND at 5"),
        ("Recover data to the end entryIndex=2 ", "Recover data to the end entryIndex=1 "),
        ("watermarks={1={n0=2, n1=1, n2=1}}", "watermarks={1={n0=2, n1=4, n2=1}}"),
    ],
)
def test_what_nothing_was_found_to_lead_to_is_no_verdict(before: str, after: str, tmp_path: Path) -> None:
    """A search that finds nothing does not refute: hidden steps are bounded."""
    text = FIGURE8.replace(before, after, 1)
    assert text != FIGURE8
    with pytest.raises(UnexplainedError, match=r"d\.log:\d+: "):
        imported(text, tmp_path)


def test_an_explanation_is_the_same_in_every_process(tmp_path: Path) -> None:
    written = []
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.ndjson"
        command = [sys.executable, "-m", "lockstep", "import", str(CAPTURED / "dledger-0.2.7-figure8.log")]
        subprocess.run(
            [*command, "-o", str(path)], check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_the_command_says_how_many_states_were_carried(tmp_path: Path) -> None:
    source = CAPTURED / "dledger-0.2.7-leader_partition.log"
    done = lockstep("import", str(source), "-o", "t.ndjson", cwd=tmp_path)
    assert done.returncode == 0
    said = r"t\.ndjson: \d+ events, \d+ of them hidden, .*, states carried: \d+ at most, \d+ at the end\n"
    assert re.fullmatch(said, done.stdout)


def test_an_exception_below_a_line_says_where_the_log_of_the_node_ends() -> None:
    raw = (
        "1.0 seq<1 [n0/1] ERROR [EntryHandler-n0] DLedgerEntryPusher - [HandleDoCompare] compareIndex=4\n"
        "    DLedgerException: [code=410,name=INDEX_OUT_OF_RANGE,desc=] 4 should between -1--1\n"
        "      at io.openmessaging.storage.dledger.utils.PreConditions.check(PreConditions.java:40)\n"
    )
    (line,) = parse_log(raw.encode().splitlines(keepends=True), "d.log")
    assert line.numbers == {"index": 4, "end": -1}


def test_a_log_without_a_line_is_refused() -> None:
    with pytest.raises(TraceError, match="the log is empty"):
        parse_log([b"   \n"], "d.log")
