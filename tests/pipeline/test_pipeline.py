"""The pipeline on real Spark: the verdicts of `lockstep check`, whatever is in the way."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import lockstep.pipeline.generate_stage as generating
from lockstep.base.errors import BadInputError
from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.recordings_manifest import load_recordings
from lockstep.jobs.spark.spark_check import VERDICTS, check_with_spark
from lockstep.models.search_result import SpecFiles
from lockstep.pipeline.all_stages import run_all
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.generate_stage import DECLARED, Clusters, generate
from lockstep.pipeline.ingest_stage import InputFiles, ingest
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.report_stage import report
from lockstep.pipeline.source_files import TOGETHER
from lockstep.pipeline.spec_choice import AS_DECLARED, CheckerFactory, HeaderSpecs, OwnSpec, SpecChoice, TraceChecker
from lockstep.pipeline.stage_batches import StageFailed
from lockstep.pipeline.stored_traces import stored_lines
from lockstep.pipeline.task_traces import TraceLines
from lockstep.pipeline.trace_store import TraceStore
from lockstep.pipeline.watch.growing_files import SUFFIX
from lockstep.systems.file_check import KnownTraceCheck, own_check
from lockstep.systems.trace_files import import_trace, write_cluster
from lockstep.systems.trace_specs import switches_of
from tests.support.logs.backup_service import EXAMPLE, service
from tests.support.pipeline.watched_folder import watched_once

pytestmark = pytest.mark.nightly

#: Row groups, parts of files and batches so small that every trace is in several.
TORN = {
    "spark.hadoop.parquet.block.size": "16384",
    "spark.sql.files.maxPartitionBytes": "16384",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "37",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pipeline_session("local[2,4]", TORN) as session:
        yield session


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore.open(str(tmp_path / "store"), create=True)


def verdicts(spark: SparkSession, store: TraceStore, run: str, variant: str | None = None) -> dict[str, TraceVerdict]:
    """The verdicts of a run by trace, without the time that they took."""
    rows = store.read(spark, "verdicts", run, store.batches("verdicts", run, variant))
    found = [(row["trace"], VERDICTS.record(row.asDict())) for row in rows.collect()]
    assert len({trace for trace, _ in found}) == len(found)
    return {trace: without_time(each, trace) for trace, each in found}


def without_time(found: TraceVerdict, source: str) -> TraceVerdict:
    """A verdict of the check of a file, as the table has it."""
    return replace(
        found, source=source, reason=found.reason.replace(found.source, source), seconds=0.0, notes=[], sources=[]
    )


# ---- The same verdicts ----


@pytest.mark.parametrize("words", [(), ("repaired",)], ids=["declared", "repaired"])
def test_check_fleet_pipeline_and_watch_agree_on_all_traces_that_ship(
    spark: SparkSession, store: TraceStore, tmp_path: Path, words: tuple[str, ...]
) -> None:
    counterexamples = traces_dir() / "counterexamples"
    versions = {each.file: each.import_options for each in load_recordings(traces_dir() / "manifest.toml")}
    paths = {str(each.relative_to(counterexamples)): each for each in counterexamples.rglob("*.ndjson")}
    for file, import_options in versions.items():
        name = Path(file).name
        paths[name] = tmp_path / f"{name}.trace.ndjson"
        import_trace(traces_dir() / file, paths[name], import_options)
    for version in {import_options.version for import_options in versions.values()}:
        files = [
            str(traces_dir() / file) for file, import_options in versions.items() if import_options.version == version
        ]
        given = files if version else [str(counterexamples), *files]
        ingest(spark, store, "all", InputFiles(given, version=version))
    check(spark, store, "all", HeaderSpecs(words))
    found = verdicts(spark, store, "all")
    assert report(spark, store, "all").gaps == []
    assert found.keys() == paths.keys()
    assert len(found) > 45
    judge = KnownTraceCheck(switches_of(words))
    alone = {name: without_time(judge(path), name) for name, path in paths.items()}
    by_fleet = check_with_spark(spark, list(paths.values()), switches_of(words))
    assert {name: without_time(each, name) for name, each in zip(paths, by_fleet, strict=True)} == alone
    assert found == alone
    assert len({each.verdict for each in found.values()}) > 1
    folder = tmp_path / "watched"
    called = {name if name.endswith(SUFFIX) else f"{name}{SUFFIX}": name for name in paths}  # a watch takes no others
    for file, name in called.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(paths[name], folder / file)
    watched = watched_once(folder, HeaderSpecs(words))
    assert {called[file]: without_time(each, called[file]) for file, each in watched.items()} == alone


def test_the_logs_of_one_system_are_checked_together_by_their_mapping(
    spark: SparkSession, store: TraceStore, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    cases = {"good": service(logs / "good", 1), "hasty": service(logs / "hasty", 1, "--hasty")}
    own = OwnSpec(
        SpecFiles(EXAMPLE / "PrimaryBackup.tla", EXAMPLE / "PrimaryBackup.cfg", mapping=EXAMPLE / "mapping.toml")
    )
    assert own.logs == TOGETHER
    found = run_all(spark, store, "logs", InputFiles([str(logs)], TOGETHER), own)
    judge = own_check(own.files)
    alone = {name: without_time(judge.check_logs(paths), name) for name, paths in cases.items()}
    assert alone == verdicts(spark, store, "logs")
    assert alone["good"].ambiguity is not None
    assert [alone[name].verdict for name in cases] == [Verdict.HOLDS, Verdict.VIOLATED]
    assert found.verdict is Verdict.VIOLATED
    assert "-o hasty-logs && lockstep check" in found.failures[0]["replay"]
    got: dict[str, bytes] = {}
    for line, source in stored_lines(store, "logs", "hasty"):
        got[source] = got.get(source, b"") + line
    assert got == {str(path): path.read_bytes() for path in cases["hasty"]}


# ---- Files ----


def test_packed_files_and_those_of_several_members_are_the_traces_that_they_were(
    spark: SparkSession, store: TraceStore, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    data = write_cluster(tmp_path, "ordered", 1, 80).read_bytes()
    lines = data.splitlines(keepends=True)
    halves = b"".join(lines[:30]), b"".join(lines[30:])
    zstd = pa.Codec("zstd")
    (folder / "gzip.ndjson.gz").write_bytes(b"".join(map(gzip.compress, halves)))
    (folder / "zstd.ndjson.zst").write_bytes(b"".join(bytes(zstd.compress(half, asbytes=True)) for half in halves))
    (folder / "plain.ndjson").write_bytes(data)
    (folder / "notes.txt").write_text("no trace\n")
    found = run_all(spark, store, "packed", InputFiles([str(folder)]), AS_DECLARED)
    assert (found.verdict, found.traces) == (Verdict.HOLDS, 3)
    for name in ("gzip.ndjson", "zstd.ndjson", "plain.ndjson"):
        assert b"".join(line for line, _ in stored_lines(store, "packed", name)) == data


def test_a_dead_letter_is_stored_with_its_place_and_its_trace_never_passes(
    spark: SparkSession, store: TraceStore, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = write_cluster(folder, "ordered", 1, 60).read_bytes().splitlines(keepends=True)
    (folder / "torn.ndjson").write_bytes(b"".join([*lines[:7], b'{"kind": "ev\n', *lines[8:]]))
    (folder / "empty.ndjson").write_bytes(b"")
    (folder / "prose.ndjson").write_bytes(b"once upon\na time\n")
    (folder / "cut.ndjson.gz").write_bytes(gzip.compress(b"".join(lines))[:-40])
    found = run_all(spark, store, "bad", InputFiles([str(folder)]), AS_DECLARED)
    letters = {(Path(each["source"]).name, each["line"]): each["reason"] for each in found.dead_letters["first"]}
    assert letters.keys() == {("torn.ndjson", 8), ("empty.ndjson", 0), ("prose.ndjson", 1), ("cut.ndjson.gz", 0)}
    assert "JSON is malformed" in letters["torn.ndjson", 8]
    assert "Truncated compressed stream" in letters["cut.ndjson.gz", 0]
    each = verdicts(spark, store, "bad")
    assert each["ordered-1.trace.ndjson"].verdict is Verdict.HOLDS
    assert each["torn.ndjson"].verdict is Verdict.MALFORMED
    assert each["torn.ndjson"].reason.startswith("torn.ndjson:8: the store lacks this line")
    assert (found.verdict, found.gaps) == (Verdict.MALFORMED, [])


def test_files_that_come_later_are_read_and_none_twice_and_a_changed_one_is_refused(
    spark: SparkSession, store: TraceStore, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    first = write_cluster(folder, "ordered", 1, 40)
    ingest(spark, store, "growing", InputFiles([str(folder)]))
    write_cluster(folder, "ordered", 2, 40)
    found = run_all(spark, store, "growing", InputFiles([str(folder)]), AS_DECLARED)
    assert (found.verdict, found.traces, found.gaps) == (Verdict.HOLDS, 2, [])
    first.write_bytes(first.read_bytes() + b"\n")
    with pytest.raises(BadInputError, match="has changed since the run read it"):
        ingest(spark, store, "growing", InputFiles([str(folder)]))


def test_two_files_of_one_name_in_two_folders_are_refused(store: TraceStore, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_cluster(tmp_path / name, "ordered", 1, 10)
    with pytest.raises(BadInputError, match=r"would both be the trace 'ordered-1\.trace\.ndjson'"):
        InputFiles([str(tmp_path / "a"), str(tmp_path / "b")]).listed()


# ---- What is missing ----


def test_a_batch_that_is_not_there_or_was_not_checked_is_no_pass(
    spark: SparkSession, store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generating, "BATCH_EVENTS", 80)
    clusters = Clusters(("ordered",), range(1, 7), 40)
    generate(spark, store, "half", clusters)
    check(spark, store, "half")
    batches = store.batches("lines", "half")
    assert len(batches) == 3
    store.remove("verdicts", "half", store.batches("verdicts", "half")[0])
    found = report(spark, store, "half")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert f"1 batch of lines was not checked against {DECLARED}: run `check` again" in found.gaps
    (Path(store.folder("lines", "half", batches[0]).path) / "_SUCCESS").unlink()
    found = report(spark, store, "half")
    assert "1 batch of lines is missing: run the stage that writes them again" in found.gaps
    assert "2 of 6 files or clusters are missing from the lines" in found.gaps
    found = run_all(spark, store, "half", clusters, AS_DECLARED)
    assert (found.gaps, found.traces) == ([], 6)


def test_a_file_of_a_table_that_is_damaged_or_gone_ends_the_stage_or_is_reported(
    spark: SparkSession, store: TraceStore
) -> None:
    generate(spark, store, "damaged", Clusters(("ordered",), range(1, 9), 40))
    (batch,) = store.batches("lines", "damaged")
    parts = sorted(Path(store.folder("lines", "damaged", batch).path).glob("part-*"))
    whole = parts[0].read_bytes()
    for checksum in parts[0].parent.glob(".*.crc"):
        checksum.unlink()
    parts[0].write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(StageFailed, match=r"part-00000.* cannot be read: .*remove the folder of this file"):
        check(spark, store, "damaged")
    parts[0].unlink()
    with pytest.raises(StageFailed, match="check: 1 batch of lines is missing: run the stage that writes them"):
        check(spark, store, "damaged")
    found = report(spark, store, "damaged")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "8 of 8 files or clusters are missing from the lines" in found.gaps
    found = run_all(spark, store, "damaged", Clusters(("ordered",), range(1, 9), 40), AS_DECLARED)
    assert (found.gaps, found.traces) == ([], 8)


# ---- What dies ----


class Deadly(HeaderSpecs):
    """The check, in which a worker dies of one trace."""

    def checkers(self, spark: SparkSession) -> CheckerFactory:
        checkers = super().checkers(spark)
        return lambda headers: DeadlyChecker(checkers(headers))


class DeadlyChecker:
    def __init__(self, checker: TraceChecker) -> None:
        self.checker = checker

    def __call__(self, lines: TraceLines) -> tuple[TraceVerdict, str]:
        if lines.trace == "ordered-3-40":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.checker(lines)


@pytest.fixture
def here() -> Iterator[ModuleType]:
    """This module, which tasks cannot import, shipped with what they run."""
    import sys

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield module
    cloudpickle.unregister_pickle_by_value(module)


def test_a_trace_that_workers_die_of_is_inconclusive_and_all_others_have_their_verdicts(
    spark: SparkSession, store: TraceStore, here: ModuleType
) -> None:
    generate(spark, store, "deadly", Clusters(("ordered",), range(1, 7), 40))
    against: SpecChoice = Deadly()
    check(spark, store, "deadly", against)
    found = verdicts(spark, store, "deadly")
    assert {name for name, each in found.items() if each.verdict is Verdict.HOLDS} == {
        f"ordered-{seed}-40" for seed in (1, 2, 4, 5, 6)
    }
    died = found["ordered-3-40"]
    assert (died.verdict, died.reason) == (
        Verdict.INCONCLUSIVE,
        "the check of this trace died, as often as it was tried (SIGKILL)",
    )
    reported = report(spark, store, "deadly")
    assert reported.gaps == ["of 1 batch of lines it was not counted what they reach"]
    assert reported.failures[0]["replay"].startswith("lockstep simulate --plan ordered --seed 3 --events 40 -o . && ")


def test_a_report_is_json_markdown_and_pictures_in_the_store(spark: SparkSession, store: TraceStore) -> None:
    found = run_all(spark, store, "night", Clusters(("published", "ordered"), range(1, 3), 60), AS_DECLARED)
    folder = Path(store.location.path) / "_reports" / "run=night"
    assert json.loads((folder / "report.json").read_text())["exit_code"] == found.verdict.exit_code
    text = (folder / "report.md").read_text()
    assert f"# Run night: {found.verdict}" in text
    for name in ("verdicts", "actions"):
        assert f"]({name}.svg)" in text
        assert ElementTree.parse(folder / f"{name}.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert sum(each["traces"] for each in found.plans) == found.traces == 4
    assert {each["plan"] for each in found.plans} == {"published", "ordered"}
