"""The steps of a server of the reference as the lines that the Go recorder would have written of it.

A server that runs records the steps that it takes (`lockstep node --record`). Here each is taken once more by the same
core, whose writes, changes of role and messages are the lines. A step after which the server showed something else than
the core does now is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lockstep.systems.hashicorp.lost_writes import COMPACTION
from lockstep.systems.hashicorp.recording_lines import BEGINS_ANEW, COMPLETE, DENIED
from lockstep.systems.merged_order import NodeClock, TimedLine
from lockstep.systems.node_files import FileRecord
from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature
from raftref.hashicorp.failures import restart, start
from raftref.hashicorp.hashicorp_raft import ACTIONS, observe
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InstallSnapshotRequest,
    InstallSnapshotResponse,
    Message,
    Request,
    RequestPreVoteRequest,
    RequestVoteRequest,
    Response,
    RpcType,
)
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster, FaultPlan
from raftref.hashicorp.state import Role
from raftref.hashicorp.stores import Stores, bootstrap_cluster
from raftref.hashicorp.values import Configuration, EntryType, Index, Log, NodeId, Snapshot, Term
from raftref.runtime.driver import START, NodeStep

#: The fields of a line.
Line = dict[str, Any]

#: The functions of the library in which a step writes, or changes the role: the inner one, and its caller.
FUNCTIONS = {
    "HeartbeatTimeout": "runFollower<run",
    "ElectSelf": "electSelf<runCandidate",
    "HandleRequestVoteResponse": "runCandidate<run",
    "HandleRequestPreVoteResponse": "runCandidate<run",
    "DispatchNoop": "dispatchLogs<runLeader",
    "DispatchLogs": "dispatchLogs<leaderLoop",
    "AppendConfigurationEntry": "dispatchLogs<appendConfigurationEntry",
    "StepDown": "leaderLoop<runLeader",
    "CheckLeaderLease": "checkLeaderLease<leaderLoop",
    "HandleVerify": "leaderLoop<runLeader",
    "AppendEntries": "appendEntries<processRPC",
    "InstallSnapshot": "installSnapshot<processRPC",
    "RequestVote": "requestVote<processRPC",
    "TimeoutNow": "timeoutNow<processRPC",
    "PersistSnapshot": "takeSnapshot<runSnapshots",
}

#: What a server shows of its stores.
DURABLE = ("currentTerm", "lastVoteTerm", "lastVoteCand", "log", "snapshots")


class _NotTakenError(Exception):
    """A step that cannot be lines: one of another server, or that the core does not take."""


# ---- Values ----------------------------------------------------------------------------------------------


def entry_line(log: Log) -> Line:
    """Return an entry as a line has it."""
    line: Line = {"i": log.index, "t": log.entry.term, "type": log.entry.type.value}
    match log.entry.type:
        case EntryType.COMMAND:
            line["v"] = log.entry.value
        case EntryType.CONFIGURATION:
            line["v"] = _members(log.entry.configuration)
    return line


def _members(configuration: Configuration) -> str:
    """Return a configuration as a line has it; a member behind `~` has no vote."""
    return ",".join([*sorted(configuration.voters), *(f"~{each}" for each in sorted(configuration.nonvoters))])


def _persisted(stores: Stores, *, has_commit: bool) -> Line:
    logs = [Log(index, entry) for index, entry in sorted(stores.logs.items())]
    found: Line = {
        "CurrentTerm": stores.current_term,
        "LastVoteTerm": stores.last_vote_term,
        "LastVoteCand": stores.last_vote_cand or "",
        "first": stores.first_index(),
        "last": stores.last_index(),
        "log": [entry_line(each) for each in logs],
    }
    if has_commit:
        found["commit"] = stores.commit_index
    for newest in stores.snapshots[:1]:
        found["snapshot"] = {"last_index": newest.index, "last_term": newest.term}
    return found


def _request_body(m: Request) -> Line:
    match m:
        case AppendEntriesRequest():
            logs = [Log(Index(k), entry) for k, entry in enumerate(m.entries, m.prev_log_entry + 1)]
            place = {"prev_index": m.prev_log_entry, "prev_term": m.prev_log_term}
            entries = [entry_line(each) for each in logs]
            return {"term": m.term, "leader": m.src, **place, "commit": m.leader_commit_index, "entries": entries}
        case HeartbeatRequest():
            none: Line = {"prev_index": 0, "prev_term": 0, "commit": 0, "entries": []}
            return {"term": m.term, "leader": m.src, **none}
        case RequestVoteRequest() | RequestPreVoteRequest():
            body = {"term": m.term, "cand": m.src, "last_index": m.last_log_index, "last_term": m.last_log_term}
            return body | ({"transfer": m.leadership_transfer} if isinstance(m, RequestVoteRequest) else {})
        case InstallSnapshotRequest():
            snapshot = m.snapshot
            place = {"last_index": snapshot.index, "last_term": snapshot.term}
            configuration = {"config": _members(snapshot.configuration), "config_index": snapshot.configuration_index}
            return {"term": m.term, "leader": m.src, "size": 0, **place, **configuration}
    return {"leader": m.src}


def _answer_body(m: Response, last_log: Index) -> Line:
    match m:
        case AppendEntriesResponse():
            end = {"last_log": m.last_log, "no_retry_backoff": m.no_retry_backoff}
            return {"term": m.term, "success": m.success, **end}
        case HeartbeatResponse():
            return {"term": m.term, "success": m.success, "last_log": last_log, "no_retry_backoff": False}
        case InstallSnapshotResponse():
            return {"term": m.term, "success": m.success}
    if m.type is RpcType.TIMEOUT_NOW:
        return {}
    return {"term": m.term, "granted": m.granted}  # type: ignore[attr-defined]


def _message(m: Message) -> str:
    return "AppendEntries" if m.type is RpcType.HEARTBEAT else m.type.value


# ---- The server ------------------------------------------------------------------------------------------


def _features(header: Mapping[str, Any]) -> frozenset[Feature]:
    without = frozenset() if header["prevote"] else {Feature.PRE_VOTE}
    optional = {"pipeline": Feature.PIPELINE, "restore_committed_logs": Feature.RESTORE_COMMITTED_LOGS}
    return (DEFAULT_FEATURES | {feature for name, feature in optional.items() if header.get(name)}) - without


class _WritingServer(Server):
    """A server whose writes and changes of role become lines, in the order of the library."""

    #: Shared by the copies on which steps are tried.
    lines: list[Line]
    function = ""

    def add(self, kind: str, by: str | None = None, **fields: Any) -> None:
        """Add a line of what is happening now."""
        role = {"role": self.role.value, "term": self.current_term, "commit": self.commit_index}
        obs = {**role, "last": self.last_index, "applied": self.last_applied}
        self.lines.append({"kind": kind, **fields, **({} if by is None else {"by": by}), "obs": obs})

    def set_current_term(self, term: Term) -> None:
        super().set_current_term(term)
        self._set("CurrentTerm", term)

    def persist_vote(self, term: Term, candidate: NodeId) -> None:
        super().persist_vote(term, candidate)
        self._set("LastVoteTerm", term)
        self._set("LastVoteCand", candidate)

    def _set(self, key: str, value: Term | NodeId) -> None:
        self.add("stable_set", self.function, key=key, value=value)

    def store_logs(self, logs: Sequence[Log]) -> None:
        super().store_logs(logs)
        kept = {"commit": self.stores.commit_index} if self.has(Feature.RESTORE_COMMITTED_LOGS) else {}
        self.add("store_logs", self.function, entries=[entry_line(each) for each in logs], **kept)

    def delete_range(self, least: Index, greatest: Index) -> None:
        gone = [{"i": at, "t": self.log[at].term} for at in sorted(self.log) if least <= at <= greatest]
        super().delete_range(least, greatest)
        truncates = self.function.startswith("appendEntries")
        why, by = ("truncate", self.function) if truncates else ("compact", COMPACTION)
        self.add("delete_range", by, min=least, max=greatest, why=why, gone=gone)

    def save_snapshot(self, snapshot: Snapshot) -> None:
        super().save_snapshot(snapshot)
        self.add("snapshot_saved", self.function, last_index=snapshot.index, last_term=snapshot.term)

    def set_state(self, role: Role) -> None:
        before = self.role
        super().set_state(role)
        if role is not before:
            self.add("state", self.function, state=role.value)


class StepLines:
    """Makes lines of the steps of one server.

    The lines of a step are known once the next one is: a process that is killed may have recorded a step whose writes
    are not in its stores.
    """

    def __init__(
        self, node: NodeId, nodes: Sequence[NodeId], voters: int, header: FileRecord, clock: NodeClock
    ) -> None:
        """Begin with a server that was never started.

        Args:
            node: The server.
            nodes: All servers, first those that vote in the first configuration.
            voters: How many those are.
            header: The header of the recorder of another server, which has the bounds; the flaws are those of v1.7.3.
            clock: That of the steps.
        """
        config = header.fields["config"]
        plan = FaultPlan(
            voters=voters,
            spares=len(nodes) - voters,
            features=_features(header.fields),
            flaws=IN_V173,
            max_append_entries=config["max_append_entries"],
            trailing_logs=config["trailing_logs"],
        )
        self._cluster, self._first, self._clock = Cluster(plan), plan.configuration, clock
        if tuple(nodes) != plan.node_ids:
            problem = f"a server of the reference takes part, and the servers are not {', '.join(plan.node_ids)}"
            raise header.error(f"{problem}, but {', '.join(nodes)}")
        self._heartbeat_timeout_ms = config["heartbeat_timeout_ms"]
        self._server = _WritingServer(node, nodes, self._cluster.servers[node].config, Stores())
        self._server.lines = []
        #: The stores before the last step, and the lines of that.
        self._before: Stores | None = None
        self._last: list[TimedLine] = []
        self._calls: dict[tuple[NodeId, RpcType], int] = {}
        #: The calls of the pipeline to a peer that have no answer, in their order.
        self._pipelines: dict[NodeId, list[int]] = {}
        self._call_count = 0
        self._transfer_count = self._question_count = 0

    def lines(self, record: FileRecord) -> Iterator[TimedLine]:
        """Yield the lines of the step before; raises TraceError where this is none, or not one of the core."""
        step = record.step()
        at = self._clock.read(record)
        try:
            if step.node != self._server.node_id:
                raise _NotTakenError(f"this is a step of {step.node}")
            if step.action == START:
                self._start(step)
                yield from self._last
            else:
                yield from self._last
                self._before = self._server.stores
                self._take(step)
        except _NotTakenError as error:
            raise record.error(f"{step.action}: {error}") from error
        self._last = [TimedLine(record, at, step.node, {"node": step.node, **line}) for line in self._server.lines]
        self._server.lines.clear()

    def rest(self) -> list[TimedLine]:
        """Return the lines of the last step."""
        return self._last

    # ---- Lives ----

    def _start(self, step: NodeStep) -> None:
        server = self._server
        found = _durable_shown(step)
        if self._before is None:
            if step.shows["log"]["#map"]:
                server.stores = bootstrap_cluster(self._first)
            start(server)
        else:
            if self._durable() != found:
                # Its writes are all durable or none, so the last step of a process may have left nothing.
                server.stores = self._before
                self._last.clear()
            server.go_down()
            restart(server)
        if self._durable() != found:
            raise _NotTakenError("its stores are not those that its steps led to")
        self._calls, self._pipelines = {}, {}
        found_there = _persisted(server.stores, has_commit=server.has(Feature.RESTORE_COMMITTED_LOGS))
        timeout = {"heartbeat_timeout_ms": self._heartbeat_timeout_ms}
        server.lines.append({"kind": "start", "persisted": found_there, **timeout})
        server.lines.append({"kind": "started"})
        if server.fsm.applied:
            none = {"count": 0, "last_index": 0, "last_term": 0, "digest": 0}
            server.add("fsm_restore", before=none, state=self._fsm())
        self._before = server.stores

    def _durable(self) -> Line:
        shown = observe(self._server)
        return {name: shown[name] for name in DURABLE}

    # ---- Steps ----

    def _take(self, step: NodeStep) -> None:
        server = self._server
        args = self._cluster.arguments(step.action, step.args)
        if args is None or not ACTIONS[step.action].enabled(server, *args):
            raise _NotTakenError("the step cannot be taken")
        before = copy.copy(server)
        server.function = FUNCTIONS.get(step.action, "")
        self._before_step(step, args)
        effects = ACTIONS[step.action].perform(server, *args)
        shown = observe(server)
        for name, value in step.shows.items():
            if shown.get(name) != value:
                raise _NotTakenError(f"{name} is {value}, not {shown.get(name)}")
        self._after_step(step, before)
        for m in effects.sent:
            self._sent(m, before)

    def _before_step(self, step: NodeStep, args: Sequence[Any]) -> None:
        """Add the lines with which a step begins: what has arrived, or what is asked for."""
        server, m = self._server, args[0] if args else None
        match m:
            case Request():
                server.add("recv", rpc=0, copy=0, msg=_message(m), **{"from": m.src}, body=_request_body(m))
            case Response():
                body = _answer_body(m, Index(0))
                number = self._end_call(m)
                server.add("reply_recv", rpc=number, msg=_message(m), **{"from": m.src}, body=body)
        match step.action:
            case "LeadershipTransfer":
                self._transfer_count += 1
                server.add("transfer_req", to=m, k=self._transfer_count)
            case "VerifyLeader":
                self._question_count += 1
                server.add("verify_req", k=self._question_count)
            case "HandleVerify" if not server.verification.is_verified:
                server.add("liblog", level="warn", text=DENIED, args={})
            case "ElectionTimeout":
                server.add("liblog", level="warn", text=BEGINS_ANEW, args={})
            case "TakeSnapshot":
                server.add("fsm_snapshot", state=self._fsm())
            case "RPCError":
                peer, type_ = args
                if type_ is RpcType.APPEND_ENTRIES and server.replication(peer).has_pipeline:
                    return
                msg = "AppendEntries" if type_ is RpcType.HEARTBEAT else type_.value
                number = self._calls.pop((peer, type_), 0)
                server.add("rpc_error", rpc=number, msg=msg, peer=peer, err="the call has failed")

    def _end_call(self, m: Response) -> int:
        """Return the number of the call that an answer is to."""
        if m.type is RpcType.APPEND_ENTRIES and self._server.replication(m.src).has_pipeline:
            return self._pipelines[m.src].pop(0)
        return self._calls.pop((m.src, m.type), 0)

    def _close_pipelines(self) -> None:
        """Add the lines of calls that got no answer before their pipeline was closed."""
        server = self._server
        for peer in [each for each in self._pipelines if not server.replication(each).has_pipeline]:
            for number in self._pipelines.pop(peer):
                server.add("rpc_error", rpc=number, msg="AppendEntries", peer=peer, err="the pipeline was closed")

    def _after_step(self, step: NodeStep, before: Server) -> None:
        """Add the lines that a step leads to besides its writes and messages."""
        server = self._server
        self._close_pipelines()
        if not server.is_up:
            self._goes_down(before)
            return
        if server.leader != before.leader:
            server.add("leader_obs", server.function or "?", leader=server.leader or "")
        match step.action:
            case "EndTransfer":
                to = before.transfer.to or ""
                server.add("transfer_resp", to=to, k=self._transfer_count, ok=True)
            case "HandleVerify":
                server.add("verify_resp", k=self._question_count, ok=before.verification.is_verified)
            case "CompactLogs":
                server.add("liblog", level="info", text=COMPLETE, args={})
            case "InstallSnapshot" if server.fsm is not before.fsm:
                self._restored(before)
            case "ApplyFsm":
                for count in range(len(before.fsm.applied), len(server.fsm.applied)):
                    log = server.fsm.applied[count]
                    place: Line = {"i": log.index, "t": log.entry.term, "v": log.entry.value}
                    server.add("fsm_apply", **place, count=count + 1, digest=0)

    def _goes_down(self, before: Server) -> None:
        """Add the line of a leader that has committed its own removal, which its atomics outlast."""
        role = {"role": "Shutdown", "term": before.current_term, "commit": before.commitment.commit_index}
        obs = {**role, "last": before.last_index, "applied": before.last_applied}
        self._server.lines.append({"kind": "state", "state": "Shutdown", "by": "Shutdown", "obs": obs})

    def _restored(self, before: Server) -> None:
        """Add the line of a state machine that begins anew: behind the saving, before the log is compacted."""
        server = self._server
        server.add("fsm_restore", before=self._fsm(before), state=self._fsm())
        line = server.lines.pop()
        saved = next(k for k, each in enumerate(server.lines) if each["kind"] == "snapshot_saved")
        server.lines.insert(saved + 1, line)

    def _fsm(self, server: Server | None = None) -> Line:
        fsm = (server or self._server).fsm
        return {"count": len(fsm.applied), "last_index": fsm.last.index, "last_term": fsm.last.term, "digest": 0}

    def _sent(self, m: Message, before: Server) -> None:
        server = self._server
        if isinstance(m, Request):
            self._call_count += 1
            pipelined = m.type is RpcType.APPEND_ENTRIES and m.awaited and server.replication(m.dst).has_pipeline
            if pipelined:
                self._pipelines.setdefault(m.dst, []).append(self._call_count)
            elif m.awaited:
                self._calls[m.dst, m.type] = self._call_count
            mark: Line = {"pipelined": True} if pipelined else {}
            server.add("send", rpc=self._call_count, msg=_message(m), to=m.dst, body=_request_body(m), **mark)
        elif isinstance(m, Response):
            body = _answer_body(m, before.last_index)
            server.add("respond", rpc=0, copy=0, msg=_message(m), to=m.dst, body=body)


# ---- Records ----


def _durable_shown(step: NodeStep) -> Mapping[str, Any]:
    missing = [name for name in DURABLE if name not in step.shows]
    if missing:
        raise _NotTakenError(f"field `shows.{missing[0]}`: missing")
    return {name: step.shows[name] for name in DURABLE}
