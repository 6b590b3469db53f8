"""How soon a page without a server can be played: python bench/first_step.py [MODEL ...] [--tries 5]

The page of each model as `lockstep play --static` writes it, opened from the disk in Chromium, each time in a browser
profile of its own: until the first step is shown, whose answer is written on the page; until Python has started and
answers; and the time of an answer of Python to one more step. Each is the median of some tries. The files of Pyodide
are those of `make pyodide`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser

from lockstep.jobs.play.opened_game import GameFiles, open_game
from lockstep.jobs.play_folder.engine_files import ENGINE_FOLDER
from lockstep.jobs.play_folder.pyodide_files import default_folder, read_pyodide
from lockstep.jobs.play_folder.write_folder import PlayFolder, page_of
from lockstep.report.text_table import table

_ASK = """async (request) => {
  const begin = performance.now();
  await lockstepEngine.ask(request);
  return performance.now() - begin;
}"""


def times(browser: Browser, file: Path) -> tuple[float, float, float]:
    """Return the times until the first step and until Python answers, and of one answer, in seconds."""
    context = browser.new_context()
    tab = context.new_page()
    tab.set_default_timeout(300_000)
    begin = time.perf_counter()
    tab.goto(file.as_uri())
    tab.click("#offers button[data-offer]")
    tab.wait_for_function("document.getElementById('position').textContent.startsWith('1 of ')")
    first = time.perf_counter() - begin
    tab.wait_for_selector("#engine-state", state="hidden")
    started = time.perf_counter() - begin
    answer = tab.evaluate(_ASK, {"type": "take", "at": 1, "offer": 0}) / 1000
    context.close()
    return first, started, answer


def rows(browser: Browser, folder: Path, models: list[str], tries: int) -> Iterator[tuple[object, ...]]:
    """Yield a row for each model."""
    for model in models:
        files = GameFiles(model=model)
        game = open_game(files)
        pages = PlayFolder(folder, read_pyodide(default_folder()))
        begin = time.perf_counter()
        page = page_of(files, game, game.begin, list(pages.scripts))
        pages.add([page])
        written = time.perf_counter() - begin
        tried = [times(browser, folder / page.file) for _ in range(tries)]
        medians = [f"{statistics.median(each):.2f} s" for each in zip(*tried, strict=True)]
        yield model, f"{(folder / page.file).stat().st_size / 1e6:.1f} MB", f"{written:.1f} s", *medians


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", default=["late_truncate_bug", "torn_vote_bug"])
    parser.add_argument("--tries", type=int, default=5)
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.support.programs.browsers import chromium

    with tempfile.TemporaryDirectory() as work, chromium() as browser:
        folder = Path(work) / "out"
        found = list(rows(browser, folder, args.models, args.tries))
        print(table(("model", "page", "written in", "first step", "Python answers", "one answer"), found))
        size = sum(file.stat().st_size for file in (folder / ENGINE_FOLDER).iterdir())
        print(f"\nshared by all pages of a folder: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
