"""Tables as text, whole or row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lay out rows in columns: numbers to the right, the rest to the left, no trailing spaces."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(header), *cells]) for column in range(len(header))]
    numeric = [all(isinstance(row[column], int | float | None) for row in rows) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        parts = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        return "  " + "  ".join(parts).rstrip()

    return "\n".join([line(header), *(line(row) for row in cells)])


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of a table whose rows are printed one by one: its head, its width, and whether it holds numbers."""

    head: str
    width: int = 0
    is_number: bool = False

    def format(self, value: object) -> str:
        """Return a cell; one that is wider than the column moves the rest of its row."""
        text, width = _cell(value), max(self.width, len(self.head))
        return text.rjust(width) if self.is_number else text.ljust(width)


def row(columns: Sequence[TextColumn], values: Sequence[object]) -> str:
    """Lay out one row of a table with these columns, like `table`."""
    return "  " + "  ".join(column.format(value) for column, value in zip(columns, values, strict=True)).rstrip()


def heads(columns: Sequence[TextColumn]) -> str:
    """Lay out the first line of a table with these columns."""
    return row(columns, [column.head for column in columns])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)
