"""The lines that a tap, or the reader of a capture, writes: what crosses connections, a frame a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockstep.systems.wire_files import FORMAT
from lockstep.systems.wire_format import CLOSED, OPENED, REFUSED, UNREADABLE, VERSION, WireFormat, WireFrame, WireStream
from lockstep.trace.json_lines import MAX_LINE_BYTES
from raftref.wire_error import WireError


def header_line(system: str, nodes: Mapping[str, str], *, all_voters: bool) -> bytes:
    """Return the first line of a file.

    Arguments: `system`, the name of its spec; `nodes`, where each listens; `all_voters`, whether these are all that
    vote, and always were.
    """
    return _line({"format": FORMAT, "version": VERSION, "system": system, "nodes": nodes, "all_voters": all_voters})


def _line(fields: Mapping[str, Any]) -> bytes:
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


@dataclass(slots=True)
class WireLines:
    """Numbers the connections and calls of one file, and makes its lines."""

    format: WireFormat
    _connections: int = 0
    _calls: int = 0

    def open(self, dst: str, caller: str) -> WireConnection:
        """Begin with a connection to a node from a `caller`, HOST:PORT."""
        self._connections += 1
        return WireConnection(self, self._connections, dst, caller)

    def next_call(self) -> int:
        """Return a number for a call."""
        self._calls += 1
        return self._calls


@dataclass(slots=True)
class WireConnection:
    """One connection: its lines, while its bytes come.

    Behind bytes that are no frame, nothing of either direction is read any more: where the next frame begins is not
    known, and an answer could not be matched with its request.
    """

    lines: WireLines
    number: int
    dst: str
    caller: str
    #: Cuts its bytes into frames; None once it was given up, as what has been buffered may be large.
    _stream: WireStream | None = None
    #: The calls without an answer, by their numbers within the connection: their numbers in the file, and callers.
    _calls: dict[int, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with its first byte."""
        self._stream = self.lines.format.stream()

    def opened(self, time: float) -> bytes:
        """Return the line of its begin, at a time in seconds since 1970."""
        return self._event_line(time, OPENED, to=self.dst, caller=self.caller)

    def refused(self, time: float, why: str) -> bytes:
        """Return the line of a connection that the node did not take."""
        return self._event_line(time, REFUSED, to=self.dst, caller=self.caller, why=why)

    def requests(self, data: bytes, time: float) -> list[bytes]:
        """Return the lines of what the caller has sent."""
        return self._read(data, time, is_answer=False)

    def answers(self, data: bytes, time: float) -> list[bytes]:
        """Return the lines of what the node has answered."""
        return self._read(data, time, is_answer=True)

    def give_up(self, time: float, why: str, *, is_answer: bool) -> list[bytes]:
        """Read no more of the connection, and return the line that says why; none where it has been given up."""
        if self._stream is None:
            return []
        self._stream = None
        return [self._event_line(time, UNREADABLE, to=self.dst, answer=is_answer, why=why)]

    def closed(self, time: float) -> bytes:
        """Return the line of its end."""
        return self._event_line(time, CLOSED, to=self.dst, unanswered=[call for call, _ in self._calls.values()])

    def _read(self, data: bytes, time: float, *, is_answer: bool) -> list[bytes]:
        found: list[bytes] = []
        if self._stream is None:
            return found
        try:
            for frame in self._stream.answers(data) if is_answer else self._stream.requests(data):
                found.append(self._frame(frame, time))
        except (
            Exception
        ) as error:  # Whatever stands there, it is the sender's; the connection goes on without its lines.
            why = str(error) if isinstance(error, WireError) else f"{type(error).__name__}: {error}"
            found += self.give_up(time, why, is_answer=is_answer)
        return found

    def _frame(self, frame: WireFrame, time: float) -> bytes:
        if frame.is_answer:
            call, caller = self._calls.pop(frame.number)
            src, dst = self.dst, caller
        else:
            call, caller = self.lines.next_call(), frame.sender
            src, dst = caller, self.dst
        names = {"call": call, "answer": frame.is_answer, "from": src, "to": dst}
        line = self._event_line(time, frame.kind, **names, fields=frame.fields)
        if len(line) > MAX_LINE_BYTES:
            raise WireError(f"a {frame.kind} has fields of {len(line):,} bytes, too many for a line")
        if not frame.is_answer:
            self._calls[frame.number] = call, caller
        return line

    def _event_line(self, time: float, kind: str, **fields: Any) -> bytes:
        return _line({"time": round(time, 6), "conn": self.number, "kind": kind, **fields})
