"""Exploring a specification the way that takes less: a small one state by state, a larger one by tables.

To fill tables costs what some hundred states cost one by one, and how many there are nobody knows beforehand. So a
search begins state by state; where it has found `FEW` states, tables begin anew, and come to the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lockstep.base.extras import MissingExtraError, extra
from lockstep.tla.explore import Exploration, run_search
from lockstep.tla.liveness.temporal_check import refuse_sameness
from lockstep.tla.spec import Spec
from lockstep.tla.tables.bounded import BoundedSearch, explore_within

if TYPE_CHECKING:
    from lockstep.tla.tables.table_search import Progress, TableExploration

__all__ = ["FEW", "explore_either"]

#: At so many states tables begin; docs/measured/engines.md has what was measured.
FEW = 500


class _Beginning(BoundedSearch):
    """A search state by state that ends without a verdict once it has found so many states, if tables can begin."""

    few: int | None = FEW
    goes_on_by_tables = False
    why_not = ""

    def expand(self, number: int, found: list[int]) -> bool:
        """Generate the successors of a state; answer whether this search goes on."""
        return super().expand(number, found) and not self.gives_way()

    def gives_way(self) -> bool:
        """Tell whether the rest is left to tables; it is asked once."""
        if self.few is None or len(self.result.states) < self.few:
            return False
        self.why_not = _why_not(self.spec)
        self.few, self.goes_on_by_tables = None, not self.why_not
        return self.goes_on_by_tables


def _why_not(spec: Spec) -> str:
    """Say why a specification cannot be explored by tables here, as far as is known beforehand; "" where it can."""
    try:
        with extra("tables"):
            from lockstep.tla.tables.table_search import unsuited
    except MissingExtraError as error:
        return str(error)
    return unsuited(spec) or ""


def explore_either(
    spec: Spec,
    *,
    check_deadlock: bool | None = None,
    max_states: int | None = None,
    on_states: Callable[[int], None] | None = None,
    most_memory: int | None = None,
    few: int | None = None,
    on_unsuited: Callable[[str], None] | None = None,
) -> Exploration | TableExploration:
    """Search all reachable states, as :func:`lockstep.tla.explore.explore` does, from some hundred on by tables.

    Where tables cannot be used, or gain nothing, or NumPy is missing, the search goes on state by state.

    Args:
        spec: the specification.
        check_deadlock: whether a state without successors is a violation; the configuration decides if None.
        max_states: stop after the state whose successors make this many distinct ones.
        on_states: told of the number of distinct states now and then.
        most_memory: give up where the tables and the states would take more bytes.
        few: how many states are found one by one before tables begin; `FEW` if None.
        on_unsuited: told why all are found one by one, where there are more of them.

    Returns:
        The same counts and the same violation, whichever way was taken.

    Raises:
        What explore raises, GaveUpError where a search state by state would take more memory, and LeakError if an
        evaluation depends on what tables did not see it read.
    """
    refuse_sameness(spec)
    on_states = None if on_states is None else _growing(on_states)
    deadlock = spec.check_deadlock if check_deadlock is None else check_deadlock
    beginning = _Beginning(spec, False, deadlock, max_states, on_states)
    beginning.few, beginning.most_memory = FEW if few is None else few, most_memory
    found = run_search(beginning)
    tell_why = on_unsuited or (lambda _: None)
    if beginning.why_not:
        tell_why(beginning.why_not)
    if not beginning.goes_on_by_tables:
        return found
    limits: dict[str, Any] = {"check_deadlock": deadlock, "max_states": max_states}
    return _by_tables(spec, limits, on_states, most_memory, tell_why)


def _growing(tell: Callable[[int], None]) -> Callable[[int], None]:
    """Return what tells of a number of states only where it is the greatest so far: a search may begin anew."""
    most = 0

    def told(count: int) -> None:
        nonlocal most
        if count > most:
            most = count
            tell(count)

    return told


def _by_tables(
    spec: Spec,
    limits: dict[str, Any],
    on_states: Callable[[int], None] | None,
    most_memory: int | None,
    tell_why: Callable[[str], None],
) -> Exploration | TableExploration:
    from lockstep.tla.tables.state_layout import UnsuitedError
    from lockstep.tla.tables.table_search import explore_by_tables

    def tell(far: Progress) -> None:
        assert on_states is not None
        on_states(far.distinct)

    try:
        said = None if on_states is None else tell
        return explore_by_tables(spec, **limits, on_progress=said, most_memory=most_memory)
    except UnsuitedError as error:
        tell_why(str(error))
        return explore_within(spec, **limits, most_memory=most_memory, on_level=on_states)
