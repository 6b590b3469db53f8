"""Opening traces, with what is known of their system: its least integer, and raw files that people take for traces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import GaveUpError
from lockstep.base.progress import EVERY, Say, silent
from lockstep.conformance.trace_check import Events
from lockstep.systems.registry import SYSTEMS, raw_formats
from lockstep.systems.system import BEGINNING_BYTES
from lockstep.trace.json_lines import TraceError, file_lines, source_name
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import Trace, events_at_end


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
        if (other := _other_kind(source, first)) is not None:
            raise TraceError(source, 1, other)
    trace = Trace(rest if first is None else chain([first], rest), source)
    system_known = SYSTEMS.get(trace.header.spec)
    if system_known is not None:
        trace.least_integer = system_known.least_integer
    return trace


#: What people give for a trace: how its first line begins, or its name ends, and what to do with it.
_OTHER_KINDS = (
    (
        re.compile(rb"-{4,}\s*MODULE\b"),
        ".tla",
        "no trace, but a TLA+ module: name it with --spec, beside a log",
    ),
    (
        re.compile(rb"(?i)<(!doctype\s+html|html)\b"),
        ".html",
        "no trace, but a page: give the trace that it is of",
    ),
    (None, ".cfg", "no trace, but a configuration of TLC: name it with --cfg, beside --spec and a trace or log"),
    (None, ".toml", "no trace, but TOML: name a mapping with --mapping, beside --spec and a log"),
)


def _other_kind(source: str, first: bytes) -> str | None:
    """Return what a file is that begins like no JSON, and what to do with it; None where that is not known."""
    if first.lstrip().startswith(b"{"):
        return None
    for begins, suffix, said in _OTHER_KINDS:
        if source.endswith(suffix) or (begins is not None and begins.match(first)):
            return said
    return None


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
