"""The blocks of a text in Markdown, from which a template makes a page: nothing of the text is ever markup.

Only what the chapters of the course use is read: headings, paragraphs, lists, tables and code, and within a line code,
emphasis and links. Anything else stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

__all__ = ["Block", "markdown_blocks"]

#: A block: its `kind`, a tag of HTML, and its `parts`, `items`, `rows` or `text`.
Block: TypeAlias = dict[str, Any]

#: A part of a line: the tag of HTML, empty for plain text; the text; where a link leads.
Part: TypeAlias = tuple[str, str, str]

_PART = re.compile(r"`(?P<code>[^`]+)`|\[(?P<words>[^\]]+)\]\((?P<target>[^)\s]+)\)|\*(?P<em>[^*\s](?:[^*]*[^*\s])?)\*")
_ITEM = re.compile(r"(?:-|\d+\.) +")
_FENCE = "```"


def markdown_blocks(text: str, address: Callable[[str], str | None]) -> Iterator[Block]:
    """Yield the blocks of a text.

    Arguments: `address`, the address of the target of a link; None where the page cannot lead there, and the words of
    the link are plain text.
    """
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        if line.startswith(_FENCE):
            while end < len(lines) and lines[end] != _FENCE:
                end += 1
            yield {"kind": "pre", "text": "\n".join(lines[at + 1 : end])}
            end += 1
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            yield {"kind": f"h{level}", "parts": _parts(line[level:].strip(), address)}
        elif line.strip():
            while end < len(lines) and lines[end].strip() and not lines[end].startswith((_FENCE, "#")):
                end += 1
            yield _paragraph(lines[at:end], address)
        at = end


def _paragraph(lines: list[str], address: Callable[[str], str | None]) -> Block:
    """Return a paragraph, a list or a table."""
    if lines[0].startswith("|"):
        rows = [[_parts(cell.strip(), address) for cell in line.strip().strip("|").split("|")] for line in lines]
        return {"kind": "table", "rows": [rows[0], *rows[2:]]}  # without the line of dashes
    if not _ITEM.match(lines[0]):
        return {"kind": "p", "parts": _parts(" ".join(lines), address)}
    items: list[str] = []
    for line in lines:
        if begin := _ITEM.match(line):
            items.append(line[begin.end() :])
        else:
            items[-1] += f" {line.strip()}"
    return {"kind": "ol" if lines[0][0].isdigit() else "ul", "items": [_parts(item, address) for item in items]}


def _parts(text: str, address: Callable[[str], str | None]) -> list[Part]:
    found: list[Part] = []
    at = 0
    for part in _PART.finditer(text):
        found.append(("", text[at : part.start()], ""))
        at = part.end()
        if part["words"] is not None:
            target = address(part["target"])
            found.append(("" if target is None else "a", part["words"].replace("`", ""), target or ""))
        else:
            found.append(("code", part["code"], "") if part["em"] is None else ("em", part["em"], ""))
    found.append(("", text[at:], ""))
    return [part for part in found if part[1]]
