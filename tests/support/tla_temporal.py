"""Made-up specs with fairness and temporal properties, written as TLA+, of the kinds that TLC can check.

A spec has two variables with values from 0 to 2, actions of which Next has most, and assumptions about its behaviours.
What TLC refuses is not made: an action stands beneath `[]<>` or `<>[]` alone, no quantifier over such is negated, and
there is no `<=>` between temporal formulas.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ACTIONS = (
    "x < 2 /\\ x' = x + 1 /\\ y' = y",
    "x > {i} /\\ x' = x - 1 /\\ y' = y",
    "x' = 0 /\\ y' = (y + 1) % 3",
    "x = y /\\ x' \\in 0..2 /\\ y' = y",
    "y' = 1 - (x % 2) /\\ x' = x",
    "x = {k} /\\ y' \\in {{0, {j}}} /\\ x' = (x + {i}) % 3",
    "UNCHANGED x /\\ y # x /\\ y' = x",
    "x > 5 /\\ UNCHANGED <<x, y>>",
    "\\/ x = {k} /\\ x' = {j} /\\ y' = y\n      \\/ y = {j} /\\ y' = {k} /\\ x' = x",
)
OF_ONE = (
    "x # c /\\ x' = c /\\ y' = y",
    "y = c /\\ y' = (c + 1) % 3 /\\ UNCHANGED x",
    "x + y > c /\\ x' = 0 /\\ y' \\in {{c, {k}}}",
)
PREDICATES = (
    "x = {k}",
    "y = {k}",
    "x < {k}",
    "x # y",
    "x + y > {k}",
    "(y = {j} => x = {k})",
    "ENABLED <<{a}>>_vars",
    "~ENABLED ({a})",
)
STARTS = ("x = 0 /\\ y = 0", "x \\in 0..1 /\\ y = {k}", "x = {k} /\\ y \\in {{0, {j}}}")
SUBSCRIPTS = ("vars", "vars", "x", "<<y>>")
CONSTRAINTS = ("x + y < 4", "x # {k} \\/ y # {j}")


@dataclass(frozen=True)
class TemporalSpec:
    """A spec: the text of its module, M, its properties by name, and whether it has a CONSTRAINT."""

    text: str
    properties: dict[str, str]
    constrained: bool

    def write(self, folder: Path, *names: str) -> tuple[Path, Path]:
        """Write the module, and a cfg that asks for some of the properties."""
        (folder / "M.tla").write_text(self.text)
        cfg = folder / f"{'_'.join(names)}.cfg"
        lines = ["SPECIFICATION Spec", *(["CONSTRAINT Con"] if self.constrained else [])]
        cfg.write_text("\n".join([*lines, *(f"PROPERTY {name}" for name in names), ""]))
        return folder / "M.tla", cfg


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.actions = [f"A{number}" for number in range(1, 4)]

    def pick(self, made: tuple[str, ...]) -> str:
        i, j, k = (self.random.randrange(3) for _ in range(3))
        return self.random.choice(made).format(i=i, j=j, k=k, a=self.action())

    def action(self) -> str:
        return self.random.choice([*self.actions, "B(1)", "Next"])

    def predicate(self) -> str:
        return self.pick(PREDICATES)

    def of_steps(self, action: str) -> str:
        by = self.random.choice(SUBSCRIPTS)
        made = ("WF_{v}({a})", "SF_{v}({a})", "[]<><<{a}>>_{v}", "<>[][{a}]_{v}")
        return self.random.choice(made).format(a=action, v=by)

    def either(self, ways: list[Callable[[], str]]) -> str:
        return self.random.choice(ways)()

    def of_states(self, depth: int) -> str:
        """Make a temporal formula without an action, which may stand anywhere."""
        if depth == 0:
            return self.predicate()

        def less() -> str:
            return self.of_states(depth - 1)

        return self.either(
            [
                lambda: f"[]<>({less()})",
                lambda: f"<>[]({less()})",
                lambda: f"<>({less()})",
                lambda: f"[]({self.predicate()} => {less()})",
                lambda: f"(({less()}) ~> ({less()}))",
                lambda: f"(({less()}) /\\ <>({less()}))",
                lambda: f"(({less()}) \\/ []({less()}))",
                lambda: f"~({less()})",
            ]
        )

    def formula(self, depth: int) -> str:
        """Make a temporal formula, with actions where TLC takes them."""
        if depth == 0:
            return self.either([lambda: self.of_steps(self.action()), lambda: self.of_states(1)])

        def less() -> str:
            return self.formula(depth - 1)

        return self.either(
            [
                lambda: self.of_states(2),
                lambda: self.of_states(2),
                lambda: f"({less()}) /\\ ({less()})",
                lambda: f"({less()}) \\/ ({less()})",
                lambda: f"({self.of_states(1)}) => ({less()})",
                lambda: f"({self.of_steps(self.action())}) => ({less()})",
                lambda: f"~({self.of_states(2)})",
                lambda: f"~{self.of_steps(self.action())}",
                lambda: f"\\A c \\in 0..1 : {self.of_steps('B(c)')} /\\ (x = c ~> {self.predicate()})",
                lambda: f"\\E c \\in 0..2 : []<>(y = c) \\/ {self.of_steps('B(c)')}",
                lambda: f"IF {self.predicate()} THEN {less()} ELSE {less()}",
                lambda: f"LET Q{depth} == {self.predicate()} IN [](Q{depth} => <>~Q{depth}) \\/ ({less()})",
            ]
        )

    def assumption(self) -> str:
        return self.either(
            [
                lambda: f"WF_vars({self.action()})",
                lambda: f"SF_vars({self.action()})",
                lambda: f"(\\A c \\in 0..1 : {self.random.choice(['WF', 'SF'])}_vars(B(c)))",
                lambda: self.of_steps(self.action()),
                lambda: f"[]<>({self.predicate()})",
                lambda: f"({self.predicate()} ~> {self.predicate()})",
            ]
        )


def made_up_spec(seed: int, properties: int) -> TemporalSpec:
    """Make a spec of a number, with so many temporal properties named P0, P1, ..."""
    maker = _Maker(seed)
    taken = maker.random.sample(maker.actions, maker.random.randrange(1, 4))
    assumed = [maker.assumption() for _ in range(maker.random.choice((0, 1, 1, 2, 2, 3)))]
    made = {f"P{number}": maker.formula(maker.random.randrange(3)) for number in range(properties)}
    lines = ["---- MODULE M ----", "EXTENDS Naturals", "VARIABLES x, y", "vars == <<x, y>>"]
    lines += [f"Init == {maker.pick(STARTS)}", *(f"{name} == {maker.pick(ACTIONS)}" for name in maker.actions)]
    steps = [*taken, *(["\\E c \\in 0..1 : B(c)"] if maker.random.random() < 0.6 else [])]
    lines += [f"B(c) == {maker.pick(OF_ONE)}", "Next == " + " \\/ ".join(steps)]
    lines += [f"Con == {maker.pick(CONSTRAINTS)}", " /\\ ".join(["Spec == Init /\\ [][Next]_vars", *assumed])]
    lines += [*(f"{name} == {formula}" for name, formula in made.items()), "====", ""]
    return TemporalSpec("\n".join(lines), made, maker.random.random() < 0.15)
