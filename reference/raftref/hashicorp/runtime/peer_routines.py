"""The two goroutines of a leader for each peer, from the begin of a leadership to its end."""

from __future__ import annotations

from dataclasses import dataclass

from raftref.hashicorp.messages import (
    AppendEntriesResponse,
    HeartbeatResponse,
    InstallSnapshotResponse,
    Request,
    Response,
    RpcType,
)
from raftref.hashicorp.runtime.heartbeat_routine import HeartbeatRoutine
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.runtime.replicate_routine import ReplicateRoutine
from raftref.hashicorp.runtime.zombie_routines import ZombieRoutines
from raftref.hashicorp.server import Server
from raftref.hashicorp.values import NodeId, Term
from raftref.runtime.driver import Seconds


@dataclass(slots=True)
class PeerRoutine:
    """The two routines for a peer, and when it answered one of them last. Source: followerReplication."""

    replicate: ReplicateRoutine
    heartbeat: HeartbeatRoutine
    contact: Seconds


class PeerRoutines:
    """Starts and stops the routines of one server, and lets them work.

    Source: startStopReplication, runLeader.
    """

    def __init__(self, node: NodeContext, zombies: ZombieRoutines) -> None:
        """Begin without a leadership; what is stopped may go on among the `zombies`."""
        self._node = node
        self._zombies = zombies
        self._routines: dict[NodeId, PeerRoutine] = {}

    def after_step(self, before: Server) -> None:
        """Start and stop routines as the step demands, and wake them if it has appended to the log."""
        server = self._node.server
        if server.repl_state.keys() != self._routines.keys():
            self._start()
            self._stop(before)
        if server.last_log.index > before.last_log.index:
            for routine in self._routines.values():
                routine.replicate.trigger()

    def _start(self) -> None:
        """Begin routines for new peers. Source: startStopReplication."""
        node = self._node
        for peer in sorted(node.server.repl_state.keys() - self._routines.keys()):
            self._routines[peer] = PeerRoutine(ReplicateRoutine(node, peer), HeartbeatRoutine(node, peer), node.now)

    def _stop(self, before: Server) -> None:
        """End the routines for peers that are gone. Source: startStopReplication; runLeader, the deferred part."""
        server = self._node.server
        left = {each.peer: each for each in sorted(server.zombies - before.zombies)}  # the one that sent most
        for peer in sorted(self._routines.keys() - server.repl_state.keys()):
            routine = self._routines.pop(peer)
            if peer in left:
                self._zombies.add(left[peer], routine.replicate, before)
            routine.replicate.stop()
            routine.heartbeat.stop()

    def work(self) -> bool:
        """Let all routines send what they can; return whether anything was sent."""
        return sum(each.replicate.work() + each.heartbeat.work() for each in list(self._routines.values())) > 0

    def take_answer(self, m: Response, term: Term) -> None:
        """Take an answer that was handled; `term` is that of the leadership whose routine asked.

        Source: replicateTo, sendLatestSnapshot, heartbeat.
        """
        routine = self._routines.get(m.src)
        if routine is None:
            return
        match m:
            case HeartbeatResponse():
                routine.contact = self._node.now
                routine.heartbeat.take_answer()
            case AppendEntriesResponse() | InstallSnapshotResponse() if m.term <= term:
                routine.contact = self._node.now
                routine.replicate.take_answer(m)

    def fail_call(self, call: Request) -> None:
        """Take the failure of a call. Source: the same functions, where the call returns an error."""
        routine = self._routines.get(call.dst)
        self._node.take("RPCError", call.dst, call.type)
        if routine is None:
            return
        if call.type is RpcType.HEARTBEAT:
            routine.heartbeat.fail_call()
        elif call.type in (RpcType.APPEND_ENTRIES, RpcType.INSTALL_SNAPSHOT):
            routine.replicate.fail_call()

    def notify(self) -> None:
        """Let every peer be sent a heartbeat at once. Source: verifyLeader, asyncNotifyCh."""
        for routine in self._routines.values():
            routine.heartbeat.ask()

    def contact(self, peer: NodeId) -> Seconds | None:
        """Return when a peer answered last; None of one without routines. Source: followerReplication.LastContact."""
        routine = self._routines.get(peer)
        return None if routine is None else routine.contact
