"""Recordings of real systems on Spark: each is imported once, and checked with the switches of each of its entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from lockstep.base.errors import BadInputError, EnvironmentFailedError, GaveUpError
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.recordings_manifest import Recording
from lockstep.jobs.spark.spark_check import verdicts_with_spark
from lockstep.systems.system import ImportOptions
from lockstep.systems.trace_files import imported_trace, raw_format
from lockstep.systems.trace_specs import trace_spec, with_switches
from lockstep.trace.imported_trace import Summary
from lockstep.trace.trace_format import write_trace

#: A recording, what its file lacks, and the traces that are made of it, one for each of its entries in the manifest.
_Import: TypeAlias = tuple[Path, ImportOptions, list[tuple[Recording, Path]]]


def check_recordings(
    spark: SparkSession, root: Path, folder: Path, recordings: Sequence[Recording]
) -> Iterator[tuple[Recording, Summary, TraceVerdict]]:
    """Yield each recording with the summary of its import and the verdict on its trace, in their order.

    Arguments: `root`, the folder that the files of the recordings are named from; `folder`, for their traces, which
    Spark's workers reach, too.
    Raises BadInputError and GaveUpError where a recording cannot be imported, OSError where a trace cannot be written.
    """
    imports: dict[tuple[str, ImportOptions], _Import] = {}
    traces = []
    for number, recording in enumerate(recordings):
        traces.append(folder / f"recording_{number}.trace.ndjson")
        options = recording.import_options
        task = imports.setdefault((recording.file, options), (root / recording.file, options, []))
        task[2].append((recording, traces[-1]))
    tasks = list(imports.values())
    results = spark.sparkContext.parallelize(tasks, max(1, len(tasks))).map(_result_of_import).collect()
    summaries: dict[str, Summary] = {}
    for (_, _, entries), result in zip(tasks, results, strict=True):
        if isinstance(result, Exception):
            raise result
        summaries |= {recording.name: result for recording, _ in entries}
    with closing(verdicts_with_spark(spark, traces)) as verdicts:
        for recording, verdict in zip(recordings, verdicts, strict=True):
            yield recording, summaries[recording.name], verdict


def _result_of_import(task: _Import) -> Summary | Exception:
    """Import a recording in a task; an error is returned as it is, since Spark would make one of its own of it."""
    try:
        return _imported(*task)
    except (BadInputError, GaveUpError, EnvironmentFailedError, OSError) as error:
        return error


def _imported(path: Path, options: ImportOptions, entries: Sequence[tuple[Recording, Path]]) -> Summary:
    """Write the trace of a recording for each of its entries, and compile the specs: the driver finds them cached."""
    system, _ = raw_format(path)
    imported = imported_trace(path, options)
    for recording, trace in entries:
        header = with_switches(imported.header, str(path), recording.switches(system))
        write_trace(trace, header, imported.events)
        trace_spec(header, str(path))
    return imported.summary
