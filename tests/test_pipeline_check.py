"""The Spark job gives the verdicts that the check gives in one process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockstep.conformance import TraceVerdict, check_trace
from lockstep.pipeline.check import check_with_spark
from lockstep.pipeline.session import spark_session
from lockstep.specs import trace_spec
from lockstep.trace.format import read_trace
from lockstep.trace_files import write_cluster
from lockstep.verdict import Verdict

REPAIRED = {"PriorTermCommit": "repaired", "TruncatedTail": "repaired", "PushTermCheck": "repaired"}


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
    violating = write_cluster(folder, "published", 3, 600)
    data = good[0].read_bytes()
    (folder / "tampered.ndjson").write_bytes(data.replace(b'"ledgerEndIndex":0', b'"ledgerEndIndex":7', 1))
    (folder / "cut.ndjson").write_bytes(data[: len(data) // 2])
    (folder / "empty.ndjson").write_bytes(b"")
    (folder / "bare.ndjson").write_bytes(data.splitlines(keepends=True)[0] + b'{"kind":"end","events":0}\n')
    odd = [folder / f"{name}.ndjson" for name in ("tampered", "cut", "empty", "bare")]
    return [violating, *odd, *good, five]


def alone(path: Path) -> TraceVerdict:
    trace = read_trace(path)
    return check_trace(trace, trace_spec(trace.header, str(path)))


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
    assert "field `args`" in first.reason
    assert second.verdict is Verdict.HOLDS
