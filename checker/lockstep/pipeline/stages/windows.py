"""The stage that finds states to cut long traces at, in one pass over each that takes the steps and compares nothing.

The check of the traces then begins at all of these states at once, and finds out whether they are right.
"""

from __future__ import annotations

import math
from collections import Counter
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

#: So many times as long does a trace take in parts, the pass included. Where other traces keep the other cores busy,
#: cutting one is a loss, unless it is by so much more than what one core has to do.
_COST = 4 / 3


def windows(
    spark: SparkSession,
    store: Store,
    run: str,
    variant: Variant,
    every: int | None = None,
    say: Say = silent,
    seconds: float | None = None,
) -> None:
    """Write the states at which traces are cut.

    Arguments: `every`, after how many events there is one, in each trace of more events; None: after 20,000, or more
    where a trace would have more than four parts for each task that can run at once, and only in traces that are by a
    third more than what one core has to do.
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
        self._every, self._seconds = every, seconds
        self._slots, self._sizes = slots(spark), _sizes(store, run)
        self._shipping = Shipping(spark, switches_of(variant.words))
        self._before = self.table.before()

    def over(self, batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the batch of states of some lines, which `known` are the traces of."""
        every = self._cut_after(batch, known)
        with_care(lambda care: self.table.write(self._found(lines, known, every, care), batch), self._seconds)

    def before_check(self, checked: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the states of the lines that a batch of verdicts is of, unless they are there, or no trace is long."""
        batch = self.table.batch_of(checked)
        if self._before.has(batch) or not self._cut_after(batch, known):
            return
        self._before.clear(batch)
        self.over(batch, lines, known)

    def _found(self, rows: DataFrame, known: Mapping[str, Known], every: Mapping[str, int], care: Care) -> DataFrame:
        spark, columns = self.table.spark, ddl(TABLES["states"])
        if not every:
            return spark.createDataFrame([], columns)
        long = {trace: known[trace] for trace in every}
        shipped = self._shipping.of((trace, each.header) for trace, each in long.items())
        return whole_traces(spark, rows, long).mapInArrow(pass_over(shipped, every, care), columns)

    def _cut_after(self, batch: Batch, known: Mapping[str, Known]) -> dict[str, int]:
        """Return the traces of a batch that are to be cut, each with the number of events of a part."""
        lines = sum(each.lines for each in known.values())
        found = {}
        for trace, each in known.items():
            events = each.lines - 2
            every = self._every or max(_LEAST, math.ceil(events / (_PARTS_PER_SLOT * self._slots)))
            if events > every and (self._every or self._is_much(self._sizes[batch.of] * each.lines / lines)):
                found[trace] = every
        return found

    def _is_much(self, size: float) -> bool:
        """Tell whether a trace, of which the store has so many bytes, is more than one core should have."""
        return size * self._slots > _COST * self._sizes.total()


def _sizes(store: Store, run: str) -> Counter[str]:
    """Return how many bytes the store has of the lines of each batch: checking takes time roughly in proportion."""
    sizes: Counter[str] = Counter()
    for each in store.batches("lines", run):
        sizes[each.name] += each.bytes
    return sizes


def found_states(spark: SparkSession, store: Store, run: str) -> tuple[int, int]:
    """Count the traces of a run that can be cut, and the states at which they can."""
    states = store.read(spark, "states", run, store.batches("states", run))
    traces = sql.countDistinct("trace").alias("traces")
    (row,) = states.agg(traces, sql.count(sql.lit(1)).alias("states")).collect()
    return row["traces"], row["states"]
