"""The form of what a tap and the check of a wire need of a system: its frames, and what they establish."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from raftref.wire_error import WireError

VERSION = 1

#: The kinds of lines that are of no frame.
OPENED, CLOSED, REFUSED, UNREADABLE = "opened", "closed", "refused", "unreadable"

#: The characters of a digest.
_DIGEST = 16

#: What spec/wire/WireGroup.tla has for what a message does not say.
UNKNOWN = -2


def digest(value: bytes) -> str:
    """Return what stands in a line for a value: the beginning of its SHA-256."""
    return hashlib.sha256(value).hexdigest()[:_DIGEST]


@dataclass(frozen=True, slots=True)
class WireFrame:
    """A request or an answer.

    `kind` is that of the request, also of an answer. `number` is that of the request within its connection, which its
    answer has, too. `sender` is the name that a request has for its sender, "" where it has none. `fields` are those of
    the message by the names that the system gives them, with digests in place of values.
    """

    kind: str
    number: int
    is_answer: bool
    sender: str
    fields: Mapping[str, Any]


class WireStream(Protocol):
    """One connection of a system, cut into frames."""

    def requests(self, data: bytes) -> Iterator[WireFrame]:
        """Take the next bytes of the caller and yield the requests that are complete; raises WireError."""
        ...

    def answers(self, data: bytes) -> Iterator[WireFrame]:
        """Take the next bytes of the callee and yield the answers that are complete; raises WireError."""
        ...


@dataclass(frozen=True, slots=True)
class WireLine:
    """A line that has a frame, or the end of a connection.

    `time` is in seconds since 1970; `call` is the number of the request in the file; `src` is "" where it is not known.
    `unanswered` are the calls that a connection left without an answer.
    """

    time: float
    conn: int
    kind: str
    src: str = ""
    dst: str = ""
    call: int = -1
    is_answer: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    unanswered: tuple[int, ...] = ()


class MisnamedNodeError(WireError):
    """A node has another name in its messages than the capture has for it."""


#: An action of WireGroup, and its arguments.
WireFact = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WireFormat:
    """The wire of a system.

    `stream` reads a new connection. `facts` yields what the line of a frame establishes, as steps of WireGroup; it
    raises MisnamedNodeError where a message contradicts the name of a node, and WireError where its fields are none of
    such a message. `blind` says what the wire of this system never shows.
    """

    stream: Callable[[], WireStream]
    facts: Callable[[WireLine], Iterator[WireFact]]
    blind: str
