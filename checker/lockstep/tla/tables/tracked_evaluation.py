"""An evaluation of a state known in part: the columns that it knows, and those that it has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from lockstep.tla.state import State
from lockstep.tla.tables.decision_trees import ReadPath
from lockstep.tla.tables.memberships import FAILS, Membership, is_fixed
from lockstep.tla.tables.search_kernels import AUX
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.lazy_sets import member


class TrackedEvaluation:
    """One evaluation in one state.

    Attributes:
        lookup: returns the number of the value of a column.
        refused: the columns that evaluations of the same formula touched without asking: they are put in place once
            they are known.
        order: the columns and memberships in the order in which they were read.
        numbers: those of the values that were read, by column.
        known: these values.
        outcomes: those of the memberships, by their keys.
        state: the state that is evaluated in, if its definitions are to be read as columns.
    """

    __slots__ = ("_given", "_values", "known", "lookup", "numbers", "order", "outcomes", "refused", "state")

    def __init__(
        self, path: ReadPath, values: Sequence[list[Any]], lookup: Callable[[int], int], refused: set[int] | None = None
    ) -> None:
        """Begin with what a path has read; `values` are those of each column, by number."""
        self._values, self.lookup = values, lookup
        self.refused: set[int] = set() if refused is None else refused
        self.order: list[int | Membership] = [read for read, _ in path if read != AUX]
        self.numbers: dict[int, int] = {}
        self.outcomes: dict[object, int] = {}
        for read, number in path:
            if isinstance(read, Membership):
                self.outcomes[read.key] = number
            elif read != AUX:
                self.numbers[read] = number
        self.known: dict[int, Value] = {column: values[column][number] for column, number in self.numbers.items()}
        self.state: State | None = None
        self._given = len(self.order)

    def read(self, column: int) -> Value:
        """Return the value of a column, and record that it was read."""
        if column in self.known:
            return self.known[column]
        number = self.numbers[column] = self.lookup(column)
        value: Value = self._values[column][number]
        self.known[column] = value
        self.order.append(column)
        return value

    def is_member(self, column: int, container: Value) -> bool:
        """Decide whether the value of a column is in a set; it is read if the set may depend on the state."""
        if column not in self.known and is_fixed(container):
            outcome = self.outcomes.get((column, id(container)))
            if outcome is None:
                number = self.lookup(column)
                membership = Membership(column, container, self._values[column])
                outcome = self.outcomes[membership.key] = membership.outcome(number)
                self.order.append(membership)
            if outcome != FAILS:
                return outcome == 1
        return member(self.read(column), container)

    def reads(self) -> ReadPath:
        """Return what was read besides the path at the beginning."""
        return [
            (read, self.outcomes[read.key] if isinstance(read, Membership) else self.numbers[read])
            for read in self.order[self._given :]
        ]

    @property
    def columns(self) -> list[int]:
        """The columns that were read, or asked for their membership, in order."""
        return [read.column if isinstance(read, Membership) else read for read in self.order]


class CurrentEvaluation:
    """The evaluation under way, which every Unread reports to when it is read."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = TrackedEvaluation([], (), _nothing)


def _nothing(column: int) -> NoReturn:
    raise KeyError(column)
