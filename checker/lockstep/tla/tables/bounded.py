"""Exploring state by state within some memory: by how much the process grows, as nobody knows how large states are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lockstep.base.errors import GaveUpError
from lockstep.tla.explore import Exploration, LiteralSearch, run_search
from lockstep.tla.liveness.temporal_check import refuse_sameness
from lockstep.tla.spec import Spec
from lockstep.tla.state import State

__all__ = ["BoundedSearch", "explore_within"]

#: After so many more states the process is asked how large it is.
_ASK_EVERY = 4_096


class BoundedSearch(LiteralSearch):
    """A search state by state that gives up where this process has grown by more than it may.

    Attributes:
        most_memory: by how many bytes; None: by any number.
        on_states: told of the search now and then.
    """

    most_memory: int | None = None
    on_states: Callable[[BoundedSearch], None] | None = None

    def start(self) -> list[int]:
        """Generate the initial states; answer their numbers."""
        self._grown_from, self._ask_at = _resident(), _ASK_EVERY
        return super().start()

    def begin(self, state: State, found: list[int]) -> None:
        """Take an initial state in."""
        super().begin(state, found)
        self._ask()

    def expand(self, number: int, found: list[int]) -> bool:
        """Generate the successors of a state; answer whether this search goes on."""
        goes_on = super().expand(number, found)
        self._ask()
        return goes_on

    def _ask(self) -> None:
        distinct = len(self.result.states)
        if distinct < self._ask_at:
            return
        self._ask_at = distinct + _ASK_EVERY
        if self.on_states is not None:
            self.on_states(self)
        if self.most_memory is not None and _resident() - self._grown_from > self.most_memory:
            said = f"the search would need more than {self.most_memory / 1e9:.3g} GB of memory"
            raise GaveUpError(f"{said}, with {distinct:,} distinct states")


def explore_within(
    spec: Spec,
    *,
    check_deadlock: bool | None = None,
    max_states: int | None = None,
    most_memory: int | None = None,
    on_level: Callable[[int], None] | None = None,
    on_states: Callable[[BoundedSearch], None] | None = None,
) -> Exploration:
    """Search all reachable states as :func:`lockstep.tla.explore.explore` does, within some memory.

    Args:
        spec: the specification.
        check_deadlock: whether a state without successors is a violation; the configuration decides if None.
        max_states: stop after the state whose successors make this many distinct ones.
        most_memory: give up where this process grows by more bytes.
        on_level: told of the number of distinct states, level by level.
        on_states: told of the search now and then.

    Returns:
        Counts, states, the violation, and the properties that were not checked.

    Raises:
        GaveUpError: if the process grows by more; else what explore raises.
    """
    refuse_sameness(spec)
    deadlock = spec.check_deadlock if check_deadlock is None else check_deadlock
    search = BoundedSearch(spec, False, deadlock, max_states, on_level)
    search.most_memory, search.on_states = most_memory, on_states
    return run_search(search)


def _resident() -> int:
    """Answer how many bytes of memory this process has; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
