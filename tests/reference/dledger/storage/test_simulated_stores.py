"""A simulated cluster whose stores are files behaves as one that keeps its logs in memory, event for event."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from raftref.dledger.choices import Config
from raftref.dledger.messages import NodeId
from raftref.dledger.simulation import Cluster, Event, FaultPlan, Schedule
from raftref.dledger.state import Role
from raftref.dledger.storage import FileLedgerStore, SimulatedDisk, StorageConfig, TermFile
from raftref.dledger.store import LedgerStore
from tests.support.sampling import sampled

SMALL = StorageConfig(mapped_file_size_for_entry_data=1 << 16, mapped_file_size_for_entry_index=1 << 16)
#: More crashes and checkpoints than ordinary life has. What power takes, the disk decides, not the plan.
LIVELY = FaultPlan(power_loss=0, crash=0.008, restart=0.05, check_point=0.03, step_down=0.004, events=600)
PLANS = {"bag": LIVELY, "fifo": replace(LIVELY, fifo=True), "repaired": replace(LIVELY, flaws=frozenset())}


class Both(Cluster):
    """A cluster on files that takes every step in memory, too, and demands the same event.

    Each node's term and vote are kept in its term file; what it says at a restart must be what they are.
    """

    def __init__(self, plan: FaultPlan) -> None:
        self.in_memory = Cluster(plan)
        disks: list[SimulatedDisk] = []

        def new_store(config: Config) -> LedgerStore:
            disks.append(SimulatedDisk())
            return FileLedgerStore(disks[-1], config, storage=SMALL)

        super().__init__(plan, new_store)
        self.disks: dict[NodeId, SimulatedDisk] = dict(zip(plan.node_ids, disks, strict=True))
        self.counts: Counter[str] = Counter()

    def take(self, node: NodeId, action: str, *args: Any) -> Event:
        event = super().take(node, action, *args)
        assert event == self.in_memory.take(node, action, *args)
        self.keep_term(node, action)
        self.counts[action] += 1
        self.counts["resurrected"] += args[0] if action == "Restart" else 0
        return event

    def keep_term(self, node: NodeId, action: str) -> None:
        state, file = self.servers[node].member_state, TermFile(self.disks[node])
        if action in ("NextTerm", "SetCurrVoteFor"):
            file.persist(state.curr_term, state.curr_vote_for)
        elif action == "Restart":
            assert file.load() == (state.curr_term, state.curr_vote_for)


class LosesNothing(Schedule):
    """A run in which a restart brings back what the scan of the file finds, neither more nor less."""

    def try_restart(self) -> Event | None:
        node = self.one_of(self.in_role(Role.DOWN))
        if node is None:
            return None
        return self.attempt(node, "Restart", self.cluster.servers[node].ledger_store.resurrectable_count())


@pytest.mark.parametrize("name", sampled(PLANS, ["repaired"]))
def test_a_run_on_files_is_event_for_event_a_run_in_memory(name: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(16):
        both = Both(PLANS[name])
        schedule = LosesNothing(seed, PLANS[name], both)
        assert all(schedule.next_event() for _ in range(PLANS[name].events))
        counts += both.counts
    assert counts["Restart"] > 8
    assert counts["PersistCheckPoint"] > 8
    assert (counts["resurrected"] > 0) == (name != "repaired")
