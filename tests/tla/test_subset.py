"""The compiler refuses what it does not compile, by module and line; it passes over nothing in silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import CompileError, Spec
from lockstep.tla.syntax.sany import SanyError
from tests.support.sampling import sampled

HEAD = """EXTENDS Reals, TLC, Sequences
VARIABLES x, y
vars == <<x, y>>
Init == x = 0 /\\ y = 0
Step == x' = 1 - x /\\ UNCHANGED y
"""
#: The line of the module at which a test's definitions begin.
FIRST = 7
BEHAVIOUR = "INIT Init\nNEXT Step\n"


def load(folder: Path, definitions: str, cfg: str = BEHAVIOUR) -> Spec:
    path = folder / "Small.tla"
    path.write_text(f"---- MODULE Small ----\n{HEAD}{definitions}\n====\n")
    path.with_suffix(".cfg").write_text(cfg)
    return load_spec(path, path.with_suffix(".cfg"), cache_dir=folder / "cache")


# ---- Expressions ----

EXPRESSIONS = {
    "1.5": "DecimalNode",
    "1 / 2": "/ of the module Reals",
    "Infinity": "Infinity of the module Reals",
    "CHOOSE r \\in Real : r > 1": "Real of the module Reals",
    "LET N == INSTANCE Naturals IN N!Nat": "N!Nat of the module Naturals",
    "LET N == INSTANCE Integers IN 1 \\in N!Int": "N!Int of the module Integers",
    "3000000000": "more than 32 bits",
    "CHOOSE v : v \\notin {1}": "CHOOSE without a bound",
    "IF \\E v : v = 1 THEN 1 ELSE 0": "UnboundedExists",
    "IF \\A v : v = 1 THEN 1 ELSE 0": "UnboundedForall",
    'TLCGet("duration")': "TLCGet.*duration.* is not supported",
    "RandomElement({1, 2})": "RandomElement of the module TLC",
    "JavaTime": "JavaTime of the module TLC",
    "Any": "Any of the module TLC",
}


@pytest.fixture(scope="module")
def expressions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a module that has an action, of three lines, for each of the expressions."""
    return tmp_path_factory.mktemp("expressions")


@pytest.mark.parametrize(
    ("expression", "said"), sampled(EXPRESSIONS.items(), list(EXPRESSIONS.items())[::3]), ids=list(EXPRESSIONS)
)
def test_an_expression_outside_the_subset_is_refused_by_module_and_line(
    expression: str, said: str, expressions: Path
) -> None:
    actions = [f"Next{number} ==\n  /\\ y' = y\n  /\\ x' = {each}" for number, each in enumerate(EXPRESSIONS)]
    number = list(EXPRESSIONS).index(expression)
    with pytest.raises(CompileError, match=rf"Small\.tla:{FIRST + 3 + 3 * number}:.* .*{said}"):
        load(
            expressions,
            "\n".join(["CONSTANT Given", *actions]),
            f"CONSTANT Given = given\nINIT Init\nNEXT Next{number}",
        )


def test_an_expression_outside_the_subset_that_nothing_needs_does_no_harm(tmp_path: Path) -> None:
    spec = load(tmp_path, "Half == 1 / 2\nLive == <>(x = 1)\nTHEOREM Init => Live")
    assert [state.x for state in spec.initial_states()] == [0]
    with pytest.raises(CompileError, match=rf"Small\.tla:{FIRST}: .*Reals"):
        spec.evaluate("Half")
    with pytest.raises(CompileError, match=rf"Small\.tla:{FIRST + 1}: <> is not supported"):
        spec.evaluate("Live", next(spec.initial_states()))


# ---- Actions and formulas ----

#: A definition, whose name ends in ``0``, and those it uses; the cfg; and the message.
FORMULAS = {
    ("Next0 == Step \\cdot Step", "INIT Init\nNEXT Next0"): r"\\cdot is not supported",
    ('Next0 == TLCSet("exit", TRUE) /\\ Step', "INIT Init\nNEXT Next0"): "TLCSet.*exit.* is not supported",
    ("Next0 == \\E v : x' = v /\\ y' = y", "INIT Init\nNEXT Next0"): "UnboundedExists",
    ("Start0 == x' = 0 /\\ y = 0", "INIT Start0\nNEXT Step"): "the INIT Start0 speaks of the next state",
    ("Spec0 == \\EE z : Init /\\ [][Step]_vars", "SPECIFICATION Spec0"): r"Spec0 should be Init /\\ \[\]\[Next\]_vars",
    ("Spec0 == [][Step]_vars", "SPECIFICATION Spec0"): r"Spec0 should be Init /\\ \[\]\[Next\]_vars",
    ("P0 == <>(x = 1)", BEHAVIOUR + "INVARIANT P0"): "the INVARIANT P0 is a temporal formula",
    ("P0 == [](x = 1)", BEHAVIOUR + "INVARIANT P0"): "the INVARIANT P0 is a temporal formula",
    ("P0 == (x = 0) ~> (x = 1)", BEHAVIOUR + "INVARIANT P0"): "the INVARIANT P0 is a temporal formula",
    ("P0 == WF_vars(Step)", BEHAVIOUR + "INVARIANT P0"): "the INVARIANT P0 is a temporal formula",
    ("P0 == \\AA z : z = x", BEHAVIOUR + "INVARIANT P0"): "the INVARIANT P0 is a temporal formula",
    ("P0 == x' = x", BEHAVIOUR + "INVARIANT P0"): "the INVARIANT P0 speaks of the next state",
    ("P0 == [][Q(LAMBDA v : v') = x]_x", BEHAVIOUR + "PROPERTY P0"): "primes its parameter",
    ("f0(v) == v' # v Next0 == Step /\\ Q(f0)", "INIT Init\nNEXT Next0"): "primes its parameter",
    ("Next0 == Step /\\ LET f(v) == v' # v IN Q(f)", "INIT Init\nNEXT Next0"): "primes its parameter",
    ("P0 == Q(LAMBDA v : v') = x", BEHAVIOUR + "INVARIANT P0"): "primes its parameter",
    ("P0 == x' = x", BEHAVIOUR + "CONSTRAINT P0"): "the CONSTRAINT P0 speaks of the next state",
    ("P0 == x'", BEHAVIOUR + "VIEW P0"): "the VIEW P0 speaks of the next state",
    ("P0 == x' = x", BEHAVIOUR + "PROPERTY P0"): "the PROPERTY P0 asks of the first state speaks of the next state",
    ("P0 == <>(x = 1)", BEHAVIOUR + "ACTION_CONSTRAINT P0"): "the ACTION_CONSTRAINT P0 is a temporal formula",
}
HIGHER_ORDER = "Q(F(_)) == F(x)"


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a module that has each of the formulas, in lines of their own."""
    return tmp_path_factory.mktemp("formulas")


@pytest.mark.parametrize(
    ("written", "said"),
    sampled(FORMULAS.items(), list(FORMULAS.items())[::3]),
    ids=[written[0] for written in FORMULAS],
)
def test_a_formula_outside_the_subset_is_refused_by_module_and_line(
    written: tuple[str, str], said: str, formulas: Path
) -> None:
    def named(text: str, number: int) -> str:
        return re.sub(r"\b([A-Za-z]+)0\b", rf"\g<1>{number}", text)

    lines = [HIGHER_ORDER, *(named(definition, 10 + number) for number, (definition, _) in enumerate(FORMULAS))]
    number = list(FORMULAS).index(written)
    line, said = FIRST + 1 + number, named(said, 10 + number)
    with pytest.raises(CompileError, match=rf"Small\.tla:{line}:.* .*{said}"):
        load(formulas, "\n".join(lines), named(written[1], 10 + number))


def test_an_assumption_outside_the_subset_is_refused_by_module_and_line(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=rf"Small\.tla:{FIRST}: .*UnboundedForall"):
        load(tmp_path, "ASSUME \\A v : v = v")


def test_an_expression_refused_in_another_module_is_reported_with_that_module(tmp_path: Path) -> None:
    (tmp_path / "Deep.tla").write_text(
        "---- MODULE Deep ----\nEXTENDS Reals\nCONSTANT K\nFine == K\n\nHalf == K / 2\n====\n"
    )
    with pytest.raises(CompileError, match=r"Deep\.tla:6: / of the module Reals"):
        load(tmp_path, "D == INSTANCE Deep WITH K <- 4\nNext == x' = D!Half /\\ y' = y", "INIT Init\nNEXT Next")


def test_a_module_that_sany_refuses_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SanyError, match=r"not of form \[A\]_v") as caught:
        load(tmp_path, "Next == []Step")
    assert caught.value.line == FIRST


# ---- Temporal properties: what is checked of whole behaviours and what no search checks, with its place ----

UNCHECKED = (
    "[](x = 0) -+-> [](y = 0)",
    "\\AA z : [](z = x)",
    "\\EE z : [](z = x)",
    "<>(\\EE z : [](z = x))",
    "\\A k \\in {x} : <>(y = k)",
    "\\E k \\in {0, 1} : \\A l \\in {k, y} : <>(x = l)",
)
CHECKED = (
    "<>(x = 1)",
    "(x = 0) ~> (x = 1)",
    "[]<>(x = 1)",
    "[](x = 0 => <>(x = 1))",
    "[]<><<Step>>_vars",
    "WF_vars(Step)",
    "SF_vars(Step)",
    "~[](x = 1)",
    "[](x = 0) \\/ [](y = 0)",
    "(x = 0) => [](y = 0)",
    "\\A k \\in {0, 1} : [](x # k + 5)",
    "\\E k \\in {0, 1} : \\E l \\in {k}, o \\in {1} : \\A m \\in {k, l} : <>(x = m)",
    "Later",
)
TEMPORAL = (*UNCHECKED, *CHECKED)


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a module that has a property, of three lines, for each of the temporal formulas."""
    return tmp_path_factory.mktemp("properties")


@pytest.mark.parametrize("formula", sampled(TEMPORAL, TEMPORAL[::3]))
def test_a_temporal_property_is_listed_with_module_and_line_checked_or_not(formula: str, properties: Path) -> None:
    conjunctions = [
        f"P{number} == /\\ x = 0\n       /\\ [](y = 0)\n       /\\ {each}" for number, each in enumerate(TEMPORAL, 10)
    ]
    number = TEMPORAL.index(formula)
    name = f"P{number + 10}"
    spec = load(properties, "\n".join(["Later == <>(y = 1)", *conjunctions]), BEHAVIOUR + f"PROPERTY {name}")
    listed, other = (spec.unchecked, spec.temporal) if formula in UNCHECKED else (spec.temporal, spec.unchecked)
    (place,) = listed[name]
    assert other == {}
    line = FIRST if formula == "Later" else FIRST + 3 + 3 * number
    assert place.startswith(f"Small.tla:{line}:")
    assert (list(spec.initial_properties), list(spec.invariants)) == ([name], [name])


def test_fairness_in_the_specification_is_no_property_and_needs_no_check(tmp_path: Path) -> None:
    spec = load(tmp_path, "Spec == Init /\\ [][Step]_vars /\\ WF_vars(Step)", "SPECIFICATION Spec")
    assert spec.unchecked == spec.temporal == {}
    (start,) = spec.initial_states()
    assert [after.x for _, _, after in spec.successors(start)] == [1]


def test_a_property_is_not_checked_under_an_assumption_that_no_search_can_follow(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "Spec == Init /\\ [][Step]_vars /\\ ([](x = 0) -+-> [](y = 0))\nLive == <>(x = 1)",
        "SPECIFICATION Spec\nPROPERTY Live",
    )
    assert (list(spec.unchecked), spec.temporal) == (["Live"], {})


def test_a_temporal_property_outside_the_subset_is_refused_by_module_and_line(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=rf"Small\.tla:{FIRST}: .*Reals"):
        load(tmp_path, "Live == <>(1 / 2 = x)", BEHAVIOUR + "PROPERTY Live")
