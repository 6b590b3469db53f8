"""Made-up models of three variables, each with some of the entries that a cfg may have."""

from __future__ import annotations

import random
from pathlib import Path

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
