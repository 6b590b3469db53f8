"""Traces that the pipeline cuts get the verdicts that it gives to whole ones; and what else it finds in traces."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.package_data import traces_dir
from lockstep.conformance.trace_check import check_trace
from lockstep.jobs.spark.spark_session import spark_session
from lockstep.pipeline import trace_cutting
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.counterexample_stage import counterexamples, list_counterexamples
from lockstep.pipeline.derived_table import DerivedTable
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.pipeline_session import SETTINGS
from lockstep.pipeline.spec_choice import AS_DECLARED
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.stored_traces import stored_counterexample
from lockstep.pipeline.task_traces import TraceSummary
from lockstep.pipeline.trace_store import Batch, TraceStore
from lockstep.systems.trace_files import opened, write_cluster
from lockstep.systems.trace_specs import system_of, trace_spec
from tests.support.pipeline.cut_traces import Cut, changed, of_events
from tests.support.pipeline.stores import BATCH, RUN, rows_of, stored, verdicts
from tests.support.systems.simulated_traces import simulated

#: The parts themselves are tested without Spark in every run: test_trace_parts.py.
pytestmark = pytest.mark.nightly

#: A limit of time that no check reaches.
SECONDS = 600

COUNTEREXAMPLES = {
    path.name.partition(".")[0]: path.read_bytes().splitlines(keepends=True)
    for path in sorted((traces_dir() / "counterexamples").rglob("*.trace.ndjson"))
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    settings = {**SETTINGS, "spark.sql.execution.arrow.maxRecordsPerBatch": "37"}
    with spark_session("local[2,4]", "lockstep-test", settings=settings) as session:
        yield session


def holding() -> Cut:
    return of_events(simulated()[0], simulated()[1][:120])


def with_lie(cut: Cut, line: int) -> list[bytes]:
    def lie(text: bytes) -> bytes:
        tree = msgspec.json.decode(text)
        return msgspec.json.encode({**tree, "shows": {**tree["shows"], "currTerm": 77}}) + b"\n"

    return changed(cut, line, lie).lines


def of_all_kinds() -> dict[str, list[bytes]]:
    """Traces that hold, violate, leave the spec, are malformed, or lack a line."""
    cut = holding()
    lines = cut.lines
    return {
        "holds": lines,
        "violates": COUNTEREXAMPLES["stale_install"],
        "leaves": with_lie(cut, 75),
        "malformed": [*lines[:80], b"{]\n", *lines[81:]],
        "cut": lines[:90],
        "short": [*lines[:10], b'{"kind":"end","events":9}\n'],
        "no header": lines[1:],
    }


def states_in(spark: SparkSession, store: TraceStore) -> list[tuple[str, int]]:
    return sorted((row["trace"], row["seq"]) for row in rows_of(spark, store, "states"))


@pytest.fixture
def parts_of_20(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_cutting, "MIN_PART_EVENTS", 20)


def check_in_parts(spark: SparkSession, store: TraceStore) -> None:
    """Check every trace of more events than a part has in parts, as with a limit of time."""
    check(spark, store, RUN, seconds=SECONDS)


def check_again(spark: SparkSession, store: TraceStore) -> None:
    """Check once more, in parts where a trace is cut already."""
    for batch in store.batches("verdicts", RUN):
        store.remove("verdicts", RUN, batch)
    check(spark, store, RUN, seconds=SECONDS if store.batches("states", RUN) else None)


@pytest.mark.usefixtures("parts_of_20")
def test_traces_that_are_cut_get_the_verdicts_of_whole_ones(spark: SparkSession, tmp_path: Path) -> None:
    traces = of_all_kinds()
    whole, parted = (stored(spark, tmp_path / name, traces) for name in ("store", "parted"))
    check(spark, whole, RUN)
    check_in_parts(spark, parted)
    cuts = states_in(spark, parted)
    assert [seq for trace, seq in cuts if trace == "holds"] == [20, 40, 60, 80, 100, 120]
    assert {trace for trace, _ in cuts} == {"holds", "violates", "leaves", "malformed", "cut"}
    found = verdicts(spark, parted)
    assert {trace: row["verdict"] for trace, row in found.items()} == {
        **dict.fromkeys(("holds", "short"), "holds"),
        **dict.fromkeys(("violates", "leaves"), "violated"),
        **dict.fromkeys(("malformed", "cut", "no header"), "malformed"),
    }
    for row in (expected := verdicts(spark, whole)).values():
        row["replay"] = row["replay"].replace(str(tmp_path / "store"), str(tmp_path / "parted"))
    assert found == expected


def test_a_trace_is_cut_where_one_core_would_be_busy_with_it_longer_than_all_with_all(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cut into few parts: what a part does before its first event grows with history."""
    monkeypatch.setattr(trace_cutting, "MIN_PART_EVENTS", 10)
    lines = holding().lines
    short = [*lines[:16], b'{"kind":"end","events":15}\n']
    store = stored(spark, tmp_path / "store", {"long": lines, "short": short})
    frame = stored(spark, tmp_path / "more", dict.fromkeys("abcdefgh", lines)).read(spark, "lines", RUN, [BATCH])
    others = Batch(BATCH.variant, "others")
    store.write(frame.drop("run", "variant", "batch"), "lines", RUN, others)
    check(spark, store, RUN)
    assert {row["verdict"] for row in verdicts(spark, store).values()} == {"holds"}
    assert states_in(spark, store) == []  # the others keep the other core busy
    for made in store.batches("verdicts", RUN):
        if made.lines == BATCH.name:
            store.remove("verdicts", RUN, made)
    check(spark, store, RUN)
    assert {row["verdict"] for row in verdicts(spark, store).values()} == {"holds"}
    assert states_in(spark, store) == [("long", seq) for seq in (15, 30, 45, 60, 75, 90, 105, 120)]


def test_with_a_limit_of_time_every_long_trace_is_cut(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whether a trace is checked in time would depend on what other traces there are, and on the cores."""
    monkeypatch.setattr(trace_cutting, "MIN_PART_EVENTS", 10)
    timed = stored(spark, tmp_path / "store", dict.fromkeys("abc", holding().lines))
    check_in_parts(spark, timed)
    assert states_in(spark, timed) == [(trace, seq) for trace in "abc" for seq in range(10, 121, 10)]


@pytest.mark.usefixtures("parts_of_20")
def test_states_in_the_store_that_are_not_those_of_the_trace_are_never_a_pass(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Planted: each state is that of the next cut; one is no state; of one trace the states are another trace's."""
    lines = holding().lines
    store = stored(spark, tmp_path / "store", dict.fromkeys(("shifted", "broken", "missing"), lines))
    check_in_parts(spark, store)
    (batch,) = store.batches("states", RUN)
    rows = rows_of(spark, store, "states")
    by_seq = {row["seq"]: row for row in rows if row["trace"] == "shifted"}
    for row in rows:
        if row["trace"] == "shifted":
            row["state"] = by_seq.get(row["seq"] + 20, by_seq[20])["state"]
        if row["trace"] == "broken" and row["seq"] == 60:
            row["state"] = row["state"][:-1]
    kept = [row for row in rows if row["trace"] != "missing" or row["seq"] != 60]
    columns = TABLES["states"].schema.names
    frame = spark.createDataFrame([tuple(row[name] for name in columns) for row in kept], TABLES["states"].ddl)
    frame = frame.localCheckpoint()
    store.write(frame, "states", RUN, batch)
    check_again(spark, store)
    found = verdicts(spark, store)
    assert {trace: row["verdict"] for trace, row in found.items()} == {
        "shifted": "inconclusive",
        "broken": "inconclusive",
        "missing": "holds",  # it is cut at one place less
    }
    assert "they differ in" in found["shifted"]["reason"]
    assert "is not there" in found["broken"]["reason"]


@pytest.mark.usefixtures("parts_of_20")
def test_lines_that_the_store_has_lost_or_twice_are_malformed_in_parts_too(spark: SparkSession, tmp_path: Path) -> None:
    lines = holding().lines
    stores = [stored(spark, tmp_path / name, dict.fromkeys("abc", lines)) for name in ("whole", "parted")]
    check_in_parts(spark, stores[1])
    for store in stores:
        frame = store.read(spark, "lines", RUN, [BATCH]).drop("run", "variant", "batch").localCheckpoint()
        lost = frame.where("not (trace = 'a' and seq = 40 or trace = 'b' and seq = 41)")
        store.write(lost.unionByName(frame.where("trace = 'c' and seq = 61")), "lines", RUN, BATCH)
        check_again(spark, store)
    whole, parted = (
        {trace: (row["verdict"], row["reason"], row["events"]) for trace, row in verdicts(spark, each).items()}
        for each in stores
    )
    ends = {trace: (verdict, events) for trace, (verdict, _, events) in whole.items()}
    assert ends == {"a": ("malformed", 39), "b": ("malformed", 40), "c": ("malformed", 61)}
    assert parted == whole


# ---- Batches ----


def clusters(folder: Path, *plans: tuple[str, int, int]) -> dict[str, list[bytes]]:
    return {
        f"{plan}-{seed}": write_cluster(folder, plan, seed, events).read_bytes().splitlines(keepends=True)
        for plan, seed, events in plans
    }


def test_a_batch_under_way_does_not_wait_for_all_tasks_of_one_that_was_asked_for_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The only task of a long trace is to start while the tasks of many short ones wait."""
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    batches = [Batch(DECLARED, name) for name in ("many", "one")]
    store.put_inputs(RUN, "ingest", batches, {})
    lines = stored(spark, tmp_path / "lines", {"a": holding().lines}).read(spark, "lines", RUN, [BATCH])
    for batch in batches:
        store.write(lines.drop("run", "variant", "batch"), "lines", RUN, batch)
    surveyed, runs = threading.Barrier(2), tmp_path / "runs"
    ends: list[str] = []

    def task(_: int) -> None:
        runs.touch()
        time.sleep(0.5)

    def work(batch: Batch, _lines: DataFrame, _known: Mapping[str, TraceSummary]) -> None:
        surveyed.wait(60)
        many = batch.lines == "many"
        while not many and not runs.exists():
            time.sleep(0.01)
        tasks = 16 if many else 1
        spark.sparkContext.parallelize(range(tasks), tasks).foreach(task)
        ends.append(batch.lines)

    DerivedTable(spark, store, RUN, "reached", "made").make("coverage", work)
    assert ends == ["one", "many"]


# ---- Counterexamples ----


def test_each_signature_has_a_counterexample_that_is_minimal(spark: SparkSession, tmp_path: Path) -> None:
    """Two traces with the same violation make one signature, and the shorter one is minimised."""
    lines = COUNTEREXAMPLES["vote_file"]
    longer = clusters(tmp_path, ("published", 2, 1500))
    traces = {"vote_file": lines, "again": lines, "lie": with_lie(holding(), 75), "holds": holding().lines}
    store = stored(spark, tmp_path / "store", {**traces, **longer})
    check(spark, store, RUN)
    counterexamples(spark, store, RUN, AS_DECLARED, seconds=20)
    found = {row["signature"]: row for row in list_counterexamples(spark, store, RUN)}
    assert found.keys() >= {"LS202-" + msgspec.json.decode(traces["lie"][74])["action"]}
    of_votes = [row for signature, row in found.items() if signature.startswith("VoteOncePerTermProp")]
    assert [(row["traces"], row["is_minimal"]) for row in of_votes] == [(2, True)]
    for signature, row in found.items():
        again = stored_counterexample(store, RUN, signature).splitlines(keepends=True)
        assert len(again) - 2 == row["events"]
        trace = opened(again, signature)
        spec = trace_spec(trace.header, signature)
        verdict = check_trace(trace, spec, system_of(trace.header, signature).interface(spec))
        assert (row["name"], row["action"]) in {
            (each.name if each.kind == "property" else each.code, each.action) for each in verdict.findings
        }
        assert row["events"] <= row["line"] - 1
        assert f"pipeline counterexample {store.location.path} {RUN} {signature} " in row["replay"]
    before = list_counterexamples(spark, store, RUN)
    counterexamples(spark, store, RUN, AS_DECLARED, seconds=20)
    assert list_counterexamples(spark, store, RUN) == before
