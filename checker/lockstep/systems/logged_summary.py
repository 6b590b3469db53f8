"""Sentences on what the logs of nodes establish: terms, leaders, what is committed and cut off, who has no log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from lockstep.trace.trace_format import Event

#: The number of leaders, or of cuts, that a note lists.
MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Summarised:
    """The subject of a summary: the facts, the nodes that have a log, those that are named, and what no line shows."""

    events: Sequence[Event]
    logged: Collection[str]
    named: Collection[str]
    blind: str


def summary(found: Summarised) -> Iterator[str]:
    """Yield the notes that say what the lines of some logs establish, and what they leave open."""
    yield _leaders(found.events)
    yield _committed(found.events)
    yield _cuts(found.events)
    if silent := sorted(set(found.named) - set(found.logged)):
        yield f"note: nodes without a log: {', '.join(silent)}"
    yield f"note: not shown by any line: {found.blind}"


def _leaders(events: Sequence[Event]) -> str:
    terms: set[int] = set()
    leaders: dict[int, set[str]] = {}
    for event in events:
        term = event.args.get("term")
        if term is None or event.action == "Chose":
            continue
        terms.add(term)
        if event.action in ("Leads", "ShowsAsLeader", "Follows"):
            leaders.setdefault(term, set()).add(event.args.get("leader", event.node))
    if not terms:
        return "note: terms: no line has one"
    led = [f"{term} by {' and '.join(sorted(names))}" for term, names in sorted(leaders.items())]
    return f"note: terms {min(terms):,} to {max(terms):,}; led: {_listed(led) or 'no line says by whom'}"


def _committed(events: Sequence[Event]) -> str:
    highest: dict[str, int] = {}
    for event in events:
        for name in ("commits",) if "commits" in event.args else ("index",):
            index = event.args.get(name, -1)
            highest[event.node] = max(highest.get(event.node, -1), index)
    known = [f"{index:,} by {node}" for node, index in sorted(highest.items()) if index >= 0]
    return f"note: committed up to: {_listed(known) or 'no line says so'}"


def _cuts(events: Sequence[Event]) -> str:
    cuts = [f"{event.node} from {event.args['from']:,} on" for event in events if event.action == "Cuts"]
    return f"note: ends of logs that were cut off: {len(cuts):,}" + (f": {_listed(cuts)}" if cuts else "")


def _listed(words: Sequence[str]) -> str:
    others = len(words) - MAX_LISTED
    return ", ".join(words[:MAX_LISTED]) + (f" and {others:,} others" if others > 0 else "")
