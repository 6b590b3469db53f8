"""The diagram and the list of steps in Chromium: names of messages, votes, what is under way, and a lap."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lockstep.jobs.view.counterexample_view import view_model, view_own_spec
from lockstep.models.search_result import SpecFiles
from lockstep.report.page.build_page import build_page
from lockstep.report.page.page_content import page_content
from lockstep.systems.trace_files import write_cluster
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM, quiet_tab
from tests.support.programs.pages import COUNTS_TOO_FAR, counter, page_of

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)

TRACES = sorted((ROOT / "traces" / "counterexamples").rglob("*.trace.ndjson"))
ELECTIONS = ROOT / "traces" / "counterexamples" / "hashicorp" / "elections" / "heartbeat_race.trace.ndjson"

#: The arrows of messages; that of a vote without a message has no name on it.
MESSAGES = "#canvas .hit:not(.ballot)"

#: The boxes of the names on arrows, as Chromium draws them, and of the steps.
BOXES = """() => [".tag", ".dot, .net"].map((selector) =>
  [...document.querySelectorAll(`#canvas :is(${selector})`)].map((each) => {
    const { x, y, width, height } = each.getBBox();
    return [each.textContent, x, y, width, height];
  }))"""


def written(folder: Path, trace: Path) -> Path:
    file = folder / "page.html"
    file.write_text(page_of(trace), encoding="utf-8")
    return file


def overlap(one: Any, other: Any, within: float) -> bool:
    """Whether two boxes cover each other by more than some pixels both ways; letters do not fill their boxes."""
    (_, x, y, wide, tall), (_, left, top, width, height) = one, other
    return bool(
        min(x + wide, left + width) - max(x, left) > within and min(y + tall, top + height) - max(y, top) > within
    )


def names_of_messages(tab: Page) -> list[Any]:
    """Return the names on the arrows, after a look at each: none covers another name, or a step."""
    tags, dots = tab.evaluate(BOXES)
    crossing = [(one[0], other[0]) for one, other in itertools.combinations(tags, 2) if overlap(one, other, 2)]
    assert crossing == []
    assert [(one[0], other[0]) for one in tags for other in dots if overlap(one, other, 4)] == []
    return list(tags)


def test_names_of_messages_do_not_cover_each_other_or_a_step(browser: Browser, tmp_path: Path) -> None:
    named = arrows = 0
    with quiet_tab(browser, written(tmp_path, write_cluster(tmp_path, "raft_whole", 3, 120))) as tab:
        for place in range(0, 120, 30):
            tab.evaluate(f"location.hash = '#step={place}'")
            tab.wait_for_function(f"document.getElementById('position').textContent.includes(', {place} of ')")
            named += len(names_of_messages(tab))
            arrows += tab.locator(MESSAGES).count()
    assert named > arrows / 2


@pytest.mark.nightly
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name.partition(".")[0])
def test_names_of_messages_are_apart_in_every_counterexample(trace: Path, browser: Browser, tmp_path: Path) -> None:
    with quiet_tab(browser, written(tmp_path, trace)) as tab:
        for key in ("Home", "End"):
            tab.keyboard.press(key)
            names = names_of_messages(tab)
            if tab.locator(MESSAGES).count():
                assert names


def test_votes_and_messages_under_way_are_marked_by_more_than_colour(browser: Browser, tmp_path: Path) -> None:
    with quiet_tab(browser, written(tmp_path, ELECTIONS)) as tab:
        votes = tab.locator("#canvas g:has(.vote)")
        assert votes.count() == 3
        assert all("RequestVote: yes" in text for text in votes.locator("title").all_text_contents())
        assert set(votes.locator(".granted").all_text_contents()) == {"✓"}
        wide = [
            tab.evaluate(f"parseFloat(getComputedStyle(document.querySelector('#canvas {each}')).strokeWidth)")
            for each in (".flight:not(.vote):not(.flying)", ".flight.vote")
        ]
        assert wide[1] > 2 * wide[0]
        # What is under way ends in an open head just short of its target's lane.
        ends = tab.evaluate("""() => [...document.querySelectorAll("#canvas g:has(.open)")].map((each) => [
          each.querySelector("title").textContent, Number(each.querySelector(".flight").getAttribute("y2"))])""")
        assert ends
        for title, y in ends:
            lane = int(title.split(" to n")[1][0]) - 1
            assert abs(y - (23 + 46 * lane)) == 12
            assert "under way" in title
        tab.keyboard.press("?")
        assert "a granted vote" in tab.inner_text("#keys")


def own_page(folder: Path, cfg: str) -> Path:
    file = folder / "counter.html"
    file.write_text(build_page(page_content(*view_own_spec(SpecFiles(counter(folder, cfg)[0])))), encoding="utf-8")
    return file


def test_the_steps_that_are_repeated_are_bracketed_and_named(browser: Browser, tmp_path: Path) -> None:
    with quiet_tab(browser, own_page(tmp_path, "SPECIFICATION Spec\nPROPERTY Settles\n")) as tab:
        said = (
            "After step 6, Back leads to the state after step 1 again: step 2 to step 6 and Back are repeated for ever."
        )
        assert said in tab.inner_text("#answer")
        assert said in tab.inner_text("#remarks")
        tab.click("#answer button:has-text('to step 1')")
        assert tab.inner_text("#position") == "1 of 6, repeated"
        tab.keyboard.press("Home")
        assert tab.inner_text("#position") == "0 of 6"
        again = tab.locator("#trail li.again button").all_inner_texts()
        assert again == ["↻ 2 Up", "↻ 3 Up", "↻ 4 Back", "↻ 5 Up", "↻ ✕ 6 Up"]
        slider, bracket = (tab.locator(each).bounding_box() for each in ("#scrubber", "#ticks .lap"))
        assert slider is not None
        assert bracket is not None
        shares = [
            (x - slider["x"] - 8) / (slider["width"] - 16) for x in (bracket["x"], bracket["x"] + bracket["width"])
        ]
        assert shares == pytest.approx([1 / 6, 1], abs=0.02)


@pytest.mark.nightly
def test_a_lap_is_bracketed_in_the_diagram(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "lap.html"
    file.write_text(build_page(page_content(*view_model("compacted_prev_rejected_bug"))), encoding="utf-8")
    with quiet_tab(browser, file) as tab:
        lap = tab.locator("#canvas .lap")
        assert lap.locator("title").text_content() in tab.inner_text("#answer")
        box = lap.evaluate("(each) => [each.getBBox().x, each.getBBox().x + each.getBBox().width]")
        places = "[...document.querySelectorAll('#canvas .dot, #canvas .net')].map((each) => each.getBBox().x)"
        within = [place for place, x in enumerate(tab.evaluate(places)) if box[0] <= x <= box[1]]
        assert within == list(range(3, 9))
        assert "again and again" in (tab.text_content("#canvas") or "")


def test_a_spec_without_a_picture_has_its_steps_in_a_list_with_their_changes(browser: Browser, tmp_path: Path) -> None:
    with quiet_tab(browser, own_page(tmp_path, COUNTS_TOO_FAR)) as tab:
        rows = tab.locator("#trail li")
        assert [row.split("\n") for row in rows.all_inner_texts()] == [
            ["0 Init"],
            ["1 Up", "x 0 -> 1"],
            ["2 Up", "x 1 -> 2"],
            ["✕ 3 Up", "x 2 -> 3"],
        ]
        rows.nth(2).locator("button").click()
        assert tab.inner_text("#position") == "2 of 3"
        assert tab.locator("#trail [aria-current=step]").inner_text() == "2 Up"
        assert tab.inner_text("#state td") == "2"
        tab.keyboard.press("ArrowLeft")
        assert tab.locator("#trail [aria-current=step]").inner_text() == "1 Up"
        tab.set_viewport_size({"width": 390, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") == 390
        assert Axe().run(tab).violations_count == 0
