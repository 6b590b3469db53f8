"""The main job's judgement: what of a cluster's trace is expected, and what is a failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dledger import check_dledger
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import Finding, TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.spark.session import spark_session
from lockstep.jobs.verify import Job
from lockstep.systems.dledger.plans import FLAWED, KEPT, PLANS, VERIFIED, fault_plan
from lockstep.systems.specs import trace_spec
from lockstep.systems.traces import write_cluster
from lockstep.trace.format import read_trace
from raftref.dledger import PUBLISHED

FAILED = Finding("property", "DL101", "IndexOrder", 12, 10, "n1", "HandleDoTruncate")
LEFT = Finding("shows", "LS202", "committedIndex", 15, 13, "n1", "HandleDoCommit")
VIOLATED = TraceVerdict("t", Verdict.VIOLATED, "a behaviour of the spec that violates IndexOrder", findings=[FAILED])


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", "lockstep-test") as session:
        yield session


def test_a_plan_with_every_flaw_and_a_network_without_order_is_verified() -> None:
    assert "published" in VERIFIED
    assert set(VERIFIED) <= set(PLANS)
    assert FLAWED & {*VERIFIED} == {"published"}
    plan = fault_plan("published", 400)
    assert plan.switches == PUBLISHED
    assert not plan.fifo
    assert min(plan.loss, plan.duplicate, plan.reorder) > 0


def test_a_property_that_fails_is_expected_of_the_published_plan_and_named() -> None:
    assert judge_cluster("published", VIOLATED) == (
        Verdict.HOLDS,
        "conforms, and violates IndexOrder (line 12), as expected",
    )


def test_a_property_that_fails_is_not_expected_of_a_repaired_plan() -> None:
    assert judge_cluster("ordered", VIOLATED) == (Verdict.VIOLATED, VIOLATED.reason)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_property_that_no_flaw_breaks_may_fail_in_no_plan(name: str) -> None:
    found = replace(VIOLATED, findings=[FAILED, replace(FAILED, name=name)])
    assert judge_cluster("published", found)[0] is Verdict.VIOLATED


@pytest.mark.parametrize("plan", VERIFIED)
def test_a_cluster_that_leaves_the_spec_is_a_failure_in_every_plan(plan: str) -> None:
    found = replace(VIOLATED, reason="not a behaviour of the spec from line 15 on", findings=[FAILED, LEFT])
    assert judge_cluster(plan, found) == (Verdict.VIOLATED, found.reason)


@pytest.mark.parametrize("verdict", [Verdict.MALFORMED, Verdict.INCONCLUSIVE, Verdict.INTERNAL])
@pytest.mark.parametrize("plan", VERIFIED)
def test_a_cluster_without_a_verdict_has_none_in_any_plan(plan: str, verdict: Verdict) -> None:
    assert judge_cluster(plan, TraceVerdict("t", verdict, "why")) == (verdict, "why")


def test_published_clusters_conform_and_some_of_them_violate_a_property(tmp_path: Path) -> None:
    said = []
    for seed in range(1, 6):
        trace = read_trace(write_cluster(tmp_path, "published", seed, 400))
        verdict, words = judge_cluster("published", check_dledger(trace, trace_spec(trace.header, trace.source)))
        assert verdict is Verdict.HOLDS, words
        said.append(words)
    assert any(words.startswith("conforms, and violates ") for words in said)


def test_the_fleet_has_every_plan_its_floor_and_what_it_would_do_and_says_how_much_was_compared(
    spark: SparkSession, tmp_path: Path
) -> None:
    printed: list[str] = []
    job = Job(printed.append, lambda text: None, seeds=1, events=60)
    job._fleet(spark, tmp_path)
    rows = [("cluster", f"{plan} 1", Verdict.HOLDS) for plan in VERIFIED]
    # One cluster of so few events is smaller than any that a floor is stated for: of that nothing can be said.
    rows += [("floor", plan, Verdict.INCONCLUSIVE) for plan in VERIFIED]
    rows += [("both ways", plan, Verdict.HOLDS) for plan in VERIFIED]
    assert [(check.part, check.name, check.verdict) for check in job.checks] == rows
    header, *told = printed[1].splitlines()
    assert header.split() == ["cluster", "events", "compared", "time", "result"]
    assert [int(row.split()[3].replace(",", "")) > 60 for row in told if row] == [True] * len(VERIFIED)
