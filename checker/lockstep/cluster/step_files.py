"""The step files of the nodes of a group, read while they grow, as one sequence in the order of time.

The nodes run on one machine and read one clock, which never goes back. A node writes a step before anything that the
step asks for leaves it, so the step of whoever sends a message comes before that of whoever receives it.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path

import msgspec

from lockstep.base.errors import BadInputError
from raftref.runtime.driver import NodeStep

#: A step that is older than this, in seconds, has been written by all nodes that took one before it.
SETTLED = 0.5
#: The time between two looks at the files, in seconds.
POLL = 0.1


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
                data = file.read()
        except FileNotFoundError:
            return
        whole, newline, _ = data.rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for line in whole.splitlines():
            self._number += 1
            try:
                yield msgspec.json.decode(line, type=NodeStep)
            except msgspec.MsgspecError as error:
                raise BadInputError(f"{self._path}:{self._number}: this is no step: {error}") from error


def merged_steps(
    paths: Sequence[Path],
    is_over: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
    stopped_since: Callable[[], float] = lambda: inf,
) -> Iterator[NodeStep]:
    """Yield the steps of all files in the order of time, those of a file in its own.

    Arguments: `paths`; `is_over`, whether no more steps are written: then all that is left is yielded, and the sequence
    ends; `clock`, the clock of the steps; `stopped_since`, since when a process is stopped that may still write a step
    of that time. Raises BadInputError where a line is no step, or one came too late.
    """
    tails = [_Tail(path) for path in paths]
    waiting: list[tuple[float, int, int, NodeStep]] = []
    count, last = 0, float("-inf")
    while True:
        over, horizon = is_over(), min(clock(), stopped_since()) - SETTLED
        for number, tail in enumerate(tails):
            for step in tail.read():
                count += 1
                heapq.heappush(waiting, (step.at, number, count, step))
        while waiting and (over or waiting[0][0] <= horizon):
            at, _, _, step = heapq.heappop(waiting)
            if at < last:
                raise BadInputError(f"{step.node}: a step of {at:.6f} s came after one of {last:.6f} s was taken")
            last = at
            yield step
        if over:
            return
        time.sleep(POLL)
