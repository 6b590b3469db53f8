"""The lines that servers of hashicorp/raft would have logged while they took the steps of a run.

Messages and fields are those of v1.7.3, at level DEBUG for votes and INFO for the rest, as tests/scripts/hclog_lines
prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from raftref.hashicorp.server import Server
from raftref.runtime.driver import START, NodeStep
from raftref.runtime.virtual import KILLED
from tests.scripts.hclog_lines import printed

_Shown = Mapping[str, Any]
_Said = tuple[str, str, dict[str, Any]]


@dataclass
class RaftWriter:
    """Writes the lines of each server, with their moments in seconds."""

    lines: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _before: dict[str, _Shown] = field(default_factory=dict)
    _logs: dict[str, Mapping[Any, Any]] = field(default_factory=dict)
    _taking: dict[str, int] = field(default_factory=dict)

    def take(self, step: NodeStep, server: Server) -> None:
        """Log a step, after which the server is as given."""
        before, after = self._before.get(step.node, step.shows), step.shows
        for level, message, fields in self._said(step, before, after, server):
            line = {"t_ms": step.at * 1000, "level": level, "text": message, "args": fields, "node": step.node}
            self.lines.setdefault(step.node, []).append((step.at, printed(line).rstrip("\n")))
        self._before[step.node] = after
        self._logs[step.node] = server.log

    def _said(self, step: NodeStep, before: _Shown, after: _Shown, server: Server) -> Iterator[_Said]:
        node, action, m = step.node, step.action, step.args.get("m", {})
        if action == KILLED:
            return
        if action == START:
            yield from _started(after, server)
        elif action == "HeartbeatTimeout":
            leader = before["leader"] or ""
            yield "warn", "heartbeat timeout reached, starting election", {"last-leader-addr": leader}
        elif action in ("PreElectSelf", "ElectSelf") and before["campaign"]["phase"] == "NONE":
            term = before["currentTerm"] + 1
            yield "info", "entering candidate state", {"node": {}, "term": term}
        elif action == "ElectionTimeout":
            yield "warn", "Election timeout reached, restarting election", {}
        elif action == "RequestVote":
            yield from _asked(before, m, server)
        elif action == "HandleRequestVoteResponse" and m["granted"] and m["term"] == before["currentTerm"]:
            yield "debug", "vote granted", {"from": m["src"], "term": m["term"], "tally": 2}
        elif action == "AppendEntries":
            yield from self._appended(node, before, after, m)
        elif action == "TakeSnapshot":
            self._taking[node] = server.fsm.last.index
            yield "info", "starting snapshot up to", {"index": server.fsm.last.index}
        elif action == "PersistSnapshot":
            yield from _created(after["snapshots"])
        elif action == "CompactLogs":
            yield "info", "snapshot complete up to", {"index": self._taking.pop(node)}
        elif action == "InstallSnapshot" and after["snapshots"] != before["snapshots"]:
            yield from _created(after["snapshots"])
            yield "info", "Installed remote snapshot", {}
        if after["role"] != before["role"]:
            yield from _became(after)

    def _appended(self, node: str, before: _Shown, after: _Shown, m: Mapping[str, Any]) -> Iterator[_Said]:
        if m["term"] < before["currentTerm"]:
            return
        previous, end = m.get("prevLogEntry", 0), before["lastIndex"]
        if previous > end:
            fields = {"previous-index": previous, "last-index": end, "error": "log not found"}
            yield "warn", "failed to get previous log", fields
            return
        log = self._logs[node]
        for index, entry in enumerate(m.get("entries", ()), start=previous + 1):
            differs = index in log and log[index].term != entry["term"]
            if index <= before["lastLog"]["index"] and differs:
                if after["lastLog"] != before["lastLog"]:
                    yield "warn", "clearing log suffix", {"from": index, "to": before["lastLog"]["index"]}
                return


def _started(after: _Shown, server: Server) -> Iterator[_Said]:
    place = after["lastSnapshot"]
    if place["index"]:
        fields = {"id": _id(place), "last-index": place["index"], "last-term": place["term"], "size-in-bytes": 77}
        yield "info", "starting restore from snapshot", fields
        yield "info", "restored from snapshot", fields
    servers = " ".join(f"{{Suffrage:Voter ID:{each} Address:{each}}}" for each in server.nodes)
    index = server.configurations.latest_index
    yield "info", "initial configuration", {"index": index, "servers": f"[{servers}]"}
    yield "info", "entering follower state", {"follower": {}, "leader-address": "", "leader-id": ""}


def _asked(before: _Shown, m: Mapping[str, Any], server: Server) -> Iterator[_Said]:
    """The order of requestVote."""
    transfer = m.get("leadershipTransfer", False)
    if before["leader"] not in (None, m["src"]) and not transfer:
        fields = {"from": m["src"], "leader": before["leader"], "leader-id": before["leader"]}
        yield "warn", "rejecting vote request since we have a leader", fields
        return
    if m["term"] < before["currentTerm"]:
        return
    if before["lastVoteTerm"] == m["term"] and before["lastVoteCand"] is not None:
        yield "info", "duplicate requestVote for same term", {"term": m["term"]}
        if before["lastVoteCand"] == m["src"]:
            yield "warn", "duplicate requestVote from", {"candidate": m["src"]}
        return
    last = server.last_entry
    if last.term == m["lastLogTerm"] and last.index > m["lastLogIndex"]:
        fields = {"candidate": m["src"], "last-index": last.index, "last-candidate-index": m["lastLogIndex"]}
        yield "warn", "rejecting vote request since our last index is greater", fields


def _became(after: _Shown) -> Iterator[_Said]:
    if after["role"] == "Leader":
        yield "info", "election won", {"term": after["currentTerm"], "tally": 2}
        yield "info", "entering leader state", {"leader": {}}
    elif after["role"] == "Follower":
        leader = after["leader"] or ""
        yield "info", "entering follower state", {"follower": {}, "leader-address": leader, "leader-id": leader}


def _created(snapshots: Any) -> Iterator[_Said]:
    path = f"/opt/data/raft/snapshots/{_id(snapshots[0])}.tmp"
    yield "info", "creating new snapshot", {"path": path}


def _id(place: Mapping[str, Any]) -> str:
    return f"{place['term']}-{place['index']}-1767323045000"
