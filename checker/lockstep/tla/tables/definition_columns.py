"""Definitions of a spec as columns: values of several parts of a state, computed once and stored in its row.

``UnderWay < MaxMessages`` reads every channel, and all that it comes to is a number. Where each of twenty actions has
such a guard, each has a table as large as the combinations of channels. So a definition whose value is an atom, or a
set of atoms, has a tree of its own, and its value has a column, after those of the parts of the state. An evaluation
that calls the definition reads that column, and nothing else of what the definition reads.

In a row the column is :data:`UNKNOWN` until something asks for it, and becomes so again by a step that writes what the
definition has read. So a definition is evaluated only where a search state by state evaluates it, too. Where it has no
value, or one of another kind, the column says so, and it is evaluated once more as a part of what calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lockstep.tla.compile.spec_meta import Meta
from lockstep.tla.state import State
from lockstep.tla.tables.state_layout import Layout, Rows
from lockstep.tla.tables.tracked_evaluation import CurrentEvaluation
from lockstep.tla.values.kinds import ModelValue, Value

#: The most definitions that have a column; with other arguments a definition is another one.
MAX_DEFINITIONS = 32
#: The column of a definition that was not asked for.
UNKNOWN = -1

#: Calls of a definition in which it has to gain by a column, or it gets none.
_MAX_TRIALS = 3
#: The evaluations after which a column must have at most half as many values.
_WORTH_CHECK = 64


class _NotStored:
    """The mark of a value that is not stored."""


NOT_STORED = _NotStored()

_ARGUMENTS = frozenset({ModelValue, str, int})
_ATOMS = frozenset({ModelValue, str, int, bool})

#: A definition, and its arguments.
_Call = tuple[str, tuple[Value, ...]]


def is_atomic(value: Value) -> bool:
    """Return whether a value is an atom, or a set of atoms."""
    kind = type(value)
    return kind in _ATOMS or (kind is frozenset and all(type(each) in _ATOMS for each in value))


class DefinitionColumn:
    """A definition with its arguments, as a column.

    Attributes:
        values: its values by number; the first stands for all that are not kept.
        holds: computes it in a state.
        text: the definition and its arguments, for messages.
    """

    __slots__ = ("_numbers", "column", "evaluations", "holds", "text", "values")

    def __init__(self, column: int, text: str, holds: Callable[[State], Value]) -> None:
        self.column, self.text, self.holds = column, text, holds
        self.values: list[Any] = [NOT_STORED]
        self.evaluations = 0
        self._numbers: dict[tuple[type, Value], int] = {}

    def number(self, value: Value) -> int:
        """Return the number of a value."""
        self.evaluations += 1
        if not is_atomic(value):
            return 0
        key = (type(value), value) if type(value) is not frozenset else (frozenset, _kinds(value))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.values)
            self.values.append(value)
        return known

    @property
    def pays_off(self) -> bool:
        """Return whether it takes fewer values than what it reads."""
        return self.evaluations < _WORTH_CHECK or 2 * len(self.values) <= self.evaluations


def _kinds(values: Iterable[Value]) -> frozenset[tuple[type, Value]]:
    """Return what distinguishes a set of 1 from a set of TRUE, which Python takes for equal."""
    return frozenset([(type(each), each) for each in values])


class DefinitionColumns:
    """The definitions of a spec that are columns, found as they are called.

    Attributes:
        columns: the definitions, in the order of their columns.
    """

    def __init__(
        self,
        layout: Layout,
        current: CurrentEvaluation,
        open_tree: Callable[[DefinitionColumn], None],
        evaluate: Callable[[Callable[[State], Value]], tuple[int, Value | None]],
    ) -> None:
        """Begin with none.

        Args:
            open_tree: makes the tree of a definition.
            evaluate: returns the number of columns that a formula reads in the current state, and its value, if any.
        """
        self.columns: list[DefinitionColumn] = []
        self._first, self._current, self._open_tree, self._evaluate = layout.width, current, open_tree, evaluate
        self._known: dict[_Call, DefinitionColumn | None] = {}
        self._trials: dict[str, int] = {}
        self._trying: set[str] = set()

    def install(self, module: dict[str, Any]) -> None:
        """Let the tracked code of a spec read definitions as columns, where they can be."""
        meta: Meta = module["META"]
        names = {
            each["function"]  # that of several definitions, where the configuration puts one in another's place
            for each in meta["definitions"].values()
            if each["reads_now"] and not each["reads_next"] and set(each["arguments"]) <= {"v"}
        }
        for name in names:
            module[name] = self._by_column(name, module[name])

    def _by_column(self, name: str, function: Callable[..., Value]) -> Callable[..., Value]:
        current, known = self._current, self._known

        def read(state: State, *args: Value) -> Value:
            if state is not current.now.state:
                return function(state, *args)
            for each in args:
                if type(each) not in _ARGUMENTS:
                    return function(state, *args)
            call = name, args
            definition = known[call] if call in known else self._added(call, function)
            if definition is not None and definition.pays_off:
                value = current.now.read(definition.column)
                if value is not NOT_STORED:
                    return value
            return function(state, *args)

        return read

    def _added(self, call: _Call, function: Callable[..., Value]) -> DefinitionColumn | None:
        """Make a column of a definition that is called, if it is one of those that gain by it."""
        name, args = call
        if name in self._trying:  # it is recursive
            return None
        trials = self._trials.get(name, 0)
        if trials >= _MAX_TRIALS or len(self.columns) >= MAX_DEFINITIONS:
            self._known[call] = None
            return None
        self._trying.add(name)
        try:
            read_count, value = self._evaluate(lambda state: function(state, *args))
        finally:
            self._trying.remove(name)
        if read_count < 2 or not is_atomic(value):
            self._trials[name] = trials + 1 if read_count < 2 or value is None else _MAX_TRIALS
            return None
        text = f"{name}({', '.join(map(str, args))})" if args else name
        found = DefinitionColumn(self._first + len(self.columns), text, lambda state: function(state, *args))
        self._known[call] = found
        self.columns.append(found)
        self._open_tree(found)
        return found


def padded(rows: Rows, width: int) -> Rows:
    """Return rows with further columns for definitions, which are unknown."""
    if rows.shape[1] > width:
        return rows
    return np.concatenate([rows, np.full((len(rows), MAX_DEFINITIONS), UNKNOWN, rows.dtype)], axis=1)
