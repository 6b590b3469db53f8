"""A function applied as a conjunct of an action is taken apart, as TLC does: each way to make it true is a successor.

TLC takes the body of a function apart that it has not computed as a value: one of a LET, or of a definition that
mentions a variable or a parameter (Tool.getNextStates, OPCODE_fa).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import AmbiguousStep
from lockstep.tla.values.kinds import TlaError, format_value
from lockstep.tlc import TlcOptions, dump_state_graph, run_tlc
from tests.support.sampling import sampled


def steps(formula: str, definition: str = "") -> str:
    """Return a module's body: x counts to 3, where a formula holds."""
    return f"{definition}\nInit == x = 0\nNext == x < 3 /\\ ({formula}) /\\ x' = x + 1"


#: A module's body, and the states that TLC generates.
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

#: Conjuncts after all variables are assigned: TLC only evaluates whether they hold (Tool.getNextStatesAllAssigned).
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


#: More modules, each with the variables it declares.
MODULES = {
    "a recursive function that assigns and does not branch": (
        "VARIABLE x\nInit == x = 0\nF[i \\in 0..2] == IF i = 0 THEN x' = 1 ELSE F[i-1]\nNext == F[2]"
    ),
    "a recursive function that assigns, in a LET": (
        "VARIABLE x\nInit == x = 0\nA == LET f[i \\in 0..3] == x' = i \\/ (i > 0 /\\ f[i-1]) IN f[2]\nNext == A"
    ),
    "a recursive function that assigns in several ways": (
        "VARIABLE x\nInit == x = 0\nF[i \\in 0..2] == IF i = 0 THEN x' \\in {1,2} \\/ x' = 0 ELSE F[i-1]\nNext == F[2]"
    ),
    "a function that assigns, passed to a definition": (
        "VARIABLE x\nInit == x = 0\nA(f) == \\A i \\in {1} : f[i]\nNext == A([j \\in 0..3 |-> x' = j])"
    ),
    "a recursive operator that gives a function": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "RECURSIVE F(_)\n"
        "F(n) == [i \\in 0..3 |-> IF n = 0 THEN x < i \\/ i = 2 ELSE F(n-1)[i]]\n"
        "Next == F(2)[2] /\\ x' = 1"
    ),
    "a recursive operator of a LET that gives a function": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == (LET RECURSIVE F(_)\n"
        " F(n) == [i \\in 0..3 |-> IF n = 0 THEN x < i \\/ i = 2 ELSE F(n-1)[i]] IN F(2)[2]) /\\ x' = 1"
    ),
    "a recursive operator that gives a function that assigns": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "RECURSIVE F(_)\n"
        "F(n) == [i \\in 0..3 |-> IF n = 0 THEN x' \\in {i, 2} ELSE F(n-1)[i]]\n"
        "Next == F(2)[1]"
    ),
    "a LET within a function that is applied again and again": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "F[i \\in 0..2] == LET Q(a) == x < a \\/ x = i IN Q(0) /\\ Q(i)\n"
        "Next == x < 2 /\\ F[0] /\\ F[1] /\\ F[2] /\\ x' = x + 1"
    ),
    "a definition that is inlined again and again": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == LET Q(a) == x' \\in {a,1} IN Q(0) /\\ Q(1) /\\ Q(0) /\\ Q(1) /\\ Q(0) /\\ Q(1) /\\ "
        "Q(0) /\\ Q(1)"
    ),
    "an operator that assigns, under a quantifier": (
        "VARIABLE x\nInit == x = 0\nA(B(_)) == \\A i \\in {1,2} : B(i)\nB1(i) == x' = i\nNext == A(B1)"
    ),
    "an operator that assigns, under a quantifier, and a test after it": (
        "VARIABLE x\nInit == x = 0\nA(B(_)) == \\A i \\in {1} : B(i)\nB1(i) == x' = i\nNext == A(B1) /\\ x' \\in {1,2}"
    ),
    "functions that apply functions, fourteen deep": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ (LET f0[i \\in 0..3] == i < 3 \\/ i < 4\n"
        "  f1[i \\in 0..3] == IF i = 0 THEN f0[i] ELSE f0[i]\n"
        "  f2[i \\in 0..3] == IF i = 0 THEN f1[i] ELSE f1[i]\n"
        "  f3[i \\in 0..3] == IF i = 0 THEN f2[i] ELSE f2[i]\n"
        "  f4[i \\in 0..3] == IF i = 0 THEN f3[i] ELSE f3[i]\n"
        "  f5[i \\in 0..3] == IF i = 0 THEN f4[i] ELSE f4[i]\n"
        "  f6[i \\in 0..3] == IF i = 0 THEN f5[i] ELSE f5[i]\n"
        "  f7[i \\in 0..3] == IF i = 0 THEN f6[i] ELSE f6[i]\n"
        "  f8[i \\in 0..3] == IF i = 0 THEN f7[i] ELSE f7[i]\n"
        "  f9[i \\in 0..3] == IF i = 0 THEN f8[i] ELSE f8[i]\n"
        "  f10[i \\in 0..3] == IF i = 0 THEN f9[i] ELSE f9[i]\n"
        "  f11[i \\in 0..3] == IF i = 0 THEN f10[i] ELSE f10[i]\n"
        "  f12[i \\in 0..3] == IF i = 0 THEN f11[i] ELSE f11[i]\n"
        "  f13[i \\in 0..3] == IF i = 0 THEN f12[i] ELSE f12[i]\n"
        "  f14[i \\in 0..3] == IF i = 0 THEN f13[i] ELSE f13[i]\n"
        " IN f14[x]) /\\ x' = x + 1"
    ),
    "twenty-five applications in a row": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ (LET f[i \\in 0..1] == (i = 0) \\/ (i > 5) IN f[0] /\\ f[0] /\\ f[0] /\\ "
        "f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] "
        "/\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ f[0] /\\ "
        "f[0]) /\\ x' = x + 1"
    ),
    "thirteen quantifiers of two variables in a row": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ (\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b\n"
        "   /\\ \\E a, b \\in {0} : a = b) /\\ x' = x + 1"
    ),
    "a function whose field is selected": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        'Next == x < 3 /\\ (LET f[i \\in {"a","b"}] == i = "a" \\/ x < 4 IN f.a) /\\ x\' = x + 1'
    ),
    "a function applied to the name of a field": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        'Next == x < 3 /\\ (LET f[i \\in {"a","b"}] == i = "a" \\/ x < 4 IN f["a"]) /\\ x\' = x '
        "+ 1"
    ),
    "three elements come in the order first, last, second": (
        "VARIABLES x, y, z\n"
        "Init == x = 0 /\\ y = 0 /\\ z = 0\n"
        "Next == x = 0 /\\ \\A i \\in 1..3 : IF i = 1 THEN x' \\in {1,2} ELSE IF i = 2 THEN y' \\in "
        "{1,2} ELSE z' \\in {1,2}"
    ),
    "what the third element asks is asked second": (
        "VARIABLES x, y\n"
        "Init == x = 0 /\\ y = 0\n"
        "Next == x = 0 /\\ \\A i \\in 1..3 : IF i = 1 THEN x' = 1 ELSE IF i = 2 THEN y' = 1 ELSE (x = 0 "
        "\\/ y = 0)"
    ),
    "what the second element asks is asked last": (
        "VARIABLES x, y\n"
        "Init == x = 0 /\\ y = 0\n"
        "Next == x = 0 /\\ \\A i \\in 1..3 : IF i = 1 THEN x' = 1 ELSE IF i = 3 THEN y' = 1 ELSE (x = 0 "
        "\\/ y = 0)"
    ),
    "three elements in Init": (
        "VARIABLES x, y\n"
        "Init == \\A i \\in 1..3 : IF i = 1 THEN x \\in {0,1} ELSE IF i = 2 THEN y \\in {1, 2} ELSE (i "
        "= 3 \\/ i < 4)\n"
        "Next == UNCHANGED <<x,y>>"
    ),
    "an argument that branches and is asked when all is assigned": (
        "VARIABLE x\nInit == x = 0\nA(P) == x' = x+1 /\\ P\nNext == x < 3 /\\ A(x' < 5 \\/ x' < 6)"
    ),
    "an operator that branches and is asked when all is assigned": (
        "VARIABLE x\nInit == x = 0\nA(P(_)) == x' = x+1 /\\ P(5)\nQ(n) == x' < n \\/ x' < 6\nNext == x < 3 /\\ A(Q)"
    ),
    "a LAMBDA that branches and is asked when all is assigned": (
        "VARIABLE x\nInit == x = 0\nA(P(_)) == x' = x+1 /\\ P(5)\nNext == x < 3 /\\ A(LAMBDA n : x' < n \\/ x' < 6)"
    ),
    "an argument that branches and reads this state alone": (
        "VARIABLE x\nInit == x = 0\nA(P) == P /\\ x' = x+1\nNext == x < 3 /\\ A(x < 2 \\/ x < 3)"
    ),
    "a function passed to a definition that applies it": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "P(f,i) == f[i]\n"
        "Next == x < 3 /\\ (P([j \\in 0..3 |-> j < 3 \\/ j < 4], x)) /\\ x' = x + 1"
    ),
    "a function passed to a definition that applies it twice": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "P(f,i) == f[i] /\\ f[i]\n"
        "Next == x < 3 /\\ (P([j \\in 0..3 |-> j < 3 \\/ j < 4], x)) /\\ x' = x + 1"
    ),
    "a recursive function passed to a definition within itself": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ (LET Ap(g,i) == g[i]  f[i \\in 0..3] == i = 0 \\/ (i > 0 /\\ Ap(f,i-1)) \\/ "
        "i = 1 IN f[x]) /\\ x' = x + 1"
    ),
    "a function that IF chooses": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ ((IF x > 0 THEN [i \\in 0..3 |-> i < 3 \\/ i < 4] ELSE [i \\in 0..3 |-> i < "
        "3 \\/ i < 5])[x]) /\\ x' = x + 1"
    ),
    "a function that is what a LET is for": (
        "VARIABLE x\nInit == x = 0\nNext == x < 3 /\\ ((LET f[i \\in 0..3] == i < 3 \\/ i < 4 IN f)[x]) /\\ x' = x + 1"
    ),
    "a name for one of two functions": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ (LET f[i \\in 0..3] == i < 3 \\/ i < 4\n"
        " g == IF x = 0 THEN f ELSE f IN g[x]) /\\ x' = x + 1"
    ),
    "a constant function whose domain is chosen by IF": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "f == [i \\in IF 1 = 1 THEN 0..3 ELSE 0..4 |-> i < 3 \\/ i < 4]\n"
        "Next == x < 3 /\\ (f[x]) /\\ x' = x + 1"
    ),
    "a constant function whose domain is chosen by CHOOSE": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "f == [i \\in CHOOSE S \\in {0..3} : TRUE |-> i < 3 \\/ i < 4]\n"
        "Next == x < 3 /\\ (f[x]) /\\ x' = x + 1"
    ),
    "another name for a constant function of all numbers": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "f == [i \\in Nat |-> i < 3 \\/ i < 4]\n"
        "g == f\n"
        "Next == x < 3 /\\ (g[x]) /\\ x' = x + 1"
    ),
    "a constant function of all numbers within a LET": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "g == LET n == 3 IN [i \\in Nat |-> i < n \\/ i < 4]\n"
        "Next == x < 3 /\\ (g[x]) /\\ x' = x + 1"
    ),
    "a constant recursive function within a LET": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "g == LET f[i \\in 0..3] == i < 3 \\/ (i > 0 /\\ f[i-1]) IN f\n"
        "Next == x < 3 /\\ (g[x]) /\\ x' = x + 1"
    ),
    "a function of a pair and a number": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ (LET f[<<i,j>> \\in (0..3) \\X (0..3), k \\in 0..3] == i < 3 \\/ k < 4 IN "
        "f[<<x,1>>,2]) /\\ x' = x + 1"
    ),
    "a function of a pair and a number that assigns": (
        "VARIABLE x\n"
        "Init == x = 0\n"
        "Next == x < 3 /\\ LET f[<<i,j>> \\in (0..3) \\X (0..3), k \\in 0..3] == x' = i + 1 \\/ x' = i "
        "IN f[<<x,1>>,2]"
    ),
}


def project(folder: Path, body: str) -> tuple[Path, Path]:
    module, cfg = folder / "Made.tla", folder / "Made.cfg"
    declared = "" if body.startswith("VARIABLE") else "VARIABLE x\n"
    text = f"---- MODULE Made ----\nEXTENDS Integers, Sequences\n{declared}{body}\n====\n"
    module.write_text(text, encoding="utf-8")
    cfg.write_text("INIT Init\nNEXT Next\n", encoding="utf-8")
    return module, cfg


def is_as_tlc_has_it(body: str, generated: int, tmp_path: Path) -> None:
    module, cfg = project(tmp_path, body)
    result = run_tlc(module, cfg, TlcOptions(deadlock_check=False, is_short=True))
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"), SearchOptions(check_deadlock=False))
    counts = (found.generated, found.distinct, found.depth)
    assert counts == (result.generated, result.distinct, result.depth)
    assert found.generated == generated


@pytest.mark.parametrize(
    "name",
    sampled(BODIES, ["a recursive function within a quantifier"]),
)
def test_each_way_to_make_a_function_true_is_a_successor(name: str, tmp_path: Path) -> None:
    is_as_tlc_has_it(*BODIES[name], tmp_path)


@pytest.mark.parametrize("name", sampled(COMPLETE, ["what each element says after the first"]))
def test_a_conjunct_has_one_way_to_hold_once_all_variables_are_assigned(name: str, tmp_path: Path) -> None:
    is_as_tlc_has_it(*COMPLETE[name], tmp_path)


@pytest.mark.parametrize("name", sampled(MODULES, ["three elements in Init"]))
def test_successors_are_those_of_tlc_in_its_order(name: str, tmp_path: Path) -> None:
    module, cfg = project(tmp_path, MODULES[name])
    options = TlcOptions(deadlock_check=False, is_short=True)
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    found, result = explore(spec, SearchOptions(check_deadlock=False)), run_tlc(module, cfg, options)
    assert (found.generated, found.distinct, found.depth) == (result.generated, result.distinct, result.depth)
    theirs = [tuple(nodes.values()) for nodes in dump_state_graph(module, cfg, options).nodes.values()]
    assert [tuple(map(format_value, state)) for state in found.states] == theirs


ASSIGNING = [name for name in MODULES if name.startswith("a recursive") and "assigns" in name]
#: A formula with one step, and formulas with several.
EXPLAINED = (
    "a recursive function that assigns and does not branch",
    "a recursive function that assigns in several ways",
)


@pytest.mark.parametrize("name", sampled([*ASSIGNING, "a function that assigns, passed to a definition"], EXPLAINED))
def test_a_step_by_a_function_that_assigns_is_taken_and_explained(name: str, tmp_path: Path) -> None:
    spec = load_spec(*project(tmp_path, MODULES[name]), cache_dir=tmp_path / "cache")
    (start,) = set(spec.initial_states())
    found = list(spec.successors(start))
    assert found
    for action, args, after in found:
        assert spec.explain(start, action, args).enabled
        if {each for _, _, each in found} == {after}:
            assert spec.step(start, action, args) == after
        else:
            with pytest.raises(AmbiguousStep):
                spec.step(start, action, args)


def test_a_function_taken_apart_outside_its_domain_is_an_error(tmp_path: Path) -> None:
    module, cfg = project(tmp_path, steps("LET f[i \\in 0..1] == i = 0 \\/ i = 1 IN f[x]"))
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    with pytest.raises(TlaError, match="not in its domain"):
        explore(spec, SearchOptions(check_deadlock=False))
    assert run_tlc(module, cfg, TlcOptions(deadlock_check=False, is_short=True)).verdict is Verdict.VIOLATED
