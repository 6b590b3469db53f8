"""Servers of hashicorp/raft that run in this process, on sockets."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

from lockstep.cluster.node_processes import free_addresses
from raftref.disks.simulated_disk import SimulatedDisk
from raftref.hashicorp.runtime.client import RaftClient, RequestFailedError
from raftref.hashicorp.runtime.driver import RaftDriver
from raftref.hashicorp.runtime.durable_stores import DiskStores
from raftref.hashicorp.runtime.network_transport import NetworkTransport
from raftref.hashicorp.runtime.settings import Settings
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.values import Configuration
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import RunningNode

#: A tenth of the library's times, and snapshots that leave one entry.
SETTINGS = replace(Settings().scaled(0.1), trailing_logs=1)


class SocketGroup:
    """Servers on sockets, with disks in memory; `lines` are what they log, and `steps` what they take."""

    def __init__(self, servers: int, *, spares: int = 0, settings: Settings = SETTINGS) -> None:
        self.plan = FaultPlan(
            voters=servers,
            spares=spares,
            flaws=frozenset(),
            max_append_entries=settings.max_append_entries,
            trailing_logs=settings.trailing_logs,
            retain_snapshots=settings.retain_snapshots,
        )
        self.addresses = dict(zip(self.plan.node_ids, free_addresses(servers + spares), strict=True))
        self.lines: list[str] = []
        self.steps: list[NodeStep] = []
        self.client = RaftClient(self.addresses)
        self.settings = settings
        self.nodes: dict[str, RunningNode] = {}
        self._disks = {node: SimulatedDisk() for node in self.plan.node_ids}

    @property
    def configuration(self) -> Configuration:
        return self.plan.configuration

    def driver(self, node: str) -> RaftDriver:
        driver = self.nodes[node].driver
        assert isinstance(driver, RaftDriver)
        return driver

    async def start(self, *nodes: str) -> None:
        for node in nodes:
            driver = RaftDriver(
                node,
                self.plan.node_ids,
                self.plan.configuration,
                DiskStores(self._disks[node]),
                Random(),
                self.steps.append,
                flaws=frozenset(),
                settings=self.settings,
            )
            self.nodes[node] = RunningNode(driver, self.transport(node, driver), self.lines.append)
            await self.nodes[node].start(*self.addresses[node])

    def transport(self, node: str, driver: RaftDriver) -> NetworkTransport:
        return NetworkTransport(node, self.addresses, lambda: driver.server.last_index, self.lines.append)

    async def stop(self, *nodes: str) -> None:
        for node in nodes or [*self.nodes]:
            await self.nodes.pop(node).stop()

    async def leader(self) -> str:
        """Return the server that leads, once one does."""
        while True:
            for node in self.nodes:
                try:
                    status = await self.client.status(node)
                except RequestFailedError:
                    continue
                if status["state"] == "Leader":
                    return node
            await asyncio.sleep(0.02)
