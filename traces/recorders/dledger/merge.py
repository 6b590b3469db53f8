"""Merge the files that nodes of one DLedger group wrote on one host into one recording, for `lockstep check`.

    python traces/recorders/dledger/merge.py OUT --version 0.2.7 n0.rec n1.rec n2.steps.ndjson

A node of Java writes its lines by the agent beside this script, a node of the reference its steps
(`lockstep node --record`); both carry the time of one clock, CLOCK_MONOTONIC. The steps are taken once more by the same
core, which must show what they show, and stand for the lines that a node of Java would have written. A node may have
been of either kind at different times.

A node of Java names a push by the number of its frame, which a step has not: a push that a node of the reference sent
or received is the first one under way with the same content, of those that were not given up if it can be. Two with the
same content are one to the spec.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from raftref.action import NotEnabled
from raftref.dledger.choices import IN_0_2_7, Config, Feature, Flaw
from raftref.dledger.election_rules import VoteCode, vote_code
from raftref.dledger.messages import BatchRequest, CommitRequest, Entry, PushType, Request, Response, VoteMessage
from raftref.dledger.runtime.driver import RUNNING
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.storage.entry_coder import to_body
from raftref.runtime.driver import START

#: What differs between versions: features, and flaws that are repaired.
VERSIONS: Mapping[str, tuple[frozenset[Feature], frozenset[Flaw]]] = {
    "0.2.7": (frozenset(), IN_0_2_7),
    "0.3.1.2": (frozenset({Feature.NOT_FOLLOWER}), IN_0_2_7 - {Flaw.APPLY_UNCLAMPED}),
}
#: The bytes of an entry besides its body. Source: DLedgerEntry.HEADER_SIZE, and the body's length.
_HEADER_BYTES = 48
Line = dict[str, Any]


class MergeError(Exception):
    """The files of the nodes do not fit together; the message names the file and the line."""


# ---- A node of the reference ----


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


class Steps:
    """The lines that the steps of a node of the reference stand for."""

    def __init__(self, path: Path, node: str, members: tuple[str, ...], config: Config) -> None:
        """Begin before its first start."""
        self._path, self._node, self._members, self._config = path, node, members, config
        plan = FaultPlan(nodes=len(members), features=config.features, flaws=config.flaws, fifo=False)
        self._arguments = Cluster(plan).arguments
        self._server = Server(node, members, config)
        self._lines: list[Line] = []

    def lines(self) -> Iterator[tuple[int, Line]]:
        """Yield each line with its time in nanoseconds."""
        for number, step in whole_lines(self._path):
            try:
                at = int(step["at"] * 1e9)
                self._take(step)
            except (NotEnabled, LookupError, MergeError) as error:
                raise MergeError(f"{self._path}:{number}: {step.get('action')}: {error}") from error
            for line in self._lines:
                yield at, line
            self._lines = []

    def _line(self, kind: str, **fields: Any) -> None:
        self._lines.append({"kind": kind, "node": self._node, **fields})

    def _take(self, step: Line) -> None:
        if step["action"] == START:
            self._start(step["shows"])
            return
        args = self._arguments(step["action"], step["args"])
        if args is None:
            raise MergeError("no such action, or an argument is missing")
        server = self._server
        before = Before(server)
        effects = ACTIONS[step["action"]].perform(server, *args)
        if json.loads(json.dumps(server.observe(with_log=False))) != step["shows"]:
            raise MergeError("taken once more, the node shows something else")
        self._role_lines(before, step["action"], args)
        written = _WRITERS.get(step["action"])
        if written is not None:
            written(self, before, args, effects.sent)

    def _start(self, shows: Mapping[str, Any]) -> None:
        server = self._server = Server(self._node, self._members, self._config)
        server.member_state.curr_term, server.member_state.curr_vote_for = shows["currTerm"], shows["currVoteFor"]
        store = server.ledger_store
        store.log = store.disk = tuple(Entry(each["term"], each["value"]) for each in shows["log"])
        store.end_term, store.committed_index = shows["ledgerEndTerm"], shows["committedIndex"]
        store.check_point = shows["checkPoint"]
        entries = [[index, each.term, each.value] for index, each in enumerate(store.log) if each is not None]
        self._line("start")
        st = _node(server)
        self._line("recovered", currTerm=st["term"], votedFor=shows["currVoteFor"], st=st, log=entries)

    # ---- Roles ----

    def _role_lines(self, before: Before, action: str, args: list[Any]) -> None:
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

    def _votes(self, before: Before, action: str, args: list[Any]) -> bool:
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

    def push_arrives(self, before: Before, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the lines of HandlePush: the request enters a queue, or is refused as one that is there already."""
        m = args[0]
        mid = ("received", content(m))
        self._line("recv_push", mid=mid, **_push_fields(m, self._positions()), st=before.st)
        if isinstance(m, CommitRequest) or m.type is not PushType.APPEND:
            lost = [[index, ("queued", content(each))] for index, each in before.queued.items()]
            if lost and not isinstance(m, CommitRequest):
                self._line("handler", op="clear", q="write", lost=lost)
            self._line("handler", op="enqueue", q="ctrl", mid=mid, type=str(m.type))
            return
        op = "repeated" if sent else "enqueue"
        self._line("handler", op=op, q="write", mid=mid, index=m.index, size=len(self._server.write_request_map))
        if sent:
            self._answer(mid, sent[0], "net")

    def push_is_handled(self, before: Before, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the lines of HandleDoCompare and its like: taken, written, committed, answered."""
        m = args[0]
        mid = ("queued", content(m))
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

    def _write(self, before: Before, m: Request | BatchRequest, *, is_ok: bool) -> None:
        positions = self._positions()
        op = "appendAsFollower" if m.type is PushType.APPEND else "truncate"
        log = {name: before.st[name] for name in ("begin", "end", "endTerm", "committed")}
        for offset, entry in enumerate(m.entries):
            index = m.index + offset
            after = {**log, "begin": 0, "end": index, "endTerm": entry.term} if is_ok else log
            place = {"index": index, "entryTerm": entry.term, "val": entry.value, "pos": positions.get(index, -1)}
            self._store(op, log, after, "EntryHandler", is_ok, **place, leaderTerm=m.term, leaderId=m.src)
            log = after

    def append_is_checked(self, before: Before, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the lines of CheckAppendFuture: answered, and taken if it is stored already."""
        m = args[0]
        is_taken = m.index not in self._server.write_request_map
        mid = ("queued" if is_taken else "kept", content(m))
        if sent:
            self._answer(("kept", content(m)), sent[0], "EntryHandler")
        if is_taken:
            given = {"index": m.index, "done": True, "reqTerm": m.term}
            self._line("handler", op="take", q="write", mid=mid, st=before.st, **given)

    def push_is_refused(self, before: Before, args: list[Any], sent: tuple[Any, ...]) -> None:
        """Write the line of ClearCompareOrTruncateRequests."""
        for answer in sent:
            self._answer(("queued", content(args[0])), answer, "EntryHandler")

    def _answer(self, mid: Any, m: Response, by: str) -> None:
        answer = {"to": m.dst, **_answer_fields(m)}
        self._line("resp_push", mid=mid, **answer, st=_node(self._server), by=by)

    # ---- The leader ----

    def entry_is_appended(self, before: Before, args: list[Any], _: tuple[Any, ...]) -> None:
        """Write the lines of AppendAsLeader: the store's, and that of the own watermark."""
        after, place = _log(self._server), self._place(self._server.ledger_store.end_index)
        self._store("appendAsLeader", {name: before.st[name] for name in after}, after, "net", **place)
        self._mark(before, self._node, "net")

    def push_is_sent(self, before: Before, args: list[Any], sent: tuple[Any, ...]) -> None:
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
            self._line("send_push", mid=("sent", content(m)), **fields, disp=shown, st=before.st)

    def answer_arrives(self, before: Before, args: list[Any], _: tuple[Any, ...]) -> None:
        """Write the lines of an answer: it arrives, and the dispatcher or the watermark changes."""
        m: Response = args[0]
        peer = m.src
        old, new = before.dispatchers[peer], _dispatcher(self._server, peer)
        self._line("recv_resp_push", mid=("answer", answer_content(m)), **{"from": peer}, **_answer_fields(m), disp=old)
        by = "net" if m.type is PushType.APPEND else "EntryDispatcher"
        if new["type"] != old["type"]:
            at = {"COMPARE": -1, "TRUNCATE": before.truncate_index(self._server, peer), "APPEND": new["writeIndex"] - 1}
            self._change(peer, old["type"], new["type"], at[new["type"]], old, by)
        elif m.type is PushType.COMPARE and m.code not in ("SUCCESS", "INCONSISTENT_STATE"):
            self._change(peer, old["type"], "COMPARE", -1, old, by)  # an error, after which it begins again
        self._mark(before, peer, by)

    def push_times_out(self, before: Before, args: list[Any], _: tuple[Any, ...]) -> None:
        """Write the line of a dispatcher that waits no more, and compares again."""
        old = before.dispatchers[args[0]]
        self._change(args[0], old["type"], "COMPARE", -1, old, "EntryDispatcher")

    def quorum_is_checked(self, before: Before, _: list[Any], __: tuple[Any, ...]) -> None:
        """Write the line of a committed index that the checker moves."""
        after, server = _log(self._server), self._server
        if after["committed"] != before.st["committed"]:
            index = server.last_quorum_index
            given = {"argTerm": before.st["term"], "argIndex": index, "clamped": index != after["committed"]}
            old = {name: before.st[name] for name in after}
            self._store("updateCommittedIndex", old, after, "QuorumAckChecker", **given, currTerm=before.st["term"])

    def own_mark_is_refreshed(self, before: Before, _: list[Any], __: tuple[Any, ...]) -> None:
        """Write the line of the own watermark."""
        self._mark(before, self._node, "QuorumAckChecker")

    def check_point_is_written(self, before: Before, _: list[Any], __: tuple[Any, ...]) -> None:
        """Write the line of the checkpoint."""
        self._line("checkpoint", endIndex=before.st["end"], committedIndex=before.st["committed"])

    def _change(self, peer: str, source: str, to: str, at: int, disp: Line, by: str) -> None:
        change = {"peer": peer, "from": source, "to": to, "at": at}
        self._line("dispatcher", op="changeState", **change, disp=disp, by=by)

    def _mark(self, before: Before, peer: str, by: str) -> None:
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
        return {"index": index, "entryTerm": entry.term, "val": entry.value, "pos": self._positions()[index]}


class Before:
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
    "HandlePush": Steps.push_arrives,
    "HandleDoCompare": Steps.push_is_handled,
    "HandleDoTruncate": Steps.push_is_handled,
    "HandleDoAppend": Steps.push_is_handled,
    "HandleDoBatchAppend": Steps.push_is_handled,
    "HandleDoCommit": Steps.push_is_handled,
    "CheckAppendFuture": Steps.append_is_checked,
    "ClearCompareOrTruncateRequests": Steps.push_is_refused,
    "AppendAsLeader": Steps.entry_is_appended,
    "AppendInBatch": Steps.entry_is_appended,
    "DoCompare": Steps.push_is_sent,
    "DoTruncate": Steps.push_is_sent,
    "DoAppend": Steps.push_is_sent,
    "DoBatchAppend": Steps.push_is_sent,
    "DoCheckAppendResponse": Steps.push_is_sent,
    "DoCheckBatchAppendResponse": Steps.push_is_sent,
    "DoCommit": Steps.push_is_sent,
    "HandleCompareResponse": Steps.answer_arrives,
    "HandleTruncateResponse": Steps.answer_arrives,
    "HandleAppendResponse": Steps.answer_arrives,
    "PushTimeOut": Steps.push_times_out,
    "QuorumAckChecker": Steps.quorum_is_checked,
    "ActOnQuorumIndex": Steps.quorum_is_checked,
    "RefreshOwnWaterMark": Steps.own_mark_is_refreshed,
    "PersistCheckPoint": Steps.check_point_is_written,
}


# ---- Messages ----


def content(m: Request | BatchRequest | CommitRequest) -> tuple[Any, ...]:
    """Return what makes a push: all but whether its caller waits."""
    entries: tuple[Any, ...] = ()
    if not isinstance(m, CommitRequest):
        entries = tuple((m.index + offset, each.term, each.value) for offset, each in enumerate(m.entries))
    return str(m.type), m.src, m.dst, m.term, entries, m.commit_index


def content_of_line(line: Line) -> tuple[Any, ...]:
    """Return the same of a line."""
    entries = line.get("entries")
    if entries is None:
        entries = [[line["index"], line["entryTerm"], line["val"]]] if "entryTerm" in line else []
    ends = line["type"], line["leaderId"], line["remoteId"], line["term"]
    return *ends, tuple(tuple(each) for each in entries), line["commitIndex"]


def _push_fields(m: Request | BatchRequest | CommitRequest, positions: Mapping[int, int]) -> Line:
    fields: Line = {"type": str(m.type), "leaderId": m.src, "remoteId": m.dst, "term": m.term}
    if isinstance(m, BatchRequest):
        entries = [list(each) for each in content(m)[4]]
        fields |= {"index": m.index, "count": len(entries), "entries": entries}
    elif isinstance(m, Request):
        place = {"index": m.index, "entryTerm": m.entry.term, "val": m.entry.value}
        fields |= {**place, "pos": positions.get(m.index, 0)}
    return fields | {"commitIndex": m.commit_index}


def _answer_fields(m: Response) -> Line:
    place = {"index": None if m.index == -1 else m.index, "count": getattr(m, "count", 1)}
    ends = {"beginIndex": m.begin_index, "endIndex": m.end_index}
    return {"type": str(m.type), "code": str(m.code), "term": m.term, **place, **ends}


def answer_content(m: Response) -> tuple[Any, ...]:
    """Return what makes an answer."""
    return str(m.type), m.src, m.dst, m.term, m.index, str(m.code), m.begin_index, m.end_index


def answer_content_of_line(line: Line) -> tuple[Any, ...]:
    """Return the same of a line of the node that answers."""
    ends = line["type"], line["node"], line["to"], line["term"], line["index"]
    return *ends, line["code"], line["beginIndex"], line["endIndex"]


class Numbers:
    """The number of each push, by its name in a file of Java or by its content."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0
        self._names: dict[str, int] = {}
        self._under_way: dict[Any, deque[int]] = defaultdict(deque)
        self._at_follower: dict[Any, deque[int]] = defaultdict(deque)
        self._answers: dict[Any, deque[int]] = defaultdict(deque)
        #: Those that were sent, by type, sender and receiver.
        self._sent: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        self._given_up: set[int] = set()

    def give_up(self, what: str, node: str, peer: str | None = None) -> None:
        """Expect less that some pushes arrive: those to a node that starts, or a call that has timed out.

        Arguments: `what`, COMPARE or TRUNCATE, or "" for all pushes; `node`, that sent them, or with no `peer` the one
        that they are for.
        """
        for (type_, src, dst), numbers in self._sent.items():
            if (dst == node if peer is None else (src, dst) == (node, peer)) and what in ("", type_):
                self._given_up |= set(numbers)

    def _arrives(self, what: Any) -> int:
        waiting = self._under_way[what]
        number = next((each for each in waiting if each not in self._given_up), None)
        number = waiting[-1] if number is None else number
        waiting.remove(number)
        return number

    def number(self, line: Line, mid: Any) -> int:
        """Return the number of the push that a line, or an element of its `lost`, speaks of; raises LookupError."""
        if isinstance(mid, str):
            return self._named(line, mid)
        how, what = mid
        if how == "sent":
            return self._send(what)
        if how == "answer":
            given = self._answers[what]
            number = next((each for each in given if each not in self._given_up), given[0])
            given.remove(number)
            return number
        if how == "received" and line["kind"] == "recv_push":
            number = self._arrives(what)
            self._at_follower[what].append(number)
        queue = self._at_follower[what]
        number = queue[-1] if how == "received" else queue[0]
        ends = line["kind"] == "resp_push" and how != "kept"
        if (ends and how == "queued") or line.get("op") == "clear" or (line.get("op") == "take" and line.get("done")):
            queue.popleft()
        elif ends:
            queue.pop()  # refused as repeated
        if line["kind"] == "resp_push":
            self._answers[answer_content_of_line(line)].append(number)
        return number

    def _send(self, what: Any) -> int:
        self._count += 1
        self._under_way[what].append(self._count)
        self._sent[what[:3]].append(self._count)
        return self._count

    def _named(self, line: Line, name: str) -> int:
        if line["kind"] == "send_push":
            self._names[name] = self._send(content_of_line(line))
        elif line["kind"] == "recv_push":
            what, known = content_of_line(line), self._names.get(name)
            if known is not None and known in self._under_way[what]:
                self._under_way[what].remove(known)
            else:  # a sender of the reference does not write the name
                self._names[name] = self._arrives(what)
        elif line["kind"] == "resp_push":
            self._answers[answer_content_of_line(line)].append(self._names[name])
        return self._names[name]


# ---- All nodes ----


def whole_lines(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield the lines of a file with their numbers; the last may be cut off by the death of its process.

    Raises MergeError where there is none, or one is no object of JSON.
    """
    raw = path.read_bytes().split(b"\n")[:-1]
    if not raw:
        raise MergeError(f"{path}:1: the file has no whole line")
    for number, text in enumerate(raw, start=1):
        try:
            line = json.loads(text)
        except ValueError as error:
            raise MergeError(f"{path}:{number}: no JSON: {error}") from error
        if not isinstance(line, dict):
            raise MergeError(f"{path}:{number}: no object of JSON")
        yield number, line


def java_lines(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield the lines of a node of Java with their times."""
    for number, line in whole_lines(path):
        if line.get("kind") == "wrapped":
            continue
        for field in ("kind", "node", "t"):
            if field not in line:
                raise MergeError(f"{path}:{number}: a line without `{field}`")
        at = line.pop("t")
        yield at, line


def merged(files: list[Path], nodes: tuple[str, ...], config: Config) -> list[tuple[int, Line]]:
    """Return all lines in the order of time, those of a file in their own."""
    found: list[tuple[int, Line]] = []
    for path in files:
        _, first = next(whole_lines(path))
        if "action" in first:
            if "node" not in first:
                raise MergeError(f"{path}:1: a step without `node`")
            found += Steps(path, first["node"], nodes, config).lines()
        else:
            found += java_lines(path)
    return sorted(found, key=lambda each: each[0])


class Recording:
    """The recording that is written: it numbers lines, lives and pushes, and adds the deaths that nobody wrote."""

    def __init__(self, first: int) -> None:
        """Begin at a time in nanoseconds."""
        self._first = first
        self._numbers = Numbers()
        self._lives: Counter[str] = Counter()
        self._up: dict[str, Line] = {}
        self.lines: list[Line] = []

    def add(self, at: int, line: Line) -> None:
        """Add a line; raises LookupError where it speaks of a push that nobody sent."""
        kind, node = line["kind"], line["node"]
        if kind == "start":
            if node in self._up:
                died = {"kind": "crash", "node": node, "inc": self._lives[node], "st": self._up.pop(node)}
                self._write(at, died)
            self._numbers.give_up("", node)
            self._lives[node] += 1
            line = {**line, "why": "boot" if self._lives[node] == 1 else "restart"}
        line = {**line, "inc": self._lives[node]}
        if kind == "net_error":
            self._numbers.give_up(line["type"], node, line["dst"])
        elif kind == "dispatcher" and line["to"] == "COMPARE":
            self._numbers.give_up(line["from"], node, line["peer"])
        if "mid" in line:
            line["mid"] = self._numbers.number(line, line["mid"])
        if "lost" in line:
            line["lost"] = [[index, self._numbers.number(line, mid)] for index, mid in line["lost"]]
        self._follow(line)
        self._write(at, line)
        if kind == "stop":
            del self._up[node]

    def _follow(self, line: Line) -> None:
        node, kind = line["node"], line["kind"]
        if kind == "recovered":
            self._up[node] = dict(line["st"])
        elif kind == "role":
            self._up[node] |= {"role": line["role"], "term": line["term"], "leader": line["leaderId"]}
        elif kind == "store" and node in self._up:
            self._up[node] |= line["st"]

    def _write(self, at: int, line: Line) -> None:
        self.lines.append({"seq": len(self.lines) + 1, "t_ms": round((at - self._first) / 1e6, 3), **line})


def main() -> int:
    """Merge; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--version", choices=VERSIONS, required=True, help="the version of DLedger")
    parser.add_argument("--nodes", default="n0,n1,n2", help="the members of the group")
    parser.add_argument("--batches", action="store_true", help="leaders push batches")
    args = parser.parse_args()
    features, flaws = VERSIONS[args.version]
    batches = {Feature.BATCHES} if args.batches else set()
    nodes = tuple(args.nodes.split(","))
    try:
        lines = merged(args.files, nodes, Config(features | RUNNING | batches, flaws))
        if not lines:
            raise MergeError("the files have no lines")
        recording = Recording(lines[0][0])
        for at, line in lines:
            try:
                recording.add(at, line)
            except LookupError:
                raise MergeError(f"nobody sent the push of this line: {line}") from None
    except (MergeError, OSError) as error:
        print(f"merge: {error}", file=sys.stderr)
        return 2
    header = {
        "seq": 0, "t_ms": 0.0, "kind": "header", "format": "dledger-capture/1", "version": args.version,
        "scenario": "merged", "nodes": nodes, "client": "c0", "seed": 0, "faults": "none",
        "config": {"enableBatchPush": args.batches}, "java": "not recorded",
        "fields": "see traces/captured/dledger/README.md",
    }  # fmt: skip
    counts = Counter(line["kind"] for line in [header, *recording.lines])
    last = recording.lines[-1]
    end = {"seq": last["seq"] + 1, "t_ms": last["t_ms"], "kind": "end", "counts": counts}
    texts = (json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in [header, *recording.lines, end])
    args.out.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
