"""The leader's goroutine that sends heartbeats to one peer."""

from __future__ import annotations

from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.values import NodeId
from raftref.runtime.driver import Seconds


class HeartbeatRoutine:
    """Decides when a peer is sent a heartbeat.

    Source: heartbeat.
    """

    def __init__(self, node: NodeContext, peer: NodeId) -> None:
        """Begin with a leadership, or with a peer that joins the group."""
        self._node = node
        self._peer = peer
        #: Whether one is to be sent at once. Source: followerReplication.notifyCh.
        self._asked = False
        self._failure_count = 0
        self._set_next(node.now)
        node.timers.clear(("rest", peer))

    def ask(self) -> None:
        """Let one be sent at once, unless the routine rests after a failure."""
        self._asked = True

    def work(self) -> bool:
        """Send a heartbeat, if it is time or a client waits for it; return whether one was sent."""
        node, peer = self._node, self._peer
        due = node.timers.is_due(("beat", peer), node.now)
        if not (due or (self._asked and node.timers.is_due(("rest", peer), node.now))):
            return False
        if not node.take("Heartbeat", peer):
            return False
        self._asked = False
        return True

    def take_answer(self) -> None:
        """Wait until the next one is due."""
        self._failure_count = 0
        self._set_next(self._node.now)

    def fail_call(self) -> None:
        """Rest after a failure, longer after several. Source: heartbeat, cappedExponentialBackoff."""
        rests_until = self._node.now + self._node.settings.heartbeat_backoff(self._failure_count)
        self._failure_count += 1
        self._node.timers.set(("rest", self._peer), rests_until)
        self._set_next(rests_until)

    def stop(self) -> None:
        """End with the leadership, or with a peer that leaves the group."""
        for name in ("beat", "rest"):
            self._node.timers.clear((name, self._peer))

    def _set_next(self, after: Seconds) -> None:
        self._node.timers.set(("beat", self._peer), after + self._node.between(self._node.settings.heartbeat_interval))
