"""The differences of two states, part by part: what an element, an argument or a field was, and what it is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress, count
from operator import is_not
from typing import TypeAlias

from lockstep.tla.values.equality import compare
from lockstep.tla.values.growing_functions import GrowingFcn, differing
from lockstep.tla.values.growing_values import GrowingSeq, GrowingSet
from lockstep.tla.values.kinds import Fcn, Value, forced, sort_key

#: A variable, and then the arguments, fields and indexes that lead to a part of its value.
Path: TypeAlias = tuple[Value, ...]


class EditKind(StrEnum):
    """The kinds of differences."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    #: An element of a set, where nothing but the element says which.
    ELEMENT_ADDED = "element added"
    ELEMENT_REMOVED = "element removed"


@dataclass(frozen=True, slots=True)
class ValueEdit:
    """A difference: the path to the part, with its old and its new value; None where it has none.

    Of an element of a set, `path` leads to the set. `run` is how many parts at successive indexes, this the first, were
    removed; of several no values are kept.
    """

    path: Path
    kind: EditKind
    old: Value = None
    new: Value = None
    run: int = 1


#: From this number of successive indexes on, what is removed is one difference.
MIN_RUN = 3


def value_edits(before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[ValueEdit]:
    """Yield the differences between two states; what both have is never repeated."""
    for name, new in after.items():
        if name in before:
            yield from _edits((name,), before[name], new)


def _edits(path: Path, old: Value, new: Value) -> Iterator[ValueEdit]:
    if compare(old, new):
        return
    found = iter(_parts(path, old, new))
    first = next(found, None)
    if first is None:  # they differ as a whole, or only in kind, as 1 and TRUE do
        yield ValueEdit(path, EditKind.CHANGED, old, new)
        return
    yield first
    yield from found


def _parts(path: Path, old: Value, new: Value) -> Iterable[ValueEdit]:
    if isinstance(old, frozenset | GrowingSet) and isinstance(new, frozenset | GrowingSet):
        return _edits_of_sets(path, old, new)
    ends = differing(old, new)
    if ends is not None:
        return _edits_at_ends(path, old, new, *ends)
    old, new = (forced(each) if isinstance(each, GrowingSeq | GrowingFcn) else each for each in (old, new))
    if type(old) is tuple and type(new) is tuple:
        return _edits_of_sequences(path, old, new)
    if isinstance(old, tuple | Fcn) and isinstance(new, tuple | Fcn):
        return _edits_of_tables(path, _table_of(old), _table_of(new))
    return ()


def _table_of(function: Value) -> dict[Value, Value]:
    return function.d if type(function) is Fcn else dict(enumerate(function, start=1))


def _edits_of_sets(path: Path, old: Value, new: Value) -> Iterator[ValueEdit]:
    added = new.since(old) if isinstance(old, GrowingSet) and isinstance(new, GrowingSet) else None
    before, after = (frozenset(), frozenset(added)) if added is not None else (frozenset(old), frozenset(new))
    for element in sorted(before - after, key=sort_key):
        yield ValueEdit(path, EditKind.ELEMENT_REMOVED, old=element)
    for element in sorted(after - before, key=sort_key):
        yield ValueEdit(path, EditKind.ELEMENT_ADDED, new=element)


def _edits_at_ends(path: Path, old: Value, new: Value, first: int, last: int) -> Iterator[ValueEdit]:
    """Yield what is added and removed where two functions share the values at all indexes that both have."""
    indexes = range(first, last + 1)
    mine, its = ({index for index in indexes if _has(each, index)} for each in (old, new))
    yield from _removed(path, {index: old.apply(index) for index in sorted(mine - its)})
    yield from _added(path, {index: new.apply(index) for index in sorted(its - mine)})


def _has(function: Value, index: int) -> bool:
    low, high = (1, len(function)) if isinstance(function, GrowingSeq) else (function.low, function.high)
    return bool(low <= index <= high)


def _edits_of_sequences(path: Path, old: Sequence[Value], new: Sequence[Value]) -> Iterator[ValueEdit]:
    """Yield the differences of two sequences: element by element where they are as long, else between what is alike."""
    if len(old) == len(new):
        for index in compress(count(), map(is_not, old, new)):
            yield from _edits((*path, index + 1), old[index], new[index])
        return
    shorter = min(len(old), len(new))
    begin = _alike(old[:shorter], new[:shorter])
    end = _alike(old[::-1][: shorter - begin], new[::-1][: shorter - begin])
    yield from _removed(path, {index + 1: old[index] for index in range(begin, len(old) - end)})
    yield from _added(path, {index + 1: new[index] for index in range(begin, len(new) - end)})


def _alike(old: Sequence[Value], new: Sequence[Value]) -> int:
    """Return how many elements two sequences of one length begin with alike."""
    differing_places = compress(count(), map(is_not, old, new))
    return next((place for place in differing_places if not compare(old[place], new[place])), len(old))


def _edits_of_tables(path: Path, old: dict[Value, Value], new: dict[Value, Value]) -> Iterator[ValueEdit]:
    gone = {key: old[key] for key in sorted(old.keys() - new.keys(), key=sort_key)}
    come = {key: new[key] for key in sorted(new.keys() - old.keys(), key=sort_key)}
    for key in sorted(old.keys() & new.keys(), key=sort_key):
        yield from _edits((*path, key), old[key], new[key])
    pair = _changed_argument(gone, come)
    if pair is not None:
        yield from _edits((*path, pair[0]), *pair)
        return
    yield from _removed(path, gone)
    yield from _added(path, come)


def _changed_argument(gone: dict[Value, Value], come: dict[Value, Value]) -> tuple[Value, Value] | None:
    """Return a record and what it is now, where a function has just one other argument with the same value.

    So is a message of a bag that changes under way.
    """
    if len(gone) != 1 or len(come) != 1 or not compare(*gone.values(), *come.values()):
        return None
    (before,), (after,) = gone, come
    if not isinstance(before, Fcn) or not isinstance(after, Fcn) or before.d.keys() != after.d.keys():
        return None
    alike = sum(compare(before.d[name], after.d[name]) is True for name in before.d)
    return (before, after) if 2 * alike > len(before.d) else None


def _removed(path: Path, table: Mapping[Value, Value]) -> Iterator[ValueEdit]:
    runs: list[list[Value]] = []
    for key in table:
        if runs and type(key) is int and type(runs[-1][-1]) is int and runs[-1][-1] + 1 == key:
            runs[-1].append(key)
        else:
            runs.append([key])
    for run in runs:
        if len(run) < MIN_RUN:
            yield from (ValueEdit((*path, key), EditKind.REMOVED, old=table[key]) for key in run)
        else:
            yield ValueEdit((*path, run[0]), EditKind.REMOVED, run=len(run))


def _added(path: Path, table: Mapping[Value, Value]) -> Iterator[ValueEdit]:
    return (ValueEdit((*path, key), EditKind.ADDED, new=value) for key, value in table.items())
