"""Work that may kill its process or never end: in a process of its own, which takes nothing else with it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class DiedError(Exception):
    """A process died of its work, or was killed as it took too long; the message says by what."""


@contextlib.contextmanager
def killed_after(seconds: float) -> Iterator[None]:
    """Let the system kill this process if the block takes longer, whatever it is doing then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def apart(work: Callable[[], T], seconds: float, times: int) -> T:
    """Return what `work` returns, done in a process of its own; where that dies, in another, so many in all.

    Raises DiedError where all die, or one is at it for longer than `seconds`; else what `work` raises.
    """
    for left in reversed(range(times)):
        data, code = _of_child(work, seconds)
        if data:
            found, error = pickle.loads(data)
            if error is not None:
                raise error
            return found  # type: ignore[no-any-return]
        if code == -signal.SIGALRM:
            raise DiedError(f"did not end within {seconds:g} s")
        if not left:
            raise DiedError(f"died, as often as it was tried ({_named(code)})")
    raise AssertionError(times)


def _of_child(work: Callable[[], Any], seconds: float) -> tuple[bytes, int]:
    """Return what a child wrote, and its exit code, or less than 0 the signal that killed it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _work(work, seconds, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    return data, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _work(work: Callable[[], Any], seconds: float, writer: int) -> NoReturn:
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
