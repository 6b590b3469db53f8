"""The lines that brokers with DLedger would have logged while their nodes took the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from raftref.runtime.driver import START, NodeStep
from raftref.runtime.virtual import KILLED
from tests.support.logs import dledger_texts as texts
from tests.support.logs.logger_lines import PATTERNS
from tests.support.logs.simulated_logs import ENTRY_BYTES

_Shown = Mapping[str, Any]
#: The moment at which a run begins, in the logs.
BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_STATUS = 3.0


@dataclass
class BrokerWriter:
    """Writes the lines of each node, with their moments in seconds; `pattern` is what its logger writes before them."""

    pattern: str = "rocketmq"
    lines: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _before: dict[str, _Shown] = field(default_factory=dict)
    _next: dict[str, float] = field(default_factory=dict)

    def take(self, step: NodeStep) -> None:
        """Log a step."""
        node, before = step.node, self._before.get(step.node)
        if step.action == KILLED:
            self._before.pop(node, None)
            return
        if step.action == START:
            self._next[node] = step.at + _STATUS
            for text in _recovered(step.shows):
                self._say(node, step.at, text)
        elif before is not None:
            while self._next[node] <= step.at:
                self._say(node, self._next[node], _status(node, before))
                self._next[node] += _STATUS
            for text in _said(step, before):
                self._say(node, step.at, text)
        self._before[node] = step.shows

    def _say(self, node: str, at: float, text: str) -> None:
        logger, _, rest = text.partition(" - ")
        first, *below = rest.split("\n")
        moment = BEGIN + timedelta(seconds=at)
        fields = {"moment": moment, "ms": moment.microsecond // 1000, "level": "INFO", "logger": logger}
        line = PATTERNS[self.pattern].format_map(fields | {"thread": f"thread-{node}", "text": first})
        self.lines.setdefault(node, []).extend((at, each) for each in (line, *(each.strip() for each in below)))


def _recovered(shows: _Shown) -> Iterator[str]:
    if shows["ledgerEndIndex"] >= 0:
        yield texts.recovered_end(shows["ledgerEndIndex"], (shows["ledgerEndIndex"] + 1) * ENTRY_BYTES)
        yield texts.recovered_committed(shows["committedIndex"])


def _status(node: str, shows: _Shown) -> str:
    ends = (shows["ledgerBeginIndex"], shows["ledgerEndIndex"], shows["committedIndex"])
    marks = {shows["currTerm"]: shows["peerWaterMarks"]} if shows["role"] == "LEADER" else {}
    return texts.status(node, shows["role"], shows["currTerm"], ends, marks, as_json=True)


def _said(step: NodeStep, before: _Shown) -> Iterator[str]:
    node, after, action = step.node, step.shows, step.action
    term, new = before["currTerm"], after["currTerm"]
    becomes = after["role"] if after["role"] != before["role"] else None
    if becomes == "CANDIDATE":
        if action == "HeartBeatTimeOut":
            yield texts.heart_beat_timeout(node, before["leaderId"])
        yield texts.to_candidate(node, max(term, new), term)
    if new > term:
        yield texts.increase_term(node, term, new)
    if becomes == "LEADER":
        yield texts.to_leader(node, new, new)
    if becomes == "FOLLOWER":
        yield texts.to_follower(node, new, after["leaderId"], new)
    if action == "DoTruncate":
        dispatcher = before["dispatchers"][step.args["peer"]]
        yield texts.push_truncate(step.args["peer"], dispatcher["truncateIndex"], 0)
    if action == "HandleDoTruncate":
        yield from _truncated(step, before)


def _truncated(step: NodeStep, before: _Shown) -> Iterator[str]:
    """The lines of a TRUNCATE; none where a repaired node leaves out one that comes late."""
    m = step.args["m"]
    is_followed = before["role"] == "FOLLOWER" and m["term"] == before["currTerm"] and m["src"] == before["leaderId"]
    if is_followed and step.shows["ledgerEndIndex"] > m["index"]:
        return
    yield texts.handle_truncate(m["index"], m["index"] * ENTRY_BYTES)
    if not is_followed:
        yield texts.failed_truncate(m["index"])
