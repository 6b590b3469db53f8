"""The write of a killed server that is in its stores, and whose line the process did not live to write.

The recorder writes the line of a write once the store has returned. A process that dies in between leaves the write
without its line, one at most of its main loop and one of each heartbeat that it handles beside that. Its next start
finds it, and so it can be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.json import decode, encode

#: The fields of a line.
Line = dict[str, Any]

#: The function that handles a request, by its message.
HANDLERS = {"AppendEntries": "appendEntries", "RequestVote": "requestVote", "InstallSnapshot": "installSnapshot"}

#: The caller of dispatchLogs, by the type of the entries.
DISPATCHERS = {"Noop": "runLeader", "Configuration": "appendConfigurationEntry", "Command": "leaderLoop"}

#: The functions that delete entries which a snapshot covers.
COMPACTION = "compactLogsWithTrailing<compactLogs"

KEYS = ("CurrentTerm", "LastVoteTerm", "LastVoteCand")


class FollowedStores:
    """The content of a server's stores by the lines of one life, and the requests that it handles.

    Its main loop handles one at a time. A heartbeat beside that writes nothing but its term.
    """

    def __init__(self, persisted: Line) -> None:
        """Begin with what its start found."""
        self._keys: dict[str, Any] = {key: persisted[key] for key in KEYS if key in persisted}
        #: Each entry as JSON, which takes less memory than its fields.
        self._log: dict[int, bytes] = _packed(persisted["log"])
        self._snapshot: Line | None = persisted.get("snapshot")
        self._handled: str | None = None
        #: The terms of the heartbeats that are handled beside the main loop, by the numbers of their calls.
        self._beside: dict[int, int] = {}

    def read(self, line: Line) -> None:
        """Take over what a line records."""
        match line["kind"]:
            case "stable_set":
                self._keys[line["key"]] = line["value"]
            case "store_logs":
                self._log |= _packed(line["entries"])
            case "delete_range":
                for index in range(line["min"], line["max"] + 1):
                    self._log.pop(index, None)
            case "snapshot_saved":
                self._snapshot = {name: line[name] for name in ("last_index", "last_term")}
            case "recv" if line.get("beside"):
                self._beside[line["rpc"]] = line["body"]["term"]
            case "respond" if line.get("beside"):
                self._beside.pop(line["rpc"], None)
            case "recv":
                self._handled = line["msg"]
            case "respond":
                self._handled = None

    def lost_writes(self, found: Line) -> Iterator[Line]:
        """Yield the lines that lead to what the next start found, but for their node."""
        handler = HANDLERS.get(self._handled or "")
        for key, value in found.items():
            if key in KEYS and self._keys.get(key, value) != value:
                by = "electSelf<runCandidate" if handler is None else f"{handler}<processRPC"
                if key == "CurrentTerm" and value in self._beside.values():
                    by = "appendEntries<processHeartbeat"
                yield {"kind": "stable_set", "by": by, "key": key, "value": value}
        log = {entry["i"]: entry for entry in found["log"]}
        gone = sorted(self._log.keys() - log.keys())
        if gone:
            truncates = handler == "appendEntries"
            by, why = ("appendEntries<processRPC", "truncate") if truncates else (COMPACTION, "compact")
            places = [{"i": at, "t": decode(self._log[at])["t"]} for at in gone]
            yield {"kind": "delete_range", "by": by, "why": why, "min": gone[0], "max": gone[-1], "gone": places}
        stored = [log[at] for at in sorted(log) if at not in self._log or decode(self._log[at]) != log[at]]
        if stored:
            leads = f"dispatchLogs<{DISPATCHERS[stored[0]['type']]}"
            by = leads if handler is None else f"{handler}<processRPC"
            kept = {"commit": found["commit"]} if "commit" in found else {}
            yield {"kind": "store_logs", "by": by, "entries": stored, **kept}
        if found.get("snapshot") not in (None, self._snapshot):
            by = "installSnapshot<processRPC" if handler == "installSnapshot" else "takeSnapshot<runSnapshots"
            yield {"kind": "snapshot_saved", "by": by, **found["snapshot"]}


def _packed(entries: Iterable[Line]) -> dict[int, bytes]:
    return {entry["i"]: encode(entry) for entry in entries}
