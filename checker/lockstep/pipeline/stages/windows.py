"""Where long traces are cut: the states there come from one pass over a trace that takes its steps, compares nothing.

The check of the trace then begins in all of these states at once, and finds out whether they are right. A trace is cut
where one core needs longer for it than all cores for all traces once it, and each as long, is cut. A part has 20,000
events, or more where a trace would have more than four parts for each task that can run at once. Where a limit of time
holds for each part, or for a trace that is not cut, all traces of more events are cut, into parts of 20,000.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from lockstep.jobs.spark.apart import Care, with_care
from lockstep.pipeline.against import Variant
from lockstep.pipeline.specs import Shipping
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.windows.in_tasks import pass_over
from lockstep.pipeline.work.derive import Derived
from lockstep.pipeline.work.traces import Known, slots, whole_traces
from lockstep.systems.specs import switches_of

#: Events of a part, at least: checking them takes some seconds, and reading a state a fraction of one.
MIN_PART_EVENTS = 20_000

#: So many parts has a trace at most, for each task that can run at once. What a part does before its first event grows
#: with the history that its state remembers, so more parts than keep all cores busy make the check of a trace slower.
_PARTS_PER_SLOT = 4

#: About so many times as long does the check of a trace take in parts, the pass included; the longer, the more.
_COST = 7 / 4


class Passes:
    """Passes over the long traces of a run, batch by batch: a check makes that of a batch just before its parts."""

    def __init__(
        self,
        spark: SparkSession,
        store: Store,
        run: str,
        variant: Variant,
        seconds: float | None = None,
    ) -> None:
        """Prepare passes; a trace that takes more than `seconds` has no states, nor has one that workers die of."""
        self._seconds, self._slots = seconds, slots(spark)
        how = "timed" if seconds else f"fit{self._slots}"
        self.table = Derived(spark, store, run, "states", f"{variant.hash()}-{how}", variant.name)
        self.of(store.batches("lines", run))
        self._shipping = Shipping(spark, switches_of(variant.words))
        self._before = self.table.before()

    def of(self, lines: Iterable[Batch]) -> None:
        """Take these batches of lines for all that there is to check: how much that is decides which traces are cut."""
        self._sizes: Counter[str] = Counter()
        for each in lines:
            self._sizes[each.name] += each.bytes  # checking takes time roughly in proportion

    def before_check(self, checked: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the states of the lines that a batch of verdicts is of, unless they are there, or no trace is long."""
        batch = self.table.batch_of(checked)
        if self._before.has(batch):
            return
        self._before.clear(batch)  # what is there is of other cores, or of another spec
        if every := self._cut_after(batch, known):
            with_care(lambda care: self.table.write(self._found(lines, known, every, care), batch), self._seconds)

    def _found(self, rows: DataFrame, known: Mapping[str, Known], every: Mapping[str, int], care: Care) -> DataFrame:
        spark, columns = self.table.spark, ddl(TABLES["states"])
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
            every = max(MIN_PART_EVENTS, math.ceil(events / self._most_parts()))
            if events > every and (self._seconds or pays(sizes[trace], [*sizes.values(), *others], self._slots)):
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
