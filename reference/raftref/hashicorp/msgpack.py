"""MessagePack as go-msgpack writes it by default: its old format, in which texts and bytes are both `raw`.

What is read may be in the newer format as well. A value that comes in pieces is looked through by a `Scan`, which goes
on where it stopped, and takes no memory for what a length only promises.

Source: go-msgpack v2, codec/msgpack.go with MsgpackHandle{}.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from raftref.wire_error import WireError, shown

#: The size of the longest value. The library has no limit of its own.
MAX_VALUE_BYTES = 64 * 1024 * 1024
#: The most values within a value: an empty map is one byte on the wire, and 64 in memory.
MAX_VALUES = 1 << 20
#: The most arrays and maps around a value. A request has three: its map, its entries, an entry.
MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Extension:
    """A value of a type that the application defines; a time of the newer format has type -1."""

    type: int
    data: bytes


class Signed(int):
    """An integer of a signed type of Go, which is written in a signed form also if it is positive."""

    __slots__ = ()


class _Kind(StrEnum):
    CONSTANT = "a constant"
    NUMBER = "a number"
    RAW = "a raw"
    ARRAY = "an array"
    MAP = "a map"
    EXTENSION = "an extension"


_CONSTANTS: dict[int, bool | None] = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = {
    **{0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"},
    **{0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"},
    **{0xCA: ">f", 0xCB: ">d"},
}
#: What follows a head byte whose length is written out: its kind, and how many bytes its length has.
_SIZED = {
    **{0xC4: (_Kind.RAW, 1), 0xC5: (_Kind.RAW, 2), 0xC6: (_Kind.RAW, 4)},
    **{0xD9: (_Kind.RAW, 1), 0xDA: (_Kind.RAW, 2), 0xDB: (_Kind.RAW, 4)},
    **{0xDC: (_Kind.ARRAY, 2), 0xDD: (_Kind.ARRAY, 4), 0xDE: (_Kind.MAP, 2), 0xDF: (_Kind.MAP, 4)},
    **{0xC7: (_Kind.EXTENSION, 1), 0xC8: (_Kind.EXTENSION, 2), 0xC9: (_Kind.EXTENSION, 4)},
}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


@dataclass(frozen=True, slots=True)
class _Head:
    """The begin of a value: what it is, where its content begins, and how many bytes or elements that has."""

    kind: _Kind
    content: int
    size: int

    @property
    def content_bytes(self) -> int:
        """The bytes of its content, without its elements, which are values of their own."""
        if self.kind in (_Kind.ARRAY, _Kind.MAP):
            return 0
        return self.size + (self.kind is _Kind.EXTENSION)  # The type of an extension is a byte before its content.

    @property
    def elements(self) -> int:
        """The values within it: two for each key of a map."""
        return {_Kind.ARRAY: 1, _Kind.MAP: 2}.get(self.kind, 0) * self.size


def _head_at(data: bytes | bytearray, at: int) -> _Head | None:
    """Return the head of the value at a place; None where its bytes have not all come; raises WireError."""
    if at >= len(data):
        return None
    first = data[at]
    if first <= 0x7F or first >= 0xE0:
        return _Head(_Kind.NUMBER, at, 1)
    if first <= 0x8F:
        return _Head(_Kind.MAP, at + 1, first & 0x0F)
    if first <= 0x9F:
        return _Head(_Kind.ARRAY, at + 1, first & 0x0F)
    if first <= 0xBF:
        return _Head(_Kind.RAW, at + 1, first & 0x1F)
    if first in _CONSTANTS:
        return _Head(_Kind.CONSTANT, at + 1, 0)
    if first in _NUMBERS:
        return _Head(_Kind.NUMBER, at + 1, struct.calcsize(_NUMBERS[first]))
    if first in _FIXED_EXTENSIONS:
        return _Head(_Kind.EXTENSION, at + 1, _FIXED_EXTENSIONS[first])
    if first not in _SIZED:
        raise WireError(f"no value of MessagePack begins with {first:#x}")
    kind, width = _SIZED[first]
    if at + 1 + width > len(data):
        return None
    return _Head(kind, at + 1 + width, int.from_bytes(data[at + 1 : at + 1 + width], "big"))


class Scan:
    """A walk over the bytes of one value, which may come in pieces."""

    def __init__(self, start: int = 0) -> None:
        """Begin at an offset."""
        self._start = self._at = start
        #: How many values are still to come in each array and map around the next one.
        self._left = [1]
        self._values = 0

    def end_in(self, data: bytes | bytearray) -> int | None:
        """Go on in the bytes that have come, those of the last call first.

        Returns:
            The offset behind the value; None where it is not complete.

        Raises:
            WireError: It is no value, or longer, larger or deeper than a value may be.
        """
        while self._left:
            head = _head_at(data, self._at)
            if head is None:
                return None
            end, values = head.content + head.content_bytes, self._values + head.elements
            if end - self._start > MAX_VALUE_BYTES or values > MAX_VALUES:
                raise WireError(f"a message is too long: it has {head.kind} of {head.size}")
            if head.elements and len(self._left) > MAX_DEPTH:
                raise WireError(f"a message is nested deeper than {MAX_DEPTH}")
            if end > len(data):
                return None
            self._values = values
            self._at = end
            self._left[-1] -= 1
            if head.elements:
                self._left.append(head.elements)
            while self._left and self._left[-1] == 0:
                self._left.pop()
        return self._at


def unpack(data: bytes) -> Any:
    """Read a value: None, a bool, a number, bytes, a list, a dict with texts as keys, or an Extension.

    Args:
        data: All its bytes. What follows it is ignored, as in Go.

    Raises:
        WireError: It is no value, or not complete, or too large; or a key is no text.
    """
    if Scan().end_in(data) is None:
        raise WireError(f"a value of MessagePack ends after {len(data)} bytes, before its end")
    return _unpack(data, 0)[0]


def _unpack(data: bytes, at: int) -> tuple[Any, int]:
    """Return the value at a place, and where it ends; a Scan has been over it."""
    head = _head_at(data, at)
    assert head is not None
    end = head.content + head.content_bytes
    match head.kind:
        case _Kind.CONSTANT:
            return _CONSTANTS[data[at]], end
        case _Kind.NUMBER:
            return struct.unpack_from(_NUMBERS.get(data[at], ">b"), data, head.content)[0], end
        case _Kind.RAW:
            return data[head.content : end], end
        case _Kind.EXTENSION:
            (type_,) = struct.unpack_from(">b", data, head.content)
            return Extension(type_, data[head.content + 1 : end]), end
        case _Kind.ARRAY:
            values = []
            for _ in range(head.size):
                value, end = _unpack(data, end)
                values.append(value)
            return values, end
        case _Kind.MAP:
            fields = {}
            for _ in range(head.size):
                key, end = _unpack(data, end)
                fields[to_text(key, "a key")], end = _unpack(data, end)
            return fields, end


def to_text(value: object, what: str) -> str:
    """Return the text of a `raw`; raises WireError where it is none, or no UTF-8."""
    if not isinstance(value, bytes):
        raise WireError(f"{what} is no text: {shown(value)}")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise WireError(f"{what} is no UTF-8: {shown(value)}") from None


# ---- Writing ----


def pack(value: Any) -> bytes:
    """Return the bytes of a value.

    Args:
        value: None, a bool, an integer from 0 to 2**64 - 1, a Signed, a text, bytes, a list, or a dict; its keys are
            written in their order, as Go sorts the fields of a struct.

    Raises:
        WireError: An integer is out of range, or a text is no Unicode.

    Source: msgpackEncDriver with WriteExt and PositiveIntUnsigned unset.
    """
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case Signed():
            return _pack_signed(value)
        case int():
            return _pack_unsigned(value)
        case str():
            try:
                return pack(value.encode("utf-8"))
            except UnicodeEncodeError as error:
                raise WireError(f"a text is no Unicode: {error.reason}") from None
        case bytes():
            return _pack_head(0xA0, 0x20, 0xDA, len(value)) + value
        case list():
            return _pack_head(0x90, 0x10, 0xDC, len(value)) + b"".join(map(pack, value))
        case dict():
            fields = b"".join(pack(name) + pack(value[name]) for name in sorted(value))
            return _pack_head(0x80, 0x10, 0xDE, len(value)) + fields
        case _:
            raise TypeError(f"a message has no {type(value).__name__}")


def _pack_unsigned(value: int) -> bytes:
    if 0 <= value <= 0x7F:
        return bytes([value])
    for width, code in ((1, 0xCC), (2, 0xCD), (4, 0xCE), (8, 0xCF)):
        if 0 <= value < 1 << 8 * width:
            return bytes([code]) + value.to_bytes(width, "big")
    raise WireError(f"{shown(value)} is no unsigned 64-bit integer")


def _pack_signed(value: int) -> bytes:
    if -0x20 <= value <= 0x7F:
        return value.to_bytes(1, "big", signed=True)
    for width, code in ((1, 0xD0), (2, 0xD1), (4, 0xD2), (8, 0xD3)):
        if -(1 << 8 * width - 1) <= value < 1 << 8 * width - 1:
            return bytes([code]) + value.to_bytes(width, "big", signed=True)
    raise WireError(f"{shown(int(value))} is no 64-bit integer")


def _pack_head(short: int, short_limit: int, long: int, size: int) -> bytes:
    """Return the head of a raw, an array or a map: of one byte, or with a length of two or four bytes."""
    if size < short_limit:
        return bytes([short | size])
    if size < 1 << 16:
        return bytes([long]) + size.to_bytes(2, "big")
    return bytes([long + 1]) + size.to_bytes(4, "big")
