"""Long functions that share values are plain functions in all else, however they grew and were cut."""

from __future__ import annotations

import pickle
import random

import pytest

from lockstep.conformance.affected_elements import _positions
from lockstep.conformance.comparison import ComparisonCache
from lockstep.conformance.json_values import to_tree
from lockstep.tla.values import growing_functions, growing_values, integer_intervals
from lockstep.tla.values.equality import eq
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.function_operators import apply, except_, function, in_domain, merge, part_of, single
from lockstep.tla.values.growing_functions import GrowingFcn
from lockstep.tla.values.integer_intervals import domain_of, interval_of
from lockstep.tla.values.kinds import Fcn, TlaError, Value, as_fcn, format_value
from lockstep.tla.values.set_operators import minus


def entry(index: int) -> Fcn:
    return Fcn({"term": index})


def without(log: Value, first: int, last: int) -> Value:
    return part_of(log, minus(domain_of(log), interval_of(first, last)))


LONG = without(function(range(1, 5001), entry), 1, 1000)


def test_a_long_log_whose_beginning_was_deleted_shares_its_values() -> None:
    shorter = merge(single(5001, entry(5001)), LONG)
    longer = merge(single(5002, entry(5002)), shorter)
    cut = without(longer, 1, 2000)
    assert all(type(each) is GrowingFcn for each in (shorter, longer, cut))
    assert longer._values.shares(shorter._values)
    assert cut._values.shares(longer._values)
    assert frozen(cut) is cut
    assert (cut.low, cut.high) == (2001, 5002)


def test_two_logs_made_of_the_same_one_do_not_see_each_other_s_entries() -> None:
    shorter = merge(single(5001, entry(5001)), LONG)
    left, right = merge(single(5002, entry(1)), shorter), merge(single(5002, entry(2)), shorter)
    assert apply(left, 5002) == entry(1)
    assert apply(right, 5002) == entry(2)
    assert not eq(left, right)
    assert not in_domain(5002, shorter)


def test_what_was_deleted_is_not_kept_for_ever() -> None:
    log = merge(single(5001, entry(5001)), LONG)
    for last in range(1500, 3900, 500):
        log = without(log, 1, last)
    assert len(log._values) < 2 * 1502


def test_a_log_from_index_0_that_loses_its_first_entry_is_the_sequence_of_the_others() -> None:
    """DLedger counts from 0, and a sequence from 1."""
    log = merge(single(100, entry(100)), as_fcn({index: entry(index) for index in range(100)}))
    assert type(log) is GrowingFcn
    assert eq(without(log, 0, 0), tuple(map(entry, range(1, 101))))


def test_an_index_outside_of_the_domain_is_refused() -> None:
    log = merge(single(5001, entry(5001)), LONG)
    for index in (0, 1000, 5002, True):
        with pytest.raises(TlaError):
            apply(log, index)


@pytest.mark.parametrize("seed", range(20))
def test_a_log_is_the_plain_function_after_every_change(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (growing_values, growing_functions):
        monkeypatch.setattr(module, "MIN_SHARED", 1)
    monkeypatch.setattr(integer_intervals, "MIN_UNLISTED", 1)
    rng, log, plain, kinds = random.Random(seed), (), dict[int, Value](), set[type]()
    for _ in range(60):
        before, table = log, dict(plain)
        ends = (min(plain), max(plain)) if plain else (1, rng.choice((-2, -1, 0, 3)))
        dice = rng.random()
        if dice < 0.6:
            more = {ends[1] + number: entry(rng.randint(1, 3)) for number in range(1, rng.randint(2, 4))}
            log, plain = merge(as_fcn(more), log), {**plain, **more}
        elif dice < 0.8 and len(plain) > 2:
            cut = rng.choice(((-9, ends[0] + rng.randint(0, 1)), (ends[1] - rng.randint(0, 1), 99)))
            log = without(log, *cut)
            plain = {index: each for index, each in plain.items() if not cut[0] <= index <= cut[1]}
        elif plain:
            index = rng.choice(list(plain))
            plain[index] = entry(rng.randint(1, 3))
            log = except_(log, (index,), lambda _, new=plain[index]: new)
        log = frozen(log)
        kinds.add(type(log))
        expected = as_fcn(plain)
        assert eq(log, expected)
        assert eq(expected, log)
        assert eq(domain_of(log), frozenset(plain))
        assert [in_domain(index, log) for index in range(-9, 99)] == [index in plain for index in range(-9, 99)]
        assert format_value(log) == format_value(expected)
        assert hash(log) == hash(expected)
        assert eq(pickle.loads(pickle.dumps(log)), expected)
        changed = {index for index in {*table, *plain} if table.get(index) is not plain.get(index)}
        first, last = _positions(before, log) or (-9, 99)
        assert all(first <= index <= last for index in changed)
    assert GrowingFcn in kinds


def test_what_a_trace_shows_of_a_log_is_compared_with_it() -> None:
    log = merge(single(5001, entry(5001)), LONG)
    node = Fcn({"log": log})
    for shown, count in (
        ({"5001": {"term": 5001}, "1001": {"term": 1001}}, 2),
        ({"#map": [[index, {"term": index}] for index in range(1001, 5002)]}, 1),
        (to_tree(log), 1),
        ({}, 0),
        ({"5001": {"term": 5000}}, None),
        ({"5002": {"term": 5002}}, None),
    ):
        assert ComparisonCache().equal_count("n1", {"log": shown}, node) == count
