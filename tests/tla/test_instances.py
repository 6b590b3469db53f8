"""Definitions that INSTANCE brings in have TLC's meaning, whatever names are shared and however deep it is nested."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.syntax.sany import SanyError
from lockstep.tla.values.kinds import format_value
from tests.support.sampling import sampled
from tests.support.tla.tla_instances import Maker, TooLongError, values_by_search, values_by_tlc

IN_EVERY_RUN, AT_NIGHT = 1, 300

INNER = """---- MODULE C ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = 1 - x
Spec == Init /\\ [][Next]_x
===="""
MIDDLE = """---- MODULE V ----
EXTENDS Naturals
VARIABLE x
C == INSTANCE C
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\\ [][Next]_x
===="""
OUTER = """---- MODULE P ----
EXTENDS Naturals
VARIABLE x
V == INSTANCE V
Init == x = 0
Next == x' = (x + 1) % {modulus}
Spec == Init /\\ [][Next]_x
Refines == {refined}!Spec
===="""


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.tla").write_text(text + "\n")
    return folder


REFINED = [(3, "V", True), (3, "V!C", False), (2, "V", False), (2, "V!C", True)]


@pytest.mark.parametrize(("modulus", "refined", "holds"), sampled(REFINED, REFINED[1:3]))
@pytest.mark.parametrize("first", sampled(["instance", "definitions"], ["definitions"]))
def test_an_instance_within_an_instance_keeps_its_definitions_apart(
    modulus: int, refined: str, holds: bool, first: str, tmp_path: Path
) -> None:
    """Both V and C define Next: V!Spec takes V's, V!C!Spec takes C's, in whatever order the modules say so."""
    middle = MIDDLE
    if first == "definitions":
        middle = MIDDLE.replace("C == INSTANCE C\n", "").replace("====", "C == INSTANCE C\n====")
    written(tmp_path, C=INNER, V=middle, P=OUTER.format(modulus=modulus, refined=refined))
    (tmp_path / "P.cfg").write_text("SPECIFICATION Spec\nPROPERTY Refines\n")
    ours = explore_spec(SpecFiles(tmp_path / "P.tla", tmp_path / "P.cfg"), Engine.COMPILED)
    theirs = explore_spec(SpecFiles(tmp_path / "P.tla", tmp_path / "P.cfg"), Engine.TLC)
    assert ours.verdict is theirs.verdict
    assert (ours.property is None) == holds


def loaded(folder: Path, module: str) -> Spec:
    name = module.split()[2]
    return load_spec(written(folder, **{name: module}) / f"{name}.tla", cache_dir=folder / "cache")


def test_a_let_that_is_never_used_may_read_the_state(tmp_path: Path) -> None:
    spec = loaded(tmp_path, "---- MODULE M ----\nVARIABLE v\nE == LET y == v IN 2\n====")
    assert spec.evaluate("E", spec.state({"v": 1})) == 2


def test_a_let_that_only_an_unused_one_uses_may_read_the_state(tmp_path: Path) -> None:
    spec = loaded(tmp_path, "---- MODULE M ----\nVARIABLE v\nE == LET y == v IN (LET z == y IN 2)\n====")
    assert spec.evaluate("E", None) == 2


def test_two_uses_of_one_instance_share_what_they_use(tmp_path: Path) -> None:
    """J(1) and J(2) substitute different values for one parameter: their module is copied once."""
    inner = (
        "---- MODULE L ----\nEXTENDS Naturals\nCONSTANT c\nHalf == c \\div 2\nOp(a) == a + Half\nAlso(a) == Op(a)\n===="
    )
    written(tmp_path, L=inner)
    root = "---- MODULE M ----\nJ(p) == INSTANCE L WITH c <- p\nE(q, r) == <<J(q)!Op(1), J(r)!Also(1)>>\n===="
    spec = loaded(tmp_path, root)
    assert spec.evaluate("E", None, 4, 8) == (3, 5)
    assert spec.source.count("# L.tla:4:") == 1  # the body of Half


OF_A_LET = """---- MODULE R ----
EXTENDS TLC, Integers, Bags
VARIABLE x
ASSUME LET L == INSTANCE L WITH c <- 2 IN L!Up(1) = 3
E0 == LET L == INSTANCE L WITH c <- x + 1 IN <<L!Up(5), L!Many, L!Most, L!Len(<<x>>), L!Bagged, L!Fits, L!+(x, 2)>>
E1 == [k \\in 1..2 |-> LET L == INSTANCE L WITH c <- k y == L!Up(x) IN <<y, L!Twice(L!Up, y), L!Deep(3)>>]
E2 == LET B == INSTANCE Bags IN B!BagToSet(B!SetToBag({x}))
E3 == LET J(p) == INSTANCE L WITH c <- p IN <<J(x)!Up(1), J(2)!Many, J(x)!Bagged>>
E4 == LET N == INSTANCE Naturals IN {N!+(n, x) : n \\in N!..(x, 3)}
Init == x = 1 /\\ %s
Next == x' = x
===="""


@pytest.mark.nightly
def test_an_instance_of_a_let_may_extend_standard_modules(tmp_path: Path) -> None:
    inner = """---- MODULE L ----
EXTENDS Naturals, Sequences, Bags
CONSTANT c
Up(n) == n + c
Many == Len(<<c, c>>) * c
Fits == c \\in Nat
Most == LET m == CHOOSE k \\in 0..9 : k > c IN m - c
Bagged == BagToSet(SetToBag({c}) (+) SetToBag({7}))
Twice(F(_), a) == F(F(a))
RECURSIVE Deep(_)
Deep(k) == IF k = 0 THEN c ELSE Deep(k - 1) + 1
===="""
    names = [f"E{index}" for index in range(5)]
    root = OF_A_LET % " /\\ ".join(f'PrintT(<<"{name}", {name}>>)' for name in names)
    written(tmp_path, L=inner, R=root)
    (tmp_path / "R.cfg").write_text("INIT Init\nNEXT Next\n")
    theirs = values_by_tlc(tmp_path / "R.tla")
    assert list(theirs) == names
    spec = load_spec(tmp_path / "R.tla", tmp_path / "R.cfg", cache_dir=tmp_path / "cache")
    values = {name: format_value(spec.evaluate(name, spec.state({"x": 1}))) for name in names}
    assert values == theirs
    assert spec.false_assumptions() == []


def compared(seed: int, folder: Path) -> tuple[int, int]:
    """Compare made-up modules with TLC; return how many expressions and steps were compared."""
    maker = Maker(seed, levels=1 + seed % 3)
    root = maker.write(folder)
    theirs = values_by_tlc(root)
    if not theirs:  # SANY refuses what was made up, and so it does for us
        with pytest.raises(SanyError):
            values_by_search(root, maker)
        return 0, 0
    assert values_by_search(root, maker) == theirs
    return sum(name[0] == "E" for name in theirs), sum(name[0] == "A" for name in theirs)


def compare_all(seeds: range, folder: Path) -> None:
    expressions = steps = refused = too_long = 0
    for seed in seeds:
        (folder / str(seed)).mkdir()
        try:
            values, taken = compared(seed, folder / str(seed))
        except TooLongError:
            too_long += 1
            continue
        expressions, steps, refused = expressions + values, steps + taken, refused + (not values)
    assert too_long <= len(seeds) / 50
    assert refused < len(seeds) / 4
    assert expressions > 6 * len(seeds)
    assert steps > len(seeds)


@pytest.mark.nightly
def test_made_up_instances_mean_what_tlc_says(tmp_path: Path) -> None:
    compare_all(range(IN_EVERY_RUN), tmp_path)


@pytest.mark.nightly
def test_hundreds_of_made_up_instances_mean_what_tlc_says(tmp_path: Path) -> None:
    compare_all(range(IN_EVERY_RUN, IN_EVERY_RUN + AT_NIGHT), tmp_path)


ADDING = """---- MODULE Adding ----
CONSTANT Op(_), D
VARIABLE v
Go == \\E d \\in D : v' = Op(d)
Twice == \\A d \\in D : Op(Op(d)) \\in 0..5
====
"""
GIVEN_LAMBDAS = """---- MODULE Given ----
EXTENDS Integers
VARIABLE x
I(n) == INSTANCE Adding WITH Op <- LAMBDA a : (a + n) % 6, D <- {1, n}, v <- x
Inner(m, k) == LET J(n) == INSTANCE Adding WITH Op <- LAMBDA a : (a + n + k) % 6, D <- {m}, v <- x IN J(m)!Go
Init == x = 0
Next == (\\E k \\in 1..3 : I(k)!Go) \\/ Inner(2, 3)
Low == \\A k \\in {2, 5} : I(k)!Twice
====
"""


def test_a_lambda_that_stands_for_an_operator_knows_the_parameters_of_its_instance(tmp_path: Path) -> None:
    """The LAMBDA is applied in the module that is instanced, where these parameters have no names."""
    adding = ADDING.replace("CONSTANT", "EXTENDS Integers\nCONSTANT", 1)
    written(tmp_path, Adding=adding.removesuffix("\n"), Given=GIVEN_LAMBDAS.removesuffix("\n"))
    cfg = tmp_path / "Given.cfg"
    cfg.write_text("INIT Init\nNEXT Next\nINVARIANT Low\n")
    ours, theirs = (
        explore_spec(SpecFiles(tmp_path / "Given.tla", cfg), engine) for engine in (Engine.COMPILED, Engine.TLC)
    )
    assert (ours.verdict, ours.distinct, ours.generated, ours.depth) == (
        theirs.verdict,
        theirs.distinct,
        theirs.generated,
        theirs.depth,
    )
    assert (ours.reason, ours.distinct is not None and ours.distinct > 3) == (theirs.reason, True)
