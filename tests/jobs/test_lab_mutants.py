"""A solution of the Raft lab in Go, and mistakes in it: `lockstep grade` finds nothing in one, and names the others.

docs/measured/lab.md has what became of each mistake.
"""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from lockstep.base.verdict import Verdict
from lockstep.jobs.grade.grading import LabGrader
from lockstep.jobs.grade.lab import load_lab
from tests.scripts.lab_mutants import SOLUTION, Mutant, judge, mutants, outcome
from tests.support.places import ROOT

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")

#: Each is noticed in most of its runs, and is of another part of Figure 2.
SURE = (
    "persist_no_vote",
    "votes_twice",
    "half_is_enough",
    "leader_in_later_term",
    "heartbeat_cuts",
    "commits_earlier_term",
)


@pytest.fixture(scope="module")
def grader() -> LabGrader:
    return LabGrader(load_lab())


def test_each_mutant_is_one_edit_of_the_solution() -> None:
    source = (SOLUTION / "raft.go").read_text(encoding="utf-8")
    listed = mutants()
    assert len({mutant.applied(source) for mutant in listed} - {source}) == len(listed) >= 40


def test_the_page_has_a_line_for_each_mutant() -> None:
    page = (ROOT / "docs" / "measured" / "lab.md").read_text(encoding="utf-8")
    assert [mutant.name for mutant in mutants() if f"\n{mutant.name} " not in page] == []


@needs_go
@pytest.mark.nightly
def test_in_a_right_solution_nothing_is_found(grader: LabGrader) -> None:
    found = judge(grader, range(1, 6))
    assert found.failed == ()
    assert {grade.verdict.verdict for grade in found.grades} == {Verdict.HOLDS}
    assert len(found.grades) == len(found.runs) >= 80
    assert (found.broken, found.unlike) == ([], [])


@needs_go
@pytest.mark.nightly
@pytest.mark.parametrize("words", [("-immediate",), ("-immediate", "-real")], ids=" ".join)
def test_where_calls_take_no_time_nothing_is_found_either(grader: LabGrader, words: tuple[str, ...]) -> None:
    found = judge(grader, (1,), None, *words)
    assert {grade.verdict.verdict for grade in found.grades} == {Verdict.HOLDS}
    assert len(found.grades) == len(found.runs) >= 16


@needs_go
@pytest.mark.nightly
@pytest.mark.parametrize("variant", mutants("variants.toml"), ids=lambda each: each.name)
def test_another_right_solution_breaks_no_rule(grader: LabGrader, variant: Mutant) -> None:
    found = judge(grader, (1, 2), variant)
    assert {grade.verdict.verdict for grade in found.grades} == {Verdict.HOLDS}
    assert len(found.grades) == len(found.runs)
    assert set(found.unlike) <= set(variant.breaks)


@needs_go
@pytest.mark.nightly
@pytest.mark.parametrize("name", SURE)
def test_a_mistake_that_runs_exercise_is_named_rightly(grader: LabGrader, name: str) -> None:
    (mutant,) = (each for each in mutants() if each.name == name)
    assert outcome(mutant, judge(grader, (1, 2), mutant)) == "violated"


@needs_go
@pytest.mark.nightly
def test_most_mistakes_are_noticed_and_few_are_misnamed(grader: LabGrader) -> None:
    found = Counter(outcome(mutant, judge(grader, (1, 2), mutant)) for mutant in mutants())
    assert found["violated"] >= 40
    assert found["violated"] + found["noted"] >= 46
    assert found["violated, misnamed"] + found["noted, misnamed"] <= 3
