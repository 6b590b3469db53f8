"""A fleet is held against a floor: below it is no pass, and neither is a floor that asks for nothing."""

from __future__ import annotations

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.fleet_floors import judge_floor
from lockstep.systems.system import Floor

PUSH, COMMIT, LOSE = ("action", "Push"), ("action", "Commit"), ("fault", "Lose")
SMALL = Floor(2, 100, frozenset({PUSH}), {LOSE: "nothing is lost"}, {})
WHOLE = Floor(10, 100, frozenset({PUSH, COMMIT}), {LOSE: "nothing is lost"}, {})


def test_a_fleet_that_reaches_its_floor_holds() -> None:
    judged = judge_floor("p", (SMALL, WHOLE), {PUSH, COMMIT}, 10, 100)
    assert (judged.verdict, judged.row) == (Verdict.HOLDS, ("p", 2, 2, "holds"))


def test_a_fleet_below_its_floor_is_violated_and_names_what_was_not_reached() -> None:
    judged = judge_floor("p", (SMALL, WHOLE), {PUSH}, 10, 100)
    assert (judged.verdict, judged.row) == (Verdict.VIOLATED, ("p", 1, 2, "missing Commit"))


@pytest.mark.parametrize(("clusters", "events"), [(9, 100), (2, 900)])
def test_a_fleet_is_held_against_the_largest_floor_that_is_no_larger(clusters: int, events: int) -> None:
    assert judge_floor("p", (SMALL, WHOLE), {PUSH}, clusters, events).verdict is Verdict.HOLDS
    assert judge_floor("p", (SMALL, WHOLE), {COMMIT}, clusters, events).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(("clusters", "events"), [(1, 100), (2, 99)])
def test_a_fleet_smaller_than_any_floor_is_inconclusive_unless_it_reaches_it(clusters: int, events: int) -> None:
    below = judge_floor("p", (SMALL, WHOLE), set(), clusters, events)
    assert below.verdict is Verdict.INCONCLUSIVE
    assert below.result == "missing Push (the floor is that of 2 clusters of 100 events)"
    assert judge_floor("p", (SMALL, WHOLE), {PUSH}, clusters, events).verdict is Verdict.HOLDS


def test_an_unreachable_thing_that_was_reached_refutes_its_argument() -> None:
    judged = judge_floor("p", (SMALL,), {PUSH, LOSE}, 2, 100)
    assert (judged.verdict, judged.result) == (Verdict.VIOLATED, "Lose was reached, though nothing is lost")


def test_a_floor_that_asks_for_nothing_is_no_pass_and_neither_is_none() -> None:
    empty = Floor(5, 1, frozenset(), {LOSE: "nothing is lost"}, {})
    for clusters in (5, 1):
        judged = judge_floor("p", (empty,), {PUSH}, clusters, 1)
        assert (judged.verdict, judged.row) == (Verdict.VIOLATED, ("p", 0, 0, "the floor asks for nothing"))
    refuted = judge_floor("p", (empty,), {LOSE}, 5, 1)
    assert refuted.result == "Lose was reached, though nothing is lost; the floor asks for nothing"
    assert judge_floor("p", (), {PUSH}, 1, 1).verdict is Verdict.INCONCLUSIVE


def test_a_cluster_in_which_nothing_happens_any_more_is_violated() -> None:
    found = TraceVerdict("t", Verdict.HOLDS, "a behaviour of the spec", events=7)
    assert judge_cluster("ordered", found, 7)[0] is Verdict.HOLDS
    assert judge_cluster("ordered", found, 8) == (Verdict.VIOLATED, "comes to a standstill after 7 of 8 events")
