"""Made-up models with constraints, a view, symmetry and properties: both engines end at one place and say the same.

A model of three variables has some of: two CONSTRAINTs, an ACTION_CONSTRAINT, a VIEW, SYMMETRY, invariants, properties
of the first state, of every state, of steps, and of whole behaviours.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.models.search import SearchResult, explore_compiled, explore_with_tlc
from tla_terms import SEED

#: How many models every run compares, how many the nightly one does besides, and how many of these are one test.
FEW, MANY, BATCH = 2, 2_000, 50

STATES = (
    "x < {k}",
    "y # x",
    "x + y < {k}",
    "~(x = {k} /\\ y = {j})",
    "x # {k}",
    "y < {k}",
    "n \\in A",
    "(x = y => x < {k})",
    "(n = c \\/ x < {k})",
)
STEPS = ("x' >= x", "x' # x", "y' = y", "x' + y' < {k}", "n' = n", "x' = x + 1 \\/ y' # y", "n' # n => x' = x")
ACTIONS = (
    "x < {k} /\\ x' = x + 1 /\\ UNCHANGED <<y, n>>",
    "x' = (x + 1) % {m} /\\ UNCHANGED <<y, n>>",
    "y' \\in 0..{j} /\\ x' = x /\\ n' = n",
    "x > 1 /\\ x' = 0 /\\ y' = y + 1 /\\ y < {k} /\\ n' = n",
    "\\E m \\in A : m # n /\\ n' = m /\\ UNCHANGED <<x, y>>",
    "x = {k} /\\ y = {j} /\\ x' = 0 /\\ y' = 0 /\\ n' \\in A",
    "x' = x /\\ y' = 1 - y /\\ n' = n",
)
STARTS = ("x = 0 /\\ y = 0", "x \\in 0..{j} /\\ y = 0", "x \\in {{0, {k}}} /\\ y \\in {{1, 0}}")
VIEWS = ("x", "<<x, n>>", "<<x, y % 2, n>>", "x + y")


class Maker:
    """Writes a model and its cfg, one choice after the other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.entries = ["CONSTANT A = {a1, a2, a3}"]

    def pick(self, made: tuple[str, ...]) -> str:
        numbers = {name: self.random.randrange(*ends) for name, ends in {"k": (1, 4), "j": (0, 3), "m": (2, 5)}.items()}
        return self.random.choice(made).format(**numbers)

    def maybe(self, name: str, entry: str, formula: str, chance: float) -> bool:
        if (chosen := self.random.random() < chance) is True:
            self.lines.append(f"{name} == {formula}")
            self.entries.append(f"{entry} {name}")
        return chosen

    def write(self, folder: Path) -> tuple[Path, Path]:
        symmetric = self.random.random() < 0.5
        self.entries.append("CONSTANT c = other" if symmetric else "CONSTANT c = a1")
        self.lines.append(f"Init == n \\in A /\\ {self.pick(STARTS)}")
        self.lines += ["Next =="] + [f"  \\/ {self.pick(ACTIONS)}" for _ in range(self.random.randrange(1, 4))]
        self.maybe("Con", "CONSTRAINT", self.pick(STATES), 0.5)
        self.maybe("More", "CONSTRAINT", self.pick(STATES), 0.15)
        self.maybe("Stays", "ACTION_CONSTRAINT", self.pick(STEPS), 0.3)
        merged = self.maybe("Seen", "VIEW", self.pick(VIEWS), 0.35)
        merged |= self.maybe("Same", "SYMMETRY", "Permutations(A)", 0.5 * symmetric)
        self.maybe("Inv", "INVARIANT", self.pick(STATES), 0.6)
        self.maybe("Also", "INVARIANT", self.pick(STATES), 0.3)
        self.maybe("First", "PROPERTY", self.pick(STATES), 0.3)
        self.maybe("Always", "PROPERTY", f"[]({self.pick(STATES)})", 0.3)
        self.maybe("Moves", "PROPERTY", f"[][{self.pick(STEPS)}]_<<x, y, n>>", 0.5)
        self.maybe("Both", "PROPERTY", f"{self.pick(STATES)} /\\ [][{self.pick(STEPS)}]_<<x, y, n>>", 0.2)
        self.maybe("Ends", "PROPERTY", f"<>({self.pick(STATES)})", 0.3 * (not merged))
        self.random.shuffle(self.entries)
        head = ["---- MODULE M ----", "EXTENDS Integers, TLC", "CONSTANTS A, c", "VARIABLES x, y, n"]
        (folder / "M.tla").write_text("\n".join([*head, *self.lines, "====", ""]))
        (folder / "M.cfg").write_text("\n".join([*self.entries, "INIT Init", "NEXT Next", ""]))
        return folder / "M.tla", folder / "M.cfg"


def of_behaviours(found: SearchResult) -> bool:
    return "temporal propert" in found.reason


def compare(seed: int, folder: Path) -> Verdict:
    """Ask both engines about a made-up model; answer the verdict of both."""
    maker = Maker(seed)
    files, deadlock = maker.write(folder), maker.random.random() < 0.6
    ours = explore_compiled(*files, deadlock=deadlock, max_states=3_000)
    theirs = explore_with_tlc(*files, deadlock=deadlock)
    assert ours.verdict is theirs.verdict is not Verdict.MALFORMED, (ours.reason, theirs.reason)
    for one, other in (
        (ours.distinct, theirs.distinct),
        (ours.generated, theirs.generated),
        (ours.depth, theirs.depth),
    ):
        assert other in (one, None)  # TLC counts nothing where it stops at an initial state
    if of_behaviours(theirs):  # of which TLC does not say which it is, nor finds the same lasso
        assert of_behaviours(ours)
        return ours.verdict
    assert (ours.reason, ours.property) == (theirs.reason, theirs.property)
    steps = [None if each.counterexample is None else len(each.counterexample.steps) for each in (ours, theirs)]
    assert steps[0] == steps[1]
    return ours.verdict


@pytest.mark.parametrize("seed", range(FEW))
def test_both_engines_say_the_same_of_a_made_up_model(seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(FEW, FEW + MANY, BATCH))
def test_both_engines_say_the_same_of_thousands_of_made_up_models(first: int, tmp_path: Path) -> None:
    """`LOCKSTEP_SEED` gives other models than those of every night."""
    found = []
    for seed in range(first, first + BATCH):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.append(compare(SEED * MANY + seed, folder))
    assert {Verdict.HOLDS, Verdict.VIOLATED} <= {*found}
