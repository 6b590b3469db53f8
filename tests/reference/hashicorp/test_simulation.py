"""Simulated clusters: reproduced by seed and plan; and a plan is read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from raftref.action import NotEnabled
from raftref.hashicorp.choices import DEFAULT_FEATURES, Feature, Flaw
from raftref.hashicorp.hashicorp_raft import observe
from raftref.hashicorp.messages import Request, Response, message_from
from raftref.hashicorp.simulation import Cluster, FaultPlan, PlanError, Schedule, simulate
from raftref.records import record

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


def test_a_server_that_is_down_takes_nothing_and_sends_nothing() -> None:
    for event in simulate(2, PLAN):
        if event["shows"]["role"] == "Shutdown" and event["action"] not in ("Lose", "Duplicate", "ElectSelf"):
            assert event["sent"] == []


def test_a_server_that_is_down_awaits_nothing_and_no_answer_is_under_way_to_it() -> None:
    schedule, looked_at = Schedule(3, PLAN), 0
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
                assert message_from(record(m)) == m
                seen.add((m.kind, m.type))
    assert len(seen) >= 8


def test_an_action_that_is_not_enabled_changes_nothing() -> None:
    cluster = Cluster(PLAN)
    before = [observe(server) for server in cluster.servers.values()]
    for node in cluster.node_ids:
        with pytest.raises(NotEnabled):
            cluster.take(node, "ProcessLogs")
    assert [observe(server) for server in cluster.servers.values()] == before


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


def test_a_plan_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('voters = 5\nflaws = ["TornVote"]\n')
    assert FaultPlan.load(file) == FaultPlan(voters=5, flaws=frozenset({Flaw.TORN_VOTE}))
    file.write_text("voters = 12\n")
    with pytest.raises(PlanError, match=r"plan.toml: field `voters`"):
        FaultPlan.load(file)


def test_a_header_of_before_a_feature_has_what_is_its_default() -> None:
    plan = FaultPlan(features=DEFAULT_FEATURES - {Feature.TRANSFERS})
    constants = plan.constants()
    for name in ("Pipeline", "RestoreCommittedLogs", "Verify"):
        del constants[name]
    assert FaultPlan.from_constants(plan.node_ids, constants).features == plan.features
