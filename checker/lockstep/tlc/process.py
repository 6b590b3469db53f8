"""Run a child process under supervision: it never outlives the call, and it never leaves a file behind."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType

_POLL_SECONDS = 0.1
_STDERR_LINE_COUNT = 40


class How(StrEnum):
    """How a supervised process came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process: how, its exit status (negative for a signal), the last lines of its stderr."""

    how: How
    status: int
    stderr_tail: tuple[str, ...]


class Interrupts:
    """The signals that arrived while they were deferred."""

    def __init__(self) -> None:
        """Start with none."""
        self.received: list[int] = []

    def __bool__(self) -> bool:
        """True when a signal arrived."""
        return bool(self.received)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Hold back SIGINT, SIGTERM and SIGHUP, and act on them when the block is left.

    Inside, the signals are only noted, so that no exception can fall between starting a child and knowing its
    id, or into the cleaning up. On leaving, SIGINT raises KeyboardInterrupt and the others SystemExit with
    128 + number. Handlers which the program itself installed are left alone, and outside the main thread
    nothing is changed.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.received.append(number)

    saved = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if handler in (signal.SIG_DFL, signal.default_int_handler):
            saved[number] = signal.signal(number, note)
    try:
        yield interrupts
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
    if signal.SIGINT in interrupts.received:
        raise KeyboardInterrupt
    if interrupts:
        raise SystemExit(128 + interrupts.received[0])


def run_supervised(
    command: Sequence[str],
    *,
    cwd: Path,
    on_line: Callable[[str], None],
    timeout_seconds: float | None,
    should_stop: Callable[[], bool],
) -> Ended:
    """Run a command in a process group of its own and hand over its output line by line.

    Arguments: `command`, the program and its arguments; `cwd`, where it runs and where its stderr is kept;
    `on_line`, called with each line of stdout; `timeout_seconds`, its budget, None for no limit;
    `should_stop`, asked ten times a second and after every piece of output.
    Returns how it ended. When it returns or raises, no process of the group is left.
    Raises OSError when the command cannot be started.
    """
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    stderr_path = cwd / "stderr.txt"
    with stderr_path.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    try:
        how = _pump(process, on_line, deadline, should_stop)
    finally:
        _kill_group(process)
    return Ended(how, process.returncode, _tail(stderr_path))


def _pump(
    process: subprocess.Popen[bytes],
    on_line: Callable[[str], None],
    deadline: float | None,
    should_stop: Callable[[], bool],
) -> How:
    """Read stdout until the process is gone, the deadline has passed or somebody asks to stop."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    pending = b""
    is_open = True
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if should_stop():
                return How.CANCELLED
            if deadline is not None and time.monotonic() >= deadline:
                return How.TIMED_OUT
            if not is_open:
                if _has_exited(process):
                    return How.EXITED
                time.sleep(_POLL_SECONDS / 10)
                continue
            if not selector.select(_POLL_SECONDS):
                is_open = not _has_exited(process)
                continue
            data = os.read(descriptor, 1 << 16)
            *lines, pending = (pending + data).split(b"\n")
            if not data and pending:
                lines, pending = [pending], b""
            for line in lines:
                on_line(line.decode("utf-8", errors="replace").removesuffix("\r"))
            is_open = bool(data)


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the process ended, without reaping it, so that its group id cannot be given away."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the group, then reap its leader and close the pipe."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _tail(path: Path) -> tuple[str, ...]:
    """The last lines of a file, read from at most its last 64 KiB."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - (1 << 16)))
        return tuple(file.read().decode("utf-8", errors="replace").splitlines()[-_STDERR_LINE_COUNT:])
