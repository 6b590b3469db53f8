"""Writing trace files: of simulated clusters, and of raw input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.progress import EVERY, Say, silent
from lockstep.systems.registry import SYSTEMS, raw_formats, simulators
from lockstep.systems.specs import spec_hash, trace_spec
from lockstep.systems.system import ALL_TOLD, BEGINNING_BYTES, RawFormat, Simulator, System, Untold
from lockstep.trace.imported_trace import Imported, Summary
from lockstep.trace.trace_format import Event, Header, write_trace


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
    write_trace(path, header, _telling(run, lambda count: say(f"{path}: event {count:,} of {events:,}")))
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


def _telling(events: Iterable[Event], on_event: Callable[[int], None]) -> Iterator[Event]:
    for count, event in enumerate(events):
        if count % EVERY == 0:
            on_event(count)
        yield event


def import_trace(
    recorded: Path | Sequence[Path], path: Path, untold: Untold = ALL_TOLD, say: Say = silent
) -> tuple[int, Summary]:
    """Write the trace of raw input to `path`; return its number of events, and what became of the lines.

    Arguments: `recorded`, a file in one of the raw formats, or several logs of one system; `untold`, what they do not
    tell of themselves.
    Raises TraceError where a file is malformed or has what the spec does not model; GaveUpError where no
    steps were found that lead from one line of a log to the next.
    """
    files = [recorded] if isinstance(recorded, Path) else list(recorded)
    for file in files:
        if path.exists() and file.samefile(path):
            raise OverwritingError(f"{path}: the trace would overwrite what it is made of")
    imported = imported_trace(files, untold, say)
    return write_trace(path, imported.header, imported.events), imported.summary


def imported_trace(recorded: Path | Sequence[Path], untold: Untold = ALL_TOLD, say: Say = silent) -> Imported:
    """Import raw input as import_trace does, without writing it: the header tells the hash of the spec."""
    files = [recorded] if isinstance(recorded, Path) else list(recorded)
    system, _ = raw_format(files[0])
    imported = imported_file(files, untold, say)
    return replace(imported, header=msgspec.structs.replace(imported.header, spec_hash=spec_hash(system)))


def imported_file(recorded: Path | Sequence[Path], untold: Untold = ALL_TOLD, say: Say = silent) -> Imported:
    """Import raw input; arguments and errors are those of import_trace."""
    files = [recorded] if isinstance(recorded, Path) else list(recorded)
    _, raw = raw_format(files[0])
    if len(files) > 1 and not raw.is_explained:
        raise BadInputError(f"{files[1]}: {files[0]} is {raw.name}, which is imported alone")
    return raw.read(files, untold, trace_spec, say)


def raw_format(recording: Path) -> tuple[System, RawFormat]:
    """Return what a file is, by its name and its first bytes; what none recognises is taken for the last there is.

    Whatever that finds wrong with it names file and line.
    """
    with recording.open("rb") as file:
        begin = file.read(BEGINNING_BYTES)
    known = list(raw_formats())
    return next(((system, raw) for system, raw in known if raw.recognises(recording, begin)), known[-1])
