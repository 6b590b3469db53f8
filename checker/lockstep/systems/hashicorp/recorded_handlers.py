"""Requests that a main loop handles: one step each, with the writes that were recorded, and the answer."""

from __future__ import annotations

from lockstep.systems.hashicorp.recorded_calls import Call, Calls, Tree, answer, entry, request, snapshot_place
from lockstep.systems.hashicorp.recorded_leaders import Leaders, entries_shown
from lockstep.systems.hashicorp.recorded_servers import Server
from lockstep.systems.hashicorp.recording_lines import FsmRestore, StableFail, StoreLogs
from lockstep.systems.hashicorp.recording_lookahead import WRITES, Handler
from lockstep.systems.hashicorp.recording_messages import Body, Respond
from lockstep.systems.hashicorp.recording_replay import DONE, Replay

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

    def __init__(self, replay: Replay, calls: Calls, leaders: Leaders, servers: dict[str, Server]) -> None:
        """Read a recording of these servers."""
        self.replay, self.calls, self.leaders, self.servers = replay, calls, leaders, servers

    def handle(self, handler: Handler) -> None:
        """Take the step of a handler."""
        recv = handler.recv
        node, server = recv.node, self.servers[recv.node]
        if handler.respond is None and not any(isinstance(part, WRITES) for part in handler.parts):
            return  # the process went down before it had written anything: its step is unknown
        call = self.calls.find(recv) or Call(recv.source, node, recv.msg, recv.body, recv.rpc)
        m = self._request(recv.source, node, recv.msg, recv.body, call)
        self.leaders.noop_if_due(node, self.replay.server(node)["currentTerm"])
        for part in handler.parts:
            server.write(part)
        action = HANDLES[m["type"]]
        args: Tree = {"m": m}
        if action not in WITHOUT_OUTCOME:
            args["outcome"] = outcome(handler)
        if self._changes_role(handler):
            self.leaders.lose(node)
        self.leaders.build_before_step(node, action, args)
        sent = self._answer(handler, call, awaited=m["awaited"])
        self.replay.take(node, action, args, self._shows(handler, server), sent)
        if any(isinstance(part, FsmRestore) for part in handler.parts):
            self.replay.require_snapshot(node, snapshot_place(handler.recv.body))

    def under_way(self, call: Call) -> Tree:
        """Return the request of a call as it is under way, if it is."""
        return self._request(call.src, call.dst, call.msg, call.body, call)

    def _request(self, src: str, dst: str, msg: str, body: Body, call: Call) -> Tree:
        tree = request(src, dst, msg, body)
        for awaited in (True, False) if self.calls.is_current(call) else (False,):
            found = self.replay.message(tree, awaited=awaited)
            if found is not None:
                return dict(self.replay.tree(found))
        if "snapshot" in tree:
            tree["snapshot"] = {**tree["snapshot"], "applied": []}
        return {**tree, "awaited": self.calls.is_current(call)}

    def _changes_role(self, handler: Handler) -> bool:
        return any(part.kind == "state" for part in handler.parts)

    def _answer(self, handler: Handler, call: Call, *, awaited: bool) -> tuple[Tree, ...] | None:
        """Return the messages that the handler sends: its answer, if a caller waits for that, and if it came to it."""
        respond = handler.respond
        if respond is None or is_error(respond):
            return ()
        tree = answer(call.dst, call.src, call.type, respond.body)
        call.answers[respond.copy] = tree
        return (tree,) if awaited else ()

    def _shows(self, handler: Handler, server: Server) -> Tree:
        if handler.respond is None:
            return server.keys_shown()
        shows = server.shown()
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


def outcome(handler: Handler) -> Tree:
    """Return the outcome of the writes of a handler."""
    writes = 0
    for part in handler.parts:
        if isinstance(part, StableFail):
            return {"result": "FAIL", "write": writes + 1}
        writes += isinstance(part, WRITES)
    return DONE if handler.respond is not None else {"result": "CRASH", "write": writes}


def is_error(respond: Respond) -> bool:
    """Return whether the caller gets an error instead of an answer."""
    return respond.err is not None or respond.body.err is not None
