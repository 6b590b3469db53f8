"""A behaviour as a sequence diagram of Mermaid (https://mermaid.js.org/syntax/sequenceDiagram.html).

A message is drawn where it arrives, or is lost, and tells the step that sent it. Whatever a trace says stands in labels
alone, and there every character that could be syntax is written as an entity code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lockstep.base.characters import visible
from lockstep.report.export.drawn import Drawn, Message, Move
from lockstep.report.page.messages import LOST, UNDER_WAY

#: Mermaid refuses longer texts, and more arrows, unless the page that shows it raises `maxTextSize` and `maxEdges`.
MOST_CHARACTERS, MOST_ARROWS = 50_000, 500

#: Everything else might be syntax, or markup.
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 _.,()=/+-]")

#: A word that ends a block of a diagram wherever it stands.
_END = re.compile(r"\bend\b", re.IGNORECASE)

_ARROWS = {LOST: "-x", UNDER_WAY: "--)"}


def mermaid(drawn: Drawn) -> str:
    """Return a sequence diagram with a participant for each node, an arrow for each message, a note for each step."""
    return "".join(f"{line}\n" for line in _lines(drawn))


def beyond_limits(text: str, drawn: Drawn) -> str:
    """Say why Mermaid would refuse a diagram as it is configured by default; "" where it would not."""
    if len(text) > MOST_CHARACTERS:
        return f"{len(text):,} characters, and Mermaid takes {MOST_CHARACTERS:,} unless maxTextSize is raised"
    if len(drawn.messages) > MOST_ARROWS:
        return f"{len(drawn.messages):,} messages, and Mermaid takes {MOST_ARROWS:,} unless maxEdges is raised"
    return ""


def _lines(drawn: Drawn) -> Iterator[str]:
    # Of a spec of the reader's own no nodes may be known, and a diagram without a participant has no place for notes.
    called = {node: f"p{place}" for place, node in enumerate(drawn.nodes or ("",))}
    yield "sequenceDiagram"
    yield f"    accTitle: {_plain(drawn.title)}"
    yield f"    accDescr: {_plain(drawn.said)}"
    for node, name in called.items():
        yield f"    participant {name} as {_plain(node) or '#32;'}"
    ending: dict[int | None, list[Message]] = {}
    for message in drawn.messages:
        ending.setdefault(message.ended, []).append(message)
    for move in drawn.moves:
        yield from (_arrow(message, called) for message in ending.get(move.number, ()))
        yield _note(move, called)
    yield from (_arrow(message, called) for message in ending.get(None, ()))


def _arrow(message: Message, called: dict[str, str]) -> str:
    when = "sent before" if message.sent is None else f"sent in {message.sent}"
    fate = "" if message.fate not in _ARROWS else f", {message.fate}"
    arrow = _ARROWS.get(message.fate, "->>")
    return f"    {called[message.src]}{arrow}{called[message.dst]}: {_plain(message.label)} ({when}{fate})"


def _note(move: Move, called: dict[str, str]) -> str:
    over = called[move.node] if move.node else ",".join(dict.fromkeys([*called.values()][:: max(1, len(called) - 1)]))
    wrong = f"<br/>{_plain(move.wrong)}" if move.wrong else ""
    return f"    Note over {over}: {move.number} {_plain(move.text)}{wrong}"


def _plain(text: str) -> str:
    """Return text that Mermaid shows as it is: what is not plain as entity codes."""
    coded = _NOT_PLAIN.sub(lambda found: f"#{ord(found[0])};", visible(text))
    return _END.sub(lambda found: f"#{ord(found[0][0])};{found[0][1:]}", coded)
