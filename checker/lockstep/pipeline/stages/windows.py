"""The stage that finds states to cut long traces at, in one pass over each that takes the steps and compares nothing.

The check of the traces then begins at all of these states at once, and finds out whether they are right.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.progress import Say, silent
from lockstep.pipeline.against import Variant
from lockstep.pipeline.specs import Shipping
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.windows.in_tasks import pass_over
from lockstep.pipeline.work.derive import Derived
from lockstep.pipeline.work.traces import Known, whole_traces
from lockstep.systems.specs import switches_of

#: So many events has a part: checking them takes some seconds, and reading a state a fraction of one.
EVERY = 20_000


def windows(
    spark: SparkSession, store: Store, run: str, variant: Variant, every: int = EVERY, say: Say = silent
) -> None:
    """Write the states of traces that are longer than `every` events, one after every so many of them.

    What was passed over so already is not again. Raises StageFailed where a batch cannot be finished.
    """
    table = Derived(spark, store, run, "states", f"{variant.hash()}-{every}", variant.name)
    shipping = Shipping(spark, switches_of(variant.words))

    def work(batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        long = {trace: each for trace, each in known.items() if each.lines - 2 > every}
        table.write(_found(spark, lines, long, shipping, every), batch)

    table.make("windows", work, say)


def _found(
    spark: SparkSession, rows: DataFrame, known: Mapping[str, Known], shipping: Shipping, every: int
) -> DataFrame:
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
