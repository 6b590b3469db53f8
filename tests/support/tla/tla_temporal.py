"""Made-up specs with fairness and temporal properties, written as TLA+, of the kinds that TLC can check.

A spec has two variables with values from 0 to 2, actions, most of them in Next, and assumptions about its behaviours.
What TLC refuses is not made: an action stands beneath `[]<>` or `<>[]` alone, no quantifier over such is negated, and
there is no `<=>` between temporal formulas.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

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


_Made = TypeVar("_Made")


class Formula(NamedTuple):
    """A formula in three forms: as it was made; an equal one with `~` before predicates alone; its negation.

    TLC 2.15 may find that one of two equal formulas holds and the other is violated.
    """

    made: str
    pushed: str
    negated: str


@dataclass(frozen=True)
class TemporalSpec:
    """A spec: the text of its module, M, its properties by name, and whether it has a CONSTRAINT.

    For each property P0 the module defines an equal one, P0Pushed, whose negations stand before predicates.
    """

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


# ---- Formulas of formulas ----


def _around(form: str, negated: str, *parts: Formula) -> Formula:
    """Put parts into a form, and into that of its negation, in which F1 is the first part and N1 its negation."""
    made, pushed, other = form, form, negated
    for number, part in enumerate(parts, 1):
        made = made.replace(f"F{number}", f"({part.made})").replace(f"N{number}", f"~({part.made})")
        pushed = pushed.replace(f"F{number}", f"({part.pushed})").replace(f"N{number}", f"({part.negated})")
        other = other.replace(f"F{number}", f"({part.pushed})").replace(f"N{number}", f"({part.negated})")
    return Formula(made, pushed, other)


def always(formula: Formula) -> Formula:
    return _around("[]F1", "<>N1", formula)


def eventually(formula: Formula) -> Formula:
    return _around("<>F1", "[]N1", formula)


def infinitely_often(formula: Formula) -> Formula:
    return _around("[]<>F1", "<>[]N1", formula)


def in_the_end(formula: Formula) -> Formula:
    return _around("<>[]F1", "[]<>N1", formula)


def both(left: Formula, right: Formula) -> Formula:
    return _around("F1 /\\ F2", "N1 \\/ N2", left, right)


def some(left: Formula, right: Formula) -> Formula:
    return _around("F1 \\/ F2", "N1 /\\ N2", left, right)


def negation(formula: Formula) -> Formula:
    return Formula(f"~({formula.made})", formula.negated, formula.pushed)


def implies(left: Formula, right: Formula) -> Formula:
    pushed = some(negation(left), right)
    return Formula(f"({left.made}) => ({right.made})", pushed.pushed, pushed.negated)


def always_if(left: Formula, right: Formula) -> Formula:
    return always(implies(left, right))


def leads_to(left: Formula, right: Formula) -> Formula:
    pushed = always(some(negation(left), eventually(right)))
    return Formula(f"({left.made}) ~> ({right.made})", pushed.pushed, pushed.negated)


def choice(asked: str, left: Formula, right: Formula) -> Formula:
    ways = (f"IF {asked} THEN {one} ELSE {other}" for one, other in zip(left, right, strict=True))
    return Formula(*ways)


def within(name: str, predicate: str, formula: Formula) -> Formula:
    definition = f"LET {name} == {predicate} IN"
    here = Formula(f"[]({name} => <>~{name})", f"[](~{name} \\/ <>~{name})", f"<>({name} /\\ []{name})")
    return Formula(*(f"{definition} ({each})" for each in some(here, formula)))


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

    def of_state(self) -> Formula:
        made = self.predicate()
        return Formula(made, made, f"~({made})")

    def of_steps(self, action: str) -> str:
        by = self.random.choice(SUBSCRIPTS)
        made = ("WF_{v}({a})", "SF_{v}({a})", "[]<><<{a}>>_{v}", "<>[][{a}]_{v}")
        return self.random.choice(made).format(a=action, v=by)

    def of_actions(self) -> Formula:
        made = self.of_steps(self.action())
        return Formula(made, made, f"~{made}")

    def either(self, ways: list[Callable[[], _Made]]) -> _Made:
        return self.random.choice(ways)()

    def of_states(self, depth: int) -> Formula:
        """Make a temporal formula without an action, which may stand anywhere."""
        if depth == 0:
            return self.of_state()

        def less() -> Formula:
            return self.of_states(depth - 1)

        return self.either(
            [
                lambda: infinitely_often(less()),
                lambda: in_the_end(less()),
                lambda: eventually(less()),
                lambda: always_if(self.of_state(), less()),
                lambda: leads_to(less(), less()),
                lambda: both(less(), eventually(less())),
                lambda: some(less(), always(less())),
                lambda: negation(less()),
            ]
        )

    def formula(self, depth: int) -> Formula:
        """Make a temporal formula, with actions where TLC takes them."""
        if depth == 0:
            return self.either([self.of_actions, lambda: self.of_states(1)])

        def less() -> Formula:
            return self.formula(depth - 1)

        return self.either(
            [
                lambda: self.of_states(2),
                lambda: self.of_states(2),
                lambda: both(less(), less()),
                lambda: some(less(), less()),
                lambda: implies(self.of_states(1), less()),
                lambda: implies(self.of_actions(), less()),
                lambda: negation(self.of_states(2)),
                lambda: negation(self.of_actions()),
                lambda: self.alone(f"\\A c \\in 0..1 : {self.of_steps('B(c)')} /\\ (x = c ~> {self.predicate()})"),
                lambda: self.alone(f"\\E c \\in 0..2 : []<>(y = c) \\/ {self.of_steps('B(c)')}"),
                lambda: choice(self.predicate(), less(), less()),
                lambda: within(f"Q{depth}", self.predicate(), less()),
            ]
        )

    def alone(self, made: str) -> Formula:
        return Formula(made, made, f"~({made})")

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
    """Make a spec from a seed, with temporal properties named P0, P1, ..."""
    maker = _Maker(seed)
    taken = maker.random.sample(maker.actions, maker.random.randrange(1, 4))
    assumed = [maker.assumption() for _ in range(maker.random.choice((0, 1, 1, 2, 2, 3)))]
    formulas = {f"P{number}": maker.formula(maker.random.randrange(3)) for number in range(properties)}
    made = {name: formula.made for name, formula in formulas.items()}
    lines = ["---- MODULE M ----", "EXTENDS Naturals", "VARIABLES x, y", "vars == <<x, y>>"]
    lines += [f"Init == {maker.pick(STARTS)}", *(f"{name} == {maker.pick(ACTIONS)}" for name in maker.actions)]
    steps = [*taken, *(["\\E c \\in 0..1 : B(c)"] if maker.random.random() < 0.6 else [])]
    lines += [f"B(c) == {maker.pick(OF_ONE)}", "Next == " + " \\/ ".join(steps)]
    lines += [f"Con == {maker.pick(CONSTRAINTS)}", " /\\ ".join(["Spec == Init /\\ [][Next]_vars", *assumed])]
    lines += [*(f"{name} == {formula}" for name, formula in made.items())]
    lines += [*(f"{name}Pushed == {formula.pushed}" for name, formula in formulas.items()), "====", ""]
    return TemporalSpec("\n".join(lines), made, maker.random.random() < 0.15)
