"""Make one recording of the files of a group's servers, which `lockstep import` and `lockstep check` take.

    python merge_recordings.py OUT n1.lines n2.lines n3.steps

Files are those of the Go recorder (`server -record`), or the steps of servers of the reference (`lockstep node
--record`); one file has all lives of a server. One of them at least is the recorder's, whose header has the bounds. All
processes ran on one machine, whose clock orders the lines. What a server that was killed left in its stores is what its
next start found.
"""

from __future__ import annotations

import heapq
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lost_writes import lost_writes
from step_lines import Line, LinesError, StepLines

from raftref.runtime.driver import NodeStep

#: What the format has of a network that a harness disturbs: none did.
NO_FAULTS = {
    "drop_req": 0,
    "drop_resp": 0,
    "dup_req": 0,
    "delay_prob": 0,
    "delay_max_ms": 0,
    "rpc_timeout_ms": 0,
}


def _objects(path: Path) -> list[Line]:
    """Return the lines of a file; one that a dying process left unfinished is no line."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    lines = whole.splitlines()
    if not lines:
        raise LinesError(f"{path} has no line")
    found: list[Line] = []
    for number, line in enumerate(lines, start=1):
        try:
            each = json.loads(line)
        except ValueError as error:
            raise LinesError(f"{path}:{number}: no JSON: {error}") from error
        if not isinstance(each, dict):
            raise LinesError(f"{path}:{number}: no object of JSON")
        found.append(each)
    return found


@dataclass
class Call:
    """A call by its caller's lines: the request, and the answer or failure, if it has come to one."""

    number: int
    sent: Line
    end: Line | None = None

    def covers(self, at: float) -> bool:
        """Return whether the call was under way at a moment."""
        return self.sent["at"] <= at and (self.end is None or at <= self.end["at"])


def _content(src: str, dst: str, line: Line) -> str:
    """Return what a request says; the size of a snapshot is not recorded of a server of the reference."""
    body = {name: value for name, value in line["body"].items() if name != "size"}
    return json.dumps([src, dst, line["msg"], body], sort_keys=True)


def _lives(lines: Sequence[Line]) -> Iterator[Line]:
    """Number the lives of a server, and let each that was killed end where the next one begins."""
    number = 0
    life: list[Line] = []
    for line in lines:
        if line["kind"] == "start":
            if life and life[-1]["kind"] != "stopped":
                at, node, found = line["at"], line["node"], line["persisted"]
                stopped = {"at": at, "kind": "stopped", "node": node, "persisted": found}
                for each in [*lost_writes(life, found), stopped]:
                    yield {**each, "inc": number}
            number += 1
            life = []
        life.append(line)
        yield {**line, "inc": number}


def _number_calls(servers: Sequence[Sequence[Line]]) -> None:
    """Give each call one number in the lines of its caller and in those of its callee.

    A request is recognised by what it says, and by the time: its call is under way.
    """
    calls: defaultdict[str, list[Call]] = defaultdict(list)
    count = 0
    for lines in servers:
        own: dict[tuple[int, int], Call] = {}
        for line in lines:
            if line["kind"] == "send":
                count += 1
                call = Call(count, line)
                own[line["inc"], line["rpc"]] = call
                calls[_content(line["node"], line["to"], line)].append(call)
                line["rpc"] = count
            elif line["kind"] in ("reply_recv", "rpc_error"):
                found = own.get((line["inc"], line["rpc"]))
                if found is None:
                    raise LinesError(f"{line['node']} at {line['at']:.6f}: an answer to no call")
                found.end = line
                line["rpc"] = found.number
    for lines in servers:
        number = 0
        for line in lines:
            if line["kind"] == "recv":
                candidates = list(calls[_content(line["from"], line["node"], line)])
                under_way = [each for each in candidates if each.covers(line["at"])]
                earlier = [each for each in candidates if each.sent["at"] <= line["at"]]
                if not earlier:
                    raise LinesError(f"{line['node']} at {line['at']:.6f}: a request that nobody has sent")
                chosen = (under_way or earlier)[-1]
                calls[_content(line["from"], line["node"], line)].remove(chosen)
                number = chosen.number
            if line["kind"] in ("recv", "respond"):
                line["rpc"] = number


def merged(paths: Sequence[Path]) -> list[Line]:
    """Return the lines of a recording; raises LinesError."""
    files = [_objects(path) for path in paths]
    headers = [line for file in files for line in file if line.get("kind") == "header"]
    if not headers:
        raise LinesError("no file is one of the Go recorder")
    header = headers[0]
    names = []
    for path, file in zip(paths, files, strict=True):
        named = next((line["node"] for line in file if "node" in line), None)
        if named is None:
            raise LinesError(f"{path}: no line names a server")
        names.append(named)
    nodes = sorted(names)
    if len(set(nodes)) != len(nodes):
        raise LinesError("two files are of the same server")
    voters = _first_voters(files, nodes)
    servers: list[list[Line]] = []
    for name, file in zip(names, files, strict=True):
        if "action" in file[0]:
            lines = StepLines(name, nodes, voters, header).lines(NodeStep(**line) for line in file)
        else:
            lines = [line for line in file if line["kind"] != "header"]
        servers.append(list(_lives(lines)))
    _number_calls(servers)
    body = list(heapq.merge(*servers, key=lambda line: line["at"]))
    return [_header(header, nodes), *body]


def _first_voters(files: Sequence[Sequence[Line]], nodes: Sequence[str]) -> int:
    """Return how many servers vote in the first configuration; all if the Go recorder wrote of none that has one."""
    for file in files:
        for line in file:
            log = line["persisted"]["log"] if line.get("kind") == "start" else []
            if log and (log[0]["i"], log[0]["type"]) == (1, "Configuration"):
                voters = sorted(log[0]["v"].split(","))
                if voters != list(nodes[: len(voters)]):
                    raise LinesError(f"{', '.join(voters)} vote at first: their names must come first in order")
                return len(voters)
    return len(nodes)


def _header(recorded: Line, nodes: Sequence[str]) -> Line:
    kept: Line = {name: recorded[name] for name in ("at", "library_version", "go", "prevote", "config")}
    fixed: Line = {"kind": "header", "schema": "hcraft-capture-1", "impl": "hashicorp/raft (Go)", "capture": "recorded"}
    return {**kept, **fixed, "nodes": list(nodes), "seed": 0, "pipeline": False, "faults": NO_FAULTS, "note": ""}


def written(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the lines as the file has them, numbered, with the time since the first one in milliseconds."""
    begin = min(line["at"] for line in lines)
    passed = 0.0
    for number, line in enumerate(lines):
        passed = max(passed, (line["at"] - begin) * 1000) if number else 0.0
        fields: dict[str, Any] = {name: value for name, value in line.items() if name != "at"}
        yield json.dumps({"seq": number, "t_ms": round(passed, 3), **fields}) + "\n"
    yield json.dumps({"seq": len(lines), "t_ms": round(passed, 3), "kind": "end", "events": len(lines) + 1}) + "\n"


def main(words: Sequence[str]) -> int:
    """Merge files; return the exit code."""
    if len(words) < 3:
        sys.stderr.write("merge_recordings.py OUT FILE FILE...\n")
        return 2
    try:
        lines = merged([Path(word) for word in words[1:]])
    except (LinesError, OSError, KeyError, TypeError) as error:
        sys.stderr.write(f"merge_recordings.py: {error}\n")
        return 2
    Path(words[0]).write_text("".join(written(lines)), encoding="utf-8")
    sys.stdout.write(f"{words[0]}: {len(lines)} lines of {len(words) - 1} servers\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
