"""Whole traces in tasks: a summary of each, and its lines in one partition and in order, the longest traces first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lockstep.jobs.spark.spark_session import task_slots
from lockstep.trace.json_lines import TraceError

#: Partitions for each task that can run at once: small ones at the end fill what the large ones leave.
PARTITIONS_PER_SLOT = 4

T = TypeVar("T")
Row = TypeVar("Row", bound=tuple[Any, ...])


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of this size, the last one shorter."""
    rest = iter(items)
    while chunk := list(itertools.islice(rest, size)):
        yield chunk


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """The number of lines of a trace, and its first line, None where that is missing."""

    lines: int
    header: bytes | None


def survey(lines: DataFrame) -> dict[str, TraceSummary]:
    """Return the traces of some lines; the driver holds the first line of each, so a batch must be bounded."""
    header = sql.max(sql.when(sql.col("seq") == 0, sql.col("bytes"))).alias("header")
    found = lines.groupBy("trace").agg(sql.count(sql.lit(1)).alias("lines"), header).collect()
    return {row["trace"]: TraceSummary(row["lines"], row["header"]) for row in found}


def partitions(sizes: Mapping[str, int], most: int) -> dict[str, int]:
    """Assign traces to partitions, `most` at most: the longest first, each to the one with the least so far.

    Partition 0 has the most lines, and so on down: Spark starts tasks in this order, so no long one starts last.
    """
    count = max(1, min(most, len(sizes)))
    loads = [(0, number) for number in range(count)]
    assigned: dict[str, int] = {}
    for trace in sorted(sizes, key=lambda each: (-sizes[each], each)):
        load, number = heapq.heappop(loads)
        assigned[trace] = number
        heapq.heappush(loads, (load + sizes[trace], number))
    rank = {number: index for index, (_, number) in enumerate(sorted(loads, key=lambda each: (-each[0], each[1])))}
    return {trace: rank[number] for trace, number in assigned.items()}


def whole_traces(lines: DataFrame, traces: Mapping[str, TraceSummary]) -> DataFrame:
    """Return the lines of these traces, those of one in one partition and in order."""
    spark = lines.sparkSession
    sizes = {trace: each.lines for trace, each in traces.items()}
    assigned = partitions(sizes, PARTITIONS_PER_SLOT * task_slots(spark))
    placed = spark.createDataFrame(list(assigned.items()), "trace string, partition int")
    count = max(assigned.values(), default=0) + 1
    together = lines.join(sql.broadcast(placed), "trace").repartitionById(count, "partition")
    return together.drop("partition").sortWithinPartitions("trace", "seq")


@dataclass(slots=True)
class TraceLines:
    """The lines of one trace in a task, in order, which can be read once: `trace` is its name, `source` its first file.

    Iterating yields the bytes of each line, and raises TraceError where one is missing or there twice. `dead` is raised
    instead, which stands for the first dead letter of the trace if it has one.
    """

    trace: str
    source: str
    rows: Iterator[tuple[int, bytes, str]]
    dead: TraceError | None = None

    def hold(self) -> None:
        """Read all lines now, for a process that is started next: it cannot read on where this one is."""
        self.rows = iter(list(self.rows))

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each line."""
        return (line for line, _ in self.with_sources())

    def with_sources(self) -> Iterator[tuple[bytes, str]]:
        """Yield the bytes of each line with the file that it came from; raises as iterating does."""
        if self.dead is not None:
            raise self.dead
        return ((line, source) for _, line, source in in_order(self.trace, self.rows, 0))


def in_order(trace: str, rows: Iterable[Row], first: int) -> Iterator[Row]:
    """Yield rows of lines of a trace, which begin with their seq and are numbered from `first` on.

    Raises TraceError where one is missing or there twice.
    """
    for expected, row in enumerate(rows, first):
        if row[0] < expected:
            raise TraceError(trace, row[0] + 1, "the store has this line twice")
        if row[0] > expected:
            raise missing_line(trace, expected)
        yield row


def missing_line(trace: str, seq: int) -> TraceError:
    """Return the error of a line that the store has not."""
    return TraceError(trace, seq + 1, "the store lacks this line: it was no line of a trace")


def traces_of(batches: Iterable[pa.RecordBatch]) -> Iterator[TraceLines]:
    """Yield the traces of a partition that whole_traces made; lines that the caller does not read are skipped."""
    for trace, group in itertools.groupby(_line_rows(batches), key=lambda row: row[0]):
        first = next(group)
        _, seq, _, source, line, reason = first
        dead = TraceError(source, max(line, 1), reason) if seq < 0 else None  # these come first
        yield TraceLines(trace, source, (row[1:4] for row in itertools.chain([first], group)), dead)


def _line_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, bytes, str, int, str]]:
    """Yield trace, seq, bytes, source, line and reason of each row; lines out of a store have no reason."""
    for batch in batches:
        names = ["trace", "seq", "bytes", "source", "line"]
        columns = [batch.column(name).to_pylist() for name in names]
        reasons = batch.column("reason").to_pylist() if "reason" in batch.schema.names else itertools.repeat("")
        yield from zip(*columns, reasons, strict=False)
