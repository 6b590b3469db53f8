"""A tap: a proxy in front of each node of a group, which writes a line for each frame and passes all bytes on."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.cluster.network_links import Link
from lockstep.cluster.tapped_file import MAX_WAITING, Called, Closed, Opened, Passed, TappedFile
from lockstep.systems.running_nodes import Address
from lockstep.systems.wire_format import WireFormat


@dataclass(frozen=True, slots=True)
class _WatchedConnection:
    """A connection of a tap: its bytes are handed over to the file before they go on."""

    number: int
    file: TappedFile

    def opened(self) -> None:
        """See the begin."""
        self.file.see(Opened(self.number, time.time()))

    def requests(self, data: bytes) -> None:
        """See requests of the caller."""
        self.file.see(Passed(self.number, time.time(), data, is_answer=False))

    def answers(self, data: bytes) -> None:
        """See answers of the node."""
        self.file.see(Passed(self.number, time.time(), data, is_answer=True))

    def refused(self, error: OSError) -> None:
        """See that the node takes no connection."""
        self.file.see(Opened(self.number, time.time(), error.strerror or str(error)))

    def closed(self) -> None:
        """See the end."""
        self.file.see(Closed(self.number, time.time()))


@dataclass(slots=True)
class WireTap:
    """Proxies in front of nodes.

    `wire` reads the frames. `nodes` are where the nodes listen, and `listen` where the proxy in front of each does.
    `max_waiting` is how many bytes may be passed on that were not read yet.
    """

    wire: WireFormat
    nodes: Mapping[str, Address]
    listen: Mapping[str, Address]
    say: Callable[[str], None]
    max_waiting: int = MAX_WAITING
    _links: list[Link] = field(default_factory=list)

    async def run(self, output: Path, header: bytes, stop: asyncio.Event) -> int:
        """Pass on what comes, and write lines, until `stop` is set; return how many lines were written.

        Arguments: `output`, the file; `header`, its first line.
        Raises OSError where an address cannot be listened on, or the file not be written.
        """
        file, numbers = TappedFile(self.wire, output, header, self.say, self.max_waiting), itertools.count(1)
        file.open()
        try:
            for name, address in self.nodes.items():
                self._links.append(link := Link(address, watch=self._watching(name, numbers, file)))
                host, port = await link.open(*self.listen[name])
                self.say(f"{name}: {host}:{port} passes on to {address[0]}:{address[1]}")
            await stop.wait()
        finally:
            for link in self._links:
                link.close()
            await asyncio.gather(*(link.ended() for link in self._links))  # each hands over its end
            lines = await asyncio.to_thread(file.close)
        return lines

    @staticmethod
    def _watching(name: str, numbers: Iterator[int], file: TappedFile) -> Callable[[str], _WatchedConnection]:
        def watch(caller: str) -> _WatchedConnection:
            number = next(numbers)
            file.see(Called(number, name, caller))
            return _WatchedConnection(number, file)

        return watch
