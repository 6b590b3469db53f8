"""Exploration of a spec with any engine, in one form of result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from lockstep.base.errors import GaveUpError, too_deep
from lockstep.base.verdict import Verdict, no_state_reason, violation_reason
from lockstep.models.counterexample import behaviour_of_steps, behaviour_of_violation
from lockstep.models.default_memory_budget import default_memory_budget
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.tlc_search import NO_ACTION, assumptions_text, explore_with_tlc
from lockstep.tla.compile.spec_fault import SpecFault, place_of
from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import explore
from lockstep.tla.search_options import DEFAULT_OPTIONS, SearchOptions
from lockstep.tla.spec import FalseAssumptionError, Spec
from lockstep.tla.tables.compiled_search import explore_compiled, explore_with_tables
from lockstep.tla.values.function_operators import ExceptWarning
from lockstep.tla.values.kinds import TlaError

if TYPE_CHECKING:
    from lockstep.tla.tables.table_search import TableExploration

Explore: TypeAlias = "Callable[[Spec, SearchOptions], Exploration | TableExploration]"

_EXPLORE: dict[Engine, Explore] = {
    Engine.COMPILED: explore_compiled,
    Engine.TABLES: explore_with_tables,
    Engine.LITERAL: explore,
}


def explore_spec(
    files: SpecFiles, engine: Engine, options: SearchOptions = DEFAULT_OPTIONS, explore: Explore | None = None
) -> SearchResult:
    """Explore a spec.

    A cfg with CHECK_DEADLOCK FALSE counts more than `check_deadlock`. Without a `memory_budget` the compiled spec may
    use three quarters of the free memory.

    Args:
        explore: another search of the compiled spec than that of the engine.

    Raises:
        CompileError: where the spec is outside the supported language, as load_spec does.
        MissingExtraError: by tables, without NumPy.
        GaveUpError: where the search gave up without a count.
        BadInputError: where the files, or the checkpoint, cannot be used.
    """
    if engine is not Engine.TLC:
        return _explore_compiled_spec(files, engine, options, explore or _EXPLORE[engine])
    found = explore_with_tlc(files, options)
    if found is not None:
        return found
    note = f"note: TLC does not search, for Next has no action ({NO_ACTION}); this is the compiled spec's answer"
    found = _explore_compiled_spec(files, Engine.COMPILED, options, explore_compiled)
    return replace(found, engine=Engine.TLC, notes=(*found.notes, note))


def _explore_compiled_spec(files: SpecFiles, engine: Engine, options: SearchOptions, explore: Explore) -> SearchResult:
    spec = files.load()
    budget = default_memory_budget() if options.memory_budget is None else options.memory_budget
    checked = spec.check_deadlock and options.check_deadlock is not False
    options = replace(options, check_deadlock=checked, memory_budget=budget)
    notes = [f"{files.cfg.name}:{each}" for each in spec.undeclared_names.values()]
    begin = time.perf_counter()

    def result(verdict: Verdict, reason: str) -> SearchResult:
        seconds = time.perf_counter() - begin
        return SearchResult(spec=str(files.module), engine=engine, verdict=verdict, reason=reason, seconds=seconds)

    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ExceptWarning)
            found = explore(spec, options)
        texts = (str(each.message) for each in warned if each.category is ExceptWarning)
        notes += dict.fromkeys(texts)  # tables begin anew, and may warn again
    except FalseAssumptionError as error:
        return replace(result(Verdict.VIOLATED, str(error)), property="assumption")
    except RecursionError as error:
        raise GaveUpError(f"{place_of(error, spec.source) or files.module}: {too_deep()}") from None
    except TlaError as error:
        steps = error.trace if isinstance(error, SpecFault) else ()
        counterexample = behaviour_of_steps(spec, steps) if steps else None
        return replace(result(Verdict.MALFORMED, str(error)), counterexample=counterexample)
    violation = found.violation
    return replace(
        result(*_verdict(spec, found)),
        distinct=found.distinct,
        generated=found.generated,
        depth=found.depth,
        property=None if violation is None else violation.label,
        notes=(*notes, *found.notes),
        counterexample=behaviour_of_violation(spec, violation) if violation is not None and violation.trace else None,
    )


def _verdict(spec: Spec, found: Exploration | TableExploration) -> tuple[Verdict, str]:
    """Return the verdict of a search, and the reason."""
    if found.inconclusive:
        return Verdict.INCONCLUSIVE, found.inconclusive
    if (violation := found.violation) is not None:
        return Verdict.VIOLATED, violation_reason(violation.kind, violation.name, violation.message)
    if spec.has_behaviour and not found.distinct:
        return Verdict.INCONCLUSIVE, no_state_reason(found.generated)
    if found.unchecked:
        return Verdict.INCONCLUSIVE, f"not checked by this engine: {_unchecked(spec, found.unchecked)}"
    if not spec.has_behaviour:
        return Verdict.HOLDS, assumptions_text(spec)
    return Verdict.HOLDS, f"no error in {found.distinct} distinct states, depth {found.depth}"


def _unchecked(spec: Spec, names: Sequence[str]) -> str:
    """List properties that were not checked, each with the reason where there is one."""
    reasons = spec.why_unchecked
    return ", ".join(f"{name} ({reasons[name]})" if name in reasons else name for name in names)
