"""The answer that the page of a trace begins with: as `lockstep check` prints it, and where it comes from."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.conformance.deviation import MAX_EVENTS
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.view.answer import shown_diagnosis
from lockstep.jobs.view.trace_view import view_trace
from lockstep.report.page.answer_tree import MAX_SHORT, diagnosis_tree, shortened
from lockstep.report.page.flaw_stories import flaw_stories
from lockstep.report.page.page_content import MAX_TEXT, PageContext, page_content
from lockstep.report.page.shown_behaviour import ShownBehaviour
from lockstep.systems.file_check import KnownTraceCheck
from lockstep.systems.trace_files import import_trace
from tests.scripts.counterexamples.tool import counterexamples
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.pages import COUNTS_TOO_FAR, counter, tree_in, tree_of

ROWS = {row.switch: row for row in counterexamples()}
LOCK = ROOT / "docs" / "lock_service"
HEADS = ("cause", "or", "past", "note")


def viewed(folder: Path, *words: object) -> dict[str, Any]:
    """Return the content of the page that the command writes."""
    done = lockstep("view", *map(str, words), "-o", folder / "page.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    return tree_in((folder / "page.html").read_text(encoding="utf-8"))


def printed(folder: Path, *words: object) -> list[list[str]]:
    """Return the sentences of the diagnosis that a check prints, each with its heading."""
    lines = lockstep("check", *map(str, words), cwd=folder).stdout.splitlines()
    return [
        line.strip().split(maxsplit=1) for line in lines if line.startswith(tuple(f"    {head} " for head in HEADS))
    ]


@pytest.fixture
def forgetful(tmp_path: Path) -> Path:
    """The log of the lock service that forgets to count."""
    log = tmp_path / "forgetful.log"
    program = [sys.executable, str(LOCK / "lock_service.py"), "--forgetful"]
    log.write_bytes(subprocess.run(program, capture_output=True, check=True).stdout)
    return log


@pytest.fixture(scope="module")
def figure8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = tmp_path_factory.mktemp("figure8") / "figure8.trace.ndjson"
    import_trace(ROOT / "traces" / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson", trace)
    return trace


# ---- The causes ----


def test_a_page_has_the_sentences_that_a_check_prints(tmp_path: Path) -> None:
    words = ("--switch", "repaired", ROWS["PriorTermCommit"].path)
    rows = viewed(tmp_path, *words)["diagnosis"]["rows"]
    assert [row[:2] for row in rows] == printed(tmp_path, *words)
    assert [row[0] for row in rows] == ["cause", "or", "or", "past"]
    assert [row[2] for row in rows] == [["PriorTermCommit"], [], [], []]


def test_a_page_of_a_spec_of_the_reader_s_own_has_them_too(tmp_path: Path, forgetful: Path) -> None:
    words = ("--spec", LOCK / "LockService.tla", "--mapping", LOCK / "mapping.toml", forgetful.name)
    tree = viewed(tmp_path, *words)
    assert [row[:2] for row in tree["diagnosis"]["rows"]] == printed(tmp_path, *words) != []
    assert tree["remarks"][0]["short"] == ["token: the trace shows 10, the spec says 11"]
    assert tree["diagnosis"]["stories"] == []
    assert viewed(tmp_path, "--no-diagnosis", *words)["diagnosis"] is None


def test_a_page_without_a_diagnosis_still_says_what_is_wrong(tmp_path: Path) -> None:
    tree = viewed(tmp_path, "--no-diagnosis", "--switch", "repaired", ROWS["VoteFile"].path)
    assert tree["diagnosis"] is None
    assert tree["remarks"][0]["short"] == [
        'Choices.tla:100:22: "VoteFile" \\in Flaws',
        '  left:  "VoteFile"',
        "  right: {}",
    ]


def test_a_trace_that_leaves_the_spec_nowhere_has_no_diagnosis(tmp_path: Path) -> None:
    tree = viewed(tmp_path, ROWS["PriorTermCommit"].path)
    assert (tree["verdict"], tree["diagnosis"]) == ("violated", None)
    short = tree["remarks"][0]["short"]
    assert short[0] == "false for n2"
    assert short[1].startswith("false: Properties.tla:")
    assert [line.split(":")[0] for line in short[2:]] == ["  left", "  right"]
    held = viewed(tmp_path, ROWS["MatchWithoutRecalculate"].path)
    assert (held["verdict"], held["diagnosis"], held["remarks"]) == ("holds", None, [])


def test_only_the_first_lines_of_a_long_finding_stand_above() -> None:
    lines = [f"line {number}" for number in range(MAX_SHORT + 3)]
    assert shortened(lines[:MAX_SHORT], 100) == lines[:MAX_SHORT]
    assert shortened(lines, 100) == [*lines[:MAX_SHORT], "… and 3 more lines at its step"]


# ---- The steps that it names ----


@pytest.fixture(scope="module")
def diagnosed(figure8: Path) -> tuple[ShownBehaviour, PageContext]:
    return view_trace(figure8, {"repaired": True}, diagnoses=True)


def test_the_step_that_decides_is_named_beside_that_at_which_it_is_seen(
    diagnosed: tuple[ShownBehaviour, PageContext],
) -> None:
    behaviour, _ = diagnosed
    found = behaviour.diagnosis
    assert found is not None
    lines = {step.number: step.line for step in behaviour.steps}
    assert found.decided is not None
    assert (lines[found.decided], lines[found.seen]) == (201, 202)
    assert "at line 201 (QuorumAckChecker of n0)" in found.rows[found.deciding].text


def test_where_a_page_leaves_out_the_step_that_decides_none_is_named(
    diagnosed: tuple[ShownBehaviour, PageContext],
) -> None:
    behaviour, _ = diagnosed
    found = behaviour.diagnosis
    assert found is not None
    assert diagnosis_tree(found, behaviour.steps, MAX_TEXT)["decided"] == found.decided
    tree = diagnosis_tree(found, behaviour.steps[-1:], MAX_TEXT)
    assert (tree["decided"], tree["outside"]) == (None, [])
    assert [row[1] for row in tree["rows"]] == [row.text for row in found.rows]


def test_a_cause_in_the_deviating_step_alone_is_decided_nowhere_else(tmp_path: Path) -> None:
    tree = viewed(tmp_path, "--switch", "repaired", ROWS["VoteFile"].path)
    assert (tree["diagnosis"]["decided"], tree["diagnosis"]["seen"]) == (None, 5)


def test_the_steps_outside_the_past_are_those_that_sarif_calls_unimportant(tmp_path: Path) -> None:
    tree = viewed(tmp_path, "--switch", "repaired", ROWS["VoteFile"].path)
    numbers = {step["line"]: step["number"] for step in tree["steps"] if "line" in step}
    assert tree["diagnosis"]["outside"] == [numbers[f"line {line}"] for line in (2, 4, 5)]


def verdict_with(path: Path, **changes: Any) -> TraceVerdict:
    """Return a verdict on a trace that leaves the spec, with a diagnosis of the test's own."""
    verdict = KnownTraceCheck({"repaired": True})(path)
    assert verdict.deviation is not None
    line = verdict.deviation.line
    cause = DeviationCause("flaws", "VoteFile=published", line, "CrashInPersistTerm", "n2", 1, whole=True)
    verdict.explain(Diagnosis((cause,), **{"past": (line,), "events": line - 1, **changes}))
    return verdict


@pytest.mark.parametrize(
    ("changes", "outside"),
    [({}, [1, 2, 3, 4]), ({"events": MAX_EVENTS}, [1, 2, 3, 4]), ({"past": ()}, [])],
)
def test_a_step_is_outside_the_past_only_if_that_is_known(changes: dict[str, Any], outside: list[int]) -> None:
    path = ROWS["VoteFile"].path
    behaviour, context = view_trace(path, {"repaired": True})
    found = shown_diagnosis(verdict_with(path, **changes), behaviour.steps, context)
    assert found is not None
    assert sorted(found.outside) == outside


def test_no_step_that_was_not_looked_at_is_outside_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROWS["VoteFile"].path
    monkeypatch.setattr("lockstep.jobs.view.answer.MAX_EVENTS", 3)
    behaviour, context = view_trace(path, {"repaired": True})
    found = shown_diagnosis(verdict_with(path, events=3), behaviour.steps, context)
    assert found is not None
    assert sorted(found.outside) == [3, 4]


# ---- Where it comes from ----


def test_the_command_that_a_page_names_comes_to_its_verdict_again(tmp_path: Path) -> None:
    tree = viewed(tmp_path, "--switch", "VoteFile=repaired", ROWS["VoteFile"].path)
    (name, command, _), (_, system, _), (_, short, full) = tree["origins"]
    assert name == "checked again by"
    assert command == f"lockstep check --switch VoteFile=repaired {ROWS['VoteFile'].path}"
    done = lockstep(*shlex.split(command)[1:], cwd=tmp_path)
    assert (done.returncode, tree["reason"] in done.stdout) == (1, True)
    assert system == "raftref 1"
    assert full.splitlines()[0].startswith("repaired: ")
    assert "VoteFile" in full.splitlines()[0]
    assert short.split(", ")[0] == f"{full.splitlines()[0].count(',') + 1} repaired"
    published = viewed(tmp_path, ROWS["VoteFile"].path)["origins"][-1]
    assert "published: VoteFile" in published[2].splitlines()


def test_the_command_quotes_a_name_for_the_shell(tmp_path: Path) -> None:
    trace = tmp_path / "my trace's.ndjson"
    trace.write_bytes(ROWS["VoteFile"].path.read_bytes())
    command = viewed(tmp_path, trace.name)["origins"][0][1]
    assert shlex.split(command) == ["lockstep", "check", trace.name]


def test_the_counterexample_of_a_spec_is_found_again_by_a_search(tmp_path: Path) -> None:
    spec, _ = counter(tmp_path, COUNTS_TOO_FAR)
    tree = viewed(tmp_path, "--spec", spec.name)
    assert [row[:2] for row in tree["origins"]] == [["checked again by", f"lockstep model --spec {spec.name}"]]
    assert tree["remarks"][0]["short"] == ["false: Counter.tla:10:10: x < 3", "  left:  3", "  right: 3"]


def test_an_exported_trace_is_not_searched_for_causes() -> None:
    assert page_content(*view_trace(ROWS["VoteFile"].path, {"repaired": True}))["diagnosis"] is None


def test_the_message_that_a_refused_step_takes_ends_there() -> None:
    """The state of the spec is that before the step, in which the message is still under way."""
    tree = page_content(*view_trace(ROWS["StaleInstall"].path, {"repaired": True}))
    last = tree["steps"][-1]
    assert last["refused"]
    (taken,) = (each for each in tree["messages"] if each["ended"] == last["number"])
    assert (taken["label"], taken["fate"]) == ("InstallSnapshot", "received")
    assert tree["nodes"][taken["dst"]] == tree["nodes"][last["node"]]


@pytest.mark.parametrize(
    ("flaw", "action", "fates"), [("StaleCompareIndex", "Lose", ["lost"]), ("LateTruncate", "Duplicate", [])]
)
def test_a_message_that_a_refused_step_loses_or_doubles_is_not_drawn_as_received(
    flaw: str, action: str, fates: list[str], tmp_path: Path
) -> None:
    lines = ROWS[flaw].path.read_text(encoding="utf-8").splitlines()
    place = next(at for at, line in enumerate(lines) if json.loads(line).get("action") == action)
    event = json.loads(lines[place])
    event["shows"]["currTerm"] += 7
    trace = tmp_path / "t.trace.ndjson"
    trace.write_text("\n".join([*lines[:place], json.dumps(event), ""]), encoding="utf-8")
    tree = page_content(*view_trace(trace, {}))
    last = tree["steps"][-1]
    assert (last["refused"], tree["actions"][last["action"]]["name"]) == (True, action)
    assert [each["fate"] for each in tree["messages"] if each["ended"] == last["number"]] == fates


# ---- The stories of flaws ----


@pytest.mark.parametrize("switch", ROWS)
def test_each_flaw_has_its_story(switch: str) -> None:
    system, group, _ = ROWS[switch].file.split("/")
    story = flaw_stories(system)[switch]
    assert story.file == f"traces/counterexamples/{system}/{group}/README.md"
    assert f"\n## {switch}\n" in (traces_dir().parent / story.file).read_text(encoding="utf-8")
    assert len(story.text) > 100
    assert "](" not in story.text
    assert ".trace.ndjson" not in story.text
    published, _, repair = story.in_words.partition("; repaired: ")
    assert min(len(published), len(repair)) > 3
    assert not set("`|[") & set(story.in_words)


def test_a_cause_has_the_stories_of_all_flaws_that_it_names() -> None:
    behaviour, _ = view_trace(ROWS["ReapedInstall"].path, {"repaired": True}, diagnoses=True)
    assert behaviour.diagnosis is not None
    assert list(behaviour.diagnosis.rows[0].stories) == ["ReapedInstall", "StaleInstall"]
    in_words = [
        text.partition(":")[0] for text in diagnosis_tree(behaviour.diagnosis, behaviour.steps, 200)["rows"][0][3]
    ]
    assert in_words == ["ReapedInstall", "StaleInstall"]


def test_a_spec_without_a_table_of_flaws_has_no_stories() -> None:
    assert flaw_stories("lab") == {}


def test_where_there_are_no_stories_a_flaw_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing() -> Path:
        raise FileNotFoundError(tmp_path)

    monkeypatch.setattr("lockstep.report.page.flaw_stories.traces_dir", missing)
    assert flaw_stories.__wrapped__("dledger") == {}
    assert tree_of(ROWS["VoteFile"].path)["diagnosis"] is None
