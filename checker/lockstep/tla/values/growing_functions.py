"""Long functions on the integers from one to another that grow at the end, or are cut: they share their values.

A log whose first entries were deleted is one. In all else they are plain functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lockstep.tla.values.equality import compare
from lockstep.tla.values.growing_values import GrowingSeq, is_plain, join
from lockstep.tla.values.integer_intervals import MIN_UNLISTED, Interval, interval_of
from lockstep.tla.values.kinds import Fcn, Value, as_fcn, outside
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.remembered_values import remember_growth

#: The least number of values of a function that shares them.
MIN_SHARED = MIN_UNLISTED


class GrowingFcn(LazyFcn):
    """A long function on the integers from `low` to `high`: values of a sequence whose first ones may be left out."""

    __slots__ = ("_begin", "_values", "low")

    def __init__(self, values: GrowingSeq, begin: int, low: int) -> None:
        """Take a sequence, the index of its first element, and the first index of the domain."""
        self._values, self._begin, self.low = values, begin, low
        self._forced, self.soft = None, False

    @classmethod
    def from_values(cls, values: Iterable[Value], low: int) -> GrowingFcn:
        """Make one of the values from an index on."""
        listed = list(values)
        return cls(GrowingSeq(listed, len(listed)), low, low)

    @property
    def high(self) -> int:
        """The last index."""
        return self._begin + len(self._values) - 1

    @property
    def domain(self) -> Value:
        """The indexes."""
        return interval_of(self.low, self.high)

    @property
    def finite(self) -> bool:
        """Whether the function can be computed as a whole."""
        return True

    def apply(self, argument: Value) -> Value:
        """Return the value at an index."""
        if type(argument) is int and self.low <= argument <= self.high:
            return self._values[argument - self._begin]
        raise outside(self, argument)

    def plus(self, more: Iterable[Value]) -> GrowingFcn:
        """Return the function with some more listed values behind its last one."""
        return GrowingFcn(self._values.plus(more), self._begin, self.low)

    def span(self) -> _Span:
        """Return what it shares with others, and its ends."""
        return _Span(self._values, self._begin, self.low, self.high)

    def force(self) -> Value:
        """Return the plain function."""
        if self._forced is None:
            self._forced = as_fcn({index: self.apply(index) for index in range(self.low, self.high + 1)})
        return self._forced

    def frozen(self) -> Value:
        """Return itself, as a state has it."""
        return self

    def compared(self, other: GrowingFcn) -> bool | None:
        """Decide whether another such function is equal."""
        mine, its = self.span(), other.span()
        if mine.shares(its) or (mine.low, mine.high) != (its.low, its.high):
            return (mine.low, mine.high) == (its.low, its.high)
        return compare(self.force(), other.force())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the plain function."""
        return (as_fcn, ({index: self.apply(index) for index in range(self.low, self.high + 1)},))


class _Span(NamedTuple):
    """The values of a function on ``low..high``: of a sequence whose first element is at the index `begin`."""

    values: GrowingSeq
    begin: int
    low: int
    high: int

    def shares(self, other: _Span) -> bool:
        """Return whether two functions have the same values where both have some."""
        return self.begin == other.begin and self.values.shares(other.values)


def _span_of(function: Value) -> _Span | None:
    if type(function) is GrowingSeq:
        return _Span(function, 1, 1, len(function))
    return function.span() if isinstance(function, GrowingFcn) else None


def continued(function: Value, more: Mapping[Value, Value]) -> Value:
    """Return a sequence, or a long function on an interval, with values at the indexes behind its last.

    None where the function is none of these, the indexes are others, or something is computed on demand.
    """
    low, high = _ends(function)
    behind = range(high + 1, high + 1 + len(more))
    if high < low or not all(type(index) is int and index in behind for index in more):
        return None
    values = tuple(map(more.__getitem__, behind))
    if type(function) is tuple or type(function) is GrowingSeq:
        return remember_growth(join(function, values), function, values)
    if not is_plain(function) or not all(map(is_plain, values)):
        return None
    if type(function) is Fcn:
        function = GrowingFcn.from_values(map(function.d.__getitem__, range(low, high + 1)), low)
    return function.plus(values)


def _ends(function: Value) -> tuple[int, int]:
    """Return the first and the last index of a sequence or of a long function on an interval; else 1 and 0."""
    if type(function) is tuple or type(function) is GrowingSeq:
        return 1, len(function)
    if isinstance(function, GrowingFcn):
        return function.low, function.high
    if type(function) is Fcn and len(function.d) >= MIN_SHARED and set(map(type, function.d)) == {int}:
        low, high = min(function.d), max(function.d)
        return (low, high) if high - low + 1 == len(function.d) else (1, 0)
    return 1, 0


def restricted(function: Value, domain: Value) -> Value:
    """Return a function on a part of its domain; None where the part shares no values with it."""
    span = _span_of(function)
    if span is None or type(domain) is not Interval or domain.low < span.low or domain.high > span.high:
        return None
    if len(domain) < MIN_SHARED:
        return None
    count, left_out = domain.high - span.begin + 1, domain.low - span.begin
    if domain.low == 1:
        return span.values[left_out:count]
    if 2 * left_out > count:
        return GrowingFcn.from_values(span.values[left_out:count], domain.low)
    return GrowingFcn(span.values.beginning(count), span.begin, domain.low)


def differing(before: Value, after: Value) -> tuple[int, int] | None:
    """Return the first and the last index at which two functions that share values differ, 1 and 0 where they do not.

    None where they share none.
    """
    old, new = _span_of(before), _span_of(after)
    if old is None or new is None or not old.shares(new):
        return None
    below = min(old.low, new.low), max(old.low, new.low) - 1
    above = min(old.high, new.high) + 1, max(old.high, new.high)
    found = [(first, last) for first, last in (below, above) if first <= last]
    return (min(first for first, _ in found), max(last for _, last in found)) if found else (1, 0)
