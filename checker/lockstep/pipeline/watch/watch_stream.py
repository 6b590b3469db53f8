"""The streaming query of a watch, from files to verdicts, and its end."""

from __future__ import annotations

import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lockstep.base.errors import GaveUpError
from lockstep.base.interrupts import Interrupts, deferred_interrupts
from lockstep.base.progress import Say, silent
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict, worst
from lockstep.jobs.spark.spark_session import describe_failure, never_connected
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.watch.growing_files import bytes_between, refuse_unlisted
from lockstep.pipeline.watch.growing_source import FORMAT, GrowingTraces
from lockstep.pipeline.watch.resumed_check import BatchCheck, TraceProgress, WatchLimits
from lockstep.pipeline.watch.source_status import SourceStatus, StatusFolder
from lockstep.pipeline.watch.verdict_table import WatchStore, WatchVerdict
from lockstep.pipeline.watch.watch_task import OUTCOME_DDL, STATE_DDL, specs_in, task_of
from lockstep.trace.json_lines import MAX_LINE_BYTES

#: State is kept by RocksDB, whose memory does not grow with the number of traces as that of a table in the JVM does.
_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Of each batch an offset is kept, which names every file.
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

_POLL_SECONDS = 0.1

#: Starts of the stream, at most, where the process that looks for files is too slow to start.
MAX_STARTS = 6


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of a watch: `folder` of the traces; `switches`, which replace constants of their headers.

    `every` is how often it looks for what is new, in seconds; `idle_seconds`, after how long without anything new it
    ends, None: never; `ends_on_violation`, whether it ends with the first one; `check_options`, those of `lockstep
    check` that choose the same spec.
    """

    folder: Path
    switches: Mapping[str, Any]
    limits: WatchLimits = field(default_factory=WatchLimits)
    every: float = 1.0
    idle_seconds: float | None = None
    ends_on_violation: bool = False
    check_options: tuple[str, ...] = ()
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


class Watch:
    """One run of a watch, with the `verdicts` so far, by trace."""

    def __init__(
        self, options: WatchOptions, store: WatchStore, on_row: Callable[[WatchVerdict], None], say: Say = silent
    ) -> None:
        """Prepare a watch.

        Arguments: `store`, opened; `on_row`, given each new row, once it is in the table; `say`, how far it is.
        """
        self.options, self.store, self.on_row, self.say = options, store, on_row, say
        self.verdicts: dict[str, Verdict] = {}
        self._settled: set[str] = set()
        self._waiting: dict[str, float] = {}
        self._failed: Exception | None = None
        self._has_violation = self._has_finished = False
        self._status: SourceStatus | None = None
        self._batch, self._idle_since = -1, 0.0

    def run(self) -> Verdict:
        """Watch until it is to end; return the worst of the verdicts on all traces of the store.

        Raises BadInputError where a folder may not be listed; GaveUpError where Spark cannot go on, or a file has
        shrunk or was replaced; Interrupted after a clean end where a signal asked for it.
        """
        refuse_unlisted(self.options.folder)
        for row in self.store.rows():
            self._note(row)
        settings = _SETTINGS | dict(self.options.settings)
        with (
            pipeline_session(self.options.master, settings, self.say) as spark,
            scratch("watch") as folder,
            deferred_interrupts() as interrupts,
        ):
            self._watch(spark, StatusFolder(folder), folder, interrupts)
        return worst(list(self.verdicts.values()))

    def _watch(self, spark: SparkSession, source: StatusFolder, folder: Path, interrupts: Interrupts) -> None:
        for trace, progress in self._unsettled(spark).items():
            if progress.waiting:
                self._waiting[trace] = progress.since / 1000 + self.options.limits.patience
        source.set_waiting(self._waiting)
        starts = 1
        while (error := self._stream(spark, source, folder, interrupts)) is not None:
            if interrupts or starts == MAX_STARTS or not never_connected(error):
                raise GaveUpError(describe_failure(error))
            starts += 1
        self._finish(spark, source, is_interrupted=bool(interrupts))

    def _stream(
        self, spark: SparkSession, source: StatusFolder, folder: Path, interrupts: Interrupts
    ) -> Exception | None:
        """Let Spark read and check until the watch is to end; return the error that ended it before, if any."""
        query = self._query(spark, source, folder)
        try:
            while not interrupts and query.isActive and not self._is_over(source):
                time.sleep(_POLL_SECONDS)
        finally:
            query.stop()
        if self._failed is not None:
            raise self._failed
        error: Exception | None = query.exception()
        return error

    def _query(self, spark: SparkSession, source: StatusFolder, folder: Path) -> StreamingQuery:
        options, switches = self.options, dict(self.options.switches)
        spark.dataSource.register(GrowingTraces)
        rows = (
            spark.readStream.format(FORMAT)
            .option("folder", str(options.folder.absolute()))
            .option("shown", str(options.folder))
            .option("store", str(self.store.folder))
            .option("status", str(folder))
            .option("patience", str(options.limits.patience))
            .option("timeout", str(options.limits.seconds))
            .option("switches", json.dumps(switches))
            .load()
        )
        task = task_of(options.folder, self.store.folder, switches, options.limits)
        outcomes = rows.groupBy("trace").applyInPandasWithState(task, OUTCOME_DDL, STATE_DDL, "append", "NoTimeout")

        def sink(batch: DataFrame, number: int) -> None:
            try:
                self._record(batch, number, source)
            except Exception as error:
                self._failed = error
                raise

        return (
            outcomes.writeStream.foreachBatch(sink)
            .option("checkpointLocation", str(self.store.checkpoint))
            .trigger(processingTime=f"{int(options.every * 1000)} milliseconds")
            .start()
        )

    def _record(self, batch: DataFrame, number: int, source: StatusFolder) -> None:
        """Put the rows of a batch into the table, then report them: a batch that is done again is reported again."""
        outcomes = batch.collect()
        rows = [msgspec.json.decode(each["verdict"], type=WatchVerdict) for each in outcomes if each["verdict"]]
        for row in rows:
            row.replay = self._replay(row.source)
        self.store.write(number, rows)
        for row in rows:
            self._note(row)
            self.on_row(row)
        if due := {each["trace"]: each["due"] for each in outcomes if each["due"] is not None}:
            self._waiting = {trace: until for trace, until in (self._waiting | due).items() if until}
            source.set_waiting(self._waiting)

    def _replay(self, source: str) -> str:
        return shlex.join(["lockstep", "check", *self.options.check_options, source])

    def _note(self, row: WatchVerdict) -> None:
        self.verdicts[row.trace] = row.verdict
        if row.settled:
            self._settled.add(row.trace)
        self._has_violation |= row.verdict is Verdict.VIOLATED

    # ---- The end ----

    @property
    def unfinished(self) -> int:
        """The number of traces that are not settled, and have no verdict of the end."""
        if self._status is None or self._has_finished:
            return 0
        empty = sum(begin == 0 for begin in self._status.torn.values())
        return max(0, self._status.traces - len(self._settled)) + empty

    @property
    def has_ended_on_violation(self) -> bool:
        """Whether the watch ends on a violation, and there is one."""
        return self.options.ends_on_violation and self._has_violation

    def _is_over(self, source: StatusFolder) -> bool:
        if self.has_ended_on_violation:
            return True
        status, idle = source.status(), self.options.idle_seconds
        if status is None:
            return False
        if status is not self._status:  # the source looks far less often than this
            self._status = status
            counts = Counter(map(str, list(self.verdicts.values())))
            found = "".join(f", {count:,} {word}" for word, count in sorted(counts.items()))
            self.say(f"{status.traces:,} traces, {status.bytes:,} bytes read{found}")
        if not status.is_idle or status.number != self._batch:
            self._batch, self._idle_since = status.number, time.monotonic()
        return idle is not None and status.is_idle and time.monotonic() - self._idle_since >= idle

    def _unsettled(self, spark: SparkSession) -> dict[str, TraceProgress]:
        """Return the traces of the checkpoint that are not settled."""
        if not any(self.store.checkpoint.glob("commits/[0-9]*")):
            return {}
        states = spark.read.format("statestore").load(str(self.store.checkpoint))
        rows = states.selectExpr("key.trace", "value.groupState.*").where("not settled").collect()
        return {row["trace"]: TraceProgress.from_bytes(bytes(row["progress"])) for row in rows}

    def _finish(self, spark: SparkSession, source: StatusFolder, *, is_interrupted: bool) -> None:
        """Give unfinished traces the verdict of a check that finds them as they are now, if that was asked for."""
        self._status = status = source.status()
        if status is None or is_interrupted or self.options.idle_seconds is None or not self.unfinished:
            return
        unfinished = {trace: TraceProgress() for trace, begin in status.torn.items() if not begin}
        unfinished |= self._unsettled(spark)
        self._has_finished = True
        specs = specs_in(self.store.folder, dict(self.options.switches))
        for trace, progress in sorted(unfinished.items()):
            path, begin = self.options.folder / trace, status.torn.get(trace)
            torn = b"" if begin is None else bytes_between(path, begin, begin + MAX_LINE_BYTES + 1)
            BatchCheck(progress, str(path), specs, self.options.limits).finish(torn)
            row = progress.new_row(trace, str(path), self._replay(str(path)))
            self._note(row)
            self.on_row(row)
