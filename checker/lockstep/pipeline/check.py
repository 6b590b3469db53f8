"""The trace check as a PySpark job: corpus -> partitions of whole traces -> verdict table."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from lockstep.conformance import Finding, TraceVerdict, check_trace
from lockstep.pipeline.corpus import write_corpus
from lockstep.specs import Switches, spec_key, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.format import Trace, TraceError, read_trace
from lockstep.verdict import Verdict

VERDICTS = pa.schema(
    [
        ("trace", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("events", pa.int64()),
        ("steps", pa.int64()),
        ("seconds", pa.float64()),
        ("findings", pa.string()),
    ]
)
_DDL = "trace string, verdict string, reason string, events bigint, steps bigint, seconds double, findings string"

Sources = dict[tuple[object, ...], str]


def check_with_spark(
    spark: SparkSession, traces: Sequence[Path], switches: Switches | None = None
) -> list[TraceVerdict]:
    """Check traces on a Spark cluster; the verdicts come in the order of `traces`.

    The specs are compiled here and shipped as source, so that a worker needs no Java of its own and no spec
    files. A trace is whole within its partition. A trace that comes back without a verdict is inconclusive.
    """
    switches = switches or {}
    sources = _compiled(traces, switches)
    with tempfile.TemporaryDirectory(prefix="lockstep-corpus-") as folder:
        corpus = Path(folder) / "corpus.parquet"
        write_corpus(traces, corpus)
        partitions = max(1, min(len(traces), 4 * spark.sparkContext.defaultParallelism))
        rows = (
            spark.read.parquet(str(corpus))
            .repartition(partitions, "trace")
            .sortWithinPartitions("trace", "line")
            .mapInArrow(_checker(sources, dict(switches)), _DDL)
            .collect()
        )
    found = {row["trace"]: _verdict(row.asDict()) for row in rows}
    return [found.get(str(trace)) or _missing(trace) for trace in traces]


def _missing(trace: Path) -> TraceVerdict:
    return TraceVerdict(str(trace), Verdict.INCONCLUSIVE, "Spark gave no verdict for this trace")


def _compiled(traces: Iterable[Path], switches: Switches) -> Sources:
    """Compile each spec that the headers ask for; a header that is wrong is left to the check to refuse."""
    sources: Sources = {}
    for path in traces:
        try:
            header = read_trace(path).header
            key = spec_key(header, switches)
            if key not in sources:
                sources[key] = trace_spec(header, str(path), switches).source
        except TraceError:
            continue
    return sources


def _checker(
    sources: Sources, switches: dict[str, Any]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the function that a worker runs over the rows of its partition."""

    def check_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        specs: dict[tuple[object, ...], Spec] = {}
        rows = (
            row
            for batch in batches
            for row in zip(*(batch.column(name).to_pylist() for name in ("trace", "line", "bytes")), strict=True)
        )
        for source, group in itertools.groupby(rows, key=lambda row: row[0]):
            lines = (row[2] for row in group if row[2] is not None)
            verdict = _check_lines(lines, source, sources, switches, specs)
            yield pa.RecordBatch.from_pylist([_row(verdict)], schema=VERDICTS)

    return check_partition


def _check_lines(
    lines: Iterator[bytes],
    source: str,
    sources: Sources,
    switches: dict[str, Any],
    specs: dict[tuple[object, ...], Spec],
) -> TraceVerdict:
    try:
        trace = Trace(lines, source)
        key = spec_key(trace.header, switches)
        if key not in sources:
            trace_spec(trace.header, source, switches)  # raises: it could not be compiled before either
        if key not in specs:
            specs[key] = Spec.from_source(sources[key])
        return check_trace(trace, specs[key])
    except TraceError as error:
        return TraceVerdict(source, Verdict.MALFORMED, str(error))
    except Exception as error:  # One trace must not take the verdicts of all others with it.
        return TraceVerdict(source, Verdict.INCONCLUSIVE, f"internal error: {type(error).__name__}: {error}")


def _row(verdict: TraceVerdict) -> dict[str, Any]:
    return {
        "trace": verdict.source,
        "verdict": str(verdict.verdict),
        "reason": verdict.reason,
        "events": verdict.events,
        "steps": verdict.steps,
        "seconds": verdict.seconds,
        "findings": json.dumps([asdict(finding) for finding in verdict.findings]),
    }


def _verdict(row: dict[str, Any]) -> TraceVerdict:
    findings = [Finding(**{**each, "details": tuple(each["details"])}) for each in json.loads(row.pop("findings"))]
    source, verdict = row.pop("trace"), Verdict(row.pop("verdict"))
    return TraceVerdict(source, verdict, findings=findings, **row)
