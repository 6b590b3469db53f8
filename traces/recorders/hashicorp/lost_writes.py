"""The write of a killed server that is in its stores, and whose line the process did not live to write.

The recorder writes the line of a write once the store has returned. A process that dies in between leaves the write
without its line, one at most of its main loop. Its next start finds it, and so it can be added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from step_lines import COMPACTION, Line

#: The function that handles a request, by its message.
HANDLERS = {"AppendEntries": "appendEntries", "RequestVote": "requestVote", "InstallSnapshot": "installSnapshot"}

#: The caller of dispatchLogs, by the type of the entries.
DISPATCHERS = {"Noop": "runLeader", "Configuration": "appendConfigurationEntry", "Command": "leaderLoop"}

KEYS = ("CurrentTerm", "LastVoteTerm", "LastVoteCand")


class _Stores:
    """The content of a server's stores by the lines of one life, and the request that it handles."""

    def __init__(self, persisted: Line) -> None:
        self.keys: dict[str, Any] = {key: persisted[key] for key in KEYS if key in persisted}
        self.log: dict[int, Line] = {entry["i"]: entry for entry in persisted["log"]}
        self.snapshot: Line | None = persisted.get("snapshot")
        self.handled: str | None = None

    def read(self, line: Line) -> None:
        """Take over what a line records."""
        match line["kind"]:
            case "stable_set":
                self.keys[line["key"]] = line["value"]
            case "store_logs":
                self.log |= {entry["i"]: entry for entry in line["entries"]}
            case "delete_range":
                self.log = {at: entry for at, entry in self.log.items() if not line["min"] <= at <= line["max"]}
            case "snapshot_saved":
                self.snapshot = {name: line[name] for name in ("last_index", "last_term")}
            case "recv":
                self.handled = line["msg"]
            case "respond":
                self.handled = None

    def lost(self, found: Line) -> Iterator[Line]:
        """Yield the lines that lead to what was found."""
        handler = HANDLERS.get(self.handled or "")
        for key, value in found.items():
            if key in KEYS and self.keys.get(key, value) != value:
                by = "electSelf<runCandidate" if handler is None else f"{handler}<processRPC"
                yield {"kind": "stable_set", "by": by, "key": key, "value": value}
        log = {entry["i"]: entry for entry in found["log"]}
        gone = sorted(self.log.keys() - log.keys())
        if gone:
            truncates = handler == "appendEntries"
            by, why = ("appendEntries<processRPC", "truncate") if truncates else (COMPACTION, "compact")
            places = [{"i": at, "t": self.log[at]["t"]} for at in gone]
            yield {"kind": "delete_range", "by": by, "why": why, "min": gone[0], "max": gone[-1], "gone": places}
        stored = [log[at] for at in sorted(log) if self.log.get(at) != log[at]]
        if stored:
            leads = f"dispatchLogs<{DISPATCHERS[stored[0]['type']]}"
            by = leads if handler is None else f"{handler}<processRPC"
            yield {"kind": "store_logs", "by": by, "entries": stored}
        if found.get("snapshot") not in (None, self.snapshot):
            by = "installSnapshot<processRPC" if handler == "installSnapshot" else "takeSnapshot<runSnapshots"
            yield {"kind": "snapshot_saved", "by": by, **found["snapshot"]}


def lost_writes(life: Sequence[Line], found: Line) -> list[Line]:
    """Return the lines that are missing at the end of a life.

    Args:
        life: The lines of a process that was killed, from its start on.
        found: What the next start found in the stores.
    """
    stores = _Stores(life[0]["persisted"])
    for line in life[1:]:
        stores.read(line)
    last = life[-1]
    return [{**line, "at": last["at"], "node": last["node"]} for line in stores.lost(found)]
