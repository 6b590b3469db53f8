"""A stage, batch by batch: some at once, so that no core waits for the last task of one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import SparkSession

from lockstep.base.characters import counted
from lockstep.base.errors import GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.shipped_specs import MACHINE_FAILED
from lockstep.jobs.spark.spark_session import CANNOT_BE_READ, SPARK_ERRORS, describe_failure, task_slots
from lockstep.pipeline.trace_store import Batch

#: Batches that are under way at once, each a Spark job or more: while one waits for its last task, others have tasks.
MIN_CONCURRENT_BATCHES = 3

#: Cores for each batch under way, on a cluster.
SLOTS_PER_BATCH = 20

#: The remedy for a damaged file of a table.
HOW_TO_REPAIR = "remove the folder of this file, and the stage that wrote it writes it anew"
_RERUN = "what is finished is kept, and the same command goes on from there"


def batches_of_lines(count: int, verb: str = "") -> str:
    """Return a number of batches of lines, with a verb: ``1 batch of lines is``; `verb` is ``is`` or ``was``."""
    plural = {"is": "are", "was": "were"}.get(verb, verb)
    return counted(count, f"batch of lines {verb}".strip(), f"batches of lines {plural}".strip())


def concurrent_batches(spark: SparkSession) -> int:
    """Return how many batches are to be under way at once, so that all cores have tasks."""
    return max(MIN_CONCURRENT_BATCHES, task_slots(spark) // SLOTS_PER_BATCH)


def take_turns(spark: SparkSession) -> None:
    """Let the tasks of the batch of this thread take turns with those of others, by a scheduler pool of its own.

    Threads, and so pools, are as many as batches are under way.
    """
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", threading.current_thread().name)


class StageFailed(GaveUpError):  # noqa: N818 - it names what happened
    """A batch could not be finished; the message names the stage, the batch and why."""


class BatchCounts(NamedTuple):
    """The number of traces and events of a batch."""

    traces: int
    events: int


@dataclass(slots=True)
class StageProgress:
    """The progress of a stage: `name`, how many batches it has in `total`, and how many were done `before`."""

    name: str
    total: int
    before: int = 0
    say: Say = silent
    batches: int = 0
    traces: int = 0
    events: int = 0
    begin: float = field(default_factory=time.perf_counter)

    def report(self) -> None:
        """Report how far it is."""
        seconds = time.perf_counter() - self.begin
        speed = f", {self.events / seconds:,.0f} events/s" if self.events else ""
        batches = f"{self.before + self.batches:,} of {self.total:,} batches"
        self.say(f"{self.name}: {batches}, {self.traces:,} traces, {self.events:,} events{speed}")

    def run(
        self, batches: Sequence[Batch], work: Callable[[Batch], BatchCounts], concurrent: int = MIN_CONCURRENT_BATCHES
    ) -> None:
        """Do the work for every batch, in this order; `concurrent` are under way at once, at most.

        Raises StageFailed for the first that cannot be finished, once those under way have come to their end: what is
        finished is kept, and a rerun goes on from there.
        """
        self.report()
        pool = ThreadPoolExecutor(max_workers=concurrent, thread_name_prefix="batch")
        try:
            running: set[Future[BatchCounts]] = set()
            waiting = iter(batches)
            failed: StageFailed | None = None
            while True:
                while failed is None and len(running) < concurrent and (batch := next(waiting, None)) is not None:
                    running.add(pool.submit(self._attempt, batch, work))
                if not running:
                    break
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                failed = self._count(finished) or failed
            if failed is not None:
                raise failed
        finally:  # Where an interrupt ends this, the session's end is that of the jobs.
            pool.shutdown(wait=False, cancel_futures=True)

    def _count(self, finished: Iterable[Future[BatchCounts]]) -> StageFailed | None:
        failed = None
        for each in finished:
            try:
                counts = each.result()
            except StageFailed as error:
                failed = error
                continue
            self.batches += 1
            self.traces += counts.traces
            self.events += counts.events
            self.report()
        return failed

    def _attempt(self, batch: Batch, work: Callable[[Batch], BatchCounts]) -> BatchCounts:
        try:
            return work(batch)
        except SPARK_ERRORS as error:
            reason = describe_failure(error)
            then = HOW_TO_REPAIR if CANNOT_BE_READ in reason else _RERUN
            raise StageFailed(f"{self.name}: batch {batch.name}: {reason}; {then}") from error
        except StageFailed:
            raise
        except MACHINE_FAILED as error:
            raise StageFailed(f"{self.name}: batch {batch.name}: {error}; {_RERUN}") from error
