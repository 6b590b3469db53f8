"""A behaviour as a log with vector clocks, which ShiViz shows (https://bestchai.bitbucket.io/shiviz/).

The first line is the regular expression that ShiViz reads the log with; the second, the one that separates several
executions, is empty.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import quote

from lockstep.base.characters import visible_line
from lockstep.report.export.drawn import Drawn
from lockstep.report.page.messages import RECEIVED

#: What ShiViz reads an event with: the first line names host and clock, the second one says what happens.
EXPRESSION = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"

#: The host of steps that none of the nodes takes; no node is called so, for `%` is escaped.
NO_NODE = "no%node"

_Clock = dict[str, int]


def shiviz(drawn: Drawn) -> str:
    """Return the log: two lines for each step.

    The clock of a step counts the steps that happened before it, by node, and itself: those of its node, and those
    that happened before the messages that it receives were sent.
    """
    lines = [EXPRESSION, ""]
    for host, clock, event in _events(drawn):
        lines += [f"{host} {json.dumps(clock)}", event]
    return "\n".join(lines) + "\n"


def host_of(node: str) -> str:
    """Return what a node is called in the log: a name without blanks, the same for no two nodes."""
    return quote(node, safe="", errors="surrogatepass") if node else NO_NODE


def _events(drawn: Drawn) -> Iterator[tuple[str, _Clock, str]]:
    received = defaultdict(list)
    for message in drawn.messages:
        if message.fate == RECEIVED and message.sent is not None:
            received[message.ended].append(message.sent)
    clocks: dict[str, _Clock] = {}
    by_number: dict[int, _Clock] = {}
    for move in drawn.moves:
        host = host_of(move.node)
        clock = dict(clocks.get(host, {}))
        for sent in received[move.number]:
            for other, count in by_number.get(sent, {}).items():
                clock[other] = max(count, clock.get(other, 0))
        clock[host] = clock.get(host, 0) + 1
        clocks[host] = by_number[move.number] = clock
        text = f"{move.number} {move.text}" + (f" - {move.wrong}" if move.wrong else "")
        yield host, clock, visible_line(text)
