"""A connection between nodes of DLedger, cut into frames.

Source: NettyDecoder, RemotingCommand, DLedgerRpcNettyService.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from raftref.dledger.remoting import RemotingCommand
from raftref.dledger.wire_fields import Rpc

_LENGTH_BYTES = 4


class DLedgerStream:
    """Requests and answers, each with its number, in any order. The type of a push is its own: COMPARE, APPEND."""

    is_ordered = False

    def __init__(self) -> None:
        self._requests, self._answers = bytearray(), bytearray()
        self._types: dict[int, str] = {}

    def requests(self, data: bytes) -> Iterator[tuple[bytes, str, Mapping[str, Any]]]:
        """Take bytes of the caller, and yield the requests that are complete."""
        for raw, command, fields in _commands(self._requests, data):
            type_ = self._types[command.opaque] = fields.get("type") or Rpc(command.code).name
            yield raw, type_, fields

    def answers(self, data: bytes) -> Iterator[tuple[bytes, str, Mapping[str, Any]]]:
        """Take bytes of the callee, and yield the answers that are complete."""
        for raw, command, fields in _commands(self._answers, data):
            yield raw, self._types.pop(command.opaque, "?"), fields


def _commands(buffer: bytearray, data: bytes) -> Iterator[tuple[bytes, RemotingCommand, Mapping[str, Any]]]:
    buffer += data
    while len(buffer) >= _LENGTH_BYTES:
        end = _LENGTH_BYTES + int.from_bytes(buffer[:_LENGTH_BYTES], "big")
        if len(buffer) < end:
            return
        raw = bytes(buffer[:end])
        del buffer[:end]
        command = RemotingCommand.decode(raw[_LENGTH_BYTES:])
        yield raw, command, json.loads(command.body) if command.body else {}
