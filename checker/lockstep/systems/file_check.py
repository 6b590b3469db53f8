"""The verdict on one file: what goes wrong with it is its own verdict, and leaves the others."""

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
from lockstep.logs.log_check import LogSpec as LogSubject
from lockstep.logs.log_check import check_logs
from lockstep.systems.own_logs import OwnLogs, own_subject
from lockstep.systems.own_traces import check_own, not_checked
from lockstep.systems.system import System
from lockstep.systems.trace_files import open_trace, watched
from lockstep.systems.trace_specs import Switches, compiled, spec_hash, subject, system_of
from lockstep.tla.loading.spec_project import parse_spec
from lockstep.tla.spec import Spec
from lockstep.trace.itf_reader import HEADER, ItfTrace, is_itf, read_itf
from lockstep.trace.json_lines import TraceError, convert_line, source_name
from lockstep.trace.trace_format import Header
from lockstep.trace.trace_reader import Trace

#: What checks one trace: a file, or one that is open.
Judge: TypeAlias = Callable[[Path | Trace], TraceVerdict]


@dataclass(frozen=True, slots=True)
class ByTlc:
    """How TLC is run where it takes the steps: seconds for each trace, and the jar."""

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
    given = trace if isinstance(trace, Trace) else Path(trace)
    if spec is None:
        if cfg is not None or mapping is not None:
            raise BadInputError("cfg and mapping go with a spec")
        return check_known(given, switches)
    own = Path(spec)
    return judge_own(own, Path(cfg or own.with_suffix(".cfg")), None if mapping is None else Path(mapping))(given)


def judge_known(
    switches: Switches,
    tlc: ByTlc | None = None,
    say: Say = silent,
    *,
    jar: Path | None = None,
    timeout_seconds: float | None = None,
    listener: EventListener = ignore_event,
) -> Judge:
    """Return check_known with these arguments, which checks one trace after the other."""
    return lambda given: check_known(
        given, switches, tlc, say, jar=jar, timeout_seconds=timeout_seconds, listener=listener
    )


def check_known(
    given: Path | Trace,
    switches: Switches,
    tlc: ByTlc | None = None,
    say: Say = silent,
    *,
    jar: Path | None = None,
    timeout_seconds: float | None = None,
    listener: EventListener = ignore_event,
) -> TraceVerdict:
    """Check a trace whose header names a system that lockstep knows: open it, load the spec, follow the events.

    Arguments: `switches`, constants that replace the header's; `tlc`, where TLC takes the steps; `jar`, the tla2tools
    that the spec is parsed with; `timeout_seconds`, how long a trace may take where the compiled spec takes them;
    `listener`, called after each event where it does.
    """
    source = given.source if isinstance(given, Trace) else source_name(given)
    try:
        if isinstance(given, Path) and is_itf(given):
            return _check_exported(given, source, switches, tlc, jar, Deadline(timeout_seconds))
        trace = given if isinstance(given, Trace) else open_trace(given)
        header = trace.header
        system = system_of(header, source)
        if tlc is None:
            spec = compiled(system, header, source, switches, jar)
            path = given if isinstance(given, Path) else None
            events = watched(trace, path, say, Deadline(timeout_seconds))
            found = check_trace(events, spec, system.interface(spec), listener=listener)
        else:
            # The writer of modules is slow to import, and only this needs it.
            from lockstep.conformance.by_tlc.tlc_trace_check import check_with_tlc

            held = subject(system, header, source, switches, tlc.jar)
            found = check_with_tlc(trace, held, timeout_seconds=tlc.timeout, jar=tlc.jar)
    except Exception as error:
        return failure(error, source)
    found.notes.extend(notes_on(header, system, source))
    return found


def _check_exported(
    given: Path, source: str, switches: Switches, tlc: ByTlc | None, jar: Path | None, deadline: Deadline
) -> TraceVerdict:
    """Check a file of ITF that `lockstep export` made of a trace: its `#meta` has that trace's header."""
    behaviour = read_itf(given)
    header = header_of_states(behaviour, source)
    if tlc is not None:
        raise TraceError(source, 1, "TLC alone checks no ITF file; leave --engine out")
    system = system_of(header, source)
    spec = compiled(system, header, source, switches, jar)
    found = check_states(behaviour, spec, system.interface(spec), deadline)
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
        versions = f"written with the spec {header.spec_hash[:12]}, checked against {here[:12]}"
        yield f"{source}:1: {OTHER_SPEC} note: {versions}"


def judge_own(
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
    logs do not pass if some explanation of them fails a property; `say`, which reports how far a search is.
    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    held = own_subject(own, cfg, mapping, search_path=search_path, jar=jar)
    spec, interface, mapped = held.spec, held.interface, held.mapping
    if tlc is None:
        plain = partial(
            check_own, spec=spec, interface=interface, mapping=mapped, timeout_seconds=timeout_seconds, say=say
        )
        timed = partial(check_logs, timeout_seconds=timeout_seconds)
        return OwnLogs(plain, held.searched, held.always, strict, say, timed, not_checked(spec))
    from lockstep.conformance.by_tlc.tlc_trace_check import TlcSpec, check_with_tlc

    parsed = parse_spec(own, cfg, search_path=search_path, jar=tlc.jar)

    def with_tlc(trace: Events, spec: Spec, interface: Interface) -> TraceVerdict:
        return check_with_tlc(trace, TlcSpec(spec, parsed, interface), timeout_seconds=tlc.timeout, jar=tlc.jar)

    def refuse(paths: Sequence[Path], subject: LogSubject, *, strict: bool = False, say: Say = silent) -> TraceVerdict:
        problem = "the lines leave steps open, and TLC alone searches for none; leave --engine out"
        raise TraceError(source_name(paths[0]), 1, problem)

    plain = partial(check_own, spec=spec, interface=interface, mapping=mapped, check=with_tlc)
    return OwnLogs(plain, held.searched, held.always, strict, say, refuse, not_checked(spec))
