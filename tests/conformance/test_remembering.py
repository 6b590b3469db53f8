"""What neither the trace nor the spec has changed is compared once; whatever one of them changes is compared again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.conformance.compare import ObservationError, Remembering, Words, compare, equal_count, to_value
from lockstep.tla.values.kinds import Fcn, ModelValue, Value

LOG = ({"term": 1, "value": "x"}, {"term": 1, "value": "y"})


def state(log: list[dict[str, Any]], end: Value = 1) -> Fcn:
    return Fcn({"log": tuple(Fcn(dict(each)) for each in log), "end": end})


def test_a_field_that_did_not_change_is_counted_each_time() -> None:
    before = state(list(LOG))
    shown = {"log": list(LOG), "end": 1}
    remembering = Remembering()
    for after in (before, Fcn({**before.d, "end": 2})):
        told = {**shown, "end": after.d["end"]}
        assert remembering.equal_count("n1", told, after) == equal_count(told, after) == 2


@pytest.mark.parametrize(
    "told",
    [
        [{"term": True, "value": "x"}, {"term": 1, "value": "y"}],  # to Python 1 and True are equal
        [{"term": 1.0, "value": "x"}, {"term": 1, "value": "y"}],
        [{"term": 1, "value": "x"}],
        [{"value": "x", "term": 1}, {"term": 1, "value": "z"}],
    ],
)
def test_another_word_of_the_trace_is_not_taken_for_the_one_before(told: list[dict[str, Any]]) -> None:
    remembering, spec = Remembering(), state(list(LOG))
    assert remembering.equal_count("n1", {"log": list(LOG)}, spec) == 1
    assert remembering.equal_count("n1", {"log": told}, spec) is None


def test_another_value_of_the_spec_is_not_taken_for_the_one_before() -> None:
    remembering = Remembering()
    assert remembering.equal_count("n1", {"log": list(LOG)}, state(list(LOG))) == 1
    assert remembering.equal_count("n1", {"log": list(LOG)}, state([LOG[0]])) is None


def test_each_node_has_its_own_memory() -> None:
    remembering, one, other = Remembering(), state(list(LOG)), state([LOG[0]])
    assert remembering.equal_count("n1", {"log": list(LOG)}, one) == 1
    assert remembering.equal_count("n2", {"log": list(LOG)}, other) is None


TREES = st.recursive(
    st.booleans() | st.integers(-1, 2) | st.sampled_from(["x", "nobody", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["term", "value", "n1"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(TREES, TREES)
def test_what_is_compared_without_being_decoded_is_equal_exactly_where_the_decoded_values_are(
    one: Any, other: Any
) -> None:
    words = Words(strings={"nobody": ModelValue("NoNode"), "n1": ModelValue("n1")})
    for told in (one, other):
        shown, spec = {"log": [told]}, Fcn({"log": (to_value(other, words),)})
        try:
            equal = all(each.equal for each in compare(shown, spec, words))
        except ObservationError:
            equal = False
        assert (equal_count(shown, spec, words) == 1) is equal


def test_a_set_that_is_written_as_such_is_not_taken_for_a_record() -> None:
    spec = Fcn({"log": (Fcn({"#set": (1,)}),)})
    assert equal_count({"log": [{"#set": [1]}]}, spec) is None
