"""A tap: a proxy in front of each node of a group, which writes a line for each frame and passes all bytes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path

from lockstep.cluster.network_links import Link
from lockstep.systems.running_nodes import Address
from lockstep.systems.wire_format import WireFormat
from lockstep.systems.wire_lines import WireConnection, WireLines


@dataclass(slots=True)
class _WireFile:
    """The file of a tap. Each write has whole lines; what cannot be written is lost, and no connection suffers."""

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


@dataclass(frozen=True, slots=True)
class _WatchedConnection:
    """A connection of a tap: its frames as lines of the file, before their bytes go on."""

    connection: WireConnection
    file: _WireFile

    def opened(self) -> None:
        """Write the begin."""
        self.file.write([self.connection.opened(time.time())])

    def requests(self, data: bytes) -> None:
        """Write the requests of the caller."""
        self.file.write(self.connection.requests(data, time.time()))

    def answers(self, data: bytes) -> None:
        """Write the answers of the node."""
        self.file.write(self.connection.answers(data, time.time()))

    def refused(self, error: OSError) -> None:
        """Write that the node takes no connection."""
        self.file.write([self.connection.refused(time.time(), error.strerror or str(error))])

    def closed(self) -> None:
        """Write the end."""
        self.file.write([self.connection.closed(time.time())])


@dataclass(slots=True)
class WireTap:
    """Proxies in front of nodes.

    `wire` reads the frames. `nodes` are where the nodes listen, and `listen` where the proxy in front of each does.
    """

    wire: WireFormat
    nodes: Mapping[str, Address]
    listen: Mapping[str, Address]
    say: Callable[[str], None]
    _links: list[Link] = field(default_factory=list)

    async def run(self, output: Path, header: bytes, stop: asyncio.Event) -> int:
        """Pass on what comes, and write lines, until `stop` is set; return how many lines were written.

        Arguments: `output`, the file; `header`, its first line.
        Raises OSError where an address cannot be listened on, or the file not be written.
        """
        lines = WireLines(self.wire)
        with output.open("wb", buffering=0) as raw:
            file = _WireFile(raw, self.say)
            file.write([header])
            try:
                for name, address in self.nodes.items():
                    self._links.append(link := Link(address, watch=self._watching(name, lines, file)))
                    host, port = await link.open(*self.listen[name])
                    self.say(f"{name}: {host}:{port} passes on to {address[0]}:{address[1]}")
                await stop.wait()
            finally:
                for link in self._links:
                    link.close()
                await asyncio.gather(*(link.ended() for link in self._links))  # each writes its end
        if file.error is not None:
            raise OSError(file.error.errno, file.error.strerror, str(output))
        return file.lines

    @staticmethod
    def _watching(name: str, lines: WireLines, file: _WireFile) -> Callable[[str], _WatchedConnection]:
        def watch(caller: str) -> _WatchedConnection:
            return _WatchedConnection(lines.open(name, caller), file)

        return watch
