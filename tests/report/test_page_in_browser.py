"""The page in Chromium: what a reader does with keys, what is announced, what a hostile trace cannot do."""

from __future__ import annotations

import itertools
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lockstep.jobs.view.counterexample_view import view_own_spec
from lockstep.jobs.view.trace_view import view_trace
from lockstep.models.search_result import SpecFiles
from lockstep.report.page.build_page import build_page
from lockstep.report.page.page_content import page_content
from lockstep.systems.trace_files import write_cluster
from tests.scripts.screenshots import FOLDER, SHOTS, page_with
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.pages import COUNTS_TOO_FAR, HOSTILE, counter, hostile_trace, page_of
from tests.support.sampling import sampled

_NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
#: Of each line of names in a log, its text, where it ends, and how wide its drawing is.
_LABELS = """() => [...document.querySelectorAll(".log text.label")].map((each) =>
  [each.textContent, each.getBBox().x + each.getBBox().width, each.ownerSVGElement.width.baseVal.value])"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for plan in ("published", "raft_whole"):
        found[plan] = folder / f"{plan}.html"
        found[plan].write_text(page_of(write_cluster(folder, plan, 3, 120)), encoding="utf-8")
    return found


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Iterator[Page]:
    """The page of a trace of DLedger; nothing may go wrong on it, nor be asked of any network."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    tab = context.new_page()
    events: list[str] = []
    tab.on("console", lambda message: events.append(message.text))
    tab.on("pageerror", lambda error: events.append(str(error)))
    tab.on("request", lambda request: None if request.url.startswith("file:") else events.append(request.url))
    tab.goto(files["published"].as_uri())
    yield tab
    context.close()
    assert events == []


def at(tab: Page) -> str:
    """Return the number of the step that is shown."""
    return tab.inner_text("#position").split(" of ")[0].split()[-1]


def test_the_arrows_home_and_end_go_from_step_to_step(opened: Page) -> None:
    assert at(opened) == "0"
    for key, place in [("ArrowRight", "1"), ("ArrowRight", "2"), ("ArrowLeft", "1"), ("End", "120"), ("Home", "0")]:
        opened.keyboard.press(key)
        assert at(opened) == place
    opened.keyboard.press("ArrowLeft")
    assert at(opened) == "0"


def test_n_and_p_stay_with_the_node_that_takes_the_step(opened: Page) -> None:
    opened.keyboard.press("ArrowRight")
    nodes = []
    for _ in range(5):
        opened.keyboard.press("n")
        nodes.append(opened.get_attribute(".node.acts", "data-node"))
    there = at(opened)
    opened.keyboard.press("p")
    assert len(set(nodes)) == 1
    assert int(at(opened)) < int(there)


def test_a_search_counts_its_hits_and_enter_goes_to_them(opened: Page) -> None:
    opened.keyboard.press("/")
    opened.keyboard.type("appendasleader")
    count = int(opened.inner_text("#hits").split()[0])
    assert count > 2
    seen = []
    for _ in range(count + 1):
        opened.keyboard.press("Enter")
        seen.append(at(opened))
        assert "AppendAsLeader" in opened.inner_text("#action")
    assert seen == [*sorted(set(seen), key=int), seen[0]]
    opened.keyboard.press("Escape")
    opened.keyboard.press("Home")
    assert at(opened) == "0"


def test_the_address_keeps_the_step(opened: Page, files: dict[str, Path]) -> None:
    opened.keyboard.press("End")
    assert opened.url.endswith("#line=121")
    opened.evaluate("location.hash = '#step=17'")
    opened.wait_for_function("document.getElementById('position').textContent.includes(' 17 of ')")
    assert opened.url.endswith("#line=18")
    opened.evaluate("location.hash = '#line=17'")
    opened.wait_for_function("document.getElementById('position').textContent.startsWith('line 17, 16 of ')")
    opened.keyboard.press("Home")
    assert opened.url.endswith("#step=0")
    opened.goto(files["raft_whole"].as_uri() + "#line=42")
    assert at(opened) == "41"


def test_the_changes_of_a_step_are_announced(opened: Page) -> None:
    opened.keyboard.press("ArrowRight")
    announced = opened.inner_text("#live")
    assert announced.startswith("Line 2: ")
    assert opened.get_attribute("#live", "aria-live") == "polite"
    read = opened.get_attribute("#scrubber", "aria-valuetext") or ""
    assert read.startswith("line 2: ")
    assert announced.startswith(f"L{read[1:]} of n")
    opened.keyboard.press("Home")
    assert opened.inner_text("#live") == "Initial state: Init"


def test_a_message_shows_its_fields(opened: Page) -> None:
    while not opened.locator("#changes button").count():
        opened.keyboard.press("ArrowRight")
    opened.locator("#changes button").first.click()
    events = opened.inner_text("#message")
    assert "src = " in events
    assert "sent at line " in events


def test_a_click_on_a_step_shows_it_and_one_on_an_arrow_shows_its_message(opened: Page) -> None:
    opened.locator("#canvas .dot").nth(7).click()
    title = opened.locator("#canvas .dot title").nth(7).text_content() or "?"
    assert re.fullmatch(r"line \d+", title.partition("  ")[0])
    assert opened.inner_text("#position").startswith(f"{title.partition('  ')[0]}, ")
    arrow = opened.locator("#canvas .hit").first
    label = arrow.locator("title").text_content() or "?"
    arrow.dispatch_event("click")
    assert opened.inner_text("#message").startswith(label)
    assert opened.locator("#canvas .chosen").count() == 1


def test_the_question_mark_shows_the_keys_and_the_meaning_of_the_signs(opened: Page) -> None:
    assert not opened.is_visible("#keys")
    opened.keyboard.press("?")
    assert opened.is_visible("#keys")
    assert opened.get_attribute("#help", "aria-expanded") == "true"
    events = opened.inner_text("#keys")
    signs = set(opened.locator("#canvas .glyph").all_text_contents()) - {"down"}
    assert signs
    assert [sign for sign in signs if sign not in events] == []
    assert all(key in events for key in ("Home", "End", "n, p", "/ search", "#line=", "#step="))


def test_dark_mode_follows_the_system_and_a_key(browser: Browser, files: dict[str, Path]) -> None:
    tab = browser.new_page(color_scheme="dark")
    tab.goto(files["published"].as_uri())
    colours = [tab.evaluate("getComputedStyle(document.body).backgroundColor")]
    tab.keyboard.press("d")
    colours.append(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    tab.close()
    assert colours == ["rgb(20, 24, 30)", "rgb(255, 255, 255)"]


def test_on_paper_dark_is_light_and_what_is_operated_is_gone(browser: Browser, files: dict[str, Path]) -> None:
    tab = browser.new_page(color_scheme="dark")
    tab.goto(files["published"].as_uri() + "#step=100")
    assert tab.is_visible("#controls")
    tab.emulate_media(media="print", color_scheme="dark")
    shown = [
        tab.evaluate(f"getComputedStyle(document.querySelector('{at}')).{what}")
        for at, what in [("body", "backgroundColor"), ("body", "color"), (".log rect.t0, .log rect.t1", "fill")]
    ]
    assert shown[:2] == ["rgb(255, 255, 255)", "rgb(28, 36, 48)"]
    assert shown[2] in ("rgb(230, 233, 238)", "rgb(207, 227, 255)")
    assert not tab.is_visible("#controls")
    assert tab.is_visible("#canvas")
    assert tab.is_visible("#nodes")
    tab.close()


@pytest.mark.parametrize(("wish", "behaviour"), [("reduce", "auto"), ("no-preference", "smooth")])
def test_nothing_moves_for_those_who_want_less_motion(
    wish: Any, behaviour: str, browser: Browser, files: dict[str, Path]
) -> None:
    tab = browser.new_page(reduced_motion=wish)
    tab.goto(files["published"].as_uri())
    assert tab.evaluate("getComputedStyle(document.getElementById('scroller')).scrollBehavior") == behaviour
    tab.close()


def test_the_names_of_what_points_into_a_log_are_whole_and_stand_within_its_panel(
    browser: Browser, files: dict[str, Path]
) -> None:
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    for plan, name in [("published", "waterMark of"), ("raft_whole", "matchIndex of")]:
        tab.goto(files[plan].as_uri() + "#step=119")
        labels = tab.evaluate(_LABELS)
        assert labels
        assert any(name in text for text, *_ in labels)
        assert [text for text, end, width in labels if end > width or len(text) > 90] == []
    tab.close()


def test_the_beginning_of_a_long_log_is_drawn_when_one_scrolls_there(opened: Page) -> None:
    opened.keyboard.press("End")
    opened.set_viewport_size({"width": 300, "height": 900})
    opened.evaluate(_NEXT_FRAME)
    counts = "[...document.querySelectorAll('.log')].map((each) => each.querySelectorAll('text.index').length)"
    before = opened.evaluate(counts)
    opened.evaluate("for (const each of document.querySelectorAll('.log')) each.scrollLeft = 0")
    opened.evaluate(_NEXT_FRAME)
    assert max(opened.evaluate(counts)) > max(before)
    whole = opened.evaluate(
        "[...document.querySelectorAll('.log')].map((each) => [...each.querySelectorAll"
        "('text.index')].map((text) => Number(text.textContent)).sort((a, b) => a - b))"
    )
    assert all(found == list(range(len(found))) for found in whole)


def at_width(browser: Browser, file: Path, width: int, hash: str = "") -> Page:
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(file.as_uri() + hash)
    return tab


def foreign_trace(folder: Path) -> Path:
    """A trace whose names and values are obeyed by terminals and browsers, or are long, or emoji."""
    obeyed = "a\u2028b\u2029c\u202e\x00d\x1b[31m"
    name = "n" + "_with_a_long_name" * 8 + "\x1b]0;title\x07"
    trace = write_cluster(folder, "published", 3, 150)
    text = trace.read_text(encoding="utf-8").replace('"n1"', json.dumps(name))
    text = text.replace('"v1"', json.dumps(obeyed))
    text = re.sub(r'"v[2-9]\d*"', lambda _: json.dumps("\U0001f468\u200d\U0001f469\u200d\U0001f467" * 9), text)
    foreign = folder / "foreign.trace.ndjson"
    foreign.write_text(text, encoding="utf-8")
    return foreign


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    file = folder / "foreign.html"
    file.write_text(page_of(foreign_trace(folder)), encoding="utf-8")
    return file


def test_a_character_that_a_browser_would_obey_is_shown_as_an_escape(browser: Browser, foreign: Path) -> None:
    tab = at_width(browser, foreign, 1200, "#step=150")
    shown = tab.text_content("body") or ""
    drawn = " ".join(tab.locator(".log title").all_text_contents())
    tab.close()
    assert r"a\u2028b\u2029c\u202e\u0000d\u001b[31m" in drawn
    assert r"\u001b]0;title\u0007" in shown
    assert not set("\u2028\u2029\u202e\x00\x1b\x07") & set(shown)


def test_an_emoji_is_not_cut_within(browser: Browser, foreign: Path) -> None:
    tab = at_width(browser, foreign, 1200, "#step=150")
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    texts = [text for text in tab.locator(".log svg text").all_text_contents() if "\U0001f468" in text]
    tab.close()
    assert texts
    assert {text.replace(family, "") for text in texts} == {"\N{HORIZONTAL ELLIPSIS}"}


@pytest.mark.parametrize("step", sampled(["#step=5", "#step=60", "#step=150"], ["#step=5"]))
def test_a_narrow_screen_does_not_scroll_sideways(
    step: str, browser: Browser, files: dict[str, Path], foreign: Path
) -> None:
    for file in (*files.values(), foreign):
        tab = at_width(browser, file, 390, step)
        assert tab.evaluate("document.documentElement.scrollWidth") == 390
        assert tab.evaluate("Math.max(0, ...[...document.querySelectorAll('td')].map((each) => each.clientWidth))") > 60
        tab.close()


def test_a_value_before_a_step_has_no_line_through_it(opened: Page) -> None:
    while not opened.locator("del").count():
        opened.keyboard.press("ArrowRight")
    old = opened.locator("del").first
    assert old.evaluate("(each) => getComputedStyle(each).textDecorationLine") == "none"
    assert re.search(r"( -> | was )", old.evaluate("(each) => each.parentElement.textContent"))


def test_a_search_finds_fields_values_lines_and_messages(opened: Page) -> None:
    for wanted, found in [("committedIndex", "#changes"), ("line 42", "#action"), ("preVote", None), ("PUSH", None)]:
        opened.fill("#search", wanted)
        if found is None:
            continue
        assert int(opened.inner_text("#hits").split()[0]) > 0, wanted
        opened.press("#search", "Enter")
        assert wanted in opened.inner_text(found)
    while not opened.locator("#changes button").count():
        opened.keyboard.press("ArrowRight")
    opened.fill("#search", "commitIndex = ")
    assert opened.inner_text("#hits") != ""


def test_a_search_finds_what_is_wrong_by_its_code_and_by_its_words(browser: Browser, tmp_path: Path) -> None:
    trace, file = write_cluster(tmp_path, "published", 4, 120), tmp_path / "wrong.html"
    tree = page_content(*view_trace(trace, {}))
    file.write_text(build_page(tree), encoding="utf-8")
    (remark,) = tree["remarks"]
    code = remark["title"].split()[0]
    assert re.fullmatch(r"[A-Z]+\d+", code)
    tab = browser.new_page()
    tab.goto(file.as_uri() + "#step=0")
    for wanted in (code, remark["lines"][-1], "VoteOncePerTermProp"):
        tab.fill("#search", wanted)
        tab.press("#search", "Enter")
        assert (tab.inner_text("#hits"), at(tab)) == ("1 step", str(remark["number"]))
        tab.evaluate("location.hash = '#step=0'")
        tab.wait_for_function("document.getElementById('position').textContent.includes(', 0 of ')")
    tab.close()


@pytest.mark.parametrize("width", [390, pytest.param(1200, marks=pytest.mark.nightly)])
def test_on_paper_the_diagram_stands_in_rows_and_a_log_shows_its_end(
    width: int, browser: Browser, files: dict[str, Path]
) -> None:
    tab = at_width(browser, files["published"], width, "#step=100")
    on_screen = tab.locator("#canvas svg").count(), tab.locator("#canvas .dot, #canvas .net").count()
    assert on_screen[0] == 1
    tab.set_viewport_size({"width": 718, "height": 900})  # of A4 with Chromium's margins
    tab.emulate_media(media="print")
    tab.wait_for_function("() => document.querySelectorAll('#canvas svg').length > 1")
    assert tab.locator("#canvas .dot, #canvas .net").count() == 120
    edges = "(each) => [each.getBoundingClientRect().left, each.getBoundingClientRect().right]"
    for svg in [*tab.locator("#canvas svg").all(), *tab.locator(".log svg").all()]:
        left, right = svg.evaluate(edges)
        assert 0 <= left < right <= 718
    ends = tab.evaluate(
        "[...document.querySelectorAll('.log svg')].map((each) => [each.viewBox.baseVal.x + each.viewBox.baseVal.width,"
        " ...[...each.querySelectorAll('rect')].map((box) => box.x.baseVal.value + box.width.baseVal.value)])"
    )
    assert all(max(boxes, default=0) <= end for end, *boxes in ends)
    tab.emulate_media(media="screen")
    tab.wait_for_function("() => document.querySelectorAll('#canvas svg').length === 1")
    tab.close()


@pytest.mark.nightly
def test_one_property_holds_and_two_hold(browser: Browser, tmp_path: Path) -> None:
    found = []
    for cfg in (COUNTS_TOO_FAR + "INVARIANT Natural\n", COUNTS_TOO_FAR + "INVARIANTS Natural Bit\n"):
        spec, config = counter(tmp_path, cfg)
        spec.write_text(spec.read_text().replace("Small ==", "Natural == x >= 0\nBit == y < 2\nSmall =="))
        file = tmp_path / "counter.html"
        file.write_text(build_page(page_content(*view_own_spec(SpecFiles(spec, config)))), encoding="utf-8")
        tab = browser.new_page()
        tab.goto(file.as_uri())
        found.append(tab.inner_text("#strip summary"))
        tab.close()
    assert found == ["1 other property holds in every step", "2 other properties hold in every step"]


@pytest.mark.parametrize(
    ("plan", "scheme"),
    sampled(
        list(itertools.product(["published", "raft_whole"], ["light", "dark"])),
        [("raft_whole", "dark")],
    ),
)
def test_axe_finds_nothing(browser: Browser, files: dict[str, Path], plan: str, scheme: str) -> None:
    tab = browser.new_page(color_scheme="dark" if scheme == "dark" else "light")
    tab.goto(files[plan].as_uri() + "#step=100")
    results = Axe().run(tab)
    tab.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in results.response["violations"]] == []
    assert len(results.response["passes"]) > 10


def test_a_hostile_trace_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(page_of(hostile_trace(tmp_path, 60)), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri())
    for _ in range(40):
        tab.keyboard.press("ArrowRight")
    for button in tab.locator("#changes button").all():
        button.click()
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img").count() == 0
    assert HOSTILE in (tab.text_content("#nodes") or "")
    tab.close()


def test_a_script_that_got_into_the_page_would_not_run(
    browser: Browser, files: dict[str, Path], tmp_path: Path
) -> None:
    file = tmp_path / "injected.html"
    injected = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1></body>"
    file.write_text(files["published"].read_text(encoding="utf-8").replace("</body>", injected), encoding="utf-8")
    tab = browser.new_page()
    refused: list[str] = []
    tab.on("console", lambda message: refused.append(message.text))
    tab.goto(file.as_uri())
    assert tab.locator("img").count() == 1
    assert tab.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in refused)
    tab.close()


@pytest.mark.nightly
def test_no_more_is_drawn_for_many_steps_than_for_few(opened: Page, browser: Browser, tmp_path: Path) -> None:
    few = opened.locator("#canvas *").count()
    long = tmp_path / "long.html"
    long.write_text(page_of(write_cluster(tmp_path, "published", 4, 1_000)), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    tab.goto(long.as_uri() + "#step=500")
    assert 100 < tab.locator("#canvas *").count() < 4 * few
    tab.close()


def test_the_state_of_a_spec_without_nodes_is_shown_with_its_changes_marked(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "counter.html"
    file.write_text(
        build_page(page_content(*view_own_spec(SpecFiles(counter(tmp_path, COUNTS_TOO_FAR)[0])))),
        encoding="utf-8",
    )
    tab = browser.new_page()
    tab.goto(file.as_uri() + "#step=1")
    assert not tab.is_visible("#diagram")
    assert not tab.is_visible("#initial")
    for place, value in [("2", "2"), ("3", "3")]:
        tab.keyboard.press("ArrowRight")
        assert at(tab) == place
        assert [row.split() for row in tab.locator("#state tr").all_inner_texts()] == [["x", value], ["y", "0"]]
        assert tab.locator("#state tr.new").all_inner_texts()[0].split() == ["x", value]
    assert "invariant Small is violated" in tab.inner_text("#remarks")
    assert Axe().run(tab).violations_count == 0
    tab.close()


def size(png: bytes) -> tuple[int, ...]:
    assert png.startswith(b"\x89PNG")
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize("name", SHOTS)
def test_a_screenshot_of_the_readme_can_be_taken_anew(name: str, browser: Browser, tmp_path: Path) -> None:
    """`python -m tests.scripts.screenshots` takes them."""
    with page_with(browser, SHOTS[name], tmp_path) as tab:
        assert SHOTS[name].says in tab.inner_text("#answer")
        assert tab.locator("#canvas .wrong").count() > 0
        assert size(tab.screenshot()) == size((FOLDER / name).read_bytes())


def test_the_readme_has_every_screenshot() -> None:
    shown = re.findall(r"\]\(docs/pictures/(\w+\.png)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(SHOTS) == sorted(each.name for each in FOLDER.glob("*.png"))
