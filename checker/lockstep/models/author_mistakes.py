"""Mistakes that TLC met, as the compiled spec reports them: with a place and a code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from lockstep.base.errors import NO_VALUE, NOT_CHECKED, NOT_PARSED, WRONG_CFG, BadInputError, GaveUpError
from lockstep.base.verdict import violation_reason
from lockstep.models.counterexample import behaviour_of_steps, behaviour_of_violation
from lockstep.models.search_result import SpecFiles
from lockstep.tla.behaviour import Behaviour, BehaviourStep
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.explore import fault_in, fault_or_violation
from lockstep.tla.loading.spec_project import directories_of, project_modules, read_cfg
from lockstep.tla.spec import FalseAssumptionError, Spec
from lockstep.tla.syntax.cfg import CfgError
from lockstep.tla.syntax.sany import SanyError
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc import PropertyKind, SpecError, TlcResult
from lockstep.tlc.newer_tlc import without_comments

#: The most states that the compiled spec is searched for a mistake that TLC met without saying where.
MAX_STATES = 100_000
#: The most states that are searched for a mistake where TLC has searched none.
MAX_UNSEARCHED_STATES = 1_000
#: TLC's messages where an entry of the cfg is a constant.
_CONSTANT_ENTRY = (" is equal to ", " cannot be a constant")


@dataclass(frozen=True, slots=True)
class SpecFinding:
    """A mistake, or a violation, that the compiled spec finds.

    Attributes:
        name: the property, of one that is violated and that TLC does not name.
        steps: the steps that lead there, if it lies in a state, and TLC does not print them.
        is_in_text: whether it is in the text of the spec or its cfg, and in no state.
    """

    reason: str
    name: str | None = None
    steps: Behaviour | None = None
    is_in_text: bool = False


def find_in_spec(files: SpecFiles, steps: Sequence[BehaviourStep], result: TlcResult) -> SpecFinding | None:
    """Find in the compiled spec what TLC met: a mistake, a false Assert or ASSUME, a property that TLC does not name.

    Arguments: `steps`, those that TLC printed, whose last state is looked at; if it printed none, the states that it
    found are searched; `result`, TLC's.
    Returns None where the compiled spec finds nothing, as where it is outside the subset, or has too many states.
    """
    kind = None if result.violation is None else result.violation.kind
    try:
        spec = files.load()
        with redirect_stderr(StringIO()):  # what the spec prints, TLC has printed
            return _found_in_states(spec, steps, result, kind)
    except (SanyError, CfgError, SpecFault, FalseAssumptionError) as error:
        return SpecFinding(str(error), is_in_text=True)
    except CompileError as error:
        return SpecFinding(str(error), is_in_text=True) if error.code else None
    except (BadInputError, GaveUpError, RecursionError, KeyError):
        return None


def _found_in_states(
    spec: Spec, steps: Sequence[BehaviourStep], result: TlcResult, kind: PropertyKind | None
) -> SpecFinding | None:
    """Find in the states what TLC met."""
    if kind is PropertyKind.ASSUMPTION:
        spec.refuse_false_constants()
        return None
    if result.error is not None:
        if any(each in result.error.message for each in _CONSTANT_ENTRY):
            spec.refuse_false_constants()
        if not result.error.parsed:
            return None
        return _behind_temporal(spec) or SpecFinding(_temporal_reason(spec, result.error), is_in_text=True)
    if steps and kind not in _VIOLATED:
        fault = fault_in(spec, steps[-1].state, initial=len(steps) == 1)
        return None if fault is None else SpecFinding(str(fault))
    return _searched(spec, result, kind)


def _behind_temporal(spec: Spec) -> SpecFinding | None:
    """Find what is wrong with the spec where a set that a temporal formula ranges over has no value.

    TLC looks at temporal formulas first, and calls such a one a formula that it cannot handle.
    """
    try:
        spec.temporal_formulas  # noqa: B018 - it is computed when it is asked for
    except TlaError:
        found = fault_or_violation(spec, MAX_UNSEARCHED_STATES)
        return _fault_finding(spec, found) if isinstance(found, SpecFault) else None
    return None


def _fault_finding(spec: Spec, fault: SpecFault) -> SpecFinding:
    return SpecFinding(str(fault), steps=behaviour_of_steps(spec, fault.trace) if fault.trace else None)


def _temporal_reason(spec: Spec, error: SpecError) -> str:
    """Report a temporal formula that TLC does not check; it seldom says which: then all that it may be are named."""
    problem = f"{NOT_CHECKED} {' '.join(error.message.split())}"
    if error.line is not None:
        return f"{Path(error.file).name}:{error.line}:{error.column}: {problem}"
    names = [*(["the SPECIFICATION"] if spec.temporal_formulas[0] else []), *spec.temporal]
    if len(names) == 1 and names[0] in spec.property_places:
        return f"{spec.property_places[names[0]]}: {problem}"
    which = f" ({' or '.join(names)})" if names else ""
    return f"{Path(error.file).name}: {problem}{which}"


def _searched(spec: Spec, result: TlcResult, kind: PropertyKind | None) -> SpecFinding | None:
    """Search as many states as TLC found, for a mistake or what is violated."""
    distinct = result.distinct or 0
    if distinct > MAX_STATES:
        return None
    found = fault_or_violation(spec, distinct + 1)
    if isinstance(found, SpecFault):
        return _fault_finding(spec, found) if kind not in _VIOLATED else None
    if kind in _VIOLATED and found is not None and found.kind == kind:
        reason = violation_reason(found.kind, found.name, found.message)
        return SpecFinding(reason, found.name, behaviour_of_violation(spec, found))
    return None


#: Violations, which are no mistakes, and which TLC may report without a name or steps.
_VIOLATED = (PropertyKind.ASSERTION, PropertyKind.INITIAL, PropertyKind.ACTION)


def cfg_notes(files: SpecFiles) -> list[str]:
    """Write a note for each value that the cfg gives to a name which no module declares, where one is nearly the same.

    The spec is compiled only where a name stands in no module at all: TLC alone needs half the time.
    Returns none where the spec is outside the subset.
    """
    try:
        modules = project_modules(files.module, directories_of(files.module, files.library))
        words = {word for text in modules.values() for word in re.findall(r"\w+", without_comments(text))}
        if not read_cfg(files.cfg, {})[1].unknown_names(words):
            return []
    except (BadInputError, GaveUpError):
        return []
    spec = files.load_if_possible()
    return [] if spec is None else [f"{files.cfg.name}:{each}" for each in spec.undeclared_names.values()]


def tlc_mistake_reason(result: TlcResult) -> str:
    """Report a mistake with a code, in TLC's words."""
    error = result.error
    if error is not None:
        code = WRONG_CFG if error.file.endswith(".cfg") else NOT_CHECKED if error.parsed else NOT_PARSED
        place = ":".join(str(part) for part in (Path(error.file).name, error.line, error.column) if part is not None)
        return f"{place}: {code} {' '.join(error.message.split())}"
    at = result.violation.location if result.violation is not None else None
    place = "" if at is None else f"{at.module}.tla:{at.line}:{at.column}: "
    return f"{place}{NO_VALUE} {result.reason}"
