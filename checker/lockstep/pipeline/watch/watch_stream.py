"""The watch itself: a streaming query from files to verdicts, and what is done with each batch of these."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lockstep.base.errors import GaveUpError
from lockstep.base.interrupts import Interrupts, deferred_interrupts
from lockstep.base.progress import Say, silent
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict, worst
from lockstep.jobs.spark.spark_session import death, never_connected
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.watch.growing_files import bytes_between, refuse_unlisted
from lockstep.pipeline.watch.growing_source import NAME, GrowingTraces
from lockstep.pipeline.watch.resumed_check import Limits, Step, UnderWay
from lockstep.pipeline.watch.source_status import Control
from lockstep.pipeline.watch.verdict_table import Store, Told
from lockstep.pipeline.watch.watch_task import OUT_DDL, STATE_DDL, specs_of, stepper
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

#: So often the stream is started where the process that looks for files is too slow to start.
_STARTS = 6


@dataclass(frozen=True, slots=True)
class Options:
    """How to watch: `folder` of the traces; `switches`, which replace constants of their headers.

    `every` is how often it looks for what is new, in seconds; `idle_seconds`, after how long without anything new it
    ends, None: never; `ends_on_violation`, whether it ends with the first one.
    """

    folder: Path
    switches: Mapping[str, Any]
    limits: Limits = field(default_factory=Limits)
    every: float = 1.0
    idle_seconds: float | None = None
    ends_on_violation: bool = False
    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


class Watch:
    """One run of a watch; `on_told` gets each new row, once it is in the table."""

    def __init__(
        self,
        options: Options,
        store: Store,
        on_told: Callable[[Told], None],
        replay: Callable[[Path], str],
        say: Say = silent,
    ) -> None:
        """Prepare a watch.

        Arguments: `store`, opened; `replay`, which makes the command that replays a trace of its file; `say`, told how
        far it is.
        """
        self.options, self.store, self.on_told, self.replay, self.say = options, store, on_told, replay, say
        self.verdicts: dict[str, Verdict] = {}
        self.under_way = 0
        self._settled: set[str] = set()
        self._waiting: dict[str, float] = {}
        self._failed: Exception | None = None
        self._has_violation = False
        self._post: Callable[[Iterable[dict[str, Any]]], None] = lambda _records: None

    def run(self, post: Callable[[Iterable[dict[str, Any]]], None] | None = None) -> Verdict:
        """Watch until it is to end; return the worst of the verdicts on all traces of the store.

        Arguments: `post`, given the records of each row of the table, those of former runs first.

        Raises BadInputError where a folder may not be listed; GaveUpError where Spark cannot go on; Interrupted after
        a clean end where a signal asked for it.
        """
        self._post = post or self._post
        refuse_unlisted(self.options.folder)
        for row in self.store.rows():
            self._note(row)
            self._post(row.records())
        settings = _SETTINGS | dict(self.options.settings)
        with (
            pipeline_session(self.options.master, settings, self.say) as spark,
            scratch("watch") as folder,
            deferred_interrupts() as interrupts,
        ):
            control = Control(folder)
            self._watch(spark, control, folder, interrupts)
        return worst(list(self.verdicts.values()))

    def _watch(self, spark: SparkSession, control: Control, folder: Path, interrupts: Interrupts) -> None:
        for trace, way in self._open_traces(spark):
            if way.waiting:
                self._waiting[trace] = way.since / 1000 + self.options.limits.patience
        control.set_waiting(self._waiting)
        starts = 1
        while (error := self._stream(spark, control, folder, interrupts)) is not None:
            if interrupts or starts == _STARTS or not never_connected(error):
                raise GaveUpError(death(error))
            starts += 1
        self._end(spark, control, is_asked=bool(interrupts))

    def _stream(self, spark: SparkSession, control: Control, folder: Path, interrupts: Interrupts) -> Exception | None:
        """Let Spark read and check until the watch is to end; return what ended that before, if something did."""
        query = self._query(spark, control, folder)
        try:
            while not interrupts and query.isActive and not self._is_over(control):
                time.sleep(_POLL_SECONDS)
        finally:
            query.stop()
        if self._failed is not None:
            raise self._failed
        error: Exception | None = query.exception()
        return error

    def _query(self, spark: SparkSession, control: Control, folder: Path) -> StreamingQuery:
        options = self.options
        spark.dataSource.register(GrowingTraces)
        rows = (
            spark.readStream.format(NAME)
            .option("folder", str(options.folder.absolute()))
            .option("shown", str(options.folder))
            .option("store", str(self.store.folder))
            .option("control", str(folder))
            .option("patience", str(options.limits.patience))
            .option("timeout", str(options.limits.seconds))
            .option("switches", json.dumps(dict(options.switches)))
            .load()
        )
        step = stepper(options.folder, self.store.folder, dict(options.switches), options.limits)
        told = rows.groupBy("trace").applyInPandasWithState(step, OUT_DDL, STATE_DDL, "append", "NoTimeout")

        def sink(batch: DataFrame, number: int) -> None:
            try:
                self._take(batch, number, control)
            except Exception as error:
                self._failed = error
                raise

        return (
            told.writeStream.foreachBatch(sink)
            .option("checkpointLocation", str(self.store.checkpoint))
            .trigger(processingTime=f"{int(options.every * 1000)} milliseconds")
            .start()
        )

    def _take(self, batch: DataFrame, number: int, control: Control) -> None:
        """Put the rows of a batch into the table, then tell of them: a batch that is done again is told of again."""
        found = [row.asDict() for row in batch.collect()]
        due = {row["trace"]: row["due"] for row in found if row["due"] is not None}
        told = [Told(**{name: row[name] for name in Told.__struct_fields__}) for row in found if row["due"] is None]
        self.store.write(number, told, [self.replay(self._file_of(row.trace)) for row in told])
        for row in told:
            self._note(row)
            self._post(row.records())
            self.on_told(row)
        if due:
            self._waiting = {trace: until for trace, until in (self._waiting | due).items() if until}
            control.set_waiting(self._waiting)

    @property
    def has_ended_on_violation(self) -> bool:
        """Whether a violation was to end it, and there is one."""
        return self.options.ends_on_violation and self._has_violation

    def _is_over(self, control: Control) -> bool:
        told = control.source()
        if self.has_ended_on_violation:
            return True
        if told is None:
            return False
        if told is not self._said:  # the source looks far less often than this
            self._said = told
            counts = Counter(map(str, list(self.verdicts.values())))
            found = "".join(f", {count:,} {word}" for word, count in sorted(counts.items()))
            self.say(f"{told.traces:,} traces in {told.files:,} files, {told.bytes:,} bytes read{found}")
        idle = self.options.idle_seconds
        if not told.idle or told.number != self._number:
            self._number, self._idle_since = told.number, time.monotonic()
        return idle is not None and told.idle and time.monotonic() - self._idle_since >= idle

    def _file_of(self, trace: str) -> Path:
        """Return the file that a trace is in, or was before it was rotated."""
        return self.options.folder / re.sub(r"#\d+$", "", trace)

    _number: int = -1
    _said: object = None
    _idle_since: float = 0.0

    # ---- The end ----

    def _open_traces(self, spark: SparkSession) -> list[tuple[str, UnderWay]]:
        """Return what the checkpoint has of traces that are not settled."""
        if not any(self.store.checkpoint.glob("commits/[0-9]*")):
            return []
        kept = spark.read.format("statestore").load(str(self.store.checkpoint))
        rows = kept.selectExpr("key.trace", "value.groupState.*").where("not settled").collect()
        return [(row["trace"], UnderWay.of(bytes(row["kept"]))) for row in rows]

    def _end(self, spark: SparkSession, control: Control, *, is_asked: bool) -> None:
        """Give traces under way the verdict of a check that finds them as they are now, if that was asked for."""
        told = control.source()
        if told is None:
            return
        torn = {each.trace: each for each in told.torn}
        ways = {trace: UnderWay() for trace, each in torn.items() if not each.line}
        self.under_way = max(0, told.traces - len(self._settled)) + len(ways)
        if is_asked or self.options.idle_seconds is None or not self.under_way:
            return
        ways |= dict(self._open_traces(spark))
        self.under_way = 0  # each gets a verdict now
        specs = specs_of(self.store.folder, dict(self.options.switches))
        for trace, way in sorted(ways.items()):
            source = str(self.options.folder / trace)
            end = torn.get(trace)
            data = None
            if end is not None:
                path = self.options.folder / end.path
                data = bytes_between(path, path.suffix in (".gz", ".zst"), end.begin, end.begin + MAX_LINE_BYTES + 1)
            Step(way, source, specs, self.options.limits).finish(data)
            row = Told.of(trace, source, way)
            self._note(row)
            self.on_told(row)

    def _note(self, row: Told) -> None:
        """Take over the verdict so far."""
        self.verdicts[row.trace] = Verdict(row.verdict)
        if row.settled:
            self._settled.add(row.trace)
        self._has_violation |= row.verdict == Verdict.VIOLATED
