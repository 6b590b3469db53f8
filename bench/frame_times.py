"""How long a page takes to show a step: python bench/frame_times.py [--steps 2000] [--tries 100]

The page of a cluster of five nodes, and beside it one of a tenth of the steps, both in Chromium: to open it, to go on
by a step, to jump to any step, and to scroll the diagram. Each is measured to the frame after it, in milliseconds:
median, 95th percentile, longest. A page is smooth where these are below 16.7, and do not grow with the trace.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page

from lockstep.report.text_table import table
from lockstep.systems.trace_files import write_cluster
from tests.support.programs.browsers import chromium
from tests.support.programs.pages import page_of

sys.path.insert(0, str(Path(__file__).parents[1]))


#: Does something, and says how long it was until the frame after it was drawn.
_TO_THE_FRAME = """(what) => new Promise((done) => {
  const begin = performance.now();
  what();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
})"""
_KEY = f"""(key) => ({_TO_THE_FRAME})(() =>
  document.dispatchEvent(new KeyboardEvent('keydown', {{ key }})))"""
_JUMP = f"""(place) => ({_TO_THE_FRAME})(() => {{
  const scrubber = document.getElementById('scrubber');
  scrubber.value = String(place);
  scrubber.dispatchEvent(new Event('input'));
}})"""
_SCROLL = f"""(left) => ({_TO_THE_FRAME})(() => {{ document.getElementById('scroller').scrollLeft = left; }})"""
_NOTHING = f"() => ({_TO_THE_FRAME})(() => {{}})"


def measured(tab: Page, steps: int, tries: int) -> Iterator[tuple[str, list[float]]]:
    """Yield what is done on a page, and how long each try took, in milliseconds."""
    rng = random.Random(1)
    yield "nothing", [tab.evaluate(_NOTHING) for _ in range(tries)]
    yield "a step", [tab.evaluate(_KEY, "ArrowRight") for _ in range(tries)]
    yield "a jump", [tab.evaluate(_JUMP, rng.randrange(steps)) for _ in range(tries)]
    yield "a scroll", [tab.evaluate(_SCROLL, rng.randrange(26 * steps)) for _ in range(tries)]


def rows(browser: Browser, folder: Path, steps: int, tries: int) -> Iterator[tuple[object, ...]]:
    """Yield a row for each thing that is done on the page of a trace of `steps` steps."""
    file = folder / f"{steps}.html"
    file.write_text(page_of(write_cluster(folder, "five", 1, steps)), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    begin = time.perf_counter()
    tab.goto(file.as_uri() + "#step=0")
    yield steps, "to open it", *(f"{1000 * (time.perf_counter() - begin):.0f}", "", "")
    for what, times in measured(tab, steps, tries):
        yield steps, what, *percentiles(times)
    tab.close()


def percentiles(times: Sequence[float]) -> tuple[str, str, str]:
    """Return the median, the 95th percentile and the maximum."""
    ordered = sorted(times)
    return tuple(f"{ordered[int(share * (len(ordered) - 1))]:.1f}" for share in (0.5, 0.95, 1))  # type: ignore[return-value]  # three shares


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--tries", type=int, default=100)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        found = [
            row for steps in (args.steps // 10, args.steps) for row in rows(browser, Path(folder), steps, args.tries)
        ]
    sys.stdout.write(table(("steps", "what", "median ms", "95 %", "longest"), found) + "\n")


if __name__ == "__main__":
    main()
