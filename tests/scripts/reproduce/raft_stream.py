"""A connection between servers of hashicorp/raft, cut into frames.

Source: net_transport.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from raftref.hashicorp.messages import RpcType
from raftref.hashicorp.msgpack import Scan, unpack
from raftref.hashicorp.wire import is_heartbeat
from raftref.hashicorp.wire_fields import FORMATS, RpcCode, read_fields


class RaftStream:
    """Requests, and answers in their order. A heartbeat has a type of its own, though to the library it has none."""

    is_ordered = True

    def __init__(self) -> None:
        self._requests, self._answers = bytearray(), bytearray()
        self._types: deque[str] = deque()

    def requests(self, data: bytes) -> Iterator[tuple[bytes, str, Mapping[str, Any]]]:
        """Take bytes of the caller, and yield the requests that are complete, a snapshot with its bytes."""
        buffer = self._requests
        buffer += data
        while buffer:
            end = Scan(1).end_in(buffer)
            if end is None:
                return
            code = RpcCode(buffer[0])
            fields = read_fields(FORMATS[code].request_fields, unpack(bytes(buffer[1:end])), code.name)
            end += fields.get("Size", 0)
            if len(buffer) < end:
                return
            raw = bytes(buffer[:end])
            del buffer[:end]
            heartbeat = code is RpcCode.APPEND_ENTRIES and is_heartbeat(fields)
            self._types.append(RpcType.HEARTBEAT if heartbeat else RpcType[code.name])
            yield raw, self._types[-1], fields

    def answers(self, data: bytes) -> Iterator[tuple[bytes, str, Mapping[str, Any]]]:
        """Take bytes of the callee, and yield the answers that are complete: an error, and a map or nil."""
        buffer = self._answers
        buffer += data
        while (middle := Scan(0).end_in(buffer)) is not None:
            end = Scan(middle).end_in(buffer)
            if end is None:
                return
            raw, fields = bytes(buffer[:end]), unpack(bytes(buffer[middle:end]))
            del buffer[:end]
            yield raw, self._types.popleft(), fields or {}
