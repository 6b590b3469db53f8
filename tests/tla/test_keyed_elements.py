"""The elements of a set with a value in a field are found by an index, and are those that comparing each finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.values import keyed_elements
from lockstep.tla.values.growing_values import GrowingSet
from lockstep.tla.values.keyed_elements import having
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaTypeError, Value
from lockstep.tla.values.sequence_operators import append, elements_of
from lockstep.tla.values.set_operators import cup


def entry(index: Value, value: Value = "v") -> Fcn:
    return Fcn({"index": index, "value": value})


def with_index(container: Value, index: Value) -> set[Value]:
    return {each for each in having(container, "index", lambda: index) if each.d["index"] == index}


def sets(length: int) -> list[Value]:
    """Return sets of entries of several shapes, each made of the one before, and a branch of the middle one."""
    found: list[Value] = [frozenset(entry(index, "v" if index % 3 else ModelValue("none")) for index in range(length))]
    for more in range(length, length + 6):
        found.append(cup(found[-1], frozenset({entry(more, "v" if more % 2 else ModelValue("none"))})))
    return [*found, cup(found[3], frozenset({entry(-1)}))]


@pytest.mark.parametrize("length", [3, 40, 2000])
def test_the_elements_with_a_key_are_found_in_a_set_and_in_those_made_of_it(length: int) -> None:
    made = sets(length)
    assert isinstance(made[-2], GrowingSet) == (length == 2000)
    for _ in range(2):  # the first time makes the index of a set, and the second one finds it made
        for each in made:
            for key in (-1, 0, 2, length, length + 5, "a", None):
                expected = {one for one in each if one.d["index"] == key}
                assert with_index(each, key) == expected


def test_a_long_set_is_not_searched_for_a_key() -> None:
    assert len(list(having(sets(2000)[-2], "index", lambda: 7))) == 1
    assert len(list(having(sets(40)[0], "index", lambda: 7))) == 1


def test_an_element_with_1_is_not_found_in_a_set_that_has_one_with_true_there() -> None:
    """Both are made of one set, whose index they share."""
    made = sets(40)[0]
    assert isinstance(made, frozenset)
    having(made, "index", lambda: 0)
    for value in (True, 1):
        longer = cup(made, frozenset({entry(99, value)}))
        assert [type(each.d["value"]) for each in having(longer, "index", lambda: 99)] == [type(value)]


def test_a_key_is_not_computed_for_an_empty_set() -> None:
    def fail() -> Value:
        raise AssertionError

    assert list(having(frozenset(), "index", fail)) == []


@pytest.mark.parametrize("odd", [Fcn({"other": 1}), entry("text"), entry(True, "w"), 7])
def test_all_elements_are_listed_where_only_comparing_decides(odd: Value) -> None:
    mixed = frozenset({*map(entry, range(40)), odd})
    assert set(having(mixed, "index", lambda: 3)) == mixed


@pytest.mark.parametrize("long", [False, True])
def test_a_quantifier_with_a_key_has_the_value_and_the_errors_of_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    monkeypatch.setattr(keyed_elements, "MIN_REMEMBERED", 1 if long else 99)
    (tmp_path / "Keyed.tla").write_text(
        "---- MODULE Keyed ----\nEXTENDS Integers\nVARIABLE s\n"
        "Init == s = {}\nNext == UNCHANGED s\n"
        "All(i) == \\A e \\in s : e.index = i => e.value = 1\n"
        "Some(i) == \\E e \\in s : i = e.index /\\ e.value = 1\n"
        "Those(i) == {e \\in s : e.index = i /\\ e.value > 0}\n====\n"
    )
    (tmp_path / "Keyed.cfg").write_text("INIT Init\nNEXT Next\n")
    spec = load_spec(tmp_path / "Keyed.tla", tmp_path / "Keyed.cfg", cache_dir=tmp_path)
    state = spec.state({"s": frozenset({entry(1, 1), entry(2, 1), entry(2, 0), entry(3, 0)})})
    assert [spec.evaluate("All", state, index) for index in range(1, 5)] == [True, False, False, True]
    assert [spec.evaluate("Some", state, index) for index in range(1, 5)] == [True, True, False, False]
    assert spec.evaluate("Those", state, 2) == frozenset({entry(2, 1)})
    for name in ("All", "Some", "Those"):
        with pytest.raises(TlaTypeError):
            spec.evaluate(name, state, "one")


def test_the_elements_of_a_longer_sequence_are_those_of_the_shorter_and_more() -> None:
    sequence: Value = tuple(entry(index % 50) for index in range(60))
    for index in range(60, 80):
        longer = append(sequence, entry(index))
        before, found = elements_of(sequence), elements_of(longer)
        assert found == frozenset(longer)
        assert before == frozenset(sequence)
        sequence = longer


@pytest.mark.parametrize("long", [False, True])
def test_the_elements_with_a_key_are_looked_at_in_the_order_of_tlc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    """A record is before another by the field that the spec names first: TLC, too, comes to z = 1, which is false."""
    monkeypatch.setattr(keyed_elements, "MIN_REMEMBERED", 1 if long else 99)
    (tmp_path / "Order.tla").write_text(
        "---- MODULE Order ----\nEXTENDS Integers\nVARIABLE s\n"
        "Init == s = {[z |-> 1, t |-> 1, a |-> 2], [z |-> 2, t |-> 1, a |-> 1]}\nNext == UNCHANGED s\n"
        'Inv == \\A e \\in s : e.t = 1 => IF e.z = 1 THEN FALSE ELSE e.z = "one"\n====\n'
    )
    (tmp_path / "Order.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Inv\n")
    spec = load_spec(tmp_path / "Order.tla", tmp_path / "Order.cfg", cache_dir=tmp_path)
    assert spec.invariants["Inv"](next(spec.initial_states())) is False
