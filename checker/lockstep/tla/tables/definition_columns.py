"""Definitions of a spec as columns: what a formula asks of several parts of a state, found once and kept in its row.

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
from lockstep.tla.tables.tracked_evaluation import Reading
from lockstep.tla.values.kinds import ModelValue, Value

__all__ = ["AS_IT_STANDS", "ROOM", "UNKNOWN", "Definition", "Definitions", "padded"]

#: How many definitions have a column at most; with other arguments a definition is another one.
ROOM = 32
#: What a row has in the column of a definition that was not asked for.
UNKNOWN = -1

_TRIALS = 3
_LOOK, _WORTH = 64, 2


class _AsItStands:
    """The value of a definition that has none to be kept."""


AS_IT_STANDS = _AsItStands()

_ARGUMENTS = frozenset({ModelValue, str, int})
_ATOMS = frozenset({ModelValue, str, int, bool})

#: A definition, and its arguments.
_Call = tuple[str, tuple[Value, ...]]


def is_small(value: Value) -> bool:
    """Tell whether a value is an atom, or a set of atoms."""
    kind = type(value)
    return kind in _ATOMS or (kind is frozenset and all(type(each) in _ATOMS for each in value))


class Definition:
    """A definition with its arguments, as a column.

    Attributes:
        column: the number of the column.
        values: its values by number; the first stands for all that are not kept.
        holds: computes it in a state.
        text: what it is, for messages.
    """

    __slots__ = ("_numbers", "column", "evaluations", "holds", "text", "values")

    def __init__(self, column: int, text: str, holds: Callable[[State], Value]) -> None:
        """Begin with no value."""
        self.column, self.text, self.holds = column, text, holds
        self.values: list[Any] = [AS_IT_STANDS]
        self.evaluations = 0
        self._numbers: dict[tuple[type, Value], int] = {}

    def number(self, value: Value) -> int:
        """Answer the number of a value."""
        self.evaluations += 1
        if not is_small(value):
            return 0
        key = (type(value), value) if type(value) is not frozenset else (frozenset, _kinds(value))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.values)
            self.values.append(value)
        return known

    @property
    def is_worth_it(self) -> bool:
        """Tell whether it takes fewer values than what it reads."""
        return self.evaluations < _LOOK or _WORTH * len(self.values) <= self.evaluations


def _kinds(values: Iterable[Value]) -> frozenset[tuple[type, Value]]:
    """Tell a set of 1 from a set of TRUE, which Python takes for equal."""
    return frozenset([(type(each), each) for each in values])


class Definitions:
    """The definitions of a spec that are columns, found as they are called.

    Attributes:
        columns: the definitions, in the order of their columns.
    """

    def __init__(
        self,
        layout: Layout,
        reading: Reading,
        opened: Callable[[Definition], None],
        tried: Callable[[Callable[[State], Value]], tuple[int, Value | None]],
    ) -> None:
        """Begin with none.

        Args:
            layout: the columns of the parts of a state.
            reading: has the evaluation under way.
            opened: makes the tree of a definition.
            tried: computes a formula for the state under way: how many columns it reads, and its value, if it has one.
        """
        self.columns: list[Definition] = []
        self._first, self._reading, self._opened, self._tried = layout.width, reading, opened, tried
        self._known: dict[_Call, Definition | None] = {}
        self._trials: dict[str, int] = {}
        self._trying: set[str] = set()

    def put_into(self, module: dict[str, Any]) -> None:
        """Let the definitions in the tracked code of a spec be asked for by column, where they can be."""
        meta: Meta = module["META"]
        names = {
            told["function"]  # that of several definitions, where the configuration puts one in another's place
            for told in meta["definitions"].values()
            if told["reads_now"] and not told["reads_next"] and set(told["arguments"]) <= {"v"}
        }
        for name in names:
            module[name] = self._asking(name, module[name])

    def _asking(self, name: str, function: Callable[..., Value]) -> Callable[..., Value]:
        reading, known = self._reading, self._known

        def asking(state: State, *args: Value) -> Value:
            if state is not reading.now.state:
                return function(state, *args)
            for each in args:
                if type(each) not in _ARGUMENTS:
                    return function(state, *args)
            call = name, args
            definition = known[call] if call in known else self._met(call, function)
            if definition is not None and definition.is_worth_it:
                value = reading.now.read(definition.column)
                if value is not AS_IT_STANDS:
                    return value
            return function(state, *args)

        return asking

    def _met(self, call: _Call, function: Callable[..., Value]) -> Definition | None:
        """Make a column of a definition that is called, if it is one of those that gain by it."""
        name, args = call
        if name in self._trying:  # it is recursive
            return None
        trials = self._trials.get(name, 0)
        if trials >= _TRIALS or len(self.columns) >= ROOM:
            self._known[call] = None
            return None
        self._trying.add(name)
        try:
            read, value = self._tried(lambda state: function(state, *args))
        finally:
            self._trying.remove(name)
        if read < 2 or not is_small(value):
            self._trials[name] = trials + 1 if read < 2 or value is None else _TRIALS
            return None
        text = f"{name}({', '.join(map(str, args))})" if args else name
        found = Definition(self._first + len(self.columns), text, lambda state: function(state, *args))
        self._known[call] = found
        self.columns.append(found)
        self._opened(found)
        return found


def padded(rows: Rows, width: int) -> Rows:
    """Answer rows with room for definitions after their columns, of which nothing is known yet."""
    if rows.shape[1] > width:
        return rows
    return np.concatenate([rows, np.full((len(rows), ROOM), UNKNOWN, rows.dtype)], axis=1)
