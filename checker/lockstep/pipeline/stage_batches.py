"""Doing a stage batch by batch: some at once, so that no core waits for the last task of one, and telling of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import SparkSession

from lockstep.base.characters import counted
from lockstep.base.errors import EnvironmentFailedError, GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.spark_session import CANNOT_BE_READ, DEATHS, death
from lockstep.pipeline.task_traces import slots
from lockstep.pipeline.trace_store import Batch

#: So many batches at once, each a Spark job or more: while one waits for its last task, others have tasks to run.
AT_ONCE = 3

#: On a cluster there is a batch under way for so many cores.
_SLOTS_PER_BATCH = 20


def batches_of_lines(count: int, verb: str = "") -> str:
    """Return a number of batches of lines, with a verb: ``1 batch of lines is``; `verb` is ``is`` or ``was``."""
    plural = {"is": "are", "was": "were"}.get(verb, verb)
    return counted(count, f"batch of lines {verb}".strip(), f"batches of lines {plural}".strip())


def at_once(spark: SparkSession) -> int:
    """Return how many batches are to be under way at once, so that all cores have tasks."""
    return max(AT_ONCE, slots(spark) // _SLOTS_PER_BATCH)


def take_turns(spark: SparkSession) -> None:
    """Let the tasks of the batch that this thread does take turns with those of others, by a pool of its own.

    Threads, and so pools, are as many as batches are under way.
    """
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", threading.current_thread().name)


#: What is the fault of the machine, or of a tool, and of no trace.
MACHINE_FAILED = (EnvironmentFailedError, GaveUpError, MemoryError, OSError)

#: What to do about a damaged file of a table.
REMOVE = "remove the folder of this file, and the stage that wrote it writes it anew"
_RERUN = "what is finished is kept, and the same command goes on from there"


class StageFailed(GaveUpError):  # noqa: N818 - it names what happened
    """A batch could not be finished; the message names the stage, the batch and why."""


class Done(NamedTuple):
    """What a batch came to: how many traces and events it has."""

    traces: int
    events: int


@dataclass(slots=True)
class Stage:
    """The progress of a stage: `name`, how many batches there are `of` it, and how many `before` it began."""

    name: str
    of: int
    before: int = 0
    say: Say = silent
    batches: int = 0
    traces: int = 0
    events: int = 0
    begin: float = field(default_factory=time.perf_counter)

    def tell(self) -> None:
        """Say how far it is."""
        seconds = time.perf_counter() - self.begin
        speed = f", {self.events / seconds:,.0f} events/s" if self.events else ""
        done = self.before + self.batches
        self.say(f"{self.name}: {done:,} of {self.of:,} batches, {self.traces:,} traces, {self.events:,} events{speed}")

    def run(self, batches: Sequence[Batch], work: Callable[[Batch], Done], most: int = AT_ONCE) -> None:
        """Do the work for every batch, in this order, at most so many at once.

        Raises StageFailed for the first that cannot be finished, once those under way have come to their end: what is
        finished is kept, and a rerun goes on from there.
        """
        self.tell()
        pool = ThreadPoolExecutor(max_workers=most, thread_name_prefix="batch")
        try:
            running: set[Future[Done]] = set()
            waiting = iter(batches)
            failed: StageFailed | None = None
            while True:
                while failed is None and len(running) < most and (batch := next(waiting, None)) is not None:
                    running.add(pool.submit(self._attempt, batch, work))
                if not running:
                    break
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                failed = self._count(finished) or failed
            if failed is not None:
                raise failed
        finally:  # Where an interrupt ends this, the session's end is that of the jobs.
            pool.shutdown(wait=False, cancel_futures=True)

    def _count(self, finished: Iterable[Future[Done]]) -> StageFailed | None:
        failed = None
        for each in finished:
            try:
                done = each.result()
            except StageFailed as error:
                failed = error
                continue
            self.batches += 1
            self.traces += done.traces
            self.events += done.events
            self.tell()
        return failed

    def _attempt(self, batch: Batch, work: Callable[[Batch], Done]) -> Done:
        try:
            return work(batch)
        except DEATHS as error:
            reason = death(error)
            then = REMOVE if CANNOT_BE_READ in reason else _RERUN
            raise StageFailed(f"{self.name}: batch {batch.name}: {reason}; {then}") from error
        except StageFailed:
            raise
        except MACHINE_FAILED as error:
            raise StageFailed(f"{self.name}: batch {batch.name}: {error}; {_RERUN}") from error
