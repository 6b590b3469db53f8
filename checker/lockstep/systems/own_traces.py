"""A spec of the reader's own as a system: its TLA+, its cfg, and the mapping of the lines of a log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import Events
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.logs.mapped_logs import MappedTrace
from lockstep.logs.mapping import Mapping
from lockstep.models.search_result import SpecFiles
from lockstep.systems.system import System
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_reader import Trace, read_trace

#: The definition that a log is compared with where its mapping names no other.
OBSERVE = "Observe"


def own_system(files: SpecFiles, mapping: Mapping | None = None) -> System:
    """Return the system of a spec of the reader's own, with what its mapping has of it alone."""
    name = files.module.stem
    given = mapping if mapping is not None else Mapping(lines={})
    return System(
        spec=name,
        title=name,
        root=files.module.absolute(),
        cfg=files.cfg.absolute(),
        observe=given.observe or OBSERVE,
        null=given.null,
        names_model_values=True,
        codes=given.codes,
    )


def load_own_spec(files: SpecFiles, system: System, start: str | None = None, *, has_probes: bool = False) -> Spec:
    """Compile a spec that traces are to be checked against.

    Arguments: `system`, made of the files; `start`, the definition that says in which states a log may begin, if these
    are not the initial ones; `has_probes`, whether its expressions are to have probes.
    `not_checked` names the parts of the cfg that no trace can be checked for.
    Raises FalseAssumptionError where its constants make an ASSUME false, and as load_spec does.
    """
    compiled = load_spec(
        system.module,
        system.trace_cfg,
        search_path=files.library,
        start=start,
        jar=files.jar,
        footprints=[system.observe],  # states that are alike in what it reads show the same
        has_probes=has_probes,
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
    """Return a verdict that names the properties that were not checked."""
    if found.verdict not in (Verdict.MALFORMED, Verdict.INTERNAL):
        found.notes += notes
    return found


def as_own_mistake(found: TraceVerdict) -> TraceVerdict:
    """Return a verdict in which a formula without a value is the reader's mistake, since the spec is the reader's."""
    if found.verdict is Verdict.INTERNAL and found.fault is not None:
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
