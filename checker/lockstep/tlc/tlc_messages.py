"""Split the output of `TLC -tool` into messages, and name the message codes that matter."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

_START = re.compile(r"^@!@!@STARTMSG (?P<code>-?\d+):(?P<severity>\d) @!@!@$")
_NESTED_START = re.compile(r"^(?P<before>.*?)@!@!@STARTMSG (?P<code>-?\d+):(?P<severity>\d) @!@!@$")
_END = re.compile(r"^@!@!@ENDMSG (?P<code>-?\d+) @!@!@$")
_KEPT_LINE_COUNT = 1000
_KEPT_MESSAGE_LINE_COUNT = 200_000


class MessageCode(IntEnum):
    """The message codes of TLC (tlc2.output.EC) that decide something here."""

    GENERAL = 1000
    OUT_OF_MEMORY = 1001
    OUT_OF_MEMORY_INIT = 1002
    STACK_OVERFLOW = 1005
    INITIAL_STATE = 2102
    NESTED_EXPRESSION = 2103
    ASSUMPTION_FALSE = 2104
    ASSUMPTION_EVALUATION = 2105
    INCOMPLETE_INITIAL = 2106
    INVARIANT_INITIAL = 2107
    PROPERTY_INITIAL = 2108
    INCOMPLETE_NEXT = 2109
    INVARIANT_BEHAVIOR = 2110
    INVARIANT_EVALUATION = 2111
    ACTION_PROPERTY = 2112
    ACTION_PROPERTY_EVALUATION = 2113
    DEADLOCK = 2114
    NO_NEXT_ACTION = 2115
    TEMPORAL_PROPERTY = 2116
    BACK_TO_STATE = 2122
    ASSERT_FAILED = 2132
    INVARIANT_LEVEL = 2146
    FINGERPRINT = 2147
    FINISHED = 2186
    SUCCESS = 2193
    SEARCH_DEPTH = 2194
    STATS = 2199
    PROGRESS = 2200
    COVERAGE_START = 2201
    SIMULATION_PROGRESS = 2209
    SIMULATION_STATS = 2210
    STATE = 2217
    STUTTERING = 2218
    SANY_END = 2219
    SANY_START = 2220
    VERSION = 2262
    COVERAGE_NEXT = 2772
    COVERAGE_INIT = 2773
    PARSING_FAILED = 3002


class Severity(IntEnum):
    """The classes of TLC's messages (tlc2.output.MP)."""

    NONE = 0
    ERROR = 1
    TLC_BUG = 2
    WARNING = 3
    STATE = 4


@dataclass(frozen=True, slots=True)
class TlcMessage:
    """One message of TLC: code, severity, text without the markers, and the messages quoted inside it."""

    code: int
    severity: int
    text: str
    nested: tuple[TlcMessage, ...] = ()

    def codes(self) -> Iterator[int]:
        """This message's code, then those of the messages inside it."""
        yield self.code
        for inner in self.nested:
            yield from inner.codes()


@dataclass(slots=True)
class _Open:
    """A message whose end was not read yet."""

    code: int
    severity: int
    lines: list[str] = field(default_factory=list)
    nested: list[TlcMessage] = field(default_factory=list)

    def close(self) -> TlcMessage:
        return TlcMessage(self.code, self.severity, "\n".join(self.lines).strip("\n"), tuple(self.nested))


class MessageReader:
    """Reader of the output, line by line: messages are returned whole, all other lines are collected.

    `sany_lines` is what SANY printed and `user_lines` what the spec printed (Print, PrintT); `tail` holds the
    last lines of everything. A marker counts only at the start of a line, where no printed string can put it.
    """

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._in_sany = False
        self.sany_lines: deque[str] = deque(maxlen=_KEPT_LINE_COUNT)
        self.user_lines: deque[str] = deque(maxlen=_KEPT_MESSAGE_LINE_COUNT)
        self.tail: deque[str] = deque(maxlen=60)

    @property
    def is_inside_message(self) -> bool:
        """True while a message has begun and not ended: output that stops here is truncated."""
        return bool(self._open)

    def feed(self, line: str) -> TlcMessage | None:
        """Take one line without its newline; returns the message which this line completes, or None."""
        self.tail.append(line)
        if self._open:
            return self._feed_inside(line)
        start = _START.match(line)
        if start is not None:
            self._open.append(_Open(int(start["code"]), int(start["severity"])))
        elif line:
            (self.sany_lines if self._in_sany else self.user_lines).append(line)
        return None

    def _feed_inside(self, line: str) -> TlcMessage | None:
        """Take a line of the innermost open message."""
        current = self._open[-1]
        end = _END.match(line)
        if end is not None and int(end["code"]) == current.code:
            return self._close()
        nested = _NESTED_START.match(line)
        if nested is not None:
            if nested["before"]:
                current.lines.append(nested["before"])
            self._open.append(_Open(int(nested["code"]), int(nested["severity"])))
        elif len(current.lines) < _KEPT_MESSAGE_LINE_COUNT:
            current.lines.append(line)
        return None

    def _close(self) -> TlcMessage | None:
        """End the innermost message; returns it when it is an outermost one."""
        message = self._open.pop().close()
        if self._open:
            outer = self._open[-1]
            outer.nested.append(message)
            outer.lines.append(message.text)
            return None
        if message.code in (MessageCode.SANY_START, MessageCode.SANY_END):
            self._in_sany = message.code == MessageCode.SANY_START
        return message
