"""The causes of a deviation: known ones are planted, and are named first."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from lockstep.base.deadline import Deadline
from lockstep.base.interrupts import Interrupted
from lockstep.cli.check_command import command as check_command
from lockstep.conformance.cause_search import CauseSearch
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import find_deviation
from lockstep.conformance.diagnosis import Diagnosis
from lockstep.conformance.flaw_trials import FlawTrials
from lockstep.conformance.initial_causes import changed_beginnings
from lockstep.conformance.nearest_change import nearest_change
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.trace_check import TraceCheck
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.registry import simulators
from lockstep.systems.trace_diagnosis import diagnosis_or_note, known_diagnosis
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import OBSERVE, Event, Header, write_trace
from lockstep.trace.trace_reader import read_trace
from tests.scripts.counterexamples.tool import counterexamples
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled
from tests.support.systems.mutants import Reference, planted
from tests.support.systems.simulated_traces import simulated

ROWS = {row.switch: row for row in counterexamples()}
#: Flaws whose counterexamples have others, too: with all repaired, one of these is met first, or it takes both.
TOGETHER = {
    "CommitPastEnd": {"CommitPastEnd", "LateTruncate"},
    "RepeatedPush": {"AsyncFlush"},
    "ReapedInstall": {"ReapedInstall", "StaleInstall"},
}
REPAIRED = {"repaired": True}

LOCK_SERVICE = Path(__file__).parents[2] / "docs" / "lock_service"


def diagnosed(path: Path, **switches: bool) -> Diagnosis:
    """Return the diagnosis of a trace that leaves its spec."""
    found = diagnosis_or_note(lambda: known_diagnosis(path, switches))
    assert found is not None
    assert found.causes or found.events, found.notes
    return found


@pytest.fixture(scope="module")
def run() -> tuple[Header, Sequence[Event]]:
    """A cluster whose trace holds."""
    return simulated()


def written(path: Path, header: Header, events: Sequence[Event]) -> Path:
    """Write events as a trace, numbered anew; return its file."""
    numbered = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events)]
    write_trace(path, header, numbered)
    return path


# ---- Flaws ----


@pytest.mark.parametrize("switch", sampled(ROWS, ("TruncatedTail", "CommitPastEnd")))
def test_the_flaw_of_a_counterexample_is_named_first(switch: str) -> None:
    first = diagnosed(ROWS[switch].path, **REPAIRED).causes[0]
    assert first.kind == "flaws"
    names = {each.removesuffix("=published") for each in first.what.split(", ")}
    assert names == TOGETHER.get(switch, {switch})


def test_a_flaw_that_a_trace_lacks_is_named_as_repaired(tmp_path: Path) -> None:
    """A repaired system's trace, held against the published spec: the quorum's entries wait for the own term."""
    trace = read_trace(ROWS["PriorTermCommit"].path)
    events = [event for _, event in trace]
    at = next(n for n, event in enumerate(events) if event.action == "QuorumAckChecker" and n + 2 == 30)
    shown = {**events[at].shows, "committedIndex": -1, "lastQuorumIndex": -1}
    events = [*events[:at], msgspec.structs.replace(events[at], shows=shown)]
    first = diagnosed(written(tmp_path / "t.ndjson", trace.header, events)).causes[0]
    assert (first.kind, first.what, first.whole) == ("flaws", "PriorTermCommit=repaired", True)


def test_the_rule_that_decided_before_the_deviation_is_named_with_its_step(tmp_path: Path) -> None:
    """The recorded figure 8: the index is read in one step, and acted on in another."""
    trace = tmp_path / "figure8.trace.ndjson"
    source = Path(__file__).parents[2] / "traces" / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson"
    assert lockstep("import", source, "-o", trace, cwd=tmp_path).returncode == 0
    found = diagnosed(trace, **REPAIRED)
    flaw, rule = found.causes
    assert (flaw.what, flaw.line) == ("PriorTermCommit=published", 202)
    assert (rule.kind, rule.what) == ("formula", "TermAt(state.log, index) = state.currTerm")
    assert (rule.line, rule.action, rule.node, rule.sides) == (201, "QuorumAckChecker", "n0", ("1", "4"))
    assert rule.place.startswith("Commit.tla:")
    assert 201 in found.past
    assert found.past[-1] == 202
    assert set(found.past) < set(range(2, 203))


# ---- A reference with a mistake ----


@pytest.mark.parametrize(
    ("system", "mistake", "plan", "action", "definition"),
    [
        pytest.param(
            "dledger",
            (
                "_is_next",
                "self._handles(m, PushType.APPEND) and m.index == self.ledger_store.end_index + 1",
                "self._handles(m, PushType.APPEND)",
            ),
            "published",
            "HandleDoAppend",
            "AppendsNext",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "hashicorp",
            ("is_verified", "1", "0"),
            "raft_whole_published",
            "HandleInstallSnapshotResponse",
            "IsVerified",
            marks=pytest.mark.nightly,
        ),
        (
            "hashicorp",
            ("win_pre_vote", "server.effects.abandon({RpcType.REQUEST_PRE_VOTE})", "pass"),
            "raft_whole_published",
            "HandleRequestPreVoteResponse",
            "GivenUpWith",
        ),
    ],
)
def test_the_rule_that_a_reference_mistakes_is_named(
    tmp_path: Path, system: str, mistake: tuple[str, str, str], plan: str, action: str, definition: str
) -> None:
    reference = reference_of(system)
    _, simulator = simulators()[plan]
    with planted(reference.the(*mistake)):
        header, events = simulator.cluster(plan, 1, 300)
        path = written(tmp_path / "t.ndjson", header, list(events))
    first = diagnosed(path).causes[0]
    loc = trace_spec(header, plan).definitions[definition]
    assert (first.action, first.kind) == (action, "formula")
    module, line, _ = first.place.replace(".tla", "").split(":")
    assert (module, int(line) in range(loc.line, loc.end_line + 1)) == (loc.module, True)


def reference_of(system: str) -> Reference:
    """Return the reference of a system, with its mutants."""
    found: Reference = import_module(f"tests.support.systems.{system}_mutants").REFERENCE
    return found


# ---- A trace with a lie ----


def test_a_line_that_alone_is_wrong_is_named(tmp_path: Path, run: tuple[Header, Sequence[Event]]) -> None:
    header, events = run
    lied = msgspec.structs.replace(events[9], shows={**events[9].shows, "currTerm": 77})
    found = diagnosed(written(tmp_path / "t.ndjson", header, [*events[:9], lied, *events[10:]]))
    assert [(each.kind, each.line) for each in found.causes] == [("value", 11)]
    assert found.causes[0].accepts > 5


def test_an_event_that_is_twice_in_a_trace_is_named(tmp_path: Path, run: tuple[Header, Sequence[Event]]) -> None:
    header, events = run
    at = next(n for n, event in enumerate(events) if event.action == "AppendAsLeader")
    twice = [*events[: at + 1], events[at], *events[at + 1 :]]
    found = diagnosed(written(tmp_path / "t.ndjson", header, twice))
    first = found.causes[0]
    assert (first.kind, first.what, first.line) == ("repeated", f"line {at + 2}", at + 3)


def test_an_event_that_is_twice_just_before_the_end_is_named_if_it_is_the_same_in_all(
    tmp_path: Path, run: tuple[Header, Sequence[Event]]
) -> None:
    """Too few events follow to show it, but all of them agree, and no step of a node is the same twice by chance."""
    header, events = run
    at = next(n for n, event in enumerate(events) if event.action == "AppendAsLeader")
    twice = [*events[: at + 1], events[at], *events[at + 1 : at + 3]]
    first = diagnosed(written(tmp_path / "t.ndjson", header, twice)).causes[0]
    assert (first.kind, first.what, first.line) == ("repeated", f"line {at + 2}", at + 3)
    other = msgspec.structs.replace(events[at], shows={**events[at].shows, "currTerm": 77})
    changed = [*events[: at + 1], other, *events[at + 1 : at + 3]]
    found = diagnosed(written(tmp_path / "u.ndjson", header, changed))
    assert "repeated" not in {cause.kind for cause in found.causes}


def test_a_step_that_a_trace_lacks_is_named(tmp_path: Path, run: tuple[Header, Sequence[Event]]) -> None:
    header, events = run
    at = next(n for n, event in enumerate(events) if event.action == "DoAppend")
    found = diagnosed(written(tmp_path / "t.ndjson", header, [*events[:at], *events[at + 1 :]]))
    (step,) = (each for each in found.causes if each.kind == "step")
    assert step.what.startswith("DoAppend(")


def test_nothing_is_blamed_on_the_line_where_nothing_follows_that_could_show_it(
    tmp_path: Path, run: tuple[Header, Sequence[Event]]
) -> None:
    header, events = run
    lied = msgspec.structs.replace(events[9], shows={**events[9].shows, "currTerm": 77})
    found = diagnosed(written(tmp_path / "t.ndjson", header, [*events[:9], lied]))
    assert [each.kind for each in found.causes if each.kind in ("value", "event", "step")] == []


def test_no_flaw_explains_what_a_node_only_observes_wrongly(
    tmp_path: Path, run: tuple[Header, Sequence[Event]]
) -> None:
    """No step is taken there, so that no switch can matter, and later ones must not be counted."""
    header, events = run
    lied = Event(seq=0, node=events[20].node, action=OBSERVE, shows={"currTerm": 77})
    found = diagnosed(written(tmp_path / "t.ndjson", header, [*events[:21], lied, *events[21:]]))
    assert {each.kind for each in found.causes} <= {"value", "event"}
    assert found.past[-1] == 23


def test_a_trace_that_holds_has_no_diagnosis(tmp_path: Path, run: tuple[Header, Sequence[Event]]) -> None:
    header, events = run
    assert known_diagnosis(written(tmp_path / "t.ndjson", header, events), {}) is None


# ---- What is not tried is said ----


def test_a_search_whose_time_is_over_says_so() -> None:
    row = ROWS["PriorTermCommit"]
    trace = read_trace(row.path)
    spec = trace_spec(trace.header, "t", REPAIRED)
    check = TraceCheck(trace, spec, DLEDGER.interface(spec))
    deviation = find_deviation(trace, check)
    assert deviation is not None
    probed = trace_spec(trace.header, "t", REPAIRED, has_probes=True)
    steps, limit = ChangedSteps(check, probed, frozenset({row.switch})), SearchLimit(Deadline(0.0))
    assert FlawTrials(deviation, steps, limit).sets() == []
    assert CauseSearch(deviation, steps, limit).decisions(deviation.past(check)) == []
    assert [*changed_beginnings(deviation, steps, limit)] == []
    assert nearest_change(deviation, steps, limit, (), ()) is None
    assert [note for note in limit.notes if "time was over" in note] == limit.notes != []


# ---- What the command prints ----


def test_a_check_prints_the_cause_and_can_leave_it_out(tmp_path: Path) -> None:
    trace = ROWS["PriorTermCommit"].path
    with_it = lockstep("check", "--switch", "repaired", trace, cwd=tmp_path).stdout
    without = lockstep("check", "--no-diagnosis", "--switch", "repaired", trace, cwd=tmp_path).stdout
    added = [line for line in with_it.splitlines() if line not in without.splitlines()]
    assert added[0] == "    cause      PriorTermCommit=published: the spec with it allows the rest of the trace"
    assert [line.split()[0] for line in added] == ["cause", "or", "or", "past"]
    assert added[-1] == "    past       23 of the 28 earlier events could have influenced this one"
    every = lockstep("check", "--switch", "repaired", ROWS["EvenQuorum"].path, cwd=tmp_path).stdout
    assert "influenced" not in every, "all events before could have, which says nothing"


def test_json_has_the_diagnosis(tmp_path: Path) -> None:
    command = ("check", "--format", "json", "--switch", "repaired", ROWS["EvenQuorum"].path)
    (found,) = json.loads(lockstep(*command, cwd=tmp_path).stdout)
    causes = found["diagnosis"]["causes"]
    assert (causes[0]["kind"], causes[0]["what"], causes[0]["whole"]) == ("flaws", "EvenQuorum=published", True)
    assert found["diagnosis"]["past"][-1] == found["findings"][0]["line"]
    (held,) = json.loads(
        lockstep("check", "--format", "json", ROWS["MatchWithoutRecalculate"].path, cwd=tmp_path).stdout
    )
    assert "diagnosis" not in held


def test_what_tlc_refuses_has_the_same_diagnosis(tmp_path: Path) -> None:
    command = ("check", "--format", "json", "--switch", "repaired", ROWS["VoteFile"].path)
    (by_tlc,) = json.loads(lockstep(*command, "--engine", "tlc", cwd=tmp_path).stdout)
    (compiled,) = json.loads(lockstep(*command, cwd=tmp_path).stdout)
    assert by_tlc["diagnosis"] == compiled["diagnosis"]
    assert by_tlc["diagnosis"]["causes"][0]["what"] == "VoteFile=published"


def test_sarif_marks_the_events_that_can_have_had_to_do_with_it(tmp_path: Path) -> None:
    row = ROWS["VoteFile"]
    lockstep("check", "--switch", "repaired", "--sarif", tmp_path / "s.sarif", row.path, cwd=tmp_path)
    (result,) = json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    steps: list[Any] = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert "VoteFile=published" in result["message"]["text"]
    marks = {step["location"]["physicalLocation"]["region"]["startLine"]: step["importance"] for step in steps}
    assert marks == {2: "unimportant", 3: "important", 4: "unimportant", 5: "unimportant", 6: "essential"}


def test_only_the_first_traces_of_a_run_are_diagnosed(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"{number}.ndjson").write_bytes(ROWS["VoteFile"].path.read_bytes())
    printed = lockstep("check", "--switch", "repaired", tmp_path, cwd=tmp_path).stdout
    assert printed.count("LS201") == 7
    assert printed.count("    cause ") == 5


@pytest.mark.parametrize("engine", ["compiled", "tlc"])
def test_the_expression_of_a_spec_of_the_reader_s_own_is_named(tmp_path: Path, engine: str) -> None:
    program = [sys.executable, str(LOCK_SERVICE / "lock_service.py"), "--forgetful"]
    (tmp_path / "forgetful.log").write_bytes(subprocess.run(program, capture_output=True, check=True).stdout)
    own = ("--spec", LOCK_SERVICE / "LockService.tla", "--mapping", LOCK_SERVICE / "mapping.toml")
    command = ("check", "--engine", engine, "--format", "json", *own, "forgetful.log")
    (found,) = json.loads(lockstep(*command, cwd=tmp_path).stdout)
    kinds = {cause["kind"]: cause for cause in found["diagnosis"]["causes"]}
    assert (kinds["number"]["what"], kinds["number"]["came_to"], kinds["number"]["would_be"]) == (
        "token + 1",
        "11",
        "10",
    )


# ---- The verdict stays, whatever goes wrong with its diagnosis ----

OWN = r"""
---- MODULE Own ----
EXTENDS Integers, FiniteSets, TLC
VARIABLE n
Init == n = 0
Up == n' = n + 1
Says == PrintT("said") /\ n' = n + 2
Count == n' = Cardinality({k \in 1..5 : k % 2 = 0})
Power == n' = IF \E k \in 1..10^3 : k = n + 5000 THEN 1 ELSE 0
Next == Up \/ Says \/ Count \/ Power
====
"""


def own_trace(folder: Path, *steps: tuple[str, int], end: str = "") -> Path:
    """Write the spec, and a trace of it that shows n after each step; return the trace's file."""
    (folder / "Own.tla").write_text(OWN)
    (folder / "Own.cfg").write_text("INIT Init\nNEXT Next\n")
    header = Header("lockstep-trace/1", "mine", "1", "Own", ("n1",), {})
    events = [Event(seq=seq, node="n1", action=action, shows={"n": n}) for seq, (action, n) in enumerate(steps)]
    write_trace(folder / "t.ndjson", header, events)
    if end:
        lines = (folder / "t.ndjson").read_text().splitlines(keepends=True)
        (folder / "t.ndjson").write_text("".join(lines[:-1]) + end)
    return folder / "t.ndjson"


def checked(folder: Path, *words: str) -> str:
    """Return what a check of the own trace prints; it is violated."""
    done = lockstep("check", *words, "--spec", "Own.tla", "t.ndjson", cwd=folder)
    assert done.returncode == 1, done
    return done.stdout


def test_a_trace_that_is_cut_after_its_deviation_is_diagnosed_up_to_there(tmp_path: Path) -> None:
    """A recorder that is killed leaves such a last line."""
    row = ROWS["PriorTermCommit"]
    text = row.path.read_text()
    (tmp_path / "cut.ndjson").write_text(text[: text.rindex("{") - 40])
    done = lockstep("check", "--switch", "repaired", "cut.ndjson", cwd=tmp_path)
    assert done.returncode == 1
    assert "cause      PriorTermCommit=published: the spec with it allows this event and" in done.stdout


def test_a_diagnosis_that_fails_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise ValueError("planted")

    monkeypatch.setattr(CauseSearch, "decisions", broken)
    own_trace(tmp_path, ("Up", 1), ("Up", 3))
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(check_command, ["--spec", "Own.tla", "t.ndjson"], standalone_mode=False)
    assert printed.return_value == 1
    assert "n: the trace shows 3, the spec says 2" in printed.output
    assert "    note       the cause could not be looked for: ValueError: planted" in printed.output


def test_an_interrupt_of_a_diagnosis_leaves_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> bool:
        raise Interrupted(2)

    monkeypatch.setattr(CauseSearch, "decisions", interrupted)
    own_trace(tmp_path, ("Up", 1), ("Up", 3))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Interrupted):
        check_command.main(["--spec", "Own.tla", "t.ndjson"], standalone_mode=False)
    assert "n: the trace shows 3, the spec says 2" in capsys.readouterr().out


def test_a_search_prints_nothing_that_the_spec_prints(tmp_path: Path) -> None:
    own_trace(tmp_path, ("Says", 2), ("Says", 5))
    words = ("check", "--spec", "Own.tla", "t.ndjson")
    with_it, without = (lockstep(*words, *more, cwd=tmp_path).stderr for more in ((), ("--no-diagnosis",)))
    assert with_it.count("said") == without.count("said") > 0


def test_a_sentence_says_in_how_many_steps_and_evaluations_an_outcome_differs(tmp_path: Path) -> None:
    own_trace(tmp_path, ("Up", 1), ("Up", 3), ("Up", 5), ("Up", 7))
    assert "n + 1 is 2; were it 3, and in 2 later steps too, the spec would allow the rest of the trace" in checked(
        tmp_path
    )
    own_trace(tmp_path, ("Count", 3))
    assert "k % 2 = 0; were each of its 5 values the opposite, the spec would allow this event, the last" in checked(
        tmp_path
    )


def test_a_power_is_not_computed_with_other_numbers(tmp_path: Path) -> None:
    """10^7 elements would take for ever."""
    own_trace(tmp_path, ("Power", 1))
    assert "Own.tla:9:" in checked(tmp_path)


def test_junit_and_annotations_have_the_cause(tmp_path: Path) -> None:
    own_trace(tmp_path, ("Up", 1), ("Up", 3))
    for form in ("junit", "github"):
        assert "n + 1 is 2; were it 3" in checked(tmp_path, "--format", form)
