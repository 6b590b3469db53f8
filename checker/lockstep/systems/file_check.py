"""The check of one file: opened, held against its spec, with a verdict whatever goes wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from lockstep.base.deadline import Deadline
from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.conformance.finding_codes import OTHER_SPEC
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.state_check import check_states
from lockstep.conformance.trace_check import EventListener, Events, check_trace, ignore_event
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.logs.log_check import LogSpec, check_logs
from lockstep.systems.own_logs import LogSearch, OwnLogs, load_mapped_spec
from lockstep.systems.own_traces import check_own, not_checked
from lockstep.systems.system import System
from lockstep.systems.trace_files import open_trace, watched
from lockstep.systems.trace_specs import Switches, compiled, spec_hash, system_of, tlc_spec
from lockstep.tla.loading.spec_project import Parsed, parse_spec
from lockstep.tla.spec import Spec
from lockstep.trace.itf_reader import HEADER, ItfTrace, is_itf, read_itf
from lockstep.trace.json_lines import TraceError, convert_line, source_name
from lockstep.trace.trace_format import Header
from lockstep.trace.trace_reader import Trace

#: Checks one trace: a file, or one that is open.
FileCheck: TypeAlias = Callable[[Path | Trace], TraceVerdict]


@dataclass(frozen=True, slots=True)
class ByTlc:
    """Options of TLC where it takes the steps: seconds for each trace, and the jar."""

    timeout: float | None
    jar: Path | None


def check(
    trace: str | Path | Trace,
    *,
    switches: Switches = MappingProxyType({}),
    spec: str | Path | None = None,
    cfg: str | Path | None = None,
    mapping: str | Path | None = None,
) -> TraceVerdict:
    """Check one trace and return the verdict, as `lockstep check` does; what is malformed gets a verdict, too.

    Arguments: `trace`, a file or an open trace; `switches`, constants by name that replace the header's; `spec`, where
    the trace is of a spec of your own, whose `cfg` is the one beside it unless another is named; `mapping`, how the
    lines of a log are steps of that spec.
    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    if spec is None:
        if cfg is not None or mapping is not None:
            raise BadInputError("cfg and mapping go with a spec")
        checks: FileCheck = KnownTraceCheck(switches)
    else:
        own = Path(spec)
        checks = own_check(own, Path(cfg or own.with_suffix(".cfg")), None if mapping is None else Path(mapping))
    return checks(trace if isinstance(trace, Trace) else Path(trace))


@dataclass(frozen=True, slots=True)
class KnownTraceCheck:
    """The check of traces whose header names a system that lockstep knows.

    `switches` are constants that replace the header's; `tlc` is there where TLC takes the steps; `say` is called with
    the progress; `jar` is the tla2tools that the spec is parsed with. Where the compiled spec takes the steps, a trace
    may take `timeout_seconds`, and `listener` is called after each event.
    """

    switches: Switches
    tlc: ByTlc | None = None
    say: Say = silent
    jar: Path | None = None
    timeout_seconds: float | None = None
    listener: EventListener = ignore_event

    def __call__(self, given: Path | Trace) -> TraceVerdict:
        """Return the verdict on one trace, whatever goes wrong with it."""
        source = given.source if isinstance(given, Trace) else source_name(given)
        try:
            if isinstance(given, Path) and is_itf(given):
                return self._check_states(given, source)
            return self._check_events(given, source)
        except Exception as error:
            return failure(error, source)

    def _check_events(self, given: Path | Trace, source: str) -> TraceVerdict:
        trace = given if isinstance(given, Trace) else open_trace(given)
        header = trace.header
        system = system_of(header, source)
        if self.tlc is None:
            spec = compiled(system, header, source, self.switches, self.jar)
            path = given if isinstance(given, Path) else None
            events = watched(trace, path, self.say, Deadline(self.timeout_seconds))
            found = check_trace(events, spec, system.interface(spec), listener=self.listener)
        else:
            # Slow to import, and only this needs it.
            from lockstep.conformance.by_tlc.tlc_trace_check import check_with_tlc

            spec_for_tlc = tlc_spec(system, header, source, self.switches, self.tlc.jar)
            found = check_with_tlc(trace, spec_for_tlc, timeout_seconds=self.tlc.timeout, jar=self.tlc.jar)
        found.notes.extend(notes_on(header, system, source))
        return found

    def _check_states(self, given: Path, source: str) -> TraceVerdict:
        """Check a file of ITF that `lockstep export` made of a trace: its `#meta` has that trace's header."""
        behaviour = read_itf(given)
        header = header_of_states(behaviour, source)
        if self.tlc is not None:
            raise TraceError(source, 1, "TLC alone checks no ITF file; leave --engine out")
        system = system_of(header, source)
        spec = compiled(system, header, source, self.switches, self.jar)
        found = check_states(behaviour, spec, system.interface(spec), Deadline(self.timeout_seconds))
        found.notes.extend(notes_on(header, system, source))
        return found


def header_of_states(behaviour: ItfTrace, source: str) -> Header:
    """Return the header of the trace that a file of ITF was made of; raises TraceError where it has none."""
    tree = behaviour.meta.get(HEADER)
    if tree is None:
        raise TraceError(source, 1, "an ITF file does not say which spec it is of: name that with --spec")
    header: Header = convert_line(tree, Header, source, 1)
    return header


def notes_on(
    header: Header, system: System, source: str, hash_of: Callable[[System], str] = spec_hash
) -> Iterator[str]:
    """Yield a note where a trace was written with another version of its system's spec than it is checked against.

    Arguments: `hash_of` returns the SHA-256 of a system's modules.
    """
    here = hash_of(system) if header.spec_hash else ""
    if header.spec_hash and header.spec_hash != here:
        hashes = f"written with the spec {header.spec_hash[:12]}, checked against {here[:12]}"
        yield f"{source}:1: {OTHER_SPEC} note: {hashes}"


def own_check(
    own: Path,
    cfg: Path,
    mapping: Path | None,
    tlc: ByTlc | None = None,
    *,
    search_path: Sequence[Path] = (),
    jar: Path | None = None,
    timeout_seconds: float | None = None,
    strict: bool = False,
    say: Say = silent,
) -> OwnLogs:
    """Return the check of a trace, or with `mapping` of a log, against a spec of the reader's own.

    Arguments: `search_path`, further folders with modules; `jar`, the tla2tools that the spec is parsed with;
    `timeout_seconds`, how long a trace or the logs may take where the compiled spec takes the steps; `strict`, whether
    logs do not pass if some explanation of them fails a property; `say`, called with the progress.
    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    loaded = load_mapped_spec(own, cfg, mapping, search_path=search_path, jar=jar)
    check = partial(check_own, spec=loaded.spec, interface=loaded.interface, mapping=loaded.mapping)
    if tlc is None:
        plain: FileCheck = partial(check, timeout_seconds=timeout_seconds, say=say)
        search: LogSearch = partial(check_logs, timeout_seconds=timeout_seconds)
    else:
        parsed = parse_spec(own, cfg, search_path=search_path, jar=tlc.jar)
        plain, search = partial(check, check=partial(_check_with_tlc, parsed, tlc)), _refuse_search
    return OwnLogs(plain, loaded.searched, loaded.always, strict, say, search, not_checked(loaded.spec))


def _check_with_tlc(parsed: Parsed, tlc: ByTlc, trace: Events, spec: Spec, interface: Interface) -> TraceVerdict:
    from lockstep.conformance.by_tlc.tlc_trace_check import TlcSpec, check_with_tlc

    return check_with_tlc(trace, TlcSpec(spec, parsed, interface), timeout_seconds=tlc.timeout, jar=tlc.jar)


def _refuse_search(paths: Sequence[Path], subject: LogSpec, *, strict: bool = False, say: Say = silent) -> TraceVerdict:
    problem = "the lines leave steps open, and TLC alone searches for none; leave --engine out"
    raise TraceError(source_name(paths[0]), 1, problem)
