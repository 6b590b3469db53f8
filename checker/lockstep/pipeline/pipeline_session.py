"""The Spark session of the pipeline: its settings, and its workers, which must run the code of the driver."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from lockstep.base.errors import OUT_OF_RESOURCES, GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.spark_session import (
    NO_CONNECT,
    SPARK_ERRORS,
    SparkStartError,
    describe_failure,
    is_running,
    spark_session,
    submitted_settings,
    task_slots,
)

#: All cores, and a task that fails is tried four times: with plain `local[*]` the first failure ends the job.
MASTER = "local[*,4]"

#: The settings; those that are given win, be it to the command or to spark-submit.
SETTINGS: Mapping[str, str] = {
    "spark.driver.memory": "2g",
    "spark.executor.memory": "2g",
    "spark.sql.parquet.compression.codec": "zstd",
    # Lines that a task holds at a time in Python: a line may have 16 MiB, few have more than 1 KiB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    # Lines that are unpacked at a time: 4,096 of the lines of a trace of a million events do not fit in the memory.
    "spark.sql.parquet.columnarReaderBatchSize": "16",
    "spark.python.worker.reuse": "true",
    # The batches under way take turns: a long trace is not to wait for all tasks of batches that were begun before.
    "spark.scheduler.mode": "FAIR",
    # A damaged file, or one that is gone, is an error and not a table with fewer rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}

_SHUFFLE = "spark.sql.shuffle.partitions"


@contextmanager
def pipeline_session(
    master: str | None = None, settings: Mapping[str, str] | None = None, say: Say = silent
) -> Iterator[SparkSession]:
    """Run Spark for the pipeline as long as the block lasts; arguments and exceptions are those of spark_session.

    Where Spark runs in this process already, as in a notebook, that one does the work, and runs on.
    Arguments: `master`, where Spark runs, None for that of spark-submit, or else MASTER; `say`, given when it starts
    and how long that took.
    Raises UnfitWorkersError where workers on other machines lack lockstep, or have another version; GaveUpError where
    the block ends because Spark, or a worker, dies, or the machine has no more space.
    """
    is_guest = is_running()
    given = {} if is_guest else submitted_settings()
    where = master or given.get("spark.master") or MASTER
    if not is_guest:
        say(f"Spark on {where}: starting")
    begin = time.perf_counter()
    chosen = {**SETTINGS, **given, "spark.master": where, **(settings or {})}
    with spark_session(where, "lockstep pipeline", settings=chosen) as spark:
        where = str(spark.sparkContext.master) if is_guest else where
        is_local = where.startswith("local")
        if is_guest or not is_local:
            refuse_unfit(spark)
        if (is_guest or not is_local) and _SHUFFLE not in chosen:  # Spark's 200 take longer than the work of a batch
            spark.conf.set(_SHUFFLE, str(max(4, 2 * task_slots(spark))))
        how = "runs already" if is_guest else f"started in {time.perf_counter() - begin:.1f} s"
        say(f"Spark {spark.version} on {where}: {how}")
        try:
            yield spark
        except SPARK_ERRORS as error:
            raise GaveUpError(describe_failure(error)) from error
        except OSError as error:
            if error.errno not in OUT_OF_RESOURCES:
                raise
            raise GaveUpError(f"{error}; what is finished is kept, and the same command goes on") from error


# ---- Workers ----

_DISTRIBUTION = "lockstep-raft"
_PACKAGES = ("lockstep", "raftref")
_REMEDY = "give them the archive that `make archive` packs, and spark.pyspark.python within it"
_LOCAL_REMEDY = f"set PYSPARK_PYTHON to {sys.executable} before Spark starts"

#: The applications whose workers were found to be fit.
_fit: set[str] = set()


class UnfitWorkersError(GaveUpError):
    """The Python workers of a cluster cannot do the work; the message says why, and what to do."""


def refuse_unfit(spark: SparkSession) -> None:
    """Raise SparkStartError where a session is one of Spark Connect; else as refuse_other_workers, which runs once."""
    if not hasattr(spark, "_jsparkSession"):
        raise SparkStartError(NO_CONNECT)
    application = spark.sparkContext.applicationId
    if application not in _fit:
        refuse_other_workers(spark)
        _fit.add(application)


def refuse_other_workers(spark: SparkSession) -> None:
    """Compare what Python workers run with the driver; an executor that joins later is not asked.

    Raises UnfitWorkersError where they have no lockstep, or another one, or another Python, than the driver.
    """
    context = spark.sparkContext
    remedy = _LOCAL_REMEDY if str(context.master).startswith("local") else _REMEDY
    count = max(2, task_slots(spark))
    try:
        found = set(context.parallelize(range(count), count).mapPartitions(_running_code).collect())
    except SPARK_ERRORS as error:
        raise UnfitWorkersError(f"Spark's workers cannot run lockstep: {describe_failure(error)}; {remedy}") from error
    (mine,) = _running_code(())
    if other := sorted(found - {mine}):
        raise UnfitWorkersError(f"Spark's workers run {' and '.join(other)}, the driver {mine}; {remedy}")


def _running_code(_: object) -> Iterator[str]:
    """Yield what this process runs, in a task or in the driver."""
    python = ".".join(map(str, sys.version_info[:2]))
    yield f"lockstep {version(_DISTRIBUTION)} (its code {_code_hash()}) on Python {python}"


def _code_hash() -> str:
    """Return a hash of the code: two states of a checkout have the same version."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        about = find_spec(package)
        top = Path(about.submodule_search_locations[0]) if about and about.submodule_search_locations else Path()
        for file in sorted(top.rglob("*.py")):
            digest.update(str(file.relative_to(top)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
