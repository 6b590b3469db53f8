"""The log of each server of a recording of hashicorp/raft, as go-hclog prints it.

A recording has the library's own lines as the library handed them to its logger: level, message, arguments.
`python -m tests.scripts.hclog_lines RECORDING FOLDER` writes them, as docs/own_logs/others.md does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

#: The moment at which the recordings begin, in the logs.
BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

#: The state of the server in messages that print it by `%v` (api.go, `func (r *Raft) String`).
ROLES = {"follower": "Follower", "node": "Candidate", "leader": "Leader"}

#: Arguments that are a time.Duration.
DURATIONS = {"backoff time", "time"}

#: The order of the arguments in the library's calls; a recording has them in that of the alphabet.
ORDER = [
    "from",
    "follower",
    "leader-address",
    "last-leader-addr",
    "node",
    "leader",
    "index",
    "request-term",
    "current-term",
    "peer",
    "id",
    "target",
    "server-id",
    "candidate",
    "previous-index",
    "last-index",
    "last-term",
    "size-in-bytes",
    "size",
    "read-bytes",
    "percent-complete",
    "backoff time",
    "time",
    "last-candidate-term",
    "last-candidate-index",
    "leader-id",
    "last-leader-id",
    "to",
    "next",
    "servers",
    "error",
    "term",
    "tally",
    "refused",
    "votesNeeded",
]


def hclog_lines(recording: Path, folder: Path) -> list[Path]:
    """Write a log for each server of a recording, over all of its lives, and return the files."""
    logs: dict[str, list[str]] = {}
    for text in recording.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if line["kind"] == "header":
            logs = {node: [] for node in line["nodes"]}
        elif line["kind"] == "liblog":
            logs[line["node"]].append(printed(line))
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{node}.log" for node in logs]
    for file, lines in zip(files, logs.values(), strict=True):
        file.write_text("".join(lines), encoding="utf-8")
    return files


def printed(line: Mapping[str, Any]) -> str:
    """Print what the library logged, as logPlain of go-hclog's intlogger.go does."""
    when = BEGIN + timedelta(milliseconds=line["t_ms"])
    stamp = f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z"
    pairs = "".join(f" {name}={_value(name, line)}" for name in sorted(line["args"], key=_place))
    level = f"[{line['level'].upper()}]"
    head = f"{stamp} {level:7} agent.server.raft: {line['text']}"
    return f"{head}:{pairs}\n" if pairs else f"{head}\n"


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _value(name: str, line: Mapping[str, Any]) -> str:
    value = line["args"][name]
    if name in ROLES and value == {}:
        return _quoted(f"Node at {line['node']} [{ROLES[name]}]")
    if name in DURATIONS:
        return _quoted(_duration(value))
    if isinstance(value, dict):  # of the type Server
        suffrage = ("Voter", "Nonvoter", "Staging")[value["Suffrage"]]
        return _quoted(f"{{{suffrage} {value['ID']} {value['Address']}}}")
    return _quoted(str(value))


def _quoted(text: str) -> str:
    """Quote what has anything but the characters from - to ~ (needsQuoting); the empty string, too."""
    if text and all("-" <= sign <= "~" for sign in text):
        return text
    return '"' + text.replace('"', '\\"') + '"'


def _duration(nanoseconds: int) -> str:
    """Format a time from a microsecond to a minute as Go's Duration.String does."""
    unit, size = ("s", 10**9) if nanoseconds >= 10**9 else ("ms", 10**6) if nanoseconds >= 10**6 else ("µs", 10**3)
    return f"{nanoseconds // size}.{nanoseconds % size:0{len(str(size)) - 1}d}".rstrip("0").rstrip(".") + unit


if __name__ == "__main__":
    hclog_lines(Path(sys.argv[1]), Path(sys.argv[2]))
