"""The content that fingerprints are made of is the same for equal values, however they were made, and for no others."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.tla.tables.fingerprints import content
from lockstep.tla.values.kinds import Fcn, ModelValue, Value, format_value

ATOMS = st.one_of(
    st.integers(-20, 20), st.booleans(), st.text("as1.0d", max_size=3), st.sampled_from(["a", "b"]).map(ModelValue)
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    ATOMS,
    lambda within: st.one_of(
        st.lists(within, max_size=3).map(tuple),
        st.frozensets(within, max_size=3),
        st.dictionaries(st.text("as1.0d", max_size=2), within, max_size=3).map(Fcn),
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_two_values_are_written_alike_if_and_only_if_tla_holds_them_equal(left: Value, right: Value) -> None:
    assert (content(left) == content(right)) == (format_value(left) == format_value(right))


def test_the_content_of_a_record_or_set_does_not_depend_on_the_order_it_was_made_in() -> None:
    pairs = [("term", 1), ("type", "Noop"), ("a", frozenset({3, 1, 2}))]
    assert len({content(Fcn(dict(each))) for each in itertools.permutations(pairs)}) == 1
    assert content(frozenset([("x",), ("y", 1)])) == content(frozenset([("y", 1), ("x",)]))


@pytest.mark.parametrize(
    "values",
    [
        (1, True, "1", ModelValue("1"), (1,), frozenset({1})),
        ((), frozenset(), "", Fcn({"": ""})),
        (("a", "bc"), ("ab", "c"), ("abc",), "abc", ("a", ("bc",)), (("a", "bc"),)),
        ("s1.a", ("s1.a",), ("a",), "a", "i1."),
        ((1, 1), (11,), 11, (1, (1,)), ((1, 1),), -11),
        (Fcn({"a": 1, "b": 2}), Fcn({"a": 2, "b": 1}), Fcn({"a": 1}), ("a", 1, "b", 2)),
    ],
    ids=["kinds", "nothing", "words", "words as they are written", "numbers", "records"],
)
def test_values_that_look_alike_have_different_contents(values: tuple[Value, ...]) -> None:
    assert len({content(each) for each in values}) == len(values)
