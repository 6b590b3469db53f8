"""The diagnosis of a file of states, in the Informal Trace Format (ITF), that leaves its spec."""

from __future__ import annotations

from pathlib import Path

from lockstep.base.deadline import Deadline
from lockstep.base.errors import GaveUpError
from lockstep.conformance.cause_choice import COMPUTED, common_modules, likeliest
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.flaw_trials import FlawTrials
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.state_causes import changed_steps, file_causes, initial_state_causes, step_causes
from lockstep.conformance.state_check import StateCheck
from lockstep.conformance.state_deviation import StateBehaviour
from lockstep.systems.flawed_specs import FlawedSpecs
from lockstep.systems.mapped_spec import MappedSpec
from lockstep.systems.own_traces import load_own_spec
from lockstep.systems.trace_diagnosis import TOO_LATE, diagnosis_deadline
from lockstep.systems.trace_specs import Switches, header_of_states, system_of
from lockstep.tla.spec import Spec
from lockstep.trace.itf_reader import ItfTrace, read_itf
from lockstep.trace.json_lines import source_name


def known_state_diagnosis(
    path: Path, switches: Switches, jar: Path | None = None, timeout_seconds: float | None = None
) -> Diagnosis | None:
    """Return why a file of states that was exported from a trace leaves the spec of its system; None if it does not.

    Arguments: as of known_diagnosis. Raises as the check of the file does.
    """
    trace = read_itf(path)
    header = header_of_states(trace, source_name(path))
    system = system_of(header, source_name(path))
    specs = FlawedSpecs(system, header, source_name(path), switches, jar)
    spec, probed = specs.spec(), specs.spec(has_probes=True)
    return _diagnosis(trace, spec, system.interface(spec), probed, specs, diagnosis_deadline(timeout_seconds))


def own_state_diagnosis(path: Path, loaded: MappedSpec, timeout_seconds: float | None = None) -> Diagnosis | None:
    """Return why a file of states of a spec of the reader's own leaves it; None if it does not.

    Arguments: `timeout_seconds`, as of known_diagnosis. Raises as the check of the file does.
    """
    trace = read_itf(path)
    probed = load_own_spec(loaded.files, loaded.system, has_probes=True)
    deadline = diagnosis_deadline(timeout_seconds)
    return _diagnosis(trace, loaded.spec, loaded.interface, probed, None, deadline)


def _diagnosis(
    trace: ItfTrace,
    spec: Spec,
    interface: Interface,
    probed: Spec,
    specs: FlawedSpecs | None,
    deadline: Deadline,
) -> Diagnosis | None:
    check = StateCheck(trace, spec, interface, deadline)
    try:
        check.run()
    except GaveUpError:
        return Diagnosis((), (), 0, (TOO_LATE,))
    if check.refused is None:
        return None
    limit = SearchLimit(deadline)
    behaviour, causes = StateBehaviour(check, check.refused, limit), list[DeviationCause]()
    if check.refused.before is None:
        causes += initial_state_causes(behaviour, probed, limit)
        return Diagnosis(likeliest(causes, COMPUTED), (), 1, tuple(limit.notes))
    changed = changed_steps(behaviour, probed, frozenset(specs.flaws if specs is not None else ()))
    if specs is not None and changed:
        deviation, steps, _ = changed[0]
        causes += specs.causes(FlawTrials(deviation, steps, limit), behaviour.check)
    for deviation, steps, goes_on in changed:
        causes += step_causes(deviation, steps, limit, common_modules(), goes_on=goes_on)
    if changed:
        deviation, steps, _ = changed[0]
        causes += file_causes(deviation, steps, limit)
    return Diagnosis(likeliest(causes, COMPUTED), (), 1 + len(check.taken), tuple(limit.notes))
