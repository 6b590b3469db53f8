"""The trace check in Spark jobs: traces -> parts, each a table of lines -> verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.conformance.property_evaluation import Evaluation, IncrementalEvaluation
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError, retry_isolated
from lockstep.jobs.spark.record_tables import RecordTable, column_rows, extended
from lockstep.jobs.spark.shipped_specs import Key, ShippedSpecs, SpecShipper
from lockstep.jobs.spark.spark_session import SPARK_ERRORS, describe_failure, task_slots
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import Switches, spec_key, system_of
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import MAX_LINE_BYTES, UnreadableError


class PartTimes(NamedTuple):
    """A part of the protocol, by its kind and name, and the number of steps of a trace that reach it."""

    kind: str
    name: str
    times: int


@dataclass(slots=True, kw_only=True)
class _CoveringVerdict(TraceVerdict):
    """The verdict on a trace with what it reaches, None where that was not asked for."""

    parts: list[PartTimes] | None


#: The table of verdicts.
VERDICTS = RecordTable(TraceVerdict)

#: The same with what the traces reach.
_COVERING = RecordTable(_CoveringVerdict)

#: The columns of the lines of traces. A file without a line has one row, so that no trace can drop out unnoticed.
LINES = pa.schema([("trace", pa.string()), ("number", pa.int64()), ("bytes", pa.binary())])

#: Parts for each task that can run at once.
PARTS_PER_SLOT = 4

_BATCH_LINES = 10_000

#: Verdicts by trace.
Verdicts = dict[str, TraceVerdict]


def check_with_spark(
    spark: SparkSession,
    traces: Sequence[Path],
    switches: Switches | None = None,
    seconds: float | None = None,
    *,
    covers: bool = False,
) -> list[TraceVerdict]:
    """Check traces on a Spark cluster; the verdicts come in the order of `traces`, as those of verdicts_with_spark."""
    return list(verdicts_with_spark(spark, traces, switches, seconds, covers=covers))


def verdicts_with_spark(
    spark: SparkSession,
    traces: Sequence[Path],
    switches: Switches | None = None,
    seconds: float | None = None,
    *,
    covers: bool = False,
) -> Generator[TraceVerdict, None, None]:
    """Check traces on a Spark cluster, and yield each verdict as soon as it and those before it are there.

    The verdicts have what the traces reach if the check `covers` that.

    The specs are compiled here and shipped as source, so that a worker needs no Java of its own and no spec
    files. The traces are cut into parts, each a Spark job of its own. A part that kills a worker is checked again
    with each trace in a process of its own, so that only the trace that it dies of is inconclusive, and so is one whose
    check takes more than `seconds`. A trace that cannot be read has its verdict without Spark; one that comes back
    without a verdict is inconclusive.
    """
    unread: Verdicts = {}
    headers = {}
    for trace in traces:
        try:
            headers[str(trace)] = next(_lines(trace), None)
        except UnreadableError as error:
            unread[str(trace)] = failure(error, str(trace))
    try:
        shipped = SpecShipper(spark, switches or {}, fatal=(), covers=covers).ship(headers.items())
        slots = task_slots(spark)
    except SPARK_ERRORS as error:
        yield from (unread.get(str(trace)) or _inconclusive(trace, describe_failure(error)) for trace in traces)
        return
    pool = ThreadPoolExecutor(max_workers=slots)
    try:
        jobs: dict[str, Future[Verdicts]] = {}
        for part in _parts(list(map(Path, headers)), PARTS_PER_SLOT * slots):
            job = pool.submit(_check_part, spark, part, shipped, seconds)
            jobs |= dict.fromkeys(map(str, part), job)
        for trace in traces:
            verdict = unread.get(str(trace)) or jobs[str(trace)].result().get(str(trace))
            yield verdict or _inconclusive(trace, "Spark gave no verdict for this trace")
    finally:  # Where the caller stops asking, the session's end is that of the jobs.
        pool.shutdown(wait=False, cancel_futures=True)


def _inconclusive(trace: Path, reason: str) -> TraceVerdict:
    return TraceVerdict(str(trace), Verdict.INCONCLUSIVE, reason)


def _parts(traces: Sequence[Path], most: int) -> Iterator[Sequence[Path]]:
    """Cut the traces into parts of about the same number, in their order."""
    size = max(1, -(-len(traces) // most))
    for begin in range(0, len(traces), size):
        yield traces[begin : begin + size]


def _check_part(
    spark: SparkSession, traces: Sequence[Path], shipped: ShippedSpecs, seconds: float | None = None
) -> Verdicts:
    """Check traces in a Spark job; return the verdicts that came back, by trace."""
    try:
        with scratch("lines") as folder:
            file = folder / "lines.parquet"
            write_lines(traces, file)
            lines = spark.read.parquet(str(file)).coalesce(1).sortWithinPartitions("trace", "number")
            rows = retry_isolated(
                lambda isolation: lines.mapInArrow(_checker(shipped, isolation), _COVERING.ddl).collect(), seconds
            )
    except UnreadableError as error:  # it was readable before
        rest = [trace for trace in traces if str(trace) != error.source]
        others = _check_part(spark, rest, shipped, seconds) if rest else {}
        return others | {error.source: failure(error, error.source)}
    except SPARK_ERRORS as error:
        return {str(trace): _inconclusive(trace, describe_failure(error)) for trace in traces}
    return {row["source"]: _verdict_of(row.asDict()) for row in rows}


def _verdict_of(row: Mapping[str, Any]) -> TraceVerdict:
    """Return the verdict of a row, with what the trace reaches."""
    verdict, parts = VERDICTS.record(row), _COVERING.record(row).parts
    verdict.note_reached(None if parts is None else {(each.kind, each.name): each.times for each in parts})
    return verdict


def _checker(
    shipped: ShippedSpecs, isolation: Isolation
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that a worker runs over the rows of its partition."""

    def check_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = column_rows(batches, "trace", "bytes")
        for source, group in itertools.groupby(rows, key=lambda row: row[0]):
            lines: Iterable[bytes] = (line for _, line in group if line is not None)
            if isolation.is_isolated:  # another process cannot read on from here
                lines = list(lines)
            spec_of = partial(shipped.spec, source)
            try:
                verdict = isolation.run(partial(check_lines, lines, source, spec_of, shipped.switches, shipped.covers))
            except WorkDiedError as error:
                verdict = death_verdict(error, source)
            parts = None if verdict.reached is None else [PartTimes(*what, n) for what, n in verdict.reached.items()]
            yield _COVERING.batch([extended(_CoveringVerdict, verdict, parts=parts)])

    return check_partition


def check_lines(
    lines: Iterable[bytes],
    source: str,
    spec_of: Callable[[Key], Spec],
    switches: Switches,
    covers: bool = False,
    evaluation: Callable[[Spec], Evaluation] = IncrementalEvaluation,
) -> TraceVerdict:
    """Check the trace of these lines in a worker; whatever goes wrong is the verdict of this trace alone.

    Arguments: `source` names it in messages; `spec_of` returns the compiled spec of a spec_key; `switches` replace
    constants of its header; `covers`, whether the verdict is to have what the trace reaches, for which the spec must
    have the definitions of coverage; `evaluation` is that of the properties.
    """
    try:
        trace = opened(lines, source)
        # It refuses a header before anything is looked up by it.
        spec = spec_of(spec_key(trace.header, source, switches))
        interface = system_of(trace.header, source).interface(spec)
        return check_trace(trace, spec, interface, evaluation, covers=covers)
    except Exception as error:  # One trace must not take the verdicts of all others with it.
        return failure(error, source)


def death_verdict(error: WorkDiedError, source: str) -> TraceVerdict:
    """Return the verdict on a trace whose check killed its process, or took too long."""
    return TraceVerdict(source, Verdict.INCONCLUSIVE, f"the check of this trace {error}")


# ---- The lines of many traces in one file ----


def write_lines(traces: Iterable[Path], path: Path) -> None:
    """Write the lines of traces to a Parquet file, as they are: a malformed one gets its verdict later.

    Raises UnreadableError where a trace cannot be read, OSError where the file cannot be written.
    """
    with pq.ParquetWriter(path, LINES) as writer:
        for trace in traces:
            lines = _lines(trace)
            first = 1
            while (batch := list(itertools.islice(lines, _BATCH_LINES))) or first == 1:
                rows: list[bytes | None] = [*batch] or [None]
                columns = [[str(trace)] * len(rows), list(range(first, first + len(rows))), rows]
                writer.write_batch(pa.record_batch(columns, schema=LINES))
                first += len(rows)


def _lines(trace: Path) -> Iterator[bytes]:
    try:
        with trace.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                yield line
    except OSError as error:
        raise UnreadableError(str(trace), error) from error
