"""A failure is no violation where the recording contradicts the order of the events; before that it is one."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.github_actions import commands
from lockstep.report.junit_xml import junit_xml
from lockstep.report.sarif_report import sarif_log
from lockstep.report.verdict_text import verdict_text
from lockstep.trace.trace_format import Event, write_trace
from raftref.dledger.choices import PUBLISHED
from raftref.dledger.simulation import figure8, scenario_plan
from tests.support.pipeline import cut_traces
from tests.support.pipeline.watched_traces import Watched
from tests.support.programs.lockstep_command import lockstep
from tests.support.systems.simulated_traces import as_event, check, header, simulated

#: The event that shows something wrong, and how many its trace has.
WRONG, EVENTS = 40, 60


def trace(wrong: int | None = WRONG, **marks: int) -> list[Event]:
    """A trace with a wrong value, and with events that are marked `forced` or `disputed`."""
    events = list(simulated()[1][:EVENTS])
    if wrong is not None:
        events[wrong] = msgspec.structs.replace(events[wrong], shows={"currTerm": 99})
    for name, place in marks.items():
        events[place] = msgspec.structs.replace(events[place], **{name: True})
    return events


@pytest.mark.parametrize("marks", [{"forced": 40}, {"forced": 7}, {"disputed": 40}, {"disputed": 7, "forced": 50}])
def test_a_deviation_in_a_disputed_order_leaves_no_verdict(marks: dict[str, int]) -> None:
    found = check(trace(**marks))
    assert (found.verdict, found.verdict.exit_code) == (Verdict.INCONCLUSIVE, 3)
    assert found.deviation is not None and found.deviation.disputed
    line = min(marks.values()) + 2
    assert found.reason == (
        f"not a behaviour of the spec from line {WRONG + 2} on, but from line {line} on the recording contradicts "
        "the order of its steps"
    )


@pytest.mark.parametrize("marks", [{"forced": 41}, {"disputed": 41, "forced": 50}])
def test_a_deviation_before_a_disputed_order_is_a_violation(marks: dict[str, int]) -> None:
    found = check(trace(**marks))
    assert found.verdict is Verdict.VIOLATED
    assert found.deviation is not None and not found.deviation.disputed


def test_a_trace_in_which_nothing_is_wrong_and_a_step_is_forced_does_not_hold() -> None:
    found = check(trace(None, disputed=7, forced=30))
    assert (found.verdict, found.findings, found.forced) == (Verdict.INCONCLUSIVE, [], [32])


def figure_8(forced: int) -> TraceVerdict:
    plan = scenario_plan(PUBLISHED)
    events = [as_event(tree) for tree in figure8(PUBLISHED)]
    events[forced] = msgspec.structs.replace(events[forced], forced=True)
    return check(events, header(plan))


def test_a_property_that_fails_in_a_disputed_order_is_not_violated() -> None:
    found = figure_8(0)
    assert "LeaderCompleteness" in found.violations
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "from line 2 on the recording contradicts" in found.reason


def test_a_property_that_fails_before_a_disputed_order_is_violated() -> None:
    first = figure_8(0).findings[0].line
    found = figure_8(first - 1)
    assert found.verdict is Verdict.VIOLATED
    assert found.reason.startswith("a behaviour of the spec that violates LeaderCompleteness")


def test_the_parts_of_a_trace_dispute_what_the_whole_disputes() -> None:
    for marks in ({"forced": 7}, {"forced": 40}, {"forced": 41}, {"disputed": 7, "forced": 50}):
        cut = cut_traces.of_events(simulated()[0], trace(**marks))
        for places in ([10], [3, 20], cut.places):
            assert cut.together(places) == cut.whole, (marks, places)


def test_a_watched_trace_is_not_violated_by_what_is_wrong_in_a_disputed_order(tmp_path: Path) -> None:
    file = tmp_path / "t.trace.ndjson"
    write_trace(file, simulated()[0], trace(forced=7))
    lines = file.read_bytes().splitlines(keepends=True)
    watched = Watched(file, tmp_path / "store")
    for begin in range(0, len(lines), 5):  # the forced event is in an earlier batch than the wrong one
        watched.batch(lines[begin : begin + 5])
    assert [(row.verdict, row.settled) for row in watched.rows] == [("inconclusive", True)]


# ---- Reports ----


@pytest.fixture(scope="module")
def disputed() -> TraceVerdict:
    return check(trace(forced=7))


def test_the_finding_is_printed_below_the_verdict(disputed: TraceVerdict) -> None:
    text = verdict_text(disputed)
    assert text.startswith("t: LS401 inconclusive: not a behaviour of the spec from line 42 on")
    assert "t:42: LS202" in text


def test_junit_has_an_error_and_no_failure(disputed: TraceVerdict) -> None:
    suite = ElementTree.fromstring(junit_xml([disputed]))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    error = suite.find("testcase/error")
    assert error is not None and error.text is not None and "LS202" in error.text


def test_sarif_leaves_the_finding_open(disputed: TraceVerdict) -> None:
    (run,) = json.loads(sarif_log([disputed]))["runs"]
    assert {(each["kind"], each["level"]) for each in run["results"]} == {("open", "none")}
    assert {each["ruleId"] for each in run["results"]} == {"LS202", "LS401"}
    assert run["invocations"][0]["executionSuccessful"] is False


def test_an_annotation_warns_of_the_finding(disputed: TraceVerdict) -> None:
    assert [each.partition(" ")[0] for each in commands([disputed])] == ["::warning", "::error"]


def test_a_trace_that_is_disputed_before_its_forced_step_or_cut_there_does_not_hold() -> None:
    """A prefix of a recording: the ring begins before the step that no order explains."""
    found = check(trace(None, disputed=7))
    assert (found.verdict, found.findings, found.forced) == (Verdict.INCONCLUSIVE, [], [])
    assert found.reason == (
        "a behaviour of the spec, but from line 9 on the recording contradicts the order of its steps"
    )


def test_a_page_shows_what_is_wrong_in_a_disputed_order(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.trace.ndjson", simulated()[0], trace(forced=7))
    done = lockstep("view", "t.trace.ndjson", "-o", "page.html", cwd=tmp_path)
    assert (done.returncode, "inconclusive: not a behaviour of the spec from line 42 on" in done.stdout) == (0, True)
    assert "currTerm" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert lockstep("export", "t.trace.ndjson", "--to", "svg", "-o", "d.svg", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("words", [("check",), ("minimise", "-o", "less.ndjson")])
def test_each_command_exits_as_for_what_is_inconclusive(words: tuple[str, ...], tmp_path: Path) -> None:
    write_trace(tmp_path / "t.trace.ndjson", simulated()[0], trace(forced=7))
    done = lockstep(words[0], "t.trace.ndjson", *words[1:], cwd=tmp_path)
    assert done.returncode == 3
    assert "inconclusive" in done.stdout + done.stderr
