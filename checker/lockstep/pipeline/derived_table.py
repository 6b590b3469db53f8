"""A stage that makes a table of the lines: a batch of each batch of lines, its traces whole and in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from lockstep.base.progress import Say, silent
from lockstep.pipeline.stage_batches import Done, Stage, StageFailed, at_once, batches_of_lines, take_turns
from lockstep.pipeline.task_traces import Known, survey
from lockstep.pipeline.trace_store import Batch, Store


@dataclass(frozen=True, slots=True)
class Derived:
    """A table that a stage makes of the lines of a run.

    `made_with` is the hash of all that goes in besides the lines; `variant` where its rows stand, None for that of the
    lines.
    """

    spark: SparkSession
    store: Store
    run: str
    table: str
    made_with: str
    variant: str | None = None

    def write(self, rows: DataFrame, batch: Batch) -> None:
        """Write a batch of the table."""
        self.store.write(rows, self.table, self.run, batch)

    def make(
        self,
        name: str,
        work: Callable[[Batch, DataFrame, Mapping[str, Known]], None],
        say: Say = silent,
    ) -> None:
        """Make the batches that are not there, of the largest first.

        What was made of the same lines with something else goes just before its place is taken.
        Arguments: `name`, of the stage; `work`, which writes a batch, given its lines and the traces in them.
        Raises StageFailed where a batch cannot be finished, or, once all others are, where lines are missing.
        """
        before = self.before()
        made = {self.batch_of(lines): lines for lines in self.store.batches("lines", self.run)}
        todo = [batch for batch in made if not before.has(batch)]

        def done(batch: Batch) -> Done:
            before.clear(batch)
            take_turns(self.spark)
            lines = self.store.read(self.spark, "lines", self.run, [made[batch]])
            known = survey(lines)
            work(batch, lines, known)
            return Done(len(known), sum(each.lines for each in known.values()))

        Stage(name, len(made), len(made) - len(todo), say).run(todo, done, at_once(self.spark))
        if missing := self.store.missing(self.run):
            raise StageFailed(
                f"{name}: {batches_of_lines(missing, 'is')} missing: run the stage that writes them again"
            )

    def batch_of(self, lines: Batch) -> Batch:
        """Return the batch that comes of a batch of lines, or is of the same lines as another."""
        return lines.made_with(self.made_with, self.variant)

    def before(self) -> Before:
        """Return what is there of the table; what was begun and not finished goes."""
        self.store.sweep(self.table, self.run)
        there: dict[tuple[str, str], list[Batch]] = {}
        for each in self.store.batches(self.table, self.run):
            there.setdefault((each.variant, each.of), []).append(each)
        return Before(self.store, self.run, self.table, there)


@dataclass(frozen=True, slots=True)
class Before:
    """The batches of a table that are there before a stage begins, by variant and by the lines that they are of."""

    store: Store
    run: str
    table: str
    batches: Mapping[tuple[str, str], Sequence[Batch]]

    def has(self, batch: Batch) -> bool:
        """Tell whether a batch is there."""
        return any(each.name == batch.name for each in self.batches.get((batch.variant, batch.of), ()))

    def clear(self, batch: Batch) -> None:
        """Remove what was made of the same lines with something else, whose place a batch takes."""
        for each in self.batches.get((batch.variant, batch.of), ()):
            self.store.remove(self.table, self.run, each)
