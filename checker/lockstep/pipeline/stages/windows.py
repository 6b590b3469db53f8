"""The stage that finds states to cut long traces at, in one pass over each that takes the steps and compares nothing.

The check of the traces then begins at all of these states at once, and finds out whether they are right.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.progress import Say, silent
from lockstep.pipeline.against import Variant
from lockstep.pipeline.batches import Done, Stage
from lockstep.pipeline.specs import Shipping
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.traces import Known, survey, whole_traces
from lockstep.pipeline.windows.in_tasks import pass_over
from lockstep.systems.specs import switches_of

#: So many events has a part: checking them takes some seconds, and reading a state a fraction of one.
EVERY = 20_000


def windows(
    spark: SparkSession, store: Store, run: str, variant: Variant, every: int = EVERY, say: Say = silent
) -> None:
    """Write the states of traces that are longer than `every` events, one after every so many of them.

    What was passed over so already is not again.
    Raises StageFailed where a batch cannot be finished.
    """
    lines = store.batches("lines", run)
    what = f"{variant.hash()}-{every}"
    made = {each.made_with(what, variant.name): each for each in lines}
    store.sweep("states", run)
    there = {(each.variant, each.name) for each in store.batches("states", run)}
    todo = [batch for batch in made if (batch.variant, batch.name) not in there]
    shipping = Shipping(spark, switches_of(variant.words))

    def work(batch: Batch) -> Done:
        store.supersede("states", run, batch)
        rows = store.read(spark, "lines", run, [made[batch]])
        known = {trace: each for trace, each in survey(rows).items() if each.lines - 2 > every}
        store.write(_found(spark, rows, known, shipping, every), "states", run, batch)
        return Done(len(known), sum(each.lines for each in known.values()))

    Stage("windows", len(made), len(made) - len(todo), say).run(todo, work)


def _found(spark: SparkSession, rows: DataFrame, known: dict[str, Known], shipping: Shipping, every: int) -> DataFrame:
    columns = ddl(TABLES["states"])
    if not known:
        return spark.createDataFrame([], columns)
    shipped = shipping.of((trace, each.header) for trace, each in known.items())
    return whole_traces(spark, rows, known).mapInArrow(pass_over(shipped, every), columns)


def found_states(spark: SparkSession, store: Store, run: str) -> tuple[int, int]:
    """Count the traces of a run that can be cut, and the states at which they can."""
    states = store.read(spark, "states", run, store.batches("states", run))
    traces = sql.countDistinct("trace").alias("traces")
    (row,) = states.agg(traces, sql.count(sql.lit(1)).alias("states")).collect()
    return row["traces"], row["states"]
