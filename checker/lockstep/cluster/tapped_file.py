"""The file of a tap: its frames are read, and its lines written, in a process of their own."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import RawIOBase
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from lockstep.base.interrupts import SIGNALS
from lockstep.systems.wire_format import WireFormat
from lockstep.systems.wire_lines import WireConnection, WireLines

#: The bytes that may wait for the process that reads them; a connection that has more is read no further.
MAX_WAITING = 256 << 20

BEHIND = "the tap was so far behind with reading that it gave this connection up"


class Opened(NamedTuple):
    """A node has taken a connection, or, where `refused` says why, has not."""

    conn: int
    time: float
    refused: str = ""


class Passed(NamedTuple):
    """Bytes of a connection that have been passed on."""

    conn: int
    time: float
    data: bytes
    is_answer: bool


class GivenUp(NamedTuple):
    """No more of a connection is handed over."""

    conn: int
    time: float
    is_answer: bool


class Closed(NamedTuple):
    """A connection has ended."""

    conn: int
    time: float


class Called(NamedTuple):
    """A caller, HOST:PORT, has connected to the proxy of a node. Connections are numbered from 1 in this order."""

    conn: int
    node: str
    caller: str


Seen = Called | Opened | Passed | GivenUp | Closed


class _Ended(NamedTuple):
    """How the writing ended: the lines that were written, and what went wrong."""

    lines: int
    error: OSError | None


@dataclass(slots=True)
class TappedFile:
    """The way from what a tap sees to the file.

    The tap hands over what it sees in the order in which it passes it on, and waits for nothing: a thread sends it to
    the process that reads the frames, since a large one takes seconds. Where more than `max_waiting` bytes wait,
    connections are given up, each with its line.
    """

    wire: WireFormat
    path: Path
    header: bytes
    say: Callable[[str], None]
    max_waiting: int = MAX_WAITING
    waiting: int = 0
    _queue: SimpleQueue[Seen | None] = field(default_factory=SimpleQueue)
    _threads: list[threading.Thread] = field(default_factory=list)
    _given_up: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: _Ended | None = None

    def open(self) -> None:
        """Write the header, and start the process; raises OSError where the file cannot be written."""
        self.path.write_bytes(self.header)
        here, there = get_context("spawn").Pipe()
        process = get_context("spawn").Process(target=_write, args=(self.wire, self.path, there))
        with _uninterrupted():
            process.start()
        there.close()
        self._threads = [
            threading.Thread(target=self._send, args=(here,), daemon=True),
            threading.Thread(target=self._hear, args=(here, process), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def see(self, seen: Seen) -> None:
        """Hand over what was seen."""
        if isinstance(seen, Passed):
            if seen.conn in self._given_up:
                return
            if self.waiting + len(seen.data) > self.max_waiting:
                self._given_up.add(seen.conn)
                seen = GivenUp(seen.conn, seen.time, seen.is_answer)
            else:
                self._waits(len(seen.data))
        self._queue.put(seen)

    def close(self) -> int:
        """Wait until all that was seen is written, and return the number of lines; raises OSError where it is not."""
        self._queue.put(None)
        for thread in self._threads:
            thread.join()
        if self._ended is None:
            raise OSError(errno.EPIPE, "the process that writes it has died", str(self.path))
        if (error := self._ended.error) is not None:
            raise OSError(error.errno, error.strerror, str(self.path))
        return self._ended.lines + 1

    def _waits(self, count: int) -> None:
        with self._lock:
            self.waiting += count

    def _send(self, to: Connection) -> None:
        """Send what was seen to the process, in order, until there is no more."""
        is_there = True
        while True:
            seen = self._queue.get()
            try:
                if is_there:
                    to.send(seen)
            except OSError:  # the process has died, and the tap goes on
                is_there = False
            if seen is None:
                return
            if isinstance(seen, Passed):
                self._waits(-len(seen.data))

    def _hear(self, of: Connection, process: BaseProcess) -> None:
        """Take what the process says, until it has ended."""
        try:
            while not isinstance(heard := of.recv(), _Ended):
                self.say(heard)
            self._ended = heard
        except (EOFError, OSError):
            self.say("no more is written: the process that writes has died; the connections go on")
        finally:
            process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let a process start that no signal of the terminal reaches: it ends when there is no more to write."""
    resource_tracker.ensure_running()  # which would let signals through again if it were started below
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- In the process ----


@dataclass(slots=True)
class _WireFile:
    """The file. Each write has whole lines; what cannot be written is lost, and no connection suffers."""

    file: RawIOBase
    say: Callable[[str], None]
    lines: int = 0
    error: OSError | None = None

    def write(self, lines: Sequence[bytes]) -> None:
        """Write lines; what went wrong is said once."""
        if not lines or self.error is not None:
            return
        try:
            left = memoryview(b"".join(lines))
            while left:
                left = left[self.file.write(left) :]
            self.lines += len(lines)
        except OSError as error:
            self.error = error
            self.say(f"no more is written: {error.strerror}; the connections go on")


def _write(wire: WireFormat, path: Path, tap: Connection) -> None:
    """Write the lines of what a tap sees, until that ends, or dies."""
    lines, open_ = WireLines(wire), dict[int, WireConnection]()
    with path.open("ab", buffering=0) as raw:
        file = _WireFile(raw, tap.send)
        try:
            while (seen := tap.recv()) is not None:
                file.write(_lines_of(seen, lines, open_))
        except (EOFError, OSError):
            return  # the tap was killed, perhaps while it sent
        tap.send(_Ended(file.lines, file.error))


def _lines_of(seen: Seen, lines: WireLines, open_: dict[int, WireConnection]) -> list[bytes]:
    """Return the lines of what was seen."""
    match seen:
        case Called(number, node, caller):
            open_[number] = lines.open(node, caller)
            return []
        case Opened(number, time, ""):
            return [open_[number].opened(time)]
        case Opened(number, time, why):
            return [open_.pop(number).refused(time, why)]
        case Passed(number, time, data, is_answer):
            read = open_[number].answers if is_answer else open_[number].requests
            return read(data, time)
        case GivenUp(number, time, is_answer):
            return open_[number].give_up(time, BEHIND, is_answer=is_answer)
        case Closed(number, time):
            return [open_.pop(number).closed(time)]
