"""A function applied as a conjunct of an action is taken apart, as TLC does: each way to make it true is a successor.

TLC takes the body of a function apart that it has not computed as a value: one of a LET, or of a definition that
mentions a variable or a parameter (Tool.getNextStates, OPCODE_fa).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.tla.explore import explore
from lockstep.tla.loading.load import load_spec
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc import TlcOptions, TlcVerdict, run_tlc
from sampling import sampled


def steps(formula: str, definition: str = "") -> str:
    """Return a module's body: x counts to 3, where a formula holds."""
    return f"{definition}\nInit == x = 0\nNext == x < 3 /\\ ({formula}) /\\ x' = x + 1"


#: A module's body, and what TLC generates.
BODIES = {
    "a function of a LET, though it is constant": (steps("LET f[i \\in 0..3] == i = 0 \\/ i < 3 IN f[x]"), 5),
    "a function that is written where it is applied": (steps("[i \\in 0..3 |-> i < 3 \\/ i < 5][x]"), 7),
    "a recursive function": (steps("LET f[i \\in 0..3] == i = 0 \\/ (i > 0 /\\ f[i - 1]) \\/ i = 1 IN f[x]"), 6),
    "a recursive function within a quantifier": (
        steps(
            "LET f[i \\in 0..3] == \\/ i = 0\n"
            "                       \\/ \\A j \\in 0..i - 1 : f[j]\n"
            "                       \\/ \\E k \\in 0..i - 1 : f[k] IN f[x]"
        ),
        87,
    ),
    "a recursive function that is a value as well": (
        steps("LET f[i \\in 0..3] == i = 0 \\/ (i > 0 /\\ (f[i - 1] = TRUE \\/ f[i - 1])) IN f[x]"),
        7,
    ),
    "a function that mentions a variable": (steps("F[x]", "F == [i \\in 0..3 |-> i = x \\/ x < 2]"), 6),
    "a recursive function that mentions a variable": (
        steps("f[x]", "f[i \\in 0..3] == i = 0 \\/ (i > 0 /\\ x > 0 /\\ f[i - 1]) \\/ i = 1"),
        6,
    ),
    "a recursive function that is a constant": (
        steps("f[x]", "f[i \\in 0..3] == i = 0 \\/ (i > 0 /\\ f[i - 1]) \\/ i = 1"),
        6,
    ),
    "a function that is a constant has been computed": (steps("f[x]", "f[i \\in 0..3] == i = 0 \\/ i < 3"), 4),
    "a function of all numbers that is a constant": (steps("f[x]", "f[i \\in Nat] == i = 0 \\/ i < 3"), 5),
    "a function with a parameter": (steps("F(2)[x]", "F(n) == [i \\in 0..3 |-> i < n \\/ i < 5]"), 6),
    "a function of two arguments": (steps("LET f[i, j \\in 0..3] == i < j \\/ i < 3 IN f[x, 2]"), 6),
    "a function of a pair": (steps("LET f[<<i, j>> \\in (0..3) \\X (0..3)] == i < j \\/ i < 3 IN f[<<x, 2>>]"), 6),
    "a function that assigns": (
        "Init == x = 0\nNext == x < 2 /\\ LET f[i \\in 0..3] == x' = i \\/ (i > 0 /\\ f[i - 1]) IN f[2]",
        7,
    ),
    "a value that is compared": (steps("LET f[i \\in 0..3] == i = 0 \\/ i < 3 IN f[x] = TRUE"), 4),
    "a function that a quantifier binds": (steps("\\E f \\in {[i \\in 0..3 |-> i = 0 \\/ i < 3]} : f[x]"), 4),
    "a recursive function in Init": (
        "Init == (LET f[i \\in 0..3] == i = 0 \\/ (i > 0 /\\ f[i - 1]) \\/ i = 1 IN f[2]) /\\ x = 0\nNext == x' = x",
        3,
    ),
    "a function of all numbers in Init": (
        "Init == (LET f[i \\in Nat] == i = 2 \\/ i < 3 IN f[2]) /\\ x = 0\nNext == x' = x",
        3,
    ),
    "another function in Init is a value": (
        "Init == (LET f[i \\in 0..3] == i = 2 \\/ i < 3 IN f[2]) /\\ x = 0\nNext == x' = x",
        2,
    ),
}

#: What follows the assignment of all variables: TLC only asks whether it holds (Tool.getNextStatesAllAssigned).
COMPLETE = {
    "a disjunction": ("Init == x = 0\nNext == x < 3 /\\ x' = x + 1 /\\ (x < 2 \\/ x < 3)", 4),
    "a quantifier": ("Init == x = 0\nNext == x < 3 /\\ x' = x + 1 /\\ \\E i \\in 1..4 : x < i", 4),
    "a definition": ("P == x < 2 \\/ x < 3\nInit == x = 0\nNext == x < 3 /\\ x' = x + 1 /\\ P", 4),
    "a function": ("Init == x = 0\nNext == x < 3 /\\ x' = x + 1 /\\ LET f[i \\in 0..3] == i = 0 \\/ i < 3 IN f[x]", 4),
    "a disjunction that would assign": ("Init == x = 0\nNext == x' = x /\\ (x' = 0 \\/ x' \\in {0})", 2),
    "what is first of a conjunction that follows": (
        "Init == x = 0\nNext == x' = x /\\ ((x = 0 \\/ x < 1) /\\ x < 2)",
        2,
    ),
    "what comes before": ("Init == x = 0\nNext == x < 3 /\\ (x < 2 \\/ x < 3) /\\ x' = x + 1", 6),
    "what may be assigned": (
        "Init == x = 0\nNext == \\A i \\in 0..1 : x' = 1 /\\ (i = 0 \\/ i < 2)",
        3,
    ),
    "what each element says after the first": (
        "Init == x = 0\nNext == \\A i \\in 0..2 : ((i < 3 \\/ i < 4) /\\ x' = 1)",
        5,
    ),
    "in Init": ("Init == x = 0 /\\ (x < 2 \\/ x < 3)\nNext == x' = x", 2),
    "in Init, before": ("Init == x \\in {0} /\\ (x < 2 \\/ x < 3)\nNext == x' = x", 2),
}


def project(folder: Path, body: str) -> tuple[Path, Path]:
    module, cfg = folder / "Made.tla", folder / "Made.cfg"
    module.write_text(f"---- MODULE Made ----\nEXTENDS Integers\nVARIABLE x\n{body}\n====\n", encoding="utf-8")
    cfg.write_text("INIT Init\nNEXT Next\n", encoding="utf-8")
    return module, cfg


def is_as_tlc_has_it(body: str, generated: int, tmp_path: Path) -> None:
    module, cfg = project(tmp_path, body)
    result = run_tlc(module, cfg, TlcOptions(deadlock_check=False, is_short=True))
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"), check_deadlock=False)
    counts = (found.generated, found.distinct, found.depth)
    assert counts == (result.generated, result.distinct, result.depth)
    assert found.generated == generated


@pytest.mark.parametrize(
    "name",
    sampled(BODIES, ("a recursive function within a quantifier", "a function that is a constant has been computed")),
)
def test_each_way_to_make_a_function_true_is_a_successor(name: str, tmp_path: Path) -> None:
    is_as_tlc_has_it(*BODIES[name], tmp_path)


@pytest.mark.parametrize("name", sampled(COMPLETE, ("what each element says after the first", "a function")))
def test_once_all_is_assigned_a_conjunct_has_one_way_to_hold(name: str, tmp_path: Path) -> None:
    is_as_tlc_has_it(*COMPLETE[name], tmp_path)


def test_a_function_taken_apart_outside_its_domain_is_an_error(tmp_path: Path) -> None:
    module, cfg = project(tmp_path, steps("LET f[i \\in 0..1] == i = 0 \\/ i = 1 IN f[x]"))
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    with pytest.raises(TlaError, match="not in its domain"):
        explore(spec, check_deadlock=False)
    assert run_tlc(module, cfg, TlcOptions(deadlock_check=False, is_short=True)).verdict is TlcVerdict.VIOLATED
