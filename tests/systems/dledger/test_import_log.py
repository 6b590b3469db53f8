"""Logs of DLedger itself: partial observations, explained by hidden steps between them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import TraceCheck
from lockstep.logs.log_lines import Thread
from lockstep.systems.dledger.log_chains import Chain
from lockstep.systems.dledger.log_hidden_steps import StepProposals, compare_index
from lockstep.systems.dledger.log_import import UnexplainedError
from lockstep.systems.dledger.log_lines import LogLine, read_logs
from lockstep.systems.dledger.log_lookahead import LogLookahead, OrderedLines
from lockstep.systems.dledger.log_roles import NodeRoles
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.file_check import check
from lockstep.systems.trace_files import import_trace, imported_trace, write_cluster
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.simulation import simulate
from tests.scripts.malformed import CAPTURED
from tests.support.logs.logger_lines import ELECTED, checked, imported, logged, written
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled
from tests.support.systems.dledger import interface
from tests.support.systems.dledger_lines import HARNESS_RECORDINGS
from tests.support.systems.simulated_traces import as_event, header

FIGURE8 = (CAPTURED / "dledger-0.2.7-figure8.log").read_text()
RECORDINGS = HARNESS_RECORDINGS
#: Each with few status lines and with many; every fifth of the list has both kinds. Of restarts there are many terms.
LOGGED = [(path.name, every_ms) for path in RECORDINGS for every_ms in (4000, 300)]
SAMPLE = [LOGGED[0], ("dledger-0.2.7-restarts.ndjson", 300)]


IN_TERM_0 = "[n0] [n0] [ChangeRoleToLeader] from term: 0 and currTerm: 0"
START = "[n0] [Push-n1][DoCompare] compareIndex=-1 means start to compare"
DIFFERENT = "[n1] [HandleDoCompare] compareIndex=0"
#: n0 leads, n1 follows, and what n0 compared with n1 was not answered.
COMPARED = (
    *ELECTED,
    "[n1] [n1][ChangeRoleToFollower] from term: 1 leaderId: n0 and currTerm: 1",
    START,
    "[n0] [Push-n1]Error in EntryDispatcher-n0-n1 writeIndex=-1 compareIndex=0",
    "[n0] [Push-n1]Change state from COMPARE to COMPARE at -1",
)


#: n0 compares with n1, which handles no COMPARE before it follows n2.
LATE = (
    *ELECTED,
    "[n1] [n1][ChangeRoleToFollower] from term: 1 leaderId: n0 and currTerm: 1",
    START,
    "[n1] [n1] [ChangeRoleToCandidate] from term: 1 and currTerm: 1",
    "[n1] n1_[INCREASE_TERM] from 1 to 2",
    "[n2] n2_[INCREASE_TERM] from 1 to 2",
    "[n2] [n2] [ChangeRoleToLeader] from term: 2 and currTerm: 2",
    "[n1] [n1][ChangeRoleToFollower] from term: 2 leaderId: n2 and currTerm: 2",
    "[n1] [HandleDoCompare] compareIndex=3",
)


def changed(before: str, after: str) -> str:
    assert FIGURE8.count(before) == 1
    return FIGURE8.replace(before, after)


def line_of(text: str, words: str) -> int:
    return 1 + text[: text.index(words)].count("\n")


def test_the_log_of_figure_8_alone_shows_that_a_committed_entry_is_lost(tmp_path: Path) -> None:
    explanation = imported(FIGURE8, tmp_path)
    found = checked(explanation, tmp_path)
    assert found.deviation is None
    places = {name: finding.recorded_line for name, finding in found.violations.items()}
    assert places["CommittedEntriesStayProp"] == line_of(FIGURE8, "12203.686 ")
    assert places["IndexOrder"] == places["CommittedEntriesStayProp"]
    assert places["LeaderCompleteness"] == line_of(FIGURE8, "12177.787 ")


def test_the_log_of_a_partition_is_explained_and_no_property_fails(tmp_path: Path) -> None:
    explanation = imported_trace(CAPTURED / "dledger-0.2.7-leader_partition.log")
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS
    assert explanation.summary.states > 1


@pytest.mark.nightly
def test_the_log_of_restarts_is_explained_and_no_property_fails(tmp_path: Path) -> None:
    explanation = imported((CAPTURED / "dledger-0.3.1.2-restarts.log").read_text(), tmp_path, "0.3.1.2")
    assert explanation.summary.refuted is None
    assert explanation.summary.actions["Restart"] == 7
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


def test_what_a_leader_committed_before_it_led_is_committed_by_then(tmp_path: Path) -> None:
    """Line 248 of the log of restarts: n2 leads, nobody has acknowledged anything to it, and 13 is committed."""
    text = (CAPTURED / "dledger-0.3.1.2-restarts.log").read_text()
    shown = "ledgerEnd=16 committed=13 watermarks={4={n0=-1, n1=-1, n2=16}}"
    explanation = imported(text, tmp_path, "0.3.1.2")
    led = next(event.seq for event in explanation if event.line == 226)
    seqs = [event.seq for event in explanation if event.node == "n2" and carried_commit_index(event) == 13]
    assert line_of(text, shown) == 248
    assert seqs
    assert max(seqs) < led


def carried_commit_index(event: Event) -> int | None:
    """The committed index in an APPEND or a COMMIT that is handled."""
    handled = event.action in ("HandleDoAppend", "HandleDoCommit")
    return event.args["m"]["commitIndex"] if handled else None


@pytest.mark.parametrize(("recording", "every_ms"), sampled(LOGGED, SAMPLE), ids=str)
def test_what_was_recorded_is_explained_where_it_is_only_logged(
    recording: str, every_ms: float, tmp_path: Path
) -> None:
    """A recording has every step, and the log made of it only a few."""
    explanation = imported(logged(CAPTURED / recording, every_ms), tmp_path, recording.split("-")[1])
    found = checked(explanation, tmp_path)
    assert found.deviation is None
    assert found.observed > 0
    assert explanation.summary.refuted is None
    assert sum(explanation.summary.hidden.values()) > 0


def test_a_step_that_dledger_logs_cannot_be_hidden() -> None:
    header = imported_header()
    spec = trace_spec(header, "t")
    run = Chain(spec, next(spec.initial_states()))
    with pytest.raises(ValueError, match="ChangeToCandidate is not hidden"):
        run.hide("ChangeToCandidate", "n0")


def imported_header() -> Header:
    return imported_trace(CAPTURED / "dledger-0.2.7-figure8.log").header


def test_every_line_of_a_kind_that_the_spec_knows_is_a_step_or_an_observation() -> None:
    """But for rounds of votes, where only the node and the number of members count."""
    uses = imported_trace(CAPTURED / "dledger-0.2.7-figure8.log").summary.uses
    for kind, use in uses.items():
        assert ("noise" in use) is (kind in ("other", "vote_response", "vote_result")), kind
    assert uses["restart"] == {"action": 3}


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ("n1_[INCREASE_TERM] from 2 to 3", "n1_[INCREASE_TERM] from 7 to 8", "currTerm"),
        ("[n1] [ChangeRoleToLeader] from term: 3 and", "[n1] [ChangeRoleToLeader] from term: 9 and", "currTerm"),
        (
            "n2] [ChangeRoleToCandidate] from term: 1 and currTerm: 1",
            "n2] [ChangeRoleToCandidate] from term: 1 and currTerm: 4",
            "currTerm",
        ),
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


def test_a_line_that_follows_a_leader_which_was_not_elected_is_refuted(tmp_path: Path) -> None:
    text = FIGURE8.replace("leaderId: n0 and currTerm: 1", "leaderId: n2 and currTerm: 1", 1)
    deviation = checked(imported(text, tmp_path), tmp_path).deviation
    assert deviation is not None
    assert deviation.action == "ChangeToFollower"
    assert deviation.recorded_line == line_of(text, "leaderId: n2 and currTerm: 1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ledgerEnd=3 committed=2", "ledgerEnd=3 committed=9"),
        ("compareIndex=2\n", "compareIndex=7\n"),
        ("Change state from TRUNCATE to APPEND at 0", "Change state from TRUNCATE to APPEND at 5"),
        ("Recover data to the end entryIndex=2 ", "Recover data to the end entryIndex=1 "),
        ("watermarks={1={n0=2, n1=1, n2=1}}", "watermarks={1={n0=2, n1=4, n2=1}}"),
        ("[n1][CANDIDATE] term=3", "[n1][CANDIDATE] term=1"),
        ("lastLeader=n0", "lastLeader=n2"),
    ],
)
def test_what_nothing_was_found_to_lead_to_is_no_verdict(before: str, after: str, tmp_path: Path) -> None:
    """A search that finds nothing does not refute: hidden steps are bounded."""
    text = FIGURE8.replace(before, after, 1)
    assert text != FIGURE8
    with pytest.raises(UnexplainedError, match=r"d\.log:\d+: "):
        imported(text, tmp_path)


@pytest.mark.nightly
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


def parsed(text: str, folder: Path) -> list[LogLine]:
    (folder / "d.log").write_text(text)
    ((lines,), _) = read_logs([folder / "d.log"], lambda message: pytest.fail(message))
    return lines


def test_an_exception_below_a_line_says_where_the_log_of_the_node_ends(tmp_path: Path) -> None:
    raw = (
        "1.0 seq<1 [n0/1] ERROR [EntryHandler-n0] DLedgerEntryPusher - [HandleDoCompare] compareIndex=4\n"
        "    DLedgerException: [code=410,name=INDEX_OUT_OF_RANGE,desc=] 4 should between -1--1\n"
        "      at io.openmessaging.storage.dledger.utils.PreConditions.check(PreConditions.java:40)\n"
    )
    (line,) = parsed(raw, tmp_path)
    assert line.numbers == {"index": 4, "end": -1}


def test_a_log_without_a_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="the log is empty"):
        parsed("   \n", tmp_path)


def test_a_process_may_have_died_while_it_wrote_its_term(tmp_path: Path) -> None:
    """VoteFile: the term is 0 then, and no line shows it."""
    again = "[n0/2] [n0] [ChangeRoleToCandidate] from term: 1 and currTerm: 0"
    explanation = imported(written("[n1] hello", "[n2] hello", *ELECTED[:2], "[n0/2] hello", again), tmp_path)
    assert explanation.summary.refuted is None
    assert "CrashInPersistTerm" in explanation.summary.hidden
    assert checked(explanation, tmp_path).deviation is None


def test_a_process_may_have_died_between_raising_its_term_and_saying_so(tmp_path: Path) -> None:
    """DLedgerLeaderElector.maintainAsCandidate logs [INCREASE_TERM] after MemberState.nextTerm has written the term."""
    lines = ("[n2] hello", "[n1] hello", "[n0] hello", "[n0/2] hello", "[n0/2] n0_[INCREASE_TERM] from 1 to 2")
    explanation = imported(written(*lines), tmp_path)
    assert explanation.summary.refuted is None
    assert explanation.summary.hidden == {"NextTerm": 1, "Crash": 1}
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


def test_a_term_is_not_lower_after_a_restart_than_in_a_line_before(tmp_path: Path) -> None:
    raised = ("[n0] n0_[INCREASE_TERM] from 0 to 1", "[n0] n0_[INCREASE_TERM] from 1 to 2")
    lines = ("[n2] hello", "[n1] hello", *raised, "[n0/2] hello", "[n0/2] n0_[INCREASE_TERM] from 1 to 2")
    explanation = imported(written(*lines), tmp_path)
    assert explanation.summary.refuted == len(lines)


def test_a_restart_that_nothing_explains_is_no_verdict_whatever_comes_after(tmp_path: Path) -> None:
    """The machine may have lost power, which is not searched for."""
    status = "[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=0 committed=-1 watermarks={}"
    gone = "[n0/2] Recover data to the end entryIndex=-1 processOffset=0"
    with pytest.raises(UnexplainedError):
        imported(written(*ELECTED, status, gone, "[n0/2] n0_[INCREASE_TERM] from 1 to 2"), tmp_path)


def test_a_heartbeat_times_out_at_a_follower_only(tmp_path: Path) -> None:
    explanation = imported(written(*ELECTED, "[n1] [n1][HeartBeatTimeOut] x lastLeader=null"), tmp_path)
    assert explanation.summary.refuted == len(ELECTED) + 1


def test_a_compare_from_the_end_of_the_log_is_never_hidden_since_it_has_a_line(tmp_path: Path) -> None:
    explanation = imported(written(*ELECTED), tmp_path)
    spec = trace_spec(explanation.header, "t")
    run: Chain | None = Chain(spec, next(spec.initial_states()))
    for event in explanation:
        run = run and run.take(event.action, event.node, **event.args)
    run = run and run.hide("AppendAsLeader", "n0", value="v")
    assert run is not None
    assert compare_index(run, "n0", "n1") == -1
    assert run.hide("DoCompare", "n0", peer="n1") is not None
    assert list(StepProposals().compare_on(run, "n0", "n1")) == []


def test_a_leader_that_leads_again_compares_from_where_it_stopped_without_a_word(tmp_path: Path) -> None:
    """StaleCompareIndex: the line `compareIndex=-1` is not written then, and where it is written it was not so."""
    start = "[n0] [Push-n1][DoCompare] compareIndex=-1 means start to compare"
    error = "[n0] [Push-n1]Error in EntryDispatcher-n0-n1 writeIndex=-1 compareIndex=0"
    again = (
        "[n0] [n0] [ChangeRoleToCandidate] from term: 1 and currTerm: 1",
        "[n0] n0_[INCREASE_TERM] from 1 to 2",
        "[n1] n1_[INCREASE_TERM] from 1 to 2",
        "[n0] [n0] [ChangeRoleToLeader] from term: 2 and currTerm: 2",
        "[n0] [Push-n1]Change state from COMPARE to COMPARE at -1",
    )
    before = (*ELECTED, start, error, "[n0] [Push-n1]Change state from COMPARE to COMPARE at -1", *again)
    after = (
        "[n1] [n1][ChangeRoleToFollower] from term: 2 leaderId: n0 and currTerm: 2",
        "[n1] [HandleDoCompare] compareIndex=0",
    )
    assert imported(written(*before, *after), tmp_path).summary.refuted is None
    with pytest.raises(UnexplainedError, match="do_compare of n0"):
        imported(written(*before, start, *after), tmp_path)


# ---- What must have happened before a line though a later one shows it ----


def test_a_voter_that_raises_its_term_before_its_vote_is_counted_has_voted_before(tmp_path: Path) -> None:
    raised = ("[n1] n1_[INCREASE_TERM] from 0 to 1", "[n2] n2_[INCREASE_TERM] from 0 to 1")
    explanation = imported(written(*raised, IN_TERM_0), tmp_path)
    assert explanation.summary.hidden["SetCurrVoteFor"] == 2
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


def test_a_compare_sent_before_its_leader_steps_down_may_be_handled_afterwards(tmp_path: Path) -> None:
    lines = (*COMPARED, "[n0] [n0] [ChangeRoleToCandidate] from term: 1 and currTerm: 1", DIFFERENT)
    explanation = imported(written(*lines), tmp_path)
    actions = [event.action for event in explanation]
    assert actions[-1] == "HandleDoCompare"
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


def test_a_compare_that_its_leader_has_given_up_may_be_handled_besides_the_next(tmp_path: Path) -> None:
    explanation = imported(written(*COMPARED, DIFFERENT, DIFFERENT), tmp_path)
    assert explanation.summary.actions["HandleDoCompare"] == 2
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


def test_a_compare_may_be_handled_by_one_that_follows_another_leader_by_then(tmp_path: Path) -> None:
    """As published, it is obeyed whatever its term and leader; n2 has compared nothing with n1."""
    explanation = imported(written(*LATE), tmp_path)
    assert explanation.events[-1].args["m"]["src"] == "n0"
    assert explanation.summary.hidden["AppendAsLeader"] == 4
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


def test_a_compare_that_may_be_of_another_leader_does_not_show_where_the_log_of_the_first_ends(tmp_path: Path) -> None:
    lines = parsed(written(*LATE), tmp_path)
    follows_n2 = lines[-2]
    for read, end in ((lines, None), ([line for line in lines if line is not follows_n2], 3)):
        lookahead = LogLookahead(OrderedLines([Thread("d.log", read)]), (0,))
        assert lookahead.goal("n0").end == end


def test_a_leader_has_pushed_as_far_as_its_next_error_says(tmp_path: Path) -> None:
    """It pushes 1 to 3 of the four entries it holds; the follower misses 1, and says so when it gets another."""
    lines = (
        *COMPARED[:-2],
        DIFFERENT,
        "[n0] [Push-n1]Change state from COMPARE to TRUNCATE at 0",
        "[n0] [Push-n1]Will push data to truncate truncateIndex=0 pos=0",
        "[n1] [HandleDoTruncate] truncateIndex=0 pos=0",
        "[n0] [Push-n1]Change state from TRUNCATE to APPEND at 0",
        "[n0] [Push-n1]Change state from APPEND to COMPARE at -1",
        START,
        "[n0] [Push-n1]Error in EntryDispatcher-n0-n1 writeIndex=4 compareIndex=5",
    )
    explanation = imported(written(*lines), tmp_path)
    assert explanation.summary.hidden["DoAppend"] == 3
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


def brought_to_append(peer: str, index: int) -> tuple[str, ...]:
    """The lines of n0 and an empty peer about a comparison at an index."""
    return (
        f"[n0] [Push-{peer}][DoCompare] compareIndex=-1 means start to compare",
        f"[{peer}] [HandleDoCompare] compareIndex={index}",
        f"[n0] [Push-{peer}]Change state from COMPARE to TRUNCATE at 0",
        f"[n0] [Push-{peer}]Will push data to truncate truncateIndex=0 pos=0",
        f"[{peer}] [HandleDoTruncate] truncateIndex=0 pos=0",
        f"[n0] [Push-{peer}]Change state from TRUNCATE to APPEND at 0",
    )


def test_a_leader_commits_no_more_than_it_shows_next_whatever_others_show_later(tmp_path: Path) -> None:
    lines = (
        *ELECTED,
        *(f"[{n}] [{n}][ChangeRoleToFollower] from term: 1 leaderId: n0 and currTerm: 1" for n in ("n1", "n2")),
        *brought_to_append("n1", 0),
        "[n1] [n1][FOLLOWER] term=1 ledgerBegin=0 ledgerEnd=1 committed=0 watermarks={}",
        "[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=1 committed=0 watermarks={1={n0=1, n1=1, n2=-1}}",
        *brought_to_append("n2", 1),
        "[n2] [n2][FOLLOWER] term=1 ledgerBegin=0 ledgerEnd=1 committed=1 watermarks={}",
    )
    explanation = imported(written(*lines), tmp_path)
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS


@pytest.mark.parametrize("size", sampled([1, 2, 5], [2]))
def test_a_group_of_any_size_is_explained(size: int, tmp_path: Path) -> None:
    nodes = [f"n{number}" for number in range(size)]
    terms = [f"[{node}] {node}_[INCREASE_TERM] from 0 to 1" for node in nodes]
    status = f"[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=2 committed={2 if size == 1 else -1} watermarks={{}}"
    text = written(*terms, "[n0] [n0] [ChangeRoleToLeader] from term: 1 and currTerm: 1", status)
    explanation = imported(text, tmp_path)
    assert checked(explanation, tmp_path).verdict is Verdict.HOLDS
    assert explanation.summary.hidden["SetCurrVoteFor"] == size // 2 + 1


STATUS = "[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=2 committed=-1 watermarks="


@pytest.mark.parametrize("marks", ["1={n0=2, n1=-1, n2=-1}", '1:{"n0":2,"n1":-1,"n2":-1}'])
def test_watermarks_are_read_as_java_or_as_json_prints_them(marks: str, tmp_path: Path) -> None:
    (line,) = parsed(written(f"{STATUS}{{{marks}}}"), tmp_path)
    assert line.marks == {1: {"n0": 2, "n1": -1, "n2": -1}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=2 committed=1 watermarks={1={n0=x}}",
            "watermarks are neither",
        ),
        ("[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=2 committed=1 watermarks={²}", "watermarks are neither"),
        (
            "[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=2 committed=1 watermarks={1={n0=" + "1" * 5000 + "}}",
            "beyond",
        ),
        ("[n0] [Push-n0]Retry to push entry at 3", "cannot name n0"),
        ("[n0] [n2] [ChangeRoleToLeader] from term: 1 and currTerm: 1", "cannot name n2"),
        ("[n0] Recover data to the end entryIndex=5 processOffset=0", "does not begin where n0 first started"),
    ],
)
def test_a_line_that_cannot_be_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=rf"d\.log:2: .*{problem}"):
        imported(written("[n1] hello", text), tmp_path)


def test_a_line_of_a_process_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"d\.log:3: n0 is at incarnation 2 already"):
        imported(written("[n0] hello", "[n0/2] hello", "[n0] hello"), tmp_path)


def test_what_no_node_says_is_noise(tmp_path: Path) -> None:
    explanation = imported(written(*ELECTED, "[-] [HandleDoCompare] compareIndex=0"), tmp_path)
    assert explanation.summary.uses["other"] == {"noise": 1}


def test_more_entries_than_are_searched_for_are_no_verdict(tmp_path: Path) -> None:
    status = "[n0] [n0][LEADER] term=1 ledgerBegin=0 ledgerEnd=9 committed=900000000 watermarks={}"
    with pytest.raises(UnexplainedError):
        imported(written(*ELECTED, status), tmp_path)


def test_the_command_says_which_line_is_refuted(tmp_path: Path) -> None:
    (tmp_path / "d.log").write_text(changed("n1_[INCREASE_TERM] from 2 to 3", "n1_[INCREASE_TERM] from 7 to 8"))
    done = lockstep("import", "d.log", "-o", "t.ndjson", cwd=tmp_path)
    assert done.returncode == 0
    assert "; the last event is what line 179 says, which no behaviour explains" in done.stdout
    assert lockstep("check", "t.ndjson", cwd=tmp_path).returncode == 1


def test_an_import_reports_its_progress(tmp_path: Path) -> None:
    messages: list[str] = []
    source = CAPTURED / "dledger-0.2.7-leader_partition.log"
    import_trace(source, tmp_path / "t.ndjson", say=messages.append)
    assert re.fullmatch(r"line 122 of 122: \d states explain those before it", messages[-1].removeprefix(f"{source}: "))
    recording = source.with_suffix(".ndjson")
    messages.clear()
    import_trace(recording, tmp_path / "t.ndjson", say=messages.append)
    assert messages[:3] == [f"{recording}: line {number}" for number in ("500", "1,000", "1,500")]
    assert "placing" in messages[-1]


def test_a_simulation_reports_its_progress(tmp_path: Path) -> None:
    messages: list[str] = []
    path = write_cluster(tmp_path, "ordered", 1, 1200, say=messages.append)
    assert messages == [f"{path}: event {count} of 1,200" for count in ("0", "500", "1,000")]


LOGGED = {
    "ChangeToCandidate": "candidate",
    "NextTerm": "next_term",
    "ChangeToLeader": "leader",
    "ChangeToFollower": "follower",
}


def test_roles_and_terms_change_in_the_spec_as_the_lines_say_and_by_nothing_else() -> None:
    """The rules in Python that refute a line are held against the spec, in clusters that crash."""
    seen = set[str]()
    for seed in range(1, 13):
        seen |= actions_that_keep_to_roles(seed)
    assert seen >= {*LOGGED, "Restart", "Crash", "CrashInPersistTerm", "LosePower", "Shutdown", "not logged"}


def actions_that_keep_to_roles(seed: int) -> set[str]:
    plan = fault_plan("published", 400)
    plan = replace(plan, crash=0.01, crash_in_persist=0.006)
    head = header(plan)
    events = [as_event(tree) for tree in simulate(seed, plan)]
    spec = trace_spec(head, "t")
    check, roles = TraceCheck(Trace(trace_lines(head, events), "t"), spec, interface(spec)), NodeRoles()
    state, not_logged, silent = check.initial(), last_before_crashes(events), set[str]()
    for number, event in check.trace:
        before = state["node"].d[event.node].d
        after = check.advance(state, number, event)
        assert after is not None
        if event.action in LOGGED:
            term = after["node"].d[event.node].d["currTerm"]
            line = logged_step(number, event, before["currTerm"], term)
            assert roles.contradicted(line) is None
            assert not roles.follows_nobody(line)
            if event.seq in not_logged:
                silent.add(event.node)
            else:
                roles.learn(line)
        elif event.action == "Restart":
            roles.restart(event.node)
            silent.discard(event.node)
        state = after
        for name, node in state["node"].d.items():
            dies = name in silent or node.d["role"] == "DOWN"
            assert dies or roles.may_be(name, node.d["role"], node.d["currTerm"])
    return {event.action for event in events} | ({"not logged"} if not_logged else set())


def last_before_crashes(events: list[Event]) -> set[int]:
    """The NextTerms after which the node's next step is to die: the line may be missing."""
    found, last = set(), dict[str, Event]()
    for event in events:
        before = last.get(event.node)
        if before and before.action == "NextTerm" and event.action in ("Crash", "LosePower", "CrashInPersistTerm"):
            found.add(before.seq)
        last[event.node] = event
    return found


def logged_step(number: int, event: Event, old: int, term: int) -> LogLine:
    words = {"leader": str(event.args.get("leader", ""))}
    return LogLine(
        number=number,
        text="",
        node=event.node,
        incarnation=1,
        kind=LOGGED[event.action],
        words=words,
        numbers={"term": term, "old": old},
        marks={},
    )


def test_a_trace_may_be_named_after_the_log_that_it_was_imported_from(tmp_path: Path) -> None:
    trace = tmp_path / "n1.log.trace.ndjson"
    shutil.copy(traces_dir() / "counterexamples" / "dledger" / "push" / "late_truncate.trace.ndjson", trace)
    found = check(trace)
    assert (found.verdict, [*found.violations]) == (Verdict.VIOLATED, ["CommittedEntriesStayProp"])
