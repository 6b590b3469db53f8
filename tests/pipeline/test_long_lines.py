"""Long lines, as late in a long trace, fit into the memory that Spark has, on the way to a task too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

LINES, BYTES = 600, 1_000_000

#: It has a Java process of its own, with half of the memory.
SCRIPT = """
import sys
import pyarrow as pa
from pyspark.sql import functions as sql
from lockstep.pipeline.pipeline_session import pipeline_session
from lockstep.pipeline.task_traces import survey, whole_traces

path, lines, size, *settings = sys.argv[1:]

def lengths(batches):
    for batch in batches:
        yield pa.record_batch([[sum(map(len, batch.column("bytes").to_pylist()))]], ["length"])

chosen = dict(each.split("=") for each in settings)
with pipeline_session("local[2,4]", {"spark.driver.memory": "1g", **chosen}) as spark:
    text = f"cast(repeat(cast(id % 10 as string), {size}) as binary) as bytes"
    rows = spark.range(0, int(lines), 1, 2).selectExpr("'t' as trace", "id as seq", text, "'' as source")
    rows.write.parquet(path)
    stored = spark.read.parquet(path)
    known = survey(stored)
    read = whole_traces(stored, known).mapInArrow(lengths, "length bigint").agg(sql.sum("length")).first()
    print(known["t"].lines, len(known["t"].header), read[0])
"""


def read_with(path: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", SCRIPT, str(path), str(LINES), str(BYTES), *settings]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def test_lines_of_a_megabyte_are_read_and_sorted_with_one_gigabyte(tmp_path: Path) -> None:
    found = read_with(tmp_path / "few")
    assert found.stdout.split() == [str(LINES), str(BYTES), str(LINES * BYTES)], found.stderr


def test_as_many_lines_at_a_time_as_spark_would_read_do_not_fit_and_the_error_says_so(tmp_path: Path) -> None:
    """The test above has something to find."""
    found = read_with(tmp_path / "many", "spark.sql.parquet.columnarReaderBatchSize=4096")
    assert found.returncode != 0
    assert "Spark's Java process ran out of memory: give it more" in found.stderr
