"""The reference of hashicorp/raft as servers that run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from lockstep.systems.running_nodes import (
    Address,
    AppendOutcome,
    ClientRefusedError,
    NodeKind,
    NodeOptions,
    Operator,
    ReadOutcome,
    RunningNodes,
)
from raftref.disks.directory_disk import DirectoryDisk
from raftref.disks.simulated_disk import SimulatedDisk
from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature, Flaw
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.runtime.client import RaftClient, RequestFailedError
from raftref.hashicorp.runtime.client_calls import (
    ApplyRequest,
    BarrierRequest,
    ConfigurationChangeRequest,
    FutureResult,
    LeadershipTransferRequest,
    SnapshotRequest,
    StateRequest,
    StateResult,
    VerifyLeaderRequest,
)
from raftref.hashicorp.runtime.client_lines import NO_COMMAND, Answer
from raftref.hashicorp.runtime.driver import DEFAULTS, RaftDriver
from raftref.hashicorp.runtime.durable_stores import DiskStores
from raftref.hashicorp.runtime.network_transport import NetworkTransport
from raftref.hashicorp.runtime.replayed_run import replayed
from raftref.hashicorp.runtime.settings import Settings
from raftref.hashicorp.simulation import FaultPlan
from raftref.hashicorp.simulation.fault_plan import MAX_NODES
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import Result
from raftref.hashicorp.values import NO_INDEX, Configuration, EntryType, Index
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import Log, RunningNode
from raftref.runtime.virtual import MakeDriver

#: The settings of chaos: a minute of a few appends a second has snapshots, which take a while and leave little behind.
CHAOS_SETTINGS: Mapping[str, float] = {
    "snapshot_interval": 2.0,
    "snapshot_threshold": 16,
    "trailing_logs": 8,
    "persist_time": 0.3,
}


def _settings(kind: NodeKind, time_scale: float = 1.0) -> Settings:
    """Return the settings of a node; raises ValueError."""
    chosen: Mapping[str, Any] = kind.settings  # a bound is an int, a time is a float
    return replace(DEFAULTS.scaled(time_scale), **chosen)


def _features(kind: NodeKind) -> frozenset[Feature]:
    """Return the features of a server: those of the library, and those that were asked for."""
    return DEFAULT_FEATURES | frozenset(map(Feature, kind.features))


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
        flaws=frozenset(map(Flaw, options.kind.flaws)),
        features=_features(options.kind) - without,
        settings=_settings(options.kind, options.time_scale),
    )
    transport = NetworkTransport(options.node_id, options.addresses, lambda: driver.server.last_index, log)
    return RunningNode(driver, transport, log)


def plan_of(nodes: int, kind: NodeKind) -> FaultPlan:
    """Return the plan of a simulated group of such servers."""
    settings = _settings(kind)
    return FaultPlan(
        voters=nodes,
        features=_features(kind),
        flaws=frozenset(map(Flaw, kind.flaws)),
        fifo=False,
        max_append_entries=settings.max_append_entries,
        trailing_logs=settings.trailing_logs,
        retain_snapshots=settings.retain_snapshots,
    )


def drivers(members: Sequence[str], kind: NodeKind) -> MakeDriver:
    """Return what makes the drivers of a group in simulated time."""
    configuration = Configuration(frozenset(members))
    choices: dict[str, Any] = {"flaws": frozenset(map(Flaw, kind.flaws)), "features": _features(kind)}
    settings = _settings(kind)

    def make(
        node_id: str, disk: SimulatedDisk, chance: random.Random, recorded: Callable[[NodeStep], None]
    ) -> RaftDriver:
        stores = DiskStores(disk)
        return RaftDriver(node_id, members, configuration, stores, chance, recorded, settings=settings, **choices)

    return make


def append(_node: str, value: str) -> ApplyRequest:
    """Return a client's request to append a value."""
    return ApplyRequest(value)


def appended(answer: FutureResult) -> AppendOutcome:
    """Return what an answer says of an append."""
    if answer.error is None:
        return AppendOutcome("SUCCESS", answer.index, answer.leader)
    return AppendOutcome(answer.error, None, answer.leader, is_refused=answer.index == NO_INDEX)


def committed(driver: RaftDriver) -> Iterator[tuple[int, str]]:
    """Yield index and value of the commands that a server knows to be committed: those applied, and those behind."""
    server = driver.server
    known = {log.index: log.entry for log in server.fsm.applied}
    known |= {index: entry for index, entry in server.log.items() if index <= server.commit_index}
    for index in sorted(known):
        entry = known[index]
        if entry.type is EntryType.COMMAND and entry.value is not None:
            yield index, entry.value


def read_outcome(answer: StateResult | FutureResult) -> ReadOutcome:
    """Return what the answer to the second request of a read says, or to the first one where that failed."""
    if isinstance(answer, FutureResult):
        return ReadOutcome(answer.error or "SUCCESS")
    values = {int(log.index): log.entry.value or "" for log in answer.applied}
    return ReadOutcome("SUCCESS", values, answer.last.index)


# ---- For chaos -------------------------------------------------------------------------------------------


def _hand_over(driver: RaftDriver, chance: random.Random) -> LeadershipTransferRequest:
    """Return the request to hand over to any other voter, or to the one that is furthest."""
    return LeadershipTransferRequest(chance.choice([None, *sorted(driver.server.other_voters)]))


def drawn_settings(chance: random.Random) -> Mapping[str, float]:
    """Draw the times and bounds of the servers of a run: elections may be faster, snapshots more frequent."""
    elections = chance.choice((1.0, 0.5, 0.25))
    return {
        "heartbeat_timeout": DEFAULTS.heartbeat_timeout * elections,
        "election_timeout": DEFAULTS.election_timeout * elections,
        "leader_lease_timeout": DEFAULTS.leader_lease_timeout * elections * chance.choice((1.0, 2.0)),
        "commit_timeout": DEFAULTS.commit_timeout * chance.choice((1.0, 4.0, 10.0)),
        "rpc_timeout": DEFAULTS.rpc_timeout * chance.choice((0.1, 0.3, 1.0, 3.0)),
        "snapshot_interval": chance.choice((0.2, 0.5, 2.0)),
        "snapshot_threshold": chance.choice((2, 2, 8)),
        "trailing_logs": chance.choice((0, 1, 2, 8)),
        "persist_time": chance.choice((0.0, 0.3, 2.0)),
        "max_append_entries": chance.choice((1, 2, DEFAULTS.max_append_entries)),
        "retain_snapshots": chance.choice((1, 2)),
    }


def _change_members(driver: RaftDriver, chance: random.Random) -> ConfigurationChangeRequest | None:
    """Return the request to remove a server, or to take its vote, where all of them vote; else to add one again."""
    configuration = driver.server.configurations.latest
    missing = sorted(set(driver.server.nodes) - configuration.voters)
    if missing:
        command = chance.choice((ChangeCommand.ADD_VOTER, ChangeCommand.ADD_NONVOTER))
        return ConfigurationChangeRequest(command, missing[0])
    command = chance.choice((ChangeCommand.REMOVE_SERVER, ChangeCommand.DEMOTE_VOTER))
    return ConfigurationChangeRequest(command, chance.choice(sorted(configuration.voters)))


def _restore(driver: RaftDriver, members: Sequence[str]) -> ConfigurationChangeRequest | None:
    """Return the request to let a member vote that does not."""
    missing = sorted(set(members) - driver.server.configurations.latest.voters)
    return ConfigurationChangeRequest(ChangeCommand.ADD_VOTER, missing[0]) if missing else None


def led_term(step: NodeStep) -> int | None:
    """Return the term that a server leads after a step."""
    return step.shows["currentTerm"] if step.shows.get("role") == Role.LEADER.value else None


def outcomes(steps: Iterable[NodeStep], _codes: Mapping[str, int]) -> Counter[str]:
    """Count what came: logs that were cut, snapshots saved and installed, writes that failed, calls of pipelines."""
    names = ("truncated logs", "snapshots saved", "snapshots installed", "writes that failed", "calls of pipelines")
    found = Counter(dict.fromkeys(names, 0))
    lasts, snapshots = dict[str, int](), dict[str, int]()
    for step in steps:
        last = step.shows.get("lastIndex", lasts.get(step.node, 0))
        snapshot = step.shows.get("lastSnapshot", {}).get("index", snapshots.get(step.node, 0))
        newer = snapshot > snapshots.get(step.node, 0)
        found["truncated logs"] += step.action == "AppendEntries" and last < lasts.get(step.node, 0)
        found["snapshots saved"] += step.action == "PersistSnapshot" and newer
        found["calls of pipelines"] += step.action == "PipelineSend"
        found["snapshots installed"] += step.action == "InstallSnapshot" and newer
        found["writes that failed"] += step.args.get("outcome", {}).get("result") == Result.FAIL.value
        lasts[step.node], snapshots[step.node] = last, snapshot
    return found


class _Client:
    """A client whose answers are texts."""

    def __init__(self, _group: str, addresses: Mapping[str, Address]) -> None:
        self._client = RaftClient(addresses)

    async def append(self, value: str) -> str:
        """Append a value."""
        found = await _asked(self._client.apply(value), appends=True)
        return f"index {found['index']}, term {found['term']}"

    async def get(self, index: int) -> str:
        """Return the command at an index."""
        found = await _asked(self._client.read(Index(index)))
        return f"{found['value']} of term {found['term']}"

    async def transfer(self, node_id: str) -> str:
        """Let the leader hand over to a server."""
        await _asked(self._client.transfer(node_id))
        return "SUCCESS"

    async def add(self, node_id: str) -> str:
        """Add a server that votes."""
        return await self._change(ChangeCommand.ADD_VOTER, node_id)

    async def remove(self, node_id: str) -> str:
        """Remove a server."""
        return await self._change(ChangeCommand.REMOVE_SERVER, node_id)

    async def _change(self, command: ChangeCommand, node_id: str) -> str:
        found = await _asked(self._client.change(command, node_id), appends=True)
        return f"index {found['index']}, term {found['term']}"


class _HistoryClient:
    """A client whose answers are those of a history."""

    def __init__(self, _group: str, addresses: Mapping[str, Address]) -> None:
        self._client = RaftClient(addresses)

    async def append(self, value: str) -> AppendOutcome:
        """Append a value."""
        try:
            found = await self._client.apply(value)
        except RequestFailedError as error:
            return AppendOutcome(error.error, None, error.leader, is_refused=not error.is_uncertain)
        return AppendOutcome("SUCCESS", found["index"], self._client.leader)

    async def read(self, index: int) -> ReadOutcome:
        """Read what stands at an index."""
        try:
            found = await self._client.read(Index(index))
        except RequestFailedError as error:
            return ReadOutcome(error.error, {} if error.error.startswith(NO_COMMAND) else None)
        return ReadOutcome("SUCCESS", {index: found["value"]}, index)


async def _asked(answer: Awaitable[Answer], *, appends: bool = False) -> Answer:
    try:
        return await answer
    except RequestFailedError as error:
        raise ClientRefusedError(str(error), is_uncertain=appends and error.is_uncertain) from error


RUNNING_NODES = RunningNodes(
    features=(Feature.PIPELINE,),
    flaws=tuple(map(str, Flaw)),
    published=tuple(sorted(map(str, IN_V173))),
    settings=asdict(DEFAULTS),
    settings_of=_settings,
    node=node,
    shown=("role", "currentTerm", "leader", "lastIndex", "commitIndex", "lastApplied"),
    plan=plan_of,
    replay=replayed,
    client=_Client,
    history_client=_HistoryClient,
    driver=drivers,
    append=append,
    appended=appended,
    committed=committed,
    read=lambda *_: (BarrierRequest(), StateRequest()),
    read_outcome=read_outcome,
    reads_all=True,
    operator=Operator(
        {"transfer": _hand_over, "members": _change_members, "snapshot": lambda *_: SnapshotRequest()},
        lambda answer: answer.error or "SUCCESS",
        _restore,
    ),
    chaos_settings=CHAOS_SETTINGS,
    drawn_settings=drawn_settings,
    verify=lambda _: VerifyLeaderRequest(),
    led_term=led_term,
    outcomes=outcomes,
    outside_spec=frozenset(),
    never_with={},
    sizes=range(1, MAX_NODES + 1),
    # A member without a vote beside a leader and a majority that follows it no more; and a voter alone.
    nodes_needed={Flaw.VERIFY_COUNTS_NONVOTERS: 4, Flaw.MATCH_WITHOUT_RECALCULATE: 1},
    removable=(Feature.PRE_VOTE,),
    has_spares=True,
)
