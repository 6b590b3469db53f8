"""The number of states that a search generates before it ends at a deadlock, compared with TLC's."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from tests.support.sampling import sampled

BRANCHES = """VARIABLE x
Init == x \\in {0, 1, 2}
Next == \\/ x < 2 /\\ x' = x + 1
        \\/ x = 0 /\\ x' \\in {5, 6, 7, 5}
        \\/ (x = 1 \\/ x > 0) /\\ x < 3 /\\ x' = 9
Few == x # 9 /\\ x # 1
FewNext == x' # 9"""

WITNESSES = """VARIABLES x, d
Init == x = 0 /\\ d = [f \\in 1..3 |-> FALSE]
Next == \\/ x < 3 /\\ x' = x + 1 /\\ d' = [d EXCEPT ![x + 1] = TRUE]
        \\/ \\E f, g \\in 1..3 : d[f] /\\ d[g] /\\ x < 2 /\\ d' = [d EXCEPT ![f] = FALSE] /\\ UNCHANGED x
        \\/ (\\E f \\in 1..3 : d[f]) /\\ (\\A f \\in 1..2 : d[f] \\/ x > 0) /\\ x' = 3 /\\ d' = d /\\ x < 3
        \\/ IF d[1] \\/ d[2] THEN x' = 3 /\\ d' = d /\\ x < 3 ELSE FALSE"""

ARGUMENTS = """VARIABLE x
Once(p) == p /\\ x < 4
Twice(p) == IF p THEN p ELSE x = 2
Init == x = 0
Next == \\/ Once(x = 0 \\/ x < 2) /\\ x' = x + 1
        \\/ Once(Once(\\E y \\in 0..3 : x < y)) /\\ x' = x + 2 /\\ x' < 5
        \\/ x < 2 /\\ Twice(x = 0 \\/ x < 2) /\\ x' = x + 1"""

ONE_BRANCH = """VARIABLE x
ByIf(p) == IF x = 0 THEN p ELSE p
ByCase(p) == CASE x = 0 -> p [] x > 0 -> p
Init == x = 0
Next == \\/ ByIf(\\E i \\in {1, 2} : i > x - 5) /\\ x < 5 /\\ x' = 6
        \\/ ByCase(\\E i \\in {1, 2, 3} : i > x - 5) /\\ x < 5 /\\ x' = 7"""

# An argument is followed each time that it stands as a conjunct, until something has computed its value
# (tlc2.tool.Tool.getNextStatesAppl, of a LazyValue).
AS_CONJUNCTS = """VARIABLE x
Init == x = 0
Twice(p) == p /\\ p
Named(p) == LET q == p IN q /\\ q
Taking(p) == LET q(j) == p IN q(1) /\\ q(2)
Given(p) == LET q(r) == r IN q(p) /\\ q(\\E i \\in {1, 2} : i > x)
PassedTwice(p) == Named(p) \\/ Taking(p)
Next == \\/ Twice(\\E i \\in {1, 2} : i > x - 5) /\\ x < 5 /\\ x' = 6
        \\/ PassedTwice(\\E i \\in {1, 2, 3} : i > x - 5) /\\ x < 5 /\\ x' = 7
        \\/ Given(\\E i \\in {1, 2} : i > x - 5) /\\ x < 5 /\\ x' = 8"""

COMPUTED_BEFORE = """VARIABLE x
Init == x = 0
Tested(p) == IF p THEN p ELSE x = 9
First(p) == ~~p \\/ p
InADomain(p) == \\E j \\in IF p THEN {1, 2} ELSE {} : p
InALoop(p) == \\E j \\in {1, 2} : p /\\ ~~p
PassedOn(p) == Tested(p) \\/ p
ByLet(p) == LET r == IF p THEN 1 ELSE 2 IN r < 9 /\\ p
Before(p) == p /\\ LET r == IF p THEN 1 ELSE 2 IN r < 9
Next == \\/ First(\\E i \\in {1, 2} : i > x - 5) /\\ x < 5 /\\ x' = 6
        \\/ InADomain(\\E i \\in {1, 2} : i > x - 5) /\\ x < 5 /\\ x' = 7
        \\/ InALoop(\\E i \\in {1, 2, 3} : i > x - 5) /\\ x < 5 /\\ x' = 8
        \\/ PassedOn(\\E i \\in {1, 2} : i > x - 5) /\\ x < 5 /\\ x' = 9
        \\/ ByLet(\\E i \\in {1, 2} : i > x - 5) /\\ x < 5 /\\ x' = 10
        \\/ Before(\\E i \\in {1, 2, 3, 4} : i > x - 5) /\\ x < 5 /\\ x' = 11"""

WHOLE_ACTION = """VARIABLE x
Init == x = 0
Step == x < 5 /\\ x' = 6
Loop(p) == \\E j \\in {1, 2, 3} : p /\\ ~~p /\\ Step
Parts(p) == (p /\\ Step) \\/ (~~p /\\ Step) \\/ (p /\\ Step)
Next == Loop(\\E i \\in {1, 2} : i > x - 5) \\/ Parts(\\E i \\in {1, 2, 3} : i > x - 5)"""

IN_THE_FIRST_STATE = """VARIABLE x
Twice(p) == p /\\ p
Tested(p) == IF p THEN p ELSE FALSE
Before(p) == ~~p \\/ p
Init == \\/ Twice(\\E i \\in {1, 2} : i > 0) /\\ x = 0
        \\/ Tested(\\E i \\in {1, 2} : i > 0) /\\ x = 0
        \\/ Before(\\E i \\in {1, 2} : i > 0) /\\ x = 0
Next == x < 1 /\\ x' = x + 1"""

CONSTANT_GUARD = """VARIABLE x
Limit == 3
Allowed == Limit > 1 \\/ Limit > 0
Either == Allowed \\/ x = 1
Init == Allowed /\\ x = 0
Next == \\/ Allowed /\\ x < 2 /\\ x' = x + 1
        \\/ Either /\\ x < 2 /\\ x' = x + 2
        \\/ (Limit > 1 \\/ Limit > 0) /\\ x < 2 /\\ x' = 3"""

#: A spec, entries of its cfg besides INIT and NEXT, and TLC's counts: distinct and generated states, depth.
DEADLOCKS = {
    "in an initial state": ("VARIABLE x\nInit == x \\in 0..2\nNext == x > 5 /\\ x' = x", (), (3, 3, 1)),
    "in a repeated initial state": (
        "VARIABLE x\nInit == x = 0 \\/ x = 0 \\/ x = 1\nNext == x > 5 /\\ x' = x",
        (),
        (2, 3, 1),
    ),
    "behind several actions": (BRANCHES, (), (7, 11, 2)),
    "within a CONSTRAINT": (BRANCHES, ("CONSTRAINT Few",), (5, 8, 2)),
    "within an ACTION_CONSTRAINT": (BRANCHES, ("ACTION_CONSTRAINT FewNext",), (6, 11, 2)),
    "behind guards that are arguments": (ARGUMENTS, (), (5, 12, 3)),
    "behind arguments that are evaluated in one branch": (ONE_BRANCH, (), (3, 6, 2)),
    "behind arguments that are conjuncts twice": (AS_CONJUNCTS, (), (4, 27, 2)),
    "behind arguments that are computed before": (COMPUTED_BEFORE, (), (7, 16, 2)),
    "behind arguments of whole actions": (WHOLE_ACTION, (), (2, 10, 2)),
    "behind arguments of the initial predicate": (IN_THE_FIRST_STATE, (), (2, 8, 2)),
    "behind a guard without variables": (CONSTANT_GUARD, (), (4, 10, 2)),
    "behind guards with several witnesses": (WITNESSES, (), (8, 18, 4)),
}
#: Specs whose counts TLC confirms in every run; it confirms the others at night.
CONFIRMED = ("behind arguments of whole actions",)


def files(folder: Path, name: str) -> SpecFiles:
    text, cfg, _ = DEADLOCKS[name]
    module, config = folder / "M.tla", folder / "M.cfg"
    module.write_text(f"---- MODULE M ----\nEXTENDS Naturals, FiniteSets\n{text}\n====\n")
    config.write_text("\n".join(["INIT Init", "NEXT Next", *cfg, ""]))
    return SpecFiles(module, config)


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_deadlock_is_found_after_as_many_states_as_tlc_generates(name: str, tmp_path: Path) -> None:
    for engine in (Engine.LITERAL, Engine.TABLES):
        found = explore_spec(files(tmp_path, name), engine)
        assert (found.property, (found.distinct, found.generated, found.depth)) == ("deadlock", DEADLOCKS[name][2])


@pytest.mark.parametrize("name", sampled(DEADLOCKS, CONFIRMED))
def test_the_counts_at_a_deadlock_are_those_of_tlc(name: str, tmp_path: Path) -> None:
    found = explore_spec(files(tmp_path, name), Engine.TLC)
    assert (found.property, (found.distinct, found.generated, found.depth)) == ("deadlock", DEADLOCKS[name][2])
