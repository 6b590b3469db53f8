"""Sequences, and strings, which TLC takes for sequences in most of these operators."""

from __future__ import annotations

from collections.abc import Callable

from lockstep.tla.values.growing_values import GrowingSeq, Sequence, join
from lockstep.tla.values.kinds import TlaError, Value, wrong
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.logic_operators import boolean
from lockstep.tla.values.number_operators import integers
from lockstep.tla.values.remembered_values import MIN_REMEMBERED, Latest, made_of, remember_growth
from lockstep.tla.values.set_operators import cup, make_set

__all__ = [
    "append",
    "concatenate",
    "elements_of",
    "head",
    "length",
    "select_seq",
    "sort_seq",
    "sub_seq",
    "tail",
]


def _sequence(operator: str, value: Value) -> Sequence:
    found = value.sequence() if isinstance(value, LazyFcn) else value
    if type(found) is tuple or type(found) is GrowingSeq:
        return found
    raise wrong(operator, "a sequence", value)


def length(sequence: Value) -> int:
    """Compute ``Len(sequence)`` (of strings too, as TLC does; so do the operators below)."""
    if type(sequence) is tuple or type(sequence) is str:
        return len(sequence)
    return len(_sequence("Len", sequence))


def append(sequence: Value, element: Value) -> Value:
    """Compute ``Append(sequence, element)``."""
    if type(sequence) is str:
        return concatenate(sequence, element)
    base = _sequence("Append", sequence)
    return remember_growth(join(base, (element,)), base, (element,))


def concatenate(left: Value, right: Value) -> Value:
    """Compute ``left \\o right``."""
    if type(left) is str:
        if type(right) is str:
            return left + right
        raise wrong("\\o", "two strings", right)
    base, more = _sequence("\\o", left), _sequence("\\o", tuple(right) if type(right) is str else right)
    return remember_growth(join(base, more), base, more) if more else base


#: The sets of the elements of the latest long sequences.
_elements = Latest(32)


def elements_of(sequence: Value) -> Value:
    """Compute ``{sequence[i] : i \\in 1..Len(sequence)}``; that of a longer sequence is made of the shorter."""
    if type(sequence) is str:
        raise wrong("an application", "a function", sequence)
    items = _sequence("Len", sequence)
    if len(items) < MIN_REMEMBERED:
        return make_set(list(items))
    known = _elements.get(id(items))
    if known is not None:
        return known[1]
    base, added = made_of(items) or ((), items)
    before = _elements.get(id(base))
    found = make_set(list(items)) if before is None else cup(before[1], make_set(list(added)))
    _elements.remember(items, found)
    return found


def head(sequence: Value) -> Value:
    """Compute ``Head(sequence)``."""
    items = sequence if type(sequence) is str else _sequence("Head", sequence)
    if not items:
        raise TlaError("Head of the empty sequence")
    return items[0]


def tail(sequence: Value) -> Value:
    """Compute ``Tail(sequence)``."""
    items = sequence if type(sequence) is str else _sequence("Tail", sequence)
    if not items:
        raise TlaError("Tail of the empty sequence")
    return items[1:]


def sub_seq(sequence: Value, start: Value, end: Value) -> Value:
    """Compute ``SubSeq(sequence, start, end)``."""
    items = sequence if type(sequence) is str else _sequence("SubSeq", sequence)
    if type(start) is not int or type(end) is not int:
        raise integers("SubSeq", start, end)
    if start > end:
        return items[:0]
    if start < 1 or end > len(items):
        raise TlaError(f"SubSeq from {start} to {end} of a sequence of {len(items)}")
    known = made_of(items)
    if start == 1 and known is not None and len(known[0]) == end:
        return known[0]
    return items[start - 1 : end]


def select_seq(sequence: Value, test: Callable[[Value], Value]) -> Value:
    """Compute ``SelectSeq(sequence, test)``."""
    items = tuple(sequence) if type(sequence) is str else _sequence("SelectSeq", sequence)
    return tuple([element for element in items if boolean(test(element))])


def sort_seq(sequence: Value, less: Callable[[Value, Value], Value]) -> Value:
    """Compute ``SortSeq(sequence, less)`` by insertion, stable."""
    result: list[Value] = []
    for element in tuple(sequence) if type(sequence) is str else _sequence("SortSeq", sequence):
        place = len(result)
        while place and boolean(less(element, result[place - 1])):
            place -= 1
        result.insert(place, element)
    return tuple(result)
