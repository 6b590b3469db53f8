"""A table that a stage derives from the lines: a batch of each batch of lines, its traces whole and in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from lockstep.base.progress import Say, silent
from lockstep.pipeline.stage_batches import (
    BatchCounts,
    StageFailed,
    StageProgress,
    batches_of_lines,
    concurrent_batches,
    take_turns,
)
from lockstep.pipeline.task_traces import TraceSummary, survey
from lockstep.pipeline.trace_store import Batch, TraceStore


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """A table that a stage derives from the lines of a run.

    `derivation` is the hash of its inputs besides the lines; `variant` is that of its rows, None for that of the lines.
    """

    spark: SparkSession
    store: TraceStore
    run: str
    table: str
    derivation: str
    variant: str | None = None

    def write(self, rows: DataFrame, batch: Batch) -> None:
        """Write a batch of the table."""
        self.store.write(rows, self.table, self.run, batch)

    def make(
        self, stage: str, work: Callable[[Batch, DataFrame, Mapping[str, TraceSummary]], None], say: Say = silent
    ) -> None:
        """Make the batches that are not there, the largest first.

        A batch that was derived from the same lines with other inputs is removed just before its replacement is made.
        Arguments: `stage`, its name; `work`, which writes a batch, given its lines and the traces in them.
        Raises StageFailed where a batch cannot be finished, or, once all others are, where lines are missing.
        """
        existing = self.existing()
        sources = {self.batch_of(lines): lines for lines in self.store.batches("lines", self.run)}
        todo = [batch for batch in sources if not existing.has(batch)]

        def derive(batch: Batch) -> BatchCounts:
            existing.clear(batch)
            take_turns(self.spark)
            lines = self.store.read(self.spark, "lines", self.run, [sources[batch]])
            traces = survey(lines)
            work(batch, lines, traces)
            return BatchCounts(len(traces), sum(each.lines for each in traces.values()))

        progress = StageProgress(stage, len(sources), len(sources) - len(todo), say)
        progress.run(todo, derive, concurrent_batches(self.spark))
        if missing := self.store.missing(self.run):
            raise StageFailed(
                f"{stage}: {batches_of_lines(missing, 'is')} missing: run the stage that writes them again"
            )

    def batch_of(self, lines: Batch) -> Batch:
        """Return the batch that is derived from a batch of lines, or from the same lines as another."""
        return lines.derived(self.derivation, self.variant)

    def existing(self) -> ExistingBatches:
        """Return the batches of the table that are there; unfinished ones are removed."""
        self.store.sweep(self.table, self.run)
        batches: dict[tuple[str, str], list[Batch]] = {}
        for each in self.store.batches(self.table, self.run):
            batches.setdefault((each.variant, each.lines), []).append(each)
        return ExistingBatches(self.store, self.run, self.table, batches)


@dataclass(frozen=True, slots=True)
class ExistingBatches:
    """The batches of a table that are there before a stage begins, by variant and by the batch of lines."""

    store: TraceStore
    run: str
    table: str
    batches: Mapping[tuple[str, str], Sequence[Batch]]

    def has(self, batch: Batch) -> bool:
        """Return whether a batch is there."""
        return any(each.name == batch.name for each in self.batches.get((batch.variant, batch.lines), ()))

    def clear(self, batch: Batch) -> None:
        """Remove the batches derived from the same lines with other inputs, which a batch replaces."""
        for each in self.batches.get((batch.variant, batch.lines), ()):
            self.store.remove(self.table, self.run, each)
