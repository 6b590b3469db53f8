"""HTML for notebooks: tables in which every text is text, whatever it holds."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

#: A longer text is cut, with an ellipsis.
MAX_TEXT = 2_000

_CELL = "text-align:left;vertical-align:top;white-space:pre-wrap;font-family:monospace"


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; the texts are escaped, and those that are very long are cut."""
    head = "".join(f'<th scope="col" style="{_CELL}">{_text(each)}</th>' for each in heads)
    cells = ["".join(f'<td style="{_CELL}">{_text(each)}</td>' for each in row) for row in rows]
    body = "".join(f"<tr>{each}</tr>" for each in cells)
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    text = str(value)
    return html.escape(text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…")
