"""What a run lacks: a table that is not whole is never a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.pipeline.stage_batches import batches_of_lines
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.trace_store import Batch, Store

#: So many traces are named one by one.
_FEW = 20


def gaps(spark: SparkSession, store: Store, run: str) -> Iterator[str]:
    """Yield what is missing of a run, and which traces are there twice, each in a line."""
    batches, checked = store.batches("lines", run), store.batches("verdicts", run)
    lines = store.read(spark, "lines", run, batches)
    yield from _batches(store, run, batches, checked)
    yield from _sources(spark, store, run, lines)
    verdicts = store.read(spark, "verdicts", run, checked)
    twice = verdicts.groupBy("variant", "trace").count().where("count > 1")
    yield from (f"{row['trace']}: there twice in {row['variant']}" for row in twice.limit(_FEW).collect())
    asked = spark.createDataFrame([(each.of, each.variant) for each in checked], "batch string, variant string")
    traces = lines.select("trace", "batch").distinct().join(sql.broadcast(asked), "batch")
    without = traces.join(verdicts.select("trace", "variant"), ["trace", "variant"], "left_anti")
    yield from (f"{row['trace']}: no verdict against {row['variant']}" for row in without.limit(_FEW).collect())


def _batches(store: Store, run: str, lines: Sequence[Batch], checked: Sequence[Batch]) -> Iterator[str]:
    """Yield which batches are damaged or missing, and which were not checked, read or counted."""
    for table in TABLES:
        for each in store.damaged(table, run):
            yield f"{table}: files of batch {each.variant}/{each.name} are missing: run the stage that writes it again"
    if missing := store.missing(run):
        yield f"{batches_of_lines(missing, 'is')} missing: run the stage that writes them again"
    if not checked:
        yield "no trace was checked"
    elif unchecked := {each.name for each in lines} - {each.of for each in checked}:
        yield f"{batches_of_lines(len(unchecked), 'was')} checked against nothing: run `check` again"
    for table, stage in (("verdicts", "check"), ("reached", "coverage")):
        yield from _of_several_times(store.batches(table, run), table, stage)
    for variant in sorted({each.variant for each in checked}):
        of = {each.of for each in checked if each.variant == variant}
        own = {each.name for each in lines if each.variant == variant} or {each.name for each in lines}
        if own - of:
            yield f"{batches_of_lines(len(own - of), 'was')} not checked against {variant}: run `check` again"
    inputs = list(store.inputs(run))
    read = {name for noted in inputs if noted["stage"] == "ingest" for _, name in noted["batches"]}
    if unread := read - {each.name for each in store.batches("dead_letters", run)}:
        yield f"of {batches_of_lines(len(unread))} it is not known what was no line: run `ingest` again"
    simulated = any(noted["stage"] == "generate" for noted in inputs)
    counted = {each.of for each in store.batches("reached", run)}
    if (counted or simulated) and (uncounted := {each.name for each in lines} - counted):
        yield f"of {batches_of_lines(len(uncounted))} it was not counted what they reach"


def _of_several_times(batches: Sequence[Batch], table: str, stage: str) -> Iterator[str]:
    """Yield where batches were made with different specs or versions: some are from before a change."""
    for variant in sorted({each.variant for each in batches}):
        made = {each.made for each in batches if each.variant == variant}
        if len(made) > 1:
            yield f"{table}: {variant} has batches from before the spec or the program changed: run `{stage}` again"


def _sources(spark: SparkSession, store: Store, run: str, lines: DataFrame) -> Iterator[str]:
    """Yield how many files or clusters are missing of those that went in: each has lines, or is a dead letter."""
    dead = store.read(spark, "dead_letters", run, store.batches("dead_letters", run))
    there = lines.select("source").union(dead.select("source")).distinct().count()
    went_in = sum(sum(map(len, noted["files"])) if "files" in noted else noted["traces"] for noted in store.inputs(run))
    if there < went_in:
        yield f"{went_in - there:,} of {went_in:,} files or clusters are missing from the lines"
