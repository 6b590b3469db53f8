"""The weather of runs of chaos: it follows from the seed, differs between runs, and leaves much out."""

from __future__ import annotations

from random import Random

from lockstep.cluster.chaos_weather import ChaosWeather, Moments, Once

KINDS = ("kill", "cut", "loss", "clock", "power")


def weathers(count: int) -> list[ChaosWeather]:
    return [ChaosWeather.drawn(Random(seed), KINDS) for seed in range(count)]


def test_the_same_seed_gives_the_same_weather() -> None:
    assert weathers(30) == weathers(30)


def test_a_run_has_some_kinds_of_faults_and_over_many_runs_each_is_there_and_missing() -> None:
    rates = [each.rates for each in weathers(200)]
    assert all(rates)
    for kind in KINDS:
        assert 60 < sum(kind in each for each in rates) < 140


def test_faults_are_of_the_kinds_of_the_weather() -> None:
    weather = weathers(1)[0]
    assert {weather.kind(Random(seed)) for seed in range(100)} == set(weather.rates)


def test_no_fault_lasts_longer_than_the_weather_has_it() -> None:
    weather = weathers(1)[0]
    lengths = [weather.length(Random(seed)) for seed in range(100)]
    assert 0 < min(lengths) < 0.5 < max(lengths) <= weather.lasts


def test_a_fault_waits_for_a_step_of_one_kind() -> None:
    moments, struck = Moments(Random(1), {"a": 1.0, "b": 0.0}), list[str]()
    assert not moments.wait(struck.append)
    moments.take_step("n1", "a")
    moments.take_step("n1", "b")
    assert moments.wait(struck.append)
    moments.take_step("n2", "b")
    assert struck == []
    moments.take_step("n3", "a")
    moments.take_step("n1", "a")
    assert struck == ["n3"]


def test_most_kinds_of_steps_go_unnoticed() -> None:
    moments, struck = Moments(Random(1), {}), list[str]()
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


def test_what_happens_once_happens_for_the_first_caller() -> None:
    happened = list[str | None]()
    once = Once(happened.append)
    once("n1")
    once(None)
    assert happened == ["n1"]
