"""The steps of a node of the reference as the lines that the agent would have written of a node of Java.

A node that runs records the steps that it takes (`lockstep node --record`). Here each is taken once more by the same
core, which must show what was recorded, and stands for the lines that a node of Java would have written.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from lockstep.systems.dledger.push_numbers import Content, PushRef
from lockstep.systems.merged_order import NodeClock, TimedLine
from lockstep.systems.node_files import FileRecord
from raftref.action import NotEnabled
from raftref.dledger.choices import Config
from raftref.dledger.election_rules import VoteCode, vote_code
from raftref.dledger.messages import BatchRequest, CommitRequest, Entry, PushType, Request, Response, Value, VoteMessage
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.storage.entry_coder import to_body
from raftref.runtime.driver import START, NodeStep

#: The bytes of an entry besides its body. Source: DLedgerEntry.HEADER_SIZE, and the body's length.
_HEADER_BYTES = 48
#: Bodies of more bytes are shown by their checksums. Source: Lines.LONGEST_SHOWN of the agent.
_LONGEST_SHOWN = 64

Line: TypeAlias = dict[str, Any]


class _NotTakenError(Exception):
    """The core does not take a step, or shows something else after it."""


def _log(server: Server) -> Line:
    store = server.ledger_store
    return {
        "begin": store.begin_index,
        "end": store.end_index,
        "endTerm": store.end_term,
        "committed": store.committed_index,
    }


def _node(server: Server) -> Line:
    state = server.member_state
    return {"role": state.role.value, "term": state.curr_term, "leader": state.leader_id, **_log(server)}


def shown(value: Value) -> str:
    """Return the value of an entry as the agent's lines show it: a long one by two checksums, of 64 bits together."""
    body = to_body(value)
    if len(body) <= _LONGEST_SHOWN:
        return value
    return f"crc32+adler32:{zlib.crc32(body):08x}{zlib.adler32(body):08x}"


class StepLines:
    """The lines that the steps of a node of the reference stand for."""

    def __init__(self, node: str, members: tuple[str, ...], config: Config, clock: NodeClock) -> None:
        """Begin before its first start."""
        self._node, self._members, self._config, self._clock = node, members, config, clock
        plan = FaultPlan(nodes=len(members), features=config.features, flaws=config.flaws, fifo=False)
        self._arguments = Cluster(plan).arguments
        self._server = Server(node, members, config)
        self._lines: list[Line] = []

    def lines(self, record: FileRecord) -> Iterator[TimedLine]:
        """Yield the lines of a step; raises TraceError where it is none, or not one of the core."""
        step = _recorded_step(record, self._node)
        at = self._clock.read(record)
        try:
            self._take(step)
        except (NotEnabled, _NotTakenError) as error:
            raise record.error(f"{step.action}: {error}") from error
        lines, self._lines = self._lines, []
        for line in lines:
            yield TimedLine(record, at, self._node, line)

    def rest(self) -> tuple[TimedLine, ...]:
        """Return nothing: the lines of a step are known with it."""
        return ()

    def _line(self, kind: str, **fields: Any) -> None:
        self._lines.append({"kind": kind, "node": self._node, **fields})

    def _take(self, step: NodeStep) -> None:
        if step.action == START:
            try:
                self._start(step.shows)
            except KeyError as error:
                raise _NotTakenError(f"field `shows.{error.args[0]}`: missing") from error
            return
        args = self._arguments(step.action, step.args)
        if args is None:
            raise _NotTakenError("no such action, or an argument is missing")
        server = self._server
        before = NodeBefore(server)
        effects = ACTIONS[step.action].perform(server, *args)
        if json.loads(json.dumps(server.observe(with_log=False))) != step.shows:
            raise _NotTakenError("taken once more, the node shows something else")
        self._role_lines(before, step.action, args)
        written = _WRITERS.get(step.action)
        if written is not None:
            written(self, before, args, effects.sent)

    def _start(self, shows: Mapping[str, Any]) -> None:
        server = self._server = Server(self._node, self._members, self._config)
        server.member_state.curr_term, server.member_state.curr_vote_for = shows["currTerm"], shows["currVoteFor"]
        store = server.ledger_store
        store.log = store.disk = tuple(Entry(each["term"], each["value"]) for each in shows["log"])
        store.end_term, store.committed_index = shows["ledgerEndTerm"], shows["committedIndex"]
        store.check_point = shows["checkPoint"]
        entries = [[index, each.term, shown(each.value)] for index, each in enumerate(store.log) if each is not None]
        self._line("start")
        st = _node(server)
        self._line("recovered", currTerm=st["term"], votedFor=shows["currVoteFor"], st=st, log=entries)

    # ---- Roles ----

    def _role_lines(self, before: NodeBefore, action: str, args: list[Any]) -> None:
        """Write a line for each change of role, term and vote, in the order in which DLedger makes them."""
        state, old = self._server.member_state, before.st
        if state.role.value == "CANDIDATE" != old["role"]:
            self._role("changeToCandidate", old["term"], None, before.vote)
        if state.curr_term != old["term"]:
            self._role("nextTerm", state.curr_term, None, None)
        if state.curr_vote_for is not None and (
            state.curr_vote_for != before.vote or self._votes(before, action, args)
        ):
            self._role("setCurrVoteFor", state.curr_term, old["leader"], state.curr_vote_for)
        if state.role.value == "LEADER" != old["role"]:
            self._role("changeToLeader", state.curr_term, state.leader_id, state.curr_vote_for)
        follows = (state.role.value, state.leader_id)
        if state.role.value == "FOLLOWER" and follows != (old["role"], old["leader"]):
            self._role("changeToFollower", state.curr_term, state.leader_id, state.curr_vote_for)

    def _votes(self, before: NodeBefore, action: str, args: list[Any]) -> bool:
        """Return whether a vote is given once more."""
        if action == "HandleOwnVote":
            return self._server.member_state.curr_vote_for == self._node
        if action != "HandleVote":
            return False
        m: VoteMessage = args[0]
        return vote_code(before.member, m, to_self=False) is VoteCode.ACCEPT

    def _role(self, op: str, term: int, leader: str | None, vote: str | None) -> None:
        role = {"changeToLeader": "LEADER", "changeToFollower": "FOLLOWER"}.get(op)
        state, log = self._server.member_state, _log(self._server)
        if role is None:
            role = "CANDIDATE" if op != "setCurrVoteFor" else state.role.value
        self._line(
            "role", op=op, role=role, term=term, leaderId=leader, votedFor=vote, knownMaxTerm=-1,
            endIndex=log["end"], endTerm=log["endTerm"], by="StateMaintainer",
        )  # fmt: skip

    # ---- The follower ----

    def push_arrives(self, before: NodeBefore, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the lines of HandlePush: the request enters a queue, or is refused as one that is there already."""
        m = args[0]
        mid = PushRef("received", content(m))
        self._line("recv_push", mid=mid, **_push_fields(m, self._positions()), st=before.st)
        if isinstance(m, CommitRequest) or m.type is not PushType.APPEND:
            lost = [[index, PushRef("queued", content(each))] for index, each in before.queued.items()]
            if lost and not isinstance(m, CommitRequest):
                self._line("handler", op="clear", q="write", lost=lost)
            self._line("handler", op="enqueue", q="ctrl", mid=mid, type=str(m.type))
            return
        op = "repeated" if sent else "enqueue"
        self._line("handler", op=op, q="write", mid=mid, index=m.index, size=len(self._server.write_request_map))
        if sent:
            self._answer(mid, sent[0], "net")

    def push_is_handled(self, before: NodeBefore, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the lines of HandleDoCompare and its like: taken, written, committed, answered."""
        m = args[0]
        mid = PushRef("queued", content(m))
        is_append = not isinstance(m, CommitRequest) and m.type is PushType.APPEND
        given = {"index": m.index, "done": False} if is_append else {"type": str(m.type)}
        queue = "write" if is_append else "ctrl"
        self._line("handler", op="take", q=queue, mid=mid, reqTerm=m.term, st=before.st, **given)
        committed = self._server.ledger_store.committed_index
        if not isinstance(m, CommitRequest) and m.type is not PushType.COMPARE:
            self._write(before, m, is_ok=sent[0].code == "SUCCESS")
        if committed != before.st["committed"]:
            log = {**_log(self._server), "committed": before.st["committed"]}
            self._store(
                "updateCommittedIndex", log, _log(self._server), "EntryHandler",
                argTerm=m.term, argIndex=m.commit_index, clamped=committed != m.commit_index,
                currTerm=before.st["term"],
            )  # fmt: skip
        if isinstance(m, CommitRequest):
            store = self._server.ledger_store
            echo = m.type, self._node, m.src, m.term, -1, "SUCCESS", store.begin_index, store.end_index
            self._answer(mid, Response(*echo), "EntryHandler")  # type: ignore[arg-type]
        else:
            self._answer(mid, sent[0], "EntryHandler")

    def _write(self, before: NodeBefore, m: Request | BatchRequest, *, is_ok: bool) -> None:
        positions = self._positions()
        op = "appendAsFollower" if m.type is PushType.APPEND else "truncate"
        log = {name: before.st[name] for name in ("begin", "end", "endTerm", "committed")}
        for offset, entry in enumerate(m.entries):
            index = m.index + offset
            after = {**log, "begin": 0, "end": index, "endTerm": entry.term} if is_ok else log
            place = {"index": index, "entryTerm": entry.term, "val": shown(entry.value)}
            place["pos"] = positions.get(index, -1)
            self._store(op, log, after, "EntryHandler", is_ok, **place, leaderTerm=m.term, leaderId=m.src)
            log = after

    def append_is_checked(self, before: NodeBefore, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the lines of CheckAppendFuture: answered, and taken if it is stored already."""
        m = args[0]
        is_taken = m.index not in self._server.write_request_map
        mid = PushRef("queued" if is_taken else "kept", content(m))
        if sent:
            self._answer(PushRef("kept", content(m)), sent[0], "EntryHandler")
        if is_taken:
            given = {"index": m.index, "done": True, "reqTerm": m.term}
            self._line("handler", op="take", q="write", mid=mid, st=before.st, **given)

    def push_is_refused(self, before: NodeBefore, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the line of ClearCompareOrTruncateRequests."""
        for answer in sent:
            self._answer(PushRef("queued", content(args[0])), answer, "EntryHandler")

    def _answer(self, mid: Any, m: Response, by: str) -> None:
        answer = {"to": m.dst, **_answer_fields(m)}
        self._line("resp_push", mid=mid, **answer, st=_node(self._server), by=by)

    # ---- The leader ----

    def entry_is_appended(self, before: NodeBefore, args: list[Any], _: tuple[Any, ...]) -> None:
        """Write the lines of AppendAsLeader: the store's, and that of the own watermark."""
        after, place = _log(self._server), self._place(self._server.ledger_store.end_index)
        self._store("appendAsLeader", {name: before.st[name] for name in after}, after, "net", **place)
        self._mark(before, self._node, "net")

    def push_is_sent(self, before: NodeBefore, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the line of a push, and before it that of a dispatcher that begins to serve another leadership."""
        peer, positions = args[0], self._positions()
        old, new = before.dispatchers[peer], _dispatcher(self._server, peer)
        if new["term"] != old["term"]:
            fresh = {**old, "term": new["term"]}
            self._change(peer, old["type"], "COMPARE", -1, fresh, "EntryDispatcher")
        for m in sent:
            if isinstance(m, Request) and m.type is not PushType.APPEND:
                shown = {**new, "compareIndex": m.index if m.type is PushType.COMPARE else old["compareIndex"]}
            elif isinstance(m, BatchRequest):
                shown = {**old, "writeIndex": new["writeIndex"]}
            else:
                shown = old
            fields = _push_fields(m, positions)
            self._line("send_push", mid=PushRef("sent", content(m)), **fields, disp=shown, st=before.st)

    def answer_arrives(self, before: NodeBefore, args: list[Any], _: tuple[Any, ...]) -> None:
        """Write the lines of an answer: it arrives, and the dispatcher or the watermark changes."""
        m: Response = args[0]
        peer = m.src
        old, new = before.dispatchers[peer], _dispatcher(self._server, peer)
        self._line(
            "recv_resp_push", mid=PushRef("answer", answer_content(m)), **{"from": peer}, **_answer_fields(m), disp=old
        )
        by = "net" if m.type is PushType.APPEND else "EntryDispatcher"
        if new["type"] != old["type"]:
            at = {"COMPARE": -1, "TRUNCATE": before.truncate_index(self._server, peer), "APPEND": new["writeIndex"] - 1}
            self._change(peer, old["type"], new["type"], at[new["type"]], old, by)
        elif m.type is PushType.COMPARE and m.code not in ("SUCCESS", "INCONSISTENT_STATE"):
            self._change(peer, old["type"], "COMPARE", -1, old, by)  # an error, after which it begins again
        self._mark(before, peer, by)

    def push_times_out(self, before: NodeBefore, args: list[Any], _: tuple[Any, ...]) -> None:
        """Write the line of a dispatcher that waits no more, and compares again."""
        old = before.dispatchers[args[0]]
        self._change(args[0], old["type"], "COMPARE", -1, old, "EntryDispatcher")

    def quorum_is_checked(self, before: NodeBefore, _: list[Any], __: tuple[Any, ...]) -> None:
        """Write the line of a committed index that the checker moves."""
        after, server = _log(self._server), self._server
        if after["committed"] != before.st["committed"]:
            index = server.last_quorum_index
            given = {"argTerm": before.st["term"], "argIndex": index, "clamped": index != after["committed"]}
            old = {name: before.st[name] for name in after}
            self._store("updateCommittedIndex", old, after, "QuorumAckChecker", **given, currTerm=before.st["term"])

    def own_mark_is_refreshed(self, before: NodeBefore, _: list[Any], __: tuple[Any, ...]) -> None:
        """Write the line of the own watermark."""
        self._mark(before, self._node, "QuorumAckChecker")

    def check_point_is_written(self, before: NodeBefore, _: list[Any], __: tuple[Any, ...]) -> None:
        """Write the line of the checkpoint."""
        self._line("checkpoint", endIndex=before.st["end"], committedIndex=before.st["committed"])

    def _change(self, peer: str, source: str, to: str, at: int, disp: Line, by: str) -> None:
        change = {"peer": peer, "from": source, "to": to, "at": at}
        self._line("dispatcher", op="changeState", **change, disp=disp, by=by)

    def _mark(self, before: NodeBefore, peer: str, by: str) -> None:
        old, marks = before.marks[peer], dict(self._server.peer_water_marks)
        if marks[peer] != old:
            change = {"peer": peer, "index": marks[peer], "prev": old, "marks": marks}
            self._line("watermark", op="put", term=self._server.member_state.curr_term, **change, by=by)

    def _store(self, op: str, before: Line, after: Line, by: str, is_ok: bool = True, **given: Any) -> None:
        self._line("store", op=op, ok=is_ok, **given, pre=before, st=after, by=by)

    def _positions(self) -> dict[int, int]:
        """Return the position of each entry in the data file."""
        positions, at = {}, 0
        for index, entry in enumerate(self._server.ledger_store.log):
            positions[index] = at
            at += _HEADER_BYTES + (0 if entry is None else len(to_body(entry.value)))
        return positions

    def _place(self, index: int) -> Line:
        entry = self._server.ledger_store.log[index]
        assert entry is not None
        return {"index": index, "entryTerm": entry.term, "val": shown(entry.value), "pos": self._positions()[index]}


class NodeBefore:
    """A node before a step."""

    def __init__(self, server: Server) -> None:
        """Keep it."""
        self.st = _node(server)
        self.vote = server.member_state.curr_vote_for
        self.member = server.member()
        self.marks = dict(server.peer_water_marks)
        self.dispatchers = {peer: _dispatcher(server, peer) for peer in server.peers}
        self.queued = dict(server.write_request_map)

    def truncate_index(self, server: Server, peer: str) -> int:
        """Return where a dispatcher is to cut."""
        return server.dispatchers[peer].truncate_index


def _dispatcher(server: Server, peer: str) -> Line:
    state = server.dispatchers[peer]
    return {
        "type": state.type.value,
        "compareIndex": state.compare_index,
        "writeIndex": state.write_index,
        "term": state.term,
        "pending": len(state.pendings),
    }


_WRITERS: Mapping[str, Any] = {
    "HandlePush": StepLines.push_arrives,
    "HandleDoCompare": StepLines.push_is_handled,
    "HandleDoTruncate": StepLines.push_is_handled,
    "HandleDoAppend": StepLines.push_is_handled,
    "HandleDoBatchAppend": StepLines.push_is_handled,
    "HandleDoCommit": StepLines.push_is_handled,
    "CheckAppendFuture": StepLines.append_is_checked,
    "ClearCompareOrTruncateRequests": StepLines.push_is_refused,
    "AppendAsLeader": StepLines.entry_is_appended,
    "AppendInBatch": StepLines.entry_is_appended,
    "DoCompare": StepLines.push_is_sent,
    "DoTruncate": StepLines.push_is_sent,
    "DoAppend": StepLines.push_is_sent,
    "DoBatchAppend": StepLines.push_is_sent,
    "DoCheckAppendResponse": StepLines.push_is_sent,
    "DoCheckBatchAppendResponse": StepLines.push_is_sent,
    "DoCommit": StepLines.push_is_sent,
    "HandleCompareResponse": StepLines.answer_arrives,
    "HandleTruncateResponse": StepLines.answer_arrives,
    "HandleAppendResponse": StepLines.answer_arrives,
    "PushTimeOut": StepLines.push_times_out,
    "QuorumAckChecker": StepLines.quorum_is_checked,
    "ActOnQuorumIndex": StepLines.quorum_is_checked,
    "RefreshOwnWaterMark": StepLines.own_mark_is_refreshed,
    "PersistCheckPoint": StepLines.check_point_is_written,
}


# ---- Messages ----


def content(m: Request | BatchRequest | CommitRequest) -> Content:
    """Return what makes a push: all but whether its caller waits."""
    entries: tuple[Any, ...] = ()
    if not isinstance(m, CommitRequest):
        entries = tuple((m.index + offset, each.term, shown(each.value)) for offset, each in enumerate(m.entries))
    return str(m.type), m.src, m.dst, m.term, entries, m.commit_index


def _push_fields(m: Request | BatchRequest | CommitRequest, positions: Mapping[int, int]) -> Line:
    fields: Line = {"type": str(m.type), "leaderId": m.src, "remoteId": m.dst, "term": m.term}
    if isinstance(m, BatchRequest):
        entries = [list(each) for each in content(m)[4]]
        fields |= {"index": m.index, "count": len(entries), "entries": entries}
    elif isinstance(m, Request):
        place = {"index": m.index, "entryTerm": m.entry.term, "val": shown(m.entry.value)}
        fields |= {**place, "pos": positions.get(m.index, 0)}
    return fields | {"commitIndex": m.commit_index}


def _answer_fields(m: Response) -> Line:
    place = {"index": None if m.index == -1 else m.index, "count": getattr(m, "count", 1)}
    ends = {"beginIndex": m.begin_index, "endIndex": m.end_index}
    return {"type": str(m.type), "code": str(m.code), "term": m.term, **place, **ends}


def answer_content(m: Response) -> Content:
    """Return what makes an answer."""
    return str(m.type), m.src, m.dst, m.term, m.index, str(m.code), m.begin_index, m.end_index


# ---- Records ----


def _recorded_step(record: FileRecord, node: str) -> NodeStep:
    step = record.step()
    if step.node != node:
        raise record.error(f"field `node`: {step.node!r}, and the lines above are of {node!r}")
    return step
