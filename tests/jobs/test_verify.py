"""The main job's judgement of a cluster's trace: the expected violations, and the failures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.recordings_manifest import Recording, load_recordings
from lockstep.jobs.spark.spark_session import SparkStartError, spark_session
from lockstep.jobs.verify_job import Job
from lockstep.models.pinned_models import ModelOutcome, compare, files_of
from lockstep.models.search_result import Engine, SearchResult
from lockstep.systems.dledger.plans import FLAWED, KEPT, PLANS, VERIFIED, fault_plan
from lockstep.systems.registry import SYSTEMS, manifest
from lockstep.systems.system import System
from lockstep.systems.trace_files import write_cluster
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_reader import read_trace
from raftref.dledger.choices import IN_0_2_7
from tests.support.systems.dledger import check_dledger

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
    assert plan.flaws == IN_0_2_7
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


@pytest.mark.nightly
def test_published_clusters_conform_and_some_of_them_violate_a_property(tmp_path: Path) -> None:
    results = []
    for seed in range(1, 6):
        trace = read_trace(write_cluster(tmp_path, "published", seed, 400))
        verdict, words = judge_cluster("published", check_dledger(trace, trace_spec(trace.header, trace.source)))
        assert verdict is Verdict.HOLDS, words
        results.append(words)
    assert any(words.startswith("conforms, and violates ") for words in results)


def verified_by(systems: Mapping[str, System]) -> list[str]:
    return [plan for system in systems.values() if system.simulator for plan in system.simulator.verified]


@pytest.mark.nightly
@pytest.mark.parametrize("stride", [5, 1])
def test_the_fleet_has_every_plan_its_floor_and_what_it_would_do_and_says_how_much_was_compared(
    stride: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {
        name: replace(system, simulator=replace(system.simulator, verified=system.simulator.verified[::stride]))
        for name, system in SYSTEMS.items()
        if system.simulator is not None
    }
    assert len(some) == len(SYSTEMS)
    monkeypatch.setattr("lockstep.jobs.verify_job.SYSTEMS", some)
    printed: list[str] = []
    job = Job(printed.append, lambda text: None, seeds=1, events=60)
    job._fleet(spark, tmp_path)
    plans = verified_by(some)
    assert len(plans) >= len(some)
    found = [("cluster", f"{plan} 1", Verdict.HOLDS) for plan in plans]
    # No floor is stated for one cluster with this few events.
    found += [("floor", plan, Verdict.INCONCLUSIVE) for plan in plans]
    found += [("both ways", plan, Verdict.HOLDS) for plan in plans]
    assert [(check.part, check.name, check.verdict) for check in job.checks] == found
    (title, _, header), *rows, end = printed[0].splitlines(), *printed[1 : len(plans) + 2]
    assert title == "Simulated clusters of the reference, checked by Spark against the compiled spec"
    assert header.split() == ["cluster", "events", "compared", "time", "result"]
    assert [int(row.split()[3].replace(",", "")) > 60 for row in rows] == [True] * len(plans)
    assert {row.index("holds") for row in rows if "holds" in row} == {header.index("result")}
    assert end == ""


# ---- The run as a whole ----


def found(name: str, verdict: Verdict, reason: str = "") -> ModelOutcome:
    """The outcome of a model, as if TLC had run."""
    entry = manifest().model(name)
    files = files_of(manifest(), entry)
    counts = {"distinct": entry.distinct, "generated": entry.generated, "depth": entry.depth}
    result = SearchResult(spec=str(files.module), engine=Engine.TLC, verdict=verdict, reason=reason, **counts)
    return ModelOutcome(entry, files, result, tuple(compare(entry, result)))


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[ModelOutcome]:
    """The outcomes of a job that has models alone; the test fills the list."""
    outcomes: list[ModelOutcome] = []
    monkeypatch.setattr("lockstep.jobs.verify_job.lemmas", dict)
    monkeypatch.setattr("lockstep.jobs.verify_job.run_models", lambda *_, **__: (each for each in outcomes))
    return outcomes


@pytest.fixture
def no_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave clusters and recordings out of the job."""
    monkeypatch.setattr(Job, "_traces", lambda _: None)


BUDGET = "the budget of 300 s of processor time was spent before TLC finished"


@pytest.mark.usefixtures("no_traces")
def test_the_last_line_says_that_all_was_as_expected(models: list[ModelOutcome]) -> None:
    models += [found("quorum", Verdict.HOLDS), found("unordered", Verdict.HOLDS)]
    printed: list[str] = []
    assert Job(printed.append, lambda text: None, tier="deep").run() is Verdict.HOLDS
    assert re.fullmatch(r"verify: holds \(2 checks, \d+ s\)", printed[-1])


@pytest.mark.usefixtures("no_traces")
def test_the_last_line_names_what_was_not_as_expected(models: list[ModelOutcome]) -> None:
    models += [
        found("quorum", Verdict.HOLDS),
        found("replication", Verdict.INCONCLUSIVE, BUDGET),
        found("unordered", Verdict.HOLDS),
    ]
    printed: list[str] = []
    assert Job(printed.append, lambda text: None, tier="deep").run() is Verdict.INCONCLUSIVE
    summary = rf"verify: inconclusive \(2 of 3 checks as expected, \d+ s; not: replication: {BUDGET}\)"
    assert re.fullmatch(summary, printed[-1])


def test_a_tool_that_is_missing_leaves_the_other_parts_their_verdicts(
    models: list[ModelOutcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model with another result than pinned is a violation, whatever becomes of the rest."""
    models.append(found("quorum", Verdict.VIOLATED, "invariant Same is violated"))

    def missing(*_: object, **_named: object) -> None:
        raise SparkStartError("Spark did not start: no Java")

    monkeypatch.setattr("lockstep.jobs.verify_job.spark_session", missing)
    printed: list[str] = []
    job = Job(printed.append, lambda text: None)
    assert job.run() is Verdict.VIOLATED
    assert "traces: inconclusive: Spark did not start: no Java\n" in printed
    assert "not: quorum: quorum: result: pinned holds, found violated" in printed[-1]
    assert "; traces: Spark did not start: no Java)" in printed[-1]


@pytest.mark.parametrize("tier", ["quick", "deep"])
def test_a_tier_checks_its_own_recordings(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Recording] = []

    def checked(_spark: object, _root: Path, _folder: Path, recordings: tuple[Recording, ...]) -> Iterator[None]:
        given.extend(recordings)
        yield from ()

    monkeypatch.setattr("lockstep.jobs.verify_job.check_recordings", checked)
    Job(lambda _: None, lambda _: None, tier=tier)._recordings(cast("SparkSession", None), tmp_path)
    assert given == [each for each in load_recordings(traces_dir() / "manifest.toml") if each.tier == tier]
    assert given


#: A job with two models: TLC comes to the second one when a file is there.
WAITING = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
from test_verify import found
from lockstep.base.verdict import Verdict
import lockstep.jobs.verify_job as v
go = Path(sys.argv.pop(1))

def outcomes(*_, **__):
    yield found("quorum", Verdict.HOLDS)
    while not go.exists():
        time.sleep(0.02)
    yield found("unordered", Verdict.HOLDS)

v.lemmas, v.run_models, v.Job._traces = dict, outcomes, lambda _: None
from lockstep.cli.command_line import main
main()
"""


def test_a_row_is_in_the_pipe_before_the_next_check_has_ended(tmp_path: Path) -> None:
    go, here = tmp_path / "go", Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": str(here.parents[1])}
    command = [sys.executable, "-c", WAITING, str(here), str(go), "verify", "--tier", "deep"]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert job.stdout is not None
    try:
        lines = [job.stdout.readline() for _ in range(4)]
        assert lines[0].startswith("Models, checked by TLC")
        assert lines[3].split() == ["quorum", "1,365", "1,365", "0.0", "s", "holds"]
        go.touch()
        rest = job.stdout.read().splitlines()
    finally:
        job.kill()
    assert rest[0].index("holds") == lines[3].index("holds") == lines[2].index("result")
    assert rest[-1].startswith("verify: holds (2 checks")
    assert job.wait() == 0
