"""Successors come in TLC's order, so that at a violation counts, depth and what is violated are TLC's as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.values.kinds import TlaError
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc import TlcOptions, dump_state_graph, run_tlc
from tests.support.sampling import sampled

# Each is a module's body, its invariants, and what TLC finds violated in it ("" for a deadlock).
BODIES = {
    "each element has its own disjunction": (
        "A(i) == x' = 10 * i\nB(i) == x' = 10 * i + 1\nInit == x = 0\n"
        "Next == x = 0 /\\ \\E i \\in 1..3 : A(i) \\/ B(i)\nFirst == x # 11\nSecond == x # 20",
        ("Second", "First"),
        "First",
    ),
    "a disjunction of quantifiers": (
        "A(i) == x' = 10 * i\nB(i) == x' = 10 * i + 1\nInit == x = 0\n"
        "Next == (\\E i \\in 1..3 : A(i)) \\/ (\\E i \\in 1..3 : B(i))\nFirst == x # 11\nSecond == x # 20",
        ("First", "Second"),
        "Second",
    ),
    "a quantifier within a quantifier": (
        "A(i) == x' = 10 * i\nB(i, j) == x' = 10 * i + j\nInit == x = 0\n"
        "Next == \\E i \\in 1..3 : A(i) \\/ (\\E j \\in 4..5 : B(i, j)) \\/ x' = 10 * i + 7\n"
        "First == x # 17\nSecond == x # 20\nThird == x # 35",
        ("Third", "Second", "First"),
        "First",
    ),
    "a definition between the quantifier and the actions": (
        "A(i) == x' = 10 * i\nB(i) == x' = 10 * i + 1\nStep(i) == A(i) \\/ B(i)\nInit == x = 0\n"
        "Next == \\/ x' = 5\n        \\/ \\E i \\in 1..3 : Step(i)\n        \\/ x' = 6\n"
        "First == x # 21\nSecond == x # 30\nThird == x # 6",
        ("Third", "Second", "First"),
        "First",
    ),
    "a LET between the quantifier and the actions": (
        "A(i) == x' = 10 * i\nB(i) == x' = 10 * i + 1\nInit == x = 0\n"
        "Next == \\E i \\in 1..3 : LET j == i + 1 IN A(j) \\/ B(j)\nFirst == x # 21\nSecond == x # 30",
        ("Second", "First"),
        "First",
    ),
    "two variables of one quantifier": (
        "A(i, j) == x' = 10 * i + j\nB(i, j) == x' = 100 * i + j\nInit == x = 0\n"
        "Next == \\E i, j \\in 1..2 : A(i, j) \\/ B(i, j)\nFirst == x # 101\nSecond == x # 12",
        ("Second", "First"),
        "First",
    ),
    "a deadlock where a sibling was found already": (
        "Init == x \\in {1, 2}\nNext == x = 1 /\\ x' = 5",
        (),
        "",
    ),
    "a deadlock at the end of the only behaviour": (
        "Init == x = 0\nNext == x < 3 /\\ x' = x + 1",
        (),
        "",
    ),
    "a violation when the next level has begun": (
        "Init == x \\in 0..2\nNext == x' = x + 3\nFirst == x # 8",
        ("First",),
        "First",
    ),
}

#: A violation in every run; deadlocks at night.
SAMPLE = ("a quantifier within a quantifier",)


@pytest.mark.parametrize("name", sampled(BODIES, SAMPLE))
def test_counts_depth_and_name_at_a_violation_are_those_of_tlc(name: str, tmp_path: Path) -> None:
    body, invariants, violated = BODIES[name]
    module, cfg = tmp_path / "Order.tla", tmp_path / "Order.cfg"
    module.write_text(f"---- MODULE Order ----\nEXTENDS Integers\nVARIABLE x\n{body}\n====\n")
    cfg.write_text("INIT Init\nNEXT Next\n" + "".join(f"INVARIANT {each}\n" for each in invariants))
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))
    result = run_tlc(module, cfg, TlcOptions(deadlock_check=True, is_short=True))
    assert found.violation is not None
    assert result.violation is not None
    assert result.counterexample is not None
    assert found.violation.name == (result.violation.name or "") == violated
    assert (found.generated, found.distinct, found.depth) == (result.generated, result.distinct, result.depth)
    assert [str(step.state.x) for step in found.violation.trace] == [
        step.variables["x"] for step in result.counterexample.steps
    ]


QUANTIFIERS = """A(i, j) == x = 0 /\\ x' = 100 * i + j
B(i, j) == x = 0 /\\ x' = 1000 * i + j
Few == IF x = 0 THEN {1, 2} ELSE {}
Init == x = 0
Next == \\/ \\E i, j \\in 1..2 : A(i, j) \\/ B(i, j)
        \\/ \\E i \\in 3..4, j \\in 1..2 : A(i, j) \\/ B(i, j)
        \\/ \\E i, j \\in Few : x = 0 /\\ x' = 5000 * i + j
        \\/ \\E i \\in Few, j \\in 3..4 : x = 0 /\\ x' = 5000 * i + j
        \\/ x = 0 /\\ \\E i, j \\in 1..2, k \\in 5..6 : x' = 30000 * i + j + 10 * k
        \\/ \\E <<i, j>> \\in Few \\X Few, k \\in 7..8 : x = 0 /\\ x' = 30000 * i + j + 10 * k"""
NAMES = """CONSTANTS a, b, z, y, m, k
S == {"zz", "aa"}
R == [q : {b, z, a}, f : {2, 1}, p : {y, m}]
Next == UNCHANGED x
"""
SETS_MADE_OF_OTHERS = (
    NAMES
    + """Init == \\/ x \\in [{z, b} -> {y, a, k}]
        \\/ x \\in R
        \\/ x \\in [{b, a} -> [w : {z, a}, c : {"q", "zz", "b"}]]
        \\/ x \\in {z, a} \\X {"zz", "aa", "b"} \\X {3, 1}
        \\/ x \\in SUBSET {b, z, a, y}
        \\/ x \\in SUBSET (S \\X {z, a})
        \\/ x \\in [S -> SUBSET {y, b}]"""
)
PARTS_OF_SUCH_SETS = (
    NAMES
    + """Init == \\/ x \\in {f \\in [{z, b} -> {y, a, k}] : f[z] # a}
        \\/ x \\in {r \\in R : r.q # z}
        \\/ x \\in (SUBSET {b, z, a, y}) \\ {{}}
        \\/ x \\in (SUBSET {b, z}) \\cup (SUBSET {a, y})
        \\/ x \\in {u \\in SUBSET {b, z, a, y} : z \\in u}
        \\/ x \\in UNION {[{z} -> {y, a}], [{a} -> {y, b}]}
        \\/ x \\in {[n |-> p, l |-> q] : p \\in {y, a}, q \\in {"zz", "aa", "b"}}
        \\/ \\E p \\in {z, b}, q \\in [{z} -> {y, a}] : x = <<p, q>>
        \\/ \\E p, q \\in SUBSET {z, b} : x = <<q, p>>"""
)
CONSTANTS = "CONSTANTS z = z y = y b = b m = m a = a k = k\n"


ORDERED = ((QUANTIFIERS, ""), (SETS_MADE_OF_OTHERS, CONSTANTS), (PARTS_OF_SUCH_SETS, CONSTANTS))


@pytest.mark.parametrize(
    ("body", "constants"),
    sampled(ORDERED, ORDERED[2:]),
    ids=["quantifiers of several variables", "sets made of others", "parts of such sets"],
)
def test_states_are_found_in_the_order_of_tlc(body: str, constants: str, tmp_path: Path) -> None:
    module, cfg = tmp_path / "Order.tla", tmp_path / "Order.cfg"
    module.write_text(f"---- MODULE Order ----\nEXTENDS Integers\nVARIABLE x\n{body}\n====\n")
    cfg.write_text(f"{constants}INIT Init\nNEXT Next\n")
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    graph = dump_state_graph(module, cfg, TlcOptions(deadlock_check=False, is_short=True))
    theirs = [parse_value(variables["x"], tuple(spec.model_values)) for variables in graph.nodes.values()]
    assert [state.x for state in explore(spec, SearchOptions(check_deadlock=False)).states] == theirs


UNIONS = (
    "UNION {SUBSET {i, 5} : i \\in 1..2}",
    "UNION {SUBSET {7}, {{8}, {7}}}",
    "UNION {SUBSET {2, 1}, SUBSET {1}}",
    "UNION {SUBSET {i % 2} : i \\in 1..3}",
    "UNION {{{1}, {2}}, {{0}, {1}}}",
    "UNION {{{i}, {9}} : i \\in {3, 1}}",
    "UNION SUBSET {{1}, {2}}",
    "UNION {1..2, 2..3}",
    "UNION {1..i : i \\in 2..3}",
    "(SUBSET {5}) \\cup (SUBSET {2})",
    "(SUBSET {7}) \\cup {{8}, {7}}",
    "{{1}} \\cup (UNION {SUBSET {i} : i \\in 1..2})",
    "{s \\in UNION {SUBSET {i, 5} : i \\in 1..2} : 5 \\in s}",
    "(UNION {SUBSET {i} : i \\in 1..2}) \\ {{1}}",
    "(UNION {SUBSET {i} : i \\in 1..2}) \\cap SUBSET {1, 3}",
    "SUBSET UNION {SUBSET {i} : i \\in 1..2}",
    "[{1} -> UNION {SUBSET {i, 5} : i \\in 1..2}]",
    "{{1}} \\X UNION {SUBSET {i, 5} : i \\in 1..2}",
    "UNION {[1..n -> {n, 2}] : n \\in 0..2}",
    "UNION {[1..2 -> 1..2], [0..1 -> {3}]}",
    "{CHOOSE s \\in UNION {SUBSET {i, 5} : i \\in 1..2} : s # {} /\\ s # {1}}",
    "{CHOOSE s \\in SUBSET ((SUBSET {1}) \\cup (SUBSET {2})) : s # {}}",
    "UNION {UNION {SUBSET {i, 5} : i \\in 1..2}}",
    "{s \\in UNION {SUBSET (1..3), SUBSET (2..4)} : s \\subseteq {2, 3}}",
    "[(SUBSET {1}) \\cup (SUBSET {2}) -> {1, 2}]",
    "UNION {DOMAIN q : q \\in {<<1>>, <<1, 2>>}}",
    "UNION {DOMAIN q : q \\in {[f |-> 1], [f |-> 2, g |-> 2]}}",
    "UNION {Range(i) : i \\in 2..3}",
    "UNION {IF i = 2 THEN {3, 4} ELSE LET j == i + 1 IN 3..j : i \\in 2..3}",
    "UNION {IF i = 2 THEN {3, 4} ELSE {4, 6} : i \\in 2..3}",
    "UNION Ranges",
    "UNION {{1, 2}, {2, 3}}",
)
#: Sets that are listed in another order once their elements were counted.
COUNTED = (
    UNIONS[0],
    "{s \\in UNION {SUBSET {i, 5} : i \\in 1..2} : 5 \\in s}",
    "(UNION {SUBSET {i, 5} : i \\in 1..2}) \\ {{1}}",
    "(UNION {SUBSET {i, 5} : i \\in 1..2}) \\cap SUBSET {1, 5}",
    "(SUBSET {5}) \\cup (SUBSET {2})",
)


def test_an_element_in_two_parts_of_a_union_is_generated_twice(tmp_path: Path) -> None:
    """TLC keeps a union as what it was made of, unless all of that is listed, or its elements were counted."""
    counted = [
        f"Cardinality(Counted{number}) > 2 /\\ \\E s \\in Counted{number} : x' = <<{number + 90}, s>>"
        for number in range(len(COUNTED))
    ]
    steps = [f"\\E s \\in {union} : x' = <<{number}, s>>" for number, union in enumerate(UNIONS)]
    body = "Range(i) == 1..i\nRanges == {1..2, 2..3}\n"
    body += "".join(f"Counted{number} == {union}\n" for number, union in enumerate(COUNTED)) + "Init == x = <<>>\n"
    body += "Next == x = <<>> /\\ (" + "".join(f"\n  \\/ {step}" for step in [*steps, *counted]) + ")"
    module, cfg = tmp_path / "Order.tla", tmp_path / "Order.cfg"
    module.write_text(f"---- MODULE Order ----\nEXTENDS Integers, FiniteSets\nVARIABLE x\n{body}\n====\n")
    cfg.write_text("INIT Init\nNEXT Next\n")
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    options = TlcOptions(deadlock_check=False, is_short=True)
    found, graph = explore(spec, SearchOptions(check_deadlock=False)), dump_state_graph(module, cfg, options)
    result = graph.result
    assert result is not None
    assert (found.generated, found.distinct, found.depth) == (result.generated, result.distinct, result.depth)
    theirs = [parse_value(variables["x"], ()) for variables in graph.nodes.values()]
    assert [state.x for state in found.states] == theirs


def test_a_union_of_large_sets_lists_no_more_than_is_needed(tmp_path: Path) -> None:
    module = tmp_path / "Order.tla"
    body = "Init == x \\in {1}\nNext == \\E s \\in UNION {SUBSET (1..70), SUBSET (2..70)} : s = {} /\\ x' = 2"
    body += (
        "\nFound == {} \\in UNION {SUBSET (1..i) : i \\in 60..70} /\\ <<1>> \\in UNION {[1..i -> 1..9] : i \\in 0..50}"
    )
    module.write_text(f"---- MODULE Order ----\nEXTENDS Integers\nVARIABLE x\n{body}\n====\n")
    spec = load_spec(module, None, cache_dir=tmp_path / "cache")
    (start,) = spec.initial_states()
    assert spec.evaluate("Found", start) is True
    assert next(after.x for _, _, after in spec.successors(start)) == 2


MIXED = ('{{1, "a"}}', '{{}, {1, "a"}}', '{{i, "a"} : i \\in {1}}', '{{1}, {"a"}}')


@pytest.mark.parametrize("sets", sampled(MIXED, MIXED[3:]))
def test_a_union_of_what_cannot_be_compared_has_no_element_for_tlc_either(sets: str, tmp_path: Path) -> None:
    module, cfg = tmp_path / "Order.tla", tmp_path / "Order.cfg"
    text = f"VARIABLE x\nInit == x = (1 \\in UNION {sets})\nNext == UNCHANGED x"
    module.write_text(f"---- MODULE Order ----\n{text}\n====\n")
    cfg.write_text("INIT Init\nNEXT Next\n")
    with pytest.raises(TlaError, match="cannot be compared"):
        explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))
    result = run_tlc(module, cfg, TlcOptions(is_short=True))
    assert "Attempted to check equality" in result.output_tail, result.output_tail


def test_two_variables_over_one_unlisted_set_take_every_pair(tmp_path: Path) -> None:
    module = tmp_path / "Order.tla"
    body = "Init == x = {<<p, q>> : p, q \\in SUBSET {1}}\nNext == UNCHANGED x"
    module.write_text(f"---- MODULE Order ----\nVARIABLE x\n{body}\n====\n")
    (start,) = load_spec(module, None, cache_dir=tmp_path / "cache").initial_states()
    assert len(start.x) == 4


def test_the_parameters_of_an_action_are_in_the_order_of_their_quantifiers(tmp_path: Path) -> None:
    module = tmp_path / "Order.tla"
    body = "Go(i, j, k) == x' = i + j + k\nInit == x = 0\nNext == \\E i, j \\in 1..2, k \\in 5..6 : Go(i, j, k)"
    module.write_text(f"---- MODULE Order ----\nEXTENDS Integers\nVARIABLE x\n{body}\n====\n")
    spec = load_spec(module, None, cache_dir=tmp_path / "cache")
    (start,) = spec.initial_states()
    assert spec.actions["Go"].params == ("i", "j", "k")
    rows = [tuple(args.values()) for _, args, _ in spec.successors(start)]
    assert rows == [(i, j, k) for k in (5, 6) for j in (1, 2) for i in (1, 2)]
    assert sorted(rows) == sorted(tuple(args.values()) for args in spec.arguments(start, "Go"))
    assert all(spec.step(start, "Go", args) == after for _, args, after in spec.successors(start))
