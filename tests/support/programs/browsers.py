"""The browser that the pages are tried in: Chromium, as the machine has it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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
