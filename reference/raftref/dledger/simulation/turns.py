"""Turns of nodes by chance: one is chosen by its role, and takes an action if that is enabled."""

from __future__ import annotations

from typing import Any

from raftref.dledger.messages import NodeId
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.simulation.fault_plan import FaultPlan
from raftref.dledger.state import Role
from raftref.simulation.group import Event
from raftref.simulation.random_schedule import RandomSchedule


class Turns(RandomSchedule[Cluster]):
    """A cluster and the chances of one run; everything in it follows from seed and plan."""

    def __init__(self, seed: int, plan: FaultPlan, cluster: Cluster | None = None) -> None:
        """Begin a run.

        Args:
            seed: The seed of all chance.
            plan: Shape and faults.
            cluster: The group of that plan to run; by default one that keeps its logs in memory.
        """
        super().__init__(seed, plan, Cluster(plan) if cluster is None else cluster)
        self.plan = plan

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

    def push(self, node: NodeId, action: str, peer: NodeId, *args: Any) -> Event | None:
        """Let a dispatcher send, unless its channel is full."""
        return None if self.is_full(node, peer) else self.attempt(node, action, peer, *args)
