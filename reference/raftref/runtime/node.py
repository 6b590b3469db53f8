"""A node that runs: a driver on an event loop, with sockets, a disk, and a file of its steps."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Hashable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from raftref.runtime.driver import NEVER, ClientAnswer, Driver, NodeStep, NoReply, PeerCall, PeerReply

#: Called with a line about what went wrong, or came to an end, outside the protocol.
Log: TypeAlias = Callable[[str], None]


class CallFailedError(Exception):
    """A call to a peer came to nothing: no connection, no answer in time, or none that can be read."""


class ListenError(Exception):
    """A node cannot listen on its address; the message says why."""


class StartError(Exception):
    """A node stays down on what its disk holds, as the real one does; the message says why."""


class StepFile:
    """The file of a node's steps, a line of JSON each, written whole before anything that the step asks for leaves."""

    def __init__(self, path: Path) -> None:
        """Go on with a file, or make it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":  # a process died as it wrote its last line
            os.write(self._file, b"\n")

    def write(self, step: NodeStep) -> None:
        """Write a step; raises OSError, which names the file."""
        fields = {name: getattr(step, name) for name in NodeStep.__dataclass_fields__}
        line = json.dumps(fields, separators=(",", ":")).encode() + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        if written != len(line):
            raise OSError(errno.ENOSPC, f"{written} of {len(line)} bytes of a step were written", str(self._path))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Transport(ABC):
    """The wire of a system: makes calls to peers, and passes on requests as they come."""

    @abstractmethod
    async def call(self, peer: str, call: PeerCall) -> Any:
        """Make a call, and return the answer; raises CallFailedError. A call without a timeout returns None at once."""

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: RunningNode) -> None:
        """Hand the requests of a connection over to the node, and write its answers, until the connection ends.

        What is no request ends the connection with a line in the log, and nothing else.
        """

    @abstractmethod
    def close(self) -> None:
        """Close all connections to peers."""


class RunningNode:
    """Runs a driver: gives it time, requests, answers and clients, and carries out what it asks for.

    Everything happens in one thread, so that the driver sees one event after the other. An error of the driver ends the
    node: nobody knows what is on its disk then, or in which state it is.
    """

    #: Why the node has failed, once it has: nothing is done any more, and its process should end. Set by `start`.
    failed: asyncio.Future[str]

    def __init__(self, driver: Driver, transport: Transport, log: Log) -> None:
        """Make a node that is not started.

        Args:
            driver: Decides what the node does.
            transport: Its wire.
            log: Called with what goes wrong outside the protocol.
        """
        self.driver = driver
        self.transport = transport
        self.log = log
        self._tasks: set[asyncio.Task[None]] = set()
        #: Requests of clients that wait to be handed over together, with the futures of their answers.
        self._asked: list[tuple[asyncio.Future[Any], Any]] = []
        self._wake: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._is_over = False

    # ---- Its life ------------------------------------------------------------------------------------

    async def start(self, host: str, port: int) -> int:
        """Listen, and let the driver come up; return the port.

        Raises:
            ListenError: The address is taken, or is none of this machine.
            StartError: The node stays down on what its disk holds.
            DiskError, OSError or ValueError: Its files cannot be read, or not be written.
        """
        loop = asyncio.get_running_loop()
        self.failed = loop.create_future()
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except (OSError, UnicodeError) as error:  # UnicodeError: a host whose name can be none
            raise ListenError(getattr(error, "strerror", None) or str(error)) from error
        self.driver.start(loop.time())
        if self.driver.failure is not None:
            raise StartError(self.driver.failure)
        self._carry_out()
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Stop, as a process that dies does: nothing is written any more."""
        self._end()
        if self._server is not None:
            self._server.close()
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.transport.close()

    async def __aenter__(self) -> RunningNode:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()

    # ---- Events --------------------------------------------------------------------------------------

    async def request(self, m: Any) -> Any:
        """Hand over a request of a peer, and return the answer, None once it is certain that there will be none."""
        answer = asyncio.get_running_loop().create_future()
        self._drive(lambda now: self.driver.on_request(now, answer, m))
        return await answer

    def request_now(self, m: Any) -> Any:
        """Hand over a request of a peer, which is answered at once or never; return the answer, None if never."""
        answer = asyncio.get_running_loop().create_future()
        self._drive(lambda now: self.driver.on_request(now, answer, m))
        return answer.result() if answer.done() else None

    async def ask(self, request: Any) -> Any:
        """Hand over a client's request, with those that come at the same moment, and return the answer."""
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        if not self._asked:
            loop.call_soon(self._drive_clients)
        self._asked.append((answer, request))
        return await answer

    def _drive_clients(self) -> None:
        """Hand over what clients have asked for together, so that a driver may store it in one write."""
        asked, self._asked = self._asked, []
        if asked:
            self._drive(lambda now: self.driver.on_clients(now, asked))

    def _drive(self, event: Callable[[float], None]) -> None:
        """Give the driver an event, and carry out what it asks for; an error of the driver ends the node."""
        if self._is_over:
            return
        try:
            event(asyncio.get_running_loop().time())
            if self.driver.failure is None:
                self._carry_out()
        except BaseException as error:  # whatever it is, a step may have been taken in part
            self._fail(_described(error))
            if not isinstance(error, Exception):
                raise
            return
        if self.driver.failure is not None:
            self._fail(self.driver.failure)

    def _carry_out(self) -> None:
        """Carry out what the driver asks for, and wake it when something is due."""
        loop = asyncio.get_running_loop()
        for output in self.driver.take_outputs():
            match output:
                case PeerCall():
                    self.spawn(self._call(output))
                case PeerReply(key=key, message=answer) | ClientAnswer(key=key, answer=answer):
                    _set(key, answer)
                case NoReply(key=key):
                    _set(key, None)
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        at = self.driver.next_time()
        if at != NEVER:
            self._wake = loop.call_at(at, self._drive, self.driver.on_time)

    def _fail(self, why: str) -> None:
        self._end()
        self.failed.set_result(why)

    def _end(self) -> None:
        """Give the driver no more events."""
        self._is_over = True
        self._asked = []
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None

    async def _call(self, call: PeerCall) -> None:
        try:
            answer = await self.transport.call(call.peer, call)
        except CallFailedError:
            self._drive(lambda now: self.driver.on_failure(now, call.number))
        else:
            if answer is not None:
                self._drive(lambda now: self.driver.on_answer(now, call.number, answer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._keep(task)
        try:
            await self.transport.serve(reader, writer, self)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the other side is gone, or the node stops; asyncio would log a task of a connection as cancelled
        finally:
            writer.close()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let some work of the transport go on beside others, until the node stops."""
        task = asyncio.get_running_loop().create_task(work)
        self._keep(task)
        return task

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.log(f"an error within the node: {task.exception()!r}")
            task.get_loop().call_exception_handler({"message": "a task died", "exception": task.exception()})


def _set(key: Hashable, answer: Any) -> None:
    """Let whoever waits with a key have the answer, if anyone still does."""
    if isinstance(key, asyncio.Future) and not key.done():
        key.set_result(answer)


def _described(error: BaseException) -> str:
    """Return what failed, and where, in one line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{what} (in {place.name}, line {place.lineno} of {Path(place.filename).name})"
