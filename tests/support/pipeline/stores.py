"""Stores of the pipeline, filled by the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.trace_store import Batch, TraceStore

RUN = "r"
BATCH = Batch(DECLARED, "b")


def stored(spark: SparkSession, folder: Path, traces: Mapping[str, Sequence[bytes]]) -> TraceStore:
    """A store that has the lines of traces, in one batch, and out of order."""
    store = TraceStore.open(str(folder), create=True)
    store.put_inputs(RUN, "ingest", [BATCH], {})
    rows = [(trace, seq, line, trace, seq + 1) for trace, lines in traces.items() for seq, line in enumerate(lines)]
    frame = spark.createDataFrame(rows[::-1], TABLES["lines"].ddl).repartition(3)
    store.write(frame, "lines", RUN, BATCH)
    return store


def rows_of(spark: SparkSession, store: TraceStore, table: str) -> list[dict[str, Any]]:
    """The rows of a table of the run."""
    found = store.read(spark, table, RUN, store.batches(table, RUN)).drop("run", "variant", "batch")
    return [row.asDict() for row in found.collect()]


def verdicts(spark: SparkSession, store: TraceStore) -> dict[str, dict[str, Any]]:
    """The verdicts of the run by trace, without the time that they took; of each trace there is one."""
    rows = rows_of(spark, store, "verdicts")
    found = {row["trace"]: {**row, "seconds": 0.0} for row in rows}
    assert len(found) == len(rows)
    return found


def write(spark: SparkSession, store: TraceStore, table: str, batch: Batch, *rows: Mapping[str, Any]) -> None:
    """Write a batch that has these rows, one in a file, with null in all other columns."""
    found = [tuple(row.get(name) for name in TABLES[table].schema.names) for row in rows]
    store.write(spark.createDataFrame(found, TABLES[table].ddl).repartition(max(1, len(found))), table, RUN, batch)


def verdict(trace: str) -> dict[str, Any]:
    """The row of a trace that holds."""
    row = {"trace": trace, "spec": "", "verdict": "holds", "judged": "holds", "reason": "", "findings": "[]"}
    return row | {"events": 1, "steps": 1, "observed": 1, "seconds": 1.0}
