"""The places in spec and reference that a page names: each leads to its line on the page, in Chromium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from lockstep.jobs.view.counterexample_view import view_own_spec
from lockstep.models.search_result import SpecFiles
from lockstep.report.page import named_places
from lockstep.report.page.build_page import build_page
from lockstep.report.page.named_places import sources_tree
from lockstep.report.page.page_content import page_content
from lockstep.report.page.source_lines import MAX_EXCERPT, definition_at, function_at, reference_lines
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.pages import COUNTER, COUNTS_TOO_FAR, counter

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)

#: The line of a file to which the page leads, and where it stands in the window.
AIMED = """() => [...document.querySelectorAll("#sources .aimed")].map((each) => [
  each.closest("figure").querySelector("figcaption").textContent, Number(each.firstChild.textContent),
  each.lastChild.textContent, each === document.activeElement,
  0 <= each.getBoundingClientRect().top && each.getBoundingClientRect().bottom <= innerHeight])"""


def line_of(file: str, number: int) -> str:
    return (ROOT / file).read_text(encoding="utf-8").splitlines()[number - 1]


# ---- In Chromium ----


@needs_browser
def test_a_place_in_the_spec_leads_to_its_line_and_one_in_the_reference_too(opened: Page) -> None:
    address = opened.url
    assert not opened.locator("#sources .code").first.is_visible()
    opened.locator("#causes a", has_text="Commit.tla:22:27").focus()
    opened.keyboard.press("Enter")
    text = line_of("spec/dledger/Commit.tla", 22)
    assert "TermAt(state.log, index) = state.currTerm" in text
    assert opened.evaluate(AIMED) == [["Commit.tla", 22, text, True, True]]
    assert opened.url == address
    opened.keyboard.press("c")
    reference = "reference/raftref/dledger/commit.py"
    opened.click(f"#remarks a >> text={reference}:54")
    ((file, number, text, *_),) = opened.evaluate(AIMED)
    assert (file, number, text) == (reference, 54, line_of(reference, 54).strip())
    assert opened.evaluate(AIMED)[0][3:] == [True, True]
    assert opened.locator("#remarks a").all_inner_texts() == ["Commit.tla:62:1", f"{reference}:54"]


@needs_browser
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_the_lines_fit_a_narrow_screen_and_axe_finds_nothing(browser: Browser, figure8: Path, scheme: str) -> None:
    tab = browser.new_page(viewport={"width": 390, "height": 900}, color_scheme="dark" if scheme == "dark" else "light")
    tab.goto(figure8.as_uri())
    tab.click("#causes a >> text=Commit.tla:22:27")
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    results = Axe().run(tab)
    tab.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in results.response["violations"]] == []


@needs_browser
def test_a_place_of_a_spec_of_one_s_own_is_a_link_and_an_unknown_one_stays_text(
    browser: Browser, tmp_path: Path
) -> None:
    tree = page_content(*view_own_spec(SpecFiles(counter(tmp_path, COUNTS_TOO_FAR)[0])))
    remark = tree["remarks"][0]
    remark["lines"] += ["Other.tla:1:1: <b>x</b>", "constructor:1", "/etc/passwd.py:1", "Counter.tla:10:10x"]
    file = tmp_path / "counter.html"
    file.write_text(build_page(tree), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(file.as_uri())
    assert set(tab.locator("#remarks a").all_inner_texts()) == {"Counter.tla:10:10", "Counter.tla:10:1"}
    assert tab.inner_text("#remarks pre").splitlines() == remark["lines"]
    assert tab.locator("#remarks b").count() == 0
    tab.click("#findings a >> text=Counter.tla:10:10")
    assert tab.evaluate(AIMED)[0][:3] == ["Counter.tla", 10, "Small == x < 3"]
    tab.close()


# ---- What is quoted ----


def test_only_what_the_page_knows_is_quoted_and_each_definition_once() -> None:
    texts = {"Counter": COUNTER}
    found = sources_tree(["at Counter.tla:5:3 and Counter.tla:5:9", "Naturals.tla:1:1, Counter.tla:99:1"], texts)
    assert found == {
        "places": {"Counter.tla:5:3": [0, 5], "Counter.tla:5:9": [0, 5]},
        "excerpts": [["Counter.tla", 5, COUNTER.splitlines()[4]]],
    }


def test_no_file_is_read_but_one_of_the_reference(tmp_path: Path) -> None:
    stranger = tmp_path / "secret.py"
    stranger.write_text("def secret():\n    return 1\n", encoding="utf-8")
    up = "../" * 30
    long = "a" * 5_000
    for name in (f"{stranger}", f"raftref/{stranger}", f"raftref/{up}{stranger}", f"{up}{stranger}", f"{long}.py"):
        assert sources_tree([f"{name}:1"], {}) == {"places": {}, "excerpts": []}
        if name != f"{long}.py":
            assert reference_lines(f"{name}:1") == ""
    place = "reference/raftref/dledger/commit.py:54"
    ((file, begin, text),) = sources_tree([place], {})["excerpts"]
    assert file == "reference/raftref/dledger/commit.py"
    assert begin <= 54
    assert text.splitlines()[54 - begin] == line_of(file, 54).strip()
    found = function_at(place)
    assert found is not None
    assert found.text == text == reference_lines(place)


def test_a_definition_comes_with_the_comment_above_it_and_a_long_one_is_cut_around_the_place() -> None:
    lines = ["---- MODULE M ----", "\\* a", "\\* b", "A ==", "  /\\ x", "", "  /\\ y", "", "B == 1", "===="]
    found = definition_at({"M": "\n".join(lines)}, "M", 7)
    assert found is not None
    assert (found.begin, found.text.splitlines()) == (2, lines[1:7])
    long = ["A =="] + [f"  /\\ {number}" for number in range(1_000)]
    found = definition_at({"M": "\n".join(long)}, "M", 500)
    assert found is not None
    shown = found.text.splitlines()
    assert len(shown) == MAX_EXCERPT
    assert shown[500 - found.begin] == long[499]


def test_there_is_an_end_to_what_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_places, "MAX_EXCERPTS", 2)
    found = sources_tree([" ".join(f"Counter.tla:{line}:1" for line in (4, 5, 6, 7, 4))], {"Counter": COUNTER})
    assert len(found["excerpts"]) == 2
    assert list(found["places"]) == ["Counter.tla:4:1", "Counter.tla:5:1"]
    json.dumps(found)
