"""The weather of runs of chaos: it follows from the seed, differs between runs, and leaves much out."""

from __future__ import annotations

from random import Random

import pytest

from lockstep.cluster.chaos_weather import DEPOSING, ChaosWeather, Moments, Once, SeenKinds

KINDS = ("kill", "cut", "loss", "clock", "power")


def weathers(count: int) -> list[ChaosWeather]:
    return [ChaosWeather.drawn(Random(seed), KINDS) for seed in range(count)]


def test_the_same_seed_gives_the_same_weather() -> None:
    assert weathers(30) == weathers(30)


def test_a_run_has_some_kinds_of_faults_and_over_many_runs_each_is_there_and_missing() -> None:
    rates = [each.rates for each in weathers(200)]
    for kind in KINDS:
        assert 60 < sum(kind in each for each in rates) < 190
    assert sum("cut" in each for each in rates) > sum("clock" in each for each in rates)


def test_every_run_has_a_fault_that_ends_a_leadership() -> None:
    assert all(not DEPOSING.isdisjoint(each.rates) for each in weathers(200))


def test_faults_are_of_the_kinds_of_the_weather() -> None:
    weather = weathers(1)[0]
    assert {weather.kind(Random(seed)) for seed in range(100)} == set(weather.rates)


def test_no_fault_lasts_longer_than_the_weather_has_it() -> None:
    weather = weathers(1)[0]
    lengths = [weather.length(Random(seed)) for seed in range(100)]
    assert 0 < min(lengths) < 0.5 < max(lengths) <= weather.lasts


def test_what_waits_for_a_moment_happens_once_at_the_node_of_the_next_one() -> None:
    moments, struck = Moments(Random(1)), list[str]()
    assert moments.wait(struck.append, "a")
    moments.take_step("n2", "b")
    assert struck == []
    moments.take_step("n3", "a")
    moments.take_step("n1", "a")
    assert struck == ["n3"]


def test_nothing_waits_for_a_step_as_long_as_there_was_none() -> None:
    assert not Moments(Random(1)).wait(lambda _: None)


def test_most_kinds_of_steps_go_unnoticed() -> None:
    moments, struck = Moments(Random(1)), list[str]()
    names = [f"step {number}" for number in range(20)]
    for name in names:
        moments.take_step("n1", name)
    for _ in range(200):
        moments.wait(struck.append)
    noticed = 0
    for name in names:
        before = len(struck)
        moments.take_step("n1", name)
        noticed += len(struck) > before
    assert 2 < noticed < 14
    assert len(struck) == 200


@pytest.mark.parametrize(("rarity", "least", "most"), [(0.0, 20, 60), (1.0, 80, 100)])
def test_rare_kinds_are_drawn_as_often_as_others_or_more_often(rarity: float, least: int, most: int) -> None:
    """Ten of twenty kinds are rare, and seen once."""
    seen = SeenKinds(Random(3), rarity)
    for number in range(20):
        for _ in range(1 if number < 10 else 100):
            seen.see(f"{'rare' if number < 10 else 'frequent'} {number}")
    drawn = [seen.draw() for _ in range(100)]
    assert least < sum(each is not None and each.startswith("rare") for each in drawn) <= most


def test_what_happens_once_happens_for_the_first_caller() -> None:
    happened = list[str | None]()
    once = Once(happened.append)
    once("n1")
    once(None)
    assert happened == ["n1"]
