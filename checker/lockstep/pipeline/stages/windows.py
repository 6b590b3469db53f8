"""The stage that finds states to cut long traces at, in one pass over each that takes the steps and compares nothing.

The check of the traces then begins at all of these states at once, and finds out whether they are right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.apart import Care, with_care
from lockstep.pipeline.against import Variant
from lockstep.pipeline.specs import Shipping
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.windows.in_tasks import pass_over
from lockstep.pipeline.work.derive import Derived
from lockstep.pipeline.work.traces import Known, slots, whole_traces
from lockstep.systems.specs import switches_of

#: So many events has a part at least: checking them takes some seconds, and reading a state a fraction of one.
_LEAST = 20_000

#: So many parts has a trace at most, for each task that can run at once. What a part does before its first event grows
#: with the history that its state remembers, so more parts than keep all cores busy make the check of a trace slower.
_PARTS_PER_SLOT = 4


def windows(
    spark: SparkSession,
    store: Store,
    run: str,
    variant: Variant,
    every: int | None = None,
    say: Say = silent,
    seconds: float | None = None,
) -> None:
    """Write the states of traces that are longer than `every` events, one after every so many of them.

    If `every` is None a part has 20,000 events, or more where a trace would have more than four parts for each task
    that can run at once.

    What was passed over so already is not again. A trace that takes more than `seconds` has none, nor has one that
    workers die of. Raises StageFailed where a batch cannot be finished.
    """
    passes = Passes(spark, store, run, variant, every, seconds)
    passes.table.make("windows", passes.over, say)


class Passes:
    """Passes over the long traces of a run, batch by batch: a check makes that of a batch just before its parts."""

    def __init__(
        self,
        spark: SparkSession,
        store: Store,
        run: str,
        variant: Variant,
        every: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """Prepare passes that find a state after every so many events; arguments as of `windows`."""
        self.table = Derived(spark, store, run, "states", f"{variant.hash()}-{every or 'fit'}", variant.name)
        self._every, self._seconds, self._slots = every, seconds, slots(spark)
        self._shipping = Shipping(spark, switches_of(variant.words))
        self._before = self.table.before()

    def over(self, batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the batch of states of some lines, which `known` are the traces of."""
        long = {trace: each for trace, each in known.items() if self._is_long(each)}
        with_care(lambda care: self.table.write(self._found(lines, long, care), batch), self._seconds)

    def before_check(self, checked: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the states of the lines that a batch of verdicts is of, unless they are there, or no trace is long."""
        batch = self.table.batch_of(checked)
        if self._before.has(batch) or not any(map(self._is_long, known.values())):
            return
        self._before.clear(batch)
        self.over(batch, lines, known)

    def _found(self, rows: DataFrame, known: Mapping[str, Known], care: Care) -> DataFrame:
        spark, columns = self.table.spark, ddl(TABLES["states"])
        if not known:
            return spark.createDataFrame([], columns)
        shipped = self._shipping.of((trace, each.header) for trace, each in known.items())
        every = {trace: self._events(each) for trace, each in known.items()}
        return whole_traces(spark, rows, known).mapInArrow(pass_over(shipped, every, care), columns)

    def _events(self, trace: Known) -> int:
        """Return how many events a part of a trace has."""
        return self._every or max(_LEAST, math.ceil((trace.lines - 2) / (_PARTS_PER_SLOT * self._slots)))

    def _is_long(self, trace: Known) -> bool:
        """Tell whether a trace is cut: it has more events than a part."""
        return trace.lines - 2 > self._events(trace)


def found_states(spark: SparkSession, store: Store, run: str) -> tuple[int, int]:
    """Count the traces of a run that can be cut, and the states at which they can."""
    states = store.read(spark, "states", run, store.batches("states", run))
    traces = sql.countDistinct("trace").alias("traces")
    (row,) = states.agg(traces, sql.count(sql.lit(1)).alias("states")).collect()
    return row["traces"], row["states"]
