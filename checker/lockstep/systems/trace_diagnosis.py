"""The diagnosis of a trace file that leaves its spec."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from lockstep.base.deadline import Deadline
from lockstep.base.errors import GaveUpError
from lockstep.base.progress import silent
from lockstep.conformance.cause_choice import causes_of, likeliest
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import find_deviation
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.flaw_trials import FlawTrials
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import Events, TraceCheck
from lockstep.systems.flawed_specs import FlawedSpecs
from lockstep.systems.mapped_spec import MappedSpec
from lockstep.systems.own_traces import load_own_spec
from lockstep.systems.own_traces import opened as opened_own
from lockstep.systems.trace_files import open_or_import, watched
from lockstep.systems.trace_specs import Switches, system_of
from lockstep.tla.spec import Spec

#: The most time that one diagnosis may take, in seconds.
DIAGNOSIS_SECONDS = 20.0

#: The note where that is over too early.
TOO_LATE = "the time was over before the line was reached again"


def diagnosis_deadline(timeout_seconds: float | None) -> Deadline:
    """Return the end of a diagnosis that begins now, its spec loaded, of a trace that may take `timeout_seconds`."""
    return Deadline(DIAGNOSIS_SECONDS if timeout_seconds is None else min(timeout_seconds, DIAGNOSIS_SECONDS))


def diagnosis_or_note(diagnosis: Callable[[], Diagnosis | None]) -> Diagnosis | None:
    """Return a diagnosis; where the search for it fails, whatever goes wrong, one that says so: there is a verdict.

    Nothing is printed meanwhile: the check has shown what the spec prints and warns of.
    """
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            return diagnosis()
    except Exception as error:
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Diagnosis((), (), 0, (f"the cause could not be looked for: {why}",))


def known_diagnosis(
    path: Path, switches: Switches, jar: Path | None = None, timeout_seconds: float | None = None
) -> Diagnosis | None:
    """Return why a trace, or a recording, of a system that lockstep knows leaves the spec; None where it does not.

    Arguments: `switches`, constants that replace the header's; `jar`, the tla2tools that the spec is parsed with;
    `timeout_seconds`, the time that the diagnosis may take, where that is less than DIAGNOSIS_SECONDS.
    Raises as the check of the trace does.
    """
    trace = open_or_import(path, silent)[0]
    system = system_of(trace.header, trace.source)
    specs = FlawedSpecs(system, trace.header, trace.source, switches, jar)
    spec, probed = specs.spec(), specs.spec(has_probes=True)
    return _diagnosis(trace, spec, system.interface(spec), probed, specs, diagnosis_deadline(timeout_seconds))


def own_diagnosis(path: Path, loaded: MappedSpec, timeout_seconds: float | None = None) -> Diagnosis | None:
    """Return why a trace of a spec of the reader's own leaves it, or a log whose lines are steps; None if it does not.

    Arguments: `timeout_seconds`, as of known_diagnosis. Raises as the check of the trace does.
    """
    events = opened_own(path, str(path), loaded.spec, loaded.mapping)
    probed = load_own_spec(loaded.files, loaded.system, has_probes=True)
    deadline = diagnosis_deadline(timeout_seconds)
    return _diagnosis(events, loaded.spec, loaded.interface, probed, None, deadline)


def _diagnosis(
    trace: Events,
    spec: Spec,
    interface: Interface,
    probed: Spec,
    specs: FlawedSpecs | None,
    deadline: Deadline,
) -> Diagnosis | None:
    check = TraceCheck(trace, spec, interface)
    try:
        deviation = find_deviation(watched(trace, None, silent, deadline), check)
    except GaveUpError:
        return Diagnosis((), (), 0, (TOO_LATE,))
    if deviation is None:
        return None
    steps, known = ChangedSteps(check, probed, frozenset(specs.flaws if specs else ())), list[DeviationCause]()
    limit = SearchLimit(deadline)
    past = deviation.past(check)
    if specs is not None:
        trials = FlawTrials(deviation, steps, limit)
        known = specs.causes(trials, lambda flawed: TraceCheck(trace, flawed, specs.system.interface(flawed)))
    causes = [*known, *causes_of(deviation, steps, limit, past, is_known=bool(known))]
    before = tuple(deviation.events[place][0] for place in past)
    return Diagnosis(likeliest(causes), before, len(deviation.events), tuple(limit.notes))
