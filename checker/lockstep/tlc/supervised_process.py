"""Run a child process under supervision: it never outlives the call, nor this process, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from lockstep.base.errors import GaveUpError

_POLL_SECONDS = 0.1
_STDERR_LINE_COUNT = 40

#: The clock time, as a multiple of its processor time, after which a process counts as one that waits for ever.
_PATIENCE = 5

#: A shell that waits for the end of its input, which is that of this process at the latest, and kills its group.
_WATCH = ("/bin/sh", "-c", "read -r _; kill -KILL 0")


# After these the JVM exits with 128 + number; no more of them, because 150 to 153 are TLC's own.
_SIGNALS_THE_JVM_HANDLES = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL})


class ToolMissing(GaveUpError):  # noqa: N818 - it names what happened
    """A tool that TLC needs is absent or unusable; the text says what was found and what to install."""


class ToolDied(GaveUpError):  # noqa: N818 - it names what happened
    """A tool was there, but did not finish in its time."""


class ProcessEnd(StrEnum):
    """The ways in which a supervised process ends."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class FinishedProcess:
    """A process that ended: the way, its exit status (negative for a signal), the last lines of its stderr.

    `spent` is the budget that was spent, of a process that timed out.
    """

    end: ProcessEnd
    status: int
    stderr_tail: tuple[str, ...]
    spent: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """The time that a process may run: in seconds of processor time, of all its threads; in seconds by the clock.

    Processor time is what the work takes, whatever else the machine does. None for no limit; where processor time
    alone is limited, or is unknown, the clock ends the process after several times as long.
    """

    cpu_seconds: float | None = None
    wall_seconds: float | None = None

    def spent(self, cpu_seconds: float | None, wall_seconds: float) -> str:
        """Return which budget is spent after some seconds; "" if none is. Processor time is None if unknown."""
        if self.wall_seconds is not None and wall_seconds >= self.wall_seconds:
            return f"{self.wall_seconds:g} s"
        if self.cpu_seconds is None:
            return ""
        if cpu_seconds is not None and cpu_seconds >= self.cpu_seconds:
            return f"{self.cpu_seconds:g} s of processor time"
        if wall_seconds >= _PATIENCE * self.cpu_seconds:
            return f"{_PATIENCE * self.cpu_seconds:g} s ({_PATIENCE} times its processor time)"
        return ""


NO_LIMIT = Budget()


class Lines:
    """Cut output into lines of text; called with each piece of it, and with an empty one at its end."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        """Take the function to call with each line, without its line break."""
        self._on_line = on_line
        self._pending = b""

    def __call__(self, data: bytes) -> None:
        """Take a piece of output."""
        *lines, self._pending = (self._pending + data).split(b"\n")
        if not data and self._pending:
            lines, self._pending = [self._pending], b""
        for line in lines:
            self._on_line(line.decode("utf-8", errors="replace").removesuffix("\r"))


def run_supervised(
    command: Sequence[str],
    *,
    cwd: Path,
    stderr: Path,
    on_output: Callable[[bytes], None],
    budget: Budget,
    should_stop: Callable[[], bool],
) -> FinishedProcess:
    """Run a command in a process group of its own and hand over its output piece by piece.

    Arguments: `command`, the program and its arguments; `cwd`, where it runs; `stderr`, the file that its stderr goes
    to; `on_output`, called with each piece of stdout, and with an empty one at its end; `budget`, how long it may run;
    `should_stop`, asked ten times a second and after every piece of output.
    Returns how it ended. When it returns or raises, or this process is killed, no process of the group is left.
    Raises ToolMissing when the command cannot be started, OSError when stderr cannot be written.
    """
    with stderr.open("wb") as errors, _group() as group:
        process = _started(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=group,
        )
        try:
            end, spent = _pump(process, on_output, budget, should_stop)
        finally:
            _kill(group)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
    return FinishedProcess(end, process.returncode, _tail(stderr), spent)


@contextlib.contextmanager
def _group() -> Iterator[int]:
    """Open a process group whose processes are killed when the block is left, and when this process is gone.

    The shell in it waits for input from a pipe that only this process has open.
    """
    watcher = _started(
        _WATCH, cwd=Path("/"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield watcher.pid
    finally:
        _kill(watcher.pid)  # before the watcher is reaped, so that the number of the group cannot be given away
        watcher.wait()
        assert watcher.stdin is not None
        watcher.stdin.close()


def _started(
    command: Sequence[str], *, cwd: Path, stdin: int, stdout: int, stderr: int | IO[bytes], process_group: int = 0
) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own, or in one that is there."""
    try:
        return subprocess.Popen(
            command, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, process_group=process_group
        )
    except OSError as error:
        raise ToolMissing(f"{command[0]} cannot be run: {error.strerror}") from error


def _pump(
    process: subprocess.Popen[bytes],
    on_output: Callable[[bytes], None],
    budget: Budget,
    should_stop: Callable[[], bool],
) -> tuple[ProcessEnd, str]:
    """Read stdout until the process is gone, a budget is spent or somebody asks to stop."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    started = asked = time.monotonic()
    is_open = True
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if should_stop():
                return ProcessEnd.CANCELLED, ""
            if (now := time.monotonic()) >= asked + _POLL_SECONDS:
                asked = now
                if spent := budget.spent(_cpu_seconds(process.pid), now - started):
                    return ProcessEnd.TIMED_OUT, spent
            if not is_open:
                if _has_exited(process):
                    return ProcessEnd.EXITED, ""
                time.sleep(_POLL_SECONDS / 10)
                continue
            if not selector.select(_POLL_SECONDS):
                if _has_exited(process):
                    # It may have written since; its end is not waited for, since what it started may hold it open.
                    _drain(descriptor, on_output)
                    on_output(b"")
                    is_open = False
                continue
            data = os.read(descriptor, 1 << 16)
            on_output(data)
            is_open = bool(data)


def _drain(descriptor: int, on_output: Callable[[bytes], None]) -> None:
    """Hand over what a pipe holds now, and wait for no more."""
    left = int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
    while left and (data := os.read(descriptor, left)):
        on_output(data)
        left -= len(data)


def _cpu_seconds(pid: int) -> float | None:
    """Return the processor time that a process has used, all its threads together; None where it is unknown."""
    try:
        # The name of the program stands in brackets, and may have any character.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the process ended, without reaping it."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(group: int) -> None:
    """Kill whatever is left of a group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def killed_by(status: int) -> str | None:
    """Name the signal that killed a JVM, by its exit status; None if none did."""
    number = -status if status < 0 else status - 128
    if status >= 0 and number not in _SIGNALS_THE_JVM_HANDLES:
        return None
    known = {each.value: each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")


def _tail(path: Path) -> tuple[str, ...]:
    """The last lines of a file, read from at most its last 64 KiB."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - (1 << 16)))
        return tuple(file.read().decode("utf-8", errors="replace").splitlines()[-_STDERR_LINE_COUNT:])
