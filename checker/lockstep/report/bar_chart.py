"""A bar chart as SVG: each row is a bar of several counts, one behind the other. The SVG has no script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

_WIDTH, _LEFT, _LONGEST = 900, 260, 520
_TOP, _ROW, _BAR = 64, 22, 15
_LABEL_LETTERS = 34
_COLOURS = ("#2c6fbb", "#d98a1f", "#4b9b6e", "#9a5bb0", "#a06a4c", "#5f7f8c", "#c4537f", "#8a8f2c")

#: Characters that XML cannot have, even escaped.
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def bars(title: str, rows: Sequence[tuple[str, Mapping[str, int]]], colours: Mapping[str, str] | None = None) -> str:
    """Return a chart of rows, each a label and the counts of several things.

    Arguments: `colours`, by thing; the others get one of a few.
    """
    things = list(dict.fromkeys(thing for _, counts in rows for thing in counts))
    own = colours or {}
    chosen = {thing: own.get(thing, _COLOURS[index % len(_COLOURS)]) for index, thing in enumerate(things)}
    height = _TOP + _ROW * len(rows) + 12
    picture = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_WIDTH} {height}",
            "width": str(_WIDTH),
            "height": str(height),
            "font-family": "sans-serif",
            "font-size": "13",
            "role": "img",
        },
    )
    ElementTree.SubElement(picture, "title").text = _text(title)
    ElementTree.SubElement(picture, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    _write(picture, 16, 24, title, size=16)
    _legend(picture, chosen)
    longest = max((sum(counts.values()) for _, counts in rows), default=0)
    for index, (label, counts) in enumerate(rows):
        _row(picture, _TOP + _ROW * index, label, counts, chosen, longest)
    return ElementTree.tostring(picture, encoding="unicode") + "\n"


def _legend(picture: ElementTree.Element, chosen: Mapping[str, str]) -> None:
    at = 16.0
    for thing, colour in chosen.items():
        _block(picture, at, 38, 11, colour, 11)
        _write(picture, at + 16, 48, thing)
        at += 34 + 7.2 * min(len(thing), _LABEL_LETTERS)


def _row(
    picture: ElementTree.Element,
    y: int,
    label: str,
    counts: Mapping[str, int],
    chosen: Mapping[str, str],
    longest: int,
) -> None:
    _write(picture, _LEFT - 8, y + 12, label, anchor="end")
    at = float(_LEFT)
    for thing, count in counts.items():
        width = _LONGEST * count / longest if longest else 0.0
        block = _block(picture, at, y, width, chosen[thing], _BAR)
        ElementTree.SubElement(block, "title").text = _text(f"{label}: {count:,} {thing}")
        at += width
    _write(picture, at + 6, y + 12, f"{sum(counts.values()):,}", colour="#556")


def _block(
    picture: ElementTree.Element, x: float, y: float, width: float, colour: str, height: int
) -> ElementTree.Element:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": str(height)}
    return ElementTree.SubElement(picture, "rect", {**place, "fill": colour})


def _write(
    picture: ElementTree.Element,
    x: float,
    y: float,
    words: str,
    *,
    size: int | None = None,
    anchor: str | None = None,
    colour: str | None = None,
) -> None:
    known = {"font-size": size, "text-anchor": anchor, "fill": colour}
    given = {name: str(value) for name, value in known.items() if value is not None}
    element = ElementTree.SubElement(picture, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", **given})
    short = words if len(words) <= _LABEL_LETTERS or size else f"{words[: _LABEL_LETTERS - 1]}…"
    element.text = _text(short)
    if short != words:
        ElementTree.SubElement(element, "title").text = _text(words)


def _text(words: str) -> str:
    return _NO_XML.sub("\ufffd", words)
