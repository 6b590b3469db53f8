"""Lies planted into the log of a cluster: a line is changed or added, and claims what did not happen."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.support.logs import dledger_texts as texts
from tests.support.logs.simulated_logs import LoggedLine

#: Changes the text of a line that it knows, None where it does not.
_Change = Callable[[LoggedLine], str | None]
_USURPER = "a second leader of a term"


def _number(pattern: str, add: int) -> _Change:
    """Add to the number that the group of a pattern finds."""

    def change(line: LoggedLine) -> str | None:
        found = re.search(pattern, line.text)
        return found and f"{line.text[: found.start(1)]}{int(found[1]) + add}{line.text[found.end(1) :]}"

    return change


def _jump(line: LoggedLine) -> str | None:
    """A term is raised from one that the node was not in."""
    found = re.search(r"_\[INCREASE_TERM\] from (\d+) to (\d+)", line.text)
    return found and texts.increase_term(line.node, int(found[1]) + 2, int(found[2]) + 2)


def _leads_another(line: LoggedLine) -> str | None:
    """A node leads the term after its own."""
    found = re.search(r"\[ChangeRoleToLeader\] from term: (\d+)", line.text)
    return found and texts.to_leader(line.node, int(found[1]) + 1, int(found[1]) + 1)


def _usurps(line: LoggedLine) -> str | None:
    """A node that has just followed a leader leads the same term."""
    found = re.search(r"\[ChangeRoleToFollower\] from term: (\d+)", line.text)
    return found and f"{line.text}\n{texts.to_leader(line.node, int(found[1]), int(found[1]))}"


def _follows_nobody(line: LoggedLine) -> str | None:
    """A node follows one that was not elected: the first other node that it can be."""
    found = re.search(r"(leaderId: )(\S+)", line.text)
    if found is None:
        return None
    other = next(name for name in ("n1", "n2", "n3") if name not in (line.node, found[2]))
    return line.text.replace(found[0], f"leaderId: {other}")


#: What is planted, by what a reader would say of it.
LIES: dict[str, _Change] = {
    "a committed index past the end of the log": _number(r"committed=(\d+) watermarks", 50),
    "a committed index that is one too high": _number(r"committed=(-?\d+) watermarks", 1),
    "a log that ends one further": _number(r"ledgerEnd=(-?\d+)", 1),
    "a term that was not the node's": _jump,
    "a status in another term": _number(r"\] term=(\d+) ledgerBegin", 1),
    _USURPER: _usurps,
    "a leader that was not elected": _follows_nobody,
    "a leader of another term": _leads_another,
    "a truncation at another index": _number(r"\[HandleDoTruncate\] truncateIndex=(\d+)", 1),
    "a comparison at another index": _number(r"\[HandleDoCompare\] compareIndex=(\d+)", 1),
    "a log that a restart finds longer": _number(r"Recover data to the end entryIndex=(-?\d+)", 1),
}


def planted(said: Sequence[LoggedLine], lie: str, seed: int) -> list[LoggedLine] | None:
    """Return the lines with one lie, where a line is there that it can change.

    Arguments: `lie`, one of LIES; `seed`, which chooses the line.
    """
    changes = [(place, text) for place, line in enumerate(said) if (text := LIES[lie](line))]
    if not changes:
        return None
    place, text = random.Random(seed).choice(changes)
    parts = text.split("\n") if lie == _USURPER else [text]
    return [*said[:place], *(replace(said[place], text=part) for part in parts), *said[place + 1 :]]
