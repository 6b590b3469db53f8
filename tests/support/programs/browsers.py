"""The browser that the pages are tried in: Chromium, as the machine has it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_CHROMIUM = "no Chromium: the pages were not tried in a browser (apt-get install chromium)"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium; as root, as in a container, it has no sandbox, and the pages are our own."""
    from playwright.sync_api import sync_playwright  # every process of the tests asks whether there is a browser

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def quiet_tab(browser: Browser, file: Path) -> Iterator[Page]:
    """Open a page; nothing may go wrong on it, nor be asked of any network."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    tab = context.new_page()
    events: list[str] = []
    tab.on("console", lambda message: events.append(message.text))
    tab.on("pageerror", lambda error: events.append(str(error)))
    tab.on("request", lambda request: None if request.url.startswith("file:") else events.append(request.url))
    tab.goto(file.as_uri())
    yield tab
    context.close()
    assert events == []
