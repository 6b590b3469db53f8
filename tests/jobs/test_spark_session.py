"""Spark starts, runs Python on columns, and leaves nothing behind."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions.captured import StreamingQueryException
from pyspark.sql import SparkSession

from lockstep.base.verdict import Verdict
from lockstep.jobs.spark.spark_check import check_with_spark
from lockstep.jobs.spark.spark_session import (
    SparkStartError,
    _for_java,
    describe_failure,
    never_connected,
    spark_session,
)
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.watch.verdict_table import WatchStore, WatchVerdict
from lockstep.pipeline.watch.watch_stream import Watch, WatchOptions
from lockstep.systems.file_check import check
from lockstep.systems.trace_files import write_cluster
from tests.support.pipeline.watched_traces import verdict_of


def test_spark_runs_this_interpreter_on_loopback_and_leaves_nothing_behind(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interpreter(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            total = sum(batch.column(0).to_pylist())
            yield pa.RecordBatch.from_pydict({"python": [sys.executable], "total": [total]})

    monkeypatch.setenv("PYSPARK_PYTHON", "no-such-python")
    with spark_session("local[2]", settings={"spark.sql.shuffle.partitions": "3"}) as spark:
        rows = spark.range(1000).mapInArrow(interpreter, "python string, total long").collect()
        conf = spark.sparkContext.getConf()
        warehouse = Path(urlparse(str(spark.conf.get("spark.sql.warehouse.dir"))).path)
        spark.range(3).write.saveAsTable("numbers")
        assert (warehouse / "numbers").is_dir()
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"

    assert {row.python for row in rows} == {sys.executable}
    assert sum(row.total for row in rows) == sum(range(1000))
    assert conf.get("spark.driver.host") == conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert not warehouse.exists()
    assert os.environ["PYSPARK_PYTHON"] == "no-such-python"
    assert "PYSPARK_DRIVER_PYTHON" not in os.environ
    assert SparkSession.getActiveSession() is None
    assert capfd.readouterr() == ("", "")


def test_a_session_ends_with_the_error_of_its_block_and_the_next_one_starts() -> None:
    with pytest.raises(ZeroDivisionError), spark_session("local[1]"):
        raise ZeroDivisionError
    with spark_session("local[1]") as spark:
        assert spark.range(5).count() == 5


def test_the_error_that_ended_a_stream_is_reported_in_a_line() -> None:
    rest = "\n=== Streaming Query ===\nIdentifier: [id = 1]"
    with spark_session("local[1]"):
        slow = StreamingQueryException(f"Python worker failed to connect back.{rest}", "", None)
        broken = StreamingQueryException(f"The checkpoint is broken.{rest}", "", None)
        assert (never_connected(slow), describe_failure(slow)) == (True, "the Spark worker died")
        assert (never_connected(broken), describe_failure(broken)) == (
            False,
            "Spark did not finish: The checkpoint is broken.",
        )


def test_java_is_tuned_to_start_unless_a_setting_says_otherwise() -> None:
    conf = SparkConf(loadDefaults=False).set("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=4")
    options = str(_for_java(conf).get("spark.driver.extraJavaOptions")).split()
    # Java takes the last of two.
    assert [each for each in options if "Tiered" in each] == ["-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"]


@pytest.mark.parametrize(
    ("cores", "given", "collectors"),
    [(2, "", ["-XX:+UseSerialGC"]), (16, "", []), (2, "-XX:+UseG1GC", ["-XX:+UseG1GC"])],
)
def test_java_collects_its_garbage_as_the_settings_choose_and_else_simply_on_few_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, given: str, collectors: list[str]
) -> None:
    """Java does not start where two collectors are chosen ("Conflicting collector combinations in option list")."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    conf = SparkConf(loadDefaults=False).set("spark.driver.extraJavaOptions", given)
    options = str(_for_java(conf).get("spark.driver.extraJavaOptions")).split()
    assert [each for each in options if each.endswith("GC")] == collectors


def test_a_damaged_file_is_named_as_it_is_called() -> None:
    message = (
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///my%20store/%2541.parquet. SQLSTATE: K"
    )
    cause = "Caused by: java.lang.RuntimeException: file:/my store/%41.parquet is not a Parquet file."
    assert (
        describe_failure(Py4JError(f"{message}\n{cause}"))
        == "/my store/%41.parquet cannot be read: is not a Parquet file."
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (52, "Spark's Java process ran out of memory: give it more, as with --conf spark.driver.memory=4g"),
        (1, "Spark's Java process died"),
    ],
)
def test_java_that_ran_out_of_memory_is_distinguished_from_java_that_died(
    monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    """A task that finds no memory ends Java with 52 (Spark's SparkExitCode.OOM); jobs end just before Java has."""
    monkeypatch.setattr("lockstep.jobs.spark.spark_session._stopped", threading.Event())
    with subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(0.5); raise SystemExit({code})"]) as java:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
        assert describe_failure(Py4JError("Job 5 cancelled because SparkContext was shut down")) == message
        assert describe_failure(ConnectionRefusedError()) == message


def test_a_java_that_lives_on_after_its_session_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with spark_session("local[1]"):
        pass

    def wait(_: float) -> None:
        raise AssertionError("it is waited for")

    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=SimpleNamespace(wait=wait, poll=lambda: None)))
    assert (
        describe_failure(Py4JError("SparkContext was shut down")) == "Spark did not finish: SparkContext was shut down"
    )


def test_a_master_that_spark_does_not_know_is_a_start_error() -> None:
    with pytest.raises(SparkStartError, match="nowhere"), spark_session("nowhere"):
        pass


@pytest.mark.nightly
def test_a_watch_puts_the_verdicts_of_check_into_its_table(tmp_path: Path) -> None:
    good = write_cluster(tmp_path, "ordered", 1, 30)
    bad = tmp_path / "bad.trace.ndjson"
    bad.write_bytes(good.read_bytes().replace(b'"ledgerEndIndex":0', b'"ledgerEndIndex":7', 1))
    (tmp_path / "cut.trace.ndjson").write_bytes(good.read_bytes()[:-1])
    store = WatchStore(tmp_path / ".lockstep", DECLARED)
    rows: list[WatchVerdict] = []
    options = WatchOptions(tmp_path, {}, every=0.1, idle_seconds=0.0, master="local[2]")
    with store.opened({}):
        watch = Watch(options, store, rows.append)
        assert watch.run() is Verdict.MALFORMED
    kept = {row.trace: replace(verdict_of([row]), seconds=0.0) for row in store.rows()}
    assert kept == {path.name: replace(check(path), seconds=0.0) for path in (good, bad)}
    assert {(row.trace, row.verdict) for row in rows} - {(each, str(kept[each].verdict)) for each in kept} == {
        ("cut.trace.ndjson", "malformed")
    }


@pytest.mark.nightly
def test_a_java_that_is_killed_is_reported_in_a_line_and_the_next_session_starts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    traces = [write_cluster(tmp_path, "ordered", seed, 20) for seed in (1, 2)]
    with spark_session("local[1]") as spark:
        gateway: Any = SparkContext._gateway
        gateway.proc.kill()
        found = check_with_spark(spark, traces)
    assert {(each.verdict, each.reason) for each in found} == {(Verdict.INCONCLUSIVE, "Spark's Java process died")}
    with spark_session("local[1]") as spark:
        assert spark.range(5).count() == 5
    assert capfd.readouterr() == ("", "")
