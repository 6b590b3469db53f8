"""Why a property is false: the part of its formula that is, what quantifiers bind there, and both sides."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lockstep.jobs.view.trace_view import view_trace
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from tests.support.places import ROOT
from tests.support.sampling import sampled

MODULE = """---- MODULE Why ----
EXTENDS Integers, Sequences
VARIABLES x, log
Init == x = 0 /\\ log = <<>>
Next == x' = x + 1 /\\ log' = Append(log, x)
Small(limit) == x < limit
Every == \\A i \\in 1..2 : \\A j \\in {5, 6} : i + j <= x => x > 10 /\\ x > 20
Defined == Small(3)
Either == Small(1) \\/ x = 9
Chosen == IF x > 2 THEN log = <<>> ELSE TRUE
Let == LET half == x \\div 2 IN half < 2
Guarded == Len(log) > 7 /\\ log[8] = 1
Typed == x \\in Nat \\ {4}
Last == x \\in 0..Len(<<x>>)
Negated == ~(x = 4)
Some == \\E i \\in 1..2 : i = x
Rises == [][x' < x /\\ log' = log]_<<x, log>>
====
"""
NAMES = ("Every", "Defined", "Either", "Chosen", "Let", "Guarded", "Typed", "Last", "Negated", "Some")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    module = tmp_path_factory.mktemp("why") / "Why.tla"
    module.write_text(MODULE, encoding="utf-8")
    invariants = "".join(f"  {name}\n" for name in NAMES)
    cfg = f"INIT Init\nNEXT Next\nINVARIANTS\n{invariants}PROPERTY Rises\n"
    module.with_suffix(".cfg").write_text(cfg, encoding="utf-8")
    return load_spec(module, module.with_suffix(".cfg"))


def reasons(spec: Spec, name: str, x: int, after: int | None = None) -> list[list[str]]:
    """The parts that are false, each as its text, its sides and what is bound, without its place."""
    states = [spec.state({"x": each, "log": tuple(range(each))}) for each in (x, after) if each is not None]
    lines = [str(each).splitlines() for each in spec.explain_property(name, states[-2] if after else None, states[-1])]
    return [[first.partition(": ")[2], *map(str.strip, others)] for first, *others in lines]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Every", [["x > 20", "left:  11", "right: 20", "with i = 1", "with j = 5"]]),
        ("Defined", [["x < limit", "left:  11", "right: 3"]]),
        ("Either", [["x < limit", "left:  11", "right: 1"], ["x = 9", "left:  11", "right: 9"]]),
        ("Chosen", [["log = <<>>", f"left:  <<{', '.join(map(str, range(11)))}>>", "right: <<>>"]]),
        ("Let", [["half < 2", "left:  5", "right: 2"]]),
        ("Guarded", [["log[8] = 1", "left:  7", "right: 1"]]),
        ("Last", [["x \\in 0..Len(<<x>>)", "left:  11", "right: {0, 1}"]]),
        ("Some", [["\\E i \\in 1..2 : i = x"]]),
    ],
)
def test_the_first_part_that_is_false_comes_with_its_sides(spec: Spec, name: str, parts: list[list[str]]) -> None:
    assert reasons(spec, name, 11) == parts


def test_a_conjunct_behind_a_false_one_is_not_evaluated(spec: Spec) -> None:
    assert reasons(spec, "Guarded", 4) == [["Len(log) > 7", "left:  4", "right: 7"]]


def test_a_set_that_may_be_a_type_is_not_listed(spec: Spec) -> None:
    assert reasons(spec, "Typed", 4) == [["x \\in Nat \\ {4}", "left:  4"]]
    assert reasons(spec, "Negated", 4) == [["~(x = 4)", "left:  4", "right: 4"]]


def test_a_property_of_steps_is_explained_with_both_states(spec: Spec) -> None:
    assert reasons(spec, "Rises", 1, 2) == [["x' < x", "left:  2", "right: 1"]]
    assert reasons(spec, "Rises", 2) == []


def test_a_property_that_is_true_has_no_explanation(spec: Spec) -> None:
    holding = {"Every": 5, "Defined": 2, "Either": 9, "Chosen": 0, "Let": 3, "Typed": 5, "Last": 0, "Some": 2}
    assert {name: reasons(spec, name, x) for name, x in holding.items()} == {name: [] for name in holding}


@pytest.mark.parametrize(
    "file", sampled(["dledger/push/late_truncate", "hashicorp/elections/torn_vote"], ["dledger/push/late_truncate"])
)
def test_the_entry_that_is_lost_is_named_where_it_is_lost_and_nowhere_before(file: str) -> None:
    behaviour, context = view_trace(ROOT / "traces" / "counterexamples" / f"{file}.trace.ndjson", {})
    (remark,) = behaviour.remarks
    assert any(line.startswith("  with c = [entry |-> ") for line in remark.lines)
    assert any(line.startswith("  left:  ") for line in remark.lines)
    name = next(name for name in behaviour.properties if name in remark.title)
    explain_property = context.spec.explain_property
    states = [None, *(context.spec.state(step.state) for step in behaviour.steps)]
    explained = [
        place
        for place, (before, after) in enumerate(pairwise(states))
        if after and explain_property(name, before, after)
    ]
    assert explained == [step.number for step in behaviour.steps if name in step.failed]
