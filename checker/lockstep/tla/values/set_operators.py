"""Sets: their algebra, as far as TLC lists them, and FiniteSets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from lockstep.tla.values.constructed_sets import PowerSet
from lockstep.tla.values.equality import build_set, lookup, remember_shape, sets_comparable
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.growing_values import GrowingSet, unite
from lockstep.tla.values.integer_intervals import Interval, common, is_within, without
from lockstep.tla.values.kinds import TlaError, Value, common_shape, shape_of, wrong
from lockstep.tla.values.lazy_set_algebra import (
    BigUnion,
    BinaryUnion,
    Filtered,
    Intersection,
    SetDifference,
    UnionOver,
    Unsorted,
    is_eager,
)
from lockstep.tla.values.lazy_sets import LazySet, is_finite, is_listable, is_set, member
from lockstep.tla.values.quantifier_bounds import elements
from lockstep.tla.values.remembered_values import remember_growth

__all__ = [
    "big_union",
    "cap",
    "cardinality",
    "cup",
    "is_finite_set",
    "make_set",
    "minus",
    "set_filter",
    "subseteq",
    "union_over",
]


def make_set(elements: list[Value], lazy: bool = False) -> Value:
    """Build a set; one of values that cannot be compared, or not be listed, can still be asked for some of them."""
    try:
        return build_set(list(map(frozen, elements)) if lazy else elements)
    except TlaError as problem:
        return Unsorted(elements, problem)


def finite_set(operator: str, value: Value) -> frozenset[Value]:
    """Return a set with its elements listed; raises TlaTypeError, which names the operator, if it is none."""
    if type(value) is frozenset:
        return value
    if isinstance(value, LazySet):
        return value.force()
    raise wrong(operator, "a set", value)


def _check_overlap(left: frozenset[Value], right: frozenset[Value]) -> None:
    """Refuse two sets whose elements cannot be compared, or that Python alone holds equal."""
    small, large = (left, right) if len(left) < len(right) else (right, left)
    if len(small) > 1 and sets_comparable(small, large):
        return
    for value in small:
        kind = type(value)
        lookup(large, value)
        if kind is int or kind is bool:
            break  # The kinds of the others are the same; model values never clash.


def _listed(value: Value) -> Value:
    """Return a set that grows, or a long interval, as the listed one that it is."""
    return value.force() if type(value) is GrowingSet or type(value) is Interval else value


def _by_ends(decide: Callable[[Value, Value], Value], compute: Callable[[Value, Value], Value], *sets: Value) -> Value:
    """Compute an operator on two sets, one of them a long interval: by its ends, or with the interval listed."""
    kinds = set(map(type, sets))
    found = decide(*sets) if kinds <= {Interval, frozenset} else None
    return compute(*[each.force() if type(each) is Interval else each for each in sets]) if found is None else found


def _raw(value: Value) -> Iterable[Value]:
    return value.elements if type(value) is Unsorted else value


def cup(left: Value, right: Value) -> Value:
    """Compute ``left \\cup right``; what is no set shows when the result is asked."""
    if type(left) is frozenset and type(right) is frozenset:
        if not right:
            return left
        if not left:
            return right
        _check_overlap(left, right)
        return remember_growth(unite(left, right), left, right)
    if type(left) is GrowingSet and type(right) is frozenset:
        union = left.plus(right) if right else left
        if union is not None:
            return remember_growth(union, left, right)
    if type(right) is GrowingSet and type(left) is frozenset:
        return cup(right, left)
    if not {type(left), type(right)}.isdisjoint((GrowingSet, Interval)):
        return cup(_listed(left), _listed(right))
    if not is_eager(left):
        if not is_eager(right):
            return BinaryUnion(left, right)
        left, right = right, left
    if type(left) is frozenset and not left:
        return right
    if not is_eager(right):
        return BinaryUnion(left, right)
    return make_set([*_raw(left), *[value for value in elements(right) if not member(value, left)]])


def cap(left: Value, right: Value) -> Value:
    """Compute ``left \\cap right``; what is no set shows when the result is asked."""
    if type(left) is frozenset and type(right) is frozenset:
        _check_overlap(left, right)
        return left & right
    if type(left) is Interval or type(right) is Interval:
        return _by_ends(common, cap, left, right)
    if not is_eager(left):
        if not is_eager(right):
            return Intersection(left, right)
        left, right = right, left
    return make_set([value for value in _raw(left) if member(value, right)])


def minus(left: Value, right: Value) -> Value:
    """Compute ``left \\ right``; what is no set shows when the result is asked."""
    if type(left) is frozenset and type(right) is frozenset:
        _check_overlap(left, right)
        return left - right
    if type(left) is Interval or type(right) is Interval:
        return _by_ends(without, minus, left, right)
    if not is_eager(left):
        return SetDifference(left, right)
    return make_set([value for value in _raw(left) if not member(value, right)])


def subseteq(left: Value, right: Value) -> bool:
    """Decide ``left \\subseteq right``."""
    if type(left) is frozenset and type(right) is frozenset:
        if left and right:
            _check_overlap(left, right)
        return left <= right
    if type(left) is Interval or type(right) is Interval:
        return bool(_by_ends(is_within, subseteq, left, right))
    if type(left) is PowerSet and type(right) is PowerSet:
        return subseteq(left.base, right.base)
    if not is_listable(left):
        raise wrong("\\subseteq", "a set that can be listed on its left", left)
    return all(member(value, right) for value in elements(left))


def big_union(container: Value, intervals: bool = False) -> Value:
    """Compute ``UNION container``.

    Args:
        intervals: whether some of the sets may be what TLC keeps as an interval, and does not list.
    """
    if type(container) is not frozenset:
        return BigUnion(container)
    sets = frozenset(map(_listed, container))
    if not all(type(inner) is frozenset for inner in sets) or (intervals and _hold_range(sets)):
        return BigUnion(sets)
    return _united(sets)


def _hold_range(sets: Iterable[Value]) -> bool:
    """Return whether some of these sets are what an interval is, listed."""
    listed = (inner for inner in sets if type(inner) is frozenset and inner)
    return any(
        all(type(each) is int for each in inner) and max(inner) - min(inner) + 1 == len(inner) for inner in listed
    )


def _shape_of_each(container: frozenset[Value]) -> Any:
    shape = shape_of(container)
    return shape[1] if shape else common_shape(set(map(shape_of, container)))


def _united(sets: Collection[frozenset[Value]]) -> Value:
    """Compute the union of listed sets: at once where their elements are of one shape, or one set after the other."""
    shapes = {_shape_of_each(inner) for inner in sets if inner}
    shape = bool(shapes) and common_shape(shapes)
    if shape:
        union = frozenset[Value]().union(*sets)
        remember_shape(union, shape)
        return union
    result: Value = frozenset()
    for inner in sets:
        result = cup(result, inner)
    return result


def union_over(sets: list[Value], intervals: bool = False) -> Value:
    """Compute ``UNION {e : x \\in S}`` of the values of e, or ``UNION {a, b}`` of these.

    Args:
        intervals: whether some of the sets may be what TLC keeps as an interval, and does not list.

    Raises:
        TlaError: if there are several sets, and one of them cannot be listed.
    """
    for inner in sets:
        if not is_set(inner):
            raise wrong("UNION", "a set of sets", inner)
    sets = list(map(_listed, sets))
    if all(map(is_eager, sets)) and not (intervals and _hold_range(sets)):
        return big_union(make_set(sets))  # which TLC sorts first, so that they must be comparable
    if not all(map(is_listable, sets)):
        if len(sets) > 1:
            raise TlaError("UNION of sets that cannot all be listed")
        return sets[0]
    return UnionOver(sets)


def set_filter(container: Value, test: Callable[[Value], bool]) -> Value:
    """Compute ``{x \\in container : test(x)}``; what is no set shows when the result is asked."""
    if type(container) is frozenset:
        return frozenset(filter(test, container))
    return container.force() if type(container) is Unsorted else Filtered(container, test)


def cardinality(container: Value) -> int:
    """Compute ``Cardinality(container)``."""
    if isinstance(container, LazySet) and container.finite:
        return len(container)
    return len(finite_set("Cardinality", container))


def is_finite_set(container: Value) -> bool:
    """Decide ``IsFiniteSet(container)``."""
    return is_finite(container)
