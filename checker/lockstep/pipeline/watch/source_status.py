"""What the source and the program tell each other: two processes of the driver's machine, by small files in a folder.

Nothing here is needed after a restart: Spark's checkpoint has all that is.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from lockstep.base.whole_files import writing_whole
from lockstep.pipeline.watch.growing_files import Offset, Planner, Torn


class Told(msgspec.Struct):
    """What the source tells after it looked for what is new.

    `number` is that of the last batch that is finished; the counts are those after the next one. `idle` tells that
    there is nothing to read and nothing that it waits to see more of; `looked` is when that was, in seconds since 1970.
    `files` are all, `bytes` those read of them.
    """

    number: int
    idle: bool
    looked: float
    files: int
    traces: int
    bytes: int
    torn: list[Torn]


class Control:
    """The folder."""

    def __init__(self, folder: Path) -> None:
        """Take a folder that is there."""
        self._source, self._waiting = folder / "source.json", folder / "waiting.json"
        self._read: tuple[tuple[int, int], Told] | None = None

    def tell_source(self, before: Offset, after: Offset, planner: Planner) -> None:
        """Tell what the source saw: the offset of the last finished batch, and that of the next, or the same."""
        told = Told(
            number=before.number,
            idle=after is before and not planner.behind and not planner.waiting,
            looked=time.time(),
            files=len(after.files),
            traces=sum(each.traces for each in after.series.values()),
            bytes=sum(each.bytes for each in after.files.values()),
            torn=planner.torn,
        )
        with writing_whole(self._source) as file:
            file.write(msgspec.json.encode(told))

    def source(self) -> Told | None:
        """Return what the source told last, the same object until it tells more; None before it told anything."""
        try:
            about = self._source.stat()
            version = about.st_ino, about.st_mtime_ns
            if self._read is None or self._read[0] != version:
                self._read = version, msgspec.json.decode(self._source.read_bytes(), type=Told)
        except FileNotFoundError:
            return None
        return self._read[1]

    def set_waiting(self, due: dict[str, float]) -> None:
        """Tell the source which traces wait for events, and until when, in seconds since 1970."""
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
