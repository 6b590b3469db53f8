"""Temporary folders, removed at the end of the process, or by the next run where it was killed.

The folder of a process has a locked file, since a lock ends with its process, however that ends. (A process id alone
would not do: it is given away again, and containers that share a folder do not share their ids.)
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lockstep.base.errors import EnvironmentFailedError
from lockstep.base.interrupts import deferred_interrupts

PREFIX = "lockstep-run-"
_LOCK = "lock"

#: A folder without a locked file may still be in the making for this many seconds.
_YOUNG_SECONDS = 60

_PROBE_BYTES = 1 << 18


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """Make a temporary folder, and remove it with all that is in it when the block is left.

    Arguments: `purpose`, the begin of its name.
    Raises EnvironmentFailedError where it cannot be made.
    """
    folder: Path | None = None
    try:
        with deferred_interrupts():
            folder = _RUN.make(purpose)
        yield folder
    finally:
        with deferred_interrupts():
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
                _RUN.left()


def lasting(purpose: str) -> Path:
    """Make a temporary folder that goes at the end of this process; arguments and exceptions are those of scratch."""
    return _RUN.make(purpose)


def disk_full_reason(folder: Path) -> str | None:
    """Return why nothing more can be written into a folder, if that is so: a tool that died of it may not say so."""
    probe = folder / "probe"
    try:
        probe.write_bytes(bytes(_PROBE_BYTES))
    except OSError as error:
        return f"{error.strerror or error}"
    finally:
        probe.unlink(missing_ok=True)
    return None


class _ProcessFolder:
    """The folder of this process, which is there as long as folders within it are."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open = 0
        self._folder: Path | None = None
        self._lock: int | None = None
        self._owner = os.getpid()

    def make(self, purpose: str) -> Path:
        with self._guard:
            self._forget_parent()
            try:
                if self._folder is None:
                    self._begin()
                assert self._folder is not None
                made = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=self._folder))
            except OSError as error:
                raise EnvironmentFailedError(f"no temporary folder can be made: {error}") from error
            self._open += 1
            return made

    def left(self) -> None:
        with self._guard:
            self._open -= 1
            if self._open == 0:
                self._end()

    def end(self) -> None:
        """Remove whatever is left, at the end of the process that made it."""
        if self._owner == os.getpid():
            self._end()

    def _forget_parent(self) -> None:
        """After a fork the folder is that of the parent."""
        if self._owner != os.getpid():
            self._owner, self._folder, self._lock, self._open = os.getpid(), None, None, 0

    def _begin(self) -> None:
        top = Path(tempfile.gettempdir())
        remove_stale(top)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=top))
        try:
            self._lock = _locked(self._folder)
        except OSError:
            self._end()
            raise

    def _end(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path) -> int:
    """Make the locked file of a folder: under its name it is locked from the first moment on."""
    fresh = folder / f"{_LOCK}.new"
    lock = os.open(fresh, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    with suppress(OSError):  # a file system without locks: nobody will find it unlocked either
        fcntl.flock(lock, fcntl.LOCK_EX)
    fresh.rename(folder / _LOCK)
    return lock


_RUN = _ProcessFolder()
atexit.register(_RUN.end)


def remove_stale(top: Path) -> None:
    """Remove the folders of our own processes that were killed."""
    for folder in top.glob(f"{PREFIX}*"):
        try:
            about = folder.lstat()
            if about.st_uid == os.getuid() and folder.is_dir() and _is_stale(folder, about.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # somebody else was faster, or it is none of ours
            continue


def _is_stale(folder: Path, changed: float) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - changed > _YOUNG_SECONDS
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
