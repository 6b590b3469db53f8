"""Long intervals of integers, known by their ends: what is asked of one costs the same however long it is.

The domain of a long log is one. In all else they are plain sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from lockstep.tla.values.equality import lookup
from lockstep.tla.values.kinds import Fcn, Value, wrong
from lockstep.tla.values.lazy_sets import LazySet

#: The least number of elements of an interval that is not listed.
MIN_UNLISTED = 64


class Interval(LazySet):
    """The integers from one to another, both included."""

    __slots__ = ("high", "low")
    name = "an interval"

    def __init__(self, low: int, high: int) -> None:
        """Take the least and the greatest element."""
        super().__init__()
        self.low, self.high = low, high

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        if type(value) is int:
            return self.low <= value <= self.high
        return lookup(self.span(), value) is not None

    def items(self) -> Iterator[Value]:
        """List the elements, in their order."""
        return iter(self.span())

    def span(self) -> range:
        """Return the elements as Python has them."""
        return range(self.low, self.high + 1)

    def compared(self, other: Interval) -> bool | None:
        """Decide whether another interval is equal."""
        return (self.low, self.high) == (other.low, other.high)

    def __iter__(self) -> Iterator[Value]:
        return self.items()

    def __len__(self) -> int:
        return self.high - self.low + 1


#: A set of integers, or of whatever a set has.
Listed: TypeAlias = "frozenset[Value] | Interval"


def interval_of(low: int, high: int) -> Listed:
    """Return ``low..high``: listed, unless it is long."""
    if high - low + 1 < MIN_UNLISTED:
        return frozenset(range(low, high + 1))
    return Interval(low, high)


def domain_of(function: Value) -> Value:
    """Return ``DOMAIN function``; raises TlaTypeError if ``function`` is not a function."""
    if type(function) is tuple:
        return interval_of(1, len(function))
    if type(function) is Fcn:
        return frozenset(function.d)
    if hasattr(function, "domain"):
        return function.domain  # a LazyFcn
    raise wrong("DOMAIN of", "a function", function)


def common(left: Listed, right: Listed) -> Value:
    """Return ``left \\cap right``, one of them an interval; None where not all elements are integers."""
    if type(left) is Interval and type(right) is Interval:
        return interval_of(max(left.low, right.low), min(left.high, right.high))
    span, others = _parted(left, right)
    return frozenset(filter(span.__contains__, others)) if _are_integers(others) else None


def without(left: Listed, right: Listed) -> Value:
    """Return ``left \\ right``, one of them an interval; None where their ends do not decide."""
    if type(left) is not Interval:
        span, others = _parted(left, right)
        return frozenset(each for each in others if each not in span) if _are_integers(others) else None
    gone = _span_of(right)
    if gone is None:
        return None
    if not gone or gone.start > left.high or gone.stop <= left.low:
        return left
    if gone.start <= left.low:
        return interval_of(gone.stop, left.high)
    return interval_of(left.low, gone.start - 1) if gone.stop > left.high else None


def is_within(left: Listed, right: Listed) -> bool | None:
    """Decide ``left \\subseteq right``, one of them an interval; None where their ends do not decide."""
    if type(right) is not Interval:
        return False if len(left) > len(right) and _are_integers(right) else None
    if type(left) is Interval:
        return right.low <= left.low and left.high <= right.high
    return all(map(right.span().__contains__, left)) if _are_integers(left) else None


def _parted(left: Listed, right: Listed) -> tuple[range, frozenset[Value]]:
    """Return the elements of the one that is an interval, and the other."""
    if isinstance(right, Interval):
        assert not isinstance(left, Interval)
        return right.span(), left
    assert isinstance(left, Interval)
    return left.span(), right


def _span_of(value: Listed) -> range | None:
    """Return the elements of a set in their order, if it is an interval or equals one."""
    if type(value) is Interval:
        return value.span()
    if not value:
        return range(0)
    if not _are_integers(value):
        return None
    low, high = min(value), max(value)
    return range(low, high + 1) if high - low + 1 == len(value) else None


def _are_integers(values: Iterable[Value]) -> bool:
    return set(map(type, values)) <= {int}
