"""Requests and answers as the spec has them, by the calls that they belong to.

The spec's network is a bag of messages; the recording numbers each call. A call is found by the content of its message,
and by whether its caller still waits: `awaited`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from lockstep.systems.hashicorp.recording_lines import LogEntry, SnapshotPlace
from lockstep.systems.hashicorp.recording_messages import (
    AppendEntries,
    AppendEntriesAnswer,
    Body,
    InstallSnapshot,
    InstallSnapshotAnswer,
    RequestPreVote,
    RequestVote,
    RpcLine,
    Send,
    VoteAnswer,
)

Tree = dict[str, Any]

NO_CONFIGURATION: Tree = {"voters": {"#set": []}, "nonvoters": {"#set": []}}


def members(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the voters of a configuration, and its members without a vote, as the recorder lists them: `n1,n2,~n3`."""
    names = [each for each in text.split(",") if each]
    nonvoters = frozenset(each[1:] for each in names if each.startswith("~"))
    return frozenset(each for each in names if not each.startswith("~")), nonvoters


def configuration(text: str) -> Tree:
    """Return a configuration as the spec has it."""
    voters, nonvoters = members(text)
    return {"voters": {"#set": sorted(voters)}, "nonvoters": {"#set": sorted(nonvoters)}}


def entry(recorded: LogEntry) -> Tree:
    """Return an entry as the spec has it."""
    is_configuration = recorded.type == "Configuration"
    return {
        "term": recorded.t,
        "type": recorded.type,
        "value": None if is_configuration else recorded.v,
        "configuration": configuration(recorded.v or "") if is_configuration else NO_CONFIGURATION,
    }


def snapshot_place(recorded: InstallSnapshot | SnapshotPlace) -> Tree:
    """Return the end of a snapshot as the spec has it."""
    return {"index": recorded.last_index, "term": recorded.last_term}


def type_of(msg: str, body: Body) -> str:
    """Return the spec's type of a request."""
    return "Heartbeat" if isinstance(body, AppendEntries) and body.is_heartbeat else msg


def request(src: str, dst: str, msg: str, body: Body) -> Tree:
    """Return a request as the spec has it, but for the commands in a snapshot, which are not recorded."""
    tree: Tree = {"kind": "request", "type": type_of(msg, body), "src": src, "dst": dst}
    match body:
        case AppendEntries(term=term) if body.is_heartbeat:
            tree["term"] = term
        case AppendEntries():
            tree |= {"term": body.term, "prevLogEntry": body.prev_index, "prevLogTerm": body.prev_term}
            tree |= {"entries": [entry(each) for each in body.entries], "leaderCommitIndex": body.commit}
        case RequestVote() | RequestPreVote():
            tree |= {"term": body.term, "lastLogIndex": body.last_index, "lastLogTerm": body.last_term}
            if isinstance(body, RequestVote):
                tree["leadershipTransfer"] = body.transfer
        case InstallSnapshot():
            place = {"index": body.last_index, "term": body.last_term}
            tree["term"] = body.term
            tree["snapshot"] = place | {
                "configuration": configuration(body.config),
                "configurationIndex": body.config_index,
            }
    return tree


def answer(src: str, dst: str, type_: str, body: Body) -> Tree:
    """Return an answer to a request of a type as the spec has it."""
    tree: Tree = {"kind": "response", "type": type_, "src": src, "dst": dst}
    match body:
        case AppendEntriesAnswer() if type_ == "Heartbeat":
            tree |= {"term": body.term, "success": body.success}
        case AppendEntriesAnswer():
            tree |= {"term": body.term, "success": body.success, "lastLog": body.last_log}
            tree["noRetryBackoff"] = body.no_retry_backoff
        case VoteAnswer():
            tree |= {"term": body.term, "granted": body.granted}
        case InstallSnapshotAnswer():
            tree |= {"term": body.term, "success": body.success}
    return tree


@dataclass(slots=True)
class RecordedCall:
    """A call: its caller, its receiver, its request; `answers` are those that were given, by copy of the request."""

    src: str
    dst: str
    msg: str
    body: Body
    rpc: int
    pipelined: bool = False
    answers: dict[int, Tree] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The spec's type of its request."""
        return type_of(self.msg, self.body)

    @property
    def routine(self) -> tuple[str, str, str]:
        """The routine that calls: it has one call at a time, unless it has a pipeline."""
        return self.src, self.dst, self.type

    @property
    def sent_index(self) -> int:
        """The last index that it is about: of its entries, 0 if it has none, or of a snapshot."""
        if isinstance(self.body, InstallSnapshot):
            return self.body.last_index
        return self.body.entries[-1].i if isinstance(self.body, AppendEntries) and self.body.entries else 0


@dataclass(slots=True)
class Reply:
    """An answer that has reached its caller, which has not acted on it."""

    call: RecordedCall
    tree: Tree


@dataclass(slots=True)
class Calls:
    """The calls by number, those that routines wait for, and the answers that have come.

    `has_pipelines`: an answer of AppendEntries has the last index of its request. `last_line` returns the last line
    that is about a call, by its number; of a recording that is still written nobody knows it. `pipelines` are the calls
    of each pipeline without an answer that was acted on, in their order, with the answer if it has come.
    """

    has_pipelines: bool = False
    last_line: Callable[[int], int] | None = None
    known: dict[int, RecordedCall] = field(default_factory=dict)
    current: dict[tuple[str, str, str], int] = field(default_factory=dict)
    replies: dict[tuple[str, str, str], Reply] = field(default_factory=dict)
    pipelines: dict[tuple[str, str], dict[int, Reply | None]] = field(default_factory=dict)
    _ends: list[tuple[int, int]] = field(default_factory=list)

    def begin_unawaited(self, line: Send) -> RecordedCall:
        """A routine calls whose leadership is over: the present leader has other calls."""
        call = RecordedCall(line.node, line.to, line.msg, line.body, line.rpc, line.pipelined)
        self.known[line.rpc] = call
        if self.last_line is not None:
            heappush(self._ends, (self.last_line(line.rpc), line.rpc))
        return call

    def forget_read(self, seq: int) -> Iterator[int]:
        """Forget the calls that no line after one is about; yield their numbers."""
        while self._ends and self._ends[0][0] <= seq:
            _, rpc = heappop(self._ends)
            self.known.pop(rpc, None)
            yield rpc

    def begin(self, line: Send) -> RecordedCall:
        """A routine calls."""
        call = self.begin_unawaited(line)
        if call.pipelined:
            self.pipelines.setdefault((call.src, call.dst), {})[call.rpc] = None
            return call
        self.current[call.routine] = line.rpc
        self.replies.pop(call.routine, None)
        return call

    def answer(self, call: RecordedCall, body: Body) -> Tree:
        """Return an answer to a call as the spec has it."""
        tree = answer(call.dst, call.src, call.type, body)
        return {**tree, "sentIndex": call.sent_index} if self.has_pipelines and call.type == "AppendEntries" else tree

    def take_reply(self, call: RecordedCall, tree: Tree) -> Reply:
        """An answer has reached its caller, which waits for it."""
        reply = Reply(call, tree)
        if call.pipelined:
            self.pipelines[call.src, call.dst][call.rpc] = reply
        else:
            self.replies[call.routine] = reply
        return reply

    def decoded(self, src: str, dst: str, up_to: Reply | None = None) -> list[Reply]:
        """Return the answers that a decoder can act on, one after the other: all, or those up to one."""
        found: list[Reply] = []
        for reply in self.pipelines.get((src, dst), {}).values():
            if reply is None:
                break
            found.append(reply)
            if reply is up_to:
                return found
        return found if up_to is None else []

    def find(self, line: RpcLine) -> RecordedCall | None:
        """Return the call that a line is about."""
        return self.known.get(line.rpc)

    def is_current(self, call: RecordedCall) -> bool:
        """Return whether its routine waits for this call, as far as the recording shows."""
        if call.pipelined:
            return call.rpc in self.pipelines.get((call.src, call.dst), {})
        return self.current.get(call.routine) == call.rpc

    def end(self, call: RecordedCall) -> None:
        """The caller acts on the answer to a call."""
        if call.pipelined:
            self.pipelines.get((call.src, call.dst), {}).pop(call.rpc, None)
            return
        self.replies.pop(call.routine, None)
        if self.is_current(call):
            del self.current[call.routine]

    def give_up(self, call: RecordedCall) -> None:
        """The caller waits no more."""
        if self.is_current(call):
            del self.current[call.routine]
            self.replies.pop(call.routine, None)

    def forget(self, node: str, *types: str) -> None:
        """A node waits no more for its calls of these types, or of any type if none is given."""
        for table in (self.current, self.replies):
            for routine in [each for each in table if each[0] == node and (not types or each[2] in types)]:
                del table[routine]
        if not types or "AppendEntries" in types:
            self.pipelines = {ends: calls for ends, calls in self.pipelines.items() if ends[0] != node}

    def replies_of(self, node: str, *types: str) -> Iterator[Reply]:
        """Yield the answers of these types that a node has got and not acted on, in the order in which they came.

        Those of pipelines come after the others.
        """
        yield from [each for each in self.replies.values() if each.call.src == node and each.call.type in types]
        if "AppendEntries" in types:
            for src, dst in [each for each in self.pipelines if each[0] == node]:
                yield from self.decoded(src, dst)
