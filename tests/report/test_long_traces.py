"""The page of a long trace: each step is taken once, and the page is small whatever the trace."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from lockstep.jobs.view.trace_view import view_own_logs, view_trace
from lockstep.models.search_result import SpecFiles
from lockstep.report.page import page_content as pages
from lockstep.report.page.build_page import build_page
from lockstep.report.page.page_content import MAX_PAGE_BYTES, TooLargeError, fit_to_page, json_for_html, page_content
from lockstep.systems.file_check import KnownTraceCheck
from lockstep.systems.trace_files import write_cluster
from lockstep.tla.spec import Spec
from lockstep.trace.trace_reader import events_at_end

#: A spec with a variable that grows with each step by a sequence of LENGTH elements.
GROWS = """---- MODULE Grows ----
EXTENDS Naturals, Sequences
VARIABLES held, count
Init == held = <<>> /\\ count = 0
Add(m, n) == held' = Append(held, [i \\in 1..LENGTH |-> n]) /\\ count' = count + 1
Next == \\E m \\in {"n"}, n \\in Nat : Add(m, n)
Short == count < 1000
====
"""

SYSTEMS = pytest.mark.parametrize("plan", ["published", "raft_whole"])


def growing(folder: Path, events: int, length: int) -> tuple[Path, Path, Path]:
    """Write the spec, its cfg and a trace of it."""
    spec, cfg, trace = folder / "Grows.tla", folder / "Grows.cfg", folder / "grows.ndjson"
    spec.write_text(GROWS.replace("LENGTH", str(length)), encoding="utf-8")
    cfg.write_text("INIT Init\nNEXT Next\nINVARIANT Short\n", encoding="utf-8")
    head = {"kind": "header", "format": "lockstep-trace/1", "system": "s", "version": "1", "spec": "Grows"}
    lines: list[dict[str, Any]] = [{**head, "nodes": ["n"], "constants": {}}]
    for number in range(events):
        lines.append({"kind": "event", "seq": number, "node": "n", "action": "Add", "args": {"n": number}})
    lines.append({"kind": "end", "events": events})
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return spec, cfg, trace


@SYSTEMS
def test_each_step_is_taken_once(plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_cluster(tmp_path, plan, 3, 150)
    taken, step = [], Spec.step

    def counted(self: Spec, state: Any, action: str, *rest: Any) -> Any:
        taken.append(action)
        return step(self, state, action, *rest)

    monkeypatch.setattr(Spec, "step", counted)
    shown, _ = view_trace(trace, {})
    assert shown.count == len(taken) == 150


@SYSTEMS
def test_a_small_page_of_a_trace_that_holds_has_the_last_steps(
    plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, context = view_trace(write_cluster(tmp_path, plan, 3, 300), {})
    whole = len(json_for_html(page_content(shown, context)))
    monkeypatch.setattr(pages, "_MAX_TREE_BYTES", whole // 2)
    part, tree = fit_to_page(shown, context)
    assert len(json_for_html(tree)) <= whole // 2
    assert 30 < len(part.steps) < 301
    assert part.steps[-1].number == tree["steps"][-1]["number"] == part.count == 300
    assert tree["steps"][0]["number"] == part.steps[0].number > 0


def test_a_small_page_of_a_trace_that_deviates_has_the_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, context = view_trace(write_cluster(tmp_path, "published", 4, 400), {})
    first = min(remark.number for remark in shown.remarks)
    monkeypatch.setattr(pages, "_MAX_TREE_BYTES", len(json_for_html(page_content(shown, context))) // 3)
    part, tree = fit_to_page(shown, context)
    numbers = [step["number"] for step in tree["steps"]]
    assert first in numbers
    assert first < numbers[-1]
    assert len(numbers) < len(shown.steps)
    assert part.remarks == shown.remarks


def test_large_states_of_a_spec_of_ones_own_make_fewer_steps_and_shorter_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_MAX_TREE_BYTES", 100_000)
    spec, cfg, trace = growing(tmp_path, 60, 2_000)
    shown, context = view_own_logs([trace], SpecFiles(spec, cfg))
    part, tree = fit_to_page(shown, context)
    assert shown.count == 60
    assert 1 <= len(part.steps) < 40
    assert part.steps[-1].number == 60
    assert len(json_for_html(tree)) <= 100_000


def test_a_state_that_no_page_can_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, context = view_trace(write_cluster(tmp_path, "published", 3, 20), {})
    monkeypatch.setattr(pages, "_MAX_TREE_BYTES", 1_000)
    with pytest.raises(TooLargeError, match=r"one state of published-3\.trace\.ndjson, .* more"):
        fit_to_page(shown, context)


def test_what_is_added_to_a_long_sequence_is_shown_where_the_whole_would_be_cut(tmp_path: Path) -> None:
    spec, cfg, trace = growing(tmp_path, 40, 50)
    shown, context = view_own_logs([trace], SpecFiles(spec, cfg))
    tree = page_content(shown, context)
    held, counted = tree["steps"][40]["changed"]
    assert held[:4] == ["held", "", "+[40]", ""]
    assert held[4].startswith("<<39, 39, ")
    assert counted == ["count", "", "", "39", "40"]


@SYSTEMS
def test_the_page_says_of_a_long_log_what_it_leaves_out(
    plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_cluster(tmp_path, plan, 3, 400)
    whole = page_content(*view_trace(trace, {}))
    monkeypatch.setattr(pages, "ENTRIES_BELOW", 1)
    shown, context = view_trace(trace, {})
    tree = page_content(shown.__class__(**{**_fields(shown), "steps": shown.steps[-10:]}), context)
    assert whole["lowest"] == 0
    assert tree["lowest"] > 0
    looks = tree["steps"][0]["looks"].values()
    assert min(index for look in looks for index, *_ in look["log"][2]) > 0


def _fields(shown: Any) -> dict[str, Any]:
    return {name: getattr(shown, name) for name in shown.__dataclass_fields__}


def test_the_check_says_how_many_events_there_are(tmp_path: Path) -> None:
    trace = write_cluster(tmp_path, "ordered", 3, 1_100)
    reported: list[str] = []
    KnownTraceCheck({}, say=reported.append)(trace)
    assert reported == [f"{trace}: event {count} of 1,100" for count in ("0", "500", "1,000")]
    torn = tmp_path / "torn.ndjson"
    torn.write_bytes(trace.read_bytes()[:-20])
    assert (events_at_end(trace), events_at_end(torn), events_at_end(tmp_path)) == (1_100, None, None)


@pytest.mark.nightly
@pytest.mark.parametrize("plan", ["ordered", "raft_whole"])
def test_twenty_thousand_events_are_shown_within_twice_the_time_of_the_check(plan: str, tmp_path: Path) -> None:
    trace = write_cluster(tmp_path, plan, 2, 20_000)
    begin = time.process_time()
    KnownTraceCheck({})(trace)
    checked = time.process_time()
    text = build_page(fit_to_page(*view_trace(trace, {}))[1])
    assert time.process_time() - checked < 2 * (checked - begin)
    assert len(text.encode()) < MAX_PAGE_BYTES
