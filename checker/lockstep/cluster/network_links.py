"""The links between the nodes of a group: a proxy for each direction, which can be cut, or slowed down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lockstep.systems.running_nodes import Address

#: The bytes that are forwarded at once.
CHUNK = 1 << 16

#: How long connections that were cut have to end by themselves, in seconds, before their tasks are cancelled.
GRACE = 2.0


class LinkWatch(Protocol):
    """A view of a connection of a link: its bytes before they go on, and its end."""

    def opened(self) -> None:
        """See that the callee has taken it."""

    def requests(self, data: bytes) -> None:
        """See what the caller has sent."""

    def answers(self, data: bytes) -> None:
        """See what the callee has sent."""

    def refused(self, error: OSError) -> None:
        """See that the callee takes no connection."""

    def closed(self) -> None:
        """See the end."""


class _Blind:
    """Sees nothing."""

    def opened(self) -> None: ...

    def requests(self, data: bytes) -> None: ...

    def answers(self, data: bytes) -> None: ...

    def refused(self, error: OSError) -> None: ...

    def closed(self) -> None: ...


def _unwatched(_caller: str) -> LinkWatch:
    return _Blind()


@dataclass(slots=True)
class Link:
    """The way from one node to another. What was sent while it is cut is lost with its connection.

    `watch` makes what sees a new connection, given the caller, HOST:PORT.
    """

    target: Address
    is_cut: bool = False
    delay: float = 0.0
    watch: Callable[[str], LinkWatch] = _unwatched
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def open(self, host: str = "127.0.0.1", port: int = 0) -> Address:
        """Listen, on any free port if it is 0, and return the address; raises OSError."""
        self._server = await asyncio.start_server(self._accept, host, port)
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    def cut(self) -> None:
        """End all connections, and accept no data on new ones."""
        self.is_cut = True
        for writer in [*self._writers]:
            writer.transport.abort()

    def heal(self) -> None:
        """Forward again."""
        self.is_cut = False

    def close(self) -> None:
        """Listen no more."""
        self.cut()
        if self._server is not None:
            self._server.close()

    async def ended(self) -> None:
        """Wait after `close` until no connection is left, and each `watch` has seen its end."""
        await asyncio.sleep(0)  # the task of a connection that came just now begins
        if self._tasks:
            _, slow = await asyncio.wait(self._tasks, timeout=GRACE)
            for task in slow:
                task.cancel()
            await asyncio.gather(*slow, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            if self.is_cut:
                return
            watch = self.watch(":".join(map(str, writer.get_extra_info("peername")[:2])))
            try:
                there, back = await asyncio.open_connection(*self.target)
            except OSError as error:
                watch.refused(error)
                return
            self._writers.add(back)
            watch.opened()
            try:
                requests = self._forward(reader, back, watch.requests)
                await asyncio.gather(requests, self._forward(there, writer, watch.answers))
            finally:
                self._writers.discard(back)
                back.close()
                watch.closed()
        except (OSError, asyncio.CancelledError):
            pass  # the connection ends with either side
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, see: Callable[[bytes], None]
    ) -> None:
        while data := await reader.read(CHUNK):
            if self.delay:
                await asyncio.sleep(self.delay)
            if self.is_cut:
                break
            see(data)
            writer.write(data)
            await writer.drain()
        # The other direction goes on: who has no more to say may still be answered.
        if not self.is_cut and writer.can_write_eof() and not writer.is_closing():
            writer.write_eof()


class Links:
    """The links of a group, by sender and receiver."""

    def __init__(self, targets: Mapping[str, Address]) -> None:
        """Make the links between nodes that listen at these addresses."""
        self._targets = dict(targets)
        self._links = {(src, dst): Link(address) for src in targets for dst, address in targets.items() if src != dst}

    async def open(self) -> None:
        """Let all links listen."""
        self.addresses = {pair: await link.open() for pair, link in self._links.items()}

    def seen_from(self, node: str) -> dict[str, Address]:
        """Return where a node reaches each member: itself where it listens, the others by their links."""
        return {dst: self._targets[dst] if dst == node else self.addresses[node, dst] for dst in self._targets}

    def cut_off(self, nodes: Sequence[str]) -> None:
        """Cut some nodes off from all others, and the others from them."""
        for (src, dst), link in self._links.items():
            if (src in nodes) != (dst in nodes):
                link.cut()

    def heal(self) -> None:
        """End all cuts and delays."""
        for link in self._links.values():
            link.heal()
            link.delay = 0.0

    def slow(self, src: str, dst: str, seconds: float) -> None:
        """Delay what a node sends to another, and its answers."""
        self._links[src, dst].delay = seconds

    def close(self) -> None:
        """Close all links."""
        for link in self._links.values():
            link.close()
