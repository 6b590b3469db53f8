"""A long interval that is not listed is, in every operation, the set of its elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from lockstep.tla.values import integer_intervals
from lockstep.tla.values.equality import eq
from lockstep.tla.values.function_operators import function
from lockstep.tla.values.integer_intervals import Interval, domain_of, interval_of
from lockstep.tla.values.kinds import ModelValue, TlaTypeError, Value, format_value
from lockstep.tla.values.lazy_sets import member
from lockstep.tla.values.name_order import NameOrder
from lockstep.tla.values.set_operators import cap, cardinality, cup, is_finite_set, minus, set_filter, subseteq

LONG = interval_of(3, 200_000)


def test_a_long_interval_costs_no_more_than_its_ends() -> None:
    assert isinstance(LONG, Interval)
    assert isinstance(cap(LONG, interval_of(100, 10**9)), Interval)
    assert isinstance(minus(LONG, interval_of(0, 1000)), Interval)
    assert subseteq(interval_of(4, 5000), LONG)
    assert not subseteq(LONG, interval_of(4, 5000))
    assert cardinality(LONG) == 199_998
    assert member(200_000, LONG)
    assert not member(2, LONG)
    assert eq(LONG, interval_of(3, 200_000))
    assert is_finite_set(LONG)
    assert LONG._forced is None  # nothing above has listed it


@pytest.fixture
def every_interval_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_intervals, "MIN_UNLISTED", 1)


PYTHON: dict[Callable[[Value, Value], Value], Callable[[frozenset[int], frozenset[int]], object]] = {
    cap: frozenset.intersection,
    minus: frozenset.difference,
    cup: frozenset.union,
    subseteq: frozenset.issubset,
    eq: frozenset.__eq__,
}


@pytest.mark.usefixtures("every_interval_is_long")
def test_operators_on_intervals_and_other_sets_are_those_on_listed_sets() -> None:
    ends = range(-1, 4)
    listed = [frozenset(chosen) for size in range(5) for chosen in itertools.combinations(ends, size)]
    sets: list[tuple[Value, frozenset[int]]] = [(each, each) for each in listed]
    sets += [(interval_of(low, high), frozenset(range(low, high + 1))) for low in ends for high in ends]
    assert sum(type(each) is Interval for each, _ in sets) == 15
    for (one, plain), (other, others) in itertools.product(sets, sets):
        for operator, expected in PYTHON.items():
            found = operator(one, other)
            assert eq(found, expected(plain, others)), (operator, one, other)


@pytest.mark.usefixtures("every_interval_is_long")
def test_an_interval_is_listed_and_printed_as_its_elements() -> None:
    interval = interval_of(2, 4)
    assert list(interval) == [2, 3, 4]
    assert format_value(interval) == "{2, 3, 4}"
    assert hash(interval) == hash(frozenset({2, 3, 4}))
    assert eq(set_filter(interval, lambda value: value > 2), frozenset({3, 4}))
    assert eq(function(interval, lambda value: value + 1), function(frozenset({2, 3, 4}), lambda value: value + 1))
    assert domain_of((5, 6, 7)) == interval_of(1, 3)


def test_the_greatest_and_the_least_of_an_interval_are_its_ends() -> None:
    names = NameOrder({})
    assert names.choose_extreme(max, LONG, lambda _: False, "here") == 200_000
    assert names.choose_extreme(min, LONG, lambda _: False, "here") == 3


@pytest.mark.usefixtures("every_interval_is_long")
def test_what_is_no_integer_is_refused_as_by_a_listed_set() -> None:
    interval = interval_of(1, 3)
    for value in (True, "1"):
        with pytest.raises(TlaTypeError):
            member(value, interval)
        for operator in (cap, minus, cup, subseteq):
            with pytest.raises(TlaTypeError):
                operator(frozenset({value}), interval)
    assert not member(ModelValue("m"), interval)
    assert eq(cup(interval, frozenset({ModelValue("m")})), frozenset({1, 2, 3, ModelValue("m")}))
