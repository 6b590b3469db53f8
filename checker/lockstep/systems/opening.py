"""Opening traces, with what is known of their system: its least integer, and raw files that people take for traces."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from lockstep.systems.registry import SYSTEMS, raw_formats
from lockstep.trace.format import Trace, TraceError
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
            if raw.recognises(Path(), first[:200]):
                what = f"no trace, but {raw.name} of {system.title}: `lockstep import` makes a trace of it"
                raise TraceError(source, 1, what)
    trace = Trace(rest if first is None else chain([first], rest), source)
    system_known = SYSTEMS.get(trace.header.spec)
    if system_known is not None:
        trace.least_integer = system_known.least_integer
    return trace
