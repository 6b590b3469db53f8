"""The changes of a step on a page: a line for each part that differs, in Chromium and in the page's content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lockstep.jobs.view.trace_view import view_own_logs
from lockstep.models.search_result import SpecFiles
from lockstep.report.page import change_rows
from lockstep.report.page.build_page import build_page
from lockstep.report.page.page_content import page_content
from lockstep.systems.trace_files import write_cluster
from lockstep.tla.values.kinds import format_value
from tests.scripts.counterexamples.tool import counterexamples
from tests.support.logs.backup_service import EXAMPLE, service
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.pages import HOSTILE, hostile_trace, tree_of

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)

LOCK = ROOT / "docs" / "lock_service"
ROWS = {row.switch: row for row in counterexamples()}


def page_at(browser: Browser, folder: Path, tree: dict[str, Any], number: int, width: int = 1200) -> Page:
    file = folder / "changes.html"
    file.write_text(build_page(tree), encoding="utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(f"{file.as_uri()}#step={number}")
    return tab


def lines_of(tab: Page) -> dict[str, list[str]]:
    """Return what the table of changes shows: for each node or variable its lines."""
    return {
        row.locator("th").inner_text(): row.locator("td div").all_inner_texts()
        for row in tab.locator("#changes tr").all()
    }


def number_with(tree: dict[str, Any], part: str, sign: str) -> int:
    """Return the last step with a change of a part, with a sign."""
    return next(
        int(step["number"])
        for step in reversed(tree["steps"])
        for _, each, mark, _, _ in step["changed"]
        if each == part and mark.startswith(sign)
    )


@needs_browser
def test_an_entry_that_is_appended_or_cut_is_one_line_whatever_the_log_holds(browser: Browser, tmp_path: Path) -> None:
    tree = tree_of(ROWS["LateTruncate"].path)
    appended = number_with(tree, "log", "+[")
    tab = page_at(browser, tmp_path, tree, appended)
    node = tab.get_attribute(".node.acts", "data-node") or "?"
    (line,) = [line for line in lines_of(tab)[node] if line.startswith("log ")]
    drawn = tab.locator(".node.acts .log svg title").all_text_contents()[1:]
    assert line.startswith("log +[")
    index, _, entry = line.removeprefix("log +[").partition("] = ")
    text, _, term = entry.rstrip(")").partition(" (term ")
    assert any(title.startswith(f"entry {index}: {text}, term {term}, ") for title in drawn)
    cut = number_with(tree, "log", "-[")
    tab.evaluate(f"location.hash = '#step={cut}'")
    tab.wait_for_function(f"document.getElementById('position').textContent.includes(' {cut} of ')")
    node = tab.get_attribute(".node.acts", "data-node") or "?"
    (line,) = [line for line in lines_of(tab)[node] if line.startswith("log ")]
    drawn = tab.locator(".node.acts .log title").all_text_contents()
    index, _, entry = line.removeprefix("log -[").partition("] was ")
    text, _, term = entry.rstrip(")").partition(" (term ")
    assert f"entry {index}: {text}, term {term}, is cut by this step" in drawn
    tab.close()


@needs_browser
def test_an_element_of_a_set_and_a_field_of_a_record_are_one_line(browser: Browser, tmp_path: Path) -> None:
    tree = tree_of(write_cluster(tmp_path, "published", 3, 60))
    votes = number_with(tree, "votes", "+")
    tab = page_at(browser, tmp_path, tree, votes)
    shown = [line for lines in lines_of(tab).values() for line in lines]
    assert {"votes +n1", "votes +n2", "votes +n3"} & set(shown)
    leader = next(
        step["number"]
        for step in tree["steps"]
        for row in step["changed"]
        if row[1:] == ["role", "", "CANDIDATE", "LEADER"]
    )
    tab.evaluate(f"location.hash = '#step={leader}'")
    tab.wait_for_function(f"document.getElementById('position').textContent.includes(' {leader} of ')")
    node = tab.get_attribute(".node.acts", "data-node") or "?"
    assert "role CANDIDATE -> LEADER" in lines_of(tab)[node]
    for shown in [line for lines in lines_of(tab).values() for line in lines]:
        tab.fill("#search", shown)
        assert int(tab.inner_text("#hits").split()[0]) > 0, shown
    assert len(lines_of(tab)) == tab.locator("#changes th").count()
    assert Axe().run(tab).violations_count == 0
    tab.set_viewport_size({"width": 390, "height": 900})
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    tab.close()


@needs_browser
def test_a_spec_of_one_s_own_has_such_lines_too(browser: Browser, tmp_path: Path) -> None:
    states: list[tuple[str, str, list[str], int]] = [("locked", "b", [], 1), ("locked", "a", ["a"], 1)]
    log = tmp_path / "service.log"
    log.write_text(
        "".join(
            json.dumps({"what": what, "client": client, "state": {"owner": "b", "waiting": waiting, "token": token}})
            + "\n"
            for what, client, waiting, token in states
        ),
        encoding="utf-8",
    )
    files = SpecFiles(LOCK / "LockService.tla", mapping=LOCK / "mapping.toml")
    tab = page_at(browser, tmp_path, page_content(*view_own_logs([log], files)), 1)
    assert lines_of(tab) == {"queue": ["+[1] = b"], "token": ["0 -> 1"]}
    tab.keyboard.press("ArrowRight")
    assert lines_of(tab) == {"queue": ["+[2] = a"]}
    tab.close()


@needs_browser
def test_the_page_of_logs_goes_by_their_lines(browser: Browser, tmp_path: Path) -> None:
    """A step that no line records goes by the line that it comes before."""
    files = SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=EXAMPLE / "mapping.toml")
    logs = service(tmp_path / "logs", 0, "--hasty")
    tree = page_content(*view_own_logs(logs, files, diagnoses=True))
    tab = page_at(browser, tmp_path, tree, tree["count"])
    assert tab.inner_text("#action").startswith("p.log:4 Commit(n = 2)")
    assert tab.inner_text("#position").startswith(f"p.log:4, {tree['count']} of {tree['count']}")
    assert "n <= acked[b] is FALSE" in tab.inner_text("#answer")
    hidden = next(place for place, name in enumerate(tree["names"]) if name.startswith("before "))
    while tab.inner_text("#position") != f"{tree['names'][hidden]}, {hidden} of {tree['count']}":
        tab.keyboard.press("ArrowLeft")
    assert tab.inner_text("#action") == f"{tree['names'][hidden]} Acknowledge(b = b2, n = 1), in no line"
    assert Axe().run(tab).violations_count == 0
    tab.close()


@needs_browser
def test_a_hostile_value_in_a_change_is_text(browser: Browser, tmp_path: Path) -> None:
    tree = tree_of(hostile_trace(tmp_path, 60))
    found = [
        step["number"] for step in tree["steps"] for row in step["changed"] if row[1] == "log" and HOSTILE in row[4]
    ]
    tab = page_at(browser, tmp_path, tree, found[0])
    shown = " ".join(" ".join(line) for line in lines_of(tab).values())
    assert HOSTILE in shown
    assert tab.locator("img").count() == 0
    assert tab.evaluate("window.hacked") is None
    tab.close()


@pytest.mark.parametrize("plan", ["published", "raft_whole"])
def test_no_row_repeats_what_a_log_or_a_channel_holds(plan: str, tmp_path: Path) -> None:
    tree = tree_of(write_cluster(tmp_path, plan, 3, 300))
    rows = [row for step in tree["steps"] for row in step["changed"]]
    logs = [row for row in rows if row[1] == "log"]
    assert len(logs) > 20
    assert all("term" not in f"{row[3]}{row[4]}".replace(" (term ", "", 1) for row in logs)
    channels = [row for row in rows if row[0].startswith("network")]
    assert len(channels) > 20
    assert all("|->" not in "".join(row) for row in channels)


def test_only_the_first_changes_of_a_step_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_rows, "MAX_CHANGES", 2)
    changed = [step["changed"] for step in tree_of(write_cluster(tmp_path, "published", 3, 20))["steps"]]
    assert {len(rows) for rows in changed} == {0, 1, 2, 3}
    assert all((len(rows) == 3) is (rows[-1][0] == "… and more") for rows in changed if rows)


@pytest.mark.parametrize(
    ("value", "text"), [("n2", "n2"), ("TRUE", '"TRUE"'), ("", '""'), ("a b", '"a b"'), ("7", '"7"'), (7, "7")]
)
def test_a_string_is_bare_only_where_it_reads_as_a_name(value: object, text: str) -> None:
    rows = change_rows.ChangeRows(None, None, format_value)
    assert list(rows.rows({"owner": -1}, {"owner": value})) == [["owner", "", "", "-1", text]]
