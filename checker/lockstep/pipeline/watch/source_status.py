"""The reports of the source and the program to each other: two processes of one machine, by files in a folder.

Nothing here is needed after a restart, for which Spark's checkpoint is enough.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from lockstep.base.whole_files import writing_whole
from lockstep.pipeline.watch.growing_files import BatchPlanner, ReadOffset


class SourceStatus(msgspec.Struct):
    """The state of the source after its last look at the files.

    `number` is that of the last batch that is finished; `traces` and the `bytes` that were read of them are those after
    the next one. `is_idle`: there is nothing to read, and nothing that it waits for. `torn` is that of the planner.
    """

    number: int
    is_idle: bool
    traces: int
    bytes: int
    torn: dict[str, int]


class StatusFolder:
    """The folder of the reports."""

    def __init__(self, folder: Path) -> None:
        """Use a folder that exists."""
        self._status, self._waiting = folder / "status.json", folder / "waiting.json"
        self._last: tuple[tuple[int, int], SourceStatus] | None = None

    def report(self, before: ReadOffset, after: ReadOffset, planner: BatchPlanner) -> None:
        """Report the offset of the last finished batch, and that of the next, or the same."""
        status = SourceStatus(
            number=before.number,
            is_idle=after is before and not planner.is_behind and not planner.is_waiting,
            traces=len(after.files),
            bytes=sum(each.bytes for each in after.files.values()),
            torn=planner.torn,
        )
        with writing_whole(self._status) as file:
            file.write(msgspec.json.encode(status))

    def status(self) -> SourceStatus | None:
        """Return the last report, the same object until there is another; None before the first."""
        try:
            about = self._status.stat()
            version = about.st_ino, about.st_mtime_ns
            if self._last is None or self._last[0] != version:
                self._last = version, msgspec.json.decode(self._status.read_bytes(), type=SourceStatus)
        except FileNotFoundError:
            return None
        return self._last[1]

    def set_waiting(self, due: dict[str, float]) -> None:
        """Report which traces wait for events, and until when, in seconds since 1970."""
        with writing_whole(self._waiting) as file:
            file.write(msgspec.json.encode(due))

    def due(self) -> list[str]:
        """Return the traces that have waited long enough."""
        try:
            waiting = msgspec.json.decode(self._waiting.read_bytes(), type=dict[str, float])
        except FileNotFoundError:
            return []
        now = time.time()
        return sorted(trace for trace, until in waiting.items() if until <= now)
