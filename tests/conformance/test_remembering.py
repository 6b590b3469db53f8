"""What neither the trace nor the spec has changed is compared once; whatever one of them changes is compared again."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.conformance.compare import Remembering, equal_count
from lockstep.tla.values.kinds import Fcn, Value

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
