"""The missing parts of a run are reported, whichever table has lost them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.jobs.spark.spark_session import spark_session
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.counterexample_stage import _soonest, counterexamples
from lockstep.pipeline.coverage_stage import cover
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.ingest_stage import InputFiles, ingest
from lockstep.pipeline.missing_data import gaps
from lockstep.pipeline.report_stage import report
from lockstep.pipeline.spec_choice import AS_DECLARED
from lockstep.pipeline.trace_store import Batch, TraceStore
from lockstep.systems.trace_files import write_cluster
from tests.support.pipeline.stores import BATCH, RUN, verdict, write

pytestmark = pytest.mark.nightly

PUBLISHED = Batch("published", BATCH.name)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", "lockstep-test", settings={"spark.sql.shuffle.partitions": "1"}) as session:
        yield session


def put_files(store: TraceStore, files: Sequence[tuple[str, str]]) -> None:
    """Note the traces and the files that went in."""
    about = {"traces": len({trace for trace, _ in files}), "files": [[(*each, 1, "1") for each in files]]}
    store.put_inputs(RUN, "ingest", [BATCH], about)


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two traces, in a file each, that lacks nothing."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    store = TraceStore.open(str(folder), create=True)
    put_files(store, [("a", "a"), ("b", "b")])
    write(spark, store, "lines", BATCH, *({"trace": each, "seq": 0, "bytes": b"{}", "source": each} for each in "ab"))
    write(spark, store, "dead_letters", BATCH)
    for batch in (BATCH, PUBLISHED):
        write(spark, store, "verdicts", batch.derived("1"), verdict("a"), verdict("b"))
    events = {"trace": "a", "plan": "", "kind": "trace", "name": "events", "times": 1}
    write(spark, store, "reached", BATCH.derived("1"), events)
    assert list(gaps(spark, store, RUN)) == []
    return folder


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> TraceStore:
    return TraceStore.open(str(shutil.copytree(whole, tmp_path / "store")))


@pytest.mark.parametrize("table", ["lines", "dead_letters", "reached", "verdicts"])
def test_a_file_of_a_table_that_is_gone_or_shorter_is_reported_and_its_batch_is_not_there(
    spark: SparkSession, store: TraceStore, table: str
) -> None:
    batch = store.batches(table, RUN, DECLARED)[0]
    part = next(Path(store.folder(table, RUN, batch).path).glob("part-*"))
    part.write_bytes(part.read_bytes()[:-1])
    assert store.batches(table, RUN, DECLARED) == []
    part.unlink()
    assert store.batches(table, RUN, DECLARED) == []
    gap = f"{table}: files of batch {DECLARED}/{batch.name} are missing: run the stage that writes it again"
    assert gap in list(gaps(spark, store, RUN))
    store.sweep(table, RUN)
    assert store.damaged(table, RUN) == []


def test_a_trace_without_a_verdict_in_one_of_two_variants_is_reported(spark: SparkSession, store: TraceStore) -> None:
    write(spark, store, "verdicts", PUBLISHED.derived("1"), verdict("a"))
    assert list(gaps(spark, store, RUN)) == ["b: no verdict against published"]


@pytest.mark.parametrize(
    ("table", "gap"),
    [
        ("dead_letters", "of 1 batch of lines it is not known what was no line: run `ingest` again"),
        ("lines", "1 batch of lines is missing: run the stage that writes them again"),
    ],
)
def test_a_batch_that_was_never_written_is_reported(
    spark: SparkSession, store: TraceStore, table: str, gap: str
) -> None:
    store.remove(table, RUN, BATCH)
    assert gap in list(gaps(spark, store, RUN))


def test_a_batch_that_others_are_counted_beside_is_reported(spark: SparkSession, store: TraceStore) -> None:
    shutil.copytree(
        store.folder("lines", RUN, BATCH).path, store.folder("lines", RUN, Batch(BATCH.variant, "other")).path
    )
    assert "of 1 batch of lines it was not counted what they reach" in list(gaps(spark, store, RUN))


def test_unchecked_lines_of_a_variant_are_reported_beside_those_of_a_checked_one(
    spark: SparkSession, store: TraceStore
) -> None:
    other = Batch("published", "other")
    write(spark, store, "lines", other, {"trace": "c", "seq": 0, "bytes": b"{}", "source": "c"})
    for table in ("verdicts", "reached"):
        for each in store.batches(table, RUN):
            store.remove(table, RUN, each)
    for batch in (BATCH, other):
        write(spark, store, "reached", batch.derived("1"))
    write(spark, store, "dead_letters", other)
    write(spark, store, "verdicts", other.derived("1"), verdict("c"))
    unchecked = "1 batch of lines was checked against nothing: run `check` again"
    assert [gap for gap in gaps(spark, store, RUN) if "check" in gap] == [unchecked]


@pytest.mark.parametrize(("table", "stage"), [("verdicts", "check"), ("reached", "coverage")])
def test_a_table_that_was_partly_made_before_the_spec_changed_is_reported(
    spark: SparkSession, store: TraceStore, table: str, stage: str
) -> None:
    old = store.batches(table, RUN, DECLARED)[0]
    path = store.folder(table, RUN, old).path
    shutil.copytree(path, store.folder(table, RUN, Batch(DECLARED, "other").derived("2")).path)
    gap = f"{table}: {DECLARED} has batches from before the spec or the program changed: run `{stage}` again"
    assert gap in list(gaps(spark, store, RUN))
    assert report(spark, store, RUN).verdict is not Verdict.HOLDS


def test_a_counterexample_that_could_not_be_minimised_is_no_pass(spark: SparkSession, store: TraceStore) -> None:
    row = {"signature": "Stays-Push", "name": "Stays", "action": "Push", "traces": 1, "trace": "a", "line": 2}
    row |= {"events": 1, "reason": "", "lines": b"", "replay": ""}
    write(spark, store, "counterexamples", Batch(DECLARED, "all").derived("1"), row | {"is_minimal": True})
    assert report(spark, store, RUN).verdict is Verdict.HOLDS
    write(spark, store, "counterexamples", Batch(DECLARED, "all").derived("1"), row | {"is_minimal": False})
    assert report(spark, store, RUN).verdict is Verdict.INCONCLUSIVE


def test_a_file_that_is_completed_while_it_is_read_leaves_no_trace_without_its_end(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the last line comes between the two readings, one for the lines and one for what is none."""
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    trace = write_cluster(tmp_path, "ordered", 1, 30)
    content = trace.read_bytes()
    trace.write_bytes(content[:-1])
    write_table = TraceStore.write

    def written(self: TraceStore, rows: DataFrame, table: str, run: str, batch: Batch) -> None:
        write_table(self, rows, table, run, batch)
        trace.write_bytes(content)

    monkeypatch.setattr(TraceStore, "write", written)
    with pytest.raises(GaveUpError, match="files changed while they were read"):
        ingest(spark, store, RUN, InputFiles([str(trace)]))
    assert store.batches("lines", RUN) == store.batches("dead_letters", RUN) == []


def test_a_dead_file_of_a_log_does_not_stand_for_a_trace_that_is_missing(
    spark: SparkSession, store: TraceStore
) -> None:
    shutil.rmtree((store.location / "_inputs").path)
    put_files(store, [("a", "a"), ("b", "b"), ("b", "dead"), ("c", "c")])
    write(spark, store, "dead_letters", BATCH, {"source": "dead", "line": 0, "reason": "it is empty"})
    assert list(gaps(spark, store, RUN)) == ["1 of 4 files or clusters are missing from the lines"]


# ---- Stages ----


@pytest.mark.parametrize("stage", [check, cover])
def test_a_stage_without_the_lines_that_a_run_is_to_have_ends_as_what_is_not_finished(
    spark: SparkSession, store: TraceStore, stage: Callable[[SparkSession, TraceStore, str], None]
) -> None:
    store.remove("lines", RUN, BATCH)
    with pytest.raises(GaveUpError, match=": 1 batch of lines is missing: run the stage that writes them again"):
        stage(spark, store, RUN)


def test_counterexamples_of_what_was_not_checked_end_as_what_is_not_finished(
    spark: SparkSession, store: TraceStore
) -> None:
    with pytest.raises(GaveUpError, match="1 batch of lines was not checked so: run `check` first"):
        counterexamples(spark, store, RUN, AS_DECLARED)


def test_the_trace_that_has_a_signature_soonest_is_chosen_and_the_traces_with_it_are_counted(
    spark: SparkSession, store: TraceStore
) -> None:
    left, failed = ("deviation", "LS101", ""), ("property", "DL109", "Stays")

    def violated(trace: str, *findings: tuple[tuple[str, str, str], int, str]) -> dict[str, Any]:
        columns = ("kind", "code", "name", "line", "action")
        rows = [dict(zip(columns, (*what, *where), strict=True)) for what, *where in findings]
        return verdict(trace) | {"verdict": "violated", "findings": json.dumps(rows)}

    rows = [
        violated("a", (failed, 9, "Push"), (failed, 12, "Push"), (left, 3, "Push")),
        violated("b", (failed, 7, "Push"), (left, 3, "Cut")),
        violated("c", (left, 5, "Push")),
        violated("d", (failed, 7, "Push")),
        verdict("e"),
    ]
    write(spark, store, "verdicts", BATCH.derived("1"), *rows)
    found = _soonest(store.read(spark, "verdicts", RUN, store.batches("verdicts", RUN, DECLARED)))
    assert [(each.signature, each.traces, each.trace, each.line, each.only) for each in found] == [
        ("LS101-Cut", 1, "b", 3, None),
        ("LS101-Push", 2, "c", 5, None),
        ("Stays-Push", 3, "b", 7, "Stays"),
    ]
    assert {each.batch for each in found} == {BATCH.derived("1").name}
