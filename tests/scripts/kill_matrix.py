"""Which layer finds which flaw: the table and the picture of what bench/kill_matrix.py has measured.

python -m tests.scripts.kill_matrix table
python -m tests.scripts.kill_matrix picture > docs/pictures/kill_matrix.svg
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
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
#: The colours of a cell: found within a second, ten seconds, more; not found; nothing to try.
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
        return f"{self.found} ({self.seconds:.0f} s)" if self.found else f"- ({self.why or f'{self.seconds:.0f} s'})"

    @property
    def colour(self) -> str:
        """The colour of the cell in the picture."""
        if not self.found:
            return NOTHING if self.why else MISSED
        return FAST if self.seconds < 1.5 else SOON if self.seconds < 10 else LATER


def read(path: Path) -> list[MatrixCell]:
    """Return the cells of a file, none where it does not exist."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return [MatrixCell(*row[:3], float(row[3]), *row[4:]) for row in rows[1:]]


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
        seconds = "<1" if cell.seconds < 0.5 else f"{cell.seconds:.0f}"
        yield f'<text x="{x + WIDTH / 2:g}" y="{y + 14:g}" text-anchor="middle"{fill}>{escape(seconds)}</text>'


def main() -> None:
    """Print the table, or the picture."""
    lines = {"table": table, "picture": picture}.get("".join(sys.argv[1:]))
    if lines is None:
        sys.exit(__doc__)
    print("\n".join(lines(read(RESULTS))))


if __name__ == "__main__":
    main()
