"""Pages without a server in Chromium, from the disk: they answer as the session in CPython does, and ask nobody."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from lockstep.jobs.play.opened_game import GameFiles, first_state, open_game
from lockstep.jobs.play.page_requests import RefusedError, RequestHandler
from lockstep.jobs.play.play_game import Game, play_trace
from lockstep.jobs.play.play_scenario import FORMAT, ScenarioStart, read_scenario
from lockstep.jobs.play.play_session import Visit
from lockstep.jobs.play_folder.write_folder import PlayFolder, page_of
from lockstep.models.search_result import SpecFiles
from lockstep.report.page.page_content import Tree
from lockstep.tla.values.kinds import format_value
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.disk_pages import MAX_MS, opened_from_disk
from tests.support.programs.plays import FLAWED, SCENARIO, VIOLATED
from tests.support.programs.pyodide import pyodide_files

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)]

COUNTEREXAMPLES = sorted((ROOT / "traces" / "counterexamples").rglob("*.trace.ndjson"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> PlayFolder:
    """The folder of all pages of this module, but for those that are damaged."""
    return PlayFolder(tmp_path_factory.mktemp("pages") / "out", pyodide_files())


def written(files: GameFiles, pages: PlayFolder) -> Path:
    """Write the page of a game, and return it."""
    game = open_game(files)
    page = page_of(files, game, first_state(game, files.scenario), list(pages.scripts))
    pages.add([page])
    return pages.path / page.file


def asked(tab: Page, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of Python in the page, once it has started."""
    tab.wait_for_selector("#engine-state", state="hidden")
    found: list[dict[str, Any]] = tab.evaluate(
        """async (requests) => {
            const answers = [];
            for (const request of requests) answers.push(await lockstepEngine.ask(request));
            return answers;
        }""",
        requests,
    )
    return found


def answered(handler: RequestHandler, request: dict[str, Any]) -> Tree:
    """The answer of the session in CPython, as a page gets it."""
    try:
        tree = handler.handle(json.dumps(request).encode())
        return {"ok": True, "tree": json.loads(json.dumps(tree))}
    except RefusedError as error:
        return {"ok": False, "tree": {"error": str(error), "lines": list(error.lines)}}


def step_request(game: Game, at: int, step: Visit) -> dict[str, Any]:
    """The request of a step: by its offer, or by its arguments where these are from a set without an end."""
    for offer, each in enumerate(game.session.offers(at).steps):
        if (each.action, each.args) == (step.action, step.args):
            return {"type": "take", "at": at, "offer": offer}
    return {
        **{"type": "step", "at": at, "action": step.action},
        "args": {name: format_value(value) for name, value in step.args.items()},
    }


def differences(mine: Any, its: Any, place: str = "") -> list[str]:
    """The places in which two trees differ, with what is there."""
    if isinstance(mine, dict) and isinstance(its, dict) and mine.keys() == its.keys():
        return [each for key in mine for each in differences(mine[key], its[key], f"{place}.{key}")]
    if isinstance(mine, list) and isinstance(its, list) and len(mine) == len(its):
        pairs = enumerate(zip(mine, its, strict=True))
        return [each for at, (left, right) in pairs for each in differences(left, right, f"{place}[{at}]")]
    return [] if mine == its else [f"{place}: {mine!r} and {its!r}"]


@pytest.mark.parametrize("trace", COUNTEREXAMPLES, ids=lambda path: path.name.partition(".")[0])
def test_a_counterexample_taken_step_by_step_is_the_same_in_a_page_as_in_cpython(
    trace: Path, browser: Browser, folder: PlayFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the initial state: the page is one of the trace's header alone, and Python gives all answers."""
    monkeypatch.setattr("lockstep.jobs.play_folder.first_answers.MAX_BYTES", 0)
    followed = play_trace(trace)
    start = ScenarioStart(FORMAT, trace=followed.header)
    begin = tmp_path / f"{trace.name.partition('.')[0]}.scenario.ndjson"
    begin.write_bytes(msgspec.json.encode(start) + b"\n")
    files = GameFiles(scenario=read_scenario(begin))
    game = open_game(files)
    handler = RequestHandler(game)
    requests: list[dict[str, Any]] = []
    here: list[Tree] = []  # answered as they are made: to list the steps of a state may take a second
    for number, visit in enumerate(followed.session.path(followed.begin)[1:]):
        requests += [{"type": "list", "at": number}, step_request(game, number, visit)]
        here += [answered(handler, request) for request in requests[-2:]]
    end = followed.session.visit(followed.begin)
    assert len(requests) == 2 * end.depth > 0
    last = len(game.session.visits) - 1
    requests += [{"type": "why", "at": last, "action": name} for name in list(game.session.spec.actions)[:5]]
    requests += [{"type": "save", "at": last, "form": "scenario"}, {"type": "take", "at": 0, "offer": 1}]
    here += [answered(handler, request) for request in requests[len(here) :]]
    with opened_from_disk(browser, written(files, folder)) as tab:
        there = asked(tab, requests)
    for request, mine, its in zip(requests, here, there, strict=True):
        assert differences(mine, its) == [], request
    taken = there[2 * end.depth - 1]["tree"]
    assert taken["verdict"] == ("violated" if end.failed else "holds")


def stands_at(tab: Page, number: int) -> None:
    """Wait until the page shows the state after a number of steps."""
    expect(tab.locator("#position")).to_have_text(re.compile(f"^{number} of "), timeout=MAX_MS)


def test_steps_are_taken_before_python_has_started_and_are_there_when_it_has(
    browser: Browser, folder: PlayFolder, tmp_path: Path
) -> None:
    file = written(GameFiles(model=FLAWED), folder)
    with opened_from_disk(browser, file) as tab:
        tab.click('#offers button[data-offer="1"]')
        stands_at(tab, 1)
        tab.click('#offers button[data-offer="0"]')
        stands_at(tab, 2)
        assert tab.is_visible("#engine-state")
        before = tab.inner_text("#state")
        tab.click('#offers button[data-offer="0"]')  # the third step is no answer of the page: it waits for Python
        stands_at(tab, 3)
        assert tab.is_hidden("#engine-state")
        tab.keyboard.press("u")
        stands_at(tab, 2)
        assert tab.inner_text("#state") == before
        tab.click("#disabled summary")
        tab.click("#disabled button >> nth=0")
        tab.wait_for_selector("#why:not([hidden])")
        with tab.expect_download() as scenario:
            tab.click("#save-scenario")
        scenario.value.save_as(tmp_path / "saved.scenario.ndjson")
        (shown,) = asked(tab, [{"type": "show", "at": 2}])
    files = GameFiles(scenario=read_scenario(tmp_path / "saved.scenario.ndjson"))
    game = open_game(files)
    assert first_state(game, files.scenario) == 2
    here = answered(RequestHandler(game), {"type": "show", "at": 2})
    assert shown["tree"]["steps"] == here["tree"]["steps"]
    assert shown["tree"]["play"]["path"] == [0, 1, 2]


def test_a_violation_is_reported_in_a_page_and_saved_with_the_verdict_of_its_check(
    browser: Browser, folder: PlayFolder
) -> None:
    files = GameFiles(scenario=read_scenario(SCENARIO))
    with opened_from_disk(browser, written(files, folder)) as tab:
        assert f"{VIOLATED} is violated" in tab.inner_text("#remarks")
        with tab.expect_download():
            tab.click("#save-trace")
        expect(tab.locator("#notice")).to_contain_text("lockstep check says: violated", timeout=MAX_MS)


#: A spec in which the third step leads to a recursion that is deeper than a browser's stack.
DEEP = """---- MODULE Deep ----
EXTENDS Naturals
VARIABLE x
RECURSIVE Sum(_)
Sum(n) == IF n = 0 THEN 0 ELSE n + Sum(n - 1)
Init == x = 1
Grow == x < 1000 /\\ x' = x * 10
Leap == x < 1000000 /\\ x' = 1000000
Next == Grow \\/ Leap
Natural == Sum(x) >= 0
====
"""


def test_python_starts_once_more_where_a_recursion_ended_it(
    browser: Browser, folder: PlayFolder, tmp_path: Path
) -> None:
    """CPython refuses that step as well; the states before it stay, with their numbers."""
    (tmp_path / "Deep.tla").write_text(DEEP, encoding="utf-8")
    (tmp_path / "Deep.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Natural\n", encoding="utf-8")
    files = GameFiles(own=SpecFiles(tmp_path / "Deep.tla"))
    take = [{"type": "take", "at": at, "offer": 0} for at in range(2)]
    leap, again = {"type": "take", "at": 2, "offer": 1}, {"type": "show", "at": 2}
    handler = RequestHandler(open_game(files))
    here = [answered(handler, request) for request in (*take, leap, again)]
    assert [answer["ok"] for answer in here] == [True, True, False, True]
    tab = browser.new_page()
    tab.set_default_timeout(MAX_MS)
    tab.goto(written(files, folder).as_uri())
    there = asked(tab, [*take, leap, again])
    assert there[2]["tree"]["error"].startswith("Python ended in this page: ")
    assert [there[0], there[1], there[3]] == [here[0], here[1], here[3]]
    tab.close()


def test_a_page_says_so_where_a_script_of_its_folder_is_missing(browser: Browser, tmp_path: Path) -> None:
    file = written(GameFiles(model=FLAWED), PlayFolder(tmp_path / "out", pyodide_files()))
    (file.parent / "engine" / "msgspec.whl.js").unlink()
    tab = browser.new_page()
    tab.goto(file.as_uri())
    expected = "Python does not run in this page: engine/msgspec.whl.js is missing"
    expect(tab.locator("#engine-state")).to_have_text(expected)
    tab.click("#disabled summary")
    tab.click("#disabled button >> nth=0")
    expect(tab.locator("#notice")).to_have_text(expected)
    tab.close()
