"""A behaviour as a space-time diagram: nodes side by side, the steps that they take, and the messages between them.

The diagram is one SVG that stands alone, without script, font or style from elsewhere.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from xml.etree import ElementTree

from lockstep.base.characters import xml_text
from lockstep.report.page.message_flights import LOST, UNDER_WAY, flights
from lockstep.report.page.page_content import PageContext, ValuePrinter, argument_text
from lockstep.report.page.shown_behaviour import ShownBehaviour
from lockstep.systems.node_picture import shown

#: Longer arguments are cut, with an ellipsis.
_MAX_ARGUMENT = 60


@dataclass(frozen=True, slots=True)
class DiagramStep:
    """A step: its number in the whole behaviour, the node that takes it, and its action with arguments.

    `node` is empty where none of the nodes takes it; `wrong` says what is wrong there.
    """

    number: int
    node: str
    text: str
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class DiagramMessage:
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
class Diagram:
    """A diagram: a title, the verdict in a line, the nodes, their steps, and the messages."""

    title: str
    verdict_line: str
    nodes: tuple[str, ...]
    steps: tuple[DiagramStep, ...]
    messages: tuple[DiagramMessage, ...]


def draw_diagram(behaviour: ShownBehaviour, context: PageContext, last: int | None = None) -> Diagram:
    """Return the diagram of a behaviour.

    Arguments: `last`, the number of steps up to the first remark, or up to the end; None for all.
    """
    first, *steps = beginning = behaviour.last_steps(last)
    picture, network, printer = context.picture, context.network, ValuePrinter(_MAX_ARGUMENT)
    nodes = [shown(node) for node in context.nodes(first.state)] or sorted({each.node for each in steps if each.node})
    wrong = {remark.number: remark.title for remark in reversed(behaviour.remarks)}
    drawn = []
    for step in steps:
        args = ", ".join(
            f"{name} = {argument_text(value, picture, printer)}" for name, value in step.other_args.items()
        )
        text = f"{step.action}({args})" if args else step.action
        node = step.node if step.node in nodes else ""
        drawn.append(DiagramStep(step.number, node, text, wrong.get(step.number, "")))
    messages = []
    if picture is not None and network is not None:
        messages = [
            DiagramMessage(picture.label(each.message), each.src, each.dst, each.sent, each.ended, each.fate)
            for each in flights(beginning, network, picture)
            if each.src in nodes and each.dst in nodes
        ]
    return Diagram(behaviour.title, behaviour.verdict_line, tuple(nodes), tuple(drawn), tuple(messages))


# ---- SVG ----

_ROW, _LANE, _TOP, _TEXT_WIDTH, _MARGIN = 20, 130, 90, 470, 20
#: The width of the widest letter.
_LETTER = 8
_INK, _GREY, _BLUE, _RED = "#222222", "#6b6b6b", "#1f5fa8", "#b3261e"

#: Number of letters written beside a step; the whole text is its tooltip.
_MAX_STEP_TEXT = 62


def diagram_svg(diagram: Diagram) -> bytes:
    """Return the diagram: a line downwards for each node, a dot for each step, an arrow for each message."""
    height = _TOP + _ROW * (len(diagram.steps) + 2)
    width = _MARGIN + _TEXT_WIDTH + _LANE * max(1, len(diagram.nodes))
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
    _add(root, "title", text=diagram.title)
    _add(root, "desc", text=diagram.verdict_line)
    defined = _add(root, "defs")
    marker = {"id": "tip", "viewBox": "0 0 8 8", "refX": "8", "refY": "4", "markerWidth": "8", "markerHeight": "8"}
    _add(_add(defined, "marker", {**marker, "orient": "auto"}), "path", {"d": "M0,0 L8,4 L0,8 z", "fill": _BLUE})
    _add(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _add(root, "text", {"x": str(_MARGIN), "y": "24", "font-size": "15", "fill": _INK}, _short(diagram.title, 100))
    for place, line in enumerate(_lines(diagram.verdict_line, (width - 2 * _MARGIN) // _LETTER)):
        _add(root, "text", {"x": str(_MARGIN), "y": str(41 + 15 * place), "fill": _GREY}, line)
    lanes = {node: _MARGIN + _TEXT_WIDTH + _LANE * place + _LANE // 2 for place, node in enumerate(diagram.nodes)}
    rows = {step.number: _TOP + _ROW * (place + 1) for place, step in enumerate(diagram.steps)}
    for node, x in lanes.items():
        head = _add(root, "text", {"x": str(x), "y": str(_TOP - 16), "text-anchor": "middle", "fill": _INK})
        head.text = xml_text(_short(node, 16))
        _add(head, "title", text=node)
        _add(root, "path", {"d": f"M{x},{_TOP} V{height - _ROW}", "stroke": "#c4c4c4", "fill": "none"})
    for message in diagram.messages:
        _draw_message(root, message, lanes, rows, height - _ROW)
    for step in diagram.steps:
        _draw_step(root, step, lanes, rows[step.number])
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _draw_step(root: ElementTree.Element, step: DiagramStep, lanes: dict[str, int], y: int) -> None:
    colour = _RED if step.wrong else _INK
    group = _add(root, "g", {"class": "step", "fill": colour})
    text = f"{step.number} {step.node} {step.text}" + (f": {step.wrong}" if step.wrong else "")
    _add(group, "title", text=text)
    _add(group, "text", {"x": str(_MARGIN), "y": str(y + 4)}, _short(text, _MAX_STEP_TEXT))
    for x in [lanes[step.node]] if step.node else lanes.values():
        _add(group, "circle", {"cx": str(x), "cy": str(y), "r": "5" if step.wrong else "3.5"})


def _draw_message(
    root: ElementTree.Element, message: DiagramMessage, lanes: dict[str, int], rows: dict[int, int], bottom: int
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
    message: DiagramMessage, lanes: dict[str, int], rows: dict[int, int], bottom: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the line of a message begins and ends; one that is lost ends between the nodes."""
    x1, x2 = lanes[message.src], lanes[message.dst]
    y1 = _TOP if message.sent is None else rows[message.sent]
    y2 = bottom if message.ended is None else rows[message.ended]
    return (x1, y1), ((x1 + x2) // 2 if message.fate == LOST else x2, y2)


def _lines(text: str, most: int) -> list[str]:
    """Return a text in at most two lines; the picture's description has all of it."""
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
