"""Starting and stopping Spark, quietly and with nothing left behind."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from lockstep.base.errors import GaveUpError

_LOG_TAIL_BYTES = 2_000


class SparkStartError(GaveUpError):
    """Spark did not start; the message has the last lines it wrote."""


@contextmanager
def spark_session(
    master: str = "local[*]",
    app: str = "lockstep",
    *,
    shuffle_partitions: int = 4,
    driver_memory: str = "1g",
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Run Spark for as long as the `with` block lasts.

    Python workers run this interpreter. With a local master nothing listens beyond the loopback interface,
    and tables are kept in a temporary folder that goes with the session. With any other master the
    addresses and, if PYSPARK_PYTHON is set, the workers' interpreter are left as the cluster has them.

    Spark's Java process lives on until Python ends, so that the next session starts in a second; what it
    writes to its standard error is kept from the terminal.

    Args:
        master: Where Spark runs, as Spark writes it: `local[2]` for two threads here, `local[*]` for all
            cores.
        app: The name under which Spark lists the work.
        shuffle_partitions: How many partitions a shuffle makes.
        driver_memory: The heap of the Java process, with its unit, as `512m` or `1g`. It counts for the first
            session of a Python process only.
        settings: Further Spark settings by name; they win over those made here.

    Yields:
        The session.

    Raises:
        SparkStartError: Java is missing or too old, a setting is wrong, or Spark did not start for another
            reason.
        RuntimeError: A session is already running in this process.
    """
    if SparkSession.getActiveSession() is not None:
        raise RuntimeError("a Spark session is already running in this process; use that one")
    is_local = master.startswith("local")
    with tempfile.TemporaryDirectory(prefix="lockstep-spark-", ignore_cleanup_errors=True) as folder:
        chosen = {
            "spark.driver.memory": driver_memory,
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": str(shuffle_partitions),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        if is_local:
            chosen["spark.driver.bindAddress"] = "127.0.0.1"
            chosen["spark.driver.host"] = "127.0.0.1"
            chosen["spark.sql.warehouse.dir"] = folder
        chosen |= settings or {}
        with _workers_interpreter(is_forced=is_local):
            session = _start(master, app, chosen)
            try:
                yield session
            finally:
                session.stop()


def _start(master: str, app: str, settings: Mapping[str, str]) -> SparkSession:
    conf = SparkConf().setMaster(master).setAppName(app).setAll(list(settings.items()))
    with tempfile.TemporaryFile() as log:
        context = None
        try:
            # Java's own warning and Spark's greeting precede any log level, so the process is started here,
            # with its standard error in a file. A process that is there already goes on as it was started.
            gateway = getattr(SparkContext, "_gateway", None) or launch_gateway(  # type: ignore[no-untyped-call]
                conf, {"stderr": log}
            )
            context = SparkContext(conf=conf, gateway=gateway)
            context.setLogLevel("ERROR")
            return SparkSession(context)
        except Exception as error:
            if context is not None:
                context.stop()
            reason = error.getMessage() if isinstance(error, PySparkException) else str(error)
            raise SparkStartError(f"Spark did not start: {reason}\n{_tail(log)}".rstrip()) from error


def _tail(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _LOG_TAIL_BYTES))
    return log.read().decode(errors="replace")


@contextmanager
def _workers_interpreter(is_forced: bool) -> Iterator[None]:
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    before = {name: os.environ.get(name) for name in names}
    for name in names:
        if is_forced or name not in os.environ:
            os.environ[name] = sys.executable
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
