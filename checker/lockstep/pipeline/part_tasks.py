"""Cut traces in Spark: the check of their parts, and the verdicts that these make together.

A part has the lines behind one state up to the next. The rows of a part come together in one task, in order: first the
state that it begins in (for the first part the header), then its lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError
from lockstep.jobs.spark.record_tables import RecordTable, column_rows
from lockstep.jobs.spark.shipped_specs import ShippedSpecs
from lockstep.jobs.spark.spark_session import task_slots
from lockstep.pipeline.part_check import CheckEnd, PartVerdict, check_part
from lockstep.pipeline.part_verdicts import combined
from lockstep.pipeline.state_bytes import StateBytesError, unpacked
from lockstep.pipeline.store_tables import TABLES, StoredVerdict
from lockstep.pipeline.task_traces import PARTITIONS_PER_SLOT, in_order, missing_line, partitions
from lockstep.pipeline.trace_cutting import TraceCuts
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import spec_key, system_of
from lockstep.trace.trace_reader import TracePart


@dataclass(frozen=True, slots=True)
class _PartRow:
    """The verdict on a part of a trace, as JSON; `source` is where the trace came from."""

    trace: str
    part: int
    source: str
    verdict: bytes


_PARTS = RecordTable(_PartRow)

#: Makes the verdict to store from that of a trace, its source, and the SHA-256 of the spec.
MakeStored = Callable[[TraceVerdict, str, str], StoredVerdict]


def verdicts_in_parts(
    spark: SparkSession,
    rows: DataFrame,
    states: DataFrame,
    cuts: Mapping[str, TraceCuts],
    shipped: ShippedSpecs,
    make_stored: MakeStored,
    isolation: Isolation,
) -> DataFrame:
    """Return the verdicts on traces that are cut.

    Arguments: `rows`, of lines; `states`, of these traces; `cuts`, where each is cut; `make_stored`, which makes the
    verdict to store; `isolation`, with which a part is checked.
    """
    most = PARTITIONS_PER_SLOT * task_slots(spark)
    sizes = {(trace, part): size for trace, cut in cuts.items() for part, size in enumerate(cut.sizes())}
    assigned = partitions({f"{part}:{trace}": size for (trace, part), size in sizes.items()}, most)
    placed = spark.createDataFrame(
        [
            (trace, part, cuts[trace].begin(part), cuts[trace].end(part), assigned[f"{part}:{trace}"])
            for trace, part in sizes
        ],
        "trace string, part bigint, begin bigint, end bigint, partition int",
    )
    where = sql.broadcast(placed)
    is_in = (sql.col("seq") > sql.col("begin")) | ((sql.col("seq") == 0) & (sql.col("begin") == 0))
    lines = rows.join(where, "trace").where(is_in & (sql.col("end").isNull() | (sql.col("seq") <= sql.col("end"))))
    given = states.join(where, "trace").where("seq = begin and part > 0").withColumn("bytes", sql.col("state"))
    columns = ("trace", "part", "seq", "bytes", "source", "partition")
    together = lines.select(*columns).unionByName(given.withColumn("source", sql.lit("")).select(*columns))
    ordered = together.repartitionById(max(assigned.values(), default=0) + 1, "partition").drop("partition")
    checker = _PartChecker(cuts, shipped, isolation)
    parts = ordered.sortWithinPartitions("trace", "part", "seq").mapInArrow(checker, _PARTS.ddl)
    by_trace = parts.repartition(min(len(cuts), most), "trace").sortWithinPartitions("trace", "part")
    return by_trace.mapInArrow(_PartCombiner(cuts, shipped, make_stored), TABLES["verdicts"].ddl)


@dataclass(frozen=True, slots=True)
class _PartChecker:
    """Checks parts in a task: rows (trace, part, seq, bytes, source) -> rows of _PARTS."""

    cuts: Mapping[str, TraceCuts]
    shipped: ShippedSpecs
    isolation: Isolation

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = column_rows(batches, "trace", "part", "seq", "bytes", "source")
        for (trace, part), group in itertools.groupby(rows, key=lambda row: row[:2]):
            first = next(group)
            lines: Iterator[tuple[int, bytes]] = ((row[2], row[3]) for row in itertools.chain([first], group))
            if self.isolation.is_isolated:  # another process cannot read on from here
                lines = iter(list(lines))
            cut = self.cuts[trace]
            try:
                found = self.isolation.run(partial(_checked, trace, part, cut, lines, self.shipped))
            except WorkDiedError as error:
                begin, end = cut.begin(part), cut.end(part)
                which = f"lines {begin + 2} to {(cut.lines - 1 if end is None else end) + 1}"
                found = _broken(trace, begin, Verdict.INCONCLUSIVE, f"the check of {which} {error}")
            yield _PARTS.batch([_PartRow(trace, part, first[4], msgspec.json.encode(found))])


def _checked(
    trace: str, part: int, cut: TraceCuts, rows: Iterator[tuple[int, bytes]], shipped: ShippedSpecs
) -> PartVerdict:
    """Check a part in a task: its first row has the state, for the first part the header."""
    begin, end = cut.begin(part), cut.end(part)
    try:
        whole = opened([cut.header], trace)
        spec = shipped.spec(trace, spec_key(whole.header, trace, shipped.switches))
        interface = system_of(whole.header, trace).interface(spec)
        first = next(rows)
        if first[0] != begin:
            if begin == 0:
                return _broken(trace, begin, Verdict.MALFORMED, str(missing_line(trace, 0)))
            return _broken(trace, begin, Verdict.INCONCLUSIVE, f"{_state_before(begin)} is not there")
        lines = TracePart(
            whole.header,
            _numbered(trace, rows, begin + 1, end),
            trace,
            before=begin + 1,
            is_last=end is None,
            least_integer=whole.least_integer,
        )
        return check_part(lines, spec, interface, unpacked(first[1]) if part else None)
    except StateBytesError as error:
        return _broken(trace, begin, Verdict.INCONCLUSIVE, f"{_state_before(begin)} is not there: {error}")
    except Exception as error:  # One trace must not take the verdicts of all others with it.
        found = failure(error, trace)
        return _broken(trace, begin, found.verdict, found.reason)


def _state_before(begin: int) -> str:
    return f"the state before line {begin + 2}"


def _broken(trace: str, begin: int, verdict: Verdict, reason: str) -> PartVerdict:
    """Return the verdict on a part that could not be checked."""
    nothing = TraceVerdict(trace, Verdict.INCONCLUSIVE, "")
    return PartVerdict(begin + 2, begin + 1, nothing, broken=CheckEnd(verdict, reason))


def _numbered(
    trace: str, rows: Iterator[tuple[int, bytes]], first: int, end: int | None
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a part with their numbers; raises TraceError where one is missing or there twice."""
    seq = first - 1
    for seq, line in in_order(trace, rows, first):
        yield seq + 1, line
    if end is not None and seq < end:
        raise missing_line(trace, seq + 1)


@dataclass(frozen=True, slots=True)
class _PartCombiner:
    """Combines the parts of traces in a task: rows of _PARTS -> rows of verdicts."""

    cuts: Mapping[str, TraceCuts]
    shipped: ShippedSpecs
    make_stored: MakeStored

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = column_rows(batches, "trace", "part", "source", "verdict")
        for trace, group in itertools.groupby(rows, key=lambda row: row[0]):
            parts = list(group)
            verdict = combined(trace, (msgspec.json.decode(row[3], type=PartVerdict) for row in parts))
            key = spec_key(opened([self.cuts[trace].header], trace).header, trace, self.shipped.switches)
            yield TABLES["verdicts"].batch([self.make_stored(verdict, parts[0][2], self.shipped.hash(key))])
