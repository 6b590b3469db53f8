"""Records that differ in a field can be compared: what shapes alone show is never wrong."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.tla.values.comparable_records import ComparableRecords, all_comparable, grouped, pairs_comparable
from lockstep.tla.values.equality import build_set, comparable, sets_comparable
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaTypeError, Value
from lockstep.tla.values.set_operators import cap, cup, minus, subseteq


def entry(kind: str, data: Value, index: int = 1) -> Fcn:
    return Fcn({"index": index, "entry": Fcn({"type": kind, "data": data})})


COMMAND, OTHER = entry("Command", "x"), entry("Command", "y", 2)
CONFIGURATION = entry("Configuration", frozenset((ModelValue("n1"),)))
NOOP = entry("Noop", 0)


def test_entries_whose_types_differ_can_be_compared() -> None:
    groups = grouped([COMMAND, OTHER, CONFIGURATION, NOOP])
    assert groups is not None
    assert len(groups) == 3
    assert all_comparable(groups)
    log = build_set([COMMAND, OTHER, CONFIGURATION, NOOP])
    assert sets_comparable(log, build_set([COMMAND, CONFIGURATION, NOOP]))
    assert cap(log, build_set([CONFIGURATION, entry("Noop", 0, 7)])) == {CONFIGURATION}
    assert minus(log, build_set([CONFIGURATION, NOOP])) == {COMMAND, OTHER}
    assert cup(build_set([COMMAND, NOOP]), build_set([OTHER, CONFIGURATION])) == log
    assert subseteq(build_set([COMMAND, CONFIGURATION]), log)


def test_entries_without_a_field_that_differs_are_refused() -> None:
    clash = entry("Command", 3)  # what it carries is of another kind, and index and type are those of COMMAND
    with pytest.raises(TlaTypeError):
        build_set([COMMAND, CONFIGURATION, clash])
    for operator in (cap, cup, minus, subseteq):
        with pytest.raises(TlaTypeError):
            operator(build_set([COMMAND, NOOP]), build_set([CONFIGURATION, clash]))


ATOMS = st.sampled_from([0, 1, True, False, "a", "b", ModelValue("m"), ModelValue("T_a")])
RECORDS = st.dictionaries(st.sampled_from(["f", "g"]), ATOMS, min_size=1).map(Fcn)
VALUES = st.recursive(
    ATOMS | RECORDS,
    lambda each: st.dictionaries(st.sampled_from(["f", "g", "h"]), each, min_size=1).map(Fcn) | st.tuples(each, each),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=5), st.lists(VALUES, max_size=5))
def test_groups_that_are_called_comparable_can_be_compared(some: list[Value], others: list[Value]) -> None:
    groups, more = grouped(some), grouped(others)
    if groups is not None and all_comparable(groups):
        assert all(comparable(*pair) for pair in itertools.combinations(some, 2))
    if groups is not None and more is not None and pairs_comparable(groups, more):
        assert all(comparable(*pair) for pair in itertools.product(some, others))


@given(st.lists(VALUES, max_size=4), VALUES)
def test_a_value_that_shapes_show_to_be_comparable_can_be_compared_with_each_record(
    some: list[Value], value: Value
) -> None:
    records = ComparableRecords(some)
    if records.can_compare(value):
        assert all(comparable(each, value) for each in some)


def test_an_entry_of_another_shape_can_be_compared_if_its_index_differs() -> None:
    records = ComparableRecords([COMMAND, NOOP])
    assert records.can_compare(entry("Command", frozenset((ModelValue("n1"),)), 3))
    assert not records.can_compare(entry("Command", frozenset((ModelValue("n1"),))))
    records.enter([entry("Command", "z", 3)])
    assert not records.can_compare(entry("Command", frozenset((ModelValue("n1"),)), 3))
