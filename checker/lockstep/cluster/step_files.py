"""The step files of the nodes of a group as one sequence in the order of time: while they grow, or once they are whole.

The nodes run on one machine and read one clock, which never goes back. A node writes a step before anything that the
step asks for leaves it, so the step of whoever sends a message comes before that of whoever receives it. The time of a
step is that at which its event begins: a process that is paused, or waits for its disk, writes it later.
"""

from __future__ import annotations

import heapq
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from lockstep.trace.json_lines import TraceError
from raftref.runtime.driver import NodeStep

#: A step that is older than this, in seconds, has been written by all nodes that took one before it, unless one waits.
SETTLED = 0.5
#: The time between two looks at the files, in seconds.
POLL = 0.1

#: The beginning of a text that stands for bytes that are no UTF-8, in hexadecimal.
BYTES = "bytes:"


class LateStepError(Exception):
    """A step was written after the steps that follow it in time had been taken."""


# ---- Lines ----


def decode_step(line: bytes) -> NodeStep:
    """Return the step of a line; raises MsgspecError or ValueError where it is none.

    A trace is UTF-8, and an entry may be any bytes, whose halves of surrogate pairs no trace can have. A text with one,
    or one that could be taken for what stands for it, becomes BYTES and the bytes in hexadecimal: two texts that differ
    still do.
    """
    if BYTES.encode() not in line:
        try:
            return msgspec.json.decode(line, type=NodeStep)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            pass  # no JSON, or half of a surrogate pair
    return msgspec.convert(_as_utf8(json.loads(line)), NodeStep)


def _as_utf8(value: Any) -> Any:
    match value:
        case str() if value.startswith(BYTES) or not _is_utf8(value):
            return BYTES + value.encode("utf-8", "surrogateescape").hex()
        case dict():
            return {_as_utf8(name): _as_utf8(each) for name, each in value.items()}
        case list():
            return [_as_utf8(each) for each in value]
    return value


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= each <= "\udfff" for each in text)


class _Tail:
    """The steps of one file, as far as it has been written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = self._number = 0

    def read(self) -> Iterator[NodeStep]:
        """Yield the steps whose lines are complete and new."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    self._offset += len(line)
                    self._number += 1
                    yield self._step(line)
        except FileNotFoundError:
            return

    def _step(self, line: bytes) -> NodeStep:
        try:
            return decode_step(line)
        except (msgspec.MsgspecError, ValueError) as error:
            raise TraceError(str(self._path), self._number, f"this is no step: {error}") from error


# ---- Files ----


def growing_steps(
    paths: Sequence[Path], is_over: Callable[[], bool], clock: Callable[[], float] = time.monotonic
) -> Iterator[NodeStep]:
    """Yield the steps of files that grow in the order of time, those of a file in its own.

    Arguments: `paths`; `is_over`, whether no more steps are written: then all that is left is yielded, and the sequence
    ends; `clock`, the clock of the steps. Raises TraceError where a line is no step, and LateStepError where one
    came too late.
    """
    tails = [_Tail(path) for path in paths]
    waiting: list[tuple[float, int, int, NodeStep]] = []
    count, last = 0, float("-inf")
    while True:
        over, horizon = is_over(), clock() - SETTLED
        for number, tail in enumerate(tails):
            for step in tail.read():
                count += 1
                heapq.heappush(waiting, (step.at, number, count, step))
        while waiting and (over or waiting[0][0] <= horizon):
            at, _, _, step = heapq.heappop(waiting)
            if at < last:
                raise LateStepError(f"a step of {step.node} was written {last - at:.3f} s or more after it began")
            last = at
            yield step
        if over:
            return
        time.sleep(POLL)


def whole_steps(paths: Sequence[Path]) -> Iterator[NodeStep]:
    """Yield the steps of files that grow no more in the order of time, those of a file in its own.

    Raises TraceError where a line is no step.
    """
    return heapq.merge(*(_Tail(path).read() for path in paths), key=attrgetter("at"))


def newest_step(path: Path) -> NodeStep | None:
    """Return the last complete step of a file, None where there is none."""
    try:
        with path.open("rb") as file:
            size, length = os.fstat(file.fileno()).st_size, 1 << 14
            while True:
                length = min(length, size)
                file.seek(size - length)
                lines = file.read(length).split(b"\n")[:-1]  # the last one is not complete, or empty
                if len(lines) > 1 or length == size:
                    return decode_step(lines[-1]) if lines else None
                length *= 4
    except (FileNotFoundError, msgspec.MsgspecError, ValueError):
        return None
