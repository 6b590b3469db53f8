"""Levels in Chromium, from the disk: played to their end by the hints, left for another way, and remembered."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from lockstep.jobs.play.opened_game import GameFiles, open_game
from lockstep.jobs.play_folder.levels import level_models, level_of
from lockstep.jobs.play_folder.write_folder import PlayFolder, page_of
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.disk_pages import MAX_MS, WITHOUT_STORAGE, opened_from_disk
from tests.support.programs.pyodide import pyodide_files

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)]

#: Ten levels of both systems, and the fewest steps of each.
LEVELS = {
    "late_truncate_bug": 15,
    "vote_file_bug": 8,
    "ledger_end_term_bug": 7,
    "ack_by_quorum_index_bug": 11,
    "commit_unverified_bug": 6,
    "conflict_at_snapshot_bug": 5,
    "stale_install_bug": 7,
    "snapshot_regress_bug": 4,
    "heartbeat_race_bug": 4,
    "transfer_flag_left_bug": 6,
}

expect.set_options(timeout=MAX_MS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the ten levels, as the command writes all of them."""
    path = tmp_path_factory.mktemp("levels") / "out"
    pages, written = PlayFolder(path, pyodide_files()), []
    for entry in level_models():
        if entry.name in LEVELS:
            files = GameFiles(model=entry.name)
            game = open_game(files)
            level = level_of(game, entry)
            assert level is not None
            written.append(page_of(files, game, 0, list(pages.scripts), level))
    pages.add(written)
    return path


def stands_at(tab: Page, number: int) -> None:
    expect(tab.locator("#position")).to_have_text(re.compile(f"^{number} of "))


def follow_hints(tab: Page, fewest: int, begin: int = 0) -> None:
    """Take the steps that the hints name, by the keyboard."""
    for number in range(begin, fewest):
        expect(tab.locator("#progress")).to_contain_text(
            f"{number} step{'' if number == 1 else 's'} taken; the fewest are {fewest}."
        )
        tab.click("#hint-step")
        expect(tab.locator("#hint")).to_contain_text("The next step of a shortest way: ")
        tab.keyboard.press("Enter")
        stands_at(tab, number + 1)


@pytest.mark.parametrize("name", LEVELS)
def test_the_hints_lead_to_the_end_of_a_level_in_the_fewest_steps(name: str, browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, folder / f"{name}.html") as tab:
        fewest = LEVELS[name]
        violated = tab.inner_text("#goal").partition("violate ")[2]
        follow_hints(tab, fewest)
        solved = f"Solved: {violated} is violated after {fewest} steps. No fewer would do. Your best: {fewest} steps."
        assert tab.inner_text("#progress") == solved
        assert violated in tab.inner_text("#verdict")
        tab.click("#hint-step")
        assert tab.inner_text("#hint") == "The property is violated: there is nothing more to do."
        tab.goto((folder / "index.html").as_uri())
        assert tab.inner_text(f'[data-level="{name}"]') == f"{fewest} ✓"


def test_the_hints_lead_back_from_another_way_and_more_steps_are_counted(browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, folder / "heartbeat_race_bug.html") as tab:
        tab.click("#hint-story")
        assert len(tab.inner_text("#hint")) > 200
        tab.click("#hint-step")
        right = tab.evaluate("document.activeElement.dataset.offer")
        other = next(each for each in ("0", "1", "2") if each != right)
        tab.click(f'#offers button[data-offer="{other}"]')
        stands_at(tab, 1)
        tab.click("#hint-step")
        assert (
            tab.inner_text("#hint") == "Your way is another one from step 1 on. Undo to there, or go on without hints."
        )
        tab.keyboard.press("u")
        stands_at(tab, 0)
        follow_hints(tab, LEVELS["heartbeat_race_bug"])
        expect(tab.locator("#progress")).to_contain_text("No fewer would do.")
        tab.reload()
        expect(tab.locator("#progress")).to_contain_text("0 steps taken; the fewest are 4. Your best: 4 steps.")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A plain web server of a folder; its address."""
    handler = functools.partial(SilentHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class SilentHandler(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_level_is_played_on_a_plain_web_server_which_is_asked_for_files_alone(browser: Browser, folder: Path) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.set_default_timeout(MAX_MS)
    asked: list[str] = []
    tab.on("request", lambda each: asked.append(f"{each.method} {each.url}"))
    with served(folder) as address:
        tab.goto(f"{address}index.html")
        tab.click("text=heartbeat_race_bug")
        follow_hints(tab, LEVELS["heartbeat_race_bug"])
        tab.wait_for_selector("#engine-state", state="hidden")
    context.close()
    names = {each.removeprefix(f"GET {address}") for each in asked if not each.startswith("GET blob:")}
    scripts = {f"engine/{path.name}" for path in (folder / "engine").glob("*.js")}
    assert names <= {"index.html", "heartbeat_race_bug.html", "favicon.ico", *scripts}
    assert scripts <= names


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_level_and_on_the_list(scheme: str, browser: Browser, folder: Path) -> None:
    for name in ("heartbeat_race_bug.html", "index.html"):
        tab = browser.new_page(color_scheme="dark" if scheme == "dark" else "light")
        tab.goto((folder / name).as_uri())
        if name != "index.html":
            tab.click("#hint-story")
            tab.click("#level summary")
        results = Axe().run(tab)
        tab.close()
        assert [(each["id"], each["nodes"][0]["html"]) for each in results.response["violations"]] == []
        assert len(results.response["passes"]) > 5


def test_a_level_is_played_where_the_browser_keeps_nothing(browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, folder / "snapshot_regress_bug.html", WITHOUT_STORAGE) as tab:
        follow_hints(tab, 4)
        expect(tab.locator("#progress")).to_contain_text("Your best: 4 steps.")
        tab.goto((folder / "index.html").as_uri())
        assert tab.inner_text('[data-level="snapshot_regress_bug"]') == ""
        assert tab.locator("#levels tbody tr").count() == len(LEVELS)
