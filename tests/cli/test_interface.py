"""The command as people and programs use it: codes, formats, many traces at once, standard input, shells."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.report.code_explanation import codes, property_text, rule
from lockstep.report.junit_xml import junit_xml
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.registry import SYSTEMS
from lockstep.tla.syntax.cfg import read_cfg
from lockstep.trace.trace_format import write_trace
from lockstep.trace.trace_paths import MissingTrace, trace_paths
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.terminals import on_a_terminal
from tests.support.systems.simulated_traces import simulated

EVENT_COUNT = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that holds, one with a wrong value, one that is cut, the last in a folder of its own."""
    made = tmp_path_factory.mktemp("traces")
    head, events = simulated()
    write_trace(made / "good.ndjson", head, events[:EVENT_COUNT])
    lied = msgspec.structs.replace(events[3], shows={"currTerm": 77})
    write_trace(made / "lied.ndjson", head, [*events[:3], lied, *events[4:EVENT_COUNT]])
    (made / "within").mkdir()
    (made / "within" / "cut.ndjson").write_bytes((made / "good.ndjson").read_bytes()[:-20])
    (made / "notes.txt").write_text("no trace\n")
    return made


# ---- Codes ----


def test_every_property_that_traces_are_checked_for_has_a_code_of_its_own() -> None:
    for system in SYSTEMS.values():
        cfg = read_cfg(system.trace_cfg)
        assert set(system.codes) == {*cfg.invariants, *cfg.properties}
    assert len(codes()) == sum(len(system.codes) for system in SYSTEMS.values()) + 19


@pytest.mark.parametrize("code", codes())
def test_every_code_is_explained(code: str) -> None:
    explained = rule(code)
    assert (explained.code, rule(code.lower())) == (code, explained)
    assert len(explained.text) > 100


def test_a_property_is_explained_by_the_spec_and_the_models_that_break_it(folder: Path) -> None:
    reported = lockstep("explain", "DL105", cwd=folder)
    assert reported.returncode == 0
    assert reported.stdout.startswith("DL105 LeaderCompleteness\n")
    for part in ("Raft, Figure 3", "c.term <= node[n].currTerm => Holds(", "lockstep model prior_term_commit_bug"):
        assert part in reported.stdout
    assert lockstep("explain", "leadercompleteness", cwd=folder).stdout == reported.stdout


def test_explain_lists_the_codes_and_refuses_others(folder: Path) -> None:
    listed = lockstep("explain", cwd=folder).stdout.splitlines()
    assert [line.split("  ", 1) for line in listed] == [[code, title] for code, title in codes().items()]
    refused = lockstep("explain", "DL999", cwd=folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "there is no code 'DL999'" in refused.stderr


def test_a_property_that_the_spec_does_not_define_cannot_be_explained() -> None:
    with pytest.raises(AssertionError, match=r"DLedger.tla does not define Nothing"):
        property_text(DLEDGER, "Nothing")


# ---- Many traces ----


def test_a_folder_stands_for_the_traces_in_it_and_in_its_folders(folder: Path) -> None:
    done = lockstep("check", folder, cwd=folder)
    assert done.returncode == 2  # the worst of them: one is malformed
    for name, word in (("good", "holds"), ("lied", "violated"), ("within/cut", "malformed")):
        assert re.search(rf"{folder / name}.ndjson[:0-9]*: (LS301 )?{word}: ", done.stdout)
    assert "notes.txt" not in done.stdout


def test_a_pattern_that_the_shell_left_alone_stands_for_the_files_that_match(folder: Path) -> None:
    done = lockstep("check", "*.ndjson", cwd=folder)
    assert done.returncode == 1
    assert "good.ndjson: holds" in done.stdout
    assert "lied.ndjson: violated" in done.stdout
    assert "cut" not in done.stdout


def test_each_file_is_checked_once(folder: Path) -> None:
    assert trace_paths([str(folder / "good.ndjson"), str(folder), str(folder / "*.ndjson")]) == [
        folder / "good.ndjson",
        folder / "lied.ndjson",
        folder / "within" / "cut.ndjson",
    ]


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "junit"])
def test_a_word_that_stands_for_no_file_is_reported_and_leaves_the_others_their_verdicts(
    form: str, folder: Path
) -> None:
    done = lockstep("check", "--format", form, "nowhere.ndjson", "good.ndjson", "*.no", "lied.ndjson", cwd=folder)
    assert (done.returncode, done.stderr) == (2, "")
    assert reported(done.stdout, form) == [
        ("nowhere.ndjson", "malformed", "there is no such file"),
        ("good.ndjson", "holds", ""),
        ("*.no", "malformed", "there is no such file"),
        ("lied.ndjson", "violated", ""),
    ]


def reported(output: str, form: str) -> list[tuple[str, str, str]]:
    """The name of each trace in a report, the verdict, and why it is malformed."""
    if form == "text":
        found = re.findall(r"^(\S+): (?:LS301 )?(\w+): (.*)$", output, re.MULTILINE)
        return [(name, word, why if word == "malformed" else "") for name, word, why in found if name != "replay"]
    if form == "junit":
        cases = ElementTree.fromstring(output).findall("testcase")
        return [(case.get("name") or "", *judged(case)) for case in cases]
    records = json.loads(output) if form == "json" else [json.loads(line) for line in output.splitlines()]
    reasons = [each["reason"] if each["verdict"] == "malformed" else "" for each in records]
    return [(each["source"], each["verdict"], why) for each, why in zip(records, reasons, strict=True)]


def judged(case: ElementTree.Element) -> tuple[str, str]:
    """The verdict on a test case, and why it is malformed."""
    error = case.find("error")
    if error is not None:
        return error.get("type") or "", error.get("message") or ""
    return ("holds" if case.find("failure") is None else "violated"), ""


def test_an_empty_word_and_a_folder_without_traces_are_reported(folder: Path, tmp_path: Path) -> None:
    found = trace_paths(["", str(tmp_path), str(folder / "good.ndjson")])
    assert found == [
        MissingTrace("''", "an empty word names no trace"),
        MissingTrace(str(tmp_path), "there is no .ndjson file in this folder"),
        folder / "good.ndjson",
    ]


def test_a_trace_is_read_from_standard_input(folder: Path) -> None:
    for name, code, expected in (
        ("good", 0, "<stdin>: holds"),
        ("lied", 1, "<stdin>:5: LS202 "),
        ("within/cut", 2, "LS301"),
    ):
        with (folder / f"{name}.ndjson").open("rb") as given:
            command = [sys.executable, "-m", "lockstep", "check", "-"]
            done = subprocess.run(command, stdin=given, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == code
        assert expected in done.stdout


# ---- Formats ----


def test_a_finding_is_a_line_with_file_line_and_code(folder: Path) -> None:
    done = lockstep("check", "lied.ndjson", cwd=folder)
    assert "\nlied.ndjson:5: LS202 after " in done.stdout
    assert "\n    currTerm: the trace shows 77, the spec says " in done.stdout


def test_json_has_every_verdict_with_its_exit_code_and_the_codes_of_its_findings(folder: Path) -> None:
    done = lockstep("check", "--format", "json", "good.ndjson", "lied.ndjson", "within", cwd=folder)
    good, lied, cut = json.loads(done.stdout)
    assert (done.returncode, good["exit_code"], lied["exit_code"], cut["exit_code"]) == (2, 0, 1, 2)
    assert [each["code"] for each in lied["findings"]] == ["LS202"]
    assert (lied["findings"][0]["line"], good["findings"]) == (5, [])


def test_json_lines_has_one_verdict_a_line(folder: Path) -> None:
    done = lockstep("check", "--format", "jsonl", "good.ndjson", "lied.ndjson", cwd=folder)
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["holds", "violated"]


def test_junit_has_a_case_for_each_trace_and_counts_what_failed(folder: Path) -> None:
    done = lockstep("check", "--format", "junit", "good.ndjson", "lied.ndjson", "within", cwd=folder)
    suite = ElementTree.fromstring(done.stdout)
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    failures = suite.findall("testcase/failure")
    assert [each.get("type") for each in failures] == ["LS202"]
    assert "currTerm: the trace shows 77" in (failures[0].text or "")
    (error,) = suite.findall("testcase/error")
    assert "truncated" in (error.get("message") or "")


#: What may stand in a report, as the reader of Jenkins has it: the elements within each, and its attributes.
JUNIT = {
    "testsuite": ({"testcase"}, {"name", "tests", "failures", "errors", "time"}),
    "testcase": ({"failure", "error", "system-out"}, {"classname", "name", "time"}),
    "failure": (set(), {"type", "message"}),
    "error": (set(), {"type", "message"}),
    "system-out": (set(), set()),
}


def test_junit_has_the_elements_and_attributes_that_its_readers_know_and_numbers_where_they_want_them(
    folder: Path,
) -> None:
    done = lockstep("check", "--format", "junit", "good.ndjson", "lied.ndjson", "within", cwd=folder)
    suite = ElementTree.fromstring(done.stdout)
    assert suite.tag == "testsuite"
    for element in suite.iter():
        within, attributes = JUNIT[element.tag]
        assert {each.tag for each in element} <= within
        assert set(element.keys()) == attributes
        assert all(float(element.get(name, "0")) >= 0 for name in ("tests", "failures", "errors", "time"))
    cases = suite.findall("testcase")
    assert len({case.get("name") for case in cases}) == len(cases) == int(suite.get("tests", ""))


def test_hostile_text_leaves_junit_well_formed() -> None:
    text = "]]><script>\x00\x1b[31m\ud800 & \"'"
    found = Finding("shows", "LS202", text, 2, 0, text, text, (text,))
    verdict = TraceVerdict(text, Verdict.VIOLATED, text, findings=[found])
    broken = TraceVerdict(text, Verdict.MALFORMED, text)
    suite = ElementTree.fromstring(junit_xml([verdict, broken]).encode())
    (failure,) = suite.findall("testcase/failure")
    assert "<script>" in (failure.text or "")
    assert "\x1b" not in junit_xml([verdict, broken])


# ---- Terminals ----


def test_a_terminal_sees_progress_and_colours_and_no_color_keeps_the_colours_away(folder: Path) -> None:
    plain, coloured = (
        on_a_terminal(folder, "check", "good.ndjson", NO_COLOR="1"),
        on_a_terminal(folder, "check", "good.ndjson"),
    )
    assert "good.ndjson: event 0 of 12 ..." in coloured
    assert "\x1b[32;1m" in coloured
    assert "\x1b[32" not in plain
    assert "good.ndjson: holds:" in plain


def test_a_terminal_sees_how_far_a_page_is(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    output = on_a_terminal(folder, "view", "good.ndjson", "-o", str(page))
    reported = [
        output.find(text)
        for text in (
            "good.ndjson: event 0 of 12 ...",
            "good.ndjson: the states to show ...",
            "page.html: the page ...",
            "13 of 13 states",
        )
    ]
    assert -1 not in reported
    assert reported == sorted(reported)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_what_completes_the_words(shell: str, folder: Path) -> None:
    done = lockstep("completion", shell, cwd=folder)
    assert done.returncode == 0
    assert "_LOCKSTEP_COMPLETE" in done.stdout


def test_the_shell_completes_commands(folder: Path) -> None:
    done = lockstep(cwd=folder, COMP_WORDS="lockstep e", COMP_CWORD="1", _LOCKSTEP_COMPLETE="bash_complete")
    assert done.stdout.split() == ["plain,explain", "plain,export"]


@pytest.mark.parametrize(
    ("begun", "word"),
    [
        ("model late", "late_truncate_bug"),
        ("graph late", "late_truncate"),
        ("explain DL10", "DL105"),
        ("simulate --plan fi", "fine_published"),
        ("check --switch Prior", "PriorTermCommit=repaired"),
    ],
)
def test_the_shell_completes_the_arguments_of_a_command(begun: str, word: str, folder: Path) -> None:
    count = str(len(begun.split()))
    done = lockstep(cwd=folder, COMP_WORDS=f"lockstep {begun}", COMP_CWORD=count, _LOCKSTEP_COMPLETE="bash_complete")
    reported = [line.partition(",")[2] for line in done.stdout.split()]
    assert word in reported
    assert all(each.startswith(begun.split()[-1]) for each in reported)
