"""Whole traces in tasks: which there are in some lines, and each in one partition, in order, the longest first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.trace.json_lines import TraceError

#: So many partitions for each task that can run at once: small ones at the end fill what the large ones leave.
_PARTITIONS_PER_SLOT = 4


T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of this size, the last one of what is left."""
    rest = iter(items)
    while chunk := list(itertools.islice(rest, size)):
        yield chunk


@dataclass(frozen=True, slots=True)
class Known:
    """A trace: how many lines it has, and its first line, None where that is missing."""

    lines: int
    header: bytes | None


def slots(spark: SparkSession) -> int:
    """Return how many tasks run at once."""
    return max(1, spark.sparkContext.defaultParallelism)


def survey(lines: DataFrame) -> dict[str, Known]:
    """Return the traces of some lines; the driver holds the first line of each, so a batch must be bounded.

    No other line is read for it, as far as Parquet knows which part of a file has which lines.
    """
    first = lines.where("seq = 0").groupBy("trace").agg(sql.max("bytes").alias("header")).collect()
    headers = {row["trace"]: row["header"] for row in first}
    counted = lines.groupBy("trace").agg(sql.count(sql.lit(1)).alias("lines")).collect()
    return {row["trace"]: Known(row["lines"], headers.get(row["trace"])) for row in counted}


def partitions(sizes: Mapping[str, int], most: int) -> dict[str, int]:
    """Assign traces to at most so many partitions: the longest first, each to the one with the least so far.

    Partition 0 has the most lines, and so on down: Spark starts tasks in this order, so no long one starts last.
    """
    count = max(1, min(most, len(sizes)))
    loads = [(0, number) for number in range(count)]
    of: dict[str, int] = {}
    for trace in sorted(sizes, key=lambda each: (-sizes[each], each)):
        load, number = heapq.heappop(loads)
        of[trace] = number
        heapq.heappush(loads, (load + sizes[trace], number))
    rank = {number: index for index, (_, number) in enumerate(sorted(loads, key=lambda each: (-each[0], each[1])))}
    return {trace: rank[number] for trace, number in of.items()}


def whole_traces(spark: SparkSession, lines: DataFrame, known: Mapping[str, Known]) -> DataFrame:
    """Return the lines of these traces, those of one in one partition and in order."""
    of = partitions({trace: each.lines for trace, each in known.items()}, _PARTITIONS_PER_SLOT * slots(spark))
    placed = spark.createDataFrame(list(of.items()), "trace string, partition int")
    together = lines.join(sql.broadcast(placed), "trace").repartitionById(max(of.values(), default=0) + 1, "partition")
    return together.drop("partition").sortWithinPartitions("trace", "seq")


@dataclass(slots=True)
class TraceLines:
    """The lines of one trace in a task, in order, which can be read once: `trace` is its name, `source` its first file.

    Iterating yields the bytes of each line, and raises TraceError where one is missing or there twice.
    """

    trace: str
    source: str
    rows: Iterator[tuple[int, bytes, str]]

    def hold(self) -> None:
        """Read the lines ahead, for a process that is started now: it cannot read on where this one is."""
        self.rows = iter(list(self.rows))

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each line."""
        return (line for line, _ in self.with_sources())

    def with_sources(self) -> Iterator[tuple[bytes, str]]:
        """Yield the bytes of each line with the file that it came from; raises as iterating does."""
        return ((line, source) for _, line, source in in_order(self.trace, self.rows, 0))


Row = TypeVar("Row", bound=tuple[Any, ...])


def in_order(trace: str, rows: Iterable[Row], first: int) -> Iterator[Row]:
    """Yield rows of lines of a trace, which begin with their seq and are numbered from `first` on.

    Raises TraceError where one is missing or there twice.
    """
    for expected, row in enumerate(rows, first):
        if row[0] < expected:
            raise TraceError(trace, row[0] + 1, "the store has this line twice")
        if row[0] > expected:
            raise lacking(trace, expected)
        yield row


def lacking(trace: str, seq: int) -> TraceError:
    """Make the error of a line that the store has not."""
    return TraceError(trace, seq + 1, "the store lacks this line: it was no line of a trace")


def told(batches: Iterable[pa.RecordBatch], *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a partition, of each the columns of these names."""
    for batch in batches:
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def traces_of(batches: Iterable[pa.RecordBatch]) -> Iterator[TraceLines]:
    """Yield the traces of a partition that whole_traces made; what is not read of one is passed over."""
    rows = told(batches, "trace", "seq", "bytes", "source")
    for trace, group in itertools.groupby(rows, key=lambda row: row[0]):
        first = next(group)
        yield TraceLines(trace, first[3], (row[1:] for row in itertools.chain([first], group)))
