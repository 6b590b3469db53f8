"""The Spark job gives the verdicts that the check gives in one process."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict, worst
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.spark.shipped_specs import ShippedSpecs, SpecShipper
from lockstep.jobs.spark.spark_check import _check_part, _parts, check_lines, check_with_spark, verdicts_with_spark
from lockstep.jobs.spark.spark_session import spark_session
from lockstep.pipeline.all_stages import run_all
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.generate_stage import Clusters, generate
from lockstep.pipeline.spec_choice import HeaderSpecs
from lockstep.pipeline.stored_traces import stored_lines
from lockstep.pipeline.task_traces import TraceLines
from lockstep.pipeline.trace_store import TraceStore
from lockstep.systems.trace_files import import_trace, write_cluster
from lockstep.systems.trace_specs import Switches, spec_key, trace_spec
from lockstep.tla.spec import CompileError, Spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Header
from lockstep.trace.trace_reader import read_trace
from tests.support.systems.dledger import VARIANTS, check_dledger
from tests.support.tla.broken_spec import NO_VALUE, broken_spec

REPAIRED = VARIANTS["repaired"]
FIGURE_8 = traces_dir() / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    small_batches = {"spark.sql.execution.arrow.maxRecordsPerBatch": "37"}
    with spark_session("local[2]", "lockstep-test", settings=small_batches) as session:
        yield session


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("traces")
    good = [write_cluster(folder, "ordered", seed, 150) for seed in (1, 2)]
    five = write_cluster(folder, "five", 1, 150)
    violating = folder / "figure8.trace.ndjson"
    import_trace(FIGURE_8, violating)
    data = good[0].read_bytes()
    (folder / "tampered.ndjson").write_bytes(data.replace(b'"ledgerEndIndex":0', b'"ledgerEndIndex":7', 1))
    (folder / "cut.ndjson").write_bytes(data[: len(data) // 2])
    (folder / "empty.ndjson").write_bytes(b"")
    (folder / "bare.ndjson").write_bytes(data.splitlines(keepends=True)[0] + b'{"kind":"end","events":0}\n')
    odd = [folder / f"{name}.ndjson" for name in ("tampered", "cut", "empty", "bare")]
    return [violating, *odd, *good, five]


def alone(path: Path) -> TraceVerdict:
    trace = read_trace(path)
    return check_dledger(trace, trace_spec(trace.header, str(path)))


@pytest.mark.nightly
def test_the_verdicts_are_those_of_one_process_in_the_order_given(spark: SparkSession, traces: list[Path]) -> None:
    found = check_with_spark(spark, traces)
    assert [verdict.source for verdict in found] == [str(path) for path in traces]
    assert [verdict.verdict for verdict in found] == [
        Verdict.VIOLATED,
        Verdict.VIOLATED,
        Verdict.MALFORMED,
        Verdict.MALFORMED,
        Verdict.INCONCLUSIVE,
        Verdict.HOLDS,
        Verdict.HOLDS,
        Verdict.HOLDS,
    ]
    for path, verdict in zip(traces, found, strict=True):
        if path.name != "empty.ndjson":  # it has no header to open it by
            assert replace(verdict, seconds=0.0) == replace(alone(path), seconds=0.0)


def test_a_trace_of_more_lines_than_a_batch_is_checked_whole(spark: SparkSession, traces: list[Path]) -> None:
    (verdict,) = check_with_spark(spark, traces[-1:])
    assert (verdict.events, verdict.verdict) == (150, Verdict.HOLDS)


def test_the_switches_hold_for_every_trace(spark: SparkSession, traces: list[Path]) -> None:
    (verdict,) = check_with_spark(spark, traces[:1], {"Fifo": "perhaps"})
    assert verdict.verdict is Verdict.MALFORMED
    assert "field `constants.Fifo`" in verdict.reason
    (verdict,) = check_with_spark(spark, traces[-3:-2], REPAIRED)
    assert verdict.verdict is Verdict.HOLDS


def test_a_parameter_of_another_type_in_one_trace_leaves_the_others_their_verdicts(
    spark: SparkSession, tmp_path: Path
) -> None:
    good = write_cluster(tmp_path, "ordered", 4, 50)
    text = good.read_text()
    odd = tmp_path / "odd.ndjson"
    odd.write_text(text.replace('"args":{"value":"v1"}', '"args":{"value":["v1"]}', 1))
    assert odd.read_text() != text
    first, second = check_with_spark(spark, [odd, good])
    assert first.verdict is Verdict.MALFORMED
    assert "field `args.value`" in first.reason
    assert second.verdict is Verdict.HOLDS


def with_text(path: Path, name: str, before: str, after: str) -> Path:
    text = path.read_text()
    assert before in text
    path.with_name(name).write_text(text.replace(before, after, 1))
    return path.with_name(name)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_constant_that_python_holds_equal_to_the_right_one_is_refused_beside_a_right_trace(
    spark: SparkSession, tmp_path: Path, order: tuple[int, int]
) -> None:
    good = write_cluster(tmp_path, "ordered", 4, 50)
    odd = with_text(good, "odd.ndjson", '"Fifo":true', '"Fifo":1')
    traces = [(good, odd)[index] for index in order]
    found = check_with_spark(spark, traces)
    assert [found[order.index(0)].verdict, found[order.index(1)].verdict] == [Verdict.HOLDS, Verdict.MALFORMED]
    assert "field `constants.Fifo`: 1 is not false or true" in found[order.index(1)].reason


def test_a_worker_refuses_a_constant_before_it_looks_up_a_spec(tmp_path: Path) -> None:
    good = write_cluster(tmp_path, "ordered", 4, 50)
    key = spec_key(read_trace(good).header, str(good))
    texts = {key: trace_spec(read_trace(good).header, str(good)).source}
    lines = good.read_bytes().replace(b'"Fifo":true', b'"Fifo":1').splitlines(keepends=True)
    specs = {key: Spec.from_source(texts[key])}
    verdict = check_lines(iter(lines), "odd", specs.__getitem__, {})
    assert (verdict.verdict, verdict.reason) == (
        Verdict.MALFORMED,
        "odd:1: field `constants.Fifo`: 1 is not false or true",
    )


def test_a_value_that_is_none_is_malformed_in_its_trace_and_leaves_the_others_their_verdicts(
    spark: SparkSession, tmp_path: Path
) -> None:
    good = write_cluster(tmp_path, "ordered", 4, 50)
    args = with_text(good, "args.ndjson", '"args":{"value":"v1"}', '"args":{"value":{"#set":["n0",1]}}')
    shows = with_text(good, "shows.ndjson", '"currTerm":0', '"currTerm":{"#bigint":[]}')
    found = check_with_spark(spark, [args, good, shows])
    assert [each.verdict for each in found] == [Verdict.MALFORMED, Verdict.HOLDS, Verdict.MALFORMED]
    assert "field `args.value`: " in found[0].reason
    assert "field `shows.currTerm`: " in found[2].reason


@pytest.mark.nightly
def test_an_error_of_the_spec_in_one_trace_is_its_own_internal_error(spark: SparkSession, tmp_path: Path) -> None:
    saved = write_cluster(tmp_path, "ordered", 4, 400)
    assert '"PersistCheckPoint"' in saved.read_text()
    good = write_cluster(tmp_path, "ordered", 5, 20)
    assert '"PersistCheckPoint"' not in good.read_text()
    with broken_spec(tmp_path, NO_VALUE):
        found = check_with_spark(spark, [saved, good])
    assert [each.verdict for each in found] == [Verdict.INTERNAL, Verdict.HOLDS]
    assert "the spec could not be evaluated at line " in found[0].reason
    assert "(PersistCheckPoint of " in found[0].reason
    assert worst([each.verdict for each in found]).exit_code == 4


def test_a_spec_that_cannot_be_compiled_is_the_verdict_of_the_traces_that_need_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    three = write_cluster(tmp_path, "ordered", 4, 50)
    five = write_cluster(tmp_path, "five", 4, 50)
    compiled = trace_spec

    def without_five(header: Header, source: str, switches: Switches | None = None, *, covers: bool = False) -> Spec:
        if len(header.nodes) == 5:
            raise CompileError("outside the language")
        return compiled(header, source, switches, covers=covers)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lockstep.jobs.spark.shipped_specs.trace_spec", without_five)
        found = check_with_spark(spark, [five, three])
    assert [each.verdict for each in found] == [Verdict.INTERNAL, Verdict.HOLDS]
    assert found[0].reason == "CompileError: outside the language"


def test_a_spec_that_the_header_makes_impossible_is_reported_for_each_trace_by_its_own_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    traces = [write_cluster(tmp_path, "ordered", seed, 20) for seed in (1, 2)]

    def refusing(header: Header, source: str, switches: Switches | None = None, **_: bool) -> Spec:
        raise TraceError(source, 1, "field `constants`: ASSUME Quorums is false")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lockstep.jobs.spark.shipped_specs.trace_spec", refusing)
        found = check_with_spark(spark, traces)
        headers = {str(each): each.read_bytes().splitlines(keepends=True)[0] for each in traces}
        checker = cloudpickle.loads(cloudpickle.dumps(HeaderSpecs().checkers(spark)(headers.items())))  # as to a task
    expected = [(Verdict.MALFORMED, f"{each}:1: field `constants`: ASSUME Quorums is false") for each in traces]
    assert [(each.verdict, each.reason) for each in found] == expected
    shipped = [checker(TraceLines(name, name, iter([(0, line, name)])))[0] for name, line in headers.items()]
    assert [(each.verdict, each.reason) for each in shipped] == expected


def test_a_trace_that_cannot_be_read_leaves_the_others_their_verdicts(spark: SparkSession, tmp_path: Path) -> None:
    good = write_cluster(tmp_path, "ordered", 4, 50)
    missing, folder = tmp_path / "missing.ndjson", tmp_path / "folder.ndjson"
    folder.mkdir()
    found = check_with_spark(spark, [missing, good, folder])
    assert [each.verdict for each in found] == [Verdict.MALFORMED, Verdict.HOLDS, Verdict.MALFORMED]
    assert found[0].reason == f"{missing}: cannot be read: No such file or directory"
    assert found[2].reason == f"{folder}: cannot be read: Is a directory"


def test_without_java_to_compile_a_spec_a_trace_is_inconclusive(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = write_cluster(tmp_path, "ordered", 4, 50)
    for name in ("XDG_CACHE_HOME", "PATH", "JAVA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    (found,) = check_with_spark(spark, [good])
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason.startswith("Java 17 or newer is required; none found on ")


# ---- Workers that die ----


def shipped_for(spark: SparkSession, trace: Path) -> ShippedSpecs:
    """The spec of a trace, on its way to the tasks."""
    with trace.open("rb") as file:
        return SpecShipper(spark, {}).ship([(str(trace), file.readline())])


@pytest.mark.nightly
def test_a_worker_that_is_killed_takes_the_verdict_of_its_trace_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    traces = [write_cluster(tmp_path, "ordered", seed, 20) for seed in range(1, 5)]

    def killed_by_the_second(lines: Iterator[bytes], source: str, *rest: Any) -> TraceVerdict:
        if source.endswith("ordered-2.trace.ndjson"):
            os.kill(os.getpid(), signal.SIGKILL)
        return check_lines(lines, source, *rest)

    monkeypatch.setattr("lockstep.jobs.spark.spark_check.check_lines", killed_by_the_second)
    found = check_with_spark(spark, traces)
    assert [each.verdict for each in found] == [Verdict.HOLDS, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.HOLDS]
    assert found[1].reason == "the check of this trace died, as often as it was tried (SIGKILL)"
    assert worst([each.verdict for each in found]).exit_code == 3
    assert capfd.readouterr() == ("", "")
    of_one_part = _check_part(spark, traces, shipped_for(spark, traces[0]))
    assert [replace(of_one_part[each.source], seconds=0.0) for each in found] == [
        replace(each, seconds=0.0) for each in found
    ]


@pytest.mark.nightly
def test_a_check_that_never_ends_takes_the_verdict_of_its_trace_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = [write_cluster(tmp_path, "ordered", seed, 20) for seed in range(1, 5)]

    def endless_in_the_second(lines: Iterator[bytes], source: str, *rest: Any) -> TraceVerdict:
        if source.endswith("ordered-2.trace.ndjson"):
            sum(itertools.repeat(0))  # within which no Python is run
        return check_lines(lines, source, *rest)

    monkeypatch.setattr("lockstep.jobs.spark.spark_check.check_lines", endless_in_the_second)
    found = check_with_spark(spark, traces, seconds=4)
    assert [each.verdict for each in found] == [Verdict.HOLDS, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.HOLDS]
    assert found[1].reason == "the check of this trace did not end within 4 s"


def test_an_error_that_a_worker_raises_is_reported_in_a_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_cluster(tmp_path, "ordered", 1, 20)

    def raising(*_: Any) -> TraceVerdict:
        raise ModuleNotFoundError("No module named 'lockstep'")

    monkeypatch.setattr("lockstep.jobs.spark.spark_check.check_lines", raising)
    (found,) = check_with_spark(spark, [trace])
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason == "Spark did not finish: ModuleNotFoundError: No module named 'lockstep'"


def test_a_trace_that_becomes_unreadable_leaves_the_others_of_its_part_their_verdicts(
    spark: SparkSession, tmp_path: Path
) -> None:
    good, gone = (write_cluster(tmp_path, "ordered", seed, 20) for seed in (1, 2))
    shipped = shipped_for(spark, good)
    gone.unlink()
    found = _check_part(spark, [gone, good], shipped)
    assert [found[str(each)].verdict for each in (gone, good)] == [Verdict.MALFORMED, Verdict.HOLDS]
    assert found[str(gone)].reason == f"{gone}: cannot be read: No such file or directory"


@pytest.mark.parametrize(("count", "most"), [(0, 8), (1, 8), (8, 8), (9, 8), (100, 8)])
def test_every_trace_is_in_one_part_and_there_are_not_too_many(count: int, most: int) -> None:
    traces = [Path(str(number)) for number in range(count)]
    parts = list(_parts(traces, most))
    assert [trace for part in parts for trace in part] == traces
    assert len(parts) <= most


@pytest.mark.nightly
def test_verdicts_come_as_soon_as_they_are_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = [write_cluster(tmp_path, "ordered", seed, 20) for seed in (1, 2)]
    waited_for = tmp_path / "go"

    def waiting(lines: Iterator[bytes], source: str, *rest: Any) -> TraceVerdict:
        while source.endswith("ordered-2.trace.ndjson") and not waited_for.exists():
            time.sleep(0.02)
        return check_lines(lines, source, *rest)

    monkeypatch.setattr("lockstep.jobs.spark.spark_check.check_lines", waiting)
    found = verdicts_with_spark(spark, traces)
    assert next(found).verdict is Verdict.HOLDS
    waited_for.touch()
    assert [each.verdict for each in found] == [Verdict.HOLDS]


# ---- The pipeline ----


def files_of(store: Path) -> dict[Path, int]:
    """The files of all tables, each with the time at which it was written."""
    return {path: path.stat().st_mtime_ns for path in store.rglob("part-*")}


@pytest.mark.nightly
def test_the_pipeline_simulates_and_checks_clusters_as_one_process_does_and_does_nothing_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    store, clusters = TraceStore.open(str(tmp_path / "store"), create=True), Clusters(("five",), range(1, 3), 60)

    def simulate_and_check() -> None:
        generate(spark, store, "small", clusters)
        check(spark, store, "small", HeaderSpecs())

    simulate_and_check()
    simulated = write_cluster(tmp_path, "five", 2, 60)
    assert b"".join(line for line, _ in stored_lines(store, "small", "five-2-60")) == simulated.read_bytes()
    rows = store.read(spark, "verdicts", "small", store.batches("verdicts", "small")).orderBy("trace").collect()
    assert [(row["trace"], row["verdict"], row["events"]) for row in rows] == [
        ("five-1-60", "holds", 60),
        ("five-2-60", "holds", 60),
    ]
    assert rows[1]["observed"] == alone(simulated).observed > 500
    assert rows[1]["replay"] == (
        "lockstep simulate --plan five --seed 2 --events 60 -o . && lockstep check five-2.trace.ndjson"
    )
    written = files_of(tmp_path)
    assert len(written) > 1
    simulate_and_check()
    assert files_of(tmp_path) == written


@pytest.mark.nightly
def test_all_stages_run_with_one_command_and_nothing_is_done_twice(spark: SparkSession, tmp_path: Path) -> None:
    store, clusters = (
        TraceStore.open(str(tmp_path / "store"), create=True),
        Clusters(("ordered", "five"), range(1, 3), 60),
    )
    found = run_all(spark, store, "small", clusters, HeaderSpecs())
    (variant,) = found.variants
    assert (variant["traces"], variant["events"], variant["verdicts"]) == (4, 240, {"holds": 4})
    assert found.verdict is Verdict.INCONCLUSIVE, "so few clusters reach no floor"
    written = files_of(tmp_path)
    run_all(spark, store, "small", clusters, HeaderSpecs())
    assert files_of(tmp_path) == written
