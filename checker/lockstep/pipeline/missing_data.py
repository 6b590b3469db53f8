"""The parts of a run that are missing: a table that is not whole is never a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.pipeline.stage_batches import batches_of_lines
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.trace_store import Batch, TraceStore

#: Traces that are named one by one.
MAX_NAMED_TRACES = 20


def gaps(spark: SparkSession, store: TraceStore, run: str) -> Iterator[str]:
    """Yield a line for each missing part of a run, and for each trace that is there twice."""
    batches, checked = store.batches("lines", run), store.batches("verdicts", run)
    lines = store.read(spark, "lines", run, batches)
    yield from _batches(store, run, batches, checked)
    yield from _sources(spark, store, run, lines)
    verdicts = store.read(spark, "verdicts", run, checked)
    twice = verdicts.groupBy("variant", "trace").count().where("count > 1").limit(MAX_NAMED_TRACES)
    yield from (f"{row['trace']}: there twice in {row['variant']}" for row in twice.collect())
    pairs = spark.createDataFrame([(each.lines, each.variant) for each in checked], "batch string, variant string")
    traces = lines.select("trace", "batch").distinct().join(sql.broadcast(pairs), "batch")
    without = traces.join(verdicts.select("trace", "variant"), ["trace", "variant"], "left_anti")
    named = without.limit(MAX_NAMED_TRACES).collect()
    yield from (f"{row['trace']}: no verdict against {row['variant']}" for row in named)


def _batches(store: TraceStore, run: str, lines: Sequence[Batch], checked: Sequence[Batch]) -> Iterator[str]:
    """Yield which batches are damaged or missing, and which were not checked, read or counted."""
    for table in TABLES:
        for each in store.damaged(table, run):
            yield f"{table}: files of batch {each.variant}/{each.name} are missing: run the stage that writes it again"
    if missing := store.missing(run):
        yield f"{batches_of_lines(missing, 'is')} missing: run the stage that writes them again"
    if not checked:
        yield "no trace was checked"
    elif unchecked := {each.name for each in lines} - {each.lines for each in checked}:
        yield f"{batches_of_lines(len(unchecked), 'was')} checked against nothing: run `check` again"
    for table, stage in (("verdicts", "check"), ("reached", "coverage")):
        yield from _mixed_derivations(store.batches(table, run), table, stage)
    for variant in sorted({each.variant for each in checked}):
        there = {each.lines for each in checked if each.variant == variant}
        expected = {each.name for each in lines if each.variant == variant} or {each.name for each in lines}
        if unchecked := expected - there:
            yield f"{batches_of_lines(len(unchecked), 'was')} not checked against {variant}: run `check` again"
    inputs = list(store.inputs(run))
    read = {name for noted in inputs if noted["stage"] == "ingest" for _, name in noted["batches"]}
    if unread := read - {each.name for each in store.batches("dead_letters", run)}:
        yield f"of {batches_of_lines(len(unread))} it is not known what was no line: run `ingest` again"
    simulated = any(noted["stage"] == "generate" for noted in inputs)
    counted = {each.lines for each in store.batches("reached", run)}
    if (counted or simulated) and (uncounted := {each.name for each in lines} - counted):
        yield f"of {batches_of_lines(len(uncounted))} it was not counted what they reach"


def _mixed_derivations(batches: Sequence[Batch], table: str, stage: str) -> Iterator[str]:
    """Yield which variants have batches made with different specs or versions: some are from before a change."""
    for variant in sorted({each.variant for each in batches}):
        if len({each.derivation for each in batches if each.variant == variant}) > 1:
            yield f"{table}: {variant} has batches from before the spec or the program changed: run `{stage}` again"


def _sources(spark: SparkSession, store: TraceStore, run: str, lines: DataFrame) -> Iterator[str]:
    """Yield how many of the files or clusters that went in are missing: each has lines, or is a dead letter."""
    dead = store.read(spark, "dead_letters", run, store.batches("dead_letters", run))
    there = lines.select("source").union(dead.select("source")).distinct().count()
    went_in = sum(sum(map(len, noted["files"])) if "files" in noted else noted["traces"] for noted in store.inputs(run))
    if there < went_in:
        yield f"{went_in - there:,} of {went_in:,} files or clusters are missing from the lines"
