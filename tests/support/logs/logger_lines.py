"""DLedger's logger lines, made from a recording: the lines that its nodes would have logged.

A recording has every step of a run, and a log has few of them. A log that is made from a recording of a correct run
must therefore be explained.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.log_import import import_log
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import write_trace
from lockstep.trace.trace_reader import read_trace
from tests.support.logs import dledger_texts as texts
from tests.support.systems.dledger import check_dledger


def logged(recording: Path, every_ms: float) -> str:
    """Return the log of a recording, with the status of each node about every `every_ms` milliseconds."""
    recorded = [json.loads(line) for line in recording.read_text().splitlines()]
    return "".join(_Logger(every_ms).lines(recorded))


class _Logger:
    def __init__(self, every_ms: float) -> None:
        self.every_ms = every_ms
        self.status: dict[str, dict[str, Any]] = {}
        self.marks: dict[str, tuple[int, dict[str, int]]] = {}
        self.compared: set[tuple[str, str]] = set()
        self.last: dict[str, float] = {}

    def lines(self, recorded: list[dict[str, Any]]) -> Iterator[str]:
        for line in recorded:
            for text in (*self.texts(line), *self.now(line)):
                place = f"[{line['node']}/{line.get('inc', 1)}]"
                yield f"{line['t_ms']:.3f} seq<{line['seq']} {place} INFO [thread] {text}\n"
            self.learn(line)

    def texts(self, line: dict[str, Any]) -> Iterator[str]:
        node, index = line.get("node", ""), line.get("index", -1)
        match line["kind"]:
            case "role":
                yield from self.of_role(line)
            case "dispatcher":
                if (line["from"], line["to"]) != ("COMPARE", "COMPARE"):
                    self.compared.discard((node, line["peer"]))
                yield texts.change_state(line["peer"], line["from"], line["to"], line["at"])
            case "send_push" if line["type"] == "COMPARE":
                if (node, line["remoteId"]) not in self.compared:
                    yield texts.start_to_compare(line["remoteId"])
                self.compared.add((node, line["remoteId"]))
            case "send_push" if line["type"] == "TRUNCATE":
                yield texts.push_truncate(line["remoteId"], index, line["pos"])
            case "resp_push" if line["type"] == "COMPARE" and line["code"] == "INCONSISTENT_STATE":
                yield texts.handle_compare(index, line["beginIndex"], line["endIndex"])
            case "store" if line["op"] == "truncate":
                yield texts.handle_truncate(index, line["pos"])
            case "store" if line.get("noop") == "lower":
                yield texts.skip_commit(line["argIndex"], line["pre"]["committed"], line["pre"]["begin"])
            case "recovered" if line["inc"] > 1:
                yield texts.recovered_end(line["st"]["end"], 0)
                if line["st"]["committed"] >= 0:
                    yield texts.recovered_committed(line["st"]["committed"])

    def of_role(self, line: dict[str, Any]) -> Iterator[str]:
        node, term, before = line["node"], line["term"], line.get("prevTerm", line["term"])
        asked = line.get("argTerm", term)
        match line["op"]:
            case "changeToCandidate":
                yield texts.to_candidate(node, asked, before)
            case "changeToFollower":
                yield texts.to_follower(node, asked, line["leaderId"], before)
            case "changeToLeader":
                yield texts.to_leader(node, asked, before)
            case "nextTerm":
                yield texts.increase_term(node, before, term)

    def now(self, line: dict[str, Any]) -> Iterator[str]:
        """QuorumAckChecker's line, where no step is half done."""
        node, st = line.get("node", ""), line.get("st", {})
        beats = line["kind"] in ("recv_heartbeat", "send_heartbeat", "send_vote")
        if not beats or "role" not in st or line["t_ms"] - self.last.get(node, 0.0) < self.every_ms:
            return
        self.last[node] = line["t_ms"]
        term, marks = self.marks.get(node, (-1, {}))
        ends = (st["begin"], st["end"], st["committed"])
        yield texts.status(node, st["role"], st["term"], ends, {term: marks} if marks else {})

    def learn(self, line: dict[str, Any]) -> None:
        node = line.get("node", "")
        if line["kind"] == "watermark":
            self.marks[node] = (line["term"], line.get("marks", {}))
        elif line["kind"] in ("crash", "stop"):
            self.marks.pop(node, None)
            self.compared = {pair for pair in self.compared if pair[0] != node}


ELECTED = (
    "[n0] [n0] [ChangeRoleToCandidate] from term: 0 and currTerm: 0",
    "[n0] n0_[INCREASE_TERM] from 0 to 1",
    "[n1] n1_[INCREASE_TERM] from 0 to 1",
    "[n2] n2_[INCREASE_TERM] from 0 to 1",
    "[n0] [n0] [ChangeRoleToLeader] from term: 1 and currTerm: 1",
)


def written(*said: str) -> str:
    """Return a log: each line begins with its node, `[n0]`, or with `[n0/2]` in another incarnation."""
    lines = []
    for number, text in enumerate(said):
        place, _, words = text.partition(" ")
        place = place if "/" in place or place == "[-]" else f"{place[:-1]}/1]"
        lines.append(f"{number}.0 seq<{number} {place} INFO [t] L - {words}\n")
    return "".join(lines)


def imported(text: str, folder: Path, version: str = "0.2.7") -> Imported:
    path = folder / "d.log"
    path.write_text(text)
    return import_log([path], version, trace_spec)


def checked(explanation: Imported, folder: Path) -> TraceVerdict:
    path = folder / "explained.trace.ndjson"
    write_trace(path, explanation.header, explanation.events)
    trace = read_trace(path)
    return check_dledger(trace, trace_spec(trace.header, str(path)))


#: Before the text of a line: RocketMQ's pattern, that of DLedger's own log4j2.xml, logback's own.
PATTERNS = {
    "rocketmq": "{moment:%Y-%m-%d %H:%M:%S} {level} {thread} - {text}",
    "log4j2": "{moment:%Y-%m-%d %H:%M:%S},{ms:03d} {level:<5} {logger}:77 - {text}",
    "logback": "{moment:%H:%M:%S}.{ms:03d} [{thread}] {level:<5} i.o.s.d.{logger} - {text}",
}
_RECORDED = re.compile(
    r"(?P<time>[\d.]+) seq<\d+ \[(?P<node>[^/\]]+)(?:/\d+)?\] "
    r"(?P<level>\w+) \[(?P<thread>[^\]]*)\] (?P<logger>\S+) - (?P<text>.*)\n"
)


def split_by_node(text: str, pattern: str, folder: Path, clocks: Mapping[str, float] | None = None) -> list[Path]:
    """Write the lines of each node of a log as its own logger would have, and return the files; no line names its node.

    Arguments: `clocks`, by how many milliseconds the clock of each node is fast.
    """
    logs: dict[str, list[str]] = {}
    node = ""
    for line in text.splitlines(keepends=True):
        found = _RECORDED.fullmatch(line)
        if found is None:
            logs[node].append(line.removeprefix("    "))
            continue
        node = found["node"]
        at = float(found["time"]) + (clocks or {}).get(node, 0.0)
        moment = datetime(2026, 11, 21, 9, tzinfo=UTC) + timedelta(milliseconds=at)
        fields = found.groupdict() | {"moment": moment, "ms": moment.microsecond // 1000}
        logs.setdefault(node, []).append(PATTERNS[pattern].format_map(fields) + "\n")
    logs.pop("-", None)
    for name, lines in logs.items():
        (folder / f"broker-{name}.log").write_text("".join(lines))
    return [folder / f"broker-{name}.log" for name in logs]
