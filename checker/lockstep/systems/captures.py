"""Captures of a network, pcap and pcapng, read as the lines of a tap: TCP streams put together, and cut into frames."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from lockstep.base.errors import BadInputError
from lockstep.base.extras import extra
from lockstep.base.progress import REPORT_INTERVAL, Say, silent
from lockstep.systems.capture_records import MAGIC, DamagedError, ForeignError, Records
from lockstep.systems.running_nodes import Address
from lockstep.systems.wire_format import WireFormat
from lockstep.systems.wire_lines import WireConnection, WireLines
from lockstep.trace.json_lines import UnreadableError

#: What a direction keeps that came before what is missing: more, and it is taken for lost by the capture.
MAX_EARLY_BYTES, MAX_EARLY_SEGMENTS = 1 << 22, 2_000

_SEQUENCE = 1 << 32
_FIN, _SYN, _RST = 0x01, 0x02, 0x04

_LOST = "the capture lacks bytes of this connection"
_CUT = "the capture has packets that are cut short: capture them whole (tcpdump -s 0)"
_MIDDLE = "the capture begins in the middle of this connection, and where a frame begins is not known"


class CaptureError(BadInputError):
    """A file is no capture, or of a kind that is not read; the message names it."""


def is_capture(path: Path) -> bool:
    """Return whether a file is a capture, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in MAGIC


#: A packet of TCP: time, where from, where to, its segment of dpkt, and whether its bytes were cut.
Packet: TypeAlias = tuple[float, Address, Address, Any, bool]


@dataclass(slots=True)
class _Direction:
    """One direction of a connection, in the order of its bytes.

    `next` is the number of the next byte, None before the SYN. `early` are segments that came too early.
    """

    next: int | None = None
    early: dict[int, bytes] = field(default_factory=dict)
    is_over: bool = False

    def take(self, number: int, data: bytes) -> bytes:
        """Take a segment, and return the bytes that follow those before; a copy of earlier ones adds nothing."""
        assert self.next is not None
        if data:
            offset = self._offset(number)
            if offset > 0:
                known = self.early.get(number, b"")
                self.early[number] = max(known, data, key=len)
                return b""
            found = data[-offset:] if -offset < len(data) else b""
            self.next = (self.next + len(found)) % _SEQUENCE
            return found + self._caught_up() if found else b""
        return b""

    def _offset(self, number: int) -> int:
        """Return by how much a number is greater than that of the next byte; negative where it is behind it."""
        assert self.next is not None
        return (number - self.next + _SEQUENCE // 2) % _SEQUENCE - _SEQUENCE // 2

    def _caught_up(self) -> bytes:
        """Return the bytes of segments that were early, and follow now."""
        found = b""
        while ready := [number for number in self.early if self._offset(number) <= 0]:
            for number in sorted(ready, key=self._offset):
                data, behind = self.early.pop(number), -self._offset(number)
                rest = data[behind:]
                found += rest
                self.next = ((self.next or 0) + len(rest)) % _SEQUENCE
        return found

    @property
    def is_lost(self) -> bool:
        """Whether so much came early that what is missing will not come."""
        return len(self.early) > MAX_EARLY_SEGMENTS or sum(map(len, self.early.values())) > MAX_EARLY_BYTES


@dataclass(slots=True)
class _CapturedConnection:
    """A connection to a node, from its caller."""

    lines: WireConnection
    up: _Direction = field(default_factory=_Direction)
    down: _Direction = field(default_factory=_Direction)
    is_open: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the node has not answered the SYN."""
        return not self.is_open and self.up.next is not None

    def packet(self, time: float, segment: Any, *, is_up: bool, is_cut: bool) -> Iterator[bytes]:
        """Yield the lines of a packet."""
        direction = self.up if is_up else self.down
        number = segment.seq
        if not self.is_open and not (is_up and segment.flags & _SYN):
            self.is_open = True
            yield self.lines.opened(time)
        if segment.flags & _SYN:
            number = (number + 1) % _SEQUENCE
            direction.next = number
        if direction.next is None:
            yield from self.lines.give_up(time, _MIDDLE, is_answer=not is_up)
            return
        if is_cut:
            yield from self.lines.give_up(time, _CUT, is_answer=not is_up)
            return
        if data := direction.take(number, bytes(segment.data)):
            yield from (self.lines.requests if is_up else self.lines.answers)(data, time)
        if direction.is_lost:
            direction.early.clear()
            yield from self.lines.give_up(time, _LOST, is_answer=not is_up)
        direction.is_over = direction.is_over or bool(segment.flags & _FIN)

    def end(self, time: float) -> Iterator[bytes]:
        """Yield the lines of its end, or of that of the capture."""
        if not self.is_open:
            yield self.lines.refused(time, "the node has not answered")
            return
        if self.up.early or self.down.early:
            yield from self.lines.give_up(time, _LOST, is_answer=not self.up.early)
        yield self.lines.closed(time)


@dataclass(slots=True)
class Capture:
    """The lines of a capture.

    `nodes` are where the nodes listen, by their names. While `lines` are taken, `packets` counts those to or from a
    node, and `unread` the connections that were given up.
    """

    path: Path
    wire: WireFormat
    nodes: Mapping[str, Address]
    say: Callable[[str], None]
    progress: Say = silent
    packets: int = 0
    connections: int = 0
    unread: int = 0
    _undecoded: int = 0

    def lines(self) -> Iterator[bytes]:
        """Yield the lines in the order of the packets.

        Raises CaptureError where the file is no capture, UnreadableError where it cannot be read.
        """
        by_address = {(str(ipaddress.ip_address(host)), port): name for name, (host, port) in self.nodes.items()}
        wire_lines = WireLines(self.wire)
        open_: dict[tuple[Address, Address], _CapturedConnection] = {}
        time = 0.0
        for time, src, dst, segment, is_cut in self._packets():
            is_up = dst in by_address and not (src in by_address and (dst, src) in open_)
            if not is_up and src not in by_address:
                continue
            self.packets += 1
            key = (src, dst) if is_up else (dst, src)
            is_new = is_up and segment.flags & _SYN and not self._is_repeated(open_.get(key), segment)
            if is_new and key in open_:
                yield from open_.pop(key).end(time)
            if key not in open_:
                if segment.flags & _RST or not (segment.flags & _SYN or segment.data):
                    continue  # of a connection whose end was seen, or that says nothing any more
                self.connections += 1
                caller = f"{key[0][0]}:{key[0][1]}"
                open_[key] = _CapturedConnection(wire_lines.open(by_address[key[1]], caller))
            connection = open_[key]
            if segment.flags & _RST and connection.is_refused:
                yield open_.pop(key).lines.refused(time, "reset")
                continue
            yield from self._counted(connection.packet(time, segment, is_up=is_up, is_cut=is_cut))
            if segment.flags & _RST or (connection.up.is_over and connection.down.is_over):
                yield from self._counted(open_.pop(key).end(time))
        for connection in open_.values():
            yield from self._counted(connection.end(time))

    @staticmethod
    def _is_repeated(connection: _CapturedConnection | None, segment: Any) -> bool:
        """Return whether a SYN is the one that the connection began with, sent once more."""
        if connection is None or connection.up.next is None:
            return False
        return bool(connection.up.next == (segment.seq + 1) % _SEQUENCE)

    def _counted(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.unread += b'"kind":"unreadable"' in line[:100]
            yield line

    # ---- Packets ----

    def _packets(self) -> Iterator[Packet]:
        """Yield the packets of TCP."""
        with extra("capture"):
            import dpkt
        try:
            with self.path.open("rb") as file:
                yield from self._of_file(file, dpkt)
        except OSError as error:
            raise UnreadableError(str(self.path), error) from error

    def _of_file(self, file: BinaryIO, dpkt: Any) -> Iterator[Packet]:
        records, unwrap = Records(file), None
        for time, data in self._captured(records):
            unwrap = unwrap or self._unwrapping(records.link, dpkt)
            try:
                packet = _tcp_in(data, unwrap, dpkt)
            except Exception:  # dpkt raises what struct, or a slice, raises
                self._undecoded += 1
                continue
            if packet is not None:
                yield time, *packet
        self._unwrapping(records.link, dpkt)  # also where there is no packet
        if self._undecoded:
            self.say(
                f"note: {self.path}: {self._undecoded:,} packets could not be decoded, and were passed over: damaged, "
                "in fragments, or of a protocol that is not known"
            )

    def _unwrapping(self, link: int, dpkt: Any) -> Callable[[bytes], Any]:
        """Return what takes a packet out of its frame; raises CaptureError."""
        if link == -1:
            raise CaptureError(f"{self.path}: no capture that can be read: it describes no interface")
        if (unwrap := _unwrapping(link, dpkt)) is None:
            raise CaptureError(f"{self.path}: packets of link type {link} are not read")
        return unwrap

    def _captured(self, records: Records) -> Iterator[tuple[float, bytes]]:
        """Yield the packets as they were captured, and say where the file is damaged."""
        count = 0
        try:
            for time, data in records.packets():
                count += 1
                if count % REPORT_INTERVAL == 0:
                    self.progress(f"{self.path}: packet {count:,}")
                yield time, data
        except ForeignError as error:
            raise CaptureError(f"{self.path}: {error}") from error
        except DamagedError as error:
            if records.link == -1:
                raise CaptureError(f"{self.path}: no capture that can be read: {error}") from error
            how = "ends within a packet," if error.is_short else "is malformed"
            self.say(f"note: {self.path} {how} after packet {count:,}, and was read up to there: {error}")


def _unwrapping(link: int, dpkt: Any) -> Callable[[bytes], Any] | None:
    """Return what takes a packet out of its frame; None for a kind of link that is not known."""
    raw = {12, 14, 101}
    if link in raw:
        return lambda data: dpkt.ip6.IP6(data) if data[:1] and data[0] >> 4 == 6 else dpkt.ip.IP(data)
    known = {
        0: dpkt.loopback.Loopback,
        108: dpkt.loopback.Loopback,
        1: dpkt.ethernet.Ethernet,
        113: dpkt.sll.SLL,
        276: dpkt.sll2.SLL2,
    }
    return None if link not in known else lambda data: known[link](data).data


def _tcp_in(data: bytes, unwrap: Callable[[bytes], Any], dpkt: Any) -> tuple[Address, Address, Any, bool] | None:
    """Return where a packet comes from and goes to, its segment, and whether it was cut; None for anything else.

    Raises any exception where it cannot be decoded.
    """
    packet = unwrap(data)
    segment = packet.data
    if not isinstance(segment, dpkt.tcp.TCP):
        if isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6) and packet.p == dpkt.ip.IP_PROTO_TCP:
            raise ValueError("a packet of TCP without its header")
        return None
    src, dst = (str(ipaddress.ip_address(each)) for each in (packet.src, packet.dst))
    # A packet that the card will cut into several has the length 0.
    has = len(packet) if isinstance(packet, dpkt.ip.IP) else len(packet) - 40
    said = packet.len if isinstance(packet, dpkt.ip.IP) else packet.plen
    return (src, segment.sport), (dst, segment.dport), segment, said > has
