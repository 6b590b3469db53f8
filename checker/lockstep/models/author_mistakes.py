"""What the compiled spec tells of a mistake that TLC met: in the words of every command, with its place and a code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from lockstep.base.errors import NO_VALUE, NOT_CHECKED, NOT_PARSED, WRONG_CFG, BadInputError, GaveUpError
from lockstep.base.verdict import violation_reason
from lockstep.models.counterexample import of_search, of_steps
from lockstep.tla.behaviour import Behaviour, Taken
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.explore import fault_in, met_within
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import directories_of, project_modules, read_cfg
from lockstep.tla.spec import FalseAssumptionError, Spec
from lockstep.tla.syntax.cfg import CfgError
from lockstep.tla.syntax.sany import SanyError
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc import PropertyKind, SpecError, TlcResult
from lockstep.tlc.newer_tlc import without_comments

__all__ = ["Told", "in_tlc_s_words", "noted_of_cfg", "told_of_author"]

#: The most states that the compiled spec is searched for a mistake that TLC met without saying where.
MOST_STATES = 100_000
#: The states that are searched for what is wrong with a spec of which TLC has searched none.
_FEW_STATES = 1_000
#: How TLC says that an entry of the cfg is a constant.
_OF_CONSTANTS = (" is equal to ", " cannot be a constant")


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a mistake, or of what is violated.

    Attributes:
        reason: it, in a line.
        name: the property, of one that is violated and that TLC does not name.
        steps: those that lead there, if it lies in a state, and TLC does not print them.
        of_text: whether it is in the text of the spec or its cfg, and in no state.
    """

    reason: str
    name: str | None = None
    steps: Behaviour | None = None
    of_text: bool = False


def told_of_author(
    spec: Path,
    cfg: Path,
    steps: Sequence[Taken],
    result: TlcResult,
    search_path: Sequence[Path] = (),
    jar: Path | None = None,
) -> Told | None:
    """Find in the compiled spec what TLC met: a mistake, a false Assert or ASSUME, a property that TLC does not name.

    Arguments: `spec`, `cfg`, `search_path` and `jar`, what TLC was given; `steps`, those that TLC printed, of which
    the last state is looked at; if it printed none, the states that it found are searched; `result`, TLC's.
    Returns None where the compiled spec meets none, as where it is outside the subset, or has too many states.
    """
    kind = None if result.violation is None else result.violation.kind
    try:
        compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)
        with redirect_stderr(StringIO()):  # what the spec prints, TLC has printed
            return _met(compiled, steps, result, kind)
    except (SanyError, CfgError, SpecFault, FalseAssumptionError) as error:
        return Told(str(error), of_text=True)
    except CompileError as error:
        return Told(str(error), of_text=True) if error.code else None
    except (BadInputError, GaveUpError, RecursionError, KeyError):
        return None


def _met(spec: Spec, steps: Sequence[Taken], result: TlcResult, kind: PropertyKind | None) -> Told | None:
    """Find in the states what TLC met."""
    if kind is PropertyKind.ASSUMPTION:
        spec.refuse_false_constants()
        return None
    if result.error is not None:
        if any(said in result.error.message for said in _OF_CONSTANTS):
            spec.refuse_false_constants()
        if not result.error.parsed:
            return None
        return _behind_temporal(spec) or Told(_of_temporal(spec, result.error), of_text=True)
    if steps and kind not in _VIOLATED:
        fault = fault_in(spec, steps[-1].state, initial=len(steps) == 1)
        return None if fault is None else Told(str(fault))
    return _searched(spec, result, kind)


def _behind_temporal(spec: Spec) -> Told | None:
    """Find what is wrong with the spec where a set that a temporal formula ranges over has no value.

    TLC looks at temporal formulas first, and calls such a one a formula that it cannot handle.
    """
    try:
        spec.temporal_formulas  # noqa: B018 - it is computed when it is asked for
    except TlaError:
        found = met_within(spec, _FEW_STATES)
        return _of_fault(spec, found) if isinstance(found, SpecFault) else None
    return None


def _of_fault(spec: Spec, fault: SpecFault) -> Told:
    return Told(str(fault), steps=of_steps(spec, fault.trace) if fault.trace else None)


def _of_temporal(spec: Spec, error: SpecError) -> str:
    """Tell of a temporal formula that TLC does not check; it seldom says which: then all that it may be are named."""
    said = f"{NOT_CHECKED} {' '.join(error.message.split())}"
    if error.line is not None:
        return f"{Path(error.file).name}:{error.line}:{error.column}: {said}"
    names = [*(["the SPECIFICATION"] if spec.temporal_formulas[0] else []), *spec.temporal]
    if len(names) == 1 and names[0] in spec.property_places:
        return f"{spec.property_places[names[0]]}: {said}"
    which = f" ({' or '.join(names)})" if names else ""
    return f"{Path(error.file).name}: {said}{which}"


def _searched(spec: Spec, result: TlcResult, kind: PropertyKind | None) -> Told | None:
    """Search as many states as TLC found, for a mistake or what is violated."""
    distinct = result.distinct or 0
    if distinct > MOST_STATES:
        return None
    found = met_within(spec, distinct + 1)
    if isinstance(found, SpecFault):
        return _of_fault(spec, found) if kind not in _VIOLATED else None
    if kind in _VIOLATED and found is not None and found.kind == kind:
        return Told(violation_reason(found.kind, found.name, found.message), found.name, of_search(spec, found))
    return None


#: What is no mistake, and what TLC may tell without its name or its steps.
_VIOLATED = (PropertyKind.ASSERTION, PropertyKind.INITIAL, PropertyKind.ACTION)


def noted_of_cfg(spec: Path, cfg: Path, search_path: Sequence[Path] = (), jar: Path | None = None) -> list[str]:
    """Write a note for each value that the cfg gives to a name which no module declares, where one is nearly the same.

    The spec is compiled only where a name stands in no module at all: TLC alone needs half the time.
    Arguments: as of told_of_author. Returns none where the spec is outside the subset.
    """
    try:
        modules = project_modules(spec, directories_of(spec, search_path))
        words = {word for text in modules.values() for word in re.findall(r"\w+", without_comments(text))}
        if not read_cfg(cfg, {})[1].given_for_nothing(words):
            return []
        compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)
    except (BadInputError, GaveUpError):
        return []
    return [f"{cfg.name}:{each}" for each in compiled.passed_over.values()]


def in_tlc_s_words(result: TlcResult) -> str:
    """Tell a mistake with a code, as TLC tells it."""
    error = result.error
    if error is not None:
        code = WRONG_CFG if error.file.endswith(".cfg") else NOT_CHECKED if error.parsed else NOT_PARSED
        place = ":".join(str(part) for part in (Path(error.file).name, error.line, error.column) if part is not None)
        return f"{place}: {code} {' '.join(error.message.split())}"
    at = result.violation.location if result.violation is not None else None
    place = "" if at is None else f"{at.module}.tla:{at.line}:{at.column}: "
    return f"{place}{NO_VALUE} {result.reason}"
