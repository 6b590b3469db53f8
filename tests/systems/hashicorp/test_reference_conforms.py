"""The reference of hashicorp/raft is in step with the spec: what clusters do, what they would do, what they reach."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.step_coverage import Reached, all_parts, fault_actions
from lockstep.jobs.fleet import Fleet
from lockstep.jobs.fleet_both_ways import check_cluster_both_ways
from lockstep.jobs.fleet_floors import judge_floor
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.floors import (
    CLUSTERS,
    EVENTS,
    RARE_PARTS,
    UNREACHABLE,
    conditions,
    floors,
    unreachable,
)
from lockstep.systems.hashicorp.plans import FLAWED, KEPT, PLANS, SIMULATOR, VERIFIED
from lockstep.systems.plan_floors import FEW_CLUSTERS, FEW_EVENTS, actions
from raftref.hashicorp.hashicorp_raft import ACTIONS, SHOWN
from tests.scripts.hashicorp_traces import check, checked, spec_of
from tests.support.sampling import sampled
from tests.support.systems.fleets import covering_spec, times_reached

#: The plans that `verify` runs, and some that have what those have not; the others at night.
SAMPLE = (*VERIFIED, "raft_votes_published")
SEED, EVENTS_OF_ONE = 11, 300


def broken(plan: str, seed: int, events: int) -> list[str]:
    """Where a cluster leaves the spec, and the properties that fail though they must hold."""
    verdict = checked(plan, seed, events)
    assert verdict.steps == events or verdict.findings
    kept = KEPT if plan in FLAWED else {each.name for each in verdict.findings}
    return [str(each) for each in verdict.findings if each.kind != "property" or each.name in kept]


@pytest.mark.parametrize("plan", sampled(PLANS, SAMPLE))
def test_a_cluster_does_what_the_spec_allows(plan: str) -> None:
    assert broken(plan, SEED, EVENTS_OF_ONE) == []


@pytest.mark.nightly
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_clusters_do_what_the_spec_allows(plan: str, seed: int) -> None:
    assert broken(plan, seed, 600) == []


@pytest.mark.nightly
def test_a_thousand_clusters_conform_and_reach_their_floors() -> None:
    """Each plan with 72 seeds, each cluster of as many events as the floor of a fleet is stated for."""
    said: list[str] = []
    job = Fleet(tuple(PLANS), range(1, 73), EVENTS, said.append, lambda _: None, master="local[2]")
    assert job.run() is Verdict.HOLDS, said
    assert len(job.verdicts) == 72 * len(PLANS) > 1000
    assert {(floor.plan, floor.result) for floor in job.floors} == {(plan, "holds") for plan in PLANS}
    assert job.missing == []


@pytest.mark.parametrize("plan", sampled(PLANS, ("raft", "raft_whole")))
def test_a_cluster_takes_what_the_spec_allows_and_nothing_else(plan: str) -> None:
    """Every action with every argument, also failing and dying at every write, is tried after some of the steps."""
    found = check_cluster_both_ways(plan, 1, 300, 4, spec_of(plan))
    assert (found.verdict, found.findings, found.steps) == (Verdict.HOLDS, [], 4)
    assert min(found.taken, found.refused) > 50


def test_neither_the_spec_nor_a_cluster_lets_a_request_of_a_pipeline_come_twice() -> None:
    """The steps of this seed are tried where such a request is under way, so that either alone would be noticed."""
    found = check_cluster_both_ways("raft_pipeline", 2, 300, 4, spec_of("raft_pipeline"))
    assert (found.verdict, found.findings, found.steps) == (Verdict.HOLDS, [], 4)


def test_every_action_of_the_spec_is_a_function_of_its_chapter_with_the_same_parameters() -> None:
    spec = spec_of("raft_whole")
    environment = {"Lose", "Duplicate"}
    assert spec.actions.keys() == {*ACTIONS, *environment}
    for name, each in ACTIONS.items():
        assert spec.actions[name].params == ("n", *each.parameters)
        place, line = HASHICORP.locate(name).split(":")
        chapter = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", spec.actions[name].loc.module).lower()
        assert place == f"reference/raftref/hashicorp/{chapter}.py"
        assert line.isdigit()
    assert {HASHICORP.locate(name) for name in environment} == {""}


def test_a_server_shows_all_that_the_spec_shows() -> None:
    spec = spec_of("raft_whole")
    shown = spec.evaluate("Observe", next(iter(spec.initial_states())), "n1").d
    assert shown.keys() == SHOWN.keys()


def test_a_cluster_of_the_library_is_refused_by_the_spec_of_a_repaired_one() -> None:
    header, events = SIMULATOR.cluster("raft_whole_published", SEED, EVENTS_OF_ONE)
    verdict = check(header, events, {"repaired": True})  # type: ignore[dict-item]  # a variant is switched on
    assert verdict.verdict is Verdict.VIOLATED
    assert verdict.findings[0].kind != "property"


# ---- Floors ----


def fleet(plan: str, clusters: int, events: int) -> Counter[Reached]:
    return times_reached(plan, clusters, events)


@pytest.mark.nightly
@pytest.mark.parametrize("plan", VERIFIED)
def test_the_clusters_that_verify_runs_reach_their_floor(plan: str) -> None:
    found = fleet(plan, FEW_CLUSTERS, FEW_EVENTS)
    judged = judge_floor(plan, floors(plan, covering_spec(plan)), found, FEW_CLUSTERS, FEW_EVENTS)
    assert (judged.verdict, judged.result) == (Verdict.HOLDS, "holds")
    assert judged.required >= 25


@pytest.mark.nightly
@pytest.mark.parametrize("plan", PLANS)
def test_a_fleet_reaches_all_that_is_not_excused(plan: str) -> None:
    found = fleet(plan, CLUSTERS, EVENTS)
    whole = floors(plan, covering_spec(plan))[-1]
    judged = judge_floor(plan, (whole,), found, CLUSTERS, EVENTS)
    assert (judged.verdict, judged.result) == (Verdict.HOLDS, "holds")
    assert found.keys() <= all_parts(covering_spec(plan)), "what the spec has not"


@pytest.mark.nightly
def test_a_plan_must_reach_all_that_there_is_but_for_its_excuses() -> None:
    for plan in PLANS:
        whole = floors(plan, covering_spec(plan))[-1]
        everything = all_parts(covering_spec(plan))
        assert whole.must | whole.unreachable.keys() | whole.seldom.keys() >= everything
        assert whole.must.isdisjoint({*whole.unreachable, *whole.seldom})
        assert whole.must >= floors(plan, covering_spec(plan))[0].must


@pytest.mark.nightly
def test_every_action_must_be_reached_by_some_plan() -> None:
    required = frozenset().union(*(floors(plan, covering_spec(plan))[-1].must for plan in PLANS))
    spec = covering_spec("raft_whole")
    faults = fault_actions(spec)
    assert {*actions(*spec.actions.keys() - faults), *(("fault", name) for name in faults)} <= required


def test_what_is_excused_as_rare_is_of_plans_and_parts_that_exist() -> None:
    everything = all_parts(covering_spec("raft_whole"))
    for each in RARE_PARTS:
        assert set(each.plans) <= set(PLANS)
        assert everything & set(each.what)


@pytest.mark.nightly
def test_what_is_argued_to_be_unreachable_is_so_in_some_plan() -> None:
    for argument in UNREACHABLE:
        assert argument.what
        cases = {argument.where(conditions(plan, spec_of(plan))) for plan in PLANS}
        assert True in cases


def test_a_part_that_a_plan_has_no_rate_for_is_unreachable() -> None:
    excluded = unreachable("raft", covering_spec("raft"))
    assert {("action", "TakeSnapshot"), ("action", "VerifyLeader"), ("outcome", "ElectSelf FAIL")} <= excluded.keys()
    assert ("action", "ElectSelf") not in excluded
