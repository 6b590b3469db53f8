"""Two engines that explore any spec: TLC, and the compiled spec; one form of result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from lockstep.base.errors import NO_VALUE, NOT_PARSED, WRONG_CFG, BadInputError, GaveUpError, too_deep
from lockstep.base.verdict import Verdict
from lockstep.models.counterexample import of_search, of_steps, of_tlc
from lockstep.tla.behaviour import Behaviour
from lockstep.tla.compile.blame import SpecFault
from lockstep.tla.compile.program import CompileError
from lockstep.tla.explore import Violation, explore, fault_in
from lockstep.tla.loading.load import load_spec
from lockstep.tla.loading.project import directories_of
from lockstep.tla.spec import FalseAssumptionError, Spec
from lockstep.tla.syntax.cfg import CfgError
from lockstep.tla.syntax.sany import SanyError
from lockstep.tla.values.kinds import ModelValue, TlaError, Value
from lockstep.tlc import Cause, PropertyKind, TlcOptions, TlcResult, TlcVerdict, run_tlc


class Engine(StrEnum):
    """What explores a spec: TLC, or its Python compiled from it, whose counts are TLC's."""

    TLC = "tlc"
    COMPILED = "compiled"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What an engine found: counts as TLC counts them, and the property that is violated.

    `counterexample` is a shortest way there; None where nothing is violated.
    """

    spec: str
    engine: Engine
    verdict: Verdict
    reason: str
    distinct: int | None
    generated: int | None
    depth: int | None
    seconds: float
    property: str | None = None
    counterexample: Behaviour | None = None


def explore_with_tlc(
    spec: Path,
    cfg: Path,
    *,
    deadlock: bool = True,
    workers: int = 1,
    search_path: Sequence[Path] = (),
    java: Path | None = None,
    jar: Path | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SearchResult:
    """Explore a spec with TLC.

    Arguments: `spec` and `cfg`, the files; `deadlock`, whether a state without successors is a violation;
    `workers`, TLC's threads; `search_path`, further folders with modules; `java` and `jar`, the tools; `on_progress`,
    told of distinct states now and then.
    """
    tell = None if on_progress is None else lambda progress: on_progress(progress.distinct)
    folders = directories_of(spec, search_path)[1:-1]  # TLC adds the spec's own and the common ones itself
    options = TlcOptions(workers=workers, deadlock_check=deadlock, library=folders, java=java, jar=jar)
    result = _without_behaviour(run_tlc(spec, cfg, options, on_progress=tell), spec, cfg, search_path, jar)
    trace = result.counterexample
    behaviour = None if trace is None else of_tlc(trace, spec, cfg, search_path, jar)
    verdict, reason = _VERDICTS[result.verdict], result.reason
    if _is_of_the_author(result):
        behaviour = None if behaviour is None else _complete(behaviour)
        state = {} if behaviour is None else behaviour.steps[-1].state
        verdict, reason = Verdict.MALFORMED, told_of_author(spec, cfg, state, result, search_path, jar)
    return SearchResult(
        spec=str(spec),
        engine=Engine.TLC,
        verdict=verdict,
        reason=reason,
        distinct=result.distinct,
        generated=result.generated,
        depth=result.depth,
        seconds=result.wall_seconds,
        property=_label(result),
        counterexample=behaviour,
    )


def _is_of_the_author(result: TlcResult) -> bool:
    """Tell whether TLC's error is a mistake in the spec or its cfg: it is refused, or a formula has no value."""
    evaluated = result.violation is not None and result.violation.kind is PropertyKind.EVALUATION
    return result.verdict is TlcVerdict.ERROR or evaluated


def _complete(behaviour: Behaviour) -> Behaviour | None:
    """Leave out the last state where TLC prints null for a variable that nothing gave a value."""
    null = ModelValue("null")
    steps = behaviour.steps[:-1] if null in behaviour.steps[-1].state.values() else behaviour.steps
    return Behaviour(steps) if steps else None


def told_of_author(
    spec: Path,
    cfg: Path,
    state: Mapping[str, Value],
    result: TlcResult,
    search_path: Sequence[Path] = (),
    jar: Path | None = None,
) -> str:
    """Tell a mistake that TLC met in the words that every command has for it; in TLC's, where there are no others.

    Arguments: `state`, the last that TLC printed, empty if it printed none; `result`, TLC's; the others are those of
    explore_with_tlc.
    """
    fault: BadInputError | None = None
    try:
        compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)
        if state:
            fault = fault_in(compiled, state)
        else:
            explore(compiled, check_deadlock=False, max_states=1)
    except (SanyError, CfgError, SpecFault) as error:
        fault = error
    except CompileError as error:
        fault = error if error.code else None
    except (BadInputError, GaveUpError, RecursionError, KeyError):
        pass  # TLC's own words will do
    return _in_tlc_s_words(result) if fault is None else str(fault)


def _in_tlc_s_words(result: TlcResult) -> str:
    """Tell a mistake with a code, as TLC tells it."""
    error = result.error
    if error is not None:
        code = WRONG_CFG if error.file.endswith(".cfg") else NOT_PARSED
        place = ":".join(str(part) for part in (Path(error.file).name, error.line, error.column) if part is not None)
        return f"{place}: {code} {' '.join(error.message.split())}"
    at = result.violation.location if result.violation is not None else None
    place = "" if at is None else f"{at.module}.tla:{at.line}:{at.column}: "
    return f"{place}{NO_VALUE} {result.reason}"


def _label(result: TlcResult) -> str | None:
    return result.violation.label if result.violation is not None else None


def _of_assumptions(spec: Spec) -> str:
    """Say what was checked of a spec without behaviours: its ASSUMEs."""
    count = len(spec.assumptions)
    return f"no behaviour to explore; {'the ASSUME holds' if count == 1 else f'the {count} ASSUMEs hold'}"


def _without_behaviour(
    result: TlcResult, spec: Path, cfg: Path, search_path: Sequence[Path], jar: Path | None
) -> TlcResult:
    """Let TLC's run of a spec without behaviours hold where there are ASSUMEs, for these TLC has checked."""
    if result.cause is not Cause.VACUOUS:
        return result
    try:
        compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)
    except (BadInputError, GaveUpError):
        return result
    if compiled.has_behaviour or not compiled.assumptions:
        return result
    return replace(result, verdict=TlcVerdict.HOLDS, cause=None, reason=_of_assumptions(compiled))


def explore_compiled(
    spec: Path,
    cfg: Path,
    *,
    deadlock: bool = True,
    search_path: Sequence[Path] = (),
    jar: Path | None = None,
    max_states: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SearchResult:
    """Explore a spec with its compiled form.

    Arguments: as of explore_with_tlc; `max_states`, where to give up (inconclusive).
    Raises CompileError where the spec is outside the supported language.
    """
    compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)
    begin = time.perf_counter()
    try:
        found = explore(
            compiled,
            check_deadlock=deadlock and compiled.check_deadlock,
            max_states=max_states,
            on_level=on_progress,
        )
    except FalseAssumptionError as error:
        return SearchResult(str(spec), Engine.COMPILED, Verdict.VIOLATED, str(error), None, None, None, 0.0)
    except RecursionError:
        raise GaveUpError(f"{spec}: {too_deep()}") from None
    except TlaError as error:
        return SearchResult(
            spec=str(spec),
            engine=Engine.COMPILED,
            verdict=Verdict.MALFORMED,
            reason=str(error),
            distinct=None,
            generated=None,
            depth=None,
            seconds=time.perf_counter() - begin,
            counterexample=of_steps(compiled, error.trace) if isinstance(error, SpecFault) and error.trace else None,
        )
    verdict, reason = Verdict.HOLDS, f"no error in {found.distinct} distinct states, depth {found.depth}"
    if not compiled.has_behaviour:
        reason = _of_assumptions(compiled)
    name, steps = None, None
    if found.violation is not None:
        name = found.violation.label
        verdict, reason = Verdict.VIOLATED, _said(found.violation)
        steps = of_search(compiled, found.violation) if found.violation.trace else None
    elif not found.complete:
        verdict, reason = Verdict.INCONCLUSIVE, f"given up after {found.distinct} distinct states"
    elif found.unchecked:
        verdict, reason = Verdict.INCONCLUSIVE, f"not checked by this engine: {', '.join(found.unchecked)}"
    return SearchResult(
        spec=str(spec),
        engine=Engine.COMPILED,
        verdict=verdict,
        reason=reason,
        distinct=found.distinct,
        generated=found.generated,
        depth=found.depth,
        seconds=time.perf_counter() - begin,
        property=name,
        counterexample=steps,
    )


def _said(violation: Violation) -> str:
    """Say in a line what is violated."""
    if violation.kind == "assertion":
        inside = f" in {violation.name}" if violation.name else ""
        return f"assertion{inside}: {violation.message}"
    return " ".join(filter(None, (violation.kind, violation.name)))


_VERDICTS = {
    TlcVerdict.HOLDS: Verdict.HOLDS,
    TlcVerdict.VIOLATED: Verdict.VIOLATED,
    TlcVerdict.INCONCLUSIVE: Verdict.INCONCLUSIVE,
    TlcVerdict.ERROR: Verdict.MALFORMED,
}
