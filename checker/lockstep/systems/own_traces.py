"""A spec of the reader's own as a system: its TLA+, its cfg, and the mapping of the lines of a log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lockstep.base.deadline import Deadline
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.state_check import check_states
from lockstep.conformance.trace_check import EventListener, Events, check_trace, ignore_event
from lockstep.conformance.trace_verdict import EVERY_PROPERTY_HOLDS, NOT_EVALUATED, TraceVerdict, failure
from lockstep.logs.mapped_logs import MappedTrace
from lockstep.logs.mapping import Mapping
from lockstep.systems.system import System
from lockstep.systems.trace_files import watched
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.trace.itf_reader import ItfTrace, is_itf, read_itf
from lockstep.trace.json_lines import STDIN, TraceError
from lockstep.trace.trace_reader import Trace, read_trace

#: The definition that a log is compared with where its mapping names no other.
OBSERVE = "Observe"


def own_system(spec: Path, cfg: Path, mapping: Mapping | None = None) -> System:
    """Return the system of a spec of the reader's own, with what its mapping has of it alone."""
    given = mapping if mapping is not None else Mapping(lines={})
    return System(
        spec=spec.stem,
        title=spec.stem,
        root=spec.absolute(),
        cfg=cfg.absolute(),
        observe=given.observe or OBSERVE,
        null=given.null,
        names_model_values=True,
        codes=given.codes,
    )


def load_own_spec(
    system: System, search_path: Sequence[Path] = (), jar: Path | None = None, start: str | None = None
) -> Spec:
    """Compile a spec that traces are to be checked against.

    Arguments: `search_path`, further folders with modules; `jar`, the tla2tools to use; `start`, the definition that
    says in which states a log may begin, if these are not the initial ones.
    `not_checked` names the parts of the cfg that no trace can be checked for.
    Raises FalseAssumptionError where its constants make an ASSUME false, and as load_spec does.
    """
    compiled = load_spec(
        system.module,
        system.trace_cfg,
        search_path=search_path,
        start=start,
        jar=jar,
        footprints=[system.observe],  # states that are alike in what it reads show the same
    )
    compiled.refuse_false_constants()
    return compiled


def not_checked(spec: Spec) -> tuple[str, ...]:
    """Return a note for each part of the cfg that no trace is checked for, since a trace ends.

    A property that speaks of a state or of steps, too, is checked in that part, and its rest is named.
    """
    checked = {name.partition("#")[0] for name in (*spec.invariants, *spec.action_properties, *spec.initial_properties)}
    found = []
    for name in spec.property_places:
        places = ", ".join([*spec.temporal.get(name, ()), *spec.unchecked.get(name, ())])
        if name == spec.postcondition_name:
            found.append(f"note: the POSTCONDITION {name} is not checked: it is of a whole search")
        elif places:
            what = "what {} says of behaviours without end" if name in checked else "the PROPERTY {}"
            why = "no trace shows that" if name in checked else "it speaks of behaviours without end"
            found.append(f"note: {what.format(name)} ({places}) is not checked: {why}")
    return tuple(found)


def with_notes(found: TraceVerdict, notes: Sequence[str]) -> TraceVerdict:
    """Return a verdict that names the properties that were not checked, and does not claim that every one holds."""
    if notes and found.verdict not in (Verdict.MALFORMED, Verdict.INTERNAL):
        found.notes += notes
        found.reason = found.reason.replace(
            EVERY_PROPERTY_HOLDS, "every property that a trace can be checked for holds"
        )
    return found


def check_own(
    given: Path | Trace,
    spec: Spec,
    interface: Interface,
    mapping: Mapping | None = None,
    check: Callable[[Events, Spec, Interface], TraceVerdict] = check_trace,
    timeout_seconds: float | None = None,
    listener: EventListener = ignore_event,
    say: Say = silent,
) -> TraceVerdict:
    """Check one trace against a spec of the reader's own.

    Arguments: `given`, a trace in our format, as a file or open, a file of ITF, or with `mapping` a log of any NDJSON;
    `check`, the engine; `timeout_seconds`, how long its events may take; `listener`, called after each event where the
    compiled spec takes the steps; `say`, called with the progress.
    """
    source = given.source if isinstance(given, Trace) else str(given)
    try:
        if isinstance(given, Path) and is_itf(given):
            behaviour = _behaviour(given, mapping, check)
            return as_own_mistake(check_states(behaviour, spec, interface, Deadline(timeout_seconds)))
        events = opened(given, source, spec, mapping)
        path = given if isinstance(given, Path) and mapping is None else None
        counted = watched(events, path, say, Deadline(timeout_seconds))
        if check is check_trace:
            found = check_trace(counted, spec, interface, listener=listener)
        else:
            found = check(counted, spec, interface)
        if check is not check_trace and found.reason.startswith(NOT_EVALUATED) and given != STDIN:
            found.reason = _with_a_place(
                found.reason, check_trace(opened(given, source, spec, mapping), spec, interface)
            )
        found.notes += events.notes if isinstance(events, MappedTrace) else []
    except Exception as error:  # Whatever it is, it is this trace's alone.
        found = failure(error, source)
    return as_own_mistake(found)


def _with_a_place(reason: str, compiled: TraceVerdict) -> str:
    """Return the compiled spec's reason if it meets a formula without a value, too: TLC seldom has its place."""
    return compiled.reason if compiled.reason.startswith(NOT_EVALUATED) else reason


def _behaviour(given: Path, mapping: Mapping | None, check: Callable[..., TraceVerdict]) -> ItfTrace:
    if mapping is not None:
        raise TraceError(str(given), 1, "an ITF file has every variable, and needs no mapping")
    if check is not check_trace:
        raise TraceError(str(given), 1, "TLC alone checks no ITF file; leave --engine out")
    return read_itf(given)


def as_own_mistake(found: TraceVerdict) -> TraceVerdict:
    """Return a verdict in which a formula without a value is the reader's mistake, since the spec is the reader's."""
    if found.verdict is Verdict.INTERNAL and found.reason.startswith(NOT_EVALUATED):
        found.verdict = Verdict.MALFORMED
    return found


def opened(given: Path | Trace, source: str, spec: Spec, mapping: Mapping | None) -> Events:
    """Return the events of a trace, or with `mapping` of a log; raises TraceError where it is of another spec."""
    if mapping is not None:
        if isinstance(given, Trace):
            raise TraceError(source, 1, "an open trace needs no mapping")
        return MappedTrace(given, mapping)
    trace = given if isinstance(given, Trace) else read_trace(given)
    if trace.header.spec != spec.name:
        raise TraceError(source, 1, f"field `spec`: {trace.header.spec!r} is not {spec.name!r}")
    if trace.header.constants:
        raise TraceError(source, 1, "field `constants`: those of the reader's own spec come from the cfg")
    return trace
