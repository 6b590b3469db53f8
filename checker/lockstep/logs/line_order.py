"""Orders in which the lines of several logs may have happened.

A line comes after those above it in its own log, after the line that sent what it receives, and after every line whose
stamp is earlier by more than the clocks can differ. Lines that none of these orders may have happened either way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

from lockstep.base.errors import BadInputError
from lockstep.logs.log_lines import Thread, ThreadLine

#: How many lines of each thread have happened.
Positions: TypeAlias = tuple[int, ...]


class NoOrderError(BadInputError):
    """The lines have no order with clocks that differ by no more than is declared."""


class Order:
    """The order of the lines of several threads, as far as it is known.

    `needs` are, of each line by thread and number, how many lines of each thread must have happened before it.
    """

    def __init__(self, threads: Sequence[Thread], skew: int = 0, resolution: int = 0) -> None:
        """Find what comes before what.

        Args:
            skew: by how many nanoseconds the clocks of two threads may differ.
            resolution: how many nanoseconds apart two stamps may be and yet be of one moment.

        Raises:
            BadInputError: a message is received that nothing sends, or is sent by two lines; or the lines have no
                order, as where one log's stamps jump back and another has a line in between.
        """
        self.threads, self._slack = threads, skew + resolution
        stamped = [_Stamped(thread.lines) for thread in threads]
        senders = _senders(threads)
        self.needs = [
            [
                _needs(number, place, earliest, stamped, senders, threads, skew + resolution)
                for place, earliest in enumerate(_earliest(thread.lines))
            ]
            for number, thread in enumerate(threads)
        ]
        self._refuse_no_order()

    def start(self) -> Positions:
        """Return where every log begins."""
        return (0,) * len(self.threads)

    def next(self, positions: Positions) -> Iterator[int]:
        """Yield the threads whose next line may happen now."""
        for number, thread in enumerate(self.threads):
            place = positions[number]
            if place < len(thread.lines) and all(map(int.__ge__, positions, self.needs[number][place])):
                yield number

    def after(self, positions: Positions, thread: int) -> Positions:
        """Return the positions after the next line of a thread."""
        return (*positions[:thread], positions[thread] + 1, *positions[thread + 1 :])

    def line(self, positions: Positions, thread: int) -> ThreadLine:
        """Return the next line of a thread."""
        return self.threads[thread].lines[positions[thread]]

    def cut_short(self, positions: Positions) -> list[Thread]:
        """List the threads that are cut and whose last line has happened."""
        return [each for each, at in zip(self.threads, positions, strict=True) if each.is_cut and at == len(each.lines)]

    def _refuse_no_order(self) -> None:
        positions = self.start()
        while (thread := next(self.next(positions), None)) is not None:
            positions = self.after(positions, thread)
        left = [number for number, thread in enumerate(self.threads) if positions[number] < len(thread.lines)]
        if left:
            waiting = ", ".join(self.threads[k].place(self.line(positions, k)) for k in left)
            raise NoOrderError(
                f"no order of the lines is possible: none of these can be the next one: {waiting}{self._jump()}"
            )

    def _jump(self) -> str:
        """Name the first line whose stamp lies further before that of the line above it than clocks may differ."""
        for thread in self.threads:
            stamped = [line for line in thread.lines if line.time is not None]
            for above, line in pairwise(stamped):
                if (line.time or 0) + self._slack < (above.time or 0):
                    back = ((above.time or 0) - (line.time or 0)) / 10**6
                    return (
                        f"; at {thread.place(line)} the clock jumps back by {back:,.10g} ms, and `skew` is less;"
                        " make it greater, or give no `time`"
                    )
        return ""


class _Stamped:
    """The lines of one thread by their stamps."""

    def __init__(self, lines: Sequence[ThreadLine]) -> None:
        rows = sorted((line.time, place) for place, line in enumerate(lines) if line.time is not None)
        self._times = [time for time, _ in rows]
        self._counts = list(accumulate((place + 1 for _, place in rows), max))

    def before(self, time: int) -> int:
        """Count the lines that were written before this time, with those above them."""
        found = bisect_left(self._times, time)
        return self._counts[found - 1] if found else 0


def _earliest(lines: Sequence[ThreadLine]) -> Iterator[int | None]:
    """Yield the earliest time at which the steps of each line can have happened, None where that is not known."""
    above: int | None = None
    for line in lines:
        known = line.time
        if line.time is not None and line.delay:
            known = line.time - line.delay if above is None else min(line.time, max(line.time - line.delay, above))
        yield known
        if line.time is not None:
            above = line.time if above is None else max(above, line.time)


def _needs(
    number: int,
    place: int,
    earliest: int | None,
    stamped: Sequence[_Stamped],
    senders: dict[str, tuple[int, int]],
    threads: Sequence[Thread],
    slack: int,
) -> Positions:
    """Return how many lines of each thread must have happened before one line."""
    needs = [0] * len(threads)
    if earliest is not None:
        needs = [0 if k == number else other.before(earliest - slack) for k, other in enumerate(stamped)]
    line = threads[number].lines[place]
    if line.receives is not None:
        where = threads[number].place(line)
        if line.receives not in senders:
            raise BadInputError(
                f"{where}: no line sends {line.receives!r}; if lines are missing, declare it:"
                ' `start` where the logs begin later than the system, `ends = "anywhere"` where they may end earlier'
            )
        sender, at = senders[line.receives]
        if sender == number and at >= place:
            raise BadInputError(f"{where}: {line.receives!r} is received before it is sent")
        needs[sender] = max(needs[sender], 0 if sender == number else at + 1)
    return tuple(needs)


def _senders(threads: Sequence[Thread]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for number, thread in enumerate(threads):
        for place, line in enumerate(thread.lines):
            if line.sends is None:
                continue
            if line.sends in found:
                other, at = found[line.sends]
                before = threads[other].place(threads[other].lines[at])
                raise BadInputError(f"{thread.place(line)}: {line.sends!r} was sent before, at {before}")
            found[line.sends] = (number, place)
    return found
