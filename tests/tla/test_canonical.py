"""Values as bytes: the same for equal values, in every process, and for no others."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from lockstep.tla.values.constructed_sets import NAT
from lockstep.tla.values.growing_values import GrowingSeq, GrowingSet
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, as_fcn, format_value
from lockstep.tla.values.value_bytes import decoded, encoded

#: Different values of TLA+: some are equal in Python.
DIFFERENT: list[Value] = [
    *(0, 1, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30),
    *(True, False),
    *("", "1", "n1", "TRUE", "é"),
    *(ModelValue("n1"), ModelValue("1"), ModelValue("TRUE")),
    *((), (1,), (True,), ("1",), ((),), (1, 2), (2, 1), ((1, 2),), (1, (2,))),
    *(frozenset(), frozenset([1]), frozenset([True]), frozenset([1, 2]), frozenset([(1, 2)]), frozenset([frozenset()])),
    *(Fcn({0: 1}), Fcn({"a": 1}), Fcn({"a": True}), Fcn({"1": 1}), Fcn({ModelValue("a"): 1}), Fcn({"a": 1, "b": 2})),
    *(Fcn({True: 1}), Fcn({frozenset(): 1}), Fcn({(): 1}), Fcn({"a": Fcn({"a": 1})}), (Fcn({"a": 1}),)),
]


@pytest.mark.parametrize("value", DIFFERENT, ids=format_value)
def test_a_value_is_the_one_that_its_bytes_were_made_of(value: Value) -> None:
    again = decoded(encoded(value))
    assert format_value(again) == format_value(value)
    assert type(again) is type(value)
    assert encoded(again) == encoded(value)


def test_values_that_differ_have_different_bytes() -> None:
    for left, right in itertools.combinations(map(encoded, DIFFERENT), 2):
        assert left != right


def test_the_order_in_which_something_was_made_does_not_matter() -> None:
    random, items = Random(3), [value for value in DIFFERENT if isinstance(value, str)]
    found = set()
    for _ in range(20):
        random.shuffle(items)
        found.add(encoded((frozenset(items), as_fcn({item: frozenset([item]) for item in items}))))
    assert len(found) == 1


def test_the_bytes_are_those_of_another_process_and_another_day() -> None:
    """Python hashes strings anew in every process."""
    value = (1, True, "a", ModelValue("n1"), frozenset(["x", "y", "z"]), Fcn({"b": 2, "a": (1, 2)}), 2**70)
    assert encoded(value).hex() == EXPECTED


EXPECTED = (
    "9701c3a161d5016e31c7070293a178a179a17ac7090394a161920102a16202c7160431313830353931363230373137343131333033343234"
)


def test_long_sets_and_sequences_have_the_bytes_of_plain_ones() -> None:
    entries = [Fcn({"term": number, "value": "v"}) for number in range(2000)]
    assert encoded(GrowingSet.from_elements(frozenset(entries))) == encoded(frozenset(entries))
    assert encoded(GrowingSeq(list(entries), 1500)) == encoded(tuple(entries[:1500]))
    assert decoded(encoded(GrowingSeq(list(entries), 1500))) == tuple(entries[:1500])


def test_a_set_that_cannot_be_listed_has_no_bytes() -> None:
    with pytest.raises(TlaError):
        encoded((1, NAT))


@pytest.mark.parametrize("text", [b"", b"\xc1", b"\xc0", b"\x80", b"\xcb" + bytes(8), b"\xc7\x00\x09", b"\x92\x01"])
def test_bytes_that_no_value_has_are_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="not the bytes of a value"):
        decoded(text)


def test_bytes_that_are_cut_or_longer_are_refused() -> None:
    for value in DIFFERENT:
        text = encoded(value)
        for wrong in (text[:-1], text + b"\x01"):
            with pytest.raises(ValueError, match="not the bytes of a value"):
                decoded(wrong)
