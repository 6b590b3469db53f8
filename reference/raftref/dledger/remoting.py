"""Frames of the remoting protocol that DLedger speaks: a length, a header of JSON, and a body of JSON.

A connection carries frames in both directions, and cuts them anywhere. An answer has the `opaque` of its request; it
may come at any time, and in any order.

Source: RemotingCommand, NettyDecoder of RocketMQ, in the versions that DLedger 0.2.7 and 0.3.2 bring along.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from raftref.wire_error import WireError, shown

#: The size of the longest frame, its length included. Source: NettyDecoder.FRAME_MAX_LENGTH.
MAX_FRAME_BYTES = 16 * 1024 * 1024
#: The most objects and lists of one JSON text. A frame full of entries has fewer; one of nothing but brackets would
#: take some thirty times its size in memory.
MAX_CONTAINERS = 1 << 18

#: The header code of every answer of DLedger, whose own code is in the body.
#: Source: DLedgerRpcNettyService.handleResponse.
ANSWERED = 200
#: The header code of a callee that failed and has no body. Source: RemotingSysResponseCode.
SYSTEM_ERROR = 1

_LENGTH_BYTES = 4
_MAX_HEADER_BYTES = (1 << 24) - 1  # The high byte of the header's length is the way that it is serialized.
_RESPONSE_FLAG = 1
_MIN_INT, _MAX_INT = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class RemotingCommand:
    """A command: a request, whose `code` is that of an RPC, or the answer to one.

    `remark` is the text of a callee that failed. No real node looks at `language` and `version`.

    Source: RemotingCommand.
    """

    code: int
    opaque: int
    flag: int = 0
    body: bytes = b""
    remark: str | None = None
    language: str = "JAVA"
    version: int = 0

    @property
    def is_response(self) -> bool:
        """Whether it is an answer. Source: RemotingCommand.isResponseType."""
        return bool(self.flag & _RESPONSE_FLAG)

    @classmethod
    def response(cls, code: int, opaque: int, body: bytes = b"", remark: str | None = None) -> RemotingCommand:
        """Make an answer to the request with the same `opaque`. Source: RemotingCommand.markResponseType."""
        return cls(code, opaque, _RESPONSE_FLAG, body, remark)

    def encode(self) -> bytes:
        """Return the frame's bytes, its length included; raises WireError where they are more than a frame may have.

        Source: RemotingCommand.encode.
        """
        fields = {
            "code": self.code,
            "flag": self.flag,
            "language": self.language,
            "opaque": self.opaque,
            "remark": self.remark,
            "serializeTypeCurrentRPC": "JSON",
            "version": self.version,
        }
        header = write_object(fields)
        size = _LENGTH_BYTES + len(header) + len(self.body)
        if _LENGTH_BYTES + size > MAX_FRAME_BYTES or len(header) > _MAX_HEADER_BYTES:
            raise WireError(f"a frame of {_LENGTH_BYTES + size} bytes is longer than {MAX_FRAME_BYTES}")
        return b"".join((size.to_bytes(4, "big"), len(header).to_bytes(4, "big"), header, self.body))

    @classmethod
    def decode(cls, data: bytes) -> RemotingCommand:
        """Read a frame from what follows its length: the length of the header, the header, the body.

        Args:
            data: All of it.

        Raises:
            WireError: It is no frame, or its header is not JSON.

        Source: RemotingCommand.decode, headerDecode.
        """
        if len(data) < _LENGTH_BYTES:
            raise WireError(f"a frame of {len(data)} bytes has no header")
        serialized_as, size = data[0], int.from_bytes(data[1:_LENGTH_BYTES], "big")
        if serialized_as != 0:
            raise WireError(f"the header is not JSON: its type of serialization is {serialized_as}")
        if size > len(data) - _LENGTH_BYTES:
            raise WireError(f"a header of {size} bytes does not fit into a frame of {len(data)}")
        end = _LENGTH_BYTES + size
        fields = read_object(data[_LENGTH_BYTES:end], "the header")
        code, opaque = (_integer(fields, name) for name in ("code", "opaque"))
        flag, version = (_integer(fields, name, default=0) for name in ("flag", "version"))
        language = _text(fields, "language") or "JAVA"
        return cls(code, opaque, flag, data[end:], _text(fields, "remark"), language, version)


def _integer(fields: dict[str, Any], name: str, default: int | None = None) -> int:
    value = fields.get(name)
    value = default if value is None else value
    if type(value) is not int or not _MIN_INT <= value <= _MAX_INT:
        raise WireError(f"{name} of the header is no 32-bit integer: {shown(value)}")
    return value


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return None if value is None else read_text(value, f"{name} of the header")


class FrameReader:
    """The frames of one direction of a connection, however its bytes are cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[RemotingCommand]:
        """Take the next bytes and return the frames that are complete now.

        A frame that is not complete is waited for. The bytes are taken at once, also if nobody iterates.

        Args:
            data: What has been received since the last call.

        Raises:
            WireError: While iterating, after the frames before it: the bytes are no frame. Further calls raise it
                again.

        Source: NettyDecoder.decode.
        """
        self._buffer += data
        return self._frames()

    def _frames(self) -> Iterator[RemotingCommand]:
        while len(self._buffer) >= _LENGTH_BYTES:
            size = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big", signed=True)
            if size < 0:
                raise WireError(f"a frame has a length of {size} bytes")
            if _LENGTH_BYTES + size > MAX_FRAME_BYTES:
                raise WireError(f"a frame of {_LENGTH_BYTES + size} bytes is longer than {MAX_FRAME_BYTES}")
            end = _LENGTH_BYTES + size
            if len(self._buffer) < end:
                return
            frame = RemotingCommand.decode(bytes(self._buffer[_LENGTH_BYTES:end]))
            del self._buffer[:end]
            yield frame


# ---- JSON ----


def read_object(data: bytes, what: str) -> dict[str, Any]:
    """Read a JSON object.

    Args:
        data: Its text in UTF-8.
        what: What it is, for the error.

    Raises:
        WireError: It is no JSON, or nested too deep, or no object, or has a number that no float holds.
    """
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise WireError(f"{what} has more than {MAX_CONTAINERS} brackets")
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise WireError(f"{what} is nested too deep") from None
    except ValueError as error:  # of its UTF-8, of its JSON, or of an integer with thousands of digits
        raise WireError(f"{what} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise WireError(f"{what} is no JSON object: {shown(value)}")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if abs(value) == float("inf"):
        raise ValueError(f"{shown(text)} is too large a number")
    return value


def read_text(value: object, what: str) -> str:
    """Return a value of JSON if it is a text; raises WireError, also where half of a surrogate pair was escaped."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            pass
        else:
            return value
    raise WireError(f"{what} is no text: {shown(value)}")


def write_object(fields: dict[str, Any]) -> bytes:
    """Return a JSON object as fastjson writes it: in the order of the names, without spaces, and without nulls.

    Control characters in texts are escaped in another way than fastjson's; both read either.

    Args:
        fields: Its fields. Those that are None are left out.

    Raises:
        WireError: A text has half of a surrogate pair, which UTF-8 cannot say.

    Source: JSON.toJSONString, whose fields are sorted.
    """
    present = {name: value for name, value in fields.items() if value is not None}
    text = json.dumps(present, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise WireError(f"a text is no Unicode: {error.reason}") from None
