"""A value that neither the trace nor the spec has changed is compared once, and again when one of them changes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.conformance import comparison
from lockstep.conformance.comparison import ComparisonCache, ObservationError, compare, equal_count
from lockstep.conformance.json_values import Meanings, Words, to_value
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaTypeError, Value, as_fcn

LOG = ({"term": 1, "value": "x"}, {"term": 1, "value": "y"})


def state(log: list[dict[str, Any]], end: Value = 1) -> Fcn:
    return Fcn({"log": tuple(Fcn(dict(each)) for each in log), "end": end})


def test_a_field_that_did_not_change_is_counted_each_time() -> None:
    before = state(list(LOG))
    shown = {"log": list(LOG), "end": 1}
    cache = ComparisonCache()
    for after in (before, Fcn({**before.d, "end": 2})):
        in_trace = {**shown, "end": after.d["end"]}
        assert cache.equal_count("n1", in_trace, after) == equal_count(in_trace, after) == 2


@pytest.mark.parametrize(
    "in_trace",
    [
        [{"term": True, "value": "x"}, {"term": 1, "value": "y"}],  # to Python 1 and True are equal
        [{"term": 1.0, "value": "x"}, {"term": 1, "value": "y"}],
        [{"term": 1, "value": "x"}],
        [{"value": "x", "term": 1}, {"term": 1, "value": "z"}],
    ],
)
def test_another_word_of_the_trace_is_not_taken_for_the_one_before(in_trace: list[dict[str, Any]]) -> None:
    cache, spec = ComparisonCache(), state(list(LOG))
    assert cache.equal_count("n1", {"log": list(LOG)}, spec) == 1
    assert cache.equal_count("n1", {"log": in_trace}, spec) is None


def test_another_value_of_the_spec_is_not_taken_for_the_one_before() -> None:
    cache = ComparisonCache()
    assert cache.equal_count("n1", {"log": list(LOG)}, state(list(LOG))) == 1
    assert cache.equal_count("n1", {"log": list(LOG)}, state([LOG[0]])) is None


def test_the_values_of_each_node_are_remembered_apart() -> None:
    cache, one, other = ComparisonCache(), state(list(LOG)), state([LOG[0]])
    assert cache.equal_count("n1", {"log": list(LOG)}, one) == 1
    assert cache.equal_count("n2", {"log": list(LOG)}, other) is None


ATOMS = st.booleans() | st.integers(-1, 2) | st.sampled_from(["x", "nobody", "NoNode", "n1", ""]) | st.none()
TREES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["term", "value", "n1", "#set"]), inner, max_size=3)
        | st.builds(lambda body: {"#set": body}, st.lists(inner, max_size=3))
        | st.builds(lambda body: {"#map": list(map(list, body))}, st.lists(st.tuples(ATOMS, inner), max_size=3))
    ),
    max_leaves=6,
)
WORDS = Words(ModelValue("NoNode"), {"nobody": ModelValue("NoNode"), "n1": ModelValue("n1")})


@settings(max_examples=400)
@given(TREES, TREES)
def test_values_compared_without_being_decoded_are_equal_exactly_where_the_decoded_ones_are(
    one: Any, other: Any
) -> None:
    for in_trace, in_spec in ((one, other), (other, other), (one, one)):
        try:
            spec = Fcn({"log": (to_value(in_spec, WORDS),)})
            equal = all(each.equal for each in compare({"log": [in_trace]}, spec, WORDS))
        except (ObservationError, ValueError, TlaTypeError):
            equal = False
        else:
            assert (equal_count({"log": [in_trace]}, spec, WORDS) == 1) is equal
        assert equal or not comparison._equals_at_a_glance(in_trace, to_value_or_none(in_spec), WORDS.meanings)


def to_value_or_none(in_trace: Any) -> Value:
    try:
        return to_value(in_trace, WORDS)
    except (ValueError, TlaTypeError):
        return None


ENTRIES = st.sampled_from(
    [1, True, "x", "n1", None, {"v": {"#set": ["n1"]}}, {"v": {"#set": ["x"]}}, [1], {"#map": [[1, 2]]}]
)
#: Changes of a log: entries are added at its end, or it is replaced.
CHANGES = st.lists(st.tuples(st.booleans(), st.lists(ENTRIES, max_size=3)), min_size=1, max_size=6)
#: Observations of it in a trace: correct, with one entry changed, one too few, or one too many.
LIES = st.sampled_from(["no", "no", "no", "another", "fewer", "more"])
#: A long element: only long values are remembered by their begin.
FIRST = "x" * 400


@settings(max_examples=300)
@given(CHANGES, st.data(), st.booleans(), st.sampled_from([1, 2, -1]))
def test_a_value_that_grew_is_equal_exactly_where_all_of_it_is_equal(
    changes: list[tuple[bool, list[Any]]], data: st.DataObject, as_map: bool, first: int
) -> None:
    cache = ComparisonCache(WORDS)
    spec, truth = [FIRST], [FIRST]
    for grows, entries in changes:
        spec = [*spec, *(to_value(each, WORDS) for each in entries)] if grows else [FIRST]
        truth = [*truth, *entries] if grows else [FIRST]
        lie, in_trace = data.draw(LIES), list(truth)
        if lie == "another":
            in_trace[data.draw(st.integers(0, len(in_trace) - 1))] = data.draw(ENTRIES)
        elif lie == "fewer":
            in_trace.pop(data.draw(st.integers(0, len(in_trace) - 1)))
        elif lie == "more":
            in_trace.append(data.draw(ENTRIES))
        value: Value = tuple(spec)
        shown: dict[str, Any] = {"log": in_trace}
        if as_map:
            value = as_fcn(dict(enumerate(spec, first)))
            shown = {"log": {"#map": [[number, each] for number, each in enumerate(in_trace, first)]}}
        expected = Fcn({"log": value})
        assert cache.equal_count("n1", shown, expected) == equal_count(shown, expected, WORDS)


def test_only_the_elements_that_were_added_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Any] = []
    equals = comparison._equals_at_a_glance

    def noted(part: Any, value: Value, words: Meanings) -> bool:
        compared.append(part)
        return equals(part, value, words)

    cache, log = ComparisonCache(), [f"v{number}" for number in range(100)]
    value = tuple(log)
    assert cache.equal_count("n1", {"log": log}, Fcn({"log": value})) == 1
    monkeypatch.setattr(comparison, "_equals_at_a_glance", noted)
    assert cache.equal_count("n1", {"log": [*log, "w"]}, Fcn({"log": (*value, "w")})) == 1
    assert compared == ["w"]


def as_map(elements: list[Any]) -> dict[str, Any]:
    return {"#map": [[number, each] for number, each in enumerate(elements, 1)]}


@pytest.mark.parametrize("written", [list, as_map])
@pytest.mark.parametrize(
    ("in_trace", "in_spec"),
    [
        (["x", 1, 5], ["y", 1, 5]),  # the spec changed what it in_spec before
        (["x", 12, 5], ["x", 1, 5]),  # what begins with 1 does not go on from it
        (["x", 1, 5, 5], ["x", 1, 5]),
        (["x", 1], ["x", 1, 5]),
    ],
)
def test_a_value_that_did_not_only_grow_is_compared_from_its_begin(
    written: Any, in_trace: list[Any], in_spec: list[Any]
) -> None:
    cache = ComparisonCache()
    assert cache.equal_count("n1", {"log": written([FIRST, "x", 1])}, Fcn({"log": (FIRST, "x", 1)})) == 1
    assert cache.equal_count("n1", {"log": written([FIRST, *in_trace])}, Fcn({"log": (FIRST, *in_spec)})) is None


def test_a_set_of_one_is_not_the_set_of_true() -> None:
    assert equal_count({"log": {"#set": [1]}}, Fcn({"log": frozenset([1])})) == 1
    assert equal_count({"log": {"#set": [1]}}, Fcn({"log": frozenset([True])})) is None


def test_a_word_that_is_a_key_within_a_tag_is_the_model_value_of_its_name() -> None:
    shown = {"log": {"#map": [["nobody", 1]]}}
    assert equal_count(shown, Fcn({"log": Fcn({ModelValue("nobody"): 1})}), WORDS) == 1
    assert equal_count(shown, Fcn({"log": Fcn({ModelValue("NoNode"): 1})}), WORDS) is None


def test_a_long_field_of_a_field_is_remembered_by_itself() -> None:
    cache, log = ComparisonCache(), [f"v{number}" for number in range(100)]
    value = tuple(log)
    for end in (1, 2):
        shown, spec = {"fsm": {"applied": log, "end": end}}, Fcn({"fsm": Fcn({"applied": value, "end": end})})
        assert cache.equal_count("n1", shown, spec) == equal_count(shown, spec) == 2
    lie = {"fsm": {"applied": [*log[:-1], "w"], "end": 2}}
    assert cache.equal_count("n1", lie, spec) is None


@pytest.mark.parametrize(
    "pairs", [[[1, "x"], [2, "y"], [2, "y"]], [[1, "x"], [3, "y"]], [[True, "x"], [2, "y"]], [[1, "x"], [2, "y", 3]]]
)
def test_a_map_is_equal_only_where_it_has_each_pair_once(pairs: list[Any]) -> None:
    spec = Fcn({"log": as_fcn({1: "x", 2: "y"})})
    assert equal_count({"log": {"#map": [[2, "y"], [1, "x"]]}}, spec) == 1
    assert equal_count({"log": {"#map": pairs}}, spec) is None


def test_a_key_that_is_true_is_not_taken_for_one() -> None:
    before, after = Fcn({0: FIRST, True: "x"}), Fcn({0: FIRST, True: "x", 2: "y"})
    pairs = [[0, FIRST], [1, "x"], [2, "y"]]
    assert equal_count({"log": {"#map": pairs}}, Fcn({"log": after})) is None
    assert ComparisonCache().equal_count("n1", {"log": {"#map": pairs[:2]}}, Fcn({"log": before})) is None


def test_a_set_that_is_written_as_such_is_not_taken_for_a_record() -> None:
    spec = Fcn({"log": (Fcn({"#set": (1,)}),)})
    assert equal_count({"log": [{"#set": [1]}]}, spec) is None
