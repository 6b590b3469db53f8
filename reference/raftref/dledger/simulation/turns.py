"""Turns of nodes by chance: one is chosen by its role, and takes an action if that is enabled."""

from __future__ import annotations

from typing import Any

from raftref.dledger.messages import NodeId
from raftref.dledger.simulation.cluster import Cluster, Event
from raftref.dledger.simulation.plan import FaultPlan
from raftref.dledger.state import Role
from raftref.simulation.chances import Chances

#: The number of messages in a channel from which on nobody sends into it.
CHANNEL_FULL = 12


class Turns(Chances[Event]):
    """A cluster and the chances of one run; everything in it follows from seed and plan."""

    def __init__(self, seed: int, plan: FaultPlan, cluster: Cluster | None = None) -> None:
        """Begin a run.

        Args:
            seed: The seed of all chance.
            plan: Shape and faults.
            cluster: The group of that plan to run; by default one that keeps its logs in memory.
        """
        super().__init__(seed)
        self.plan = plan
        self.cluster = Cluster(plan) if cluster is None else cluster

    def one_of(self, nodes: list[NodeId]) -> NodeId | None:
        """Choose one of the nodes; None if there are none."""
        return self.random.choice(nodes) if nodes else None

    def in_role(self, *roles: Role) -> list[NodeId]:
        """Return the nodes in one of these roles."""
        return [name for name, each in self.cluster.servers.items() if each.member_state.role in roles]

    def running(self) -> list[NodeId]:
        """Return the nodes whose process runs."""
        return self.in_role(Role.LEADER, Role.FOLLOWER, Role.CANDIDATE)

    def pushing(self) -> tuple[NodeId, NodeId] | None:
        """Choose a dispatcher: mostly a leader's, sometimes one of a leader that was."""
        node = self.one_of(self.running() if self.chance(0.1) else self.in_role(Role.LEADER))
        return None if node is None else (node, self.random.choice(self.cluster.servers[node].peers))

    def attempt(self, node: NodeId, action: str, *args: Any) -> Event | None:
        """Take an action if it is enabled."""
        return self.cluster.take(node, action, *args) if self.cluster.enabled(node, action, *args) else None

    def push(self, node: NodeId, action: str, peer: NodeId, *args: Any) -> Event | None:
        """Let a dispatcher send, unless its channel is full."""
        full = len(self.cluster.network.channels[node, peer]) >= CHANNEL_FULL
        return None if full else self.attempt(node, action, peer, *args)

    def reaches(self, one: NodeId, other: NodeId) -> bool:
        """Return whether both run and are connected."""
        servers = self.cluster.servers
        return servers[one].is_up and servers[other].is_up and self.cluster.network.connected(one, other)
