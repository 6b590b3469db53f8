"""The goroutines of a leadership that is over, or for a peer that was removed, and what they still send."""

from __future__ import annotations

from dataclasses import dataclass

from raftref.hashicorp.replication import most_entries
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.runtime.peer_calls import PeerCalls
from raftref.hashicorp.runtime.replicate_routine import ReplicateRoutine
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import Index, Zombie
from raftref.runtime.driver import NEVER, Seconds


@dataclass(slots=True)
class ZombieRoutine:
    """A routine of a leadership that is over, and what it still sends: entries up to `target`, and heartbeats.

    Entries, if any, are sent at `sends_at`. `call` is the call that the routine waits for; until then it heartbeats.
    """

    target: Index
    sends_at: Seconds = NEVER
    call: int | None = None
    beats_at: Seconds = NEVER

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.sends_at == NEVER and self.call is None

    @property
    def next_time(self) -> Seconds:
        """When it sends next."""
        return min(self.sends_at, self.beats_at)


class ZombieRoutines:
    """Those of one server.

    One that rests still sends after that, and one that waits for an answer goes on with heartbeats until then. One
    for a peer that was removed, which does neither, sends the log up to that entry.

    Source: replicate, which looks at stopCh between two calls alone.
    """

    def __init__(self, node: NodeContext, calls: PeerCalls) -> None:
        """Begin with none."""
        self._node = node
        self._calls = calls
        self._routines: dict[Zombie, ZombieRoutine] = {}

    def add(self, zombie: Zombie, routine: ReplicateRoutine, before: Server) -> None:
        """Let a routine go on for a while that was stopped; `before` is the server as it was until then."""
        left = self._rest_of(zombie, routine, before)
        if not left.is_over:
            self._routines[zombie] = left

    def _rest_of(self, zombie: Zombie, routine: ReplicateRoutine, before: Server) -> ZombieRoutine:
        node = self._node
        # A pipeline is closed at once, whatever is under way in it.
        pipelined = before.replication(zombie.peer).has_pipeline
        call = None if pipelined else self._calls.replication_call(zombie.peer)
        last = node.server.last_log.index
        if call is not None:
            return ZombieRoutine(last, NEVER, call, node.now + node.between(node.settings.heartbeat_interval))
        if routine.rests_for is not None:
            return ZombieRoutine(routine.rests_for, routine.rests_until)
        if node.server.role is Role.LEADER:
            return ZombieRoutine(last, node.now)
        return ZombieRoutine(before.last_log.index)

    def end_call(self, number: int) -> None:
        """End the routine that waits for a call, which has ended."""
        self._routines = {zombie: each for zombie, each in self._routines.items() if each.call != number}

    def moments(self) -> list[Seconds]:
        """Return when they send next."""
        return [each.next_time for each in self._routines.values()]

    def work(self) -> bool:
        """Let them send what is due; return whether anything was sent."""
        took = False
        for zombie, routine in list(self._routines.items()):
            took = self._beat(zombie, routine) or took
            took = self._send(zombie, routine) or took
            if routine.is_over:
                del self._routines[zombie]
        return took

    def _beat(self, zombie: Zombie, routine: ZombieRoutine) -> bool:
        node = self._node
        if routine.beats_at > node.now:
            return False
        routine.beats_at = node.now + node.between(node.settings.heartbeat_interval)
        return node.take("ZombieHeartbeat", zombie)

    def _send(self, zombie: Zombie, routine: ZombieRoutine) -> bool:
        node = self._node
        if routine.sends_at > node.now:
            return False
        routine.sends_at = NEVER
        most = most_entries(node.server, zombie.next_index)
        count = max(0, min(most, routine.target - zombie.next_index + 1))
        return node.take("ZombieReplicateTo", zombie, count) or node.take("ZombieSendSnapshot", zombie)
