"""Requests that a main loop handles: one step each, with the writes that were recorded, and the answer."""

from __future__ import annotations

from lockstep.systems.hashicorp.recorded_calls import Calls, RecordedCall, Tree, entry, request, snapshot_place
from lockstep.systems.hashicorp.recorded_leaders import Leaders, entries_shown
from lockstep.systems.hashicorp.recorded_servers import RecordedServer
from lockstep.systems.hashicorp.recording_lines import (
    FsmRestore,
    LeaderLine,
    StableFail,
    StableSet,
    StateLine,
    StoreLogs,
)
from lockstep.systems.hashicorp.recording_lookahead import WRITES, HandledRequest, Part
from lockstep.systems.hashicorp.recording_messages import Body, Respond
from lockstep.systems.hashicorp.recording_replay import DONE, RecordingReplay

#: The action that handles a request, by its type; each but the last two has an outcome.
HANDLES = {
    "AppendEntries": "AppendEntries",
    "Heartbeat": "AppendEntries",
    "InstallSnapshot": "InstallSnapshot",
    "RequestVote": "RequestVote",
    "RequestPreVote": "RequestPreVote",
    "TimeoutNow": "TimeoutNow",
}
WITHOUT_OUTCOME = ("RequestPreVote", "TimeoutNow")


class Handlers:
    """The main loops as they handle requests."""

    def __init__(
        self, replay: RecordingReplay, calls: Calls, leaders: Leaders, servers: dict[str, RecordedServer]
    ) -> None:
        """Read a recording of these servers."""
        self.replay, self.calls, self.leaders, self.servers = replay, calls, leaders, servers

    def handle(self, handler: HandledRequest) -> None:
        """Take the step of a handler."""
        recv = handler.recv
        node, server = recv.node, self.servers[recv.node]
        if handler.heartbeat is not None:
            self._vote_around(handler, handler.heartbeat)
            return
        if (handler.overlaps or handler.shuts_down) and server.role == "Follower":
            handler.parts = [part for part in handler.parts if not _enters_again(part, server)]
        is_answered = handler.respond is not None or handler.commits
        if not is_answered and not any(isinstance(part, WRITES) for part in handler.parts):
            return  # the process went down before it had written anything: its step is unknown
        call = self.calls.find(recv) or RecordedCall(recv.source, node, recv.msg, recv.body, recv.rpc)
        m = self._request(recv.source, node, recv.msg, recv.body, call)
        if not recv.beside:
            self.leaders.noop_if_due(node, self.replay.server(node)["currentTerm"])
            self.replay.reach_select(node)
        if handler.is_early and recv.msg in ("AppendEntries", "InstallSnapshot"):
            server.leader = None
        for part in handler.parts:
            server.write(part)
        action = HANDLES[m["type"]]
        args: Tree = {"m": m}
        if action not in WITHOUT_OUTCOME:
            args["outcome"] = outcome(handler)
        if self._changes_role(handler):
            self.leaders.lose(node)
        self.leaders.build_before_step(node, action, args)
        if args.get("outcome") == DONE:
            args["outcome"] = self._outcome_by_writes(handler, action, args)
        sent = self._answer(handler, call, action, args)
        self.replay.take(node, action, args, self._shows(handler, server), sent)
        self.replay.notice(node)
        if any(isinstance(part, FsmRestore) for part in handler.parts):
            self.replay.require_snapshot(node, snapshot_place(handler.recv.body))

    def _vote_around(self, vote: HandledRequest, heartbeat: HandledRequest) -> None:
        """Take the step of a vote between whose lines a heartbeat of the old leader was handled."""
        node, action = vote.recv.node, "RequestVoteAroundHeartbeat"
        server = self.servers[node]
        self.replay.reach_select(node)
        args, sent = {}, []
        for name, each in (("request", vote), ("heartbeat", heartbeat)):
            recv = each.recv
            call = self.calls.find(recv) or RecordedCall(recv.source, node, recv.msg, recv.body, recv.rpc)
            args[name] = self._request(recv.source, node, recv.msg, recv.body, call)
            if each.respond is not None:
                call.answers[each.respond.copy] = answer = self.calls.answer(call, each.respond.body)
                sent += [answer] if args[name]["awaited"] else []
        for part in sorted((*vote.parts, *heartbeat.parts), key=lambda part: part.seq):
            server.write(part)
        if self._changes_role(vote):
            self.leaders.lose(node)
        self.leaders.build_before_step(node, action, args)
        self.replay.take(node, action, args, self._shows(vote, server), tuple(sent))

    def under_way(self, call: RecordedCall) -> Tree:
        """Return the request of a call as it is under way, if it is."""
        return self._request(call.src, call.dst, call.msg, call.body, call)

    def _request(self, src: str, dst: str, msg: str, body: Body, call: RecordedCall) -> Tree:
        tree = request(src, dst, msg, body)
        for awaited in (True, False) if self.calls.is_current(call) else (False,):
            found = self.replay.message(tree, awaited=awaited)
            if found is not None:
                return dict(self.replay.tree(found))
        if "snapshot" in tree:
            tree["snapshot"] = {**tree["snapshot"], "applied": []}
        return {**tree, "awaited": self.calls.is_current(call)}

    def _changes_role(self, handler: HandledRequest) -> bool:
        return any(part.kind == "state" for part in handler.parts)

    def _outcome_by_writes(self, handler: HandledRequest, action: str, args: Tree) -> Tree:
        """Return the outcome of a handler that came to its end: done, if it wrote as often as the spec's handler.

        Another number of writes is only that of a process which died after them, and this one has answered.
        """
        node, count = handler.recv.node, sum(isinstance(part, WRITES) for part in handler.parts)
        died, wrote_more = ({"result": "CRASH", "write": count + more} for more in (0, 1))

        def is_step(outcome: Tree) -> bool:
            return self.replay.trial(node, action, {**args, "outcome": outcome}) is not None

        return DONE if (not count or is_step(died)) and not is_step(wrote_more) else died

    def _answer(self, handler: HandledRequest, call: RecordedCall, action: str, args: Tree) -> tuple[Tree, ...] | None:
        """Return the messages that the handler sends: its answer, if a caller waits for that, and if it came to it.

        An answer that nobody waits for is one of them only where the spec's handler would have given another.
        """
        respond = handler.respond
        if respond is None and handler.commits:
            return None  # the process died before the line of its answer
        if respond is None or is_error(respond):
            return ()
        tree = self.calls.answer(call, respond.body)
        call.answers[respond.copy] = tree
        m = args["m"]
        if m["awaited"] or self.replay.unawaited_answer(handler.recv.node, action, args) not in (None, tree):
            return (tree,)
        return ()

    def _shows(self, handler: HandledRequest, server: RecordedServer) -> Tree:
        if handler.respond is None:
            return server.keys_shown()
        if handler.recv.beside and handler.overlaps:
            return _written_by(handler, server.shown())
        shows = server.shown()
        if handler.overlaps and not any(isinstance(part, LeaderLine) for part in handler.parts):
            shows.pop("leader", None)  # the heartbeat may have made it known before this handler did
        if server.role == "Follower" and handler.respond.obs is not None and handler.respond.obs.role == "Follower":
            obs = handler.respond.obs
            shows |= {"commitIndex": obs.commit, "lastApplied": obs.applied, "lastIndex": obs.last}
        for part in handler.parts:
            if isinstance(part, StoreLogs):
                shows |= entries_shown(part)
                shows["log"] = {str(each.i): entry(server.log[each.i]) for each in part.entries}
            if isinstance(part, FsmRestore):
                place = snapshot_place(handler.recv.body)
                shows |= {"lastSnapshot": place, "fsm": place}
        return shows


def _written_by(handler: HandledRequest, shown: Tree) -> Tree:
    """Return what a server shows of what a handler itself has written.

    The main loop handles another request meanwhile, which is one step of the spec: no state between two steps has what
    that has written so far.
    """
    written: Tree = {}
    for part in handler.parts:
        match part:
            case StableSet():
                written["currentTerm"] = shown["currentTerm"]
            case StateLine():
                written["role"] = shown["role"]
            case LeaderLine():
                written["leader"] = shown["leader"]
            case _:
                pass
    return written


def _enters_again(part: Part, server: RecordedServer) -> bool:
    """Return whether a follower writes the term that it has.

    After Shutdown it takes itself for none; and of two requests of a new term that are handled at the same time, both
    enter it.
    """
    return isinstance(part, StableSet) and part.key == "CurrentTerm" and part.value == server.keys["CurrentTerm"]


def outcome(handler: HandledRequest) -> Tree:
    """Return the outcome of the writes of a handler."""
    writes = 0
    for part in handler.parts:
        if isinstance(part, StableFail):
            return {"result": "FAIL", "write": writes + 1}
        writes += isinstance(part, WRITES)
    return DONE if handler.respond is not None or handler.commits else {"result": "CRASH", "write": writes}


def is_error(respond: Respond) -> bool:
    """Return whether the caller gets an error instead of an answer."""
    return respond.err is not None or respond.body.err is not None
