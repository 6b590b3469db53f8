"""Work that may kill its process or never end: in a process of its own, which takes nothing else with it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pyspark import TaskContext

from lockstep.jobs.spark.spark_session import SPARK_ERRORS, worker_died

T = TypeVar("T")

#: Attempts at work in a process of its own: another may find more memory.
MAX_ATTEMPTS = 2


class WorkDiedError(Exception):
    """A process died of its work, or was killed as it took too long; the message names the cause."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The way in which a task does work that may kill its process, or never end.

    `seconds` is how long one piece of work may take, None: any time; `is_always`: each in a process of its own.
    """

    seconds: float | None = None
    is_always: bool = False

    @property
    def is_isolated(self) -> bool:
        """Whether work is done in a process of its own: also where Spark tries a task again."""
        context = TaskContext.get()
        return self.is_always or (context is not None and context.attemptNumber() > 0)

    def run(self, work: Callable[[], T]) -> T:
        """Return what a piece of work returns; raises what it raises.

        If it kills its process, or takes too long, that is this process, or where it is isolated, WorkDiedError.
        """
        if self.is_isolated:
            return run_isolated(work, self.seconds)
        with killed_after(self.seconds):
            return work()


def retry_isolated(job: Callable[[Isolation], T], seconds: float | None = None) -> T:
    """Run a job of Spark; where its workers die, once more with each piece of work in a process of its own.

    Arguments: `job`, given the isolation of its tasks; `seconds`, which one piece of work may take.
    """
    try:
        return job(Isolation(seconds))
    except SPARK_ERRORS as error:
        if not worker_died(error):
            raise
    return job(Isolation(seconds, is_always=True))


@contextlib.contextmanager
def killed_after(seconds: float | None) -> Iterator[None]:
    """Let the system kill this process if the block takes longer, whatever it is doing then; None: never."""
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_isolated(work: Callable[[], T], seconds: float | None = None, attempts: int = MAX_ATTEMPTS) -> T:
    """Return what `work` returns, done in a process of its own; where that dies, in another.

    Raises WorkDiedError where all die, or one takes longer than `seconds`; else what `work` raises.
    """
    for left in reversed(range(attempts)):
        data, code = _run_child(work, seconds)
        if data and code == 0:  # one that is killed as it answers has written a part
            result, error = pickle.loads(data)
            if error is not None:
                raise error
            return result  # type: ignore[no-any-return]  # pickle does not know the type
        if code == -signal.SIGALRM:
            raise WorkDiedError(f"did not end within {seconds:g} s")
        if not left:
            raise WorkDiedError(f"died, as often as it was tried ({_cause(code)})")
    raise AssertionError(attempts)


def _run_child(work: Callable[[], Any], seconds: float | None) -> tuple[bytes, int]:
    """Return what a child wrote, and its exit code, or less than 0 the signal that killed it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _work_and_exit(work, seconds, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    return data, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _work_and_exit(work: Callable[[], Any], seconds: float | None, writer: int) -> NoReturn:
    """Do the work in the child, and end it without a word to what its parent has open."""
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        with contextlib.suppress(OSError):  # Where memory runs out, this process goes first.
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        with killed_after(seconds):
            try:
                answer = pickle.dumps((work(), None))
            except Exception as error:
                answer = pickle.dumps((None, error))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
        code = 0
    finally:
        os._exit(code)


def _cause(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    names = {each.value: each.name for each in signal.Signals}
    return names.get(-code, f"signal {-code}")
