"""The screenshots in the README: `python -m tests.scripts.screenshots` takes them anew, in Chromium, from real runs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from lockstep.systems.trace_files import import_trace
from tests.support.places import ROOT
from tests.support.programs.browsers import chromium
from tests.support.programs.lockstep_command import lockstep

FOLDER = ROOT / "docs" / "pictures"


@dataclass(frozen=True, slots=True)
class Shot:
    """A screenshot: the names of the trace and its recording, the height, the text on it, the options of the view."""

    name: str
    recording: str
    says: str
    height: int
    options: tuple[str, ...] = ()


SHOTS = {
    "view_figure8.png": Shot(
        "figure8",
        "dledger/dledger-0.2.7-figure8.ndjson",
        "committedIndex: the trace shows 2, the spec says 1",
        905,
        ("--switch", "repaired"),
    ),
    "view_torn_vote.png": Shot("torn_vote", "hashicorp/raft-1.8.0-torn_vote.ndjson", "LeaderCompleteness", 915),
}


@contextmanager
def page_with(browser: Browser, shot: Shot, folder: Path) -> Iterator[Page]:
    """Open the page of a recording where it begins: at what is wrong, or at the step that decides it."""
    trace, file = folder / f"{shot.name}.trace.ndjson", folder / f"{shot.name}.html"
    import_trace(ROOT / "traces" / "captured" / shot.recording, trace)
    done = lockstep("view", *shot.options, trace.name, "-o", file, cwd=folder)
    assert done.returncode == 0, done.stderr
    tab = browser.new_page(viewport={"width": 1200, "height": shot.height}, color_scheme="light")
    tab.goto(file.as_uri())
    yield tab
    tab.close()


def main() -> None:
    """Take every screenshot."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name, shot in SHOTS.items():
            with page_with(browser, shot, Path(folder)) as tab:
                tab.screenshot(path=FOLDER / name)
            sys.stdout.write(f"{FOLDER / name}\n")


if __name__ == "__main__":
    main()
