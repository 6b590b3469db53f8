"""An hour of a group's own logs: three nodes in simulated time, under faults, and with a planted loss if one is wanted.

A loss sets the disks of a majority back to an earlier moment, or empties them, as a restored backup or a lost volume
does. The group goes on as if nothing were wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Any

from raftref.dledger.choices import IN_0_2_7
from raftref.dledger.runtime.driver import DLedgerDriver
from raftref.dledger.runtime.settings import Settings as LedgerSettings
from raftref.hashicorp.choices import IN_V173
from raftref.hashicorp.runtime.driver import RaftDriver
from raftref.hashicorp.runtime.settings import Settings as RaftSettings
from raftref.runtime.virtual import VirtualGroup
from raftref.simulation.group_plan import GroupPlan
from tests.support.logs.broker_lines import BrokerWriter
from tests.support.logs.raft_lines import RaftWriter
from tests.support.systems import running_dledger, running_raft
from tests.support.systems.running_dledger import DLedgerGroup
from tests.support.systems.running_groups import clients, disturb
from tests.support.systems.running_raft import RaftGroup

HOUR = 3600.0
#: The mean time between two faults, and the time between two requests of clients, in seconds.
FAULTS_EVERY, RAFT_REQUESTS_EVERY, LEDGER_REQUESTS_EVERY = 120.0, 2.0, 10.0
#: The time that passes after a loss: a group that has lost entries works hard to agree.
AFTER_LOSS = 300.0
#: The faults of a process or of the network; none of them loses what is on a disk.
FAULTS = ("kill", "pause", "partition")
#: The times of Consul and Nomad, with snapshots as often as a busy group takes them, for its number of entries.
RAFT_TIMES = replace(
    RaftSettings().scaled(5), snapshot_interval=120.0, snapshot_threshold=60, trailing_logs=40, max_append_entries=64
)
#: Those of DLedger, but for the flusher, which writes nothing into the logs.
LEDGER_TIMES = replace(LedgerSettings(), flush_file_interval=1.0)


class Loss(StrEnum):
    """The fate of the disks of a majority."""

    SET_BACK = "set back"
    EMPTIED = "emptied"


@dataclass(frozen=True, slots=True)
class PlantedLoss:
    """A loss, when it happens, and from when the disks are that are put in place, both in seconds."""

    loss: Loss
    at: float
    back_to: float


@dataclass(frozen=True, slots=True)
class Hour:
    """The lines of each node with their moments; the plan of the group, and its steps if they are kept."""

    lines: Mapping[str, list[tuple[float, str]]]
    plan: GroupPlan
    steps: list[Any]


class _Forgotten(list[Any]):
    """The steps of a group, which are not kept: an hour of them takes gigabytes."""

    def append(self, _step: Any) -> None:
        """Forget a step."""


def planted_loss(seed: int) -> PlantedLoss:
    """Choose a loss: of 2 to 20 minutes before it, or of all."""
    chance = Random(seed)
    at = chance.uniform(0.4, 0.8) * HOUR
    loss = Loss.EMPTIED if chance.random() < 0.25 else Loss.SET_BACK
    return PlantedLoss(loss, at, at - chance.uniform(120.0, 1200.0))


def raft_hour(seed: int, *, flaws: bool = False, loss: PlantedLoss | None = None, keep: bool = False) -> Hour:
    """Run servers of hashicorp/raft; with `flaws` as they are released, else repaired."""
    writer = RaftWriter()

    class Logged(RaftDriver):
        def __init__(self, node: str, *args: Any, **named: Any) -> None:
            *most, recorded = args

            def both(step: Any) -> None:
                recorded(step)
                writer.take(step, self.server)

            super().__init__(node, *most, both, **named)

    run = RaftGroup(seed, flaws=IN_V173 if flaws else (), settings=RAFT_TIMES, driver=Logged)
    saved: dict[str, Any] = {}

    def save() -> None:
        saved.update({node: stores.stores for node, stores in run.stores.items()})  # type: ignore[attr-defined]

    def put(node: str, empty: bool) -> None:
        run.stores[node].stores = None if empty else saved[node]  # type: ignore[attr-defined]

    run.group.steps = run.group.steps if keep else _Forgotten()
    clients(run.group, running_raft.leads, running_raft.command, RAFT_REQUESTS_EVERY)
    _run(run.group, seed, loss, save, put)
    return Hour(writer.lines, run.plan, run.group.steps)


def dledger_hour(seed: int, *, flaws: bool = False, loss: PlantedLoss | None = None, keep: bool = False) -> Hour:
    """Run nodes of DLedger; with `flaws` as they are released, else repaired."""
    writer = BrokerWriter(Random(seed).choice(("rocketmq", "log4j2")))

    class Logged(DLedgerDriver):
        def __init__(self, node: str, members: Any, disk: Any, config: Any, random: Any, recorded: Any, *rest: Any):
            def both(step: Any) -> None:
                recorded(step)
                writer.take(step)

            super().__init__(node, members, disk, config, random, both, *rest)
            disks[node] = disk

    disks: dict[str, Any] = {}
    run = DLedgerGroup(seed, flaws=IN_0_2_7 if flaws else (), settings=LEDGER_TIMES, driver=Logged)
    saved: dict[str, Any] = {}

    def save() -> None:
        saved.update({node: copy.deepcopy(disk) for node, disk in disks.items()})

    def put(node: str, empty: bool) -> None:
        kept = type(disks[node])() if empty else saved[node]
        disks[node].__dict__.update(copy.deepcopy(kept.__dict__))

    run.group.steps = run.group.steps if keep else _Forgotten()
    clients(run.group, running_dledger.leads, running_dledger.entry, LEDGER_REQUESTS_EVERY)
    _run(run.group, seed, loss, save, put)
    return Hour(writer.lines, run.plan, run.group.steps)


def _run(
    group: VirtualGroup,
    seed: int,
    loss: PlantedLoss | None,
    save: Callable[[], None],
    put: Callable[[str, bool], None],
) -> None:
    """Let an hour pass, with faults, and with a loss if there is one."""
    disturb(group, seed, FAULTS_EVERY, FAULTS, HOUR)
    if loss is not None:
        group.at(max(loss.back_to, 1.0), save)

        def lose() -> None:
            lost = Random(seed).sample(group.nodes, len(group.nodes) // 2 + 1)
            for node in lost:
                group.kill(node)
                put(node, loss.loss is Loss.EMPTIED)
            for node in lost:
                group.start(node)

        group.at(loss.at, lose)
    group.run_until(HOUR if loss is None else loss.at + AFTER_LOSS)
