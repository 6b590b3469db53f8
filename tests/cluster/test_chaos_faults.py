"""The faults of a run of chaos: whom they strike, and when they end."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from lockstep.cluster.chaos_clients import ChaosClients
from lockstep.cluster.chaos_faults import ChaosFault, ChaosFaults, LateKind, kind_of
from lockstep.cluster.chaos_weather import ChaosWeather
from lockstep.cluster.leaders_by_term import LeadersByTerm
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeKind
from raftref.dledger.messages import Entry, HeartBeatMessage, Index, PushType, Request, Term
from raftref.dledger.runtime.leader_positions import PositionedPush
from raftref.runtime.virtual import Cut, VirtualGroup

NODES = ("n1", "n2", "n3")


class Run:
    """A group that has a leader, and whose faults are those that a test lets happen."""

    def __init__(self, **weather: Any) -> None:
        running = SYSTEMS["DLedger"].running
        assert running is not None
        system = running()
        chance = Random(1)
        self.group = VirtualGroup(NODES, system.driver(NODES, NodeKind()), 1)
        self.leaders = LeadersByTerm(self.group.steps, system.led_term)
        never = {"followed": 0.0, "bursts": 0.0, "until_step": 0.0, "one_way": 0.0, "holding": 0.0, "alone": 1.0}
        drawn = replace(ChaosWeather.drawn(chance, ("cut",)), **{**never, "every": 1e6, **weather})
        clients = ChaosClients(self.group, system, self.leaders, drawn, chance)
        self.appends = clients.appends
        self.faults = ChaosFaults(self.group, self.leaders, drawn, chance, lambda _: None, clients.burst)
        for node in NODES:
            self.group.start(node)
        self.faults.begin(60.0)
        self.run_until(lambda: self.leaders.newest() is not None)

    def run_until(self, holds: Any) -> None:
        while not holds() and self.group.now < 60:
            self.group.run_until(self.group.now + 0.01)
        assert holds()

    @property
    def leader(self) -> str:
        leader = self.leaders.newest()
        assert leader is not None
        return leader


def test_a_fault_that_deposes_strikes_the_leader_alone_and_ends_once_another_node_leads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(deposing=1.0, lasts=0.5)
    old, cuts = run.leader, list[Cut]()
    follower = next(node for node in NODES if node != old)
    cut = run.group.cut

    def cuts_off(each: Cut) -> None:
        cuts.append(each)
        cut(each)

    monkeypatch.setattr(run.group, "cut", cuts_off)
    run.faults._happen(ChaosFault("cut", follower))
    assert [each.side for each in cuts] == [{old}]
    run.run_until(lambda: run.leaders.newest() not in (None, old))
    run.run_until(lambda: run.leaders.claiming() == [run.leader])


def test_no_other_cut_takes_the_place_of_one_that_deposes() -> None:
    run = Run(deposing=1.0)
    for _ in range(3):
        run.faults._happen(ChaosFault("cut", run.leader))
    assert run.faults.counts == {"cut": 1}


def test_a_thread_that_is_at_work_when_threads_begin_to_be_held_up_is_held_up_in_any_case() -> None:
    run = Run()
    assert [run.faults._hold_ups(0.0, 1.0, at_once=at_once)() > 0 for at_once in (True, False)] == [True, False]
    hold_up = run.faults._hold_ups(0.0, 1.0, at_once=True)
    assert hold_up() > 0
    assert hold_up() == 0
    assert run.faults.held_up == 2


def test_a_burst_lets_clients_append_at_a_leader_that_fails() -> None:
    run = Run(deposing=1.0, bursts=1.0)
    run.faults._happen(ChaosFault("cut", run.leader))
    run.group.run_until(run.group.now + 0.5)
    assert run.appends


def test_the_kind_of_a_message_is_its_record_and_its_type() -> None:
    entry = Entry(Term(1), "x")
    append, truncate = (
        Request(kind, "n1", "n2", Term(1), Index(0), entry, Index(-1)) for kind in (PushType.APPEND, PushType.TRUNCATE)
    )
    assert kind_of(append) != kind_of(truncate)
    assert kind_of(PositionedPush(append, ())) == kind_of(append) != kind_of(HeartBeatMessage("n1", "n2", Term(1)))


@pytest.mark.parametrize(("src", "dst", "covered"), [(None, None, True), ("n1", None, True), (None, "n1", False)])
def test_a_late_kind_may_be_that_of_one_sender_or_one_receiver(src: str | None, dst: str | None, covered: bool) -> None:
    late = LateKind("HeartBeatMessage", src, dst, 1.0, 2.0)
    assert late.covers("HeartBeatMessage", "n1", "n2") == covered
    assert not late.covers("VoteMessage", "n1", "n2")


def test_of_a_late_kind_a_share_is_late() -> None:
    drawn = [LateKind("VoteMessage", None, None, 0.5, 2.0).lateness(Random(seed)) for seed in range(100)]
    assert 30 < sum(each > 0 for each in drawn) < 70
    assert 1.5 < max(drawn) <= 2.0
