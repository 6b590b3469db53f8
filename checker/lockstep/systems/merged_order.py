"""One order of the lines that the nodes of a group wrote, each into a file of its own.

A node's lines keep their order. What a line receives was sent before it. For the rest the clock decides: on one host
all processes read the same one; clocks of several hosts may differ by what is stated, and a line then waits that long
for what must come before it, and no longer. So the order is one in which the lines can have happened.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

from lockstep.systems.node_files import FileRecord, NodeFile
from lockstep.trace.json_lines import TraceError

#: Nanoseconds in a millisecond.
MILLISECOND = 10**6

#: A line that has been there for longer than this, in seconds, is behind no line that another node has yet to write.
SETTLED = 0.5


@dataclass(frozen=True, slots=True)
class TimedLine:
    """A line that a record of a node stands for: `at`, in nanoseconds by a clock, and its fields."""

    record: FileRecord
    at: int
    node: str
    fields: dict[str, Any]

    @property
    def place(self) -> str:
        """The place of the record, FILE:LINE."""
        return f"{self.record.source}:{self.record.number}"


#: Yields the lines of a node behind those that were taken, as far as they are written.
Upcoming: TypeAlias = Callable[[str], Iterator[TimedLine]]


class NodeLines(Protocol):
    """Turns the records of one node's file into lines."""

    def lines(self, record: FileRecord) -> Iterable[TimedLine]:
        """Return the lines that are known once this record is; raises TraceError where it is none of the system."""

    def rest(self) -> Iterable[TimedLine]:
        """Return what is left once the file has ended."""


class Delivery(Protocol):
    """The messages of a system by its lines."""

    def lacks(self, line: TimedLine) -> str | None:
        """Return what must have happened before a line and has not; None where it may be the next one."""

    def is_early(self, line: TimedLine) -> bool:
        """Return whether a line follows from one of another node that has not happened, as far as lines show that."""

    def note(self, line: TimedLine, upcoming: Upcoming) -> None:
        """Take a line for the next one; `upcoming` are the lines of each node after it."""

    def was_guessed(self, line: TimedLine) -> bool:
        """Return whether what a line lacks may have been taken for something else, since its end was not written."""


class LateLineError(Exception):
    """A node wrote a line after lines had been taken that follow it, or that would have been taken otherwise."""


class ClockError(TraceError):
    """The clocks of the nodes differ by more than is stated, or nobody has sent what a line receives."""


class _Feed:
    """The lines of one node, as far as its file is written."""

    def __init__(self, file: NodeFile, lines: NodeLines, skew: int, clock: Callable[[], float]) -> None:
        self._file, self._lines, self._skew, self._clock = file, lines, skew, clock
        self._queue: deque[TimedLine] = deque()
        self._last_at = 0
        self._is_over = False
        #: The size of the file at the looks that found it longer, with their times.
        self._looks: deque[tuple[int, float]] = deque()

    def look(self) -> None:
        """Look how much is written; what the first look finds has been there for long."""
        size = self._file.size
        if not self._looks:
            self._looks.append((size, float("-inf")))
        elif size > self._looks[-1][0]:
            self._looks.append((size, self._clock()))

    @property
    def found_at(self) -> float:
        """The time of the look that found the next line."""
        while len(self._looks) > 1 and self._looks[0][0] < self._file.offset:
            self._looks.popleft()
        size, time_of_look = self._looks[0]
        return time_of_look if size >= self._file.offset else self._clock()

    def head(self, *, is_over: bool) -> TimedLine | None:
        """Return the next line, None where none is known."""
        return next(self.upcoming(is_over=is_over), None)

    def upcoming(self, *, is_over: bool) -> Iterator[TimedLine]:
        """Yield the lines that were not taken, as far as they are written."""
        place = 0
        while True:
            while place == len(self._queue):
                if not self._read(is_over=is_over):
                    return
            yield self._queue[place]
            place += 1

    def _read(self, *, is_over: bool) -> bool:
        """Read one record; return whether there was one."""
        if self._is_over:
            return False
        record = self._file.next(is_over=is_over)
        if record is not None:
            self._queue.extend(self._in_order(self._lines.lines(record)))
        elif is_over:
            self._is_over = True
            self._queue.extend(self._in_order(self._lines.rest()))
        return record is not None or is_over

    def take(self) -> TimedLine:
        """Take the next line."""
        return self._queue.popleft()

    def _in_order(self, lines: Iterable[TimedLine]) -> Iterator[TimedLine]:
        """Yield lines whose clock does not go back.

        The wall clock may have been set between two lives: by less than clocks may differ, or the line is an error.
        """
        for line in lines:
            back = self._last_at - line.at
            if back > self._skew:
                raise line.record.error(
                    f"the clock goes back by {milliseconds(back)} ms: a file has the lines of one node in their order, "
                    "by a clock that counts on while its host runs"
                )
            self._last_at = max(self._last_at, line.at)
            yield line if back <= 0 else replace(line, at=self._last_at)


class MergedOrder:
    """The lines of several nodes in one order, as far as it is known."""

    def __init__(
        self,
        sources: Sequence[tuple[NodeFile, NodeLines]],
        delivery: Delivery,
        skew: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to merge.

        Arguments: `sources`, each node's file and what turns it into lines; `delivery`, what the lines say of
        messages; `skew`, the nanoseconds by which the clocks of two nodes may differ; `clock`, in seconds, by which a
        line that was read is settled.
        """
        self._feeds = [_Feed(file, lines, skew, clock) for file, lines in sources]
        self._delivery, self._skew, self._clock = delivery, skew, clock
        self._latest: TimedLine | None = None

    def lines(self, *, is_over: bool) -> Iterator[TimedLine]:
        """Yield the lines that are known to be the next ones; all that are left where nothing more is written.

        Raises TraceError where a line is damaged, ClockError where the lines have no order with the stated clocks, and
        LateLineError where a line stands before one that was yielded.
        """
        if not is_over:
            for feed in self._feeds:
                feed.look()
        while (line := self._next(is_over=is_over)) is not None:
            self._delivery.note(line, partial(self._upcoming, is_over=is_over))
            if self._latest is None or line.at > self._latest.at:
                self._latest = line
            yield line

    def _next(self, *, is_over: bool) -> TimedLine | None:
        heads = self._heads(is_over=is_over)
        if not heads:
            return None
        first = heads[0][0]
        self._refuse_late(first)
        now = self._clock()
        is_known = is_over or len(heads) == len(self._feeds)
        early = None
        for line, feed in heads:
            if line.at > first.at + self._skew:
                break
            if not is_known and feed.found_at + SETTLED > now:
                return None
            if self._delivery.lacks(line) is None:
                if not self._delivery.is_early(line):
                    return feed.take()
                early = early or feed
        if early is not None:
            return early.take()
        if not is_known:
            return None
        if not is_over and self._delivery.was_guessed(first):
            raise LateLineError(f"{first.node} wrote which of two messages that say the same had come before")
        raise self._no_order(first)

    def _upcoming(self, node: str, *, is_over: bool) -> Iterator[TimedLine]:
        for feed in self._feeds:
            head = feed.head(is_over=is_over)
            if head is not None and head.node == node:
                yield from feed.upcoming(is_over=is_over)

    def _heads(self, *, is_over: bool) -> list[tuple[TimedLine, _Feed]]:
        """Return the next line of each node that has one, the earliest first."""
        heads = [(line, feed) for feed in self._feeds if (line := feed.head(is_over=is_over)) is not None]
        return sorted(heads, key=lambda head: head[0].at)

    def _refuse_late(self, line: TimedLine) -> None:
        if self._latest is not None and line.at + self._skew < self._latest.at:
            late = (self._latest.at - line.at) / 1e9
            raise LateLineError(f"a line of {line.node} was written {late:.3f} s or more after it began")

    def _no_order(self, line: TimedLine) -> ClockError:
        """Return the error of a line that can be no next one, with the clocks that would let it be one."""
        lacks = self._delivery.lacks(line)
        stated = f"by clocks that differ by {milliseconds(self._skew)} ms at most" if self._skew else "by their clock"
        problem = f"{lacks} before that, {stated}"
        for other in self._others():
            self._delivery.note(other, partial(self._upcoming, is_over=True))
            if self._delivery.lacks(line) is None:
                gap = milliseconds(other.at - line.at)
                problem += f": {other.place} is {gap} ms later; on several hosts, state that as --skew"
                break
        else:
            problem += ", nor at any time in these files"
        return ClockError(line.record.source, line.record.number, problem)

    def _others(self) -> Iterator[TimedLine]:
        """Yield what can follow if the clocks may differ by any time, as far as it is written."""
        while True:
            ready = [head for head in self._heads(is_over=True) if self._delivery.lacks(head[0]) is None]
            if not ready:
                return
            yield ready[0][1].take()


def milliseconds(nanoseconds: int) -> str:
    """Return a time in milliseconds, as messages have it."""
    return f"{nanoseconds / MILLISECOND:,.10g}"


class NodeClock:
    """The clock of the lines of one node.

    The processes of one host read one clock that counts on while the host runs. Hosts have wall clocks in common, which
    the first line of each life has beside its own moment.
    """

    def __init__(self, *, is_wall: bool, field: str, unit: int) -> None:
        """Take what a moment is.

        Arguments: `is_wall`, whether moments are by the wall clock; `field` of a line that has its moment; `unit`, its
        nanoseconds.
        """
        self._is_wall, self._field, self._unit = is_wall, field, unit
        self._offset, self._is_stated = 0, False

    def read(self, record: FileRecord) -> int:
        """Return the moment of a record in nanoseconds; raises TraceError where it has none."""
        at = record.fields.get(self._field)
        if isinstance(at, bool) or not isinstance(at, int | float):
            raise record.error(f"field `{self._field}`: {'missing' if at is None else f'{at!r} is no moment'}")
        moment = round(at * self._unit)
        if self._is_wall and record.begins_life:
            self._begin_life(record, moment)
        return moment + self._offset

    def _begin_life(self, record: FileRecord, moment: int) -> None:
        """Take over what one of the first lines of a life says of the wall clock; the one of its start is the last."""
        wall = record.fields.get("wall_ms")
        if isinstance(wall, int) and not isinstance(wall, bool):
            self._offset, self._is_stated = wall * MILLISECOND - moment, True
        elif wall is not None or (record.is_start and not self._is_stated):
            problem = "missing" if wall is None else f"{wall!r} is no number of milliseconds since 1970"
            raise record.error(f"field `wall_ms`: {problem}; without it the lines of several hosts have no order")
        if record.is_start:
            self._is_stated = False


def node_of(record: FileRecord) -> str:
    """Return the node that a record names; raises TraceError where it names none."""
    node = record.fields.get("node")
    if not isinstance(node, str) or not node:
        raise record.error(f"field `node`: {'missing' if node is None else f'{node!r} is no name'}")
    return node


def without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return fields but for some."""
    return {name: value for name, value in fields.items() if name not in names}
