"""`lockstep pipeline run` on traces that a reference wrote, on recordings and on logs: one verdict, that of `check`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict, worst
from lockstep.jobs.fleet_coverage import cover_trace
from lockstep.models.search_result import SpecFiles
from lockstep.pipeline.all_stages import run_all
from lockstep.pipeline.coverage_stage import NOT_COUNTED
from lockstep.pipeline.ingest_stage import InputFiles
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.run_report import RunReport
from lockstep.pipeline.spec_choice import AS_DECLARED, OwnSpec
from lockstep.pipeline.trace_store import TraceStore
from lockstep.systems.file_check import KnownTraceCheck
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import switches_of, trace_spec
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

COUNTEREXAMPLES = sorted((traces_dir() / "counterexamples").rglob("*.trace.ndjson"))

EXAMPLE = ROOT / "docs" / "own_logs"

RECORDED = "captured/dledger/dledger-0.2.7-figure8.log"
BY_REFERENCE = "counterexamples/hashicorp/snapshots/snapshot_regress.trace.ndjson"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pipeline_session("local[2]") as session:
        yield session


def ran(spark: SparkSession, tmp_path: Path, files: list[str]) -> RunReport:
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    return run_all(spark, store, "all", InputFiles(files, version="0.2.7"), AS_DECLARED)


def reached(path: Path) -> dict[tuple[str, str], int]:
    trace = open_trace(path)
    found = cover_trace(trace, trace_spec(trace.header, str(path), covers=True))
    assert found.deviation is None
    return dict(found.reached or {})


@pytest.mark.parametrize(
    "path", sampled(COUNTEREXAMPLES, [COUNTEREXAMPLES[0], COUNTEREXAMPLES[-1]]), ids=lambda path: path.name
)
def test_every_step_of_a_counterexample_is_counted_as_an_action(path: Path) -> None:
    actions = sum(times for (kind, _), times in reached(path).items() if kind in ("action", "fault"))
    assert actions == KnownTraceCheck(switches_of(()))(path).steps > 0


def test_logs_without_a_gap_are_read_as_those_with_one() -> None:
    compacted = traces_dir() / "counterexamples" / "hashicorp" / "log" / "truncate_without_conflict.trace.ndjson"
    assert reached(compacted)["log", "entries cut"] == 1


@pytest.mark.nightly
def test_a_run_of_a_log_and_a_counterexample_has_the_verdict_of_their_checks(
    spark: SparkSession, tmp_path: Path
) -> None:
    paths = [traces_dir() / name for name in (RECORDED, BY_REFERENCE)]
    found = ran(spark, tmp_path, [str(path) for path in paths])
    judge = KnownTraceCheck(switches_of(()))
    assert found.verdict == worst([judge(path).verdict for path in paths]) == Verdict.VIOLATED
    assert found.gaps == []
    assert found.traces == len(paths)
    assert not [each for each in found.coverage if each["kind"] == NOT_COUNTED]
    traces = {(each["kind"], each["name"]): each["traces"] for each in found.coverage}
    assert traces["log", "snapshot saved"] == 1
    assert traces["trace", "events"] == len(paths)
    assert traces["log", "another leader"] >= 1, "recordings are counted like traces of the reference"


@pytest.mark.nightly
def test_a_run_of_recordings_alone_is_whole(spark: SparkSession, tmp_path: Path) -> None:
    found = ran(spark, tmp_path, [str(traces_dir() / "captured" / "dledger" / "dledger-0.2.7-fault_free.ndjson")])
    assert (found.verdict, found.gaps) == (Verdict.HOLDS, [])
    assert {each["kind"] for each in found.coverage} >= {"action", "trace"}


@pytest.mark.nightly
def test_a_run_of_all_traces_of_the_project_has_the_verdict_of_their_check_and_counts_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each file, and the folder as a whole: `lockstep check` takes its .ndjson, recordings among them."""
    found = ran(spark, tmp_path, [str(traces_dir())])
    judge = KnownTraceCheck(switches_of(()))
    files = [path for path in traces_dir().rglob("*.*") if path.suffix in (".ndjson", ".log")]
    verdicts = [judge(path).verdict for path in files]
    assert lockstep("check", traces_dir(), cwd=tmp_path).returncode == found.verdict.exit_code
    (variant,) = found.variants
    assert variant["verdicts"] == Counter(map(str, verdicts))
    assert found.verdict == worst(verdicts) == Verdict.VIOLATED
    assert found.gaps == []
    counted = {(each["kind"], each["name"]): each["traces"] for each in found.coverage}
    assert counted["trace", "events"] == found.traces == len(verdicts)


@pytest.mark.nightly
def test_a_trace_that_shows_less_than_the_reference_is_counted_like_any_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = [json.loads(line) for line in COUNTEREXAMPLES[0].read_text(encoding="utf-8").splitlines()]
    for event in events[1:-1]:
        event["shows"] = {}
    path = tmp_path / "named.trace.ndjson"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    found = ran(spark, tmp_path, [str(path)])
    assert found.verdict == KnownTraceCheck(switches_of(()))(path).verdict
    times = {(each["kind"], each["name"]): each["times"] for each in found.coverage}
    events_row = times.pop(("trace", "events"))
    assert times == reached(COUNTEREXAMPLES[0])
    assert events_row == len(events) - 2


@pytest.mark.nightly
def test_the_logs_of_a_spec_of_ones_own_are_counted_by_its_definitions(spark: SparkSession, tmp_path: Path) -> None:
    subprocess.run([sys.executable, EXAMPLE / "service.py", "logs"], cwd=tmp_path, check=True)
    own = OwnSpec(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=EXAMPLE / "mapping.toml"))
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    found = run_all(spark, store, "own", InputFiles([str(tmp_path / "logs")], own.logs), own)
    assert (found.verdict, found.gaps) == (Verdict.HOLDS, [])
    times = {(each["kind"], each["name"]): each["times"] for each in found.coverage}
    assert (times["action", "Store"], times["store", "the last entry"]) == (80, 28)


@pytest.mark.nightly
def test_a_definition_without_a_value_leaves_a_run_without_a_pass_and_names_its_line(
    spark: SparkSession, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, EXAMPLE / "service.py", "logs"], cwd=tmp_path, check=True)
    text = (EXAMPLE / "PrimaryBackup.tla").read_text(encoding="utf-8")
    module = tmp_path / "PrimaryBackup.tla"
    module.write_text(text.replace("[] OTHER -> {}", "[] OTHER -> {args.absent}"), encoding="utf-8")
    shutil.copy(EXAMPLE / "PrimaryBackup.cfg", tmp_path)
    own = OwnSpec(SpecFiles(module, mapping=EXAMPLE / "mapping.toml"))
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    found = run_all(spark, store, "own", InputFiles([str(tmp_path / "logs")], own.logs), own)
    assert found.verdict is Verdict.INCONCLUSIVE
    (gap,) = found.gaps
    assert re.search(r"^1 traces were not counted: .*PrimaryBackup\.tla:\d+:\d+: LS603 Reached of Put", gap)
