"""The requests and the answers in the streams of NetworkTransport.

Nothing in a stream says where a message begins, or which request an answer belongs to: a reader begins with its
connection, and answers come in the order of the requests.

Source: net_transport.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from raftref.hashicorp.msgpack import Scan, to_text, unpack
from raftref.hashicorp.wire_fields import FORMATS, RpcCode, read_fields
from raftref.wire_error import WireError, shown

#: The size of the longest snapshot that is read, unless the reader has another limit. It is kept in memory. The library
#: streams it, and has no limit.
MAX_SNAPSHOT_BYTES = 1 << 28
#: The size of the longest error of an answer.
MAX_ERROR_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came: the fields of its struct, and the bytes of its snapshot."""

    code: RpcCode
    fields: Mapping[str, Any]
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class ReceivedAnswer:
    """An answer as it came: an error, or "", and the fields of a struct that only the request gives a name."""

    error: str
    fields: Any


class RequestReader:
    """The requests that a server receives on a connection, however its bytes are cut."""

    def __init__(
        self, check: Callable[[ReceivedRequest], None] = lambda _: None, max_snapshot_bytes: int = MAX_SNAPSHOT_BYTES
    ) -> None:
        """Begin with a connection.

        Args:
            check: Called with a request before its snapshot is waited for, which it has not got yet; raises WireError
                to refuse it.
            max_snapshot_bytes: The size of the longest snapshot that is read.
        """
        self._check = check
        self._max_snapshot_bytes = max_snapshot_bytes
        self._buffer = bytearray()
        self._scan = Scan(1)
        self._awaits_snapshot: ReceivedRequest | None = None

    def feed(self, data: bytes) -> Iterator[ReceivedRequest]:
        """Take the next bytes and return the requests that are complete now.

        The bytes are taken at once, also if nobody iterates.

        Args:
            data: What has been received since the last call.

        Raises:
            WireError: While iterating, after the requests before it: the bytes are no request. Further calls raise it
                again.

        Source: net_transport.go, handleCommand.
        """
        self._buffer += data
        return self._requests()

    def _requests(self) -> Iterator[ReceivedRequest]:
        while True:
            request = self._awaits_snapshot or self._next_request()
            if request is None:
                return
            size = request.fields.get("Size", 0)
            if len(self._buffer) < size:
                self._awaits_snapshot = request
                self._check(request)
                return
            self._awaits_snapshot = None
            data = bytes(self._buffer[:size])
            del self._buffer[:size]
            yield ReceivedRequest(request.code, request.fields, data)

    def _next_request(self) -> ReceivedRequest | None:
        """Take a request off the buffer, without the bytes of its snapshot; None where it is not complete."""
        if not self._buffer:
            return None
        if self._buffer[0] not in FORMATS:
            raise WireError(f"no request begins with the byte {self._buffer[0]}")
        code = RpcCode(self._buffer[0])
        end = self._scan.end_in(self._buffer)
        if end is None:
            return None
        fields = read_fields(FORMATS[code].request_fields, unpack(bytes(self._buffer[1:end])), code.name)
        if not 0 <= fields.get("Size", 0) <= self._max_snapshot_bytes:
            raise WireError(f"a snapshot has a size of {fields['Size']} bytes, of at most {self._max_snapshot_bytes}")
        del self._buffer[:end]
        self._scan = Scan(1)
        return ReceivedRequest(code, fields)


class AnswerReader:
    """The answers that a caller receives on a connection, however its bytes are cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scan = Scan()
        self._error: str | None = None

    def feed(self, data: bytes) -> Iterator[ReceivedAnswer]:
        """Take the next bytes and return the answers that are complete now, in the order of their requests.

        The bytes are taken at once, also if nobody iterates.

        Args:
            data: What has been received since the last call.

        Raises:
            WireError: While iterating, after the answers before it: the bytes are no answer. Further calls raise it
                again.

        Source: net_transport.go, decodeResponse.
        """
        self._buffer += data
        return self._answers()

    def _answers(self) -> Iterator[ReceivedAnswer]:
        while (end := self._scan.end_in(self._buffer)) is not None:
            value = unpack(bytes(self._buffer[:end]))
            if self._error is None:
                text = to_text(b"" if value is None else value, "the error of an answer")
                if len(text) > MAX_ERROR_BYTES:
                    raise WireError(f"an answer has an error of {len(text)} characters")
                self._error = text
                del self._buffer[:end]
                self._scan = Scan()
                continue
            if value is not None and not isinstance(value, dict):
                raise WireError(f"an answer is no map: {shown(value)}")
            answer = ReceivedAnswer(self._error, value)
            self._error = None
            del self._buffer[:end]
            self._scan = Scan()
            yield answer
