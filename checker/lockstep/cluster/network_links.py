"""The links between the nodes of a group: a proxy for each direction, which can be cut, or slowed down."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockstep.systems.running_nodes import Address

#: The bytes that are forwarded at once.
CHUNK = 1 << 16


@dataclass(slots=True)
class Link:
    """The way from one node to another. What was sent while it is cut is lost with its connection."""

    target: Address
    is_cut: bool = False
    delay: float = 0.0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def open(self) -> Address:
        """Listen, and return the address."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
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

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self.is_cut:
                return
            there, back = await asyncio.open_connection(*self.target)
            self._writers.add(back)
            try:
                await asyncio.gather(self._forward(reader, back), self._forward(there, writer))
            finally:
                self._writers.discard(back)
                back.close()
        except (OSError, asyncio.CancelledError):
            pass  # the connection ends with either side
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK):
            if self.delay:
                await asyncio.sleep(self.delay)
            if self.is_cut:
                break
            writer.write(data)
            await writer.drain()
        writer.close()


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
