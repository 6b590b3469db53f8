"""A recording of the real hashicorp/raft, prolonged: its leader goes on with one command after another.

Each has the lines that the recorder writes for one, and there are no faults.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from lockstep.base.package_data import traces_dir

RECORDING = traces_dir() / "captured" / "hashicorp" / "raft-1.7.3-quiet.ndjson"
LEADER, FOLLOWERS, TERM = "n1", ("n2", "n3"), 2

Line = dict[str, Any]


class Snapshots(NamedTuple):
    """How often each server takes a snapshot, in commands, and the number of entries that it leaves in the log."""

    every: int
    trailing: int


class Prolonged:
    """The lines of the recording, and those of further commands."""

    def __init__(self) -> None:
        """Read the recording; what comes behind its last request and answer is left out."""
        lines = [msgspec.json.decode(line) for line in RECORDING.read_bytes().splitlines()]
        self.lines: list[Line] = [line for line in lines if line["kind"] not in ("final", "end")]
        self.last = max(line["obs"]["last"] for line in self.lines if "obs" in line)
        self.rpc = max(line.get("rpc", 0) for line in self.lines)
        self.first: dict[str, int] = {}
        self.terms = {1: 1}
        self.applied = sum(line["kind"] == "fsm_apply" and line["node"] == LEADER for line in self.lines)

    def with_commands(self, count: int, snapshots: Snapshots | None) -> Iterator[Line]:
        """Yield the lines of the recording as if its clients had gone on."""
        header, *lines = self.lines
        trailing = header["config"]["trailing_logs"] if snapshots is None else snapshots.trailing
        yield {**header, "config": {**header["config"], "trailing_logs": trailing}}
        yield from lines
        begin, numbers = self.lines[-1]["t_ms"], itertools.count(len(self.lines))
        indexes = range(self.last + 1, self.last + 1 + count)
        behind = itertools.chain.from_iterable(self._command_and_snapshots(index, snapshots) for index in indexes)
        for line, seq in zip(behind, numbers, strict=False):
            yield {"seq": seq, "t_ms": begin + seq / 100, "inc": 1, **line}
        seq = next(numbers)
        yield {"seq": seq, "t_ms": begin + seq / 100, "kind": "end", "events": seq + 1}

    def _command_and_snapshots(self, index: int, snapshots: Snapshots | None) -> Iterator[Line]:
        yield from self._command(index)
        if snapshots is not None and (index - self.last) % snapshots.every == 0:
            yield from self._snapshot(LEADER, index, index, snapshots)
            for node in FOLLOWERS:
                yield from self._snapshot(node, index - 1, index, snapshots)

    def _snapshot(self, node: str, index: int, last: int, snapshots: Snapshots) -> Iterator[Line]:
        """Yield the lines of a snapshot that a server takes at an index, and of the compaction of its log."""
        state = {"count": self.applied + index - self.last, "last_index": index, "last_term": TERM, "digest": 0}
        yield _line(node, "fsm_snapshot", index, last, state=state)
        place = {"last_index": index, "last_term": TERM}
        yield _line(node, "snapshot_saved", index, last, by="takeSnapshot<runSnapshots", **place)
        first, to = self.first.get(node, 1), min(index, last - snapshots.trailing)
        if first <= to:
            self.first[node] = to + 1
            gone = [{"i": each, "t": self.terms.get(each, TERM)} for each in range(first, to + 1)]
            by = {"by": "compactLogsWithTrailing<compactLogs", "why": "compact"}
            yield _line(node, "delete_range", index, last, **by, gone=gone, min=first, max=to)
        yield _line(node, "liblog", index, last, level="info", args={"index": index}, text="snapshot complete up to")

    def _command(self, index: int) -> Iterator[Line]:
        """Yield the lines of a command that the leader stores, sends, commits and applies, and the followers later."""
        entry, before = _entry(index), index - 1
        yield _line(LEADER, "store_logs", before, before, by="dispatchLogs<leaderLoop", entries=[entry])
        body = {"commit": before, "entries": [entry], "leader": LEADER}
        body |= {"prev_index": before, "prev_term": TERM, "term": TERM}
        answer = {"last_log": before, "no_retry_backoff": False, "success": True, "term": TERM}
        rpcs = dict(zip(FOLLOWERS, itertools.count(self.rpc + 1 + 2 * (before - self.last))))
        call = {"msg": "AppendEntries"}
        for node, rpc in rpcs.items():
            yield _line(LEADER, "send", before, index, **call, body=body, rpc=rpc, to=node)
        for node, rpc in rpcs.items():
            yield _line(node, "recv", before - 1, before, **call, body=body, rpc=rpc, copy=0, **{"from": LEADER})
            yield _line(node, "store_logs", before - 1, before, by="appendEntries<processRPC", entries=[entry])
            yield _line(node, "respond", before, index, **call, body=answer, rpc=rpc, copy=0, to=LEADER)
            if before > self.last:
                yield self._applies(node, before, index)
        for node, rpc in rpcs.items():
            committed = before if node == FOLLOWERS[0] else index
            yield _line(LEADER, "reply_recv", committed, index, **call, body=answer, rpc=rpc, **{"from": node})
            if node == FOLLOWERS[0]:
                yield self._applies(LEADER, index, index)

    def _applies(self, node: str, index: int, last: int) -> Line:
        count = self.applied + index - self.last
        return _line(node, "fsm_apply", index, last, count=count, digest=0, i=index, t=TERM, v=f"v{index}")


def _entry(index: int) -> Line:
    return {"i": index, "t": TERM, "type": "Command", "v": f"v{index}"}


def _line(node: str, kind: str, commit: int, last: int, **fields: Any) -> Line:
    role = "Leader" if node == LEADER else "Follower"
    obs = {"applied": commit, "commit": commit, "last": last, "role": role, "term": TERM}
    return {"node": node, "kind": kind, "obs": obs, **fields}
