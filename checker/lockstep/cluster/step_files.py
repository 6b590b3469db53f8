"""The step files of the nodes of a group as one sequence in the order of time: while they grow, or once they are whole.

The nodes run on one machine and read one clock, which never goes back. A node writes a step before anything that the
step asks for leaves it, so the step of whoever sends a message comes before that of whoever receives it. The time of a
step is that at which its event begins: a process that is paused, or waits for its disk, writes it later.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lockstep.base.progress import silent
from lockstep.systems.merged_order import MergedOrder, TimedLine, Upcoming
from lockstep.systems.node_files import FileRecord, NodeFile, record_fields
from lockstep.trace.json_lines import TraceError
from raftref.runtime.driver import NodeStep

#: The time between two looks at the files, in seconds.
POLL = 0.1

#: The field of a line that has the step.
STEP = "step"


class _RecordedSteps:
    """The steps of one node: a line for each."""

    def lines(self, record: FileRecord) -> Iterator[TimedLine]:
        step = record.step()
        yield TimedLine(record, round(step.at * 1e9), step.node, {STEP: step})

    def rest(self) -> tuple[TimedLine, ...]:
        return ()


class _ByTime:
    """No message is looked at: a replay refuses what was not sent."""

    def lacks(self, line: TimedLine) -> str | None:
        return None

    def is_early(self, line: TimedLine) -> bool:
        return False

    def note(self, line: TimedLine, upcoming: Upcoming) -> None:
        pass

    def was_guessed(self, line: TimedLine) -> bool:
        return False


def _order(paths: Sequence[Path], clock: Callable[[], float]) -> MergedOrder:
    return MergedOrder([(NodeFile(path, silent), _RecordedSteps()) for path in paths], _ByTime(), clock=clock)


def growing_steps(
    paths: Sequence[Path], is_over: Callable[[], bool], clock: Callable[[], float] = time.monotonic
) -> Iterator[NodeStep]:
    """Yield the steps of files that grow in the order of time, those of a file in its own.

    Arguments: `paths`; `is_over`, whether no more steps are written: then all that is left is yielded, and the sequence
    ends; `clock`, in seconds. Raises TraceError where a line is no step, and LateLineError where one came too late.
    """
    order = _order(paths, clock)
    while True:
        over = is_over()
        for line in order.lines(is_over=over):
            yield line.fields[STEP]
        if over:
            return
        time.sleep(POLL)


def whole_steps(paths: Sequence[Path]) -> Iterator[NodeStep]:
    """Yield the steps of files that grow no more in the order of time, those of a file in its own.

    Raises TraceError where a line is no step.
    """
    return growing_steps(paths, lambda: True)


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
                    return _step_at_end(path, lines[-1]) if lines else None
                length *= 4
    except (FileNotFoundError, TraceError):
        return None


def _step_at_end(path: Path, line: bytes) -> NodeStep:
    return FileRecord(str(path), 0, record_fields(line + b"\n", str(path), 0)).step()
