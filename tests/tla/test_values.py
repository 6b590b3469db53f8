"""Values: TLA+ equality is Python equality, and comparing values that TLA+ cannot compare is an error."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.tla.values import equality as tla_values
from lockstep.tla.values import lazy_sets, remembered_values
from lockstep.tla.values.constructed_sets import NAT, CartesianProduct, FcnSet, PowerSet, RcdSet, SeqSet
from lockstep.tla.values.equality import build_set, compare, eq, lookup
from lockstep.tla.values.function_operators import apply, except_, put
from lockstep.tla.values.itf_values import from_itf, to_itf
from lockstep.tla.values.kinds import (
    Fcn,
    ModelValue,
    TlaError,
    TlaTypeError,
    Value,
    as_fcn,
    common_shape,
    format_value,
    shape_of,
    sort_key,
)
from lockstep.tla.values.lazy_set_algebra import Filtered
from lockstep.tla.values.lazy_sets import LazySet, member
from lockstep.tla.values.printed_values import parse_value
from lockstep.tla.values.set_operators import cardinality, cup

NAMES = ["n1", "n2", "nil"]


def values() -> st.SearchStrategy[Value]:
    """Well-typed values: the elements of a set, and of a function's domain, are of one kind."""
    atoms = st.one_of(
        st.integers(-(2**60), 2**60), st.booleans(), st.text(max_size=3), st.sampled_from(NAMES).map(ModelValue)
    )

    def wider(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
        fields = st.dictionaries(st.sampled_from(["a", "b", "term"]), inner, max_size=3)
        by_model = st.dictionaries(st.sampled_from(NAMES).map(ModelValue), inner, max_size=3)
        by_number = st.dictionaries(st.integers(0, 4), inner, max_size=4)
        return st.one_of(
            st.lists(inner, max_size=3).map(tuple),
            st.frozensets(st.integers(-3, 3), max_size=3),
            st.frozensets(st.text(max_size=2), max_size=3),
            st.one_of(fields, by_model, by_number).map(as_fcn),
        )

    return st.recursive(atoms, wider, max_leaves=8)


@given(values())
def test_a_printed_value_is_read_back(value: Value) -> None:
    assert eq(parse_value(format_value(value), NAMES), value)


@given(values())
def test_json_gives_back_the_value(value: Value) -> None:
    strings_only = json.loads(json.dumps(to_itf(value)))
    if not any(name in format_value(value) for name in ('"n1"', '"n2"', '"nil"')):
        assert eq(from_itf(strings_only, NAMES), value)


@given(values())
def test_pickling_keeps_equality_and_hash(value: Value) -> None:
    again = pickle.loads(pickle.dumps(value))
    assert eq(again, value)
    assert hash(again) == hash(value)


@given(values(), values())
def test_equal_values_are_equal_in_python_and_the_other_way_round(left: Value, right: Value) -> None:
    try:
        verdict = eq(left, right)
    except TlaTypeError:
        return
    assert verdict == (left == right)
    assert eq(right, left) == verdict
    if not verdict:
        assert sort_key(left) != sort_key(right)


def test_a_model_value_is_interned_and_survives_pickling() -> None:
    assert ModelValue("n1") is pickle.loads(pickle.dumps(ModelValue("n1")))
    assert not eq(ModelValue("n1"), "n1")
    assert not eq(ModelValue("n1"), 1)


def test_typed_model_values_compare_only_with_their_own_kind() -> None:
    assert not eq(ModelValue("A_1"), ModelValue("A_2"))
    for other in (ModelValue("B_1"), 1, "A_1", frozenset()):
        with pytest.raises(TlaTypeError):
            eq(ModelValue("A_1"), other)


def test_functions_on_one_to_n_are_tuples() -> None:
    assert as_fcn({2: "b", 1: "a"}) == ("a", "b")
    assert as_fcn({}) == ()
    assert isinstance(as_fcn({0: "a", 1: "b"}), Fcn)
    assert isinstance(as_fcn({True: "a"}), Fcn)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (0, False),
        ((1,), (True,)),
        (frozenset({1}), frozenset({True})),
        (Fcn({"a": 1}), Fcn({"a": True})),
        (Fcn({0: 1}), Fcn({False: 1})),
        (frozenset({(1,)}), frozenset({(True,)})),
        ("1", 1),
        ((), frozenset()),
        (frozenset({"a"}), frozenset({1})),
    ],
)
def test_comparing_values_that_cannot_be_compared_raises(left: Value, right: Value) -> None:
    with pytest.raises(TlaTypeError):
        eq(left, right)
    with pytest.raises(TlaTypeError):
        build_set([left, right])
    with pytest.raises(TlaTypeError):
        lookup(frozenset({left}), right)
    with pytest.raises(TlaTypeError):
        cup(frozenset({left}), frozenset({right}))


def test_a_set_never_merges_one_with_true_behind_a_different_first_element() -> None:
    a, b, c = (Fcn({"t": t, "v": v}) for t, v in (("a", 1), ("b", 1), ("b", True)))
    for order in itertools.permutations([a, b, c]):
        with pytest.raises(TlaTypeError):
            build_set(order)
    with pytest.raises(TlaTypeError):
        cup(frozenset({a, b}), frozenset({c}))
    with pytest.raises(TlaTypeError):
        member(c, frozenset({a, b}))


def test_a_definite_difference_decides_whatever_else_cannot_be_compared() -> None:
    assert not eq(Fcn({"t": "a", "v": 1}), Fcn({"t": "b", "v": True}))
    assert len(build_set([Fcn({"t": "a", "v": 1}), Fcn({"t": "b", "v": True})])) == 2


@pytest.mark.parametrize("index", [0, -1, 3, True, "1"])
def test_a_sequence_has_no_other_indexes_than_one_to_n(index: Value) -> None:
    with pytest.raises(TlaError):
        apply(("a", "b"), index)


def test_except_leaves_the_original_alone_and_ignores_what_is_outside_the_domain() -> None:
    record = Fcn({"a": 1, "b": (1, 2)})
    changed = put(record, ("b", 2), 9)
    assert changed == Fcn({"a": 1, "b": (1, 9)})
    assert record == Fcn({"a": 1, "b": (1, 2)})
    with pytest.warns(UserWarning, match="not in the domain"):
        assert except_(record, ("c",), lambda old: old) == record


@pytest.mark.parametrize(
    ("lazy", "listed"),
    [
        (PowerSet(frozenset({1, 2})), frozenset(map(frozenset, [(), (1,), (2,), (1, 2)]))),
        (FcnSet(frozenset({1}), frozenset({"a", "b"})), frozenset({("a",), ("b",)})),
        (RcdSet({"a": frozenset({1, 2})}), frozenset({Fcn({"a": 1}), Fcn({"a": 2})})),
        (CartesianProduct(frozenset({1}), frozenset({"a"})), frozenset({(1, "a")})),
    ],
)
def test_a_lazy_set_that_is_finite_equals_its_listing(lazy: Value, listed: frozenset[Value]) -> None:
    assert lazy == listed
    assert listed == lazy
    assert hash(lazy) == hash(listed)
    assert eq(lazy, listed)
    assert all(member(value, lazy) for value in listed)
    assert frozenset({lazy}) == frozenset({listed})


def test_an_infinite_set_tests_membership_and_refuses_to_be_listed() -> None:
    assert member(5, NAT)
    assert not member(-5, NAT)
    assert member(((1,), ()), SeqSet(SeqSet(NAT)))
    with pytest.raises(TlaError, match="infinite"):
        list(NAT)
    with pytest.raises(TlaTypeError):
        member(True, NAT)


def test_text_that_tlc_never_prints_is_refused() -> None:
    for text in ("", "<<1", "{1,,2}", "[a |-> ]", "1 2", "n9", "(1 :> 2", "{1, TRUE}"):
        with pytest.raises((ValueError, TlaError)):
            parse_value(text, NAMES)


def kinds_of_sets(kind: type[LazySet] = LazySet) -> Iterator[type[LazySet]]:
    for each in kind.__subclasses__():
        yield each
        yield from kinds_of_sets(each)


def test_every_class_of_unlisted_sets_decides_membership() -> None:
    found = [*kinds_of_sets()]
    assert PowerSet in found
    assert [kind for kind in found if kind.has is LazySet.has and not kind.__subclasses__()] == []


# ---- What a listing has reached is remembered ----

SUBSETS = [frozenset(each) for each in ((), (1,), (2,), (1, 2))]


class Computed:
    """A set of the subsets of {1, 2} that counts what it computes, and may fail once at {2}."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.asked: list[Value] = []
        self.error = error
        self.set = Filtered(PowerSet(frozenset({1, 2})), self.test)

    def test(self, value: Value) -> bool:
        self.asked.append(value)
        if self.error is not None and value == frozenset({2}):
            raise self.error
        return True


def test_a_later_listing_computes_only_what_none_has_reached() -> None:
    computed = Computed()
    listing = iter(computed.set)
    assert [next(listing), next(listing)] == SUBSETS[:2]
    assert [*iter(computed.set)] == SUBSETS
    assert [*listing] == SUBSETS[2:]
    assert [*iter(computed.set)] == computed.asked == SUBSETS


def test_a_listing_above_its_limit_computes_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_sets, "_MAX_SEEN", 2)
    computed = Computed()
    assert [*iter(computed.set)] == [*iter(computed.set)] == SUBSETS
    assert computed.asked.count(SUBSETS[3]) == 2


@pytest.mark.parametrize("error", [TlaError("no value"), RecursionError(), KeyboardInterrupt()], ids=repr)
def test_each_listing_computes_for_itself_after_a_failure(error: BaseException) -> None:
    computed = Computed(error)
    under_way = iter(computed.set)
    assert next(under_way) == SUBSETS[0]
    for listing in (iter(computed.set), under_way, iter(computed.set)):
        with pytest.raises(type(error)):
            list(listing)
    computed.error = None
    assert [*iter(computed.set)] == SUBSETS


def test_a_set_that_is_being_listed_survives_pickling() -> None:
    power = PowerSet(frozenset({1, 2}))
    listing = iter(power)
    next(listing)
    assert [*pickle.loads(pickle.dumps(power))] == SUBSETS
    assert [*listing] == SUBSETS[1:]


def test_the_order_of_names_is_remembered_and_numbers_are_never_taken_for_truths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tla_values, "_MAX_ORDERS", 1)
    monkeypatch.setattr(tla_values, "_ORDERS", {})
    first, second = frozenset({"b", "a"}), frozenset({"d", "c"})
    for _ in range(2):
        assert [*tla_values.ordered(first)] == ["a", "b"]
        assert [*tla_values.ordered(second)] == ["c", "d"]
        assert len(tla_values._ORDERS) == 1
    assert [*tla_values.ordered(frozenset({1}))] == [1]
    assert [type(each) for each in tla_values.ordered(frozenset({True}))] == [bool]


def test_the_remembered_order_of_a_set_of_numbers_is_not_used_for_a_set_of_truths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for most in (4096, 1):  # remembered, and forgotten at once
        monkeypatch.setattr(remembered_values, "_MAX_SETS", most)
        numbers, truths = frozenset([(0, 1)]), frozenset([(False, True)])
        assert numbers == truths, "Python holds them equal"
        for each, kind in ((numbers, int), (truths, bool), (numbers, int)):
            assert shape_of(each) == (frozenset, (tuple, kind))
            parts = [part for part in sort_key(each)[2] if type(part) is tuple]
            assert kind in map(type, itertools.chain.from_iterable(parts))
        with pytest.raises(TlaTypeError):
            build_set([numbers, truths])
        with pytest.raises(TlaTypeError):
            member(truths, frozenset({numbers}))
        assert len(remembered_values.by_id) <= most


# ---- Shapes show whether values can be compared, where they can ----

SHAPED: tuple[Value, ...] = (
    *(0, 1, True, "a", ModelValue("m"), ModelValue("A_1"), ModelValue("B_1")),
    *((), (1,), (1, 2), ("a",), ((1,), ()), ((1,), (True,)), (1, "a")),
    *(frozenset(), frozenset({1}), frozenset({"a"}), frozenset({frozenset()}), frozenset({(1,), ()})),
    *(Fcn({"f": 1}), Fcn({"f": True}), Fcn({"g": 1}), Fcn({"f": ()}), Fcn({"f": (1,)}), Fcn({0: 1}), Fcn({0: "a"})),
    *(Fcn({ModelValue("m"): 1}), Fcn({ModelValue("m"): frozenset({1})}), Fcn({(1,): 1, (2, 3): 1}), Fcn({0: 1, 5: 2})),
)


def test_values_whose_shapes_go_together_can_be_compared() -> None:
    decided = 0
    for left, right in itertools.combinations_with_replacement(SHAPED, 2):
        if common_shape({shape_of(left), shape_of(right)}):
            decided += 1
            assert compare(left, right) is not None, (left, right)
    assert decided > len(SHAPED)


@pytest.mark.parametrize("value", SHAPED)
def test_an_element_that_cannot_be_compared_is_refused_whatever_is_known_of_the_set(value: Value) -> None:
    for elements in itertools.combinations(SHAPED, 3):
        try:
            container = build_set(elements)
        except TlaTypeError:
            continue
        refused = value not in container and any(compare(each, value) is None for each in container)
        for _ in range(2):  # the second time the shape of the elements is known
            if refused:
                with pytest.raises(TlaTypeError):
                    lookup(container, value)
            elif not any(compare(each, value) is None for each in container):
                assert (lookup(container, value) is not None) == any(compare(each, value) for each in container)


@pytest.mark.parametrize(
    ("container", "count"),
    [
        (FcnSet(frozenset(range(3)), frozenset(range(10))), 1000),
        (FcnSet(frozenset(), frozenset()), 1),
        (FcnSet(frozenset({1}), frozenset()), 0),
        (FcnSet(frozenset(range(900)), frozenset({1})), 1),
        (PowerSet(frozenset(range(30))), 1 << 30),
    ],
)
def test_sets_made_of_others_are_counted_without_listing_them(container: LazySet, count: int) -> None:
    assert cardinality(container) == count


@pytest.mark.parametrize(
    "container", [FcnSet(frozenset(range(10)), frozenset(range(9))), PowerSet(frozenset(range(31)))]
)
def test_a_set_too_large_to_count_is_an_error_of_the_spec(container: LazySet) -> None:
    with pytest.raises(TlaError, match="has more elements than can be counted"):
        cardinality(container)


def test_only_the_fields_of_a_record_that_differ_from_the_last_element_are_tested() -> None:
    records = RcdSet({"term": NAT, "log": SeqSet(NAT)})
    log = (1, 2)
    assert member(Fcn({"term": 1, "log": log}), records)
    assert member(Fcn({"term": 2, "log": log}), records)
    assert not member(Fcn({"term": -1, "log": log}), records)
    assert not member(Fcn({"term": 2, "log": (1, -2)}), records)
    assert not member(Fcn({"term": 2, "log": (1, -2)}), records)  # what is none is not remembered
    assert not member(Fcn({"log": log}), records)
    assert member(Fcn({"term": 2, "log": log}), records)


def test_the_records_that_a_set_has_tested_are_not_pickled() -> None:
    records, same = RcdSet({"term": NAT}), RcdSet({"term": NAT})
    assert member(Fcn({"term": 1}), records)
    assert pickle.dumps(records) == pickle.dumps(same)
    assert member(Fcn({"term": 2}), pickle.loads(pickle.dumps(records)))
