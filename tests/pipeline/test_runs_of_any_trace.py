"""`lockstep pipeline run` on traces that a reference wrote, on recordings and on logs: one verdict, that of `check`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict, worst
from lockstep.jobs.fleet_coverage import NOT_COUNTED
from lockstep.pipeline.all_stages import run_all
from lockstep.pipeline.ingest_stage import InputFiles
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.run_report import RunReport
from lockstep.pipeline.spec_choice import AS_DECLARED
from lockstep.pipeline.trace_store import TraceStore
from lockstep.systems.file_check import KnownTraceCheck
from lockstep.systems.trace_files import import_trace, opened
from lockstep.systems.trace_specs import switches_of, system_of
from lockstep.trace.trace_format import REFERENCE

COUNTEREXAMPLES = sorted((traces_dir() / "counterexamples").rglob("*.trace.ndjson"))

#: One of each kind.
RECORDED = (
    "captured/dledger/dledger-0.2.7-figure8.log",
    "captured/dledger/dledger-0.2.7-figure8.ndjson",
    "captured/hashicorp/raft-1.7.3-torn_vote.ndjson",
)
BY_REFERENCE = (
    "counterexamples/dledger/commit/prior_term_commit.trace.ndjson",
    "counterexamples/hashicorp/snapshots/snapshot_regress.trace.ndjson",
)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pipeline_session("local[2]") as session:
        yield session


def ran(spark: SparkSession, tmp_path: Path, files: list[str]) -> RunReport:
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    return run_all(spark, store, "all", InputFiles(files, version="0.2.7"), AS_DECLARED)


def reached(path: Path) -> Counter[tuple[str, str]]:
    trace = opened(path.read_bytes().splitlines(keepends=True), str(path))
    system = system_of(trace.header, str(path))
    assert system.reached is not None
    assert trace.header.system == REFERENCE
    return Counter(system.reached(event for _, event in trace))


@pytest.mark.parametrize("path", COUNTEREXAMPLES, ids=lambda path: path.name.split(".")[0])
def test_the_coverage_of_a_counterexample_is_counted_however_its_logs_are_written(path: Path) -> None:
    assert {kind for kind, _ in reached(path)} & {"action"}


def test_logs_without_a_gap_are_read_as_those_with_one() -> None:
    compacted = traces_dir() / "counterexamples" / "hashicorp" / "log" / "truncate_without_conflict.trace.ndjson"
    assert reached(compacted)["log", "entries cut"] == 1


def test_a_run_of_recordings_logs_and_counterexamples_has_the_verdict_of_their_checks(
    spark: SparkSession, tmp_path: Path
) -> None:
    found = ran(spark, tmp_path, [str(traces_dir() / name) for name in (*RECORDED, *BY_REFERENCE)])
    judge = KnownTraceCheck(switches_of(()))
    paths = [traces_dir() / name for name in BY_REFERENCE]
    for number, name in enumerate(RECORDED):
        paths.append(tmp_path / f"{number}.trace.ndjson")
        import_trace(traces_dir() / name, paths[-1])
    assert found.verdict == worst([judge(path).verdict for path in paths]) == Verdict.VIOLATED
    assert found.gaps == []
    assert found.traces == len(RECORDED) + len(BY_REFERENCE)
    assert not [each for each in found.coverage if each["kind"] == NOT_COUNTED]
    assert ("log", "snapshot saved") in {(each["kind"], each["name"]) for each in found.coverage}


@pytest.mark.nightly
def test_a_run_of_recordings_alone_is_whole(spark: SparkSession, tmp_path: Path) -> None:
    found = ran(spark, tmp_path, [str(traces_dir() / "captured" / "dledger" / "dledger-0.2.7-fault_free.ndjson")])
    assert (found.verdict, found.gaps) == (Verdict.HOLDS, [])
    assert {each["kind"] for each in found.coverage} >= {"action", "trace"}


@pytest.mark.nightly
def test_a_trace_that_only_names_the_reference_is_reported_without_an_exception(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = COUNTEREXAMPLES[0].read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    for event in events[1:-1]:
        event["shows"] = {"dispatchers": {"n2": {}}}
    path = tmp_path / "named.trace.ndjson"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    found = ran(spark, tmp_path, [str(path)])
    reasons = [each["name"] for each in found.coverage if each["kind"] == NOT_COUNTED]
    assert reasons == ["event 0 does not show what the reference shows of a node"]
    assert found.verdict == KnownTraceCheck(switches_of(()))(path).verdict
