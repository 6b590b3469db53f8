"""A stage that makes a table of the lines: a batch of each batch of lines, its traces whole and in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from lockstep.base.progress import Say, silent
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.work.batches import AT_ONCE, Done, Stage
from lockstep.pipeline.work.traces import Known, survey


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
        at_once: int = AT_ONCE,
    ) -> None:
        """Make the batches that are not there, of the largest first.

        What was made of the same lines with something else goes just before its place is taken.
        Arguments: `name`, of the stage; `work`, which writes a batch, given its lines and the traces in them;
        `at_once`, how many batches are under way at once.
        Raises StageFailed where a batch cannot be finished.
        """
        self.store.sweep(self.table, self.run)
        there = {(each.variant, each.name): each for each in self.store.batches(self.table, self.run)}
        made = {lines.made_with(self.made_with, self.variant): lines for lines in self.store.batches("lines", self.run)}
        todo = [batch for batch in made if (batch.variant, batch.name) not in there]
        stale: dict[tuple[str, str], list[Batch]] = {}
        for each in there.values():
            stale.setdefault((each.variant, each.of), []).append(each)

        def done(batch: Batch) -> Done:
            for other in stale.get((batch.variant, batch.of), []):
                self.store.remove(self.table, self.run, other)
            lines = self.store.read(self.spark, "lines", self.run, [made[batch]])
            known = survey(lines)
            work(batch, lines, known)
            return Done(len(known), sum(each.lines for each in known.values()))

        Stage(name, len(made), len(made) - len(todo), say).run(todo, done, at_once)
