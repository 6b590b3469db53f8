"""A leader's routines: what they send, the answers they act on, and what becomes committed by that.

A routine's request is recorded when it is sent; it was built before, and the routine had then acted on the answer to
its last one. Neither is recorded. But a request says what it was built from: which entries, and which commit index. So
an answer is acted on as late as may be: before the next request of its routine, or where the commit index that the
leader shows needs it. A request is built at its line, or before what it does not know of yet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lockstep.systems.hashicorp.recording.ahead import Ahead, Life
from lockstep.systems.hashicorp.recording.lines.messages import AppendEntries, InstallSnapshot, Send
from lockstep.systems.hashicorp.recording.lines.server import StoreLogs
from lockstep.systems.hashicorp.recording.replay import DONE, Replay, fields
from lockstep.systems.hashicorp.recording.servers import Server
from lockstep.systems.hashicorp.recording.wire import Calls, Reply, Tree, entry, request

#: The action that takes an answer, by the type of its request.
TAKES = {
    "AppendEntries": "HandleAppendEntriesResponse",
    "InstallSnapshot": "HandleInstallSnapshotResponse",
    "Heartbeat": "HandleHeartbeatResponse",
    "RequestVote": "HandleRequestVoteResponse",
    "RequestPreVote": "HandleRequestPreVoteResponse",
    "TimeoutNow": "HandleTimeoutNowResponse",
}

OF_REPLICATION = ("AppendEntries", "InstallSnapshot")


class Leaders:
    """What leaders do besides handling requests."""

    def __init__(self, replay: Replay, calls: Calls, ahead: Ahead, servers: dict[str, Server]) -> None:
        """Read a recording of these servers."""
        self.replay, self.calls, self.ahead, self.servers = replay, calls, ahead, servers
        self.lives: dict[str, Life] = {}
        self.noops: dict[str, StoreLogs | None] = {}
        self.sent: set[int] = set()

    # ---- Answers ----

    def act_on(
        self, reply: Reply, *, hidden: bool = True, outcome: Tree | None = None, shows: Tree | None = None
    ) -> bool:
        """The caller acts on an answer; return whether the spec knows it, too: it may be given up there."""
        self.calls.replies.pop(reply.call.routine, None)
        if self.calls.current.get(reply.call.routine) == reply.call.rpc:
            del self.calls.current[reply.call.routine]
        if self.replay.message(reply.tree) is None:
            return False
        args: Tree = {"m": reply.tree}
        if reply.call.type in ("RequestVote", "RequestPreVote"):
            args["outcome"] = outcome or DONE
        self.replay.take(reply.call.src, TAKES[reply.call.type], args, shows, hidden=hidden)
        return True

    def _reply(self, node: str, peer: str) -> Reply | None:
        """Return what the routine of replication for a peer has got and not acted on."""
        for type_ in OF_REPLICATION:
            found = self.calls.replies.get((node, peer, type_))
            if found is not None:
                return found
        return None

    # ---- Sending ----

    def send(self, line: Send) -> None:
        """A routine sends; if it was not built before, it is built now."""
        queue = self.ahead.replication.get((line.life, line.to, line.body.term))
        if queue and queue[0] is line:
            queue.popleft()
        if line.rpc in self.sent:
            return
        self.noop_if_due(line.node, line.body.term)
        if not self._is_running(line):
            self._zombie(line)
        else:
            self._build(line)

    def _is_running(self, line: Send) -> bool:
        runner = self.replay.runner(line.node, line.to)
        return bool(runner["running"]) and runner["term"] == line.body.term

    def _build(self, line: Send) -> None:
        """A routine of the present leadership builds a request, and sends it."""
        node, peer = line.node, line.to
        tree = request(node, peer, line.msg, line.body)
        if tree["type"] == "Heartbeat":
            reply = self.calls.replies.get((node, peer, "Heartbeat"))
            action, args = "Heartbeat", {"peer": peer}
        else:
            reply = self._reply(node, peer)
            action, args = self._replication(line)
        if reply is not None:
            self.act_on(reply)
        call = self.calls.begin(line)
        self.sent.add(call.rpc)
        self.replay.take(node, action, args, sent=(self._whole(tree, awaited=True),), line=line)

    @staticmethod
    def _replication(line: Send) -> tuple[str, Tree]:
        if isinstance(line.body, InstallSnapshot):
            return "SendLatestSnapshot", {"peer": line.to}
        return "ReplicateTo", {"peer": line.to, "count": len(line.body.entries)}

    def _whole(self, tree: Tree, *, awaited: bool) -> Tree:
        """Return a request with what is not recorded of it: whether it is awaited, what a snapshot has applied."""
        if "snapshot" in tree:
            tree = {**tree, "snapshot": {**tree["snapshot"], "applied": self._applied(tree)}}
        return {**tree, "awaited": awaited}

    def _applied(self, tree: Tree) -> list[Tree]:
        place = tree["snapshot"]["index"], tree["snapshot"]["term"]
        for snapshot in self.replay.server(tree["src"])["snapshots"]:
            parts = fields(snapshot)
            if (parts["index"], parts["term"]) == place:
                return list(self.replay.tree(parts["applied"]))
        return []

    def _zombie(self, line: Send) -> None:
        """A routine of a leadership that is over sends. What it says shows when it is handled, or lost."""
        action, args = self._of_zombie(line)
        self.calls.begin_unawaited(line)
        self.sent.add(line.rpc)
        self.replay.take(line.node, action, args, line=line)

    def _of_zombie(self, line: Send) -> tuple[str, Tree]:
        zombies = [self.replay.tree(each) for each in self.replay.server(line.node)["zombies"]]
        mine = [each for each in zombies if each["peer"] == line.to and each["term"] == line.body.term]
        mine = mine or [self._no_zombie(line)]
        if isinstance(line.body, InstallSnapshot):
            return "ZombieSendSnapshot", {"zombie": mine[0]}
        if line.body.is_heartbeat:
            return "ZombieHeartbeat", {"zombie": mine[0]}
        fitting = [each for each in mine if each["nextIndex"] == line.body.prev_index + 1]
        return "ZombieReplicateTo", {"zombie": (fitting or mine)[0], "count": len(line.body.entries)}

    def zombies_before(self, node: str, action: str, args: Tree) -> None:
        """Build the next requests of routines whose leadership is over that could not be built after a step."""
        before, after = self.replay.state, None
        for (life, _, _), queue in self.ahead.replication.items():
            if life != self.lives.get(node) or not queue or queue[0].rpc in self.sent or self._is_running(queue[0]):
                continue
            if not any(fields(each)["term"] == queue[0].body.term for each in self.replay.server(node)["zombies"]):
                continue
            after = after or self.replay.trial(node, action, args)
            if after is not None and self._zombie_could(queue[0]):
                self.replay.state = after
                later = self._zombie_could(queue[0])
                self.replay.state = before
                if not later:
                    self._zombie(queue[0])
                    before, after = self.replay.state, None

    def _zombie_could(self, line: Send) -> bool:
        """Tell whether a routine whose leadership is over would send this now."""
        after = self.replay.trial(line.node, *self._of_zombie(line))
        tree = request(line.node, line.to, line.msg, line.body)
        return after is not None and self.replay.message(tree, after, awaited=False) is not None

    @staticmethod
    def _no_zombie(line: Send) -> Tree:
        """Return a routine that would have sent it, had there been one."""
        next_index = line.body.prev_index + 1 if isinstance(line.body, AppendEntries) else 1
        return {"peer": line.to, "term": line.body.term, "nextIndex": next_index}

    # ---- Before something changes ----

    def build_before(self, node: str, knows_not: Callable[[Send], bool]) -> None:
        """Build the next request of each routine that does not know of what comes now, if it can be built before that.

        It was: the commit index, the log and the role are read when a request is built.
        """
        for (life, peer, _), queue in self.ahead.replication.items():
            if life != self.lives.get(node) or not queue or not knows_not(queue[0]):
                continue
            line = queue[0]
            if line.rpc not in self.sent and self._is_running(line) and self._could_be_built(node, peer, line):
                self._build(line)

    def _could_be_built(self, node: str, peer: str, line: Send) -> bool:
        """Tell whether the routine for a peer would send this now."""
        before = self.replay.state
        reply = self._reply(node, peer)
        if reply is not None:
            after = self.replay.trial(node, TAKES[reply.call.type], {"m": reply.tree})
            if after is None:
                return False
            self.replay.state = after
        try:
            after = self.replay.trial(node, *self._replication(line))
            tree = request(node, peer, line.msg, line.body)
            return after is not None and self.replay.message(tree, after, awaited=True) is not None
        finally:
            self.replay.state = before

    # ---- Committing ----

    def commit(self, node: str, shown: int) -> None:
        """A leader shows a commit index: its main loop has taken over what the routines had found committed.

        It may have done so several times since its last line; a request that is yet to be sent tells of one of them.
        """
        while self.replay.server(node)["role"] == "Leader" and self.replay.server(node)["commitIndex"] < shown:
            here = self.replay.server(node)["commitIndex"]
            told = (line.body.commit for line in self._next_requests(node) if isinstance(line.body, AppendEntries))
            to = min((index for index in told if here < index < shown), default=shown)
            self.build_before(node, partial(_knows_less, to))
            self._find_committed(node, to)
            self.zombies_before(node, "ProcessLogs", {})
            self.replay.take(node, "ProcessLogs", shows={"commitIndex": to}, hidden=True)

    def _next_requests(self, node: str) -> list[Send]:
        return [
            queue[0]
            for (life, _, _), queue in self.ahead.replication.items()
            if life == self.lives.get(node) and queue and queue[0].rpc not in self.sent and self._is_running(queue[0])
        ]

    def _find_committed(self, node: str, index: int) -> None:
        """The routines act on answers until so much is committed, those first that say least."""
        replies = list(self.calls.replies_of(node, *OF_REPLICATION))
        replies.sort(key=lambda reply: self.replay.runner(node, reply.call.dst)["sentIndex"])
        for reply in replies:
            if fields(self.replay.server(node)["leaderState"])["commitIndex"] >= index:
                return
            self.act_on(reply)

    # ---- The main loop ----

    def noop_if_due(self, node: str, term: int) -> None:
        """The routines run from before the first entry is stored: if one of them is first, the step was before."""
        server = self.replay.server(node)
        if server["loop"] == "LEAD" and server["currentTerm"] == term:
            self.noop(node)

    def noop(self, node: str) -> None:
        """A leader sets up its state and stores its first entry."""
        stored = self.noops.pop(node, None)
        shows: Tree = {"role": "Leader", "leader": node}
        if stored is not None:
            shows |= entries_shown(stored)
            self.servers[node].write(stored)
        self.replay.take(node, "DispatchNoop", {"outcome": DONE}, shows, (), line=stored)

    def dispatch(self, line: StoreLogs) -> None:
        """A leader stores what clients ask for."""
        self.end_transfer(line.node)
        self.servers[line.node].write(line)
        logs = [{"type": each.type, "value": each.v} for each in line.entries]
        self.replay.take(line.node, "DispatchLogs", {"logs": logs, "outcome": DONE}, entries_shown(line), ())

    def step_down(self, node: str) -> None:
        """A leader has learnt of a higher term from an answer, and follows."""
        term = self.replay.server(node)["currentTerm"]
        for reply in list(self.calls.replies_of(node, *OF_REPLICATION)):
            if not fields(self.replay.server(node)["leaderState"])["stepDown"] and reply.tree["term"] > term:
                self.act_on(reply)
        self.lose(node)
        self.replay.take(node, "StepDown", shows=self.servers[node].shown())

    def lease(self, node: str) -> None:
        """A leader has not heard from a quorum, and follows."""
        self.lose(node)
        self.replay.take(node, "CheckLeaderLease", shows=self.servers[node].shown())

    def lose(self, node: str) -> None:
        """A leadership ends: what its routines had built by then they built as those of a leader.

        A routine that sends later still sends from where the last answer it acted on had led.
        """
        if self.replay.server(node)["role"] != "Leader":
            return
        self.build_before(node, lambda _: True)
        for reply in list(self.calls.replies_of(node, *OF_REPLICATION)):
            runner = self.replay.runner(node, reply.call.dst)
            queue = self.ahead.replication.get((self.lives[node], reply.call.dst, runner["term"]))
            if not queue or not isinstance(queue[0].body, AppendEntries) or queue[0].rpc in self.sent:
                continue
            if runner["nextIndex"] != queue[0].body.prev_index + 1:
                self.act_on(reply)

    # ---- Handing over ----

    def timeout_now(self, line: Send) -> None:
        """A leader has brought its successor up to date, and tells it to campaign."""
        node, peer = line.node, line.to
        self.end_transfer(node)
        self.replay.take(node, "LeadershipTransfer", {"peer": peer}, hidden=True)
        reply = self._reply(node, peer)
        if reply is not None and self.replay.runner(node, peer)["nextIndex"] <= last_index(self.replay, node):
            self.act_on(reply)
        self.calls.begin(line)
        tree = self._whole(request(node, peer, line.msg, line.body), awaited=True)
        self.replay.take(node, "SendTimeoutNow", sent=(tree,))

    def end_transfer(self, node: str) -> None:
        """A transfer is over, if there was one: its end is not recorded, only what may not be before it."""
        if fields(self.replay.server(node)["transfer"])["inProgress"]:
            self.replay.take(node, "EndTransfer", hidden=True)


def _knows_less(index: int, line: Send) -> bool:
    """Tell whether a request was built when less was committed."""
    return isinstance(line.body, AppendEntries) and line.body.commit < index


def entries_shown(line: StoreLogs) -> Tree:
    """Return what a server shows that has stored entries."""
    last = line.entries[-1]
    return {
        "lastLog": {"index": last.i, "term": last.t},
        "log": {str(each.i): entry(each) for each in line.entries},
    }


def last_index(replay: Replay, node: str) -> int:
    """Return the end of a server's log or snapshot, whichever is further."""
    server = replay.server(node)
    return max(int(fields(server[place])["index"]) for place in ("lastLog", "lastSnapshot"))
