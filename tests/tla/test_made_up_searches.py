"""Made-up models with constraints, a view, symmetry and properties: both engines end at one place and say the same.

A model of three variables has some of: two CONSTRAINTs, an ACTION_CONSTRAINT, a VIEW, SYMMETRY, invariants, properties
of the first state, of every state, of steps, and of whole behaviours.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.search_options import SearchOptions
from tests.support.sampling import SEED
from tests.support.tla.tla_models import Maker

#: Number of models that every run compares, that are compared at night besides, and that one nightly test compares.
IN_EVERY_RUN, AT_NIGHT, BATCH = 2, 2_000, 50


def of_behaviours(found: SearchResult) -> bool:
    return "temporal propert" in found.reason


def compare(seed: int, folder: Path) -> Verdict:
    """Compare both engines on a made-up model; return the verdict of both."""
    maker = Maker(seed)
    files, deadlock = maker.write(folder), maker.random.random() < 0.6
    ours = explore_spec(SpecFiles(*files), Engine.COMPILED, SearchOptions(check_deadlock=deadlock, max_states=3_000))
    theirs = explore_spec(SpecFiles(*files), Engine.TLC, SearchOptions(check_deadlock=deadlock))
    assert ours.verdict is theirs.verdict is not Verdict.MALFORMED, (ours.reason, theirs.reason)
    for one, other in (
        (ours.distinct, theirs.distinct),
        (ours.generated, theirs.generated),
        (ours.depth, theirs.depth),
    ):
        assert other in (one, None)  # TLC counts nothing where it stops at an initial state
    if of_behaviours(theirs):  # TLC does not name the property, and its lasso may be another
        assert of_behaviours(ours)
        return ours.verdict
    assert (ours.reason, ours.property) == (theirs.reason, theirs.property)
    steps = [None if each.counterexample is None else len(each.counterexample.steps) for each in (ours, theirs)]
    assert steps[0] == steps[1]
    return ours.verdict


@pytest.mark.parametrize("seed", range(IN_EVERY_RUN))
def test_both_engines_say_the_same_of_a_made_up_model(seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(IN_EVERY_RUN, IN_EVERY_RUN + AT_NIGHT, BATCH))
def test_both_engines_say_the_same_of_thousands_of_made_up_models(first: int, tmp_path: Path) -> None:
    """`LOCKSTEP_SEED` gives other models than those of every night."""
    found = []
    for seed in range(first, first + BATCH):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.append(compare(SEED * AT_NIGHT + seed, folder))
    assert {Verdict.HOLDS, Verdict.VIOLATED} <= {*found}
