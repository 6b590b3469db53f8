"""Pages on which something is played: served, and opened in a browser in which nothing may go wrong."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, expect

from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_server import PlayServer

#: A machine that does much else answers late, and the first trace that is saved may need the spec to be compiled.
MAX_MS = 120_000
expect.set_options(timeout=MAX_MS)


@contextmanager
def served(game: Game) -> Iterator[PlayServer]:
    server = PlayServer(RequestHandler(game, game.begin))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def opened(
    browser: Browser, game: Game, scheme: str = "light", size: tuple[int, int] = (1200, 900)
) -> Iterator[tuple[Page, PlayServer]]:
    """The page of a session; nothing may go wrong on it, nor be asked of anybody but the server that it comes from."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light"
    )
    tab = context.new_page()
    tab.set_default_timeout(MAX_MS)
    events: list[str] = []
    tab.on("console", lambda message: events.append(message.text))
    tab.on("pageerror", lambda error: events.append(str(error)))
    with served(game) as server:
        tab.on("request", lambda each: None if each.url.startswith((server.url, "blob:")) else events.append(each.url))
        tab.goto(server.url)
        yield tab, server
    context.close()
    assert events == []


def stands_at(tab: Page, number: int) -> None:
    """Wait until the page shows the state after a number of steps."""
    expect(tab.locator("#position")).to_have_text(re.compile(f"^{number} of "))
