"""DLedger's reference as nodes that run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

from lockstep.systems.running_nodes import (
    Address,
    AppendOutcome,
    ClientRefusedError,
    NodeOptions,
    RunningNodes,
)
from raftref.disks.directory_disk import DirectoryDisk, DirectorySpace
from raftref.disks.simulated_disk import SimulatedDisk
from raftref.dledger.choices import IN_0_2_7, Config, Feature, Flaw
from raftref.dledger.client_messages import AppendEntryRequest, AppendEntryResponse, RemotingFailure, ResponseCode
from raftref.dledger.messages import Index
from raftref.dledger.runtime.client import Client, RequestRefusedError
from raftref.dledger.runtime.driver import RUNNING, DLedgerDriver
from raftref.dledger.runtime.replayed_run import replayed
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.runtime.transport import RemotingTransport
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.storage.storage_config import StorageConfig
from raftref.dledger.wire_fields import Version
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import Log, RunningNode
from raftref.runtime.virtual import MakeDriver

#: Files as small as disks in memory need them: a thousand entries or so.
SMALL_FILES = StorageConfig(mapped_file_size_for_entry_data=1 << 16, mapped_file_size_for_entry_index=1 << 15)

#: The features that a node may have besides those of every node that runs.
OPTIONAL = (Feature.BATCHES, Feature.NOT_FOLLOWER)


def node(options: NodeOptions, recorded: Callable[[NodeStep], None], log: Log) -> RunningNode:
    """Return a node that is not started."""
    config = Config(frozenset(map(Feature, options.features)), frozenset(map(Flaw, options.flaws)))
    addresses = {member: f"{host}:{port}" for member, (host, port) in options.addresses.items()}
    driver = DLedgerDriver(
        options.node_id,
        addresses,
        DirectoryDisk(options.folder, forces_names=not config.has(Flaw.VOTE_FILE)),
        config,
        random.SystemRandom(),
        recorded,
        Settings().scaled(options.time_scale),
        space=DirectorySpace(options.folder),
    )
    return RunningNode(driver, RemotingTransport(options.group, options.addresses, Version.V0_3), log)


def plan_of(nodes: int, features: tuple[str, ...], flaws: tuple[str, ...]) -> FaultPlan:
    """Return the plan of a simulated group of such nodes."""
    chosen = RUNNING | set(map(Feature, features))
    return FaultPlan(nodes=nodes, features=chosen, flaws=frozenset(map(Flaw, flaws)), fifo=False)


def drivers(members: tuple[str, ...], features: tuple[str, ...], flaws: tuple[str, ...]) -> MakeDriver:
    """Return what makes the drivers of a group in simulated time."""
    config = Config(frozenset(map(Feature, features)), frozenset(map(Flaw, flaws)))
    addresses = dict.fromkeys(members, "")

    def make(
        node_id: str, disk: SimulatedDisk, chance: random.Random, recorded: Callable[[NodeStep], None]
    ) -> DLedgerDriver:
        return DLedgerDriver(node_id, addresses, disk, config, chance, recorded, storage=SMALL_FILES)

    return make


def appended(answer: AppendEntryResponse | RemotingFailure) -> AppendOutcome:
    """Return what an answer says of an append."""
    if isinstance(answer, RemotingFailure):
        return AppendOutcome(answer.remark, None, None)
    index = answer.index if answer.code is ResponseCode.SUCCESS else None
    return AppendOutcome(answer.code.name, index, answer.leader_id)


def committed(driver: DLedgerDriver) -> Iterator[tuple[int, str]]:
    """Yield index and value of what a node has committed."""
    store = driver.server.ledger_store
    for index in range(store.committed_index + 1):
        if store.has_entry(Index(index)):
            yield index, store.entry(Index(index)).value


class _Client:
    """A client whose answers are texts."""

    def __init__(self, group: str, addresses: Mapping[str, Address]) -> None:
        self._client = Client(group, addresses)

    async def append(self, value: str) -> str:
        """Append a value."""
        try:
            found = await self._client.append(value)
        except RequestRefusedError as error:
            raise ClientRefusedError(str(error)) from error
        return f"index {found.index}, term {found.term}, position {found.pos}"

    async def get(self, index: int) -> str:
        """Return the entry at an index."""
        try:
            found = await self._client.get(Index(index))
        except RequestRefusedError as error:
            raise ClientRefusedError(str(error)) from error
        return f"{found.value} of term {found.term}"

    async def transfer(self, node_id: str) -> str:
        """Let the leader hand over to a node."""
        try:
            found = await self._client.hand_over(node_id)
        except RequestRefusedError as error:
            raise ClientRefusedError(str(error)) from error
        return f"{found.code.name}, term {found.term}"


RUNNING_NODES = RunningNodes(
    features=tuple(map(str, OPTIONAL)),
    flaws=tuple(map(str, Flaw)),
    published=tuple(sorted(map(str, IN_0_2_7))),
    node=node,
    shown=("role", "currTerm", "leaderId", "ledgerEndIndex", "committedIndex"),
    plan=plan_of,
    replay=replayed,
    client=_Client,
    driver=drivers,
    append=AppendEntryRequest,
    appended=appended,
    committed=committed,
)
