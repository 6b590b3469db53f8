"""The reference of hashicorp/raft as servers that run."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, replace

from lockstep.systems.running_nodes import (
    Address,
    AppendOutcome,
    ClientRefusedError,
    NodeOptions,
    RunningNodes,
)
from raftref.disks.directory_disk import DirectoryDisk
from raftref.disks.simulated_disk import SimulatedDisk
from raftref.hashicorp.choices import ALL_FEATURES, IN_V173, Feature, Flaw
from raftref.hashicorp.runtime.client import RaftClient, RequestFailedError
from raftref.hashicorp.runtime.client_calls import ApplyRequest, FutureResult
from raftref.hashicorp.runtime.client_lines import Answer
from raftref.hashicorp.runtime.driver import DEFAULTS, RaftDriver
from raftref.hashicorp.runtime.durable_stores import DiskStores
from raftref.hashicorp.runtime.network_transport import NetworkTransport
from raftref.hashicorp.runtime.replayed_run import replayed
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.simulation.fault_plan import MAX_NODES
from raftref.hashicorp.values import Configuration, EntryType, Index
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import Log, RunningNode
from raftref.runtime.virtual import MakeDriver


def node(options: NodeOptions, recorded: Callable[[NodeStep], None], log: Log) -> RunningNode:
    """Return a server that is not started; all members of its group vote at first, unless voters are named."""
    members = tuple(options.addresses)
    without = frozenset(map(Feature, options.without))
    driver = RaftDriver(
        options.node_id,
        members,
        Configuration(frozenset(options.voters or members)),
        DiskStores(DirectoryDisk(options.folder, forces_names=True)),
        random.SystemRandom(),
        recorded,
        flaws=frozenset(map(Flaw, options.flaws)),
        features=ALL_FEATURES - without,
        settings=replace(DEFAULTS.scaled(options.time_scale), **options.settings),
    )
    transport = NetworkTransport(options.node_id, options.addresses, lambda: driver.server.last_index, log)
    return RunningNode(driver, transport, log)


def plan_of(nodes: int, _features: tuple[str, ...], flaws: tuple[str, ...]) -> FaultPlan:
    """Return the plan of a simulated group of such servers."""
    return FaultPlan(
        voters=nodes,
        flaws=frozenset(map(Flaw, flaws)),
        fifo=False,
        max_append_entries=DEFAULTS.max_append_entries,
        trailing_logs=DEFAULTS.trailing_logs,
        retain_snapshots=DEFAULTS.retain_snapshots,
    )


def drivers(members: tuple[str, ...], _features: tuple[str, ...], flaws: tuple[str, ...]) -> MakeDriver:
    """Return what makes the drivers of a group in simulated time."""
    configuration, chosen = Configuration(frozenset(members)), frozenset(map(Flaw, flaws))

    def make(
        node_id: str, disk: SimulatedDisk, chance: random.Random, recorded: Callable[[NodeStep], None]
    ) -> RaftDriver:
        return RaftDriver(node_id, members, configuration, DiskStores(disk), chance, recorded, flaws=chosen)

    return make


def append(_node: str, value: str) -> ApplyRequest:
    """Return a client's request to append a value."""
    return ApplyRequest(value)


def appended(answer: FutureResult) -> AppendOutcome:
    """Return what an answer says of an append."""
    index = answer.index if answer.error is None else None
    return AppendOutcome(answer.error or "SUCCESS", index, answer.leader)


def committed(driver: RaftDriver) -> Iterator[tuple[int, str]]:
    """Yield index and value of the commands that a server knows to be committed: those applied, and those behind."""
    server = driver.server
    known = {log.index: log.entry for log in server.fsm.applied}
    known |= {index: entry for index, entry in server.log.items() if index <= server.commit_index}
    for index in sorted(known):
        entry = known[index]
        if entry.type is EntryType.COMMAND and entry.value is not None:
            yield index, entry.value


class _Client:
    """A client whose answers are texts."""

    def __init__(self, _group: str, addresses: Mapping[str, Address]) -> None:
        self._client = RaftClient(addresses)

    async def append(self, value: str) -> str:
        """Append a value."""
        found = await _asked(self._client.apply(value))
        return f"index {found['index']}, term {found['term']}"

    async def get(self, index: int) -> str:
        """Return the command at an index."""
        found = await _asked(self._client.read(Index(index)))
        return f"{found['value']} of term {found['term']}"

    async def transfer(self, node_id: str) -> str:
        """Let the leader hand over to a server."""
        await _asked(self._client.transfer(node_id))
        return "SUCCESS"


async def _asked(answer: Awaitable[Answer]) -> Answer:
    try:
        return await answer
    except RequestFailedError as error:
        raise ClientRefusedError(str(error)) from error


RUNNING_NODES = RunningNodes(
    features=(),
    flaws=tuple(map(str, Flaw)),
    published=tuple(sorted(map(str, IN_V173))),
    node=node,
    shown=("role", "currentTerm", "leader", "lastIndex", "commitIndex", "lastApplied"),
    plan=plan_of,
    replay=replayed,
    client=_Client,
    driver=drivers,
    append=append,
    appended=appended,
    committed=committed,
    sizes=range(1, MAX_NODES + 1),
    leads=lambda shows: shows.get("role") == "Leader",
    settings=asdict(DEFAULTS),
    removable=(Feature.PRE_VOTE,),
    has_spares=True,
)
