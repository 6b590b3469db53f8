"""DLedger's reference as nodes that run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from raftref.disks.directory_disk import DirectoryDisk, DirectorySpace
from raftref.disks.simulated_disk import SimulatedDisk
from raftref.dledger.choices import IN_0_2_7, Config, Feature, Flaw
from raftref.dledger.client_messages import (
    AppendEntryRequest,
    AppendEntryResponse,
    GetEntriesRequest,
    GetEntriesResponse,
    LeadershipTransferRequest,
    LeadershipTransferResponse,
    Refusal,
    RemotingFailure,
    ResponseCode,
)
from raftref.dledger.clients import DISK_FULL
from raftref.dledger.messages import Index
from raftref.dledger.runtime.client import UNCERTAIN, Client, RequestRefusedError
from raftref.dledger.runtime.driver import RUNNING, DLedgerDriver
from raftref.dledger.runtime.replayed_run import replayed
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.runtime.transport import RemotingTransport
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.simulation.fault_plan import MAX_NODES, MIN_NODES
from raftref.dledger.state import Role
from raftref.dledger.storage.storage_config import StorageConfig
from raftref.dledger.wire_fields import Version
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import Log, RunningNode
from raftref.runtime.virtual import MakeDriver

#: Files as small as disks in memory need them: a thousand entries or so.
SMALL_FILES = StorageConfig(mapped_file_size_for_entry_data=1 << 16, mapped_file_size_for_entry_index=1 << 15)

#: The features that a node may have besides those of every node that runs.
OPTIONAL = (Feature.BATCHES, Feature.NOT_FOLLOWER, Feature.SPLIT_QUORUM_CHECK, Feature.APPLIES)


def _config(kind: NodeKind) -> Config:
    return Config(frozenset(map(Feature, kind.features)), frozenset(map(Flaw, kind.flaws)))


def _settings(kind: NodeKind, time_scale: float = 1.0) -> Settings:
    """Return the settings of a node; raises ValueError."""
    chosen: Mapping[str, Any] = kind.settings  # a bound is an int, a time is a float
    return replace(Settings().scaled(time_scale), **chosen)


def node(options: NodeOptions, recorded: Callable[[NodeStep], None], log: Log) -> RunningNode:
    """Return a node that is not started."""
    config = _config(options.kind)
    addresses = {member: f"{host}:{port}" for member, (host, port) in options.addresses.items()}
    driver = DLedgerDriver(
        options.node_id,
        addresses,
        DirectoryDisk(options.folder, forces_names=not config.has(Flaw.VOTE_FILE)),
        config,
        random.SystemRandom(),
        recorded,
        _settings(options.kind, options.time_scale),
        space=DirectorySpace(options.folder),
    )
    return RunningNode(driver, RemotingTransport(options.group, options.addresses, Version.V0_3), log)


def plan_of(nodes: int, kind: NodeKind) -> FaultPlan:
    """Return the plan of a simulated group of such nodes."""
    config = _config(kind)
    return FaultPlan(nodes=nodes, features=config.features | RUNNING, flaws=config.flaws, fifo=False)


def drivers(members: Sequence[str], kind: NodeKind) -> MakeDriver:
    """Return what makes the drivers of a group in simulated time."""
    config, settings, addresses = _config(kind), _settings(kind), dict.fromkeys(members, "")

    def make(
        node_id: str, disk: SimulatedDisk, chance: random.Random, recorded: Callable[[NodeStep], None]
    ) -> DLedgerDriver:
        return DLedgerDriver(node_id, addresses, disk, config, chance, recorded, settings, SMALL_FILES)

    return make


def appended(answer: AppendEntryResponse | RemotingFailure) -> AppendOutcome:
    """Return what an answer says of an append."""
    if isinstance(answer, RemotingFailure):
        return AppendOutcome(answer.remark, None, None)
    if answer.code is ResponseCode.SUCCESS:
        return AppendOutcome(answer.code.name, answer.index, answer.leader_id)
    return AppendOutcome(answer.code.name, None, answer.leader_id, is_refused=answer.code not in UNCERTAIN)


def committed(driver: DLedgerDriver) -> Iterator[tuple[int, str]]:
    """Yield index and value of what a node has committed."""
    store = driver.server.ledger_store
    for index in range(store.committed_index + 1):
        if store.has_entry(Index(index)):
            yield index, store.entry(Index(index)).value


def read_outcome(answer: GetEntriesResponse | Refusal | RemotingFailure) -> ReadOutcome:
    """Return what an answer says of a read: there may be nothing at the index."""
    if isinstance(answer, RemotingFailure):
        return ReadOutcome(answer.remark)
    if isinstance(answer, Refusal):
        is_nothing = answer.code is ResponseCode.INDEX_OUT_OF_RANGE
        return ReadOutcome(answer.code.name, {} if is_nothing else None)
    ((entry, header),) = zip(answer.entries, answer.headers, strict=True)
    return ReadOutcome("SUCCESS", {header.index: entry.value}, header.index)


# ---- For chaos -------------------------------------------------------------------------------------------


def _hand_over(driver: DLedgerDriver, chance: random.Random) -> LeadershipTransferRequest | None:
    """Return the request to hand over to any peer, None without one."""
    if not driver.server.peers:
        return None
    node_id, term = driver.node_id, driver.server.member_state.curr_term
    return LeadershipTransferRequest(node_id, node_id, chance.choice(driver.server.peers), term)


def drawn_settings(chance: random.Random) -> Mapping[str, float]:
    """Draw the times of the nodes of a run: in most runs elections take less time than by default."""
    usual, elections = Settings(), chance.choice((0.5, 0.25, 0.15, 0.1, 0.1))

    def at_most(time: float) -> float:
        return time * chance.choice((1.0, 0.3, 0.1))

    return {
        "heart_beat_time_interval": usual.heart_beat_time_interval * elections,
        "max_heart_beat_leak": chance.choice((2, 3)),
        "min_vote_interval": usual.min_vote_interval * elections,
        "max_vote_interval": usual.max_vote_interval * elections,
        "vote_wait": usual.vote_wait * elections,
        "rpc_timeout": at_most(usual.rpc_timeout),
        "max_wait_ack_time": at_most(usual.max_wait_ack_time),
        "dispatcher_sleep": at_most(usual.dispatcher_sleep),
        "push_commit": at_most(usual.push_commit),
        "check_leak": at_most(usual.check_leak),
        "max_push_time_out": at_most(usual.max_push_time_out),
        "check_fast_forward": at_most(usual.check_fast_forward),
        "refresh_own_water_mark": at_most(usual.refresh_own_water_mark),
        "check_point_interval": at_most(usual.check_point_interval),
        "flush_file_interval": usual.flush_file_interval * chance.choice((1, 10, 50)),
    }


def _code(answer: LeadershipTransferResponse | Refusal | RemotingFailure) -> str:
    return answer.remark if isinstance(answer, RemotingFailure) else answer.code.name


def led_term(step: NodeStep) -> int | None:
    """Return the term that a node leads after a step."""
    return step.shows["currTerm"] if step.shows.get("role") == Role.LEADER.value else None


def outcomes(steps: Iterable[NodeStep], codes: Mapping[str, int]) -> Counter[str]:
    """Count the TRUNCATEs that cut something off a log, the nodes that took over, and what a full disk refused."""
    found = Counter({"truncated logs": 0, "takeovers": 0, "refused by a full disk": codes.get(DISK_FULL, 0)})
    ends, takeovers = dict[str, int](), set[tuple[str, int]]()
    for step in steps:
        end = step.shows.get("ledgerEndIndex", ends.get(step.node, -1))
        found["truncated logs"] += step.action == "HandleDoTruncate" and end < ends.get(step.node, -1)
        ends[step.node] = end
        if step.action == "HandleTakeLeadership":
            takeovers.add((step.node, step.shows["currTerm"]))
    found["takeovers"] = len(takeovers)
    return found


_FIXED = "a group of DLedger has the members that it was started with"


class _Client:
    """A client whose answers are texts."""

    def __init__(self, group: str, addresses: Mapping[str, Address]) -> None:
        self._client = Client(group, addresses)

    async def append(self, value: str) -> str:
        """Append a value."""
        try:
            found = await self._client.append(value)
        except RequestRefusedError as error:
            raise ClientRefusedError(str(error), is_uncertain=error.is_uncertain) from error
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

    async def add(self, node_id: str) -> str:
        """Refuse: a group has the members of its configuration for as long as it runs."""
        raise ClientRefusedError(_FIXED)

    async def remove(self, node_id: str) -> str:
        """Refuse: a group has the members of its configuration for as long as it runs."""
        raise ClientRefusedError(_FIXED)


class _HistoryClient:
    """A client whose answers are those of a history."""

    def __init__(self, group: str, addresses: Mapping[str, Address]) -> None:
        self._client = Client(group, addresses)

    async def append(self, value: str) -> AppendOutcome:
        """Append a value."""
        try:
            found = await self._client.append(value)
        except RequestRefusedError as error:
            return AppendOutcome(error.code.name, None, error.leader, is_refused=not error.is_uncertain)
        return AppendOutcome("SUCCESS", found.index, found.leader_id)

    async def read(self, index: int) -> ReadOutcome:
        """Read what stands at an index."""
        try:
            found = await self._client.get(Index(index))
        except RequestRefusedError as error:
            is_nothing = error.code is ResponseCode.INDEX_OUT_OF_RANGE
            return ReadOutcome(error.code.name, {} if is_nothing else None)
        return ReadOutcome("SUCCESS", {index: found.value}, index)


RUNNING_NODES = RunningNodes(
    features=tuple(map(str, OPTIONAL)),
    flaws=tuple(map(str, Flaw)),
    published=tuple(sorted(map(str, IN_0_2_7))),
    settings=asdict(Settings()),
    settings_of=_settings,
    node=node,
    shown=("role", "currTerm", "leaderId", "ledgerEndIndex", "committedIndex"),
    plan=plan_of,
    replay=replayed,
    client=_Client,
    history_client=_HistoryClient,
    driver=drivers,
    append=AppendEntryRequest,
    appended=appended,
    committed=committed,
    read=lambda node_id, index: (GetEntriesRequest(node_id, Index(index)),),
    read_outcome=read_outcome,
    reads_all=False,
    operator=Operator({"transfer": _hand_over}, _code, lambda *_: None),
    chaos_settings={},
    drawn_settings=drawn_settings,
    verify=None,
    led_term=led_term,
    outcomes=outcomes,
    outside_spec=frozenset({"full disk"}),
    # A process may die between two entries of a batch; the spec stores all of them or none.
    never_with={Feature.BATCHES: frozenset({"kill within a step"})},
    sizes=range(MIN_NODES, MAX_NODES + 1),
)
