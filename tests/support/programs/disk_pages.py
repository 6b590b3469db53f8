"""Pages opened in Chromium from the disk, on which nothing may go wrong, and which may ask no network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

#: The time that Python may take to start in a page, and to answer, on a machine that does much else.
MAX_MS = 120_000

#: A browser that keeps nothing for a page refuses it so.
WITHOUT_STORAGE = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('refused'); } });"

#: Where a page may load something from: the disk, or what it made itself.
_OWN = ("file:", "blob:null/")


@contextmanager
def opened_from_disk(browser: Browser, file: Path, script: str = "") -> Iterator[Page]:
    """Yield a page; raises AssertionError if it printed, failed or asked for anything. `script` runs before its own."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(MAX_MS)
    if script:
        tab.add_init_script(script)
    events: list[str] = []
    tab.on("console", lambda message: events.append(message.text))
    tab.on("pageerror", lambda error: events.append(str(error)))
    tab.on("request", lambda each: None if each.url.startswith(_OWN) else events.append(each.url))
    tab.goto(file.as_uri())
    yield tab
    loaded = tab.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    context.close()
    assert events == []
    assert [name for name in loaded if not name.startswith(_OWN)] == []
