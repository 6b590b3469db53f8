"""What a run lacks: a table that is not whole is never a pass."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from lockstep.pipeline.store.store import Store

#: So many traces are named one by one.
_FEW = 20


def gaps(spark: SparkSession, store: Store, run: str) -> Iterator[str]:
    """Yield what is missing of a run, and which traces are there twice, each in a line."""
    lines = store.read(spark, "lines", run, store.batches("lines", run)).groupBy("trace").count()
    verdicts = store.read(spark, "verdicts", run, store.batches("verdicts", run))
    yield from _batches(store, run)
    yield from _traces(spark, store, run, lines)
    twice = verdicts.groupBy("variant", "trace").count().where("count > 1")
    yield from (f"{row['trace']}: there twice in {row['variant']}" for row in twice.limit(_FEW).collect())
    without = lines.join(verdicts.select("trace").distinct(), "trace", "left_anti")
    yield from (f"{row['trace']}: no verdict" for row in without.limit(_FEW).collect())


def _batches(store: Store, run: str) -> Iterator[str]:
    """Yield which batches of lines are missing, and which were not checked."""
    lines = store.batches("lines", run)
    missing = {(each.variant, each.name) for each in store.expected(run)}
    missing -= {(each.variant, each.name) for each in lines}
    if missing:
        yield f"{len(missing):,} batches of lines are missing: run the stage that writes them again"
    checked = store.batches("verdicts", run)
    if not checked:
        yield "no trace was checked"
    for variant in sorted({each.variant for each in checked}):
        of = {each.of for each in checked if each.variant == variant}
        own = {each.name for each in lines if each.variant == variant} or {each.name for each in lines}
        if own - of:
            yield f"{len(own - of):,} batches of lines were not checked against {variant}: run `check` again"


def _traces(spark: SparkSession, store: Store, run: str, lines: DataFrame) -> Iterator[str]:
    """Yield how many traces are missing of those that went in: each has lines, or is a dead letter."""
    dead = store.read(spark, "dead_letters", run, store.batches("dead_letters", run)).select("source").distinct()
    if dead.isEmpty():
        there = lines.count()
    else:
        sources = store.read(spark, "lines", run, store.batches("lines", run)).select("source").distinct()
        there = lines.count() + dead.join(sources, "source", "left_anti").count()
    went_in = sum(noted["traces"] for noted in store.inputs(run))
    if there < went_in:
        yield f"{went_in - there:,} of {went_in:,} traces are missing from the lines"
