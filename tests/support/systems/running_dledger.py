"""A group of DLedger nodes that run in simulated time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random
from typing import Any

from raftref.disks.disk_space import DiskSpace
from raftref.dledger.choices import Config, Feature, Flaw
from raftref.dledger.client_messages import AppendEntryRequest, LeadershipTransferRequest
from raftref.dledger.runtime.driver import DEFAULTS, RUNNING, DLedgerDriver
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.storage.storage_config import StorageConfig
from raftref.runtime.virtual import NetworkConditions, VirtualGroup
from tests.support.systems.running_groups import NODES, leaders, start_all

#: Where clients would reach the nodes.
ADDRESSES = {node: f"127.0.0.1:{12000 + number}" for number, node in enumerate(NODES)}


#: Files that are small enough for disks in memory.
FILES = StorageConfig(mapped_file_size_for_entry_data=1 << 16, mapped_file_size_for_entry_index=1 << 15)


class DLedgerGroup:
    """Nodes on simulated disks."""

    def __init__(
        self,
        seed: int,
        *,
        flaws: Collection[Flaw] = (),
        features: Collection[Feature] = (),
        conditions: NetworkConditions | None = None,
        driver: type[DLedgerDriver] = DLedgerDriver,
        settings: Settings = DEFAULTS,
        space: Mapping[str, DiskSpace] | None = None,
    ) -> None:
        config = Config(features=frozenset(features), flaws=frozenset(flaws))
        self.plan = FaultPlan(nodes=len(NODES), features=config.features | RUNNING, flaws=config.flaws, fifo=False)

        def make(node: str, disk: Any, random: Random, recorded: Any) -> DLedgerDriver:
            disk_space = None if space is None else space[node]
            return driver(node, ADDRESSES, disk, config, random, recorded, settings, FILES, disk_space)

        self.group = VirtualGroup(NODES, make, seed, conditions)
        start_all(self.group)

    def driver(self, node: str) -> DLedgerDriver:
        found = self.group.driver(node)
        assert isinstance(found, DLedgerDriver)
        return found

    @property
    def leader(self) -> str:
        """The leader of the highest term."""
        return max(leaders(self.group, leads), key=lambda node: self.driver(node).server.member_state.curr_term)

    @property
    def followers(self) -> list[str]:
        leader = self.leader
        return [node for node in self.group.nodes if node != leader]

    def elect(self) -> str:
        """Let time pass until a node leads, and its dispatchers append."""
        while not leaders(self.group, leads):
            self.group.run_until(self.group.now + 0.1)
        self.group.run_until(self.group.now + 1.0)
        return self.leader

    def committed(self, node: str) -> list[str | None]:
        """The values that a node knows to be committed."""
        store = self.driver(node).server.ledger_store
        return [store.entry(index).value for index in range(store.committed_index + 1)]


def handing_over(run: DLedgerGroup, node: str, to: str) -> LeadershipTransferRequest:
    """The request to a node to hand the leadership of its term over."""
    return LeadershipTransferRequest(node, node, to, run.driver(node).server.member_state.curr_term)


def leads(driver: DLedgerDriver) -> bool:
    return driver.server.is_leader


def entry(count: int) -> AppendEntryRequest:
    """A request without an address: it is for the node that is asked."""
    return AppendEntryRequest("", f"v{count}")
