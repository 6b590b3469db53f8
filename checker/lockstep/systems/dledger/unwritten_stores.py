"""The last call of the store of a process that was killed before it wrote the line of that call.

The entry is in the file, which outlives the process, and so the next start finds one more than the lines say: that of
a push that is under way or that the EntryHandler took, or what the leader stored itself. There is at most one, since a
line is written before its call returns. Lines of what led to it, which wait for a moment to be written together, are
lost with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lockstep.systems.node_recorder import Fields

#: The entries of a log by their indexes: terms and values.
Log: TypeAlias = dict[int, tuple[int, str]]

#: The most pushes to a node that are kept: more than a dispatcher has without an answer.
MAX_PUSHES = 4_096
#: How far a push has come at its follower.
_SENT, _RECEIVED, _QUEUED, _TAKEN = range(4)
_QUEUE = {"APPEND": "write", "TRUNCATE": "ctrl"}


@dataclass(slots=True)
class _Push:
    """A push: the line that sends it, and how far it has come.

    `is_refused`: it was answered as one above a gap, and may wait on, or have left the queue.
    """

    sent: Fields
    stage: int = _SENT
    is_refused: bool = False

    @property
    def entries(self) -> list[list[Any]]:
        """The index, term and value of each entry."""
        if "entries" in self.sent:
            return list(self.sent["entries"])
        return [[self.sent["index"], self.sent["entryTerm"], self.sent["val"]]]


class UnwrittenStores:
    """Follows the log of each node and the pushes to it; finds the call of the store that no line is of."""

    def __init__(self) -> None:
        """Begin without nodes."""
        self._logs: dict[str, Log] = {}
        self._pushes: defaultdict[str, dict[int, _Push]] = defaultdict(dict)

    def begin(self, recovered: Mapping[str, Any]) -> None:
        """Take the log with which a node begins a life; what was pushed to the one before does not arrive."""
        node = recovered["node"]
        self._logs[node] = {index: (term, value) for index, term, value in recovered["log"]}
        self._pushes.pop(node, None)

    def follow(self, fields: Mapping[str, Any]) -> None:
        """Take a line, in whose place pushes have numbers."""
        node = fields["node"]
        match fields["kind"]:
            case "send_push" if fields["type"] in _QUEUE:
                pushes = self._pushes[fields["remoteId"]]
                pushes[fields["mid"]] = _Push(dict(fields))
                if len(pushes) > MAX_PUSHES:
                    del pushes[next(iter(pushes))]
            case "recv_push":
                self._comes_to(node, fields["mid"], _RECEIVED)
            case "handler" if fields["op"] in ("enqueue", "take"):
                self._comes_to(node, fields["mid"], _QUEUED if fields["op"] == "enqueue" else _TAKEN)
            case "handler" if fields["op"] == "clear":
                for _, mid in fields["lost"]:
                    self._pushes[node].pop(mid, None)
            case "resp_push":
                self._answered(node, fields)
            case "store" if fields["ok"] and "entryTerm" in fields and node in self._logs:
                self._logs[node] = _stored(self._logs[node], fields["op"], fields["index"], _entry(fields))

    def _comes_to(self, node: str, mid: int, stage: int) -> None:
        if mid in self._pushes[node]:
            self._pushes[node][mid].stage = stage

    def _answered(self, node: str, fields: Mapping[str, Any]) -> None:
        """Forget a push that was answered, but for an APPEND above a gap, which may be stored once that is filled."""
        if (fields["type"], fields["code"]) != ("APPEND", "INCONSISTENT_STATE"):
            self._pushes[node].pop(fields["mid"], None)
        elif fields["mid"] in self._pushes[node]:
            self._pushes[node][fields["mid"]].is_refused = True

    def unwritten(self, recovered: Mapping[str, Any], shown: Mapping[str, Any]) -> Iterator[Fields]:
        """Yield the lines that a node did not live to write, given what it showed last, and what its next life found.

        None are yielded if the log is as the lines say, or if no call of the store makes it what was found.
        """
        node, before = recovered["node"], self._logs.get(recovered["node"], {})
        found = {index: (term, value) for index, term, value in recovered["log"]}
        if found == before or not found:
            return
        last = max(found)
        is_next = last not in before and found == before | {last: found[last]}
        if is_next and shown["role"] == "LEADER" and found[last][0] == shown["term"]:
            yield _store_line(node, "appendAsLeader", last, found[last], shown, {"by": "net"})
            return
        likely = [each for each in self._pushes[node].values() if _would_store(each, before, found, shown)]
        if likely:
            push = max(likely, key=lambda each: (not each.is_refused, each.stage, each.sent["mid"]))
            yield from _arrival(node, push, shown)
            op = "truncate" if push.sent["type"] == "TRUNCATE" else "appendAsFollower"
            leader = {"leaderTerm": push.sent["term"], "leaderId": push.sent["leaderId"], "by": "EntryHandler"}
            yield _store_line(node, op, last, found[last], shown, leader)


def _entry(fields: Mapping[str, Any]) -> tuple[int, str]:
    return fields["entryTerm"], fields["val"]


def _stored(log: Log, op: str, index: int, entry: tuple[int, str]) -> Log:
    """Return a log after a call of the store."""
    if op == "truncate":
        log = {at: each for at, each in log.items() if at < index}
    log[index] = entry
    return log


def _would_store(push: _Push, before: Log, found: Log, shown: Mapping[str, Any]) -> bool:
    """Return whether a follower that stores the last entry of a push has the log that was found."""
    follows = shown["role"] == "FOLLOWER" and shown["leader"] == push.sent["leaderId"]
    index, term, value = push.entries[-1]
    if not follows or shown["term"] != push.sent["term"] or found.get(index) != (term, value):
        return False
    if push.sent["type"] == "TRUNCATE":
        return found == _stored(before, "truncate", index, (term, value))
    return index not in before and found == before | {index: (term, value)}


def _arrival(node: str, push: _Push, shown: Mapping[str, Any]) -> Iterator[Fields]:
    """Yield the lines of how a push came to its follower, those that it has not written."""
    sent, queue = push.sent, _QUEUE[push.sent["type"]]
    handler = {"kind": "handler", "node": node, "q": queue, "mid": sent["mid"]}
    of_queue = {"type": sent["type"]} if queue == "ctrl" else {"index": sent["index"]}
    if push.stage < _RECEIVED:
        pushed = {name: value for name, value in sent.items() if name not in ("disp", "inc")}
        yield {**pushed, "kind": "recv_push", "node": node, "st": dict(shown)}
    if push.stage < _QUEUED:
        yield {**handler, "op": "enqueue", **of_queue}
    if push.stage < _TAKEN:
        yield {**handler, "op": "take", **of_queue, "reqTerm": sent["term"], "st": dict(shown)}


def _store_line(
    node: str, op: str, index: int, entry: tuple[int, str], shown: Mapping[str, Any], more: Fields
) -> Fields:
    log = {name: shown[name] for name in ("begin", "end", "endTerm", "committed")}
    after = log | {"begin": max(0, log["begin"]), "end": index, "endTerm": entry[0]}
    return {
        "kind": "store", "node": node, "op": op, "ok": True, "index": index, "entryTerm": entry[0], "val": entry[1],
        "pos": 0, **more, "pre": log, "st": after,
    }  # fmt: skip
