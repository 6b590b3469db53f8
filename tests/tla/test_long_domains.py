"""A test of each element of a long function or set takes linear time: no set is made, and nothing is sorted."""

from __future__ import annotations

from typing import Any, Never

import pytest

from lockstep.tla.values import constructed_sets, function_operators
from lockstep.tla.values.constructed_sets import NAT, FcnSet, PowerSet, RcdSet
from lockstep.tla.values.function_operators import in_domain
from lockstep.tla.values.kinds import Fcn, TlaError, TlaTypeError
from lockstep.tla.values.lazy_sets import member


def message(number: int) -> Fcn:
    return Fcn({"index": number})


MESSAGES = frozenset(map(message, range(100)))
BAG = Fcn(dict.fromkeys(MESSAGES, 1))


def never(*_: Any) -> Never:
    raise AssertionError("this takes time that grows with the size")


def test_a_message_is_looked_up_in_a_bag_without_making_its_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_operators, "domain_of", never)
    assert in_domain(message(7), BAG)
    assert not in_domain(message(100), BAG)


def test_a_value_that_cannot_be_an_argument_of_a_bag_is_an_error() -> None:
    with pytest.raises(TlaTypeError):
        in_domain("a string", BAG)
    with pytest.raises(TlaTypeError):
        in_domain(Fcn({"index": "a string"}), BAG)


def test_many_elements_of_which_all_are_in_a_set_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constructed_sets, "ordered", never)
    monkeypatch.setattr(constructed_sets, "in_order", never)
    assert member(BAG, FcnSet(MESSAGES, NAT))
    assert member(MESSAGES, PowerSet(RcdSet({"index": NAT})))


def test_one_element_of_many_that_is_not_in_a_set_is_found() -> None:
    assert not member(Fcn({**BAG.d, message(7): -1}), FcnSet(MESSAGES, NAT))
    assert not member(MESSAGES | {message(-1)}, PowerSet(RcdSet({"index": NAT})))


def test_the_first_in_order_of_many_elements_decides_whether_there_is_an_error() -> None:
    """With -1 first the set is found not to be a subset, before the string of the last one is compared with numbers."""
    numbers = frozenset(Fcn({"index": number, "next": number}) for number in range(100))
    base = RcdSet({"index": NAT, "next": NAT})
    wrong = Fcn({"index": 50, "next": "a string"})
    assert not member(numbers | {wrong, Fcn({"index": -1, "next": 0})}, PowerSet(base))
    with pytest.raises(TlaError):
        member(numbers | {wrong}, PowerSet(base))
