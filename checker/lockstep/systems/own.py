"""Traces of any system against any spec: the reader's own TLA+, cfg, and log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lockstep.conformance.check import Events, TraceVerdict, check_trace, failure, unreadable
from lockstep.conformance.compare import NO_NODE, Words
from lockstep.systems.specs import refuse_false_assumptions, refuse_unchecked
from lockstep.tla.spec import Spec, load_spec
from lockstep.trace.format import TraceError, read_trace
from lockstep.trace.mapping import MappedTrace, Mapping, MappingError


def load_own_spec(spec: Path, cfg: Path) -> Spec:
    """Compile a spec that traces are to be checked against.

    Raises UncheckedPropertyError where the cfg asks for liveness, which no finite trace can be checked for,
    FalseAssumptionError where its constants make an ASSUME false, and as load_spec does.
    """
    compiled = load_spec(spec, cfg)
    refuse_false_assumptions(compiled)
    refuse_unchecked(compiled, str(cfg))
    return compiled


def check_own(
    path: Path,
    spec: Spec,
    mapping: Mapping | None = None,
    check: Callable[[Events, Spec, Words], TraceVerdict] = check_trace,
) -> TraceVerdict:
    """Check one trace against a spec; strings that name a model value of the cfg stand for it.

    Arguments: `path`, a trace in our format, or with `mapping` a log of any NDJSON; `check`, the engine.
    """
    try:
        return check(_opened(path, spec, mapping), spec, words_of(spec, mapping))
    except OSError as error:
        return unreadable(error, str(path))
    except TraceError as error:
        return failure(error, str(path))


def words_of(spec: Spec, mapping: Mapping | None = None) -> Words:
    """Return what the words of a log stand for: model values by their names, null as the mapping says.

    Raises MappingError where the cfg has no such constant.
    """
    if mapping is None or mapping.null is None:
        return Words(NO_NODE, spec.model_values)
    known = {**spec.model_values, **spec.constants}
    if mapping.null not in known:
        raise MappingError(f"field `null`: the cfg has no constant {mapping.null!r}")
    return Words(known[mapping.null], spec.model_values)


def _opened(path: Path, spec: Spec, mapping: Mapping | None) -> Events:
    if mapping is not None:
        return MappedTrace(path, mapping)
    trace = read_trace(path)
    if trace.header.spec != spec.name:
        raise TraceError(str(path), 1, f"field `spec`: {trace.header.spec!r} is not {spec.name!r}")
    if trace.header.constants:
        raise TraceError(str(path), 1, "field `constants`: those of the reader's own spec come from the cfg")
    return trace
