"""The trace check in PySpark jobs: traces -> parts, each a table of lines -> verdict tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.jobs.spark.isolated_work import Care, DiedError, with_care
from lockstep.jobs.spark.record_tables import RecordTable
from lockstep.jobs.spark.spark_session import DEATHS, death
from lockstep.systems.trace_files import open_trace, opened
from lockstep.systems.trace_specs import Switches, spec_key, system_of, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import MAX_LINE_BYTES, TraceError, UnreadableError
from lockstep.trace.trace_format import Header

#: The table of verdicts.
VERDICTS = RecordTable(TraceVerdict)

#: The compiled specs by spec_key, as source.
Texts = dict[tuple[object, ...], str]
#: Verdicts by trace.
Verdicts = dict[str, TraceVerdict]
#: The same as Texts, with the error in its place where compiling one ended in an error.
Sources = dict[tuple[object, ...], str | Exception]


def check_with_spark(
    spark: SparkSession, traces: Sequence[Path], switches: Switches | None = None, seconds: float | None = None
) -> list[TraceVerdict]:
    """Check traces on a Spark cluster; the verdicts come in the order of `traces`, as those of verdicts_with_spark."""
    return list(verdicts_with_spark(spark, traces, switches, seconds))


def verdicts_with_spark(
    spark: SparkSession, traces: Sequence[Path], switches: Switches | None = None, seconds: float | None = None
) -> Generator[TraceVerdict, None, None]:
    """Check traces on a Spark cluster, and yield each verdict as soon as it and those before it are there.

    The specs are compiled here and shipped as source, so that a worker needs no Java of its own and no spec
    files. The traces are cut into parts, each a Spark job of its own. A part of which a worker dies is checked again
    with each trace in a process of its own, so that only the trace that it dies of is inconclusive, and so is one whose
    check takes more than `seconds`. A trace that cannot be read, or whose spec cannot be compiled, has its verdict
    without Spark; one that comes back without a verdict is inconclusive.
    """
    switches = switches or {}
    sources: Sources = {}
    found = {str(trace): _before_spark(trace, switches, sources) for trace in traces}
    ready = [Path(source) for source, verdict in found.items() if verdict is None]
    texts = {key: compiled for key, compiled in sources.items() if isinstance(compiled, str)}
    slots = _slots(spark)
    pool = ThreadPoolExecutor(max_workers=slots)
    try:
        jobs: dict[str, Future[Verdicts]] = {}
        for part in _parts(ready, 4 * slots):
            job = pool.submit(_check_part, spark, part, texts, switches, seconds)
            jobs |= dict.fromkeys(map(str, part), job)
        for trace in traces:
            yield found[str(trace)] or jobs[str(trace)].result().get(str(trace)) or _missing(trace)
    finally:  # Where the caller stops asking, the session's end is that of the jobs.
        pool.shutdown(wait=False, cancel_futures=True)


def _slots(spark: SparkSession) -> int:
    """Return how many tasks run at once; 1 where Spark is dead, which its jobs will tell."""
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except DEATHS:
        return 1


def _parts(traces: Sequence[Path], most: int) -> Iterator[Sequence[Path]]:
    """Cut the traces into parts of about the same number, in their order."""
    size = max(1, -(-len(traces) // most))
    for begin in range(0, len(traces), size):
        yield traces[begin : begin + size]


def _check_part(
    spark: SparkSession, traces: Sequence[Path], texts: Texts, switches: Switches, seconds: float | None = None
) -> Verdicts:
    """Let a Spark job check traces whose specs are compiled; return the verdicts that came back, by trace."""
    try:
        with scratch("corpus") as folder:
            corpus = folder / "corpus.parquet"
            write_corpus(traces, corpus)
            lines = spark.read.parquet(str(corpus)).coalesce(1).sortWithinPartitions("trace", "line")
            rows = with_care(
                lambda care: lines.mapInArrow(_checker(texts, dict(switches), care), VERDICTS.ddl).collect(), seconds
            )
    except UnreadableError as error:  # it was readable before
        rest = [trace for trace in traces if str(trace) != error.source]
        others = _check_part(spark, rest, texts, switches, seconds) if rest else {}
        return others | {error.source: failure(error, error.source)}
    except DEATHS as error:
        return {str(trace): TraceVerdict(str(trace), Verdict.INCONCLUSIVE, death(error)) for trace in traces}
    return {row["source"]: VERDICTS.record(row.asDict()) for row in rows}


def _missing(trace: Path) -> TraceVerdict:
    return TraceVerdict(str(trace), Verdict.INCONCLUSIVE, "Spark gave no verdict for this trace")


def _before_spark(trace: Path, switches: Switches, sources: Sources) -> TraceVerdict | None:
    """Read a trace's header and compile its spec into `sources`; return a verdict where it ends here."""
    source = str(trace)
    try:
        header = open_trace(trace).header
        key = spec_key(header, source, switches)
    except (TraceError, UnreadableError) as error:
        return failure(error, source)
    if key not in sources:
        sources[key] = _compiled(header, source, switches)
    compiled = sources[key]
    if isinstance(compiled, TraceError):  # of the first trace that needs this spec
        return failure(compiled.in_trace(source), source)
    return failure(compiled, source) if isinstance(compiled, Exception) else None


def _compiled(header: Header, source: str, switches: Switches) -> str | Exception:
    try:
        return trace_spec(header, source, switches).source
    except Exception as error:  # The traces that need this spec get it as their verdict, the others go on.
        return error


def _checker(
    sources: Texts, switches: dict[str, Any], care: Care
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the function that a worker runs over the rows of its partition."""

    def check_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        specs: dict[tuple[object, ...], Spec] = {}

        def spec_of(key: tuple[object, ...]) -> Spec:
            if key not in specs:
                specs[key] = Spec.from_source(sources[key])
            return specs[key]

        rows = (
            row
            for batch in batches
            for row in zip(*(batch.column(name).to_pylist() for name in ("trace", "line", "bytes")), strict=True)
        )
        for source, group in itertools.groupby(rows, key=lambda row: row[0]):
            lines: Iterable[bytes] = (row[2] for row in group if row[2] is not None)
            if care.is_apart:  # another process cannot read on from here
                lines = list(lines)
            try:
                verdict = care.of(partial(check_lines, lines, source, spec_of, switches))
            except DiedError as error:
                verdict = died(error, source)
            yield pa.RecordBatch.from_pylist([VERDICTS.row(verdict)], schema=VERDICTS.schema)

    return check_partition


def check_lines(
    lines: Iterable[bytes], source: str, spec_of: Callable[[tuple[object, ...]], Spec], switches: Switches
) -> TraceVerdict:
    """Check the trace of these lines in a worker; whatever goes wrong is the verdict of this trace alone.

    Arguments: `source` names it in messages; `spec_of` returns the compiled spec of a spec_key; `switches` replace
    constants of its header.
    """
    try:
        trace = opened(lines, source)
        # It refuses a header before anything is looked up by it.
        spec = spec_of(spec_key(trace.header, source, switches))
        return check_trace(trace, spec, system_of(trace.header, source).interface(spec))
    except Exception as error:  # One trace must not take the verdicts of all others with it.
        return failure(error, source)


def died(error: DiedError, source: str) -> TraceVerdict:
    """Return the verdict on a trace whose check killed its process, or took too long."""
    return TraceVerdict(source, Verdict.INCONCLUSIVE, f"the check of this trace {error}")


SCHEMA = pa.schema(
    [
        pa.field("trace", pa.string(), nullable=False),
        pa.field("line", pa.int64(), nullable=False),
        pa.field("bytes", pa.binary()),
    ]
)
_BATCH_LINES = 10_000


def write_corpus(sources: Iterable[Path], path: Path) -> int:
    """Write the lines of the traces `sources` to the Parquet file `path`; return how many traces there are.

    `line` counts from 1; the one row of an empty file has line 0 and no bytes. Raises UnreadableError where a trace
    cannot be read, OSError where the table cannot be written.
    """
    count = 0
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for source in sources:
            count += 1
            for batch in _batches(source):
                writer.write_batch(batch)
    return count


def _batches(source: Path) -> Iterator[pa.RecordBatch]:
    lines: list[bytes] = []
    first = 1
    for line in _lines(source):
        lines.append(line)
        if len(lines) == _BATCH_LINES:
            yield _batch(source, first, lines)
            first, lines = first + len(lines), []
    if lines:
        yield _batch(source, first, lines)
    elif first == 1:
        yield pa.record_batch([[str(source)], [0], [None]], schema=SCHEMA)


def _lines(source: Path) -> Iterator[bytes]:
    try:
        with source.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                yield line
    except OSError as error:
        raise UnreadableError(str(source), error) from error


def _batch(source: Path, first: int, lines: list[bytes]) -> pa.RecordBatch:
    numbers = range(first, first + len(lines))
    return pa.record_batch([[str(source)] * len(lines), list(numbers), lines], schema=SCHEMA)
