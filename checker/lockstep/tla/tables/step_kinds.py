"""Kinds of steps: one for all steps that write the same of the columns that a predicate reads.

A predicate of logs does not distinguish a step that writes a role and a term from one that writes a channel. So its
results are stored not for each pattern of columns that steps write, but for the columns of a pattern that the
predicate has ever asked about, before a step or after it: those that matter.

It is evaluated as if the step wrote all columns but those that matter and are not written. A column that an evaluation
does not ask about may then be written or not. If it asks about a column that did not matter before, it is no result:
more matters from then on, and all results of the predicate are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lockstep.tla.tables.decision_trees import ReadPath
from lockstep.tla.tables.memberships import Membership
from lockstep.tla.tables.search_kernels import AUX


class ColumnAddedError(Exception):
    """An evaluation has asked about a column that did not matter before."""


class StepKinds:
    """The kinds of steps for one predicate, by number; those that write nothing that matters have the number 0.

    Attributes:
        matters: the columns that matter, as bits.
    """

    def __init__(self, masks: Sequence[int], span: int) -> None:
        """Begin with one kind.

        Args:
            masks: the columns that each pattern writes, as bits; there will be more.
            span: the number of columns before those of the next state.
        """
        self.matters = 0
        self._masks, self._span = masks, span
        self._has_grown = False
        self._begin()

    def _begin(self) -> None:
        self._written, self._numbers = [0], {0: 0}
        self._by_pattern = np.zeros(0, np.int64)

    @property
    def count(self) -> int:
        """The number of kinds."""
        return len(self._written)

    def by_pattern(self) -> npt.NDArray[np.int64]:
        """Return the kind of each pattern of written columns."""
        if len(self._by_pattern) < len(self._masks):
            more = [self._number(mask & self.matters) for mask in self._masks[len(self._by_pattern) :]]
            self._by_pattern = np.concatenate([self._by_pattern, np.array(more, np.int64)])
        return self._by_pattern

    def _number(self, written: int) -> int:
        if (known := self._numbers.get(written)) is None:
            known = self._numbers[written] = len(self._written)
            self._written.append(written)
        return known

    def written(self, kind: int) -> int:
        """Return the columns that a step of a kind is taken to write, as bits: all but what matters and it does not."""
        return ~(self.matters & ~self._written[kind])

    def record(self, path: ReadPath) -> None:
        """Record what an evaluation read; raises ColumnAddedError if that is more than what mattered."""
        columns = 0
        for read, _ in path:
            column = read.column if isinstance(read, Membership) else read
            if column != AUX:
                columns |= 1 << column % self._span
        if columns & ~self.matters:
            self.matters |= columns
            self._has_grown = True
            raise ColumnAddedError

    def restart(self) -> bool:
        """Begin anew if more matters than before; return whether so."""
        has_grown, self._has_grown = self._has_grown, False
        if has_grown:
            self._begin()
        return has_grown
