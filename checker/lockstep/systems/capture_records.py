"""The records of captures, pcap and pcapng: the packets as they were captured, and how a file ends.

Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

#: How the files begin: pcap in both byte orders, with micro- and nanoseconds, and pcapng.
_PCAP = {
    b"\xa1\xb2\xc3\xd4": (">", 1e6),
    b"\xd4\xc3\xb2\xa1": ("<", 1e6),
    b"\xa1\xb2\x3c\x4d": (">", 1e9),
    b"\x4d\x3c\xb2\xa1": ("<", 1e9),
}
_PCAPNG = b"\x0a\x0d\x0d\x0a"
MAGIC = (*_PCAP, _PCAPNG)

#: The largest record that is taken for one.
MAX_RECORD_BYTES = 1 << 28

_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_RESOLUTION, _OFFSET = 9, 14  # options of an interface
_ORDERS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}


class DamagedError(Exception):
    """A capture goes on with what is none. Its text says why, and `is_short` whether the file ends too early."""

    def __init__(self, why: str, *, is_short: bool = False) -> None:
        super().__init__(why)
        self.is_short = is_short


class ForeignError(Exception):
    """A capture is of a kind that is not read; the text says which."""


@dataclass(slots=True)
class Records:
    """The packets of a file.

    `link` is the type of the links that they crossed, once the first has come.
    """

    file: BinaryIO
    link: int = -1
    #: Of pcapng: what a second of each interface of the section is divided into, and the offset of its times.
    _interfaces: list[tuple[float, int]] = field(default_factory=list)

    def packets(self) -> Iterator[tuple[float, bytes]]:
        """Yield the packets, each with its time in seconds since 1970.

        Raises DamagedError where the file is damaged, ForeignError where it has packets that are not read.
        """
        magic = self._read(4, "its first bytes")
        if magic == _PCAPNG:
            yield from self._of_pcapng()
        elif magic in _PCAP:
            yield from self._of_pcap(*_PCAP[magic])
        else:
            raise ForeignError("it begins with neither pcap nor pcapng")

    def _read(self, size: int, what: str) -> bytes:
        data = self.file.read(size)
        if len(data) < size:
            raise DamagedError(f"{what} has {size:,} bytes, and {len(data):,} are there", is_short=True)
        return data

    def _read_or_end(self, size: int, what: str) -> bytes:
        """Read as `_read` does, or return b"" where the file ends."""
        if not (data := self.file.read(size)):
            return b""
        if len(data) < size:
            raise DamagedError(f"{what} has {size:,} bytes, and {len(data):,} are there", is_short=True)
        return data

    # ---- pcap ----

    def _of_pcap(self, order: str, divisor: float) -> Iterator[tuple[float, bytes]]:
        self.link = struct.unpack(f"{order}I", self._read(20, "the header of the file")[16:])[0] & 0xFFFF
        while header := self._read_or_end(16, "the header of a packet"):
            seconds, fraction, size, _ = struct.unpack(f"{order}4I", header)
            if size > MAX_RECORD_BYTES:
                raise DamagedError(f"a packet has a length of {size:,} bytes")
            yield seconds + fraction / divisor, self._read(size, "a packet")

    # ---- pcapng ----

    def _of_pcapng(self) -> Iterator[tuple[float, bytes]]:
        order, kind = "", _PCAPNG
        while kind:
            size = self._read(4, "the header of a block")
            if kind == _PCAPNG:  # which is the same in both byte orders
                mark = self._read(4, "the header of a section")
                if mark not in _ORDERS:
                    raise DamagedError(f"a section has the byte order {mark.hex()}")
                order, self._interfaces = _ORDERS[mark], []
                self._rest(order, size, read=12)
            else:
                body = self._rest(order, size, read=8)
                try:
                    yield from self._of_block(order, struct.unpack(f"{order}I", kind)[0], body)
                except (struct.error, OverflowError, ZeroDivisionError) as error:
                    raise DamagedError(f"a block of {len(body):,} bytes is too short for its kind") from error
            kind = self._read_or_end(4, "the header of a block")

    def _rest(self, order: str, size: bytes, *, read: int) -> bytes:
        """Return what is left of a block, without its second length."""
        length = struct.unpack(f"{order}I", size)[0]
        if length % 4 or not read + 4 <= length <= MAX_RECORD_BYTES:
            raise DamagedError(f"a block has a length of {length:,} bytes")
        data = self._read(length - read, "the rest of a block")
        if data[-4:] != size:
            again = struct.unpack(f"{order}I", data[-4:])[0]
            raise DamagedError(f"a block has a length of {length:,} bytes at its begin, and {again:,} at its end")
        return data[:-4]

    def _of_block(self, order: str, kind: int, body: bytes) -> Iterator[tuple[float, bytes]]:
        """Yield the packet of a block that has one, and note an interface."""
        if kind == _INTERFACE:
            self._interface(order, body)
        elif kind == _SIMPLE_PACKET:
            raise ForeignError("it has packets without a time (simple packet blocks)")
        elif kind in (_PACKET, _OLD_PACKET):
            number, high, low, size = struct.unpack_from(f"{order}4I" if kind == _PACKET else f"{order}H2x3I", body)
            if number >= len(self._interfaces):
                raise DamagedError(f"a packet is of interface {number}, which is not described")
            if size > len(body) - 20:
                raise DamagedError(f"a packet of {size:,} bytes is in a block with {len(body) - 20:,}")
            divisor, offset = self._interfaces[number]
            yield offset + (high << 32 | low) / divisor, body[20 : 20 + size]

    def _interface(self, order: str, body: bytes) -> None:
        link = struct.unpack_from(f"{order}H", body)[0]
        if self.link not in (-1, link):
            raise ForeignError(
                f"it has interfaces of different link types, {self.link} and {link}: "
                "capture each interface by itself, or all by tcpdump -i any (mergecap and editcap translate none)"
            )
        self.link = link
        divisor, offset, rest = 1e6, 0, body[8:]
        while len(rest) >= 4:
            option, size = struct.unpack_from(f"{order}2H", rest)
            value, rest = rest[4 : 4 + size], rest[4 + size + -size % 4 :]
            if option == 0:
                break
            if option == _RESOLUTION:
                divisor = float((2 if value[0] & 0x80 else 10) ** (value[0] & 0x7F)) if value else divisor
            elif option == _OFFSET:
                offset = struct.unpack(f"{order}q", value)[0]
        self._interfaces.append((divisor, offset))
