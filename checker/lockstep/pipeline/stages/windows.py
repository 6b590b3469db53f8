"""The stage that finds states to cut long traces at, in one pass over each that takes the steps and compares nothing.

The check of the traces then begins at all of these states at once, and finds out whether they are right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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
from lockstep.systems.trace_specs import switches_of

#: So many events has a part at least: checking them takes some seconds, and reading a state a fraction of one.
_LEAST = 20_000

#: So many parts has a trace at most, for each task that can run at once. What a part does before its first event grows
#: with the history that its state remembers, so more parts than keep all cores busy make the check of a trace slower.
_PARTS_PER_SLOT = 4

#: About so many times as long does the check of a trace take in parts, the pass included; the longer, the more.
_COST = 7 / 4


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

    Arguments: `every`, after how many events there is one, in each trace of more events; None: only in traces that take
    one core longer than all traces take all cores once it, and each as long, is cut. There a part has 20,000 events, or
    more where a trace would have more than four parts for each task that can run at once. If there is a limit of time,
    which holds for each part or for a trace that is not cut, all traces of more than 20,000 events are cut so.
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
        self._every, self._seconds, self._slots = every, seconds, slots(spark)
        how = every or ("timed" if seconds else f"fit{self._slots}")
        self._hash = variant.hash()
        self.table = Derived(spark, store, run, "states", f"{self._hash}-{how}", variant.name)
        self.of(store.batches("lines", run))
        self._shipping = Shipping(spark, switches_of(variant.words))
        self._before = self.table.before()

    def of(self, lines: Iterable[Batch]) -> None:
        """Take these batches of lines for all that there is to check: how much that is decides which traces are cut."""
        self._sizes: Counter[str] = Counter()
        for each in lines:
            self._sizes[each.name] += each.bytes  # checking takes time roughly in proportion

    def over(self, batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the batch of states of some lines, which `known` are the traces of."""
        every = self._cut_after(batch, known)
        with_care(lambda care: self.table.write(self._found(lines, known, every, care), batch), self._seconds)

    def before_check(self, checked: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the states of the lines that a batch of verdicts is of, unless they are there, or no trace is long."""
        batch = self.table.batch_of(checked)
        if self._has(batch):
            return
        self._before.clear(batch)  # what is there is of other cores, or of another spec
        if self._cut_after(batch, known):
            self.over(batch, lines, known)

    def _has(self, batch: Batch) -> bool:
        """Tell whether there are the states that are wanted: if no number of events is, those after any do."""
        there = self._before.batches.get((batch.variant, batch.of), ())
        asked = (each.made.removeprefix(f"{self._hash}-").isdecimal() for each in there)
        return self._before.has(batch) or (self._every is None and any(asked))

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
        sizes = {trace: self._sizes[batch.of] * each.lines / lines for trace, each in known.items()}
        others = [size for name, size in self._sizes.items() if name != batch.of]
        found = {}
        for trace, each in known.items():
            events = each.lines - 2
            every = self._every or max(_LEAST, math.ceil(events / self._most_parts()))
            is_asked = bool(self._every or self._seconds)
            if events > every and (is_asked or pays(sizes[trace], [*sizes.values(), *others], self._slots)):
                found[trace] = every
        return found

    def _most_parts(self) -> float:
        return math.inf if self._seconds else _PARTS_PER_SLOT * self._slots


def pays(size: float, sizes: Sequence[float], cores: int) -> bool:
    """Tell whether to cut a trace of so many bytes; `sizes` are those of all that there is to check.

    It is where one core needs longer for it than all cores for all traces, once it, and each as long, is cut. Else the
    others keep the other cores busy.
    """
    dearer = sum(each for each in sizes if each >= size)
    return size * cores > sum(sizes) + (_COST - 1) * dearer


def found_states(spark: SparkSession, store: Store, run: str) -> tuple[int, int]:
    """Count the traces of a run that can be cut, and the states at which they can."""
    states = store.read(spark, "states", run, store.batches("states", run))
    traces = sql.countDistinct("trace").alias("traces")
    (row,) = states.agg(traces, sql.count(sql.lit(1)).alias("states")).collect()
    return row["traces"], row["states"]
