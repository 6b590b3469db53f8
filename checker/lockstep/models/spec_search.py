"""The engines that explore any spec: TLC, and the compiled spec, by tables or state by state; one form of result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.base.errors import WRONG_CFG, BadInputError, GaveUpError, too_deep
from lockstep.base.extras import extra
from lockstep.base.verdict import Verdict, no_state_reason, violation_reason
from lockstep.models.author_mistakes import in_tlc_s_words, noted_of_cfg, told_of_author
from lockstep.models.counterexample import of_search, of_steps, of_tlc
from lockstep.models.memory_budget import most_of_the_memory
from lockstep.tla.behaviour import Behaviour
from lockstep.tla.compile.spec_fault import SpecFault, place_of
from lockstep.tla.explore import Exploration, explore
from lockstep.tla.liveness.temporal_check import sameness_in_the_way
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import directories_of
from lockstep.tla.spec import FalseAssumptionError, Spec
from lockstep.tla.tables.bounded import BoundedSearch, explore_within
from lockstep.tla.tables.compiled_search import explore_either
from lockstep.tla.values.function_operators import ExceptWarning
from lockstep.tla.values.kinds import ModelValue, TlaError
from lockstep.tlc import Cause, PropertyKind, TlcLocation, TlcOptions, TlcResult, TlcVerdict, TlcViolation, run_tlc
from lockstep.tlc.tlc_output import cfg_section

if TYPE_CHECKING:
    from lockstep.tla.tables.table_search import Progress, TableExploration


class Engine(StrEnum):
    """What explores a spec: TLC, or the Python compiled from it, whose counts are TLC's.

    The compiled spec is evaluated in each state (literal), or once for each value of what an action reads (tables);
    COMPILED begins with the one, and goes on with the other.
    """

    TLC = "tlc"
    COMPILED = "compiled"
    TABLES = "tables"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What an engine found: counts as TLC counts them, and the property that is violated.

    `counterexample` is a shortest way there; None where nothing is violated. `notes` are lines on what was not checked,
    or what the spec does besides.
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
    notes: tuple[str, ...] = ()
    counterexample: Behaviour | None = None


def without_search(
    spec: Path, engine: Engine, verdict: Verdict, reason: str, counterexample: Behaviour | None = None
) -> SearchResult:
    """Return the result of a search that came to no count: of a spec with a mistake, or one that was not begun."""
    return SearchResult(str(spec), engine, verdict, reason, None, None, None, 0.0, counterexample=counterexample)


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
    if _is(result.violation, PropertyKind.EVALUATION) and _NO_ACTION in result.reason:
        return _without_tlc(result, spec, cfg, deadlock, search_path, jar)
    with warnings.catch_warnings():  # what the spec does besides, TLC has noted
        warnings.simplefilter("ignore", ExceptWarning)
        result, behaviour = _told(result, spec, cfg, search_path, jar)
    doubt = _doubt(result, spec, cfg, search_path, jar)
    if doubt and result.verdict is TlcVerdict.HOLDS:
        result = replace(result, verdict=TlcVerdict.INCONCLUSIVE, reason=f"{result.reason}, but {doubt[1]}")
    judged = result.verdict is not TlcVerdict.ERROR
    notes = [f"{doubt[0]}: {WRONG_CFG} note: {doubt[1]}: {_UNSOUND}"] if doubt else []
    notes += noted_of_cfg(spec, cfg, search_path, jar) if judged else []
    counts = (result.distinct, result.generated, result.depth) if judged else (None, None, None)
    return SearchResult(
        str(spec),
        Engine.TLC,
        _VERDICTS[result.verdict],
        result.reason,
        *counts,
        seconds=result.wall_seconds,
        property=result.violation.label if result.violation is not None else None,
        notes=(*notes, *_warned(result)),
        counterexample=behaviour,
    )


#: What TLC says where every \E of Next ranges over an empty set: it does not search then.
_NO_ACTION = "No next state actions defined"


def _without_tlc(
    result: TlcResult, spec: Path, cfg: Path, deadlock: bool, search_path: Sequence[Path], jar: Path | None
) -> SearchResult:
    """Return the compiled spec's answer where TLC has none, since Next has no action: no state has a successor."""
    found = explore_compiled(spec, cfg, deadlock=deadlock, search_path=search_path, jar=jar)
    note = f"note: TLC does not search, for Next has no action ({_NO_ACTION}); this is the compiled spec's answer"
    return replace(found, engine=Engine.TLC, seconds=result.wall_seconds, notes=(*found.notes, note))


def _warned(result: TlcResult) -> Iterator[str]:
    """Write a note for each place at which TLC warns of an EXCEPT that changes nothing."""
    for warning in result.warnings:
        at = TlcLocation.parse(warning)
        if "EXCEPT was applied to non-existing" in warning and at is not None:
            said = "EXCEPT at what is not in the domain changes nothing"
            yield f"{at.module}.tla:{at.line}:{at.column}: note: {said}"


#: What TLC does with temporal properties under SYMMETRY or VIEW.
_UNSOUND = "TLC misses violations, and a lasso that it prints need not be a behaviour of the spec"


def _doubt(
    result: TlcResult, spec: Path, cfg: Path, search_path: Sequence[Path], jar: Path | None
) -> tuple[str, str] | None:
    """Say where the cfg has what makes TLC's answer on temporal properties worthless, and what to remove."""
    judged = result.verdict is TlcVerdict.HOLDS or _is(result.violation, PropertyKind.TEMPORAL)
    text = cfg.read_text(encoding="utf-8", errors="replace") if judged else ""
    if not cfg_section(text, "SYMMETRY", "VIEW") or not cfg_section(text, "PROPERTY", "PROPERTIES"):
        return None
    try:
        return sameness_in_the_way(load_spec(spec, cfg, search_path=search_path, jar=jar))
    except (BadInputError, GaveUpError):  # outside the subset: whatever the properties are, they may be temporal
        return str(cfg), "under SYMMETRY or VIEW too few behaviours may be left to check temporal properties; remove it"


def _told(
    result: TlcResult, spec: Path, cfg: Path, search_path: Sequence[Path], jar: Path | None
) -> tuple[TlcResult, Behaviour | None]:
    """Tell what TLC found in the words of both engines, with its counterexample.

    What is the author's mistake becomes an error. TLC also reports some of these as a failure of its own.
    """
    trace, violation = result.counterexample, result.violation
    behaviour = None if trace is None else of_tlc(trace, spec, cfg, search_path, jar)
    of_author = result.verdict is TlcVerdict.ERROR or _is(violation, PropertyKind.EVALUATION)
    if of_author and behaviour is not None:
        behaviour = _complete(behaviour)
    if not (of_author or result.cause is Cause.TOOL_FAILED or _is_half_told(violation)):
        return result, behaviour
    told = told_of_author(spec, cfg, () if behaviour is None else behaviour.steps, result, search_path, jar)
    if told is None and not of_author:
        return result, behaviour
    if told is not None and violation is not None and not of_author:
        named = replace(violation, name=violation.name or told.name or None)
        return replace(result, reason=told.reason, violation=named), behaviour or told.steps
    reason = in_tlc_s_words(result) if told is None else told.reason
    if told is not None:
        behaviour = None if told.of_text else behaviour or told.steps
    return replace(result, verdict=TlcVerdict.ERROR, cause=None, violation=None, reason=reason), behaviour


def _is(violation: TlcViolation | None, *kinds: PropertyKind) -> bool:
    return violation is not None and violation.kind in kinds


def _is_half_told(violation: TlcViolation | None) -> bool:
    """Tell whether TLC leaves out where something is violated, or which property it is a part of."""
    unnamed = violation is not None and violation.name is None
    always = _is(violation, PropertyKind.ASSERTION, PropertyKind.ASSUMPTION)
    return always or (unnamed and _is(violation, PropertyKind.INITIAL, PropertyKind.ACTION))


def _complete(behaviour: Behaviour) -> Behaviour | None:
    """Leave out the last state where TLC prints null for a variable that nothing gave a value, or a value half made."""
    values = behaviour.steps[-1].state.values()
    is_half = any(type(each) is ModelValue and (each.name == "null" or "<expression " in each.name) for each in values)
    steps = behaviour.steps[:-1] if is_half else behaviour.steps
    return Behaviour(steps) if steps else None


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
    """Explore a spec with its compiled form: the first states one by one, and by tables if there are more.

    Arguments: as of explore_with_tlc; `max_states`, where to give up (inconclusive).
    Raises CompileError where the spec is outside the supported language.
    """
    compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)

    def search() -> tuple[Exploration | TableExploration, list[str]]:
        unsuited: list[str] = []
        found = explore_either(
            compiled,
            check_deadlock=deadlock and compiled.check_deadlock,
            max_states=max_states,
            on_states=on_progress,
            most_memory=most_of_the_memory(),
            on_unsuited=unsuited.append,
        )
        return found, list(map(_state_by_state, unsuited)) if isinstance(found, Exploration) else _of_tables(found)

    return _explored(compiled, spec, cfg, Engine.COMPILED, search)


def explore_literally(
    spec: Path,
    cfg: Path,
    *,
    deadlock: bool = True,
    search_path: Sequence[Path] = (),
    jar: Path | None = None,
    max_states: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SearchResult:
    """Explore a spec with its compiled form state by state: the yardstick for what tables find.

    Arguments and what is raised: as of explore_compiled.
    """
    compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)

    def search() -> tuple[Exploration, list[str]]:
        checked = deadlock and compiled.check_deadlock
        return explore(compiled, check_deadlock=checked, max_states=max_states, on_level=on_progress), []

    return _explored(compiled, spec, cfg, Engine.LITERAL, search)


def explore_with_tables(
    spec: Path,
    cfg: Path,
    *,
    deadlock: bool = True,
    search_path: Sequence[Path] = (),
    jar: Path | None = None,
    max_states: int | None = None,
    most_memory: int | None = None,
    checkpoint: Path | None = None,
    confirm: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> SearchResult:
    """Explore a spec by tables of its compiled form; where that cannot be, state by state, and a note says so.

    Arguments: as of explore_compiled; `most_memory`, the bytes of memory that may be used, three quarters of what is
    free if None; `checkpoint`, a file that keeps the search; `confirm`, whether to explore several times until the
    count is confirmed, without which the verdict is inconclusive; `on_progress`, called with more than the number of
    states.
    Raises CompileError where the spec is outside the supported language, MissingExtraError without NumPy, GaveUpError
    where a count that is to be confirmed cannot be explored by tables.
    """
    with extra("tables"):
        from lockstep.tla.tables.confirmed_count import confirm as explore_until_confirmed
        from lockstep.tla.tables.state_layout import UnsuitedError
        from lockstep.tla.tables.table_search import explore_by_tables
    compiled = load_spec(spec, cfg, search_path=search_path, jar=jar)
    checked = deadlock and compiled.check_deadlock

    def search() -> tuple[Exploration | TableExploration, list[str]]:
        options: dict[str, Any] = {
            "check_deadlock": checked,
            "max_states": max_states,
            "on_progress": on_progress,
            "most_memory": most_of_the_memory() if most_memory is None else most_memory,
            "checkpoint": checkpoint,
        }
        try:
            if confirm:
                confirmed = explore_until_confirmed(compiled, **options)
                told = [f"note: confirmed: {each}" for each in confirmed.said]
                return confirmed.found, [*_of_tables(confirmed.found), *told]
            found = explore_by_tables(compiled, **options)
        except UnsuitedError as error:
            if confirm:
                raise GaveUpError(f"no count can be confirmed that is not found by tables: {error}") from error
            limits = {name: options[name] for name in ("check_deadlock", "max_states", "most_memory")}
            return explore_within(compiled, **limits, on_states=_telling(on_progress)), [_state_by_state(str(error))]
        return found, _of_tables(found)

    return _explored(compiled, spec, cfg, Engine.TABLES, search)


def _state_by_state(why: str) -> str:
    return f"note: explored state by state, not by tables: {why}"


def _telling(on_progress: Callable[[Progress], None] | None) -> Callable[[BoundedSearch], None] | None:
    """Return what tells of a search state by state what is told of one by tables."""
    if on_progress is None:
        return None
    from lockstep.tla.tables.table_search import Progress

    begin = time.perf_counter()

    def tell(search: BoundedSearch) -> None:
        far, seconds = search.result, time.perf_counter() - begin
        on_progress(Progress(far.distinct, far.generated, search.queued, far.depth, seconds, 0, 0))

    return tell


def _of_tables(found: TableExploration) -> list[str]:
    """Say how much was evaluated, and in TLC's words how probable it is that a state was missed."""
    return [
        *([f"note: {found.unkept}"] if found.unkept else []),
        f"note: {found.evaluations:,} evaluations; for each distinct state at most "
        f"{found.memory / max(1, found.distinct):,.0f} bytes of memory",
        "note: estimate of the probability that not all reachable states were checked because two distinct states had "
        f"the same fingerprint: calculated (optimistic): {found.collision:.1E}",
    ]


def _explored(
    compiled: Spec,
    spec: Path,
    cfg: Path,
    engine: Engine,
    search: Callable[[], tuple[Exploration | TableExploration, list[str]]],
) -> SearchResult:
    """Return what a search of the compiled spec found, which answers notes besides."""
    begin = time.perf_counter()
    notes = [f"{cfg.name}:{each}" for each in compiled.passed_over.values()]
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ExceptWarning)
            found, more = search()
        said = (str(each.message) for each in warned if each.category is ExceptWarning)
        notes += dict.fromkeys(said)  # tables begin anew, and may say it again
    except FalseAssumptionError as error:
        seconds = time.perf_counter() - begin
        return SearchResult(str(spec), engine, Verdict.VIOLATED, str(error), None, None, None, seconds, "assumption")
    except RecursionError as error:
        raise GaveUpError(f"{place_of(error, compiled.source) or spec}: {too_deep()}") from None
    except TlaError as error:
        steps = of_steps(compiled, error.trace) if isinstance(error, SpecFault) and error.trace else None
        refused = without_search(spec, engine, Verdict.MALFORMED, str(error), steps)
        return replace(refused, seconds=time.perf_counter() - begin)
    verdict, reason = _judged(compiled, found)
    violation = found.violation
    return SearchResult(
        spec=str(spec),
        engine=engine,
        verdict=verdict,
        reason=reason,
        distinct=found.distinct,
        generated=found.generated,
        depth=found.depth,
        seconds=time.perf_counter() - begin,
        property=None if violation is None else violation.label,
        notes=(*notes, *more),
        counterexample=of_search(compiled, violation) if violation is not None and violation.trace else None,
    )


def _judged(compiled: Spec, found: Exploration | TableExploration) -> tuple[Verdict, str]:
    """Say what a search comes to, and why."""
    if doubt := getattr(found, "doubt", ""):
        return Verdict.INCONCLUSIVE, f"not confirmed: {doubt}"
    if (violation := found.violation) is not None:
        return Verdict.VIOLATED, violation_reason(violation.kind, violation.name, violation.message)
    if not found.complete:
        if (why := getattr(found, "gave_up", "")) != "":
            return Verdict.INCONCLUSIVE, f"given up: {why}"
        return Verdict.INCONCLUSIVE, f"given up after {found.distinct} distinct states"
    if compiled.has_behaviour and not found.distinct:
        return Verdict.INCONCLUSIVE, no_state_reason(found.generated)
    if found.unchecked:
        return Verdict.INCONCLUSIVE, f"not checked by this engine: {_unchecked(compiled, found.unchecked)}"
    if not compiled.has_behaviour:
        return Verdict.HOLDS, _of_assumptions(compiled)
    return Verdict.HOLDS, f"no error in {found.distinct} distinct states, depth {found.depth}"


def _unchecked(spec: Spec, names: Sequence[str]) -> str:
    """List properties that were not checked, each with the reason where there is one."""
    reasons = spec.why_unchecked
    return ", ".join(f"{name} ({reasons[name]})" if name in reasons else name for name in names)


_VERDICTS = {
    TlcVerdict.HOLDS: Verdict.HOLDS,
    TlcVerdict.VIOLATED: Verdict.VIOLATED,
    TlcVerdict.INCONCLUSIVE: Verdict.INCONCLUSIVE,
    TlcVerdict.ERROR: Verdict.MALFORMED,
}
