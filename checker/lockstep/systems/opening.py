"""Opening traces, with what is known of their system: its least integer, and raw files that people take for traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import GaveUpError
from lockstep.base.progress import EVERY, Say, silent
from lockstep.conformance.check import Events
from lockstep.systems.registry import SYSTEMS, raw_formats
from lockstep.systems.system import BEGINNING_BYTES
from lockstep.trace.format import Event, Trace, TraceError, events_at_end
from lockstep.trace.json_lines import file_lines, source_name


def open_trace(path: Path) -> Trace:
    """Open the trace at `path`; its events are read while it is iterated.

    Raises TraceError where the file is malformed, or raw input that is to be imported first; UnreadableError where it
    cannot be read.
    """
    return opened(file_lines(path), source_name(path))


def opened(lines: Iterable[bytes], source: str) -> Trace:
    """Open the trace of these lines; `source` names the file in messages, and TraceError is raised as by open_trace."""
    rest = iter(lines)
    first = next(rest, None)
    if first is not None:
        for system, raw in raw_formats():
            if raw.recognises(Path(), first[:BEGINNING_BYTES]):
                what = f"no trace, but {raw.name} of {system.title}: `lockstep import` makes a trace of it"
                raise TraceError(source, 1, what)
    trace = Trace(rest if first is None else chain([first], rest), source)
    system_known = SYSTEMS.get(trace.header.spec)
    if system_known is not None:
        trace.least_integer = system_known.least_integer
    return trace


def watched(events: Events, path: Path | None, say: Say, deadline: Deadline) -> Watched:
    """Return events that are counted; `path` is their file, whose end line says how many they are."""
    return Watched(events, say, deadline, None if path is None else events_at_end(path))


@dataclass(frozen=True, slots=True)
class Watched:
    """Events that are counted while they are read, until the time is over: then GaveUpError is raised.

    `total` is how many there are, as far as the file says.
    """

    events: Events
    say: Say = silent
    deadline: Deadline = NEVER
    total: int | None = None

    @property
    def source(self) -> str:
        """The file."""
        return self.events.source

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event)."""
        of = "" if self.total is None else f" of {self.total:,}"
        for count, (line, event) in enumerate(self.events):
            if count % EVERY == 0:
                self.say(f"{self.source}: event {count:,}{of}")
            if self.deadline.is_over():
                raise GaveUpError(f"{self.deadline.spent()} at line {line:,}")
            yield line, event
