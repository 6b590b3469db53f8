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

from lockstep.jobs.spark.spark_session import DEATHS, worker_died

T = TypeVar("T")

#: Work that is done in a process of its own is tried so often: another may find more memory.
TIMES_APART = 2


class DiedError(Exception):
    """A process died of its work, or was killed as it took too long; the message says by what."""


@dataclass(frozen=True, slots=True)
class Care:
    """How a task does work that may kill its process, or never end.

    `seconds` is how long one piece of work may take, None: as long as it does; `apart`: each in a process of its own.
    """

    seconds: float | None = None
    apart: bool = False

    @property
    def is_apart(self) -> bool:
        """Whether work is done in a process of its own: also where Spark tries a task again."""
        context = TaskContext.get()
        return self.apart or (context is not None and context.attemptNumber() > 0)

    def of(self, work: Callable[[], T]) -> T:
        """Return what a piece of work returns; raises what it raises.

        Where it kills its process, or takes too long, that is this process, or where it is done apart DiedError.
        """
        if self.is_apart:
            return apart(work, self.seconds, TIMES_APART)
        with killed_after(self.seconds):
            return work()


def with_care(job: Callable[[Care], T], seconds: float | None = None) -> T:
    """Run a job of Spark; where its workers die, once more with each piece of work in a process of its own.

    Arguments: `job`, given how its tasks are to work; `seconds`, which one piece of work may take.
    """
    try:
        return job(Care(seconds))
    except DEATHS as error:
        if not worker_died(error):
            raise
    return job(Care(seconds, apart=True))


@contextlib.contextmanager
def killed_after(seconds: float | None) -> Iterator[None]:
    """Let the system kill this process if the block takes longer, whatever it is doing then; None: it may."""
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def apart(work: Callable[[], T], seconds: float | None, times: int) -> T:
    """Return what `work` returns, done in a process of its own; where that dies, in another, so many in all.

    Raises DiedError where all die, or one is at it for longer than `seconds`; else what `work` raises.
    """
    for left in reversed(range(times)):
        data, code = _of_child(work, seconds)
        if data and code == 0:  # one that is killed as it answers has written a part
            found, error = pickle.loads(data)
            if error is not None:
                raise error
            return found  # type: ignore[no-any-return]
        if code == -signal.SIGALRM:
            raise DiedError(f"did not end within {seconds:g} s")
        if not left:
            raise DiedError(f"died, as often as it was tried ({_named(code)})")
    raise AssertionError(times)


def _of_child(work: Callable[[], Any], seconds: float | None) -> tuple[bytes, int]:
    """Return what a child wrote, and its exit code, or less than 0 the signal that killed it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _work(work, seconds, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    return data, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _work(work: Callable[[], Any], seconds: float | None, writer: int) -> NoReturn:
    """Do the work in the child, and end it without a word to what its parent has open."""
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        with contextlib.suppress(OSError):  # Where memory runs out, this process goes first.
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        with killed_after(seconds):
            try:
                told = pickle.dumps((work(), None))
            except Exception as error:
                told = pickle.dumps((None, error))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(told)
        code = 0
    finally:
        os._exit(code)


def _named(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    known = {each.value: each.name for each in signal.Signals}
    return known.get(-code, f"signal {-code}")
