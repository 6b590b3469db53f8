"""Cutting traces in Spark: the pass that finds states, the check of the parts, and what they say together.

A part has the lines behind one state up to the next. The rows of a part come together in one task, in order: first the
state that it begins in (of the first part the header), then its lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.jobs.spark.isolated_work import Care, DiedError
from lockstep.jobs.spark.record_tables import RecordTable
from lockstep.pipeline.part_check import Broken, Counts, PartVerdict, check_part
from lockstep.pipeline.part_verdicts import combined
from lockstep.pipeline.shipped_specs import Shipped
from lockstep.pipeline.state_bytes import StateBytesError, unpacked
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.task_traces import in_order, lacking, partitions, slots, told
from lockstep.pipeline.trace_cutting import Cut
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import spec_key, system_of
from lockstep.trace.trace_reader import TracePart

#: So many partitions for each task that can run at once: parts are of one size, but their states are not.
_PARTITIONS_PER_SLOT = 4


@dataclass(frozen=True, slots=True)
class _PartRow:
    """The verdict on a part of a trace, as JSON; `source` is where the trace came from."""

    trace: str
    part: int
    source: str
    verdict: bytes


_PARTS = RecordTable(_PartRow)

#: Makes the row of a trace's verdict: of what was found, its source, and the SHA-256 of the spec.
Tell = Callable[[TraceVerdict, str, str], dict[str, Any]]

_Batches = Iterable[pa.RecordBatch]


def verdicts_in_parts(
    spark: SparkSession,
    rows: DataFrame,
    states: DataFrame,
    cuts: Mapping[str, Cut],
    shipped: Shipped,
    tell: Tell,
    care: Care,
) -> DataFrame:
    """Return the verdicts on traces that are cut.

    Arguments: `rows`, of lines; `states`, of these traces; `cuts`, where each is cut; `tell`, which makes the row of a
    verdict; `care`, with which a part is checked.
    """
    most = _PARTITIONS_PER_SLOT * slots(spark)
    sizes = {(trace, part): size for trace, cut in cuts.items() for part, size in enumerate(cut.sizes())}
    of = partitions({f"{part}:{trace}": size for (trace, part), size in sizes.items()}, most)
    placed = spark.createDataFrame(
        [(trace, part, cuts[trace].begin(part), cuts[trace].end(part), of[f"{part}:{trace}"]) for trace, part in sizes],
        "trace string, part bigint, begin bigint, end bigint, partition int",
    )
    where = sql.broadcast(placed)
    is_in = (sql.col("seq") > sql.col("begin")) | ((sql.col("seq") == 0) & (sql.col("begin") == 0))
    lines = rows.join(where, "trace").where(is_in & (sql.col("end").isNull() | (sql.col("seq") <= sql.col("end"))))
    given = states.join(where, "trace").where("seq = begin and part > 0").withColumn("bytes", sql.col("state"))
    columns = ("trace", "part", "seq", "bytes", "source", "partition")
    together = lines.select(*columns).unionByName(given.withColumn("source", sql.lit("")).select(*columns))
    ordered = together.repartitionById(max(of.values(), default=0) + 1, "partition").drop("partition")
    parts = ordered.sortWithinPartitions("trace", "part", "seq").mapInArrow(_parts(cuts, shipped, care), _PARTS.ddl)
    by_trace = parts.repartition(min(len(cuts), most), "trace").sortWithinPartitions("trace", "part")
    return by_trace.mapInArrow(_together(cuts, shipped, tell), TABLES["verdicts"].ddl)


def _parts(cuts: Mapping[str, Cut], shipped: Shipped, care: Care) -> Callable[[_Batches], Iterator[pa.RecordBatch]]:
    """Make the function that checks parts in a task."""

    def rows(batches: _Batches) -> Iterator[pa.RecordBatch]:
        rows_of = told(batches, "trace", "part", "seq", "bytes", "source")
        for (trace, part), group in itertools.groupby(rows_of, key=lambda row: row[:2]):
            first = next(group)
            lines: Iterator[tuple[int, bytes]] = ((row[2], row[3]) for row in itertools.chain([first], group))
            if care.is_apart:  # another process cannot read on from here
                lines = iter(list(lines))
            try:
                found = care.of(partial(_checked, trace, part, cuts[trace], lines, shipped))
            except DiedError as error:
                found = _died(cuts[trace], part, error)
            yield pa.record_batch([[trace], [part], [first[4]], [msgspec.json.encode(found)]], schema=_PARTS.schema)

    return rows


def _checked(trace: str, part: int, cut: Cut, rows: Iterator[tuple[int, bytes]], shipped: Shipped) -> PartVerdict:
    """Check a part in a task: its first row has the state, of the first part the header."""
    begin, end = cut.begin(part), cut.end(part)
    try:
        whole = opened([cut.header], trace)
        spec = shipped.spec(spec_key(whole.header, trace, shipped.switches), trace)
        interface = system_of(whole.header, trace).interface(spec)
        first = next(rows)
        if first[0] != begin:
            return _lost(trace, begin)
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
        return _broken(begin, Broken(Verdict.INCONCLUSIVE, f"{_state_before(begin)} is not there: {error}"))
    except Exception as error:  # One trace must not take the verdicts of all others with it.
        found = failure(error, trace)
        return _broken(begin, Broken(found.verdict, found.reason))


def _died(cut: Cut, part: int, error: DiedError) -> PartVerdict:
    """Return the verdict on a part whose check killed its process, or took too long."""
    begin, end = cut.begin(part), cut.end(part)
    which = f"lines {begin + 2} to {(cut.lines - 1 if end is None else end) + 1}"
    return _broken(begin, Broken(Verdict.INCONCLUSIVE, f"the check of {which} {error}"))


def _lost(trace: str, begin: int) -> PartVerdict:
    """Return the verdict on a part of which the first row is lost."""
    if begin == 0:
        return _broken(begin, Broken(Verdict.MALFORMED, str(lacking(trace, 0))))
    return _broken(begin, Broken(Verdict.INCONCLUSIVE, f"{_state_before(begin)} is not there"))


def _state_before(begin: int) -> str:
    return f"the state before line {begin + 2}"


def _broken(begin: int, broken: Broken) -> PartVerdict:
    return PartVerdict(begin + 2, begin + 1, Counts(), [], [], None, [], 0.0, broken=broken)


def _numbered(
    trace: str, rows: Iterator[tuple[int, bytes]], first: int, end: int | None
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a part with their numbers; raises TraceError where one is missing or there twice."""
    seq = first - 1
    for seq, line in in_order(trace, rows, first):
        yield seq + 1, line
    if end is not None and seq < end:
        raise lacking(trace, seq + 1)


def _together(cuts: Mapping[str, Cut], shipped: Shipped, tell: Tell) -> Callable[[_Batches], Iterator[pa.RecordBatch]]:
    """Make the function that puts the parts of traces together in a task."""

    def rows(batches: _Batches) -> Iterator[pa.RecordBatch]:
        rows_of = told(batches, "trace", "part", "source", "verdict")
        for trace, group in itertools.groupby(rows_of, key=lambda row: row[0]):
            listed = list(group)
            found = combined(trace, (msgspec.json.decode(row[3], type=PartVerdict) for row in listed))
            key = spec_key(opened([cuts[trace].header], trace).header, trace, shipped.switches)
            row = tell(found, listed[0][2], shipped.hash(key))
            yield pa.RecordBatch.from_pylist([row], schema=TABLES["verdicts"].schema)

    return rows
