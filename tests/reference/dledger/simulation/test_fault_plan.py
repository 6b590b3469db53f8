"""The fault plan: read strictly, with errors that name the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raftref.dledger.choices import FINE, VOTES, Feature, Flaw
from raftref.dledger.simulation import FaultPlan, PlanError, Schedule
from raftref.simulation.group_plan import EVENT


def test_what_a_plan_does_not_name_has_its_default() -> None:
    assert FaultPlan.from_dict({}) == FaultPlan()
    plan = FaultPlan.from_dict({"nodes": 5, "loss": 0.5, "flaws": ["TruncatedTail"]})
    assert (plan.nodes, plan.loss, plan.fifo) == (5, 0.5, False)
    assert (plan.flaws, plan.features) == ({Flaw.TRUNCATED_TAIL}, set())


def test_a_plan_is_read_from_the_names_of_its_features_and_flaws() -> None:
    plan = FaultPlan(nodes=4, fifo=True, crash=0.01, features=FINE, flaws=frozenset({Flaw.VOTE_FILE}))
    data = {"nodes": 4, "fifo": True, "crash": 0.01, "features": sorted(FINE), "flaws": ["VoteFile"]}
    assert FaultPlan.from_dict(json.loads(json.dumps(data))) == plan


def test_the_constants_of_a_plan_give_a_plan_with_its_shape_features_and_flaws() -> None:
    plan = FaultPlan(nodes=4, fifo=True, features=FINE, flaws=frozenset({Flaw.VOTE_FILE}))
    assert FaultPlan.from_constants(plan.node_ids, plan.constants()) == plan


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"node": 3}, "node"),
        ({"nodes": 2}, "nodes"),
        ({"nodes": 8}, "nodes"),
        ({"nodes": True}, "nodes"),
        ({"nodes": 3.0}, "nodes"),
        ({"events": -1}, "events"),
        ({"events": "many"}, "events"),
        ({"fifo": 1}, "fifo"),
        ({"loss": 1.5}, "loss"),
        ({"loss": -0.1}, "loss"),
        ({"loss": float("nan")}, "loss"),
        ({"loss": "often"}, "loss"),
        ({"reorder": True}, "reorder"),
        ({"loss": 0.5, "duplicate": 0.4, "delay": 0.3}, "loss"),
        ({"client": 0.9, "crash": 0.2}, "client"),
        ({"delay_events": 0}, "delay_events"),
        ({"max_down": 4}, "max_down"),
        ({"flaws": "published"}, "flaws"),
        ({"flaws": {"TruncatedTail": "published"}}, "flaws"),
        ({"flaws": ["Truncated"]}, "flaws"),
        ({"features": ["Batches"]}, "features"),
        ({"features": ["TruncatedTail"]}, "features"),
        ({"switches": {}}, "switches"),
        ([], "plan"),
    ],
)
def test_what_is_wrong_is_an_error_that_names_the_field(data: Any, field: str) -> None:
    with pytest.raises(PlanError, match=f"^field `{field}`: ") as caught:
        FaultPlan.from_dict(data)
    assert caught.value.field_name == field


@pytest.mark.parametrize(
    ("name", "text"), [("p.json", '{"nodes": 5, "fifo": true}'), ("p.toml", "nodes = 5\nfifo = true\n")]
)
def test_a_plan_is_read_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert FaultPlan.load(tmp_path / name) == FaultPlan(nodes=5, fifo=True)


@pytest.mark.parametrize(("name", "text"), [("p.json", "{"), ("p.toml", "nodes = "), ("p.yaml", "nodes: 5")])
def test_a_file_that_is_no_plan_is_an_error_that_names_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PlanError, match=name):
        FaultPlan.load(tmp_path / name)


def test_a_feature_is_a_constant_of_the_header() -> None:
    assert FaultPlan(features=VOTES).constants()["VoteMessages"] is True


def test_the_constants_of_a_plan_are_the_specs() -> None:
    plan = FaultPlan(fifo=True, features=FINE, flaws=frozenset({Flaw.PRIOR_TERM_COMMIT}))
    assert plan.constants() == {
        "StepwiseElections": True,
        "Fifo": True,
        **{str(each): each in FINE for each in Feature},
        **{str(each): "repaired" for each in Flaw},
        "PriorTermCommit": "published",
    }


def test_a_schedule_tries_something_at_each_rate_of_a_plan_and_at_no_other() -> None:
    tried = {name.removeprefix("try_") for name in dir(Schedule) if name.startswith("try_")}
    assert tried - {"deliver", "dispatch", "elect", "work"} == set(FaultPlan().rates(EVENT))
