"""A leader's routines: what they send, the answers they act on, and what becomes committed by that.

A routine's request is recorded when it is sent; it was built before, and the routine had then acted on the answer to
its last one. Neither is recorded. But a request shows what it was built from: which entries, which commit index. So
an answer is acted on as late as may be: before the next request of its routine, or where the commit index that the
leader shows needs it. A request is built at its line, or before a step after which it could not be built.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import islice

from lockstep.systems.hashicorp.recorded_calls import Calls, Reply, Tree, entry, members, request, type_of
from lockstep.systems.hashicorp.recorded_servers import RecordedServer
from lockstep.systems.hashicorp.recorded_verifications import Verifications
from lockstep.systems.hashicorp.recording_lines import StoreLogs, TransferReq, TransferResp
from lockstep.systems.hashicorp.recording_lookahead import Life, Lookahead, Requests, Routine, start_of
from lockstep.systems.hashicorp.recording_messages import AppendEntries, InstallSnapshot, Send
from lockstep.systems.hashicorp.recording_replay import DONE, RecordingReplay, fields
from lockstep.tla.state import State
from raftref.hashicorp.membership import ChangeCommand, next_configuration
from raftref.hashicorp.values import Configuration

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
    """The leaders: all that they do besides handling requests."""

    def __init__(
        self, replay: RecordingReplay, calls: Calls, lookahead: Lookahead, servers: dict[str, RecordedServer]
    ) -> None:
        """Read a recording of these servers."""
        self.replay, self.calls, self.lookahead, self.servers = replay, calls, lookahead, servers
        self.lives: dict[str, Life] = {}
        self.noops: dict[str, StoreLogs | None] = {}
        self.sent: set[int] = set()
        self.asked: defaultdict[Life, list[TransferReq]] = defaultdict(list)
        self.verifications = Verifications(replay, calls, lookahead, self.act_on)

    # ---- Answers ----

    def act_on(
        self, reply: Reply, *, hidden: bool = True, outcome: Tree | None = None, shows: Tree | None = None
    ) -> bool:
        """The caller acts on an answer; return whether the spec knows it, too: it may be given up there.

        The decoder of a pipeline has acted on the answers before it.
        """
        for earlier in self.calls.decoded(reply.call.src, reply.call.dst, reply)[:-1] if reply.call.pipelined else ():
            self.act_on(earlier)
        if not reply.tree.get("success", True):
            self.verifications.before_denial(reply.call.src)
        self.calls.end(reply.call)
        if self.replay.message(reply.tree) is None:
            return False
        node, action = reply.call.src, TAKES[reply.call.type]
        args: Tree = {"m": reply.tree}
        if reply.call.type in ("RequestVote", "RequestPreVote"):
            args["outcome"] = outcome or DONE
        if self._is_stale(reply):
            self.build_before_step(node, action, args)
        self.replay.take(node, action, args, shows, hidden=hidden)
        return True

    def _is_stale(self, reply: Reply) -> bool:
        """Return whether an answer ends the routine that called, since its peer is in a higher term."""
        call = reply.call
        return call.type in OF_REPLICATION and reply.tree["term"] > self.replay.runner(call.src, call.dst)["term"]

    def _reply(self, node: str, peer: str) -> Reply | None:
        """Return what the routine of replication for a peer has got last and not acted on."""
        for type_ in OF_REPLICATION:
            found = self.calls.replies.get((node, peer, type_))
            if found is not None:
                return found
        return next(iter(self.calls.decoded(node, peer)[-1:]), None)

    # ---- Sending ----

    def send(self, line: Send) -> None:
        """A routine sends; if it was not built before, it is built now."""
        for table in (self.lookahead.replication, self.lookahead.heartbeats):
            table.sent(line)
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
        if self._must_close(line):
            self.close_pipeline(node, peer)
        reply = self._reply_before(line)
        if reply is not None:
            self.act_on(reply)
        call = self.calls.begin(line)
        self.sent.add(call.rpc)
        self.replay.take(node, *self._builds(line), sent=(self._whole(tree, awaited=True),), line=line)

    def _reply_before(self, line: Send) -> Reply | None:
        """Return the answer that a routine acts on before it builds a request."""
        if type_of(line.msg, line.body) == "Heartbeat":
            return self.calls.replies.get((line.node, line.to, "Heartbeat"))
        return None if self._has_pipeline(line.node, line.to) else self._reply(line.node, line.to)

    # ---- Pipelines ----

    def _has_pipeline(self, node: str, peer: str) -> bool:
        return bool(self.replay.runner(node, peer)["pipeline"] == "OPEN")

    def _must_close(self, line: Send) -> bool:
        """Return whether a routine must have closed its pipeline before it builds a request: it is a single call."""
        is_single = not line.pipelined and type_of(line.msg, line.body) in OF_REPLICATION
        return is_single and self._has_pipeline(line.node, line.to)

    def close_pipeline(self, node: str, peer: str) -> None:
        """A pipeline is closed: its decoder has acted on answers, how many the next single call of the routine shows.

        It ends with a refusal, with an entry that is gone, or with an error.
        """
        if not self._has_pipeline(node, peer):
            self.calls.pipelines.pop((node, peer), None)
            return
        for action, args in self._closing(node, peer):
            if action == TAKES["AppendEntries"]:
                self.act_on(self.calls.decoded(node, peer)[0])
            else:
                self.replay.take(node, action, args, hidden=True)
        self.calls.pipelines.pop((node, peer), None)

    def _closing(self, node: str, peer: str) -> list[tuple[str, Tree]]:
        """Return the steps with which a pipeline is closed: the answers that are acted on, and what ends it."""
        starts = self._next_single(node, peer)
        steps: list[tuple[str, Tree]] = []
        for reply in self.calls.decoded(node, peer):
            is_success = reply.tree["success"]
            if is_success and starts is not None and reply.call.sent_index >= starts:
                break
            steps.append(_taking(reply))
            if not is_success:
                return steps
        ends = [("PipelineAbort", {"peer": peer}), ("RPCError", {"peer": peer, "type": "AppendEntries"})]
        return [*steps, next(each for each in ends if self.replay.trial_of(node, [*steps, each]) is not None)]

    def sends_on(self, node: str, peer: str) -> bool:
        """Return whether a routine sends more on its pipeline before it makes a single call."""
        lines = self.lookahead.replication.all(self._routine(node, peer))
        following = next((each for each in lines if each.rpc not in self.sent), None)
        return following is not None and following.pipelined

    def _next_single(self, node: str, peer: str) -> int | None:
        """Return where the next single call of a routine starts, None if it makes none or sends a snapshot."""
        return self.lookahead.replication.next_single(self._routine(node, peer), self.sent)

    def _routine(self, node: str, peer: str) -> Routine:
        """Return the routine of a leader for a peer."""
        return self.lives[node], peer, int(self.replay.runner(node, peer)["term"])

    @staticmethod
    def _builds(line: Send) -> tuple[str, Tree]:
        """Return the action that builds a request, and its arguments."""
        if isinstance(line.body, InstallSnapshot):
            return "SendLatestSnapshot", {"peer": line.to}
        if line.body.is_heartbeat:
            return "Heartbeat", {"peer": line.to}
        return "PipelineSend" if line.pipelined else "ReplicateTo", {"peer": line.to, "count": len(line.body.entries)}

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
        """A routine of a leadership that is over sends; the trace has its request only where the spec's is another."""
        action, args = self._of_zombie(line)
        self.calls.begin_unawaited(line)
        self.sent.add(line.rpc)
        tree = self._whole(request(line.node, line.to, line.msg, line.body), awaited=False)
        after = self.replay.trial(line.node, action, args)
        is_other = after is not None and not self.replay.sends(tree, after)
        self.replay.take(line.node, action, args, sent=(tree,) if is_other else None, line=line)

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

    def _zombie_could(self, line: Send) -> bool:
        """Return whether a routine whose leadership is over would send this now."""
        if not any(fields(each)["term"] == line.body.term for each in self.replay.server(line.node)["zombies"]):
            return False
        after = self.replay.trial(line.node, *self._of_zombie(line))
        tree = request(line.node, line.to, line.msg, line.body)
        return after is not None and self.replay.message(tree, after, awaited=False) is not None

    @staticmethod
    def _no_zombie(line: Send) -> Tree:
        """Return a routine that would have sent it, had there been one."""
        next_index = line.body.prev_index + 1 if isinstance(line.body, AppendEntries) else 1
        return {"peer": line.to, "term": line.body.term, "nextIndex": next_index}

    # ---- Before something changes ----

    def build_before_step(self, node: str, action: str, args: Tree) -> None:
        """Build the next request of each routine that could build it now, but not after a step.

        The log, the last snapshot, the commit index and the role are read when a request is built.
        """
        after = None
        for line in self._next_requests(node, self.lookahead.replication, self.lookahead.heartbeats):
            if self._could_build(line):
                after = after or self.replay.trial(node, action, args)
                if after is not None and not self._could_build(line, after):
                    (self._build if self._is_running(line) else self._zombie)(line)
                    after = None

    def _could_build(self, line: Send, state: State | None = None) -> bool:
        """Return whether a routine would build this request in a state: in the present one if none is given."""
        present = self.replay.state
        self.replay.state = state or present
        try:
            return self._runner_could(line) if self._is_running(line) else self._zombie_could(line)
        finally:
            self.replay.state = present

    def _build_earlier(self, node: str, is_earlier: Callable[[Send], bool]) -> None:
        """Build the next request of each routine of a leader, if it can be built and is earlier than what comes now."""
        for line in self._next_requests(node, self.lookahead.replication):
            if is_earlier(line) and self._is_running(line) and self._could_build(line):
                self._build(line)

    def _next_requests(self, node: str, *tables: Requests) -> list[Send]:
        """Return the next request of each of a server's routines, if it was not built yet.

        Routines that run in no term by the spec's state cannot build theirs.
        """
        life = self.lives.get(node)
        if life is None:
            return []
        server = self.replay.server(node)
        routines = [*fields(server["replication"]).values(), *server["zombies"]]
        terms = {int(fields(each)["term"]) for each in routines}
        found = [line for table in tables for line in table.firsts(life, terms)]
        return [line for line in found if line.rpc not in self.sent]

    def _runner_could(self, line: Send) -> bool:
        """Return whether a routine of the present leadership would send this now, once it has acted on its answer."""
        reply = self._reply_before(line)
        steps = [] if reply is None else [_taking(reply)]
        if self._must_close(line):
            steps = self._closing(line.node, line.to)
        after = self.replay.trial_of(line.node, [*steps, self._builds(line)])
        tree = request(line.node, line.to, line.msg, line.body)
        return after is not None and self.replay.message(tree, after, awaited=True) is not None

    # ---- Committing ----

    def commit(self, node: str, shown: int) -> None:
        """A leader shows a commit index: its main loop has taken over what the routines had found committed.

        It may have done so several times since its last line; a request that is yet to be sent shows one of them.
        """
        while self.replay.server(node)["role"] == "Leader" and self.replay.server(node)["commitIndex"] < shown:
            here = self.replay.server(node)["commitIndex"]
            lines = filter(self._is_running, self._next_requests(node, self.lookahead.replication))
            commits = (line.body.commit for line in lines if isinstance(line.body, AppendEntries))
            to = min((index for index in commits if here < index < shown), default=shown)
            self._build_earlier(node, partial(_knows_less, to))
            self._find_committed(node, to)
            self.build_before_step(node, "ProcessLogs", {})
            # A leader that commits its own removal goes down in this step, and with it the index.
            goes_down = self._goes_down(node)
            if goes_down:
                self.verifications.ends(node)
            shows = None if goes_down else {"commitIndex": to}
            self.replay.take(node, "ProcessLogs", shows=shows, hidden=True)

    def _goes_down(self, node: str) -> bool:
        """Return whether a leader goes down as it commits what was found committed."""
        after = self.replay.trial(node, "ProcessLogs", {})
        return after is not None and self.replay.server(node, after)["role"] == "Shutdown"

    def _find_committed(self, node: str, index: int) -> None:
        """Act on answers until the entries up to an index are committed, starting with those for the fewest entries.

        An answer for fewer entries does not help, and its routine may act on it later. An answer comes last if the next
        request of its routine starts where it would without that answer.
        """

        def stored(reply: Reply) -> int:
            return reply.call.sent_index

        def comes_last(reply: Reply) -> bool:
            start = self._next_start(reply)
            if reply.call.pipelined:
                return start is not None and reply.call.sent_index >= start
            return start == self._next_index(reply)

        replies = [each for each in self.calls.replies_of(node, *OF_REPLICATION) if each.tree["success"]]
        for reply in sorted(replies, key=lambda each: (comes_last(each), stored(each))):
            if fields(self.replay.server(node)["leaderState"])["commitIndex"] >= index:
                return
            if stored(reply) >= index:
                self.act_on(reply)

    def _next_index(self, reply: Reply) -> int:
        """Return where a routine sends from until it acts on its answer."""
        return int(self.replay.runner(reply.call.src, reply.call.dst)["nextIndex"])

    def _next_start(self, reply: Reply) -> int | None:
        """Return where the next request of a routine starts, unless that is a snapshot or was built before.

        Of a pipeline it is the next single call: its other requests start behind those before them.
        """
        node, peer = reply.call.src, reply.call.dst
        if reply.call.pipelined:
            return self._next_single(node, peer)
        line = self.lookahead.replication.first(self._routine(node, peer))
        return None if line is None or line.rpc in self.sent else start_of(line)

    # ---- The main loop ----

    def noop_if_due(self, node: str, term: int) -> None:
        """The routines run from before the first entry is stored: if one of them is first, the step was before."""
        server = self.replay.server(node)
        if server["loop"] == "LEAD" and server["currentTerm"] == term:
            self.noop(node)

    def noop(self, node: str) -> None:
        """A leader sets up its state and stores its first entry."""
        stored = self.noops.pop(node, None)
        role = self.servers[node].role  # another one if a heartbeat beside the main loop came in between
        shows: Tree = {"role": "Leader", "leader": node} if role == "Leader" else {"role": role}
        if stored is not None:
            shows |= entries_shown(stored)
            self.servers[node].write(stored)
        self.replay.take(node, "DispatchNoop", {"outcome": DONE}, shows, (), line=stored)

    def dispatch(self, line: StoreLogs) -> None:
        """A leader stores what clients ask for."""
        self._hand_over_if_asked(line.node)
        self.end_transfer(line.node)
        self.servers[line.node].write(line)
        logs = [{"type": each.type, "value": each.v} for each in line.entries]
        self.replay.take(line.node, "DispatchLogs", {"logs": logs, "outcome": DONE}, entries_shown(line), ())

    def reconfigure(self, line: StoreLogs) -> None:
        """A leader stores another configuration: it adds, promotes, demotes or removes a server.

        Raises ValueError where no change of one server leads from the configuration before it to the entry.
        """
        node = line.node
        change = self._change(node, line.entries[0].v or "") if len(line.entries) == 1 else None
        if change is None:
            raise ValueError(f"{line.entries[0].v!r} is no change of one server")
        command, server = change
        self._hand_over_if_asked(node)
        self.end_transfer(node)
        self.servers[node].write(line)
        self._count_last_answers(node)
        args: Tree = {"command": command, "server": server, "outcome": DONE}
        self.build_before_step(node, "AppendConfigurationEntry", args)
        self.replay.take(node, "AppendConfigurationEntry", args, entries_shown(line), ())

    def _count_last_answers(self, node: str) -> None:
        """Act on what has come from peers before others vote: afterwards it might commit nothing.

        A routine whose next request starts where it would without the answer has not acted on it.
        """
        for reply in list(self.calls.replies_of(node, *OF_REPLICATION)):
            if reply.tree["success"] and self._next_start(reply) != self._next_index(reply):
                self.act_on(reply)

    def _change(self, node: str, text: str) -> tuple[str, str] | None:
        """Return a command and the server that it is about, with which a leader gets to a configuration."""
        latest = fields(fields(self.replay.server(node)["configurations"])["latest"])
        before = Configuration(frozenset(latest["voters"]), frozenset(latest["nonvoters"]))
        after = Configuration(*members(text))
        for server in sorted(before.servers | after.servers):
            for command in ChangeCommand:
                if next_configuration(before, command, server) == after:
                    return str(command), server
        return None

    def step_down(self, node: str) -> None:
        """A leader has learnt of a higher term from an answer, and follows.

        Of several such answers, the leader acted on the one whose routine sends nothing afterwards.
        """
        stale = filter(self._is_stale, self.calls.replies_of(node, *OF_REPLICATION))
        for reply in sorted(stale, key=self._sends_afterwards):
            if not fields(self.replay.server(node)["leaderState"])["stepDown"]:
                self.act_on(reply)
        self.lose(node)
        self.replay.take(node, "StepDown", shows=self.servers[node].shown())

    def _sends_afterwards(self, reply: Reply) -> int:
        """Return how many requests a routine has yet to send that it cannot build before it acts on its answer."""
        node, peer = reply.call.src, reply.call.dst
        routine, tables = self._routine(node, peer), (self.lookahead.replication, self.lookahead.heartbeats)
        lines = (line for table in tables for line in table.all(routine) if line.rpc not in self.sent)
        could_build = any(self._could_build(line) for line in islice(lines, 1))
        known = sum(line.rpc not in self.sent for table in tables for line in table.queues.get(routine, ()))
        return known + sum(table.left(routine) for table in tables) - could_build

    def denied(self, node: str) -> None:
        """A leader that was asked whether it leads has learnt from a peer that it does not, and follows."""
        self.verifications.refuted(node)
        self.lose(node)
        self.replay.take(node, "HandleVerify", shows=self.servers[node].shown())

    def lease(self, node: str) -> None:
        """A leader has not heard from a quorum, and follows."""
        self.lose(node)
        self.replay.take(node, "CheckLeaderLease", shows=self.servers[node].shown())

    def lose(self, node: str) -> None:
        """A leadership ends: what its routines had built by then they built as those of a leader.

        A routine that sends later still sends from where the last answer it acted on had led; one with a pipeline, from
        behind any of its requests, too. The answers that are left are not for the server's next leadership.
        """
        if self.replay.server(node)["role"] != "Leader":
            return
        self.verifications.ends(node)
        self._hand_over_if_asked(node)
        self.asked.pop(self.lives[node], None)
        self._build_earlier(node, lambda line: not self._must_close(line))
        for reply in [each for each in self.calls.replies_of(node, *OF_REPLICATION) if not each.call.pipelined]:
            if self._next_start(reply) not in (None, self._next_index(reply)):
                self.act_on(reply)
        self.calls.forget(node, *OF_REPLICATION, "Heartbeat")

    # ---- Handing over ----

    def asked_to_hand_over(self, line: TransferReq) -> None:
        """A client asks a leader to hand over."""
        self.asked[line.life].append(line)

    def answered_transfer(self, line: TransferResp) -> None:
        """A client has its answer: no TimeoutNow that is built from now on follows from its request."""
        self.asked[line.life] = [each for each in self.asked[line.life] if each.k != line.k]

    def _ask_for(self, line: Send) -> TransferReq | None:
        """Return the client's request that a TimeoutNow may follow from."""
        return next((each for each in self.asked[line.life] if each.to in ("", line.to)), None)

    def timeout_now(self, line: Send) -> None:
        """A leader asks its successor to campaign; if the request was not built before, it is built now."""
        self.lookahead.transfers[line.life].popleft()
        if line.rpc not in self.sent:
            self._hand_over(line)

    def _hand_over(self, line: Send) -> None:
        """A leader has brought its successor up to date, and asks it to campaign."""
        node, peer = line.node, line.to
        ask = self._ask_for(line)
        if ask is not None:
            self.asked[line.life].remove(ask)
        self.end_transfer(node)
        self.replay.take(node, "LeadershipTransfer", {"peer": peer}, line=line, hidden=True)
        reply = self._reply_of_successor(line)
        if reply is not None:
            self.act_on(reply)
        call = self.calls.begin(line)
        self.sent.add(call.rpc)
        tree = self._whole(request(node, peer, line.msg, line.body), awaited=True)
        self.replay.take(node, "SendTimeoutNow", sent=(tree,), line=line)

    def _reply_of_successor(self, line: Send) -> Reply | None:
        """Return the answer that may show that the successor is up to date, unless it is known to be."""
        is_up_to_date = self.replay.runner(line.node, line.to)["nextIndex"] > last_index(self.replay, line.node)
        return None if is_up_to_date else self._reply(line.node, line.to)

    def _hand_over_if_asked(self, node: str) -> None:
        """Build the next TimeoutNow if a client has asked for it and the successor is up to date.

        It could not be built once the leader has stored more entries, or has lost its leadership.
        """
        queue = self.lookahead.transfers.get(self.lives[node])
        if not queue or queue[0].rpc in self.sent or self._ask_for(queue[0]) is None:
            return
        if self._could_hand_over(queue[0]):
            self._hand_over(queue[0])

    def _could_hand_over(self, line: Send) -> bool:
        """Return whether a leader could ask its successor to campaign now."""
        steps: list[tuple[str, Tree]] = [("LeadershipTransfer", {"peer": line.to}), ("SendTimeoutNow", {})]
        reply = self._reply_of_successor(line)
        if reply is not None:
            earlier = self.calls.decoded(line.node, line.to, reply) if reply.call.pipelined else [reply]
            steps[1:1] = map(_taking, earlier)
        if self._is_handing_over(line.node):
            steps.insert(0, ("EndTransfer", {}))
        return self.replay.trial_of(line.node, steps) is not None

    def _is_handing_over(self, node: str) -> bool:
        return bool(fields(self.replay.server(node)["transfer"])["inProgress"])

    def end_transfer(self, node: str) -> None:
        """A transfer is over, if there was one: its end is not recorded, only what may not be before it."""
        if self._is_handing_over(node):
            self.replay.take(node, "EndTransfer", hidden=True)


def _taking(reply: Reply) -> tuple[str, Tree]:
    """Return the action by which a routine of a leader acts on an answer, and its arguments."""
    return TAKES[reply.call.type], {"m": reply.tree}


def _knows_less(index: int, line: Send) -> bool:
    """Return whether a request was built when less was committed."""
    return isinstance(line.body, AppendEntries) and line.body.commit < index


def entries_shown(line: StoreLogs) -> Tree:
    """Return what a server shows that has stored entries."""
    last = line.entries[-1]
    shown: Tree = {
        "lastLog": {"index": last.i, "term": last.t},
        "log": {str(each.i): entry(each) for each in line.entries},
    }
    return shown if line.commit is None else shown | {"storedCommit": line.commit}


def latest_voters(replay: RecordingReplay, node: str) -> set[str]:
    """Return the voters of a server's latest configuration."""
    return set(fields(fields(replay.server(node)["configurations"])["latest"])["voters"])


def last_index(replay: RecordingReplay, node: str) -> int:
    """Return the end of a server's log or snapshot, whichever is further."""
    server = replay.server(node)
    return max(int(fields(server[place])["index"]) for place in ("lastLog", "lastSnapshot"))
