"""States as rows of numbers: the parts of a state that are columns, and the numbers of their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lockstep.tla.state import State
from lockstep.tla.tables.tracked_evaluation import CurrentEvaluation
from lockstep.tla.tables.unread import Unread
from lockstep.tla.values.equality import same_kind
from lockstep.tla.values.kinds import Fcn, TlaError, Value
from lockstep.tla.values.value_bytes import encoded

#: States, one a row, with the number of its value in each column.
Rows: TypeAlias = npt.NDArray[np.integer[Any]]
#: A way into a state: a variable, then arguments.
Path: TypeAlias = tuple[Value, ...]

#: The most columns of a state.
MAX_COLUMNS = 2048
_NARROW = np.iinfo(np.int16).max
#: The longest path to a column.
_MAX_DEPTH = 8


class UnsuitedError(Exception):
    """A specification that cannot be explored by tables; the message says why."""


class ShapeChangedError(Exception):
    """A function or record has another domain than before, so that it cannot be taken apart."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


class _Part:
    """A part of a state: a slot of its own, or a function whose values are parts.

    `mask` has the bit of each slot in it, `unread` is what stands for it where nothing of it was read.
    """

    __slots__ = ("keys", "mask", "parts", "path", "slot", "unread")

    def __init__(self, path: Path, slot: int, keys: tuple[Value, ...] | None, parts: list[_Part]) -> None:
        self.path, self.slot, self.keys, self.parts = path, slot, keys, parts
        self.mask = 1 << slot if not parts else 0
        for part in parts:
            self.mask |= part.mask
        self.unread: Value = None


class Layout:
    """The columns of a state, and their values by number.

    A variable whose value is a function, or a record, is taken apart, and so are its values, as long as all initial
    states have the same domain there. A part that turns out to change its domain is one column.

    Attributes:
        paths: where each column is.
        values: of each column the values by number.
    """

    def __init__(self, variables: Sequence[str], initial: Sequence[State], whole: Iterable[Path]) -> None:
        """Lay out states like the initial ones; `whole` are parts that are not to be taken apart, nor their likes."""
        self.variables = tuple(variables)
        self.paths: list[Path] = []
        self._whole = set(map(_kind_of_path, whole))
        self._class = type(initial[0])
        self._parts = [
            self._part((name,), [state[index] for state in initial]) for index, name in enumerate(self.variables)
        ]
        if len(self.paths) > MAX_COLUMNS:
            raise UnsuitedError(f"a state has {len(self.paths):,} parts that change apart, more than {MAX_COLUMNS:,}")
        self.values: list[list[Value]] = [[] for _ in self.paths]
        self._ids: list[dict[Hashable, int]] = [{} for _ in self.paths]
        self.width = len(self.paths)
        self._most = 0
        self._unread: State | None = None

    def _part(self, path: Path, values: list[Value]) -> _Part:
        keys = None if _kind_of_path(path) in self._whole or len(path) > _MAX_DEPTH else _common_keys(values)
        if keys is None:
            self.paths.append(path)
            return _Part(path, len(self.paths) - 1, None, [])
        if type(values[0]) is tuple:
            below = [self._part((*path, key), [value[key - 1] for value in values]) for key in keys]
        else:
            below = [self._part((*path, key), [value.d[key] for value in values]) for key in keys]
        return _Part(path, -1, () if type(values[0]) is tuple else keys, below)

    # ---- Numbers ----

    def number(self, slot: int, value: Value) -> int:
        """Return the number of a value in a column; a new one where it is new.

        Values that differ in kind only, as 1 and TRUE do, have numbers of their own.

        Raises:
            UnsuitedError: if they cannot be distinguished, since not all of one can be listed.
        """
        known = self._ids[slot].get(value)
        if known is None:
            return self._new(slot, value, value)
        found = self.values[slot][known]
        if found is value or same_kind(found, value):
            return known
        try:
            text = encoded(value)
        except TlaError as error:
            raise UnsuitedError(f"{self.path_text(slot)} has values that differ in kind only") from error
        known = self._ids[slot].get(text)
        return self._new(slot, text, value) if known is None else known

    def _new(self, slot: int, key: Hashable, value: Value) -> int:
        number = self._ids[slot][key] = len(self._ids[slot])
        self.values[slot].append(value)
        self._most = max(self._most, number)
        return number

    def path_text(self, slot: int) -> str:
        """Write where a column is."""
        return _text_of(self.paths[slot])

    def encode(self, states: Sequence[State]) -> Rows:
        """Return the rows of states; raises ShapeChangedError if one has another shape."""
        rows: Rows = np.empty((len(states), self.width), np.int32)
        for number, state in enumerate(states):
            for part, value in zip(self._parts, state, strict=True):
                self._encode(part, value, rows[number])
        return self.narrow(rows)

    def narrow(self, rows: Rows) -> Rows:
        """Return rows in as few bytes as the numbers of all values take."""
        return rows.astype(np.int16) if self._most <= _NARROW else rows

    def wide(self, rows: Rows) -> Rows:
        """Return rows wide enough for the numbers of all values: two bytes while there are few."""
        return rows if self._most <= _NARROW else rows.astype(np.int32, copy=False)

    def _encode(self, part: _Part, value: Value, row: Rows) -> None:
        if part.keys is None:
            row[part.slot] = self.number(part.slot, value)
            return
        for each, below in zip(part.parts, _values_at(part, value), strict=True):
            self._encode(each, below, row)

    def decode(self, row: Sequence[int]) -> State:
        """Return the state of a row."""
        known = {slot: self.values[slot][number] for slot, number in enumerate(row)}
        return self.state(known, (1 << self.width) - 1)

    # ---- States with what was not read ----

    def mark_unread(self, current: CurrentEvaluation) -> None:
        """Fill the columns that an evaluation does not know with an Unread each."""
        for part in self._parts:
            _leave_unread(part, [Unread(slot, current) for slot in range(self.width)])
        self._unread = None
        self._unread = self.state({}, 0)

    def state(self, known: Mapping[int, Value], mask: int) -> State:
        """Make a state of what is known by column; `mask` has the bits of the columns that are known."""
        if not mask and self._unread is not None:
            return self._unread
        return self._class(tuple([_made(part, known, mask) for part in self._parts]))

    def next_state(self, before: State, changed: int, pick: Callable[[int], Value]) -> State:
        """Make a next state: what a column changed to is picked by its number, the rest is that of the state before.

        Args:
            changed: the bits of the columns that changed.
            pick: returns what stands for such a column.
        """
        return self._class(
            tuple([_changed(part, old, changed, pick) for part, old in zip(self._parts, before, strict=True)])
        )

    def writes(self, before: State, after: State, known: Callable[[int], int | None]) -> list[tuple[int, int]]:
        """Return what a step writes: columns, with the numbers of the new values.

        Args:
            before: the state, with what was not read.
            after: the next state, which the step made of it.
            known: returns the number of the value that was read of a column, None if it was not.

        Raises:
            ShapeChangedError: if a function has another domain than before.
        """
        found: list[tuple[int, int]] = []
        for part, old, new in zip(self._parts, before, after, strict=True):
            if old is not new:
                self._collect(part, old, new, known, found)
        return found

    def _collect(
        self, part: _Part, old: Value, new: Value, known: Callable[[int], int | None], found: list[tuple[int, int]]
    ) -> None:
        if type(new) is Unread:
            if part.keys is None and new.column == part.slot:
                return
            new = new.value()
        if part.keys is None:
            number = self.number(part.slot, new)
            if known(part.slot) != number:
                found.append((part.slot, number))
            return
        for each, below, above in zip(part.parts, _values_at(part, old), _values_at(part, new), strict=True):
            if below is not above:
                self._collect(each, below, above, known, found)


def _text_of(path: Path) -> str:
    name, *keys = path
    return str(name) + "".join(f"[{getattr(key, 'name', key)}]" for key in keys)


def _kind_of_path(path: Path) -> Path:
    """Return what paths have in common that lead to the same field of different elements."""
    return tuple([each if type(each) is str else None for each in path])


def _common_keys(values: list[Value]) -> tuple[Value, ...] | None:
    """Return the common domain of functions; None if they have none, or what they are is not listed."""
    first = values[0]
    if type(first) is tuple and first:
        alike = all(type(each) is tuple and len(each) == len(first) for each in values)
        return tuple(range(1, len(first) + 1)) if alike else None
    if type(first) is Fcn:
        keys = tuple(first.d)
        alike = all(type(each) is Fcn and each.d.keys() == first.d.keys() for each in values)
        return keys if alike and all(_same_keys(keys, each.d) for each in values) else None
    return None


def _same_keys(keys: tuple[Value, ...], table: dict[Value, Value]) -> bool:
    """Return whether the keys of a table, which Python holds equal to these, are equal to them in TLA+, too."""
    return type(keys[0]) is str or all(map(is_, keys, table)) or same_kind(frozenset(keys), frozenset(table))


def _values_at(part: _Part, value: Value) -> Sequence[Value]:
    """Return the values of a function that is taken apart, in the order of its parts."""
    if part.keys == ():
        if type(value) is tuple and len(value) == len(part.parts):
            return value
    elif type(value) is Fcn and len(value.d) == len(part.parts):
        table, keys = value.d, part.keys or ()
        if all(map(is_, keys, table)):  # as in all that is made of another by EXCEPT
            return list(table.values())
        try:
            values = [table[key] for key in keys]
        except KeyError:
            raise ShapeChangedError(part.path) from None
        if not _same_keys(keys, table):
            raise ShapeChangedError(part.path)
        return values
    raise ShapeChangedError(part.path)


def _leave_unread(part: _Part, unread: list[Unread]) -> None:
    if part.keys is None:
        part.unread = unread[part.slot]
        return
    for each in part.parts:
        _leave_unread(each, unread)
    part.unread = _function(part, [each.unread for each in part.parts])


def _function(part: _Part, values: list[Value]) -> Value:
    if part.keys == ():
        return tuple(values)
    made = Fcn(dict(zip(part.keys or (), values, strict=True)))
    made.listed = True
    return made


def _made(part: _Part, known: Mapping[int, Value], mask: int) -> Value:
    if not part.mask & mask:
        return part.unread
    if part.keys is None:
        return known[part.slot]
    return _function(part, [_made(each, known, mask) for each in part.parts])


def _changed(part: _Part, old: Value, changed: int, pick: Callable[[int], Value]) -> Value:
    if not part.mask & changed:
        return old
    if part.keys is None:
        return pick(part.slot)
    pairs = zip(part.parts, _values_at(part, old), strict=True)
    return _function(part, [_changed(each, below, changed, pick) for each, below in pairs])
