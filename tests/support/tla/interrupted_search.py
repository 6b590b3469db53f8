"""A search that an error ends at a level, as an interrupt would."""

from __future__ import annotations

from collections.abc import Callable

from lockstep.tla.search_options import SearchProgress


class InterruptedSearchError(Exception):
    """The search was ended."""


def interrupt_at(level: int) -> Callable[[SearchProgress], None]:
    """The report of progress that ends the search at a level."""

    def interrupt(far: SearchProgress) -> None:
        if far.depth == level:
            raise InterruptedSearchError

    return interrupt
