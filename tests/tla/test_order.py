"""Successors come in TLC's order, so that at a violation counts, depth and what is violated are TLC's as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.tla.explore import explore
from lockstep.tla.loading.load import load_spec
from lockstep.tlc import TlcOptions, run_tlc
from sampling import sampled

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

#: One of each kind in every run.
SAMPLE = (
    "a quantifier within a quantifier",
    "a LET between the quantifier and the actions",
    "a deadlock where a sibling was found already",
    "a violation when the next level has begun",
)


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
