"""The Spark session of the pipeline: its settings, and a word on how it starts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.session import spark_session

#: All cores, and a task that fails is tried four times: by plain `local[*]` the first failure ends the job.
MASTER = "local[*,4]"

#: The settings; those that are given win.
SETTINGS: Mapping[str, str] = {
    "spark.driver.memory": "2g",
    "spark.executor.memory": "2g",
    "spark.sql.parquet.compression.codec": "zstd",
    # A task holds so many lines at a time in Python: a line may have 16 MiB, few have more than 1 KiB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.python.worker.reuse": "true",
    # A damaged file, or one that is gone, is an error and not a table with fewer rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}


@contextmanager
def pipeline_session(
    master: str = MASTER, settings: Mapping[str, str] | None = None, say: Say = silent
) -> Iterator[SparkSession]:
    """Run Spark for the pipeline as long as the block lasts; arguments and exceptions are those of spark_session.

    Arguments: `say`, told when it starts and how long that took.
    """
    say(f"Spark on {master}: starting")
    begin = time.perf_counter()
    chosen = {**SETTINGS, **(settings or {})}
    with spark_session(master, "lockstep pipeline", settings=chosen) as spark:
        say(f"Spark {spark.version} on {master}: started in {time.perf_counter() - begin:.1f} s")
        yield spark
