"""`lockstep.spark` on a session that was there before: the verdicts of `lockstep check`, and nothing else changes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import lockstep.spark as ls
from lockstep.base.errors import BadInputError
from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.jobs.spark.record_tables import RecordTable
from lockstep.jobs.spark.spark_session import SparkStartError
from lockstep.pipeline.all_stages import run_all
from lockstep.pipeline.coverage_stage import NOT_COUNTED
from lockstep.pipeline.ingest_stage import InputFiles
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.spec_choice import AS_DECLARED
from lockstep.pipeline.store_tables import FINDINGS, READ, TABLES
from lockstep.pipeline.trace_store import TraceStore
from lockstep.systems.file_check import check
from tests.support.pipeline.given_session import given_session
from tests.support.places import ROOT
from tests.support.programs.processes import wait_until

FLAWED = "counterexamples/dledger/commit/ack_by_quorum_index.trace.ndjson"

#: The tables of the page, by the heading above each.
COLUMNS: dict[str, RecordTable[Any]] = {
    "lines": READ,
    "verdicts": TABLES["verdicts"],
    "violations": FINDINGS,
    "reached": TABLES["reached"],
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with given_session() as session:
        yield session


def test_a_given_session_gives_the_verdicts_of_check_and_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    before = dict(spark.conf.getAll)
    (tmp_path / "torn.trace.ndjson").write_text("not JSON\n")
    (tmp_path / "empty.trace.ndjson").touch()
    flawed = traces_dir() / FLAWED
    read = ls.read_traces(spark, flawed, tmp_path)
    lines = read.unionByName(ls.simulate(spark, "ordered", seeds=[3], events=40), allowMissingColumns=True).cache()
    verdicts = ls.check(lines).cache()
    found = {row["trace"]: row for row in verdicts.collect()}
    alone = check(flawed)
    assert {name: row["verdict"] for name, row in found.items()} == {
        flawed.name: "violated",
        "torn.trace.ndjson": "malformed",  # a trace is not left out because nothing of it can be read
        "empty.trace.ndjson": "malformed",
        "ordered-3-40": "holds",
    }
    assert alone.verdict is Verdict.VIOLATED
    assert (found[flawed.name]["reason"], found[flawed.name]["events"]) == (alone.reason, alone.events)
    assert "torn.trace.ndjson:1: not a line of a trace" in found["torn.trace.ndjson"]["reason"]
    assert found["ordered-3-40"]["replay"].startswith("lockstep simulate --plan ordered --seed 3 --events 40 ")
    rows = ls.violations(verdicts).orderBy("at").collect()
    assert [(row["trace"], row["name"], row["line"]) for row in rows] == [
        (flawed.name, each.name, each.line) for each in alone.findings
    ]
    reached = ls.reached(lines).where((sql.col("kind") == "trace") & (sql.col("name") == "events")).collect()
    assert {row["trace"]: row["times"] for row in reached} == {flawed.name: alone.events, "ordered-3-40": 40}
    assert dict(spark.conf.getAll) == before
    assert SparkSession.getActiveSession() is spark


@pytest.mark.nightly
def test_a_trace_whose_count_takes_too_long_has_one_row_that_says_so_of_the_kind_that_the_page_names(
    spark: SparkSession,
) -> None:
    lines = ls.simulate(spark, "ordered", seeds=[3], events=40)
    (checked,) = ls.check(lines, timeout=0.001).collect()
    assert (checked["verdict"], "did not end within 0.001 s" in checked["reason"]) == ("inconclusive", True)
    (row,) = ls.reached(lines, timeout=0.001).collect()
    assert (row["trace"], row["kind"], row["times"]) == ("ordered-3-40", NOT_COUNTED, 1)
    assert row["name"] == "the count did not end within 0.001 s"
    assert f"`{NOT_COUNTED}`" in section("reached")
    assert f'"{NOT_COUNTED}"' in str(ls.reached.__doc__)


@pytest.mark.nightly
def test_a_switch_chooses_the_spec_as_for_check(spark: SparkSession) -> None:
    flawed = traces_dir() / FLAWED
    lines = ls.read_traces(spark, flawed)
    row = ls.check(lines, switches={"AckByQuorumIndex": "repaired"}).collect()[0]
    assert row["reason"] == check(flawed, switches={"AckByQuorumIndex": "repaired"}).reason
    assert row["reason"] != check(flawed).reason


@pytest.mark.nightly
def test_the_stages_run_on_a_given_session_which_runs_on(spark: SparkSession, tmp_path: Path) -> None:
    before = dict(spark.conf.getAll)
    store, said = TraceStore.open(str(tmp_path / "store"), create=True), list[str]()
    with pipeline_session(say=said.append) as guest:
        assert guest.sparkContext is spark.sparkContext
        report = run_all(guest, store, "run", InputFiles([str(traces_dir() / FLAWED)]), AS_DECLARED)
    assert (report.verdict, report.traces, report.gaps) == (Verdict.VIOLATED, 1, [])
    assert said == [f"Spark {spark.version} on local[2]: runs already"]
    assert spark.range(7).count() == 7
    assert dict(spark.conf.getAll) == before
    stored = spark.read.parquet(str(tmp_path / "store" / "verdicts"))
    assert ls.violations(stored).select("run", "variant", "trace").first() == ("run", "declared", Path(FLAWED).name)


@pytest.mark.nightly
def test_an_interrupt_ends_the_jobs_of_the_guest_and_no_other(spark: SparkSession) -> None:
    def sleep(session: SparkSession, seconds: float) -> str:
        def slow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                time.sleep(seconds)
                yield batch

        try:
            session.range(0, 1, 1, 1).mapInArrow(slow, "id long").collect()
        except Exception as error:
            return str(error)
        return "finished"

    running = spark.sparkContext.statusTracker().getActiveJobsIds
    with ThreadPoolExecutor() as pool:
        with pytest.raises(KeyboardInterrupt), pipeline_session() as guest:
            own, other = pool.submit(sleep, guest, 300), pool.submit(sleep, spark, 10)
            assert wait_until(lambda: len(running()) == 2)
            raise KeyboardInterrupt
        assert "cancel" in own.result(timeout=60).lower()
        assert other.result(timeout=60) == "finished"


@pytest.mark.nightly
def test_the_lines_that_begin_the_page_run_in_the_session_that_is_there(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "traces" / "pipeline.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["spark"] is spark
    assert re.search(r"\| +LeaderCompleteness\| +ChangeToLeader\| +[1-9]", capsys.readouterr().out)


# ---- What is refused ----


def test_what_no_function_can_work_with_is_refused_before_spark_does_anything(tmp_path: Path) -> None:
    none, no_columns, only_trace = cast(SparkSession, None), frame([]), frame(["trace"])
    refused = {
        "no plan; plans are ": lambda: ls.simulate(none, "orderd"),
        "variant='fixed'": lambda: ls.simulate(none, "ordered", variant="fixed"),
        "logs='all'": lambda: ls.read_traces(none, tmp_path, logs="all"),
        "name a file or a folder": lambda: ls.read_traces(none),
        "there is no such file, and no folder": lambda: ls.read_traces(none, tmp_path),
        "go with a spec": lambda: ls.check(no_columns, mapping="mapping.toml"),
        "these are no lines: the DataFrame has no column trace": lambda: ls.check(no_columns),
        "these are no verdicts: the DataFrame has no column findings": lambda: ls.violations(only_trace),
    }
    for message, call in refused.items():
        with pytest.raises(BadInputError, match=re.escape(message)):
            call()


def frame(columns: list[str]) -> Any:
    return SimpleNamespace(columns=columns)


def test_a_session_of_spark_connect_is_refused_in_a_line() -> None:
    """Spark Connect supports no SparkContext, and so no broadcast ("Spark Connect Overview", spark.apache.org)."""
    remote = cast(SparkSession, SimpleNamespace())
    with pytest.raises(SparkStartError, match="a session of Spark Connect, which cannot broadcast"):
        ls.simulate(remote, "ordered")


# ---- The page ----


def section(name: str) -> str:
    """Return the section of the page on the rows of a function."""
    page = (ROOT / "docs" / "traces" / "pipeline.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^### `{name}`\n(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_page_lists_every_column_with_its_type(name: str) -> None:
    listed = re.findall(r"^\| `(\w+)` \| (\w+) \|", section(name), re.MULTILINE)
    own = re.findall(r"`(\w+)` (\w+)", COLUMNS[name].ddl)
    assert listed == _as_shown(name, own)


def _as_shown(name: str, own: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The columns of a function: the trace comes first."""
    if name == "violations":
        return [("trace", "string"), ("at", "int"), *own]
    return sorted(own, key=lambda each: each[0] != "trace")
