"""Fewer steps of a program that leaves the spec, by running it again without some of them.

Only another run shows what a program does without some of its steps. So the steps that are left are taken again from
the beginning, and what the program records of them is checked as any trace is. Chunks of steps go first, then single
steps, then all of one node (delta debugging).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.progress import Say, silent
from lockstep.conformance.run_search import BudgetSpentError

T = TypeVar("T")


class RerunMinimiser(Generic[T]):
    """Search for a shorter run that leaves the spec in the same way; `best` is the shortest so far.

    Arguments: `rerun`, which takes steps again and returns those up to the one that is wrong in the wanted way, or None
    where nothing is, or something else; `node_of`, the node that takes a step; `deadline`, how long it may take; `say`,
    which reports progress.
    """

    def __init__(
        self,
        rerun: Callable[[Sequence[T]], Sequence[T] | None],
        node_of: Callable[[T], str],
        deadline: Deadline = NEVER,
        say: Say = silent,
    ) -> None:
        self._rerun, self._node_of, self._deadline, self._say = rerun, node_of, deadline, say
        self.best: Sequence[T] = ()
        self.tried = 0

    def begin(self, steps: Sequence[T]) -> bool:
        """Take all steps again, and return whether that leaves the spec in the same way."""
        found = self._rerun(steps)
        self.best = found or ()
        return found is not None

    def shorten(self) -> bool:
        """Leave out all steps that can go; return False where the time was over before."""
        try:
            before: Sequence[T] | None = None
            while self.best is not before:
                before = self.best
                size = len(self.best) // 2
                while size > 1:
                    self._leave_out_chunks(size)
                    size = min(size, len(self.best)) // 2
                while self._leave_out_chunks(1):
                    pass
                for node in sorted(set(map(self._node_of, self.best))):
                    self._without(place for place, step in enumerate(self.best) if self._node_of(step) == node)
        except BudgetSpentError:
            return False
        return True

    def _leave_out_chunks(self, size: int) -> bool:
        """Try to leave out `size` steps at once, from the last to the first; return whether any could go."""
        before = len(self.best)
        end = before
        while end > 0:
            self._without(range(max(end - size, 0), end))
            end = min(end - size, len(self.best))
        return len(self.best) < before

    def _without(self, places: Iterable[int]) -> None:
        if self._deadline.is_over():
            raise BudgetSpentError
        self.tried += 1
        self._say(f"{len(self.best):,} steps, {self.tried:,} runs tried")
        gone = set(places)
        found = self._rerun([step for place, step in enumerate(self.best) if place not in gone])
        if found is not None and len(found) < len(self.best):
            self.best = found
