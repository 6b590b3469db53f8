"""Playing in the picture in Chromium: it stands still, its messages and nodes have menus, the address has the path."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Route, expect

from lockstep.jobs.play.play_game import play_model, play_trace
from lockstep.jobs.play.play_session import Visit
from lockstep.jobs.play.watched_expressions import SlowExpressionError, WatchedExpressions
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.played_pages import opened, served, stands_at
from tests.support.programs.plays import RAFT, STEPS, flawed, lock_service, played
from tests.support.sampling import sampled

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


#: Where parts of the page stand in the window.
PLACES = """() => ["diagram", "nodes", "play", "list"].map((id) => {
  const box = document.getElementById(id).getBoundingClientRect();
  return [id, Math.round(box.left), Math.round(box.top)];
})"""
#: Where each action stands within the list.
ROWS = """() => Object.fromEntries([...document.querySelectorAll("#offers .action")].map((row) =>
  [row.dataset.action, row.offsetTop]))"""


def is_seen(tab: Page, selector: str) -> bool:
    """Whether the middle of an element is within the window, and nothing covers it."""
    return bool(
        tab.evaluate(
            """(selector) => {
                const found = document.querySelector(selector), box = found.getBoundingClientRect();
                const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
                const of = (each) => each.closest("svg") ?? each;
                return seen !== null && (of(found).contains(seen) || seen.contains(found));
            }""",
            selector,
        )
    )


@pytest.mark.parametrize("begin", sampled([0, STEPS - 4], [STEPS - 4]))
@pytest.mark.parametrize("size", [(800, 800), (390, 800)])
def test_the_picture_stands_still_and_is_not_covered_while_one_plays(
    browser: Browser, size: tuple[int, int], begin: int
) -> None:
    game, path = played()
    with opened(browser, replace(game, begin=begin), size=size) as (tab, _):
        stands_at(tab, begin)
        tab.evaluate("scrollTo(0, 40)")
        before = tab.evaluate(PLACES)
        for number, step in enumerate(path[begin + 1 :], start=begin):
            steps = game.session.offers(number).steps
            offer = next(at for at, each in enumerate(steps) if (each.action, each.args) == (step.action, step.args))
            tab.locator(f'#offers [data-offer="{offer}"]').click()
            stands_at(tab, number + 1)
            expect(tab.locator("#taken")).to_contain_text(step.action)
            assert tab.evaluate(PLACES) == before
            for seen in ("#diagram", "#canvas .here", "#list", "#taken"):
                assert is_seen(tab, seen), (number, seen)
            assert tab.evaluate("document.documentElement.scrollWidth") == size[0]
        assert tab.locator(".action.taken").count() == 1


def test_the_page_stands_where_its_reader_has_scrolled_it_to(browser: Browser) -> None:
    game, _ = played()
    with opened(browser, replace(game, begin=9), size=(800, 800)) as (tab, _server):
        stands_at(tab, 9)
        tab.evaluate("scrollTo(0, 350)")
        tab.evaluate("document.querySelector('#offers [data-offer]').click()")
        stands_at(tab, 10)
        assert tab.evaluate("scrollY") == 350


@pytest.mark.parametrize("begin", sampled([1, STEPS - 3], [STEPS - 3]))
def test_actions_keep_their_places_in_the_list_while_one_plays(browser: Browser, begin: int) -> None:
    game, path = played()
    with opened(browser, replace(game, begin=0)) as (tab, _):
        stands_at(tab, 0)
        first = list(tab.evaluate(ROWS))
        tab.select_option("#branches", str(path[-1].number))
        stands_at(tab, STEPS)
        tops: list[dict[str, int]] = []
        for number in (*range(begin, STEPS + 1), *range(STEPS - 1, begin - 1, -1)):
            tab.evaluate(f"lockstepPage.show({number})")
            expect(tab.locator("#taken")).to_have_text(tab.inner_text("#action"))
            rows = tab.evaluate(ROWS)
            assert list(rows) == first
            tops.append(rows)
        # On the way back every row has had its height already: nothing moves at all.
        assert all(rows == tops[STEPS - begin] for rows in tops[STEPS - begin :])


def test_a_message_under_way_has_a_menu_that_delivers_loses_and_explains(browser: Browser) -> None:
    game, _ = played()
    with opened(browser, replace(game, begin=9)) as (tab, _server):
        stands_at(tab, 9)
        pills = tab.locator("#inbox button")
        assert pills.all_inner_texts() == ["TRUNCATE: SUCCESS 0 ← n2", "TRUNCATE 0 ← n1"]
        pills.nth(1).click()
        menu = tab.locator(".menu")
        expect(menu.locator(".greyed").first).to_be_visible()
        assert menu.get_attribute("role") == "dialog"
        assert menu.locator("h3").all_inner_texts()[:3] == [
            "TRUNCATE 0 from n1 to n2, sent by step 8, under way, a copy that the network made",
            "Deliver it to n2",
            "Let the network",
        ]
        assert menu.locator("[data-offered]").all_inner_texts() == ["HandleDoTruncate", "Lose"]
        assert "hold it" in menu.inner_text()
        assert menu.locator(".greyed").first.inner_text().startswith("Duplicate")
        assert ".tla:" in menu.locator(".reason").first.inner_text()
        # Its first entry has the focus; the arrows go from entry to entry, and Escape back to where it was opened.
        assert tab.evaluate("document.activeElement.textContent") == "HandleDoTruncate"
        tab.keyboard.press("ArrowUp")
        expect(menu.locator("button:visible, summary").last).to_be_focused()
        tab.keyboard.press("ArrowDown")
        assert tab.evaluate("document.activeElement.textContent") == "HandleDoTruncate"
        tab.keyboard.press("ArrowDown")
        assert tab.evaluate("document.activeElement.textContent").startswith("Lose")
        stands_at(tab, 9)
        tab.keyboard.press("Escape")
        assert menu.count() == 0
        assert tab.evaluate("document.activeElement.textContent") == "TRUNCATE 0 ← n1"
        tab.keyboard.press("Enter")
        tab.keyboard.press("Enter")
        stands_at(tab, 10)
        assert tab.inner_text("#taken").startswith("10 HandleDoTruncate")
        assert tab.evaluate("document.activeElement.textContent") == "n2"


def test_an_arrow_in_the_diagram_opens_the_same_menu_and_a_greyed_entry_says_why_not(browser: Browser) -> None:
    game, _ = played()
    with opened(browser, replace(game, begin=9)) as (tab, _server):
        stands_at(tab, 9)
        tab.locator("#canvas .hit:has(title:text('TRUNCATE: SUCCESS 0 from n2 to n1'))").dispatch_event("click")
        menu = tab.locator(".menu")
        assert menu.locator("[data-offered]").all_inner_texts() == ["HandleTruncateResponse", "Lose"]
        menu.locator(".greyed:has-text('Duplicate')").click()
        expect(tab.locator("#why-title")).to_contain_text("Duplicate")
        assert "UnderWay < MaxMessages" in tab.inner_text("#why-lines")
        # A message that has been received has no steps.
        tab.locator("#canvas .hit:has(title:text('COMPARE 1 from n1'))").dispatch_event("click")
        assert "It is not under way in this state." in menu.inner_text()
        assert menu.locator("[data-offered]").count() == 0


def test_a_node_has_a_menu_with_a_clients_write_and_its_faults_in_hashicorps_queues_too(browser: Browser) -> None:
    game = play_trace(RAFT)
    with opened(browser, game) as (tab, _):
        stands_at(tab, game.begin)
        tab.locator("#lanes button", has_text="n1").click()
        menu = tab.locator(".menu")
        expect(menu.locator(".greyed").first).to_be_visible()
        entries = menu.locator("[data-offered]").all_inner_texts()
        assert [each for each in entries if each.startswith("DispatchLogs")]
        assert [each for each in entries if each.startswith("Crash")]
        assert menu.locator(".greyed", has_text="Restart").count() == 1
        menu.locator("[data-offered]", has_text="DispatchLogs").click()
        stands_at(tab, game.begin + 1)
        assert f"v{game.begin + 1}" in tab.inner_text("#changes")
        assert tab.evaluate("document.activeElement.textContent") == "n1"
        tab.locator('.node[data-node="n2"] h3').click()
        assert menu.get_attribute("aria-label") == "n2: what can happen"
        menu.locator("[data-offered]", has_text="Crash").click()
        stands_at(tab, game.begin + 2)
        tab.locator("#lanes button", has_text="n2").click()
        assert menu.locator("[data-offered]", has_text="Restart").count() == 1


def menu_of(tab: Page, node: str) -> Locator:
    """The menu of a node, opened by the keyboard alone, with what is not enabled."""
    tab.locator("#lanes button", has_text=node).focus()
    tab.keyboard.press("Enter")
    menu = tab.locator(".menu")
    expect(menu.locator(".greyed").first).to_be_visible()
    return menu


def test_a_node_is_cut_off_in_one_gesture_and_gone_back_from_as_a_whole_or_step_by_step(browser: Browser) -> None:
    game, _ = played()
    with opened(browser, replace(game, begin=9)) as (tab, _server):
        stands_at(tab, 9)
        before = tab.evaluate("location.hash")
        cut = menu_of(tab, "n2").locator("[data-offered='cut']")
        assert cut.inner_text() == "cut off lose the 2 messages to and from n2 under way"
        for _ in range(2):
            tab.keyboard.press("ArrowDown")
        expect(cut).to_be_focused()
        tab.keyboard.press("Enter")
        stands_at(tab, 11)
        assert tab.locator("#inbox button").count() == 0
        assert tab.locator("#canvas .flight.lost").count() == 2
        assert tab.evaluate("document.activeElement.textContent") == "n2"
        link = tab.evaluate("location.hash")
        tab.go_back()
        stands_at(tab, 9)
        assert tab.evaluate("location.hash") == before
        tab.go_forward()
        stands_at(tab, 11)
        tab.keyboard.press("u")
        stands_at(tab, 10)
        assert tab.locator("#inbox button").count() == 1
        tab.reload()
        tab.evaluate(f"location.hash = {link!r}")
        stands_at(tab, 11)


def test_a_node_that_cannot_be_cut_off_has_that_greyed_with_the_reason(browser: Browser) -> None:
    with opened(browser, play_model("commit_unverified_bug")) as (tab, _):
        stands_at(tab, 0)
        greyed = menu_of(tab, "n1").locator("li:has(.greyed:text('cut off'))")
        assert greyed.locator(".reason").inner_text() == "no message to or from n1 is under way"
        tab.keyboard.press("Escape")
        tab.locator('#offers [data-offer][aria-label^="ReplicateTo"]').first.click()
        stands_at(tab, 1)
        greyed = menu_of(tab, "n1").locator("li:has(.greyed:text('cut off'))")
        assert '"Loss" \\in Environment' in greyed.locator(".reason").inner_text()
        assert tab.locator("[data-offered='cut']").count() == 0
        greyed.locator("button").click()
        expect(tab.locator("#notice")).to_contain_text("cannot be lost")
        stands_at(tab, 1)


def test_what_is_not_enabled_is_searched_by_action_argument_or_node(browser: Browser) -> None:
    with opened(browser, flawed()) as (tab, _):
        tab.keyboard.press("w")
        tab.keyboard.type("doappend n2")
        first = tab.locator("#found li", has_text="DoAppend n2, peer = n1")
        expect(first).to_be_visible()
        assert 'node[n].role = "LEADER"' in first.inner_text()
        assert tab.locator("#found li").count() == len(
            [each for each in tab.locator("#found li button").all_inner_texts() if "DoAppend" in each and "n2" in each]
        )
        # It is asked anew in each state.
        tab.click('#offers [data-offer][aria-label^="ElectLeader n2"]')
        stands_at(tab, 1)
        expect(first).not_to_contain_text('node[n].role = "LEADER"')
        first.locator("button").click()
        expect(tab.locator("#why-title")).to_contain_text("DoAppend")
        tab.click("#wanted")
        tab.keyboard.press("Escape")
        assert tab.is_hidden("#answers")
        assert tab.input_value("#wanted") == ""


def test_the_address_has_the_path_and_another_process_takes_its_steps_again(browser: Browser) -> None:
    with opened(browser, flawed()) as (tab, _):
        for number, action in enumerate(("ElectLeader n1", "AppendAsLeader n1", "DoCompare n1"), start=1):
            tab.locator(f'#offers [data-offer][aria-label^="{action}"]').last.click()
            stands_at(tab, number)
        link = tab.evaluate("location.hash")
        state = tab.inner_text("#nodes")
        assert link.startswith("#play=0.")
        tab.go_back()
        stands_at(tab, 2)
        tab.go_back()
        stands_at(tab, 1)
        tab.go_forward()
        stands_at(tab, 2)
        assert tab.inner_text("#position") == "2 of 3"
        tab.go_forward()
        stands_at(tab, 3)
        assert tab.evaluate("location.hash") == link
        tab.reload()
        stands_at(tab, 3)
    with served(flawed()) as other:
        tab = browser.new_page()
        tab.goto(other.url + link)
        stands_at(tab, 3)
        assert tab.inner_text("#nodes") == state
        tab.evaluate("location.hash = '#play=0.999'")
        expect(tab.locator("#notice")).to_have_text(
            "step 1 of the address is not allowed by late_truncate_bug: no step 999 is offered there; there are 2"
        )
        stands_at(tab, 3)
        assert tab.evaluate("location.hash") == link
        tab.close()


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_axe_finds_nothing_in_menus_and_in_a_search(browser: Browser, scheme: Any, width: int) -> None:
    game, _ = played()
    with served(replace(game, begin=9)) as server:
        tab = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
        tab.goto(server.url)
        stands_at(tab, 9)
        tab.fill("#wanted", "DoAppend")
        expect(tab.locator("#found li").first).to_be_visible()
        violations = []
        for opener in ("#inbox button", "#lanes button"):
            tab.locator(opener).first.click()
            expect(tab.locator(".menu .greyed").first).to_be_visible()
            violations += Axe().run(tab).response["violations"]
        tab.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []


@pytest.mark.nightly
def test_an_expression_is_watched_in_each_state_and_a_mistake_is_shown_as_text(browser: Browser) -> None:
    with opened(browser, lock_service()) as (tab, _):
        tab.keyboard.press("e")
        tab.keyboard.type("Len(queue)")
        tab.keyboard.press("Enter")
        cells = tab.locator("#watched td:nth-child(2)")
        expect(cells).to_have_text(["0"])
        tab.fill("#watch", "<img src=x onerror=window.hacked=1>")
        tab.click("#watch-add")
        expect(cells.nth(1)).to_have_class("bad")
        tab.click('#offers [data-offer][aria-label^="Lock"]')
        stands_at(tab, 1)
        expect(cells.first).to_have_text("1")
        tab.keyboard.press("u")
        stands_at(tab, 0)
        expect(cells.first).to_have_text("0")
        assert tab.locator("img").count() == 0
        assert tab.evaluate("window.hacked") is None
        tab.locator("#watched button").last.click()
        assert cells.count() == 1


class Requests:
    """The requests of a page that are held back: those of some types, until they are released."""

    def __init__(self, tab: Page, *types: str) -> None:
        self.held: list[Route] = []
        self._tab, self._types = tab, types
        tab.route("**/ask", self._handle)

    def _handle(self, route: Route) -> None:
        if route.request.post_data_json["type"] in self._types:
            self.held.append(route)
        else:
            route.continue_()

    def types(self) -> list[str]:
        return sorted(route.request.post_data_json["type"] for route in self.held)

    def wait(self, *types: str) -> None:
        """Wait until these are held, and no others."""
        deadline = time.monotonic() + 60
        while self.types() != sorted(types) and time.monotonic() < deadline:
            self._tab.wait_for_timeout(20)
        assert self.types() == sorted(types)

    def release(self) -> None:
        self._types = ()
        held, self.held = self.held, []
        for route in held:
            route.continue_()


# One run in forty fails where three processes share two processors; why is not known. A nightly sample tries twice.
@pytest.mark.nightly
def test_an_initial_state_has_no_step_to_undo_though_its_list_has_not_come(browser: Browser) -> None:
    game, _ = played()
    with opened(browser, replace(game, begin=9)) as (tab, _):
        stands_at(tab, 9)
        requests = Requests(tab, "list")
        tab.keyboard.press("Home")
        requests.wait("list")
        tab.keyboard.press("u")
        expect(tab.locator("#notice")).to_contain_text("This is an initial state")
        requests.release()
        stands_at(tab, 0)


def length_of_queue(_: object, text: str, visit: Visit, again: bool = False) -> str:
    """The value of any expression, without Java; `slow` takes too long in each state until it is asked for again."""
    if text == "slow" and not again:
        raise SlowExpressionError("it took too long")
    return f"{text} {len(list(visit.state['queue']))}"


def watch(tab: Page, text: str) -> None:
    tab.keyboard.press("e")
    tab.keyboard.type(text)
    tab.keyboard.press("Enter")
    tab.locator("#watch").blur()


CELLS = "#watched td:nth-child(2)"


def test_what_is_watched_and_searched_is_shown_though_one_has_gone_back_and_forth(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WatchedExpressions, "value", length_of_queue)
    with opened(browser, lock_service()) as (tab, _):
        tab.click('#offers [data-offer][aria-label^="Lock"]')
        stands_at(tab, 1)
        requests = Requests(tab, "watch", "find", "list")
        watch(tab, "queued")
        tab.fill("#wanted", "Lock")
        tab.locator("#wanted").blur()
        requests.wait("watch", "find")
        tab.keyboard.press("ArrowLeft")
        stands_at(tab, 0)
        tab.keyboard.press("ArrowRight")
        stands_at(tab, 1)
        requests.wait("watch", "find", "list")
        requests.release()
        expect(tab.locator(CELLS)).to_have_text(["queued 1"])
        expect(tab.locator("#found li").first).to_be_visible()


def test_a_step_is_taken_while_a_value_is_awaited_and_only_one_is_asked_for_at_a_time(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WatchedExpressions, "value", length_of_queue)
    with opened(browser, lock_service()) as (tab, _):
        requests = Requests(tab, "watch")
        watch(tab, "one")
        watch(tab, "slow")
        for number in (1, 2):
            tab.click('#offers [data-offer][aria-label^="Lock"] >> nth=0')
            stands_at(tab, number)
        requests.wait("watch")
        requests.release()
        expect(tab.locator(CELLS)).to_have_text(["one 2", "it took too long"])
        tab.click("text=evaluate here")
        expect(tab.locator(CELLS)).to_have_text(["one 2", "slow 2"])
        assert tab.locator("text=evaluate here").count() == 0
        tab.locator("#watch").blur()
        tab.keyboard.press("u")
        stands_at(tab, 1)
        expect(tab.locator(CELLS)).to_have_text(["one 1", "it took too long"])


def test_a_value_that_the_server_does_not_answer_is_not_awaited_for_ever(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WatchedExpressions, "value", length_of_queue)
    with served(lock_service()) as server:
        tab = browser.new_page()
        tab.goto(server.url)
        stands_at(tab, 0)
        tab.route("**/ask", lambda route: route.abort())
        watch(tab, "one")
        expect(tab.locator(CELLS)).to_have_text(["not evaluated"])
        tab.unroute("**/ask")
        watch(tab, "two")
        expect(tab.locator(CELLS)).to_have_text(["one 0", "two 0"])
        tab.close()
