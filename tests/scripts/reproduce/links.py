"""The network of a group as a script has it: each pair of nodes has a link in each direction, whose frames it sees.

A link is a port on which one node reaches another. What crosses it is cut into frames, the requests of the caller and
the answers of the callee, and each frame passes, is dropped, or is held until the script releases it. The nodes are
real processes that know nothing of it.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

#: The time in which a script must come to what it waits for, in seconds. The machine may be busy.
PATIENCE = 40.0
_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Frame:
    """A request or an answer on a link.

    `src` is the node that sent it. `type` is that of the request, also of an answer. `fields` are those of the body, by
    the names that the system gives them.
    """

    src: str
    dst: str
    type: str
    is_answer: bool
    fields: Mapping[str, Any]


class Stream(Protocol):
    """One connection of a system, cut into frames."""

    #: Whether answers come in the order of requests, so that a connection is dead behind a frame that is dropped.
    is_ordered: bool

    def requests(self, data: bytes) -> Iterator[tuple[bytes, str, Mapping[str, Any]]]:
        """Take bytes of the caller, and yield the requests that are complete: bytes, type, fields."""
        ...

    def answers(self, data: bytes) -> Iterator[tuple[bytes, str, Mapping[str, Any]]]:
        """Take bytes of the callee, and yield the answers that are complete: bytes, type of the request, fields."""
        ...


class Fate(Enum):
    """The effect of a rule on a frame."""

    PASS, DROP, HOLD = "pass", "drop", "hold"


@dataclass(frozen=True, slots=True)
class Rule:
    """The fate of the frames of a kind; None and an empty set stand for any."""

    fate: Fate
    src: str | None = None
    dst: str | None = None
    types: frozenset[str] = frozenset()
    is_answer: bool | None = False
    where: Callable[[Frame], bool] = lambda _: True
    #: How many frames are held at most.
    limit: int | None = None

    def covers(self, frame: Frame) -> bool:
        """Return whether the rule is about a frame."""
        return (
            self.src in (None, frame.src)
            and self.dst in (None, frame.dst)
            and (not self.types or frame.type in self.types)
            and self.is_answer in (None, frame.is_answer)
            and self.where(frame)
        )


def drop(*types: str, src: str | None = None, dst: str | None = None, **other: Any) -> Rule:
    """Make a rule that drops requests, or answers if `is_answer`."""
    return Rule(Fate.DROP, src, dst, frozenset(types), **other)


def hold(*types: str, src: str | None = None, dst: str | None = None, **other: Any) -> Rule:
    """Make a rule that holds requests, or answers if `is_answer`."""
    return Rule(Fate.HOLD, src, dst, frozenset(types), **other)


def allow(*types: str, src: str | None = None, dst: str | None = None, **other: Any) -> Rule:
    """Make a rule that lets pass what a later rule would not."""
    return Rule(Fate.PASS, src, dst, frozenset(types), **other)


def cut_off(*nodes: str) -> list[Rule]:
    """Make rules by which nothing comes from some nodes to the others, or back."""
    return [rule for node in nodes for rule in (drop(src=node, is_answer=None), drop(dst=node, is_answer=None))]


def apart(one: str, other: str) -> list[Rule]:
    """Make rules by which nothing comes from one node to another, or back."""
    return [drop(src=src, dst=dst, is_answer=None) for src, dst in ((one, other), (other, one))]


class _Side:
    """One end of a connection: where its frames go. It ends only when nothing is held for it any more."""

    def __init__(self, writer: asyncio.StreamWriter, *, is_ordered: bool) -> None:
        self._writer, self._is_ordered = writer, is_ordered
        #: What is held, and in an ordered stream what waits behind it.
        self._waiting: list[tuple[Held | None, bytes]] = []
        self._is_over = False

    def pass_on(self, data: bytes) -> None:
        """Send a frame, behind those that it must not overtake."""
        if self._is_ordered and self._waiting:
            self._waiting.append((None, data))
        elif not self._writer.is_closing():
            self._writer.write(data)

    def hold(self, held: Held, data: bytes) -> None:
        """Keep a frame until it is released."""
        self._waiting.append((held, data))

    def release(self, held: Held) -> None:
        """Send what is released, with what waited for it."""
        waiting, self._waiting = self._waiting, []
        for each, data in waiting:
            if each is held or each is None:
                self.pass_on(data)
            else:
                self._waiting.append((each, data))
        if self._is_over:
            self.end()

    def end(self) -> None:
        """Send no more once nothing is held; what comes back is still read."""
        self._is_over = True
        if not self._waiting and not self._writer.is_closing():
            with suppress(OSError):  # the other side has gone
                self._writer.write_eof()

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


@dataclass(eq=False, slots=True)
class Held:
    """A frame that waits for its release."""

    frame: Frame
    rule: Rule
    _side: _Side
    _loop: asyncio.AbstractEventLoop

    def release(self) -> None:
        """Let the frame go on."""
        self._loop.call_soon_threadsafe(self._side.release, self)


@dataclass(slots=True)
class _Connection:
    """A connection of one node to another, and whether a frame that was dropped has ended it."""

    stream: Stream
    caller: _Side
    callee: _Side
    is_dead: bool = False


@dataclass(slots=True)
class Links:
    """The links of a group; they run in a thread while the block lasts.

    `addresses` are the nodes' own; `stream` makes the reader of a new connection; what crosses the links is written to
    `log`, a line for each frame.
    """

    addresses: Mapping[str, tuple[str, int]]
    stream: Callable[[], Stream]
    log: Path
    _ports: dict[tuple[str, str], int] = field(default_factory=dict)
    _rules: tuple[Rule, ...] = ()
    _seen: list[Frame] = field(default_factory=list)
    _held: list[Held] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __enter__(self) -> Links:
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        assert self._thread is not None
        self._thread.join(10)
        self._loop.close()

    @staticmethod
    async def _end() -> None:
        """End all connections."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def address(self, src: str, dst: str) -> tuple[str, int]:
        """Return where one node reaches another; its own address if they are the same."""
        return self.addresses[dst] if src == dst else ("127.0.0.1", self._ports[src, dst])

    # ---- The script ----------------------------------------------------------------------------------

    def rules(self, *rules: Rule) -> None:
        """Replace all rules: the first that covers a frame decides, and a frame that none covers passes."""
        with self._changed:
            self._rules = rules
            self._note({"rules": [str(rule) for rule in rules]})

    def held(self, rule: Rule) -> Held:
        """Wait for a frame that a rule holds, and return the first."""
        self._wait(lambda: any(each.rule is rule for each in self._held), f"nothing that {rule} holds")
        return next(each for each in self._held if each.rule is rule)

    def mark(self) -> int:
        """Return the number of frames so far, for `seen`."""
        return len(self._seen)

    def seen(self, *types: str, since: int = 0, count: int = 1, **of: Any) -> None:
        """Wait until requests of some types, or answers if `is_answer`, have come to a link since a mark.

        Args:
            types: Any type if there are none.
            since: The mark.
            count: How many.
            of: Fields of Rule: `src`, `dst`, `is_answer`, `where`.
        """
        missing = f"not {count} of {' or '.join(types)} {of}"
        self._wait(lambda: self.count(*types, since=since, **of) >= count, missing)

    def count(self, *types: str, since: int = 0, **of: Any) -> int:
        """Return how many frames of a kind have come since a mark, whatever became of them."""
        rule = Rule(Fate.PASS, types=frozenset(types), **of)
        return sum(map(rule.covers, self._seen[since:]))

    def _wait(self, condition: Callable[[], bool], missing: str) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), missing

    # ---- Frames --------------------------------------------------------------------------------------

    def _note(self, line: Mapping[str, Any]) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"at": time.monotonic(), **line}, default=repr) + "\n")

    async def _listen(self) -> None:
        for src in self.addresses:
            for dst in self.addresses:
                if src != dst:
                    server = await asyncio.start_server(self._serving(src, dst), "127.0.0.1", 0)
                    self._ports[src, dst] = server.sockets[0].getsockname()[1]

    def _serving(self, src: str, dst: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                callee_reader, callee_writer = await asyncio.open_connection(*self.addresses[dst])
            except OSError:
                writer.close()
                return
            stream = self.stream()
            caller, callee = (_Side(each, is_ordered=stream.is_ordered) for each in (writer, callee_writer))
            connection = _Connection(stream, caller, callee)
            with suppress(asyncio.CancelledError):  # the links end
                await asyncio.gather(
                    self._requests(reader, connection, src, dst), self._answers(callee_reader, connection, src, dst)
                )
                caller.close()
                callee.close()

        return serve

    async def _requests(self, reader: asyncio.StreamReader, connection: _Connection, src: str, dst: str) -> None:
        with suppress(OSError):
            while data := await reader.read(_READ_BYTES):
                for raw, type_, fields in connection.stream.requests(data):
                    self._meet(raw, Frame(src, dst, type_, False, fields), connection, connection.callee)
        connection.callee.end()

    async def _answers(self, reader: asyncio.StreamReader, connection: _Connection, src: str, dst: str) -> None:
        with suppress(OSError):
            while data := await reader.read(_READ_BYTES):
                for raw, type_, fields in connection.stream.answers(data):
                    self._meet(raw, Frame(dst, src, type_, True, fields), connection, connection.caller)
        connection.caller.end()

    def _meet(self, data: bytes, frame: Frame, connection: _Connection, to: _Side) -> None:
        with self._changed:
            rule = next((each for each in self._rules if self._applies(each, frame)), None)
            fate = Fate.DROP if connection.is_dead else Fate.PASS if rule is None else rule.fate
            if fate is Fate.PASS:
                to.pass_on(data)
            elif fate is Fate.DROP:
                connection.is_dead = connection.stream.is_ordered
            elif rule is not None:
                self._held.append(Held(frame, rule, to, self._loop))
                to.hold(self._held[-1], data)
            self._seen.append(frame)
            self._note({"src": frame.src, "dst": frame.dst, "type": frame.type, "answer": frame.is_answer,
                        "fate": fate.value, "fields": frame.fields})  # fmt: skip
            self._changed.notify_all()

    def _applies(self, rule: Rule, frame: Frame) -> bool:
        held = sum(each.rule is rule for each in self._held)
        return rule.covers(frame) and (rule.limit is None or held < rule.limit)
