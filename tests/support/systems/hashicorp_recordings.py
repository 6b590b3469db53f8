"""Simulated clusters of the reference, recorded as the recorder of the real hashicorp/raft records.

Each event becomes its lines. Where the recorder guarantees no order, chance chooses one: a request is sent some time
after it was built, an answer comes some time before its caller acts on it, or after that has given up, and what other
nodes do stands in between. What the recorder cannot record (a log that cannot be written, a process that dies between
two writes) ends the recording.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature, Flaw
from raftref.hashicorp.messages import HeartbeatRequest
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.simulation.schedule import Schedule
from raftref.records import record

Tree = dict[str, Any]

#: A request is sent, and an answer arrives, at most this many events before what must follow.
LATE = 12

#: The share of the votes in a new term within which a heartbeat comes that may.
COMES_BETWEEN = 0.5

#: Where in the time of one event its lines stand; other lines may stand between them.
BEGINS, ENDS = -0.3, 0.3

OF_ELECTIONS = ("RequestVote", "RequestPreVote")
OF_LEADERS = ("AppendEntries", "Heartbeat", "InstallSnapshot", "TimeoutNow")

#: The functions that the library names when the step of an action changes the role.
CHANGES = {
    "HeartbeatTimeout": "runFollower<run",
    "HandleRequestVoteResponse": "runCandidate<run",
    "HandleRequestPreVoteResponse": "runCandidate<run",
    "StepDown": "leaderLoop<runLeader",
    "CheckLeaderLease": "checkLeaderLease<leaderLoop",
}
HANDLERS = {
    "AppendEntries": "appendEntries",
    "InstallSnapshot": "installSnapshot",
    "RequestVote": "requestVote",
    "RequestPreVote": "requestPreVote",
    "TimeoutNow": "timeoutNow",
}
SENDS = ("ReplicateTo", "PipelineSend", "SendLatestSnapshot", "Heartbeat", "SendTimeoutNow")
ZOMBIES = ("ZombieReplicateTo", "ZombieSendSnapshot", "ZombieHeartbeat")
ANSWERED = ("HandleAppendEntriesResponse", "HandleInstallSnapshotResponse", "HandleHeartbeatResponse")


@dataclass(slots=True)
class Call:
    """A call: when it was made, when something of it is recorded first, what is under way of it."""

    rpc: int
    request: Tree
    made: float
    inc: int
    pipelined: bool = False
    used: float = float("inf")
    copies: list[int] = field(default_factory=lambda: [0])
    answers: list[tuple[int, Tree, float]] = field(default_factory=list)

    @property
    def routine(self) -> tuple[str, str, str]:
        return self.request["src"], self.request["dst"], self.request["type"]

    @property
    def msg(self) -> str:
        return "AppendEntries" if self.request["type"] == "Heartbeat" else str(self.request["type"])


class Unrecordable(Exception):  # noqa: N818 - no error: the recording ends
    """The recorder has no line for this."""


class _RecordedSchedule(Schedule):
    """A schedule of what the recorder can record.

    A main loop notices at once that a heartbeat beside it has made its server a follower, and such a heartbeat may come
    while a voter enters a term.
    """

    def next_event(self) -> Any:
        overtaken = (node for node, server in self.cluster.servers.items() if server.is_overtaken)
        node = next(overtaken, None)
        return super().next_event() if node is None else self.attempt(node, "RunFollower")

    def attempt(self, node: Any, action: str, *args: Any) -> Any:
        if action == "RequestVote" and self.plan.config.has(Flaw.HEARTBEAT_RACE):
            for heartbeat in [each for each in self.cluster.messages() if isinstance(each, HeartbeatRequest)]:
                around = "RequestVoteAroundHeartbeat", args[0], heartbeat
                reaches = heartbeat.dst == node and self.reaches(heartbeat.src, node)
                if reaches and self.cluster.enabled(node, *around) and self.chance(COMES_BETWEEN):
                    return self.cluster.take(node, *around)
        return super().attempt(node, action, *args)


class Recorder:
    """Makes a recording of a simulated cluster."""

    def __init__(self, plan: FaultPlan, seed: int) -> None:
        self.plan, self.seed, self.random = plan, seed, random.Random(seed)
        self.lines: list[tuple[float, int, Tree]] = []
        self.shown: dict[str, Tree] = {}
        self.history: dict[str, list[tuple[float, Tree]]] = {}
        self.lives: dict[str, list[tuple[float, int]]] = {node: [(-9.0, 0), (-8.0, 1)] for node in plan.node_ids}
        self.calls: list[Call] = []
        self.current: dict[tuple[str, str, str], Call] = {}
        self.pipelines: dict[tuple[str, str], list[Call]] = {}
        self.left: list[Call] = []
        self.unheard: list[Tree] = []
        self.ends: dict[tuple[str, str, str], float] = {}

    @property
    def fast_path(self) -> bool:
        """Whether heartbeats are handled beside the main loop."""
        return Flaw.HEARTBEAT_RACE in self.plan.flaws

    def record(self) -> list[Tree]:
        """Return the lines."""
        self._bootstrap()
        with patch.object(Server, "respond", noting(Server.respond, self.unheard)):
            for event in _RecordedSchedule(self.seed, self.plan).run():
                count = len(self.lines)
                try:
                    self._event(float(event["seq"]), event)
                except Unrecordable:
                    del self.lines[count:]
                    break
                self.unheard.clear()
        self._sends()
        self._finals()
        return self._numbered()

    # ---- Lines ----

    def _line(self, at: float, kind: str, node: str, **fields: Any) -> None:
        self.lines.append((at, len(self.lines), {"kind": kind, "node": node, **fields}))

    def _numbered(self) -> list[Tree]:
        """Number the lines in the order of their time, with what each node holds by then."""
        body = []
        atomics: dict[str, Tree] = {}
        for at, _, line in sorted(self.lines, key=lambda row: row[:2]):
            node, kind = line["node"], line["kind"]
            line["inc"] = max(inc for when, inc in self.lives[node] if when <= at)
            if kind == "start":
                atomics[node] = {"role": "Follower", "term": line["persisted"]["CurrentTerm"]}
            elif kind == "state":
                atomics[node]["role"] = line["state"]
            if line["inc"] > 0 and kind not in ("start", "drop", "reply_drop"):
                line["obs"] = {**atomics[node], **self._seen(node, at)}
            if line["inc"] > 0 and kind == "stable_set" and line["key"] == "CurrentTerm":
                atomics[node]["term"] = line["value"]  # set once the write is done
            body.append(line)
        whole = [self._header(), *body]
        whole.append({"kind": "end", "events": len(whole) + 1})
        return [{"seq": number, "t_ms": float(number), **line} for number, line in enumerate(whole)]

    def _seen(self, node: str, at: float) -> Tree:
        shown = next((each for when, each in reversed(self.history[node]) if when <= at), self.history[node][0][1])
        return {"commit": shown["commitIndex"], "last": shown["lastIndex"], "applied": shown["lastApplied"]}

    def _finals(self) -> None:
        """Write what each server that runs holds at the end."""
        end = max(at for at, _, _ in self.lines) + 1
        for node, shown in self.shown.items():
            if shown["role"] != "Shutdown":
                self._line(end, "final", node, persisted=persisted(shown), fsm=fsm_state(shown))

    def _header(self) -> Tree:
        timeouts = dict.fromkeys(("heartbeat_timeout_ms", "election_timeout_ms", "leader_lease_ms"), 100)
        config = {**timeouts, "commit_timeout_ms": 50, "snapshot_interval_ms": 60, "snapshot_threshold": 8}
        config |= {"max_append_entries": self.plan.max_append_entries, "trailing_logs": self.plan.trailing_logs}
        faults = dict.fromkeys(("drop_req", "drop_resp", "dup_req", "delay_prob", "delay_max_ms", "rpc_timeout_ms"), 0)
        return {
            "kind": "header",
            "schema": "hcraft-capture-1",
            "impl": "raftref",
            "library_version": "v1.7.3",
            "go": "none",
            "capture": f"simulated_{self.seed}",
            "nodes": list(self.plan.node_ids),
            "seed": self.seed,
            "prevote": Feature.PRE_VOTE in self.plan.features,
            "pipeline": Feature.PIPELINE in self.plan.features,
            "fast_path": self.fast_path,
            "faults": faults,
            "config": config,
            "note": "a simulation of the reference",
        }

    def _bootstrap(self) -> None:
        voters = ",".join(self.plan.node_ids)
        first = {"i": 1, "t": 1, "type": "Configuration", "v": voters}
        entry = {
            "term": 1,
            "type": "Configuration",
            "value": None,
            "configuration": {"voters": {"#set": list(self.plan.node_ids)}, "nonvoters": {"#set": []}},
        }
        for node in self.plan.node_ids:
            shown = {
                "role": "Follower", "currentTerm": 1, "lastVoteTerm": 0, "lastVoteCand": None, "leader": None,
                "log": {"#map": [[1, entry]]}, "lastLog": {"index": 1, "term": 1}, "lastIndex": 1, "commitIndex": 0,
                "lastApplied": 0, "fsm": {"index": 0, "term": 0, "applied": []}, "snapshots": [],
                "lastSnapshot": {"index": 0, "term": 0}, "campaign": {"phase": "NONE", "granted": {"#set": []}},
            }  # fmt: skip
            self.shown[node], self.history[node] = shown, [(-9.0, shown)]
            self._line(-9.0, "stable_set", node, key="CurrentTerm", value=1, by="BootstrapCluster")
            self._line(-9.0, "store_logs", node, entries=[first], by="BootstrapCluster")
            self._line(-8.0, "start", node, persisted=persisted(shown), heartbeat_timeout_ms=100)
            self._line(-7.0, "stable_set", node, key="CurrentTerm", value=1, by="NewRaft")
            self._line(-6.0, "started", node)

    # ---- Events ----

    def _event(self, at: float, event: Tree) -> None:
        node, action, args = event["node"], event["action"], event["args"]
        before = self.shown[node]
        after = {**before, **event["shows"]}
        result = args.get("outcome", {"result": "DONE"})["result"]
        if (
            (action in HANDLERS and after["role"] == "Shutdown")
            or result == "CRASH"
            or (result == "FAIL" and (action not in ("RequestVote", "ElectSelf")))
        ):
            raise Unrecordable
        if action == "RunFollower" and before["loop"] == "CAMPAIGN" and Feature.PRE_VOTE in self.plan.features:
            raise Unrecordable  # a round that was not asked for looks like one whose requests were never sent
        if action == "RequestVoteAroundHeartbeat":
            self._around_heartbeat(at, event, before, after)
        elif action in HANDLERS:
            self._handler(at, event, before, after)
        elif action in ("HandleRequestVoteResponse", "HandleRequestPreVoteResponse", *ANSWERED):
            self._acts_on(at, event, before, after)
        elif action == "HandleTimeoutNowResponse":
            self._reply(at, args["m"])
        elif action in ("Lose", "Duplicate"):
            self._network(at, action, args["m"])
        elif action == "RPCError":
            self._rpc_error(at, node, args["peer"], args["type"])
        elif action in (*SENDS, *ZOMBIES, "PreElectSelf", "ElectSelf"):
            self._gives_up(at, node, before, after)
            self._calls(at, event, before, after)
        else:
            self._alone(at, event, before, after)
        if action not in (*SENDS, *ZOMBIES, "PreElectSelf", "ElectSelf"):
            self._gives_up(at, node, before, after)
        self._closes(at, node, after)
        if action == "EndTransfer":
            self._forget(at, [each for each in self.current if each[0] == node and each[2] == "TimeoutNow"], True)
        self.shown[node] = after
        self.history[node].append((at, after))

    def _alone(self, at: float, event: Tree, before: Tree, after: Tree) -> None:
        """The steps that a server takes by itself."""
        node, action = event["node"], event["action"]
        entries = [recorded(i, e) for i, e in entries_of(after).items() if entries_of(before).get(i) != e]
        match action:
            case "ElectionTimeout":
                text = "Election timeout reached, restarting election"
                self._line(at, "liblog", node, level="warn", text=text, args={})
            case "DispatchNoop":
                self._line(at, "store_logs", node, entries=entries, by="dispatchLogs<runLeader")
            case "DispatchLogs":
                self._line(at, "store_logs", node, entries=entries, by="dispatchLogs<leaderLoop")
            case "AppendConfigurationEntry":
                self._line(at, "store_logs", node, entries=entries, by="dispatchLogs<appendConfigurationEntry")
            case "ApplyFsm" if after["fsm"]["applied"] == before["fsm"]["applied"]:
                pass  # a barrier
            case "ApplyFsm":
                item = after["fsm"]["applied"][-1]
                place = {"i": item["index"], "t": item["entry"]["term"], "v": item["entry"]["value"]}
                self._line(at, "fsm_apply", node, **place, count=len(after["fsm"]["applied"]), digest=0)
            case "TakeSnapshot":
                self._line(at, "fsm_snapshot", node, state=fsm_state(before))
            case "PersistSnapshot":
                place = {f"last_{name}": after["lastSnapshot"][name] for name in ("index", "term")}
                self._line(at, "snapshot_saved", node, **place, by="takeSnapshot<runSnapshots")
            case "CompactLogs":
                self._compaction(at, node, before, after)
            case "LeadershipTransfer":
                self._line(at, "transfer_req", node, to=event["args"]["peer"], k=0)
            case "Crash":
                self._line(at - 0.2, "stop_begin", node, why="random")
                self._line(at - 0.1, "state", node, state="Shutdown", by="Shutdown")
                self._line(at, "stopped", node, persisted=persisted(after))
            case "Restart":
                self._restart(at, node, after)
            case "HeartbeatTimeout" | "StepDown" | "CheckLeaderLease":
                self._role(at, node, before, after, CHANGES[action])
            case "ProcessLogs" if after["role"] == "Shutdown":
                raise Unrecordable  # how a leader that removes itself goes down
            case "ProcessLogs" | "EndTransfer" | "PipelineAbort" | "RunFollower":
                pass
            case _:
                raise AssertionError(f"the recorder does not know {action}")

    def _restart(self, at: float, node: str, after: Tree) -> None:
        self.lives[node].append((at - 0.2, len(self.lives[node])))
        self._line(at - 0.2, "start", node, persisted=persisted(after), heartbeat_timeout_ms=100)
        self._line(at - 0.1, "stable_set", node, key="CurrentTerm", value=after["currentTerm"], by="NewRaft")
        if after["snapshots"]:
            nothing = {"count": 0, "last_index": 0, "last_term": 0, "digest": 0}
            self._line(at - 0.05, "fsm_restore", node, state=fsm_state(after), before=nothing)
        self._line(at + 0.1, "started", node)

    def _role(self, at: float, node: str, before: Tree, after: Tree, by: str) -> None:
        """The lines of setState and setLeader."""
        if before["leader"] is not None and (before["role"] != after["role"] or after["leader"] is None):
            self._line(at, "leader_obs", node, leader="", by=by)
        if before["role"] != after["role"]:
            self._line(at, "state", node, state=after["role"], by=by)

    def _compaction(self, at: float, node: str, before: Tree, after: Tree) -> None:
        gone = sorted(entries_of(before).keys() - entries_of(after).keys())
        if gone:
            by = "compactLogsWithTrailing<compactLogs"
            places = [{"i": i, "t": entries_of(before)[i]["term"]} for i in gone]
            self._line(at, "delete_range", node, min=gone[0], max=gone[-1], why="compact", gone=places, by=by)

    # ---- Handlers ----

    def _handler(self, at: float, event: Tree, before: Tree, after: Tree) -> None:
        node, m = event["node"], event["args"]["m"]
        call, copy = self._taken(at, m)
        mark = {"beside": True} if self.fast_path and m["type"] == "Heartbeat" else {}
        sender = {"from": m["src"], **mark}
        self._line(at + BEGINS, "recv", node, msg=call.msg, rpc=call.rpc, copy=copy, **sender, body=body(m))
        fields = {"msg": call.msg, "rpc": call.rpc, "copy": copy, "to": m["src"], **mark}
        self._parts(at + BEGINS / 2, event, before, after)
        answer = next(iter(event["sent"]), None)
        if answer is not None:
            call.answers.append((copy, answer, at + ENDS))
            self._line(at + ENDS, "respond", node, **fields, body=answer_body(answer))
            return
        is_error = (
            event["action"] == "InstallSnapshot" and not installed(m, after) and m["term"] >= before["currentTerm"]
        )
        error = {"err": "no such file"} if is_error else {}
        self._line(at + ENDS, "respond", node, **fields, body=self._unheard(call.msg) | error)
        back = {"msg": call.msg, "rpc": call.rpc, "copy": copy, "to": m["src"]}
        self._line(at + ENDS + self.random.random() * LATE, "reply_drop", node, **back, reason="caller_gave_up")

    def _around_heartbeat(self, at: float, event: Tree, before: Tree, after: Tree) -> None:
        """Write the lines of a vote, and between them those of a heartbeat that is handled beside the main loop."""
        node, request, heartbeat = event["node"], event["args"]["request"], event["args"]["heartbeat"]
        by = "requestVote<processRPC"
        asked = self._begins(at + BEGINS, node, request, {})
        self._line(at + BEGINS, "leader_obs", node, leader="", by=by)
        if before["role"] != after["role"]:
            self._line(at + BEGINS, "state", node, state=after["role"], by=by)
        heard = self._begins(at + BEGINS / 2, node, heartbeat, {"beside": True})
        self._line(at + BEGINS / 2, "leader_obs", node, leader=heartbeat["src"], by="appendEntries<processHeartbeat")
        self._ends(at + BEGINS / 2, event, heartbeat, heard, {"beside": True})
        self._line(at, "stable_set", node, key="CurrentTerm", value=after["currentTerm"], by=by)
        self._vote(at, node, before, after, by, request["src"], {"result": "DONE", "write": 0}, first=2)
        self._ends(at + ENDS, event, request, asked, {})

    def _begins(self, at: float, node: str, m: Tree, mark: Tree) -> tuple[Call, int]:
        call, copy = self._taken(at, m)
        sender = {"from": m["src"], **mark}
        self._line(at, "recv", node, msg=call.msg, rpc=call.rpc, copy=copy, **sender, body=body(m))
        return call, copy

    def _ends(self, at: float, event: Tree, m: Tree, taken: tuple[Call, int], mark: Tree) -> None:
        call, copy = taken
        fields = {"msg": call.msg, "rpc": call.rpc, "copy": copy, "to": m["src"], **mark}
        (answer,) = (each for each in (*event["sent"], *self.unheard) if each["type"] == m["type"])
        self._line(at, "respond", event["node"], **fields, body=answer_body(answer))
        if answer in event["sent"]:
            call.answers.append((copy, answer, at))
        else:
            back = {"msg": call.msg, "rpc": call.rpc, "copy": copy, "to": m["src"]}
            late = at + self.random.random() * LATE
            self._line(late, "reply_drop", event["node"], **back, reason="caller_gave_up")

    def _unheard(self, msg: str) -> Tree:
        """Return the answer that nobody awaits: the trace has none."""
        if self.unheard:
            return answer_body(self.unheard[0])
        assert msg == "InstallSnapshot", "who handles anything else answers"
        return {"term": 0, "success": False}

    def _parts(self, at: float, event: Tree, before: Tree, after: Tree) -> None:
        """Write the lines of the main loop while it handles a request."""
        node, m = event["node"], event["args"]["m"]
        caller = "processHeartbeat" if self.fast_path and m["type"] == "Heartbeat" else "processRPC"
        by = f"{HANDLERS[event['action']]}<{caller}"
        outcome = event["args"].get("outcome", {"result": "DONE", "write": 0})
        self._role(at, node, before, after, by)
        yields = event["action"] == "AppendEntries" and before["role"] != after["role"]
        rises = after["currentTerm"] != before["currentTerm"]
        if rises or yields:
            self._line(at, "stable_set", node, key="CurrentTerm", value=after["currentTerm"], by=by)
        if after["leader"] not in (None, before["leader"]) or (before["role"] != after["role"] and after["leader"]):
            self._line(at, "leader_obs", node, leader=after["leader"], by=by)
        if event["action"] == "RequestVote":
            self._vote(at, node, before, after, by, m["src"], outcome, first=1 + rises)
        old, new = entries_of(before), entries_of(after)
        stored = [recorded(i, e) for i, e in sorted(new.items()) if old.get(i) != e]
        if event["action"] == "AppendEntries":
            cut = sorted(i for i, e in old.items() if new.get(i) != e)
            if cut:
                gone = [{"i": i, "t": old[i]["term"]} for i in cut]
                ends = {"min": cut[0], "max": before["lastLog"]["index"]}
                self._line(at, "delete_range", node, **ends, why="truncate", gone=gone, by=by)
            if stored:
                self._line(at, "store_logs", node, entries=stored, by=by)
        elif event["action"] == "InstallSnapshot" and m["term"] >= before["currentTerm"]:
            place = {f"last_{name}": m["snapshot"][name] for name in ("index", "term")}
            self._line(at, "snapshot_saved", node, **place, by=by)
            if installed(m, after):
                self._line(at, "fsm_restore", node, state=fsm_state(after), before=fsm_state(before))
                self._compaction(at, node, before, after)

    def _vote(
        self, at: float, node: str, before: Tree, after: Tree, by: str, candidate: str, outcome: Tree, *, first: int
    ) -> None:
        """The two writes of a vote; the first is the `first` of its handler."""
        fails = outcome["write"] if outcome["result"] == "FAIL" else 0
        if fails and fails < first:
            raise Unrecordable
        votes = after["lastVoteTerm"] != before["lastVoteTerm"] or after["lastVoteCand"] != before["lastVoteCand"]
        if not votes and not fails:
            return
        writes = (("LastVoteTerm", after["currentTerm"]), ("LastVoteCand", candidate))
        for number, (key, value) in enumerate(writes, start=first):
            if number == fails:
                self._line(at, "stable_fail", node, key=key, value=value, err="injected", by=by)
                return
            self._line(at, "stable_set", node, key=key, value=value, by=by)

    # ---- Calls ----

    def _calls(self, at: float, event: Tree, before: Tree, after: Tree) -> None:
        node, action = event["node"], event["action"]
        outcome = event["args"].get("outcome", {"result": "DONE", "write": 0})
        requests = list(event["sent"])
        if action == "ElectSelf":
            if after["role"] == "Leader":
                raise Unrecordable  # a candidate whose own vote is enough
            by = "electSelf<runCandidate"
            if outcome["result"] == "FAIL" and (outcome["write"] == 1 or event["args"]["asked"]["#set"]):
                raise Unrecordable
            self._line(at, "stable_set", node, key="CurrentTerm", value=after["currentTerm"], by=by)
            self._vote(at, node, before, after, by, node, outcome, first=2)
        elif action in ZOMBIES:
            requests = [self._of_zombie(event, after)]
        is_unheard = action in ZOMBIES
        if action in ("ElectSelf", "PreElectSelf") and before["role"] == "Follower":
            requests, is_unheard = self._of_follower(event, after), True
        for request in requests:
            call = Call(len(self.calls) + 1, request, at, len(self.lives[node]), action == "PipelineSend")
            self.calls.append(call)
            if action == "ZombieReplicateTo":
                self._sends_on(call)
            elif call.pipelined:
                self.pipelines.setdefault((node, request["dst"]), []).append(call)
            elif not is_unheard:
                if call.routine in self.current:
                    self._forget(at, [call.routine], may_arrive=True)
                self.current[call.routine] = call

    def _of_follower(self, event: Tree, shown: Tree) -> list[Tree]:
        """Return the requests of a candidate that a heartbeat has made a follower; nobody awaits the answers."""
        log, snapshot = shown["lastLog"], shown["lastSnapshot"]
        last = log if log["index"] >= snapshot["index"] else snapshot
        place = {"lastLogIndex": last["index"], "lastLogTerm": last["term"]}
        is_vote = event["action"] == "ElectSelf"
        head = {"kind": "request", "src": event["node"], "term": shown["currentTerm"] + (not is_vote), **place}
        head |= {"type": "RequestVote", "leadershipTransfer": False} if is_vote else {"type": "RequestPreVote"}
        peers = set(shown["configurations"]["latest"]["voters"]["#set"]) - {event["node"]}
        return [{**head, "dst": peer} for peer in sorted(peers)]

    def _of_zombie(self, event: Tree, shown: Tree) -> Tree:
        """Return the request of a routine of a leadership that is over; the trace lacks it, as nobody awaits it."""
        zombie, log = event["args"]["zombie"], entries_of(shown)
        address = {"kind": "request", "src": event["node"], "dst": zombie["peer"], "term": zombie["term"]}
        if event["action"] == "ZombieHeartbeat":
            return {**address, "type": "Heartbeat"}
        if event["action"] == "ZombieSendSnapshot":
            raise Unrecordable
        previous = zombie["nextIndex"] - 1
        snapshot = shown["lastSnapshot"]
        term = 0 if previous == 0 else snapshot["term"] if snapshot["index"] == previous else log[previous]["term"]
        entries = [log[previous + 1 + k] for k in range(event["args"]["count"])]
        place = {"prevLogEntry": previous, "prevLogTerm": term, "entries": entries}
        return {**address, "type": "AppendEntries", **place, "leaderCommitIndex": shown["commitIndex"]}

    def _sends_on(self, call: Call) -> None:
        """A routine whose leadership is over sends behind what it has sent: it has a pipeline.

        Behind a single call it would look at stopCh, and end. Source: replicateTo, CHECK_MORE.
        """
        start = call.request["prevLogEntry"]
        for each in self.left:
            m = each.request
            is_before = m["entries"] and m["prevLogEntry"] + len(m["entries"]) == start
            if each.routine == call.routine and m["term"] == call.request["term"] and is_before:
                each.pipelined = call.pipelined = True
        self.left.append(call)

    def _taken(self, at: float, m: Tree) -> tuple[Call, int]:
        """Take a copy of a request from the network."""
        for call in self.calls:
            same = all(call.request.get(name) == part for name, part in m.items() if name != "awaited")
            if same and call.copies and self._is_awaited(call) == m["awaited"]:
                call.used = min(call.used, at + BEGINS)
                return call, call.copies.pop(0)
        raise AssertionError(f"nobody sent {m}")

    def _is_awaited(self, call: Call) -> bool:
        if call.pipelined:
            return call in self.pipelines.get(call.routine[:2], [])
        return self.current.get(call.routine) is call

    def _closes(self, at: float, node: str, after: Tree) -> None:
        """Give up the calls of pipelines that the step has closed."""
        for ends in [each for each in self.pipelines if each[0] == node]:
            if after["replication"][ends[1]]["pipeline"] == "OPEN":
                continue
            for call in self.pipelines.pop(ends):
                call.used = min(call.used, at - 0.01)
                if after["role"] != "Shutdown":
                    fields = {"rpc": call.rpc, "peer": ends[1], "err": "the pipeline was closed"}
                    self._line(at, "rpc_error", node, msg=call.msg, **fields)
                for copy, _, _ in call.answers:
                    back = {"rpc": call.rpc, "copy": copy, "to": node, "reason": "caller_gave_up"}
                    self._line(at, "reply_drop", ends[1], msg=call.msg, **back)
                call.answers = []

    def _network(self, at: float, action: str, m: Tree) -> None:
        if m["kind"] == "response":
            call, copy = self._answer(m)
            self._line(at, "reply_drop", m["src"], msg=call.msg, rpc=call.rpc, copy=copy, to=m["dst"], reason="random")
            return
        call, copy = self._taken(at, m)
        fields = {"msg": call.msg, "rpc": call.rpc, "to": m["dst"]}
        if action == "Lose":
            self._line(at, "drop", m["src"], **fields, copy=copy, reason="random")
            return
        call.copies.insert(0, copy)
        if copy == 1 or 1 in call.copies or call.answers:
            raise Unrecordable  # the recorder's network makes one copy
        call.copies.append(1)
        call.used = min(call.used, at - 0.01)
        self._line(at, "duplicate", m["src"], **fields, copy=1)

    def _answer(self, m: Tree) -> tuple[Call, int]:
        calls = self.pipelines.get((m["dst"], m["src"]), []) if m["type"] == "AppendEntries" else []
        calls = calls or [self.current[m["dst"], m["src"], m["type"]]]
        call, copy = next((call, copy) for call in calls for copy, tree, _ in call.answers if tree == m)
        call.answers = [each for each in call.answers if each[0] != copy]
        return call, copy

    def _reply(self, at: float, m: Tree) -> None:
        """An answer has come, some time before its caller acts on it."""
        routine = m["dst"], m["src"], m["type"]
        pipelined = self.pipelines.get(routine[:2]) if m["type"] == "AppendEntries" else None
        call = pipelined.pop(0) if pipelined else self.current.pop(routine)
        found = [each for each in call.answers if each[1] == m]
        if not found:
            raise Unrecordable  # the answer to a later request that says the same
        _, tree, given = found[0]
        given = max(given, self.ends.get(routine, given) if pipelined is not None else given)
        when = given + (at - 0.01 - given) * self.random.random()
        self._line(
            when, "reply_recv", m["dst"], msg=call.msg, rpc=call.rpc, body=answer_body(tree), **{"from": m["src"]}
        )
        self.ends[call.routine] = when
        call.answers = []

    def _acts_on(self, at: float, event: Tree, before: Tree, after: Tree) -> None:
        node = event["node"]
        self._reply(at, event["args"]["m"])
        if event["action"] in CHANGES:
            by = CHANGES[event["action"]]
            self._role(at, node, before, after, by)
            if after["currentTerm"] != before["currentTerm"]:
                self._line(at, "stable_set", node, key="CurrentTerm", value=after["currentTerm"], by=by)
            if after["leader"] not in (None, before["leader"]):
                self._line(at, "leader_obs", node, leader=after["leader"], by=by)

    def _rpc_error(self, at: float, node: str, peer: str, type_: str) -> None:
        call = self.current.get((node, peer, type_))
        if call is not None:  # those of a pipeline are given up as it is closed
            call.used = min(call.used, at - 0.01)
            self._line(at, "rpc_error", node, msg=call.msg, rpc=call.rpc, peer=peer, err="timeout")
            self._forget(at, [call.routine], may_arrive=False)

    def _gives_up(self, at: float, node: str, before: Tree, after: Tree) -> None:
        """Forget the calls of a campaign or a leadership that has ended; their answers may arrive all the same."""
        types: tuple[str, ...] = ()
        if before["campaign"]["phase"] != after["campaign"]["phase"]:
            types += OF_ELECTIONS
        if before["role"] == "Leader" != after["role"]:
            types += OF_LEADERS
        routines = [each for each in self.current if each[0] == node and each[2] in types]
        self._forget(at, routines, may_arrive=after["role"] != "Shutdown")
        gone = {peer for peer, each in after["replication"].items() if each["term"] == 0}
        removed = [each for each in self.current if each[0] == node and each[2] in OF_LEADERS and each[1] in gone]
        self._forget(at, removed, may_arrive=True)

    def _forget(self, at: float, routines: list[tuple[str, str, str]], may_arrive: bool) -> None:
        for routine in routines:
            call = self.current.pop(routine)
            for copy, tree, given in call.answers:
                fields = {"msg": call.msg, "rpc": call.rpc}
                if may_arrive and copy == 0 and self.random.random() < 0.5:
                    when = given + 0.01 + (at - given) * self.random.random()
                    sender = {"from": routine[1]}
                    self._line(when, "reply_recv", routine[0], **fields, body=answer_body(tree), **sender)
                else:
                    self._line(
                        at, "reply_drop", routine[1], **fields, copy=copy, to=routine[0], reason="caller_gave_up"
                    )
            call.answers = []

    def _sends(self) -> None:
        """Choose when each request was sent: after it was built, before anything else is recorded of it."""
        following: dict[tuple[str, str, str, int], float] = {}
        for call in reversed(self.calls):
            src, dst, type_ = call.routine
            routine = "Heartbeat" if type_ == "Heartbeat" else type_ if type_ in OF_ELECTIONS else "replicate"
            key = (src, dst, routine, call.inc)
            stops = [at for at, _, line in self.lines if line["kind"] == "stopped" and line["node"] == src]
            stop = next((at for at in sorted(stops) if at > call.made), float("inf"))
            until = min(call.used, following.get(key, float("inf")), stop) - 0.02
            late = min(until, call.made + LATE * self.random.random() ** 2)
            when = max(call.made, late) if self.random.random() < 0.7 else call.made
            # A routine builds a request once it has sent the one before, which a single call shows by its answer.
            following[key] = call.made if call.pipelined else when
            mark = {"pipelined": True} if call.pipelined else {}
            self._line(when, "send", src, msg=call.msg, rpc=call.rpc, to=dst, body=body(call.request), **mark)


# ---- The recorder's words ----


def entries_of(shown: Tree) -> dict[int, Tree]:
    return dict(shown["log"]["#map"]) if isinstance(shown["log"], dict) else {}


def members(configuration: Tree) -> str:
    """Return a configuration as the recorder lists it: a member behind `~` has no vote."""
    voters, nonvoters = (sorted(configuration[name]["#set"]) for name in ("voters", "nonvoters"))
    return ",".join([*voters, *(f"~{each}" for each in nonvoters)])


def recorded(index: int, entry: Tree) -> Tree:
    fields = {"i": index, "t": entry["term"], "type": entry["type"]}
    if entry["type"] == "Configuration":
        return {**fields, "v": members(entry["configuration"])}
    return fields if entry["value"] is None else {**fields, "v": entry["value"]}


def persisted(shown: Tree) -> Tree:
    log = [recorded(index, entry) for index, entry in sorted(entries_of(shown).items())]
    ends = {"first": log[0]["i"] if log else 0, "last": log[-1]["i"] if log else 0}
    keys = {"CurrentTerm": shown["currentTerm"], "LastVoteTerm": shown["lastVoteTerm"]}
    fields = {**keys, "LastVoteCand": shown["lastVoteCand"] or "", **ends, "log": log}
    if not shown["snapshots"]:
        return fields
    newest = shown["snapshots"][0]
    return {**fields, "snapshot": {"last_index": newest["index"], "last_term": newest["term"]}}


def fsm_state(shown: Tree) -> Tree:
    applied = shown["fsm"]["applied"]
    last = applied[-1] if applied else {"index": 0, "entry": {"term": 0}}
    return {"count": len(applied), "last_index": last["index"], "last_term": last["entry"]["term"], "digest": 0}


def installed(m: Tree, after: Tree) -> bool:
    place = {name: m["snapshot"][name] for name in ("index", "term")}
    return place in after["snapshots"]


def body(m: Tree) -> Tree:
    """Return the content of a request, as the recorder writes it."""
    match m["type"]:
        case "Heartbeat":
            return {"term": m["term"], "leader": m["src"], "prev_index": 0, "prev_term": 0, "commit": 0, "entries": []}
        case "AppendEntries":
            first = m["prevLogEntry"] + 1
            entries = [recorded(first + k, entry) for k, entry in enumerate(m["entries"])]
            previous = {"prev_index": m["prevLogEntry"], "prev_term": m["prevLogTerm"]}
            fields = {"term": m["term"], "leader": m["src"], **previous}
            return {**fields, "commit": m["leaderCommitIndex"], "entries": entries}
        case "InstallSnapshot":
            snapshot = m["snapshot"]
            place = {"last_index": snapshot["index"], "last_term": snapshot["term"]}
            fields = {"term": m["term"], "leader": m["src"], **place, "size": 1}
            return {
                **fields,
                "config": members(snapshot["configuration"]),
                "config_index": snapshot["configurationIndex"],
            }
        case "TimeoutNow":
            return {"leader": m["src"]}
    fields = {"term": m["term"], "cand": m["src"], "last_index": m["lastLogIndex"], "last_term": m["lastLogTerm"]}
    return {**fields, "transfer": m["leadershipTransfer"]} if m["type"] == "RequestVote" else fields


def answer_body(answer: Tree) -> Tree:
    if "granted" in answer:
        return {"term": answer["term"], "granted": answer["granted"]}
    if answer["type"] == "TimeoutNow":
        return {}
    fields = {"term": answer["term"], "success": answer["success"]}
    if answer["type"] == "InstallSnapshot":
        return fields
    return {
        **fields,
        "last_log": answer.get("lastLog", 0),
        "no_retry_backoff": answer.get("noRetryBackoff", False),
    }


def noting(answer: Callable[..., None], unheard: list[Tree]) -> Callable[..., None]:
    """Let servers note the answers that nobody awaits."""

    def note(server: Server, m: Any, response: Any) -> None:
        if not m.awaited:
            unheard.append(record(response))
        answer(server, m, response)

    return note


# ---- Recordings ----

#: The flaws of a group whose main loops handle the heartbeats.
_FLAWS = {"flaws": sorted(str(each) for each in IN_V173 - {Flaw.HEARTBEAT_RACE})}
_RESTLESS = {**_FLAWS, "timeout": 0.012, "lease": 0.006, "client": 0.1, "zombie": 0.01, "zombie_heartbeat": 0.0033}
_WITHOUT_PRE_VOTE = {"features": sorted(str(each) for each in DEFAULT_FEATURES - {Feature.PRE_VOTE})}
_BESIDE = {"flaws": sorted(map(str, IN_V173)), "timeout": 0.03, "transfer": 0.01}
#: A connection makes no copies.
_PIPELINE = {"features": sorted(map(str, DEFAULT_FEATURES | {Feature.PIPELINE})), "duplicate": 0.0}
_SNAPSHOTS = {"snapshot": 0.03, "trailing_logs": 1, "crash": 0.004, "restart": 0.05}
_CHAOS = {"voters": 5, "max_down": 2, "loss": 0.08, "duplicate": 0.05}

#: Clusters as the recorder's scenarios have them: what goes wrong in each, and how often.
PLANS: dict[str, dict[str, Any]] = {
    "quiet": _FLAWS,
    "restless": _RESTLESS,
    "without pre-votes": {**_RESTLESS, **_WITHOUT_PRE_VOTE},
    "restarts": {**_RESTLESS, "crash": 0.01, "restart": 0.1},
    "chaos among five": {**_RESTLESS, **_CHAOS},
    "snapshots": {**_RESTLESS, **_SNAPSHOTS},
    "snapshots and chaos among five": {**_RESTLESS, **_SNAPSHOTS, **_CHAOS, "trailing_logs": 0},
    "transfers": {**_RESTLESS, "transfer": 0.015, "end_transfer": 0.006},
    "torn votes": {**_RESTLESS, **_WITHOUT_PRE_VOTE, "store_failure": 0.01},
    "barriers": {**_RESTLESS, **_SNAPSHOTS, "barrier": 0.05},
    "members": {**_RESTLESS, "change": 0.05},
    "heartbeats beside": {**_RESTLESS, **_BESIDE},
    "heartbeats beside, without pre-votes": {**_RESTLESS, **_BESIDE, **_WITHOUT_PRE_VOTE},
    "pipelines": {**_RESTLESS, **_PIPELINE, "client": 0.2},
    "pipelines and snapshots": {**_RESTLESS, **_PIPELINE, **_SNAPSHOTS, "client": 0.2, "loss": 0.05},
}

#: The events of a simulated cluster.
EVENTS = 250


def recording(plan: Mapping[str, Any], seed: int) -> list[Tree]:
    """Return the lines of a recording of a simulated cluster."""
    return Recorder(FaultPlan.from_dict({"barrier": 0.0, **plan}), seed).record()


def simulated(plan: str, seed: int, events: int = EVENTS, **changes: Any) -> list[Tree]:
    """Return the lines of a recording of one of PLANS; `changes` are other rates than it has."""
    return recording({**PLANS[plan], **changes, "events": events}, seed)


def written(lines: list[Tree]) -> Iterator[bytes]:
    """Write the lines as the recorder does."""
    yield from (json.dumps(line).encode() + b"\n" for line in lines)
