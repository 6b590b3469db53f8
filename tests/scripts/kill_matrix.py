"""Which layer finds which flaw: the table and the picture of what bench/kill_matrix.py has measured.

python -m tests.scripts.kill_matrix table
python -m tests.scripts.kill_matrix picture > docs/pictures/kill_matrix.svg
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from tests.support.places import ROOT

#: What was measured.
RESULTS = ROOT / "docs" / "measured" / "kill_matrix.csv"
#: The systems by their names in the file.
TITLES = {"dledger": "DLedger", "hashicorp": "hashicorp/raft"}
#: The layers, from left to right.
LAYERS = ("TLC", "tables", "simulation", "a trace", "both ways", "Hypothesis", "z3")

# The picture, in its own units.
LEFT, TOP, WIDTH, HEIGHT, MARGIN = 190, 54, 82, 19, 8
#: The seconds below which a cell is of the first colour, and of the second.
AT_ONCE, SOON_ENOUGH = 1, 10
#: The colours of a cell: found within these seconds, later; not found; nothing to try.
FAST, SOON, LATER, MISSED, NOTHING = "#1a7f37", "#4ac26b", "#aceebb", "#ffffff", "#eaeef2"


class MatrixCell(NamedTuple):
    """The result of one layer for one flaw, as bench/kill_matrix.py has it."""

    system: str
    flaw: str
    layer: str
    seconds: float
    found: str = ""
    why: str = ""

    @property
    def text(self) -> str:
        """The cell in the table."""
        return f"{self.found} ({self.time} s)" if self.found else f"- ({self.why or f'{self.time} s'})"

    @property
    def time(self) -> str:
        """The seconds, as the table and the picture have them."""
        return "<1" if self.seconds < AT_ONCE else f"{self.seconds:.0f}"

    @property
    def colour(self) -> str:
        """The colour of the cell in the picture."""
        if not self.found:
            return NOTHING if self.why else MISSED
        return FAST if self.seconds < AT_ONCE else SOON if round(self.seconds) < SOON_ENOUGH else LATER


def read(path: Path) -> list[MatrixCell]:
    """Return the cells of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return [
        MatrixCell(system, flaw, layer, float(seconds), found, why)
        for system, flaw, layer, seconds, found, why in rows[1:]
    ]


def add(path: Path, cells: Iterable[MatrixCell]) -> None:
    """Add cells to a file."""
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(MatrixCell._fields)
        writer.writerows(cell._replace(seconds=round(cell.seconds, 1)) for cell in cells)


def flaws(cells: Sequence[MatrixCell]) -> dict[tuple[str, str], dict[str, MatrixCell]]:
    """Return the cells of each flaw by layer, the flaws in their order."""
    found: dict[tuple[str, str], dict[str, MatrixCell]] = {}
    for each in cells:
        found.setdefault((each.system, each.flaw), {})[each.layer] = each
    return found


def table(cells: Sequence[MatrixCell]) -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    yield f"| flaw | {' | '.join(LAYERS)} |"
    yield "| --- " * (1 + len(LAYERS)) + "|"
    for (_, flaw), by_layer in flaws(cells).items():
        yield f"| `{flaw}` | {' | '.join(by_layer[layer].text for layer in LAYERS)} |"


def picture(cells: Sequence[MatrixCell]) -> Iterator[str]:
    """Yield the lines of the picture."""
    rows = flaws(cells)
    systems = list(dict.fromkeys(system for system, _ in rows))
    width = LEFT + WIDTH * len(LAYERS) + MARGIN
    height = TOP + HEIGHT * (len(rows) + len(systems)) + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12" fill="#1f2328">'
    )
    yield f"<title>{len(rows)} flaws, and the seconds after which each layer finds them</title>"
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    yield _text(MARGIN, 20, "seconds until a layer finds a flaw; empty: not within its budget; grey: nothing to try")
    for column, layer in enumerate(LAYERS):
        yield _text(LEFT + WIDTH * column + WIDTH / 2, TOP - 8, layer, "middle", bold=True)
    y = TOP
    for system in systems:
        yield _text(MARGIN, y + 14, TITLES[system], bold=True)
        y += HEIGHT
        for (of, flaw), by_layer in rows.items():
            if of != system:
                continue
            yield _text(2 * MARGIN, y + 14, flaw)
            for column, layer in enumerate(LAYERS):
                yield from _cell(LEFT + WIDTH * column, y, by_layer[layer])
            y += HEIGHT
    yield "</svg>"


def _text(x: float, y: float, text: str, anchor: str = "start", *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _cell(x: float, y: float, cell: MatrixCell) -> Iterator[str]:
    colour = cell.colour
    yield (
        f'<rect x="{x + 1:g}" y="{y + 1:g}" width="{WIDTH - 2}" height="{HEIGHT - 2}" fill="{colour}" stroke="#d0d7de">'
        f"<title>{escape(cell.text)}</title></rect>"
    )
    if cell.found:
        fill = ' fill="#ffffff"' if colour == FAST else ""
        yield f'<text x="{x + WIDTH / 2:g}" y="{y + 14:g}" text-anchor="middle"{fill}>{escape(cell.time)}</text>'


#: What can be made of the results.
FORMS: Mapping[str, Callable[[Sequence[MatrixCell]], Iterator[str]]] = {"table": table, "picture": picture}


def main() -> None:
    """Print the table, or the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=list(FORMS))
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS)
    given = parser.parse_args()
    if not given.results.exists():
        parser.error(f"there is no {given.results}")
    print("\n".join(FORMS[given.form](read(given.results))))


if __name__ == "__main__":
    main()
