"""A behaviour as a space-time diagram: nodes side by side, the steps that they take, and the messages between them.

The diagram is one SVG that stands alone, without script, font or style from elsewhere.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from xml.etree import ElementTree

from lockstep.base.characters import xml_text
from lockstep.report.page.message_flights import LOST, UNDER_WAY, flights
from lockstep.report.page.page_content import Subject
from lockstep.report.page.shown_behaviour import Step
from lockstep.systems.node_picture import Picture, shown
from lockstep.tla.values.kinds import Fcn, Value, format_value

#: An argument that is longer is cut, with an ellipsis.
_LONG_ARGUMENT = 60

_NOTHING: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Move:
    """A step: its number in the whole behaviour, the node that takes it, what it is, and the trace's line.

    `node` is empty where none of the nodes takes it; `wrong` says what is wrong there.
    """

    number: int
    node: str
    text: str
    line: int | None = None
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A message between two nodes.

    `sent` is the number of the step that sent it, None where that is not among the steps; `ended` that of the step that
    received or lost it, None where it is under way to the end; `fate` says which.
    """

    label: str
    src: str
    dst: str
    sent: int | None
    ended: int | None
    fate: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn: a title, the verdict in a line, the nodes, their steps, and the messages."""

    title: str
    said: str
    nodes: tuple[str, ...]
    moves: tuple[Move, ...]
    messages: tuple[Message, ...]


def drawn(
    title: str,
    said: str,
    steps: Sequence[Step],
    subject: Subject,
    nodes: Sequence[str] = (),
    wrong_lines: Mapping[int, str] = _NOTHING,
    wrong_steps: Mapping[int, str] = _NOTHING,
) -> Drawn:
    """Return steps as they are drawn; the first is where they begin, and is not drawn itself.

    Arguments: `nodes`, by name, where the spec is the reader's own and no state is known to hold them; `wrong_lines`
    and `wrong_steps`, what is wrong, by the line of the trace and by the number of the step.
    """
    picture, network = subject.picture, subject.network
    names = tuple(nodes) if picture is None else _nodes(steps[0].state, picture)
    moves = tuple(
        Move(
            number=step.number,
            node=step.node if step.node in names else "",
            text=_step_text(step, picture),
            line=step.line,
            wrong=wrong_steps.get(step.number, "") or wrong_lines.get(step.line or 0, ""),
        )
        for step in steps[1:]
    )
    messages = (
        ()
        if picture is None or network is None
        else tuple(
            Message(picture.label(each.message), each.src, each.dst, each.sent, each.ended, each.fate)
            for each in flights(steps, network, picture)
            if each.src in names and each.dst in names
        )
    )
    return Drawn(title, said, names, moves, messages)


def _nodes(state: Mapping[str, Value], picture: Picture) -> tuple[str, ...]:
    table = state[picture.nodes]
    return tuple(shown(node) for node in sorted(table.d, key=format_value)) if isinstance(table, Fcn) else ()


def _step_text(step: Step, picture: Picture | None) -> str:
    args = ", ".join(f"{name} = {_argument(value, picture)}" for name, value in step.args.items())
    return f"{step.action}({args})" if args else step.action


def _argument(value: Value, picture: Picture | None) -> str:
    """Return an argument; of a message what it is called."""
    if picture is not None and isinstance(value, Fcn) and value.d.keys() >= {"kind", "src", "dst"}:
        return f"{picture.label(value)} from {shown(value.d['src'])}"
    text = format_value(value)
    return text if len(text) <= _LONG_ARGUMENT else f"{text[: _LONG_ARGUMENT - 1]}…"


# ---- SVG ----

_ROW, _LANE, _TOP, _TEXT_WIDTH, _MARGIN = 20, 130, 90, 470, 20
#: How wide a letter is at most.
_LETTER = 8
_INK, _GREY, _BLUE, _RED = "#222222", "#6b6b6b", "#1f5fa8", "#b3261e"

#: So much of a text is written beside its step; the whole is its tooltip.
_LONG = 62


def svg(drawn: Drawn) -> bytes:
    """Return the diagram: a line downwards for each node, a dot for each step, an arrow for each message."""
    height = _TOP + _ROW * (len(drawn.moves) + 2)
    width = _MARGIN + _TEXT_WIDTH + _LANE * max(1, len(drawn.nodes))
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": str(width),
            "height": str(height),
            "viewBox": f"0 0 {width} {height}",
            "font-family": "monospace",
            "font-size": "12",
            "role": "img",
        },
    )
    _add(root, "title", text=drawn.title)
    _add(root, "desc", text=drawn.said)
    defined = _add(root, "defs")
    marker = {"id": "tip", "viewBox": "0 0 8 8", "refX": "8", "refY": "4", "markerWidth": "8", "markerHeight": "8"}
    _add(_add(defined, "marker", {**marker, "orient": "auto"}), "path", {"d": "M0,0 L8,4 L0,8 z", "fill": _BLUE})
    _add(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _add(root, "text", {"x": str(_MARGIN), "y": "24", "font-size": "15", "fill": _INK}, _short(drawn.title, 100))
    for place, line in enumerate(_lines(drawn.said, (width - 2 * _MARGIN) // _LETTER)):
        _add(root, "text", {"x": str(_MARGIN), "y": str(41 + 15 * place), "fill": _GREY}, line)
    lanes = {node: _MARGIN + _TEXT_WIDTH + _LANE * place + _LANE // 2 for place, node in enumerate(drawn.nodes)}
    rows = {move.number: _TOP + _ROW * (place + 1) for place, move in enumerate(drawn.moves)}
    for node, x in lanes.items():
        head = _add(root, "text", {"x": str(x), "y": str(_TOP - 16), "text-anchor": "middle", "fill": _INK})
        head.text = xml_text(_short(node, 16))
        _add(head, "title", text=node)
        _add(root, "path", {"d": f"M{x},{_TOP} V{height - _ROW}", "stroke": "#c4c4c4", "fill": "none"})
    for message in drawn.messages:
        _message(root, message, lanes, rows, height - _ROW)
    for move in drawn.moves:
        _move(root, move, lanes, rows[move.number])
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _move(root: ElementTree.Element, move: Move, lanes: dict[str, int], y: int) -> None:
    colour = _RED if move.wrong else _INK
    group = _add(root, "g", {"class": "step", "fill": colour})
    text = f"{move.number} {move.node} {move.text}" + (f": {move.wrong}" if move.wrong else "")
    _add(group, "title", text=text)
    _add(group, "text", {"x": str(_MARGIN), "y": str(y + 4)}, _short(text, _LONG))
    for x in [lanes[move.node]] if move.node else lanes.values():
        _add(group, "circle", {"cx": str(x), "cy": str(y), "r": "5" if move.wrong else "3.5"})


def _message(
    root: ElementTree.Element, message: Message, lanes: dict[str, int], rows: dict[int, int], bottom: int
) -> None:
    (x1, y1), (x2, y2) = _ends(message, lanes, rows, bottom)
    group = _add(root, "g", {"class": f"message {message.fate.replace(' ', '-')}"})
    when = "sent before" if message.sent is None else f"sent in {message.sent}"
    ended = "" if message.ended is None else f" in {message.ended}"
    _add(group, "title", text=f"{message.label} from {message.src} to {message.dst}: {when}, {message.fate}{ended}")
    line = {"stroke": _RED if message.fate == LOST else _BLUE, "fill": "none"}
    if message.fate != UNDER_WAY and message.fate != LOST:
        line["marker-end"] = "url(#tip)"
    else:
        line["stroke-dasharray"] = "4 3"
    # To itself a node sends beside its line.
    way = f"M{x1},{y1} L{x2},{y2}" if x1 != x2 else f"M{x1},{y1} C{x1 + 40},{y1} {x2 + 40},{y2} {x2},{y2}"
    _add(group, "path", {**line, "d": way})
    if message.fate == LOST:
        cross = f"M{x2 - 4},{y2 - 4} L{x2 + 4},{y2 + 4} M{x2 - 4},{y2 + 4} L{x2 + 4},{y2 - 4}"
        _add(group, "path", {"d": cross, "stroke": _RED, "fill": "none", "stroke-width": "2"})


def _ends(
    message: Message, lanes: dict[str, int], rows: dict[int, int], bottom: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the line of a message begins and ends; one that is lost ends between the nodes."""
    x1, x2 = lanes[message.src], lanes[message.dst]
    y1 = _TOP if message.sent is None else rows[message.sent]
    y2 = bottom if message.ended is None else rows[message.ended]
    return (x1, y1), ((x1 + x2) // 2 if message.fate == LOST else x2, y2)


def _lines(text: str, most: int) -> list[str]:
    """Return a text in two lines at most; what is longer is in the picture's description."""
    return textwrap.wrap(xml_text(text), most, max_lines=2, placeholder=" …")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _add(
    parent: ElementTree.Element, tag: str, attributes: dict[str, str] | None = None, text: str | None = None
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag, attributes or {})
    if text is not None:
        child.text = xml_text(text)
    return child
