"""Processes that die while they recover: the one that comes up in the end goes on as if it were the first.

A process that died as it came up has recorded nothing, so that the spec has one Restart for all of them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from lockstep.cluster.chaos_run import ChaosRun
from lockstep.cluster.chaos_verdict import ChaosJudge
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeKind
from raftref.runtime.virtual import VirtualGroup
from tests.support.sampling import sampled

#: More changes of its disk than a process makes as it recovers.
MAX_WRITES = 50


class RecoveryDeaths:
    """Lets each process that comes up again die before each change of its disk in turn, before one comes up whole."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int, *, power_fails: bool) -> None:
        self.after: Counter[int] = Counter()
        self._start = VirtualGroup.start
        self._chance = Random(seed)
        self._power_fails = power_fails
        monkeypatch.setattr(VirtualGroup, "start", lambda group, node: self._start_again(group, node))

    def _start_again(self, group: VirtualGroup, node: str) -> None:
        if group.now == 0.0 or group.driver(node) is not None:
            self._start(group, node)
            return
        for writes in range(MAX_WRITES):
            group.kill_within(node, writes, lambda: None)
            self._start(group, node)
            if group.driver(node) is not None:
                group.spare(node)
                return
            self.after[writes] += 1
            if self._power_fails and self._chance.random() < 0.5:
                group.lose_power(node)
        raise AssertionError("a process that never comes up")


def died_and_judged(
    spec: str, seed: int, seconds: float, folder: Path, monkeypatch: pytest.MonkeyPatch, *, power_fails: bool
) -> Counter[int]:
    """Run chaos with such deaths, and return after how many changes of the disk how many processes died."""
    system = SYSTEMS[spec]
    assert system.running is not None
    running = system.running()
    deaths = RecoveryDeaths(monkeypatch, seed, power_fails=power_fails)
    result = ChaosRun(running, seed, 3, NodeKind(), power_fails=power_fails).run(seconds)
    assert result.confirmed > 0
    judge = ChaosJudge(system, running, 3)
    with_spec = running.outside_spec.isdisjoint(result.faults)
    assert judge.judge(result, folder / f"{seed}.trace.ndjson", with_spec=with_spec).reasons == []
    return deaths.after


@pytest.mark.parametrize(("spec", "seed"), sampled([("DLedger", 2), ("HashicorpRaft", 1)], [("DLedger", 2)]))
def test_a_process_may_die_before_each_change_of_its_disk_as_it_recovers(
    spec: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = died_and_judged(spec, seed, 30.0, tmp_path, monkeypatch, power_fails=True)
    assert len(after) >= 2
    assert min(after.values()) >= 3


@pytest.mark.nightly
@pytest.mark.parametrize("power_fails", [True, False])
@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_processes_that_die_as_they_recover_lose_nothing(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, power_fails: bool
) -> None:
    after: Counter[int] = Counter()
    for seed in range(1, 41):
        with monkeypatch.context() as patch:
            after += died_and_judged(spec, seed, 60.0, tmp_path, patch, power_fails=power_fails)
    assert after.total() > 500
