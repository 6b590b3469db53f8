"""The cost of long logs of hashicorp/raft: python bench/long_logs.py [--commands 100 400 2000 10000]

A recording of the real library, without faults, is prolonged: its leader goes on with one command after another, each
with the lines that the recorder writes for one. What is measured is the import of such a recording and the check of
its trace, both in processor time and per event of the trace, and how much of that the last tenth of the events takes.
All of it is measured in one run: only the ratios carry over.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import check_trace
from lockstep.report.text_table import table
from lockstep.systems.hashicorp.recording_import import import_recording
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Event, write_trace
from lockstep.trace.trace_reader import read_trace

RECORDING = Path(__file__).parents[1] / "traces" / "captured" / "hashicorp" / "raft-1.7.3-quiet.ndjson"
COMMANDS = (100, 400, 2_000, 10_000)
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


class Timed:
    """A trace that takes the processor time of each of its events."""

    def __init__(self, path: Path) -> None:
        """Open the trace."""
        self.trace = read_trace(path)
        self.source, self.times = self.trace.source, list[float]()

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield the events, and note when each is asked for."""
        for each in self.trace:
            self.times.append(time.process_time())
            yield each


def imported(folder: Path, commands: int, snapshots: Snapshots | None = None) -> tuple[Path, int, float]:
    """Import a recording of some commands more; return its trace, the events and the seconds of processor time."""
    recording, trace = folder / f"long-{commands}.ndjson", folder / f"long-{commands}.trace.ndjson"
    with recording.open("wb") as file:
        for line in Prolonged().with_commands(commands, snapshots):
            file.write(msgspec.json.encode(line) + b"\n")
    begin = time.process_time()
    found = import_recording(recording, trace_spec)
    seconds = time.process_time() - begin
    if found.summary.refuted is not None:
        raise SystemExit(f"{recording}: line {found.summary.refuted} is not explained")
    write_trace(trace, found.header, iter(found.events))
    return trace, len(found.events), seconds


def checked(path: Path) -> tuple[float, float]:
    """Check a trace; return the seconds of processor time of all events, and of the last tenth."""
    trace = Timed(path)
    spec = trace_spec(trace.trace.header, str(path))
    verdict = check_trace(trace, spec, SYSTEMS[trace.trace.header.spec].interface(spec))
    trace.times.append(time.process_time())
    if verdict.verdict is not Verdict.HOLDS:
        raise SystemExit(f"{path}: {verdict.verdict}: {verdict.reason}")
    return trace.times[-1] - trace.times[0], trace.times[-1] - trace.times[-1 - len(trace.times) // 10]


def rows(folder: Path, commands: list[int], snapshots: Snapshots | None) -> Iterator[tuple[object, ...]]:
    """Yield a row for each length."""
    imported(folder, 1, snapshots)  # loads the spec
    first = None
    for count in commands:
        path, events, importing = imported(folder, count, snapshots)
        checking, last = checked(path)
        cost = importing / events, checking / events
        first = first or cost
        rate = events // 10 / last
        print(f"{count:,} commands: {importing:.1f} s, {checking:.1f} s", file=sys.stderr, flush=True)
        yield (
            count, events, f"{events / importing:,.0f}", f"{cost[0] / first[0]:.1f}x",
            f"{events / checking:,.0f}", f"{cost[1] / first[1]:.1f}x", f"{rate:,.0f}",
        )  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, nargs="+", default=COMMANDS)
    parser.add_argument("--snapshot", type=int, nargs=2, metavar=("EVERY", "TRAILING"), default=(1_000, 2_000))
    args = parser.parse_args()
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory() as name:
        for title, snapshots in (
            ("No snapshots", None),
            (
                f"A snapshot every {args.snapshot[0]:,} commands, which leaves {args.snapshot[1]:,} entries",
                args.snapshot,
            ),
        ):
            heads = ("commands", "events", "import events/s", "cost", "check events/s", "cost", "of the last tenth")
            found = rows(Path(name), args.commands, snapshots and Snapshots(*snapshots))
            print(f"{title}\n\n{table(heads, list(found))}\n", flush=True)


if __name__ == "__main__":
    main()
