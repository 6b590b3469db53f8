"""Playing in Chromium: to a violation and back, another way, why not, and what is saved of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import lockstep
from lockstep.jobs.play.play_game import play_trace
from lockstep.jobs.play.play_scenario import play, read_scenario
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.pages import HOSTILE, hostile_trace
from tests.support.programs.played_pages import opened, served, stands_at
from tests.support.programs.plays import STEPS, VIOLATED, flawed, played, ways

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


def offers(tab: Page, words: str) -> None:
    """Wait until a step with these words is offered."""
    tab.wait_for_selector(f'#offers button[data-offer][aria-label^="{words}"]')


def test_a_person_plays_to_a_violation_undoes_it_and_goes_another_way(browser: Browser, tmp_path: Path) -> None:
    """The last steps of the way to the violation are taken by hand."""
    game, path = played()
    with opened(browser, replace(game, begin=STEPS - 3)) as (tab, _):
        stands_at(tab, STEPS - 3)
        for number, step in enumerate(path[-3:], start=STEPS - 3):
            steps = game.session.offers(number).steps
            offer = next(at for at, each in enumerate(steps) if (each.action, each.args) == (step.action, step.args))
            tab.click(f'[data-offer="{offer}"]')
            stands_at(tab, number + 1)
        assert tab.inner_text("#verdict") == f"violated: {VIOLATED} fails after step {STEPS}."
        assert f"{VIOLATED} is violated" in tab.inner_text("#remarks")
        assert tab.inner_text("#live").endswith(f". False: {VIOLATED}")
        assert tab.evaluate("document.activeElement.closest('.action').dataset.action") == path[-1].action

        with tab.expect_download() as trace:
            tab.click("#save-trace")
        assert trace.value.suggested_filename == "late_truncate_bug.trace.ndjson"
        trace.value.save_as(tmp_path / "saved.ndjson")
        (found,) = lockstep.check(tmp_path / "saved.ndjson").findings
        assert (found.name, found.line) == (VIOLATED, STEPS + 1)
        assert f"lockstep check says: violated: a behaviour of the spec that violates {VIOLATED}" in tab.inner_text(
            "#notice"
        )
        with tab.expect_download() as scenario:
            tab.click("#save-scenario")
        scenario.value.save_as(tmp_path / "saved.scenario.ndjson")
        assert play(flawed(), read_scenario(tmp_path / "saved.scenario.ndjson")).failed == {VIOLATED}

        tab.keyboard.press("u")
        stands_at(tab, STEPS - 1)
        assert tab.inner_text("#verdict").startswith("holds: ")
        tab.reload()
        stands_at(tab, STEPS - 1)

        for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight"):
            tab.keyboard.press(key)
        stands_at(tab, 3)
        assert tab.inner_text("#position") == f"3 of {STEPS - 1}"
        offers(tab, "QuorumAckChecker")
        tab.click('#offers button[data-offer][aria-label^="QuorumAckChecker"]')
        stands_at(tab, 4)
        assert tab.inner_text("#position") == "4 of 4"
        assert tab.locator("#branches option").count() == 2
        tab.select_option("#branches", "15")
        stands_at(tab, STEPS)
        assert tab.inner_text("#verdict").startswith("violated: ")


def test_why_not_is_explained_with_its_line_and_arguments_can_be_written(browser: Browser) -> None:
    with opened(browser, flawed()) as (tab, _):
        tab.click('#offers button[aria-label="DoAppend: other arguments, why not?"]')
        tab.wait_for_selector("#why:not([hidden])")
        assert tab.inner_text("#why-title").startswith("DoAppend ")
        reason = 'Pushing.tla:21:8: node[n].role = "LEADER"\n  left:  "CANDIDATE"\n  right: "LEADER"'
        assert reason in tab.inner_text("#why-lines")
        tab.click('#offers button[aria-label="ElectLeader: other arguments, why not?"]')
        tab.wait_for_selector("#why-form input[name=voters]")
        tab.fill("#why-form input[name=voters]", "{n1, n2}")
        tab.keyboard.press("d")  # a letter in a field, no key of the page
        tab.fill("#why-form input[name=voters]", "{n1, n2}")
        assert tab.evaluate("document.documentElement.dataset.theme") == "light"
        tab.click('#why-form button:has-text("why not with these?")')
        expect(tab.locator("#why-lines")).to_contain_text("It is enabled with these arguments.")
        tab.click('#why-form button:text-is("take")')
        stands_at(tab, 1)
        tab.keyboard.press("o")
        assert tab.evaluate("document.activeElement.dataset.offer") == "0"
        tab.keyboard.press("Enter")
        stands_at(tab, 2)


def test_a_spec_without_nodes_has_no_lanes_and_its_initial_states_can_be_chosen(browser: Browser) -> None:
    with opened(browser, ways()) as (tab, _):
        assert tab.is_hidden("#diagram")
        assert tab.is_hidden("#nodes")
        tab.select_option("#start", "1")
        expect(tab.locator("#state")).to_contain_text("10")
        assert tab.locator("#offers button[data-offer]").count() == 3
        assert "the arguments of Refuel" not in tab.inner_text("#offers")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_axe_finds_nothing_where_something_is_played(browser: Browser, scheme: str) -> None:
    game, path = played()
    with served(game) as server:
        tab = browser.new_page(color_scheme="dark" if scheme == "dark" else "light")
        tab.goto(server.url)
        tab.select_option("#branches", str(path[-1].number))
        stands_at(tab, STEPS)
        tab.click("#offers .name >> nth=0")
        tab.wait_for_selector("#why:not([hidden])")
        results = Axe().run(tab)
        tab.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in results.response["violations"]] == []
    assert len(results.response["passes"]) > 10


@pytest.mark.nightly
def test_a_hostile_trace_runs_nothing_while_it_is_played(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, play_trace(hostile_trace(tmp_path, 60))) as (tab, _):
        assert HOSTILE in (tab.text_content("#offers") or "")
        tab.click("#offers button[data-offer]")
        stands_at(tab, 61)
        tab.click("#offers .name >> nth=0")
        tab.wait_for_selector("#why:not([hidden])")
        assert HOSTILE in (tab.text_content("#why") or "")
        assert tab.locator("img").count() == 0
        assert tab.evaluate("window.hacked") is None


def test_the_page_reports_that_the_server_was_stopped(browser: Browser) -> None:
    tab = browser.new_page()
    with served(ways()) as server:
        tab.goto(server.url)
    tab.click("#offers button[data-offer]")
    expect(tab.locator("#notice")).to_have_text("lockstep play does not answer: was it stopped?")
    tab.close()


def test_no_other_page_can_ask_the_server_even_with_its_address(browser: Browser, tmp_path: Path) -> None:
    """A browser sends what such a page asks; the server refuses it, and the page sees nothing."""
    stranger = tmp_path / "stranger.html"
    stranger.write_text("<!DOCTYPE html><title>stranger</title><p>hello", encoding="utf-8")
    game = ways()
    with served(game) as server:
        tab = browser.new_page()
        tab.goto(stranger.as_uri())
        request = '{"type": "take", "at": 0, "offer": 0}'
        for kind in ("application/json", "text/plain"):
            sent = f"{{method: 'POST', headers: {{'Content-Type': {kind!r}}}, body: {request!r}}}"
            request = f"fetch({server.url + 'ask'!r}, {sent}).then(() => 'seen', () => 'refused')"
            assert tab.evaluate(request) == "refused"
        tab.evaluate(f"document.body.append(Object.assign(document.createElement('iframe'), {{src: {server.url!r}}}))")
        tab.wait_for_timeout(300)
        assert "What can happen next" not in "".join(frame.content() for frame in tab.frames)
        tab.close()
    assert len(game.session.visits) == 1
