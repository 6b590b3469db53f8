"""A group of servers of hashicorp/raft that run in simulated time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any

from raftref.hashicorp.choices import DEFAULT_FEATURES, Feature, Flaw
from raftref.hashicorp.runtime.client_calls import ApplyRequest
from raftref.hashicorp.runtime.driver import RaftDriver
from raftref.hashicorp.runtime.durable_stores import DurableStores, MemoryStores
from raftref.hashicorp.runtime.settings import Settings
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import Log
from raftref.runtime.virtual import NetworkConditions, VirtualGroup
from tests.support.systems.running_groups import leaders, start_all

#: Snapshots come early, and leave little.
SETTINGS = Settings(trailing_logs=2, max_append_entries=4, snapshot_interval=2.0, snapshot_threshold=5)


class RaftGroup:
    """Servers with their stores, which outlast their processes."""

    def __init__(
        self,
        seed: int,
        *,
        flaws: Collection[Flaw] = (),
        features: Collection[Feature] = DEFAULT_FEATURES,
        settings: Settings = SETTINGS,
        voters: int = 3,
        spares: int = 0,
        conditions: NetworkConditions | None = None,
        stores: type[Any] = MemoryStores,
        driver: type[RaftDriver] = RaftDriver,
    ) -> None:
        self.settings = settings
        self.make_driver = driver
        self.plan = FaultPlan(
            voters=voters,
            spares=spares,
            flaws=frozenset(flaws),
            features=frozenset(features),
            max_append_entries=settings.max_append_entries,
            trailing_logs=settings.trailing_logs,
            retain_snapshots=settings.retain_snapshots,
        )
        self.stores: dict[str, DurableStores] = {node: stores() for node in self.plan.node_ids}
        self.group = VirtualGroup(self.plan.node_ids, self._driver, seed, conditions)
        start_all(self.group)

    def _driver(self, node: str, _disk: Any, random: Random, recorded: Any) -> RaftDriver:
        plan = self.plan
        return self.make_driver(
            node,
            plan.node_ids,
            plan.configuration,
            self.stores[node],
            random,
            recorded,
            flaws=plan.flaws,
            features=plan.features,
            settings=self.settings,
        )

    def driver(self, node: str) -> RaftDriver:
        found = self.group.driver(node)
        assert isinstance(found, RaftDriver)
        return found

    @property
    def leader(self) -> str:
        """The leader of the highest term."""
        found = leaders(self.group, leads)
        return max(found, key=lambda node: self.driver(node).server.current_term)

    @property
    def followers(self) -> list[str]:
        leader = self.leader
        return [node for node in self.group.nodes if node != leader]

    def elect(self) -> str:
        """Let time pass until a server leads, and its first entry is committed."""
        while not leaders(self.group, leads):
            self.group.run_until(self.group.now + 0.1)
        self.group.run_until(self.group.now + 0.2)
        return self.leader

    def applied(self, node: str) -> list[str | None]:
        """The commands that a server's FSM has applied."""
        logs: list[Log] = self.driver(node).machine.applied  # type: ignore[attr-defined]
        return [log.entry.value for log in logs]


def leads(driver: RaftDriver) -> bool:
    return driver.server.role is Role.LEADER


def command(count: int) -> ApplyRequest:
    return ApplyRequest(f"v{count}")


def without_snapshots(settings: Settings = SETTINGS) -> Settings:
    return replace(settings, snapshot_interval=1000.0)
