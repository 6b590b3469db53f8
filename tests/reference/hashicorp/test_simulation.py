"""Simulated clusters: reproduced by seed and plan; a plan is read strictly; stores on files change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashicorp import on_files
from raftref.action import NotEnabled
from raftref.disks.simulated_disk import SimulatedDisk
from raftref.hashicorp.messages import Request, Response
from raftref.hashicorp.simulation import Cluster, FaultPlan, PlanError, Schedule, load_plan, simulate
from raftref.hashicorp.simulation.records import message_of
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.switches import Config, Flaw

PLAN = FaultPlan(
    events=300,
    snapshot=0.02,
    transfer=0.01,
    change=0.02,
    verify=0.02,
    spares=1,
    store_failure=0.03,
    crash_in_write=0.03,
    timeout=0.01,
)


def test_a_seed_and_a_plan_give_one_run() -> None:
    assert list(simulate(3, PLAN)) == list(simulate(3, PLAN))
    assert list(simulate(3, PLAN)) != list(simulate(4, PLAN))


def test_a_cluster_on_files_does_what_one_in_memory_does() -> None:
    """And what each disk holds in the end is what its server has stored, also without power."""
    disks: list[SimulatedDisk] = []

    def new_stores(_: Config) -> Stores:
        disks.append(SimulatedDisk())
        return on_files(disks[-1])

    plan = FaultPlan(events=400, snapshot=0.02, crash=0.01)
    schedule = Schedule(5, plan, Cluster(plan, new_stores))
    events = [schedule.next_event() for _ in range(plan.events)]
    assert events == list(simulate(5, plan))
    for server, disk in zip(schedule.cluster.servers.values(), disks, strict=True):
        disk.lose_power()
        found = on_files(disk)
        assert found.logs.all_logs() == server.log
        assert found.stable.get("CurrentTerm") == server.current_term
        assert list(found.snapshots.all_snapshots()) == list(server.stores.snapshots.all_snapshots())


def test_a_server_that_is_down_takes_nothing_and_sends_nothing() -> None:
    for event in simulate(2, PLAN):
        if event["shows"]["role"] == "Shutdown" and event["action"] not in ("Lose", "Duplicate", "ElectSelf"):
            assert event["sent"] == []


def test_a_server_that_is_down_awaits_nothing_and_no_answer_is_under_way_to_it() -> None:
    schedule, looked_at = Schedule(7, PLAN), 0
    for _ in range(PLAN.events):
        schedule.next_event()
        down = {name for name, server in schedule.cluster.servers.items() if not server.is_up}
        for (src, dst), channel in schedule.cluster.network.channels.items():
            looked_at += src in down and len(channel)
            assert not any(isinstance(m, Request) and m.awaited for m in channel if src in down)
            assert not any(isinstance(m, Response) for m in channel if dst in down)
    assert looked_at


def test_every_message_is_read_back_from_what_a_trace_has_of_it() -> None:
    schedule = Schedule(1, PLAN)
    seen = set()
    for _ in range(PLAN.events):
        schedule.next_event()
        for channel in schedule.cluster.network.channels.values():
            for m in channel:
                assert message_of(m.record()) == m
                seen.add((m.kind, m.type))
    assert len(seen) >= 8


def test_what_is_not_enabled_changes_nothing() -> None:
    cluster = Cluster(PLAN)
    before = [server.observe() for server in cluster.servers.values()]
    for node in cluster.node_ids:
        with pytest.raises(NotEnabled):
            cluster.take(node, "ProcessLogs")
    assert [server.observe() for server in cluster.servers.values()] == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("voters", 0),
        ("voters", 10),
        ("nonvoters", 7),
        ("loss", 1.5),
        ("loss", "much"),
        ("fifo", 1),
        ("events", True),
        ("trailing_logs", -1),
        ("retain_snapshots", 0),
        ("flaws", ["TornVotes"]),
        ("flaws", "TornVote"),
        ("features", [3]),
        ("client", 0.99),
        ("crash_in_write", 1.1),
        ("luck", 1),
    ],
)
def test_a_plan_is_read_strictly_and_the_error_names_the_field(field: str, value: object) -> None:
    with pytest.raises(PlanError, match=rf"field `{field}`"):
        FaultPlan.from_dict({field: value})


def test_a_plan_is_written_as_it_is_read(tmp_path: Path) -> None:
    assert FaultPlan.from_dict(PLAN.to_dict()) == PLAN
    file = tmp_path / "plan.toml"
    file.write_text('voters = 5\nflaws = ["TornVote"]\n')
    assert load_plan(file) == FaultPlan(voters=5, flaws=frozenset({Flaw.TORN_VOTE}))
    file.write_text("voters = 12\n")
    with pytest.raises(PlanError, match=r"plan.toml: field `voters`"):
        load_plan(file)
