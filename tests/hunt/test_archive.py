"""The archive of a hunt: the shortest run to each situation, drawn by how rarely it was met."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from lockstep.hunt.archive import MAX_PREFIX, Archive
from lockstep.hunt.example import Target, replay
from lockstep.systems.hunted_group import Move, common_length, sign
from tests.support.systems.hunted_examples import examples, target


def moves(count: int) -> list[Move]:
    return [("n1", f"Step{number}", ()) for number in range(count)]


def unwatched(spec: str) -> Target:
    """A target without properties, so that no example ends early."""
    return replace(target(spec), properties=frozenset())


def test_the_shortest_run_to_a_situation_is_kept() -> None:
    archive = Archive()
    archive.meet(["a"], "first", moves(9))
    archive.meet(["a"], "second", moves(4))
    archive.meet(["a"], "third", moves(6))
    (kept,) = archive.draw(random.Random(1), 1)
    assert (kept.plan, kept.moves) == ("second", moves(4))


def test_a_run_is_kept_as_it_was_when_the_situation_was_met() -> None:
    archive, run = Archive(), moves(3)
    archive.meet(["a"], None, run)
    run += moves(2)
    assert archive.draw(random.Random(1), 1)[0].moves == moves(3)


def test_a_situation_that_was_met_rarely_is_drawn_more_often() -> None:
    archive = Archive()
    archive.meet(["rare"], "rare", moves(5))
    for _ in range(100):
        archive.meet(["common"], "common", moves(5))
    drawn = Counter(each.plan for each in archive.draw(random.Random(1), 1000))
    assert drawn["rare"] > 3 * drawn["common"] > 0


def test_a_situation_that_was_drawn_often_is_drawn_less() -> None:
    archive = Archive()
    archive.meet(["old"], "old", moves(5))
    archive.draw(random.Random(1), 500)
    archive.meet(["new"], "new", moves(5))
    drawn = Counter(each.plan for each in archive.draw(random.Random(1), 1000))
    assert drawn["new"] > 3 * drawn["old"] > 0


def test_a_very_long_run_is_not_kept_and_an_empty_archive_draws_nothing() -> None:
    archive = Archive()
    archive.meet(["far"], None, moves(MAX_PREFIX + 1))
    assert len(archive) == 0
    assert archive.draw(random.Random(1), 3) == []


@pytest.mark.nightly
@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_an_example_goes_on_from_a_prefix_in_the_situation_that_the_prefix_leads_to(spec: str) -> None:
    """The witness: examples with prefixes meet situations that those without have not met."""
    wanted, archive = unwatched(spec), Archive()
    examples(wanted, archive, 30)
    known = len(archive)
    prefixes = archive.draw(random.Random(1), 20)
    began = [
        each for each in examples(wanted, archive, 30, prefixes, first=6) if each.plan in [p.plan for p in prefixes]
    ]
    # The floor is low: Hypothesis also draws constants of all modules that are loaded, and other tests load more.
    assert known > 200 and len(began) >= 10 and len(archive) > known
    for each in began:
        assert any(
            each.record.moves[: prefix.length] == prefix.moves for prefix in prefixes if prefix.plan == each.plan
        )


@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_the_steps_of_a_prefix_are_possible_again_in_a_new_group(spec: str) -> None:
    wanted, archive = unwatched(spec), Archive()
    examples(wanted, archive, 20)
    for prefix in archive.draw(random.Random(2), 20):
        assert replay(wanted, prefix.plan, prefix.moves).moves == prefix.moves


@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_situations_name_no_node_no_value_and_no_growing_number(spec: str) -> None:
    """An archive of all states would never meet one again."""
    wanted, archive = unwatched(spec), Archive()
    done = examples(wanted, archive, 10)

    def parts(value: Any) -> list[Any]:
        return [part for each in value for part in parts(each)] if isinstance(value, tuple) else [value]

    found = [part for each in done for situation in each.watch.situations() for part in parts(situation)]
    assert len(found) > 200
    assert all(-9 <= part <= 9 for part in found if isinstance(part, int))
    assert not {part for part in found if isinstance(part, str)} & {*done[0].group.node_ids}


def test_logs_agree_up_to_their_first_difference() -> None:
    assert common_length((), (1,)) == 0
    assert common_length((1, 2), (1, 2, 3)) == 2
    assert common_length((1, 2, 3), (1, 5, 3)) == 1
    assert [sign(each) for each in (-7, 0, 7)] == [-1, 0, 1]
