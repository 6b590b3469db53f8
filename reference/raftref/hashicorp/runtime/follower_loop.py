"""The main loop of a follower: it stands for election once it has heard of no leader for too long."""

from __future__ import annotations

from raftref.hashicorp.messages import (
    AppendEntriesResponse,
    HeartbeatResponse,
    InstallSnapshotResponse,
    RequestVoteResponse,
)
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import Effects
from raftref.runtime.driver import NEVER, Seconds


class FollowerLoop:
    """Decides when a follower stands for election.

    Source: runFollower.
    """

    def __init__(self, node: NodeContext) -> None:
        """Begin without having heard of a leader."""
        self._node = node
        #: When a leader was heard of last.
        self.last_contact: Seconds = -NEVER

    def begin_role(self) -> None:
        """Begin to wait for a leader, or stop to."""
        node = self._node
        if node.server.role is Role.FOLLOWER:
            node.timers.set("heartbeat", node.now + node.between(node.settings.heartbeat_timeout))
        else:
            node.timers.clear("heartbeat")

    def hear_of_leader(self) -> None:
        """Let something count as contact with a leader. Source: setLastContact."""
        self.last_contact = self._node.now

    def hear_request(self, effects: Effects) -> None:
        """Let a request count that was granted. Source: appendEntries, requestVote, installSnapshot."""
        for answer in effects.sent:
            match answer:
                case AppendEntriesResponse() | HeartbeatResponse() | InstallSnapshotResponse() if answer.success:
                    self.hear_of_leader()
                case RequestVoteResponse(granted=True):
                    self.hear_of_leader()

    def work(self) -> bool:
        """Stand for election once nothing was heard for too long. Source: runFollower, heartbeatTimer."""
        node, time = self._node, self._node.settings.heartbeat_timeout
        if not node.timers.is_due("heartbeat", node.now):
            return False
        node.timers.set("heartbeat", node.now + node.between(time))
        idle = node.server.leader is None and not node.server.is_voter
        return node.now - self.last_contact >= time and not idle and node.take("HeartbeatTimeout")
