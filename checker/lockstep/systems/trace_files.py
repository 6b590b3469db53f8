"""Trace files: opened with what is known of their system, and written of simulated clusters and of raw input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.progress import REPORT_INTERVAL, Say, silent
from lockstep.conformance.trace_check import Events
from lockstep.systems.registry import SYSTEMS, raw_formats, simulators
from lockstep.systems.system import BEGINNING_BYTES, NO_OPTIONS, ImportOptions, RawFormat, Simulator, System
from lockstep.systems.trace_specs import spec_hash, trace_spec
from lockstep.trace.imported_trace import Imported, Summary
from lockstep.trace.json_lines import MAX_LINE_BYTES, STDIN, TraceError, file_lines, source_name
from lockstep.trace.trace_format import FORMAT, Event, Header, trace_lines, write_trace
from lockstep.trace.trace_reader import Trace, events_at_end

# ---- Opening ----


def open_or_import(path: Path, say: Say = silent) -> tuple[Trace, tuple[str, ...]]:
    """Open the trace at `path`, or import raw input, in memory; return it with notes on what was imported.

    The lines of an imported trace are those that `lockstep import` would write. Raises as open_trace and imported_trace
    do.
    """
    if path == STDIN or not path.is_file() or recognised_format(path) is None:
        return open_trace(path), ()
    return import_in_memory([path], say)


def import_in_memory(paths: Sequence[Path], say: Say = silent) -> tuple[Trace, tuple[str, ...]]:
    """Import raw input and open it as a trace; return it with a note on that. Raises as imported_trace does."""
    system, raw = raw_format(paths[0])
    imported = imported_trace(paths, NO_OPTIONS, say)
    note = f"note: imported from {raw.name} of {system.title}; the lines are those that `lockstep import` writes"
    notes = (note, *(f"note: {each}" for each in imported.summary.notes))
    return opened(trace_lines(imported.header, imported), ", ".join(map(source_name, paths))), notes


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
        _refuse_recorder(first, source)
        if (other := _other_kind(source, first)) is not None:
            raise TraceError(source, 1, other)
    trace = Trace(rest if first is None else chain([first], rest), source)
    system_known = SYSTEMS.get(trace.header.spec)
    if system_known is not None:
        trace.least_integer = system_known.least_integer
    return trace


def _refuse_recorder(first: bytes, source: str) -> None:
    """Raise TraceError where the first line of a file is one that a recorder of a node wrote."""
    if not first.startswith(b"{") or FORMAT.encode() in first:
        return
    try:
        fields = msgspec.json.decode(first.partition(b"\n")[0], type=dict[str, Any])
    except msgspec.MsgspecError:
        return
    for system in SYSTEMS.values():
        if system.recorder is not None and system.recorder().recognises(fields):
            what = f"the file of one node of {system.title}: `lockstep merge` makes a recording of those of all nodes"
            raise TraceError(source, 1, what)


#: Files that are taken for traces: how the first line begins, how the name ends, and a message.
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
    (
        re.compile(rb"\xa1\xb2[\xc3\x3c][\xd4\x4d]|[\xd4\x4d][\xc3\x3c]\xb2\xa1|\x0a\x0d\x0d\x0a"),
        ".pcap",
        "no trace, but a capture of a network: `lockstep import` makes lines of it",
    ),
    (None, ".cfg", "no trace, but a configuration of TLC: name it with --cfg, beside --spec and a trace or log"),
    (None, ".toml", "no trace, but TOML: name a mapping with --mapping, beside --spec and a log"),
)


def _other_kind(source: str, first: bytes) -> str | None:
    """Return the message for a file that does not begin like JSON; None where its kind is not known."""
    if first.lstrip().startswith(b"{"):
        return None
    for begins, suffix, message in _OTHER_KINDS:
        if source.endswith(suffix) or (begins is not None and begins.match(first)):
            return message
    return None


def watched(events: Events, path: Path | None, say: Say, deadline: Deadline) -> Watched:
    """Return events that are counted; `path` is their file, whose end line has their number."""
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
        total = "" if self.total is None else f" of {self.total:,}"
        for count, (line, event) in enumerate(self.events):
            if count % REPORT_INTERVAL == 0:
                self.say(f"{self.source}: event {count:,}{total}")
            if self.deadline.is_over():
                raise GaveUpError(f"{self.deadline.spent()} at line {line:,}")
            yield line, event


# ---- Writing ----


class OverwritingError(BadInputError):
    """The file that is to be written is the one that is read."""


def write_cluster(
    folder: Path,
    plan: str,
    seed: int,
    events: int,
    system: System | None = None,
    say: Say = silent,
    variant: str = "",
) -> Path:
    """Simulate one cluster and write its trace into `folder`; return the file.

    A plan, a seed and a version of this package reproduce the trace to the byte.
    Arguments: `plan`, by its name, or the file of one; `system`, for a file: whose plan it is; `variant`, another form
    of the flaws that a named plan is run with.
    Raises BadInputError where the file is no plan, or there is no such variant, and OSError where it cannot be read.
    """
    path = folder / cluster_file(plan, seed, variant)
    header, run = cluster_trace(plan, seed, events, system, variant)
    write_trace(path, header, _counting(run, lambda count: say(f"{path}: event {count:,} of {events:,}")))
    return path


def cluster_file(plan: str, seed: int, variant: str = "") -> str:
    """Return the name of the file of a simulated cluster."""
    return f"{Path(plan).stem}{f'-{variant}' if variant else ''}-{seed}.trace.ndjson"


def cluster_trace(
    plan: str, seed: int, events: int, system: System | None = None, variant: str = ""
) -> tuple[Header, Iterator[Event]]:
    """Simulate one cluster while its events are read; arguments and exceptions are those of write_cluster."""
    owner, simulator = simulators().get(plan) or _simulator_of(system or next(iter(SYSTEMS.values())))
    header, run = simulator.cluster(plan, seed, events, variant)
    return msgspec.structs.replace(header, spec_hash=spec_hash(owner)), run


def _simulator_of(system: System) -> tuple[System, Simulator]:
    if system.simulator is None:
        raise BadInputError(f"there is no simulator of {system.title}")
    return system, system.simulator


def _counting(events: Iterable[Event], on_event: Callable[[int], None]) -> Iterator[Event]:
    for count, event in enumerate(events):
        if count % REPORT_INTERVAL == 0:
            on_event(count)
        yield event


def import_trace(
    recorded: Path | Sequence[Path], path: Path, options: ImportOptions = NO_OPTIONS, say: Say = silent
) -> tuple[int, Summary]:
    """Write the trace of raw input to `path`; return its number of events, and the summary of its lines.

    Arguments: `recorded`, a file in one of the raw formats, or several logs of one system; `options`, facts that these
    lack.
    Raises TraceError where a file is malformed or has what the spec does not model; GaveUpError where no
    steps were found that lead from one line of a log to the next.
    """
    files = [recorded] if isinstance(recorded, Path) else list(recorded)
    refuse_overwriting(path, files, "trace")
    imported = imported_trace(files, options, say)
    return write_trace(path, imported.header, imported.events), imported.summary


def refuse_overwriting(path: Path | None, files: Iterable[Path], noun: str) -> None:
    """Raise OverwritingError where the file that is to be written, called `noun`, is one of those that are read.

    None of them need be there yet.
    """
    if path is not None and any(_is_same(path, file) for file in files):
        raise OverwritingError(f"{path}: the {noun} would overwrite what it is made of")


def _is_same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def imported_trace(recorded: Path | Sequence[Path], options: ImportOptions = NO_OPTIONS, say: Say = silent) -> Imported:
    """Import raw input as import_trace does, without writing it."""
    files = [recorded] if isinstance(recorded, Path) else list(recorded)
    system, raw = raw_format(files[0])
    if len(files) > 1 and not raw.is_explained:
        raise BadInputError(f"{files[1]}: {files[0]} is {raw.name}, which is imported alone")
    imported = raw.read(files, options, trace_spec, say)
    return replace(imported, header=msgspec.structs.replace(imported.header, spec_hash=spec_hash(system)))


def raw_format(recording: Path) -> tuple[System, RawFormat]:
    """Return the format of a file, by its name and its first bytes; the last one where none recognises it.

    The errors of that format name file and line. Raises TraceError where a recorder of one node wrote the file.
    """
    found = recognised_format(recording)
    if found is None:
        with recording.open("rb") as file:
            _refuse_recorder(file.readline(MAX_LINE_BYTES), str(recording))
    return found or list(raw_formats())[-1]


def recognised_format(recording: Path) -> tuple[System, RawFormat] | None:
    """Return the raw format of a file, by its name and its first bytes; None where no format recognises it."""
    with recording.open("rb") as file:
        begin = file.read(BEGINNING_BYTES)
    return next(((system, raw) for system, raw in raw_formats() if raw.recognises(recording, begin)), None)
