"""The names of steps on a page in Chromium: the line of a trace or log, and the number where there is no line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from lockstep.jobs.view.counterexample_view import view_own_spec
from lockstep.jobs.view.trace_view import view_own_logs
from lockstep.models.search_result import SpecFiles
from lockstep.report.page.build_page import build_page
from lockstep.report.page.page_content import page_content
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.pages import COUNTS_TOO_FAR, counter, tree_in

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)

LOCK = ROOT / "docs" / "lock_service"


def title_of(tab: Page, line: int) -> str:
    """Return the title of the dot of a line in the picture."""
    titles = tab.locator("#canvas .dot title, #canvas .net title").all_text_contents()
    (found,) = [title for title in titles if title.startswith(f"line {line}  ")]
    return found


def test_a_step_of_a_trace_goes_by_its_line_wherever_it_is_named(opened: Page, figure8: Path) -> None:
    trace = figure8.with_name("figure8.trace.ndjson")
    printed = lockstep("check", "--switch", "repaired", trace.name, cwd=trace.parent).stdout
    assert f"{trace.name}:202: " in printed
    assert opened.inner_text("#position") == "line 201, 197 of 198, decided here"
    assert opened.inner_text("#decided") == "decided here: line 201"
    assert opened.inner_text("#seen") == "seen here: line 202"
    assert opened.inner_text("#findings button") == "line 202"
    assert opened.inner_text("#remarks button") == "seen at line 202"
    assert opened.inner_text("#action").startswith("line 201 QuorumAckChecker")
    assert opened.inner_text("#live").startswith("Line 201: QuorumAckChecker")
    assert (opened.get_attribute("#scrubber", "aria-valuetext") or "").startswith("line 201: QuorumAckChecker")
    assert opened.url.endswith("#line=201")
    assert "QuorumAckChecker" in title_of(opened, 201)
    assert title_of(opened, 202).endswith("seen here")
    opened.keyboard.press("c")
    assert opened.inner_text("#position") == "line 202, 198 of 198, seen here"
    assert opened.inner_text("#remarks button") == "decided at line 201"
    names = re.findall(r"\bstep \d+", opened.inner_text("body"))
    assert names == []


def test_the_axis_of_the_picture_counts_lines(opened: Page, figure8: Path) -> None:
    lines = set(tree_in(figure8.read_text(encoding="utf-8"))["lines"])
    labels = opened.locator("#canvas text.number").all_text_contents()
    assert "line 201" in labels
    rest = [int(label) for label in labels if label != "line 201"]
    assert len(rest) > 3
    assert all(number in lines and number % 10 == 0 for number in rest)
    for label in opened.locator("#canvas text.number").all():
        if label.text_content() == "190":
            x = float(label.get_attribute("x") or 0)
            dots = opened.locator(f"#canvas circle[cx='{x:g}'], #canvas rect[x='{x - 4:g}']")
            assert any("line 190  " in (dot.text_content() or "") for dot in dots.all())


def test_a_message_names_the_lines_at_which_it_is_sent_and_received(opened: Page, figure8: Path) -> None:
    tree = tree_in(figure8.read_text(encoding="utf-8"))
    lines = dict(zip((step["number"] for step in tree["steps"]), tree["lines"], strict=True))
    received = next(each for each in reversed(tree["messages"]) if each["fate"] == "received")
    titles = opened.locator("#canvas .hit title").all_text_contents()
    wanted = f", sent at line {lines[received['sent']]}, received at line {lines[received['ended']]}"
    assert any(wanted in title for title in titles)


def test_an_address_and_a_search_find_a_line(opened: Page, figure8: Path, browser: Browser) -> None:
    lines = tree_in(figure8.read_text(encoding="utf-8"))["lines"]
    assert lines[0] == 0
    without = next(number for number in range(lines[1], 202) if number not in lines)
    for line, wanted in [(42, 42), (without, max(each for each in lines if each < without)), (9_999, 202)]:
        tab = browser.new_page()
        tab.goto(f"{figure8.as_uri()}#line={line}")
        assert tab.inner_text("#position").startswith(f"line {wanted}, ")
        tab.close()
    opened.keyboard.press("Home")
    assert opened.inner_text("#position") == "initial state, 0 of 198"
    assert opened.url.endswith("#step=0")
    opened.fill("#search", "line 20")
    assert opened.inner_text("#hits") == "1 step"
    opened.press("#search", "Enter")
    assert opened.inner_text("#position").startswith("line 20, ")


def test_a_log_of_one_s_own_goes_by_its_lines_too(browser: Browser, tmp_path: Path) -> None:
    lines = [
        {"what": "started"},
        {"what": "locked", "client": "b", "state": {"owner": "b", "waiting": [], "token": 1}},
        {"what": "unlocked", "client": "b", "state": {"owner": "", "waiting": [], "token": 7}},
    ]
    log, file = tmp_path / "service.log", tmp_path / "page.html"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    files = SpecFiles(LOCK / "LockService.tla", mapping=LOCK / "mapping.toml")
    file.write_text(build_page(page_content(*view_own_logs([log], files))), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri())
    assert tab.inner_text("#position") == "line 3, 2 of 2"
    assert tab.inner_text("#findings button") == "line 3"
    tab.close()


def test_a_step_of_no_file_goes_by_its_number(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "counter.html"
    tree = page_content(*view_own_spec(SpecFiles(counter(tmp_path, COUNTS_TOO_FAR)[0])))
    assert tree["lines"] is None
    file.write_text(build_page(tree), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri() + "#line=1")
    assert tab.inner_text("#position") == "3 of 3"
    assert tab.inner_text("#findings button") == "step 3"
    assert tab.inner_text("#live").startswith("Step 3: Up")
    assert tab.url.endswith("#step=3")
    tab.close()


def test_a_part_of_a_trace_names_its_lines(browser: Browser, figure8: Path, tmp_path: Path) -> None:
    tree = tree_in(figure8.read_text(encoding="utf-8"))
    part = {**tree, "lines": tree["lines"][-9:], "steps": tree["steps"][-9:], "messages": []}
    part["steps"][0]["looks"] = tree["steps"][0]["looks"]
    file = tmp_path / "part.html"
    file.write_text(build_page(part), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri())
    assert f"Shown are line {part['lines'][0]} to line 202, 9 states of 199." in tab.inner_text("#verdict")
    assert tab.inner_text("#position").startswith("line 201, 197 of 198")
    tab.close()
