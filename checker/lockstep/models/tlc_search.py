"""Exploration of a spec with TLC; its result is amended where it would mislead the author of the spec.

`amend_result` names each case. A result is changed in three places besides:

- `lockstep.tlc.tlc_run`, before it is handed out: the spec is for a newer TLC, or TLC had no space for its files;
- `lockstep.models.spec_search`, where TLC does not search, and the compiled spec answers in its place;
- `lockstep.models.witness_runs`, where one run of TLC has the results of several witnesses.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

from lockstep.base.errors import WRONG_CFG
from lockstep.base.verdict import Verdict
from lockstep.models.author_mistakes import cfg_notes, find_in_spec, tlc_mistake_reason
from lockstep.models.counterexample import behaviour_of_tlc, with_arguments
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.tla.behaviour import Behaviour
from lockstep.tla.liveness.temporal_check import liveness_obstacle
from lockstep.tla.loading.spec_project import directories_of
from lockstep.tla.search_options import SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.values.function_operators import ExceptWarning
from lockstep.tla.values.kinds import ModelValue
from lockstep.tlc import (
    Cause,
    Progress,
    PropertyKind,
    TlcLocation,
    TlcOptions,
    TlcResult,
    TlcViolation,
    run_tlc,
)
from lockstep.tlc.tlc_output import cfg_section

#: TLC's message where every \E of Next ranges over an empty set: it does not search then.
NO_ACTION = "No next state actions defined"

#: The note on temporal properties under SYMMETRY or VIEW.
_UNSOUND = "TLC misses violations, and a lasso that it prints need not be a behaviour of the spec"


def explore_with_tlc(files: SpecFiles, options: SearchOptions) -> SearchResult | None:
    """Explore a spec with TLC; return None where it does not search, as Next has no action."""

    def report(progress: Progress) -> None:
        assert options.on_progress is not None
        options.on_progress(SearchProgress(progress.distinct, progress.generated, progress.queue, progress.depth))

    tlc = run_tlc(
        files.module,
        files.cfg,
        TlcOptions(
            workers=options.tlc_workers,
            deadlock_check=options.check_deadlock is not False,
            library=directories_of(files.module, files.library)[1:-1],  # TLC adds the first and last itself
            jar=files.jar,
        ),
        on_progress=None if options.on_progress is None else report,
    )
    if _is_of_kind(tlc.violation, PropertyKind.EVALUATION) and NO_ACTION in tlc.reason:
        return None
    with warnings.catch_warnings():  # what the spec does besides, TLC has noted
        warnings.simplefilter("ignore", ExceptWarning)
        return amend_result(files, tlc)


def result_of_tlc(files: SpecFiles, tlc: TlcResult) -> SearchResult:
    """Return TLC's result as it is, with the counterexample as TLC prints it: without the arguments of its steps."""
    return SearchResult(
        spec=str(files.module),
        engine=Engine.TLC,
        verdict=tlc.verdict,
        reason=tlc.reason,
        distinct=tlc.distinct,
        generated=tlc.generated,
        depth=tlc.depth,
        seconds=tlc.wall_seconds,
        property=None if tlc.violation is None else tlc.violation.label,
        counterexample=None if tlc.counterexample is None else behaviour_of_tlc(tlc.counterexample),
        cause=tlc.cause,
        tool_version=tlc.tlc_version,
    )


def amend_result(files: SpecFiles, tlc: TlcResult) -> SearchResult:
    """Return TLC's result, amended where it would mislead.

    - The steps of a counterexample get their arguments, which TLC does not print.
    - A spec of ASSUMEs alone holds where TLC has checked them.
    - A mistake of the author is *malformed*, in the words and with the code of the compiled spec. TLC reports some as a
      violation, and some as a failure of its own.
    - A property that TLC does not name, and the place of a false Assert or ASSUME, come from the compiled spec.
    - Temporal properties under SYMMETRY or VIEW do not hold by TLC's word alone.
    """
    result = result_of_tlc(files, tlc)
    if result.counterexample is not None:
        result = replace(result, counterexample=with_arguments(result.counterexample, files))
    if tlc.cause is Cause.VACUOUS and (spec := _spec_of_assumptions(files)) is not None:
        result = replace(result, verdict=Verdict.HOLDS, cause=None, reason=assumptions_text(spec))
    is_mistake = tlc.verdict is Verdict.MALFORMED or _is_of_kind(tlc.violation, PropertyKind.EVALUATION)
    if is_mistake or tlc.cause is Cause.TOOL_FAILED or _is_half_reported(tlc.violation):
        result = _in_words_of_the_spec(files, tlc, result, is_mistake=is_mistake)
    if result.verdict is Verdict.MALFORMED:
        return replace(result, distinct=None, generated=None, depth=None, notes=tuple(_except_notes(tlc)))
    notes = [*cfg_notes(files), *_except_notes(tlc)]
    if (obstacle := _liveness_obstacle(files, tlc, result)) is not None:
        place, problem = obstacle
        notes.insert(0, f"{place}: {WRONG_CFG} note: {problem}: {_UNSOUND}")
        if result.verdict is Verdict.HOLDS:
            result = replace(result, verdict=Verdict.INCONCLUSIVE, reason=f"{result.reason}, but {problem}")
    return replace(result, notes=tuple(notes))


# ---- The cases ----


def assumptions_text(spec: Spec) -> str:
    """Return what was checked of a spec without behaviours: its ASSUMEs."""
    count = len(spec.assumptions)
    return f"no behaviour to explore; {'the ASSUME holds' if count == 1 else f'the {count} ASSUMEs hold'}"


def _spec_of_assumptions(files: SpecFiles) -> Spec | None:
    """Return the spec where it has ASSUMEs and no behaviour."""
    spec = files.load_if_possible()
    return spec if spec is not None and spec.assumptions and not spec.has_behaviour else None


def _in_words_of_the_spec(files: SpecFiles, tlc: TlcResult, result: SearchResult, *, is_mistake: bool) -> SearchResult:
    """Report a mistake, or a violation that TLC reports incompletely, as the compiled spec finds it."""
    behaviour = result.counterexample
    if is_mistake and behaviour is not None:
        behaviour = _without_half_made_state(behaviour)
    finding = find_in_spec(files, () if behaviour is None else behaviour.steps, tlc)
    if finding is None and not is_mistake:
        return result
    if finding is not None and tlc.violation is not None and not is_mistake:
        name = tlc.violation.name or finding.name or tlc.violation.label
        return replace(result, reason=finding.reason, property=name, counterexample=behaviour or finding.steps)
    if finding is None:
        reason = tlc_mistake_reason(tlc)
    else:
        reason = finding.reason
        behaviour = None if finding.is_in_text else behaviour or finding.steps
    return replace(
        result, verdict=Verdict.MALFORMED, cause=None, property=None, reason=reason, counterexample=behaviour
    )


def _is_of_kind(violation: TlcViolation | None, *kinds: PropertyKind) -> bool:
    return violation is not None and violation.kind in kinds


def _is_half_reported(violation: TlcViolation | None) -> bool:
    """Return whether TLC leaves out where something is violated, or which property it is a part of."""
    unnamed = violation is not None and violation.name is None
    always = _is_of_kind(violation, PropertyKind.ASSERTION, PropertyKind.ASSUMPTION)
    return always or (unnamed and _is_of_kind(violation, PropertyKind.INITIAL, PropertyKind.ACTION))


def _without_half_made_state(behaviour: Behaviour) -> Behaviour | None:
    """Leave out the last state where TLC prints null for a variable without a value, or a value half made."""
    values = behaviour.steps[-1].state.values()
    is_half = any(type(each) is ModelValue and (each.name == "null" or "<expression " in each.name) for each in values)
    steps = behaviour.steps[:-1] if is_half else behaviour.steps
    return Behaviour(steps) if steps else None


def _liveness_obstacle(files: SpecFiles, tlc: TlcResult, result: SearchResult) -> tuple[str, str] | None:
    """Return the entry of the cfg that makes TLC's result on temporal properties worthless, and what to remove."""
    judged = result.verdict is Verdict.HOLDS or _is_of_kind(tlc.violation, PropertyKind.TEMPORAL)
    text = files.cfg.read_text(encoding="utf-8", errors="replace") if judged else ""
    if not cfg_section(text, "SYMMETRY", "VIEW") or not cfg_section(text, "PROPERTY", "PROPERTIES"):
        return None
    spec = files.load_if_possible()
    if spec is None:  # whatever the properties are, they may be temporal
        problem = "under SYMMETRY or VIEW too few behaviours may be left to check temporal properties; remove it"
        return str(files.cfg), problem
    return liveness_obstacle(spec)


def _except_notes(tlc: TlcResult) -> Iterator[str]:
    """Yield a note for each place at which TLC warns of an EXCEPT that changes nothing."""
    for warning in tlc.warnings:
        at = TlcLocation.parse(warning)
        if "EXCEPT was applied to non-existing" in warning and at is not None:
            problem = "EXCEPT at what is not in the domain changes nothing"
            yield f"{at.module}.tla:{at.line}:{at.column}: note: {problem}"
