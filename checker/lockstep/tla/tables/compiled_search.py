"""Exploration of a specification state by state, and by tables once it is large.

Filling tables costs as much as some hundred states cost one by one, and the number of states is not known beforehand.
So the engine "compiled" begins state by state; after `states_before_tables` states tables begin anew, and find the
same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lockstep.base.errors import GaveUpError
from lockstep.base.extras import MissingExtraError, extra
from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import LiteralSearch, explore, run_search
from lockstep.tla.liveness.temporal_check import refuse_symmetry_and_view
from lockstep.tla.search_options import DEFAULT_OPTIONS, ReportProgress, SearchOptions, SearchProgress
from lockstep.tla.spec import Spec

if TYPE_CHECKING:
    from lockstep.tla.tables.table_search import TableExploration


def explore_compiled(spec: Spec, options: SearchOptions = DEFAULT_OPTIONS) -> Exploration | TableExploration:
    """Search all reachable states as :func:`lockstep.tla.explore.explore` does, but from some hundreds on by tables.

    Where tables cannot be used, or gain nothing, or NumPy is missing, the search goes on state by state, and a note
    says why.

    Raises:
        GaveUpError: as explore does, and whatever else that raises.
        LeakError: if an evaluation depends on something that tables did not see it read.
    """
    refuse_symmetry_and_view(spec)
    options = replace(options, on_progress=_never_less(options))
    prefix = _LiteralPrefix(spec, options)
    found = run_search(prefix)
    if not prefix.gives_way:
        found.notes = _note_why(prefix.why_not)
        return found
    return _by_tables(spec, options)


def explore_with_tables(spec: Spec, options: SearchOptions = DEFAULT_OPTIONS) -> Exploration | TableExploration:
    """Search all reachable states by tables; where these cannot be used, state by state, and a note says why.

    Raises:
        MissingExtraError: without NumPy.
        GaveUpError: as explore does; and where counts are to be confirmed, and tables cannot be used.
        LeakError: if an evaluation depends on something that tables did not see it read.
    """
    with extra("tables"):
        from lockstep.tla.tables import table_search  # noqa: F401 - it needs NumPy
    return _by_tables(spec, options)


def _by_tables(spec: Spec, options: SearchOptions) -> Exploration | TableExploration:
    from lockstep.tla.tables.confirmed_count import explore_until_confirmed
    from lockstep.tla.tables.state_layout import UnsuitedError
    from lockstep.tla.tables.table_search import explore_by_tables

    try:
        return explore_until_confirmed(spec, options) if options.confirm else explore_by_tables(spec, options)
    except UnsuitedError as error:
        if options.confirm:
            raise GaveUpError(f"no count can be confirmed that is not found by tables: {error}") from error
        found = explore(spec, options)
        found.notes = _note_why(str(error))
        return found


def _note_why(why: str) -> tuple[str, ...]:
    return (f"note: explored state by state, not by tables: {why}",) if why else ()


class _LiteralPrefix(LiteralSearch):
    """A search state by state that ends without a verdict once it has found enough states, if tables can begin."""

    gives_way = False
    why_not = ""
    _is_decided = False

    def expand(self, number: int, found: list[int]) -> bool:
        return super().expand(number, found) and not self._leaves_the_rest()

    def _leaves_the_rest(self) -> bool:
        """Decide, once, whether the rest is left to tables."""
        if not self._is_decided and len(self.result.states) >= self.options.states_before_tables:
            self._is_decided, self.why_not = True, _why_not_by_tables(self.spec)
            self.gives_way = not self.why_not
        return self.gives_way


def _why_not_by_tables(spec: Spec) -> str:
    """Return why a specification cannot be explored by tables here, as far as is known beforehand; "" where it can."""
    try:
        with extra("tables"):
            from lockstep.tla.tables.table_search import why_unsuited
    except MissingExtraError as error:
        return str(error)
    return why_unsuited(spec) or ""


def _never_less(options: SearchOptions) -> ReportProgress | None:
    """Return a report of the progress without counts that fall, as where a search begins anew."""
    report, most = options.on_progress, 0
    if report is None:
        return None

    def report_more(progress: SearchProgress) -> None:
        nonlocal most
        if progress.distinct > most or progress.waits_for:
            most = max(most, progress.distinct)
            report(replace(progress, distinct=most))

    return report_more
