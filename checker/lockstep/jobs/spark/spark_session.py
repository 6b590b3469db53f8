"""Starting and stopping Spark, quietly and with nothing left behind."""

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from lockstep.base.errors import GaveUpError
from lockstep.base.interrupts import deferred_interrupts, kept_handlers
from lockstep.base.scratch import lasting, scratch

_LOG_TAIL_BYTES = 2_000

#: Characters of what a task raised, at most; it may name a file by a long path.
MAX_MESSAGE_LENGTH = 1_000

#: The name of an error of lockstep in a traceback, whose message needs nothing besides.
_OWN_ERROR = re.compile(r"^lockstep\.[\w.]+: ")

#: Errors of a call of Spark where a worker, or Spark itself, dies of it.
SPARK_ERRORS = (Py4JError, PySparkException, ConnectionError)

#: The exit code of Java where a task needed more memory than there is (Spark's SparkExitCode.OOM).
_OUT_OF_MEMORY = 52

#: Cores up to which one thread collects Java's garbage: it was measured on two.
MAX_CORES_SERIAL = 4

#: The error of a job that ends because Java does, and how long Java takes for that at most.
_SHUT_DOWN, _PATIENCE_SECONDS = "SparkContext was shut down", 10.0

#: Set where this process has ended the session itself: jobs then report that it was shut down, and Java lives on.
_stopped = threading.Event()

_HADOOP = "spark.hadoop."

#: The words for a file of a table that is damaged.
CANNOT_BE_READ = "cannot be read"


class SparkStartError(GaveUpError):
    """Spark did not start; the message has the last lines it wrote."""


@contextmanager
def spark_session(
    master: str = "local[*]",
    app: str = "lockstep",
    *,
    driver_memory: str = "1g",
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Run Spark for as long as the `with` block lasts.

    Python workers run this interpreter. With a local master nothing listens outside the loopback interface,
    and tables are kept in a temporary folder that goes with the session. With any other master the
    addresses and, if PYSPARK_PYTHON or `spark.pyspark.python` is set, the workers' interpreter are left as
    the cluster has them.

    Spark's Java process lives on until Python ends, so that the next session starts in a second; what it
    writes to its standard error is kept from the terminal.

    Where Spark runs in this process already, as in a notebook, the session is another one of that Spark, with
    settings of its own, and Spark runs on when the block ends.

    Args:
        master: Where Spark runs, as Spark writes it: `local[2]` for two threads here, `local[*]` for all
            cores.
        app: The name under which Spark lists the work.
        driver_memory: The heap of the Java process, with its unit, as `512m` or `1g`. It counts for the first
            session of a Python process only.
        settings: Further Spark settings by name; they win over those made here. Of a Spark that runs already, only
            those that a session can change count, and `master`, `app` and `driver_memory` do not.

    Yields:
        The session.

    Raises:
        SparkStartError: Java is missing or too old, a setting is wrong, or Spark did not start for another
            reason; or what runs in this process is a client of Spark Connect.
    """
    if is_running():
        with _guest_session(settings or {}) as guest:
            yield guest
        return
    is_local = master.startswith("local")
    with scratch("spark") as folder:
        chosen = {
            "spark.driver.memory": driver_memory,
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.showConsoleProgress": "false",
        }
        if not is_submitted():  # there it is where the user of the cluster looks for it
            chosen["spark.ui.enabled"] = "false"
        if is_local:
            chosen["spark.sql.shuffle.partitions"] = "4"
            chosen["spark.driver.bindAddress"] = "127.0.0.1"
            chosen["spark.driver.host"] = "127.0.0.1"
            chosen["spark.sql.warehouse.dir"] = str(folder / "warehouse")
            chosen["spark.local.dir"] = str(folder / "local")
        chosen |= settings or {}
        with _workers_interpreter(chosen, is_forced=is_local), _killed_on_interrupt():
            session = _start(master, app, chosen)
            try:
                yield session
            finally:
                _stop(session)


# ---- A Spark that runs already ----


def is_running() -> bool:
    """Return whether Spark runs in this process already.

    Raises SparkStartError where it is a client of Spark Connect.
    """
    if "SPARK_CONNECT_MODE_ENABLED" in os.environ or "SPARK_REMOTE" in os.environ:
        raise SparkStartError(NO_CONNECT)
    return SparkContext._active_spark_context is not None


#: The reason why a session of Spark Connect is refused.
NO_CONNECT = (
    "this is a session of Spark Connect, which cannot broadcast the compiled specs: use a classic one, as of "
    "SparkSession.builder.master(...), spark-submit, or compute that is dedicated to one user"
)


@contextmanager
def _guest_session(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yield another session of the Spark that runs; where an interrupt ends the block, its jobs are ended."""
    running = SparkSession.builder.getOrCreate()
    session = running.newSession()
    known = session.conf.getAll
    changed = {name: value for name, value in running.conf.getAll.items() if known.get(name) != value}
    for name, value in changed.items():
        session.conf.set(name, value)
    for name, value in settings.items():
        if name.startswith(_HADOOP):  # a session passes all that it has on to Hadoop
            session.conf.set(name.removeprefix(_HADOOP), value)
        elif session.conf.isModifiable(name):
            session.conf.set(name, value)
    try:
        yield session
    except Exception:
        raise
    except BaseException:
        with suppress(*SPARK_ERRORS):
            session.interruptAll()
        raise


def _start(master: str, app: str, settings: Mapping[str, str]) -> SparkSession:
    conf = SparkConf().setMaster(master).setAppName(app).setAll(list(settings.items()))
    _stopped.clear()
    with tempfile.TemporaryFile() as log:
        context = None
        try:
            # Java's own warning and Spark's greeting precede any log level, so the process is started here,
            # with its standard error in a file. A process that is there already goes on as it was started.
            if getattr(SparkContext, "_gateway", None) is None:
                with deferred_interrupts():  # else it would not be known which process to end
                    gateway = launch_gateway(_for_java(conf), {"stderr": log})  # type: ignore[no-untyped-call]
                    SparkContext._ensure_initialized(gateway=gateway, conf=conf)
            with kept_handlers():  # Spark would make a KeyboardInterrupt of Ctrl-C, after asking Java about it
                context = SparkContext(conf=conf)
            context.setLogLevel("ERROR")
            # A worker that died has sent it half of something.
            context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
            return SparkSession(context)
        except Exception as error:
            if context is not None:
                context.stop()
            reason = error.getMessage() if isinstance(error, PySparkException) else str(error)
            raise SparkStartError(f"Spark did not start: {reason}\n{_tail(log)}".rstrip()) from error


def task_slots(spark: SparkSession) -> int:
    """Return how many tasks run at once."""
    return max(1, spark.sparkContext.defaultParallelism)


def _for_java(conf: SparkConf) -> SparkConf:
    """Return the settings that Java is started with: what it unpacks lies in a folder that goes with this process.

    It compiles as for a short run: most of the work is that of Python, and of the rest most is the start. On few cores
    it collects its garbage as for a small heap, unless the settings choose how.
    """
    options = conf.get("spark.driver.extraJavaOptions", "") or ""
    few = (os.cpu_count() or 1) <= MAX_CORES_SERIAL and not re.search(r"-XX:\+Use\w*GC", options)
    tuned = f"-XX:TieredStopAtLevel=1{' -XX:+UseSerialGC' if few else ''}"
    own = f"-Djava.io.tmpdir={lasting('java')} -XX:-UsePerfData {tuned} {options}".strip()
    return SparkConf().setAll(conf.getAll()).set("spark.driver.extraJavaOptions", own)


def _stop(session: SparkSession) -> None:
    _stopped.set()
    try:
        session.stop()
    except SPARK_ERRORS:  # Java is dead: there is nothing to stop, and the next session needs a new one
        _forget_java()


@contextmanager
def _killed_on_interrupt() -> Iterator[None]:
    """Kill Java where an interrupt ends the block: it may be in the middle of an answer, so it is asked no more."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        _forget_java()
        raise


def _forget_java() -> None:
    """Kill Spark's Java process, which takes its workers with it, and let the next session start another."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def describe_failure(error: Exception) -> str:
    """Return a line on why a Spark job ended in an error."""
    text = _text(error)
    code = _exit_code(text)
    if code == _OUT_OF_MEMORY:
        return "Spark's Java process ran out of memory: give it more, as with --conf spark.driver.memory=4g"
    if isinstance(error, ConnectionError | Py4JNetworkError) or code is not None:
        return "Spark's Java process died"
    if _is_of_worker(text):
        return "the Spark worker died"
    if "No space left on device" in text:
        return "no space left on device"
    causes = list(filter(None, re.findall(r"^Caused by: [\w.$]+: (.*)", text, re.MULTILINE)))
    unread = re.search(r"Encountered error while reading file (?:file:/*(?=/))?(\S+)\. ", text)
    if unread is not None:
        file = unquote(unread[1])
        why = (causes or ["it is damaged"])[0].removeprefix(f"file:{file} ")
        return f"{file} {CANNOT_BE_READ}: {why[:MAX_MESSAGE_LENGTH]}"
    # The last line of a Python traceback that begins at the margin has what was raised.
    raised = re.findall(r"^[A-Za-z_][\w.]*: .*", text, re.MULTILINE) if "Traceback" in text else []
    if raised and (own := _OWN_ERROR.match(raised[-1])):
        return str(raised[-1])[own.end() :][:MAX_MESSAGE_LENGTH]
    failed = re.findall(r"most recent failure: .*?executor \S+\): (.*)", text)
    message = [*raised[-1:], *failed, text.strip().partition("\n")[0] or repr(error)][0]
    return f"Spark did not finish: {message[:MAX_MESSAGE_LENGTH]}"


def _exit_code(text: str) -> int | None:
    """Return the exit code of Java, None if it lives; where jobs end because it is about to end, wait for that."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    if _SHUT_DOWN in text and not _stopped.is_set():
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_SECONDS)
    code: int | None = process.poll()
    return code


def worker_died(error: Exception) -> bool:
    """Return whether a Spark job ended because its Python workers died, and Spark itself lives."""
    return not isinstance(error, ConnectionError | Py4JNetworkError) and _is_of_worker(_text(error))


def never_connected(error: Exception) -> bool:
    """Return whether a Spark job ended because a Python process had not started after the ten seconds that Spark waits.

    No setting changes how long that is; on a machine with much else to do another one may be faster.
    """
    return "Python worker failed to connect back" in _text(error)


def _is_of_worker(text: str) -> bool:
    return "Python worker exited unexpectedly" in text or "Python worker failed" in text


def _text(error: Exception) -> str:
    # The error of a stream has no message of its own, and its text ends with the plan of the query.
    text = str(error.getMessage() or error) if isinstance(error, PySparkException) else str(error)
    return text.partition("\n=== Streaming Query ===")[0]


def _tail(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _LOG_TAIL_BYTES))
    return log.read().decode(errors="replace")


@contextmanager
def _workers_interpreter(settings: Mapping[str, str], is_forced: bool) -> Iterator[None]:
    """Set which Python workers run: PySpark reads it from the environment alone, whatever the settings are."""
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    before = {name: os.environ.get(name) for name in names}
    for name in names:
        if is_forced or name not in os.environ:
            os.environ[name] = sys.executable
    if not is_forced and (python := settings.get("spark.pyspark.python")):
        os.environ["PYSPARK_PYTHON"] = python
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def is_submitted() -> bool:
    """Return whether spark-submit started this process."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted_settings() -> dict[str, str]:
    """Return the settings that spark-submit has, where it started this process; nothing where it did not."""
    if not is_submitted():
        return {}
    if getattr(SparkContext, "_gateway", None) is None:
        SparkContext._ensure_initialized()
    return dict(SparkConf(_jvm=SparkContext._jvm).getAll())
