"""The answer that the page of a trace begins with, in Chromium: where it stands, where it leads, what is faint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lockstep.systems.trace_files import import_trace
from tests.scripts.counterexamples.tool import counterexamples
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.pages import HOSTILE, diagnosed_page, hostile_trace, tree_in

ROWS = {row.switch: row for row in counterexamples()}
#: How far from the top of the page an element stands.
TOP = "(each) => each.getBoundingClientRect().top"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


STORY = "The story of PriorTermCommit, in a minimal example (its nodes are others)"


def at(tab: Page) -> int:
    """Return the number of the step that is shown."""
    return int(tab.inner_text("#position").split(" of ")[0].split()[-1])


def name_of(file: Path, number: int) -> str:
    """Return the name of a step on the page of a trace: its line there."""
    tree = tree_in(file.read_text(encoding="utf-8"))
    return f"line {tree['lines'][number - tree['steps'][0]['number']]}"


def steps_of(file: Path) -> tuple[int, int]:
    """Return the numbers of the steps at which a page says that it was decided and is seen."""
    found = tree_in(file.read_text(encoding="utf-8"))["diagnosis"]
    return found["decided"], found["seen"]


# ---- What stands above ----


def test_the_answer_stands_above_the_picture_and_the_properties(opened: Page) -> None:
    places = ("#verdict", "#findings", "#causes", "#origins", "#strip", "#diagram", "#nodes")
    tops = [opened.locator(place).evaluate(TOP) for place in places]
    assert tops == sorted(set(tops))
    assert "15 properties hold" in opened.inner_text("#strip")
    answer = opened.inner_text("#answer")
    assert "committedIndex: the trace shows 2, the spec says 1" in answer
    assert "PriorTermCommit=published: the spec with it allows this event and the 39 after it" in answer
    assert "entries of earlier terms commit by counting watermarks; repaired: only entries of" in answer
    assert opened.locator("#causes dt").all_inner_texts() == ["cause", "or", "past"]
    assert "dledger 0.2.7" in opened.inner_text("#origins")
    assert "properties hold" not in answer


def test_the_name_of_a_flaw_leads_to_its_story_on_the_page(opened: Page) -> None:
    before, address = at(opened), opened.url
    assert not opened.is_visible("#stories details p")
    opened.click("#causes a >> text=PriorTermCommit")
    assert opened.locator("#stories details[open] p").first.is_visible()
    assert "traces/counterexamples/dledger/commit/README.md" in opened.inner_text("#stories")
    assert opened.evaluate("document.activeElement.textContent") == STORY
    assert (at(opened), opened.url) == (before, address)


def test_the_switches_are_folded(opened: Page) -> None:
    assert "published:" not in opened.inner_text("#origins")
    opened.click("#origins summary")
    assert "repaired: " in opened.inner_text("#origins")
    assert "PriorTermCommit" in opened.inner_text("#origins")


def test_a_finding_leads_to_its_step(opened: Page, figure8: Path) -> None:
    opened.click("#findings button")
    assert at(opened) == steps_of(figure8)[1]


def test_the_first_finding_stands_above_and_the_others_are_folded(browser: Browser, tmp_path: Path) -> None:
    trace, file = tmp_path / "torn_vote.trace.ndjson", tmp_path / "page.html"
    import_trace(ROOT / "traces" / "captured" / "hashicorp" / "raft-1.7.3-torn_vote.ndjson", trace)
    file.write_text(diagnosed_page(trace), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    tab.goto(file.as_uri())
    first, *others = tree_in(file.read_text(encoding="utf-8"))["remarks"]
    assert len(others) == 2
    assert tab.locator("#findings > p").all_inner_texts() == [f"{first['title']} {name_of(file, first['number'])}"]
    assert sum(line.startswith("false: ") for line in first["lines"]) > 1
    short = ["false for n2", "false: Properties.tla:70:8: c.index <= LastCovered(state)", "  left:  6", "  right: 0"]
    assert tab.inner_text("#findings > pre").splitlines() == short
    assert tab.inner_text("#findings summary") == "2 more findings"
    assert not tab.is_visible("#findings details p")
    assert tab.locator("#diagram").evaluate(TOP) < 600
    tab.click("#findings summary")
    tab.click("#findings details button >> nth=1")
    assert at(tab) == others[1]["number"]
    tab.close()


# ---- The two steps ----


def test_the_page_opens_where_it_was_decided_and_jumps_to_where_it_is_seen(opened: Page, figure8: Path) -> None:
    decided, seen = steps_of(figure8)
    assert (at(opened), seen) == (decided, decided + 1)
    jumps: list[tuple[Callable[[], None], int, str]] = [
        (lambda: opened.click("#seen"), seen, "seen here"),
        (lambda: opened.click("#decided"), decided, "decided here"),
        (lambda: opened.click("#remarks button"), seen, "seen here"),
        (lambda: opened.click("#remarks button"), decided, "decided here"),
        (lambda: opened.keyboard.press("c"), seen, "seen here"),
        (lambda: opened.keyboard.press("c"), decided, "decided here"),
    ]
    for jump, place, name in jumps:
        jump()
        assert at(opened) == place
        assert opened.inner_text("#position").endswith(f", {name}")
        assert opened.inner_text("#remarks strong") == name
        assert (opened.get_attribute("#scrubber", "aria-valuetext") or "").endswith(f", {name}")
        assert f", {name}" not in opened.inner_text("#action")
        assert name in opened.inner_text("#live")
    assert "TermAt(state.log, index) = state.currTerm is FALSE" in opened.inner_text("#remarks")
    opened.keyboard.press("Home")
    assert opened.locator("#remarks strong").count() == 0
    opened.keyboard.press("c")
    assert at(opened) == decided


def test_the_node_of_a_refused_step_is_shown_as_before_it(opened: Page, figure8: Path) -> None:
    _, seen = steps_of(figure8)
    acting = opened.locator("#nodes .acts h3")
    opened.click("#seen")
    assert f"before {name_of(figure8, seen)}" in acting.inner_text()
    opened.keyboard.press("ArrowLeft")
    assert "before line" not in opened.inner_text("#nodes")


def test_both_steps_are_marked_and_named_in_the_picture_and_on_the_slider(opened: Page) -> None:
    assert [each.rstrip(" ▲") for each in opened.locator("#canvas .named").all_text_contents()] == [
        "decided here",
        "seen here",
    ]
    rings = [opened.locator(f"#canvas circle.{name} title").all_text_contents() for name in ("decided", "wrong")]
    assert rings == [["decided here"], ["seen here"]]
    boxes = [each.bounding_box() for each in opened.locator("#canvas .named").all()]
    frame = opened.locator("#canvas").bounding_box()
    assert frame is not None
    assert all(box is not None and frame["x"] <= box["x"] for box in boxes)
    assert all(box is not None and box["x"] + box["width"] <= frame["x"] + frame["width"] for box in boxes)
    ticks = [opened.locator(f"#ticks .{name}").evaluate("(each) => each.offsetLeft") for name in ("decided", "seen")]
    width = opened.locator("#scrubber").evaluate("(each) => each.offsetWidth")
    assert 0.9 * width < ticks[0] < ticks[1] <= width


def test_an_address_with_a_step_opens_there(browser: Browser, figure8: Path) -> None:
    tab = browser.new_page()
    tab.goto(figure8.as_uri() + "#step=17")
    assert at(tab) == 17
    tab.close()


def test_a_violated_property_opens_where_it_is_false_and_names_no_other_step(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(diagnosed_page(ROWS["PriorTermCommit"].path), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri())
    assert at(tab) == ROWS["PriorTermCommit"].steps
    assert "false: Properties.tla:" in tab.inner_text("#findings")
    assert "left:" in tab.inner_text("#findings")
    assert tab.is_visible("#wrong")
    for place in ("#decided", "#seen", "#outside", "#causes"):
        assert not tab.is_visible(place)
    assert tab.locator("#canvas .named, #canvas .faint, #ticks span").count() == 0
    tab.keyboard.press("Home")
    tab.keyboard.press("c")
    assert at(tab) == 0
    tab.close()


# ---- What is faint ----


def test_what_cannot_have_had_to_do_with_it_is_faint_until_it_is_wanted_plainly(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(diagnosed_page(ROWS["VoteFile"].path, repaired=True), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri())
    shades = "[...document.querySelectorAll('#canvas .dot')].map((each) => Number(getComputedStyle(each).opacity))"
    faint, *_ = tab.evaluate(shades)
    assert faint < 0.5
    assert tab.evaluate(shades) == [faint, 1, faint, faint, 1]
    assert tab.inner_text("#outside").startswith("3 steps are faint: ")
    tab.evaluate("location.hash = '#step=1'")
    tab.wait_for_function("document.getElementById('position').textContent.includes(' 1 of ')")
    assert "cannot have had to do with" in tab.inner_text("#remarks")
    tab.check("#plainly")
    assert tab.evaluate(shades) == [1] * 5
    tab.uncheck("#plainly")
    assert tab.evaluate(shades) == [faint, 1, faint, faint, 1]
    tab.close()


def test_a_message_is_faint_with_the_step_that_sends_or_takes_it(opened: Page, figure8: Path) -> None:
    tree = tree_in(figure8.read_text(encoding="utf-8"))
    outside = set(tree["diagnosis"]["outside"])
    ends = [{message["sent"], message["ended"]} for message in tree["messages"]]
    wanted = sum(bool(each & outside) for each in ends)
    opened.keyboard.press("c")
    seen = opened.locator("#canvas g.faint").count()
    assert 0 < seen <= wanted < len(ends)
    titles = opened.locator("#canvas g.faint title").all_text_contents()
    assert all(any(f"at {name_of(figure8, number)}" in title for number in outside) for title in titles)


# ---- Every reader ----


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_where_it_was_decided(browser: Browser, figure8: Path, scheme: str) -> None:
    tab = browser.new_page(color_scheme="dark" if scheme == "dark" else "light")
    tab.goto(figure8.as_uri())
    for summary in tab.locator("#answer summary").all():
        summary.click()
    results = Axe().run(tab)
    tab.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in results.response["violations"]] == []


def test_the_answer_fits_a_narrow_screen_and_paper(browser: Browser, figure8: Path) -> None:
    tab = browser.new_page(viewport={"width": 390, "height": 900}, color_scheme="dark")
    tab.goto(figure8.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    tab.set_viewport_size({"width": 718, "height": 900})
    tab.emulate_media(media="print")
    tab.wait_for_function("() => document.querySelectorAll('#canvas svg').length > 1")
    assert tab.is_visible("#causes")
    assert tab.is_visible("#outside span")
    assert not tab.is_visible("#plainly")
    assert tab.locator("#canvas .named").count() == 2
    for each in tab.locator("#canvas .named").all():
        box = each.bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= 718
    tab.close()


def test_a_hostile_trace_that_leaves_the_spec_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    trace, file = hostile_trace(tmp_path, 60), tmp_path / "page.html"
    lines = trace.read_text(encoding="utf-8").splitlines()
    place, event = next(
        (n, json.loads(each))
        for n, each in enumerate(lines)
        if '"currTerm":' in each and json.loads(each)["node"] == HOSTILE
    )
    event["shows"]["currTerm"] += 7
    trace.write_text("\n".join([*lines[:place], json.dumps(event), *lines[place + 1 :]]) + "\n", encoding="utf-8")
    file.write_text(diagnosed_page(trace), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri())
    assert HOSTILE in tab.inner_text("#findings")
    assert tab.locator("#causes dt").first.inner_text() == "cause"
    for summary in tab.locator("#answer summary").all():
        summary.click()
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img").count() == 0
    tab.close()
