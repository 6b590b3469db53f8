"""A tree that is no ITF value is refused with a ValueError, whatever is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.tla.values.equality import eq
from lockstep.tla.values.itf_values import from_itf, to_itf
from lockstep.tla.values.kinds import Fcn

MALFORMED = {
    "a set that is a number": {"#set": 3},
    "a set that is a string": {"#set": "ab"},
    "a set that is an object": {"#set": {"a": 1}},
    "a set of values that cannot be compared": {"#set": ["n0", 1]},
    "a set of 1 and TRUE": {"#set": [1, True]},
    "a set of records that cannot be compared": {"#set": [{"a": 1}, {"a": True}]},
    "a map of a number": {"#map": [1]},
    "a map of strings": {"#map": ["ab"]},
    "a map of triples": {"#map": [[1, 2, 3]]},
    "a map that is an object": {"#map": {"a": 1}},
    "a map with a key twice": {"#map": [["a", 1], ["a", 2]]},
    "a map whose keys cannot be compared": {"#map": [[1, "x"], [True, "y"]]},
    "a tuple that is a number": {"#tup": 3},
    "a tuple that is a string": {"#tup": "ab"},
    "a big integer that is an array": {"#bigint": []},
    "a big integer that is a number": {"#bigint": 3},
    "a big integer that is none": {"#bigint": "3x"},
    "a big integer with an underscore": {"#bigint": "1_000"},
    "a big integer with blanks": {"#bigint": " 3 "},
    "a big integer of other digits": {"#bigint": "\u0663"},
    "a big integer of too many digits": {"#bigint": "9" * 5000},
    "an empty big integer": {"#bigint": ""},
    "an unknown tag": {"#bag": []},
    "a tag among fields": {"#set": [], "a": 1},
    "two tags": {"#set": [], "#tup": []},
    "null": None,
    "a fraction": 1.5,
    "junk within": {"a": [{"#set": [{"#map": [[{"#tup": [None]}, 1]]}]}]},
}


@pytest.mark.parametrize("tree", MALFORMED.values(), ids=MALFORMED)
def test_a_tree_that_is_no_itf_value_is_refused(tree: Any) -> None:
    for wrapped in (tree, [tree], {"a": tree}):
        with pytest.raises(ValueError, match=r"ITF|#"):
            from_itf(wrapped)


def test_a_tree_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        from_itf(deep)


def test_an_itf_value_is_read() -> None:
    assert from_itf({"#set": ["n0", "n1"]}) == frozenset({"n0", "n1"})
    assert from_itf({"#tup": [1, 2]}) == (1, 2)
    assert from_itf({"#bigint": "-36893488147419103232"}) == -(2**65)
    assert from_itf({"#map": [["n0", 1], ["n1", 2]]}) == Fcn({"n0": 1, "n1": 2})
    assert from_itf({"#map": [[1, "a"], [2, "b"]]}) == ("a", "b")


def trees() -> st.SearchStrategy[Any]:
    atoms = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3))
    keys = st.one_of(st.sampled_from(["#set", "#map", "#tup", "#bigint", "#", "a"]), st.text(max_size=2))
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(keys, inner, max_size=2),
            keys.flatmap(
                lambda key: st.lists(st.lists(inner, min_size=1, max_size=2), max_size=3).map(lambda b: {key: b})
            ),
        ),
        max_leaves=12,
    )


@given(trees())
def test_any_json_is_read_or_refused_and_never_anything_else(tree: Any) -> None:
    try:
        value = from_itf(tree)
    except ValueError:
        return
    assert eq(from_itf(to_itf(value)), value)
