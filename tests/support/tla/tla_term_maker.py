"""Draw terms of TLA+ from a source of randomness: every construct of the language that is compiled.

`Maker.term` draws a term of a type from the variables that are known at its place (`Env`), down to a depth. It spoils
the place, uses a variable, or takes a construct: one that suits every type (IF, CASE, LET, CHOOSE, applications) or one
of the type's own, by the method `make_<type>`. The sections of `Maker` follow that order, and then the types: numbers,
truth values, strings and model values, sets, sequences, tuples, records, functions, bags.

`made_up` returns different terms, the same ones each time for the same `LOCKSTEP_SEED`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeAlias

from tests.support.sampling import SEED
from tests.support.tla.tla_terms import (
    BASES,
    BOOL,
    ERRORS,
    FIELDS,
    INT,
    MODEL,
    MODELS,
    RELATED,
    STR,
    STRANGERS,
    STRINGS,
    Term,
    Type,
    Variable,
    bag_of,
    function_of,
    kind_of,
    record_of,
    seq_of,
    set_of,
    tuple_of,
)

Env: TypeAlias = "tuple[Variable, ...]"
MakeSet: TypeAlias = "Callable[[Type, Env, int], Term]"


@dataclass
class Maker:
    """Draws terms of a type from a source of randomness.

    Attributes:
        random: the source of every choice.
        errors: the percentage of places that are spoilt.
        named: the number of variables that have been named.
    """

    random: Random
    errors: int
    named: int = 0
    #: What ``@`` is within an EXCEPT, if it is known.
    at: list[Type] = field(default_factory=list)
    #: Whether no place is spoilt with a value of another kind.
    keeps_kinds: bool = False

    # ---- Choices ----

    def number(self, below: int) -> int:
        return self.random.randrange(below)

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[self.number(len(options))]

    def chance(self, percent: int) -> bool:
        return percent > 0 and self.number(100) >= 100 - percent

    def fresh(self, prefix: str = "x") -> str:
        self.named += 1
        return f"{prefix}{self.named}"

    def base(self) -> Type:
        return self.one_of((INT, INT, BOOL, STR, MODEL))  # type: ignore[no-any-return]

    def type(self, depth: int) -> Type:
        """Choose a type."""
        if depth <= 0 or self.chance(45):
            return self.base()
        inner = depth - 1
        made = self.number(7)
        if made == 0:
            return seq_of(self.type(inner))
        if made == 1:
            return tuple_of(*[self.type(inner) for _ in range(1 + self.number(3))])
        if made == 2:
            return record_of(*[(name, self.type(inner)) for name in FIELDS[: 1 + self.number(3)]])
        if made == 3:
            return function_of(self.base(), self.type(inner))
        if made == 4:
            return bag_of(self.base())
        return set_of(self.type(inner))

    # ---- Assembling ----

    def join(self, wanted: Type, env: Env, *parts: str | Term, binds: Sequence[str] = ()) -> Term:
        """Assemble a term; ``binds`` names the variables that it binds for the terms within."""
        return Term(wanted, parts, self.scope(env), frozenset(binds))

    def scope(self, env: Env) -> frozenset[str]:
        """List the names that are known at a place, ``@`` among them."""
        return frozenset([v.name for v in env] + ["@"] * bool(self.at))

    def listed(self, wanted: Type, env: Env, opening: str, terms: Sequence[Term], closing: str) -> Term:
        parts: list[str | Term] = [opening]
        for index, term in enumerate(terms):
            parts += [", "] * bool(index) + [term]
        return self.join(wanted, env, *parts, closing)

    def term(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make a term of a type."""
        if depth > 0 and self.chance(self.errors):
            return self.spoilt(wanted, env)
        if self.at and self.at[-1] == wanted and self.chance(40):
            return Term(wanted, ("@",), self.scope(env), name="@")
        if self.chance(30):
            known = self.variable(wanted, env)
            if known is not None:
                return known
        if depth <= 0:
            return self.leaf(wanted, env)
        if self.chance(25):
            return self.any_type(wanted, env, depth - 1)
        make: Callable[[Type, Env, int], Term] = getattr(self, f"make_{wanted[0]}")
        return make(wanted, env, depth - 1)

    def unneeded(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make a term for a place that may not be evaluated; here more terms than elsewhere have no value."""
        return self.spoilt(wanted, env) if self.chance(20) else self.term(wanted, env, depth)

    def variable(self, wanted: Type, env: Env) -> Term | None:
        """Return a variable of the type; None if there is none."""
        fitting = [v for v in env if v.type == wanted and v.param is None]
        if not fitting:
            return None
        chosen = self.one_of(fitting)
        return Term(wanted, (chosen.name,), self.scope(env), name=chosen.name)

    def spoilt(self, wanted: Type, env: Env) -> Term:
        """Return a term that is wrong here: one without a value, or a value of another kind."""
        scope = self.scope(env)
        if self.keeps_kinds or self.chance(50):
            return Term(wanted, (self.one_of(ERRORS),), scope)
        kinds = [kind for kind in STRANGERS if kind not in RELATED.get(kind_of(wanted), (kind_of(wanted),))]
        return Term(wanted, (self.one_of(STRANGERS[self.one_of(kinds)]),), scope)

    def leaf(self, wanted: Type, env: Env) -> Term:
        """Make a term without terms within, or one of leaves."""
        scope = self.scope(env)
        kind = wanted[0]
        if kind == "int":
            return Term(wanted, (self.one_of(("0", "1", "2", "3", "4", "(-1)", "(-2)")),), scope)
        if kind == "bool":
            return Term(wanted, (self.one_of(("TRUE", "FALSE")),), scope)
        if kind == "str":
            return Term(wanted, (f'"{self.one_of(STRINGS)}"',), scope)
        if kind == "model":
            return Term(wanted, (self.one_of(MODELS),), scope)
        if kind in ("set", "seq"):
            items = [self.leaf(wanted[1], env) for _ in range(self.number(3))]
            signs = ("{", "}") if kind == "set" else ("<<", ">>")
            return self.listed(wanted, env, signs[0], items, signs[1])
        if kind == "tuple":
            return self.listed(wanted, env, "<<", [self.leaf(t, env) for t in wanted[1:]], ">>")
        if kind == "record":
            return self.record(wanted, env, lambda inner: self.leaf(inner, env))
        if kind == "bag":
            return self.join(wanted, env, "SetToBag(", self.leaf(set_of(wanted[1]), env), ")")
        key, value = self.leaf(wanted[1], env), self.leaf(wanted[2], env)
        return self.join(wanted, env, "(", key, " :> ", value, ")")

    def record(self, wanted: Type, env: Env, make: Callable[[Type], Term], sign: str = " |-> ") -> Term:
        parts: list[str | Term] = []
        for name, inner in wanted[1:]:
            parts += [", " * bool(parts) + name + sign, make(inner)]
        return self.join(wanted, env, "[", *parts, "]")

    # ---- Constructs that suit every type ----

    def any_type(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make a term of a construct that suits every type."""
        options = (
            self.conditional,
            self.case,
            self.let,
            self.let_operator,
            self.let_recursive,
            self.chosen,
            self.application,
            self.component,
            self.higher_order,
            self.lazy,
            self.first,
        )
        return self.one_of(options)(wanted, env, depth)  # type: ignore[no-any-return]

    def conditional(self, wanted: Type, env: Env, depth: int) -> Term:
        test, yes, no = self.term(BOOL, env, depth), self.term(wanted, env, depth), self.unneeded(wanted, env, depth)
        return self.join(wanted, env, "(IF ", test, " THEN ", yes, " ELSE ", no, ")")

    def case(self, wanted: Type, env: Env, depth: int) -> Term:
        parts: list[str | Term] = ["(CASE "]
        for index in range(1 + self.number(2)):
            parts += [" [] " * bool(index), self.term(BOOL, env, depth), " -> ", self.term(wanted, env, depth)]
        if not self.chance(15):
            parts += [" [] OTHER -> ", self.term(wanted, env, depth)]
        return self.join(wanted, env, *parts, ")")

    def let(self, wanted: Type, env: Env, depth: int) -> Term:
        name, inner = self.fresh("y"), self.type(1)
        value = self.unneeded(inner, env, depth)
        body = self.term(wanted, (*env, Variable(name, inner)), depth)
        return self.join(wanted, env, f"(LET {name} == ", value, " IN ", body, ")", binds=[name])

    def let_operator(self, wanted: Type, env: Env, depth: int) -> Term:
        name, param, inner = self.fresh("F"), self.fresh(), self.type(1)
        at, self.at = self.at, []
        body = self.term(wanted, (*env, Variable(param, inner)), depth)
        self.at = at
        given = self.term(inner, env, depth)
        return self.join(
            wanted, env, f"(LET {name}({param}) == ", body, f" IN {name}(", given, "))", binds=[name, param]
        )

    def let_recursive(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make a recursive function or operator on numbers, whose step uses its last value."""
        name, param, last = self.fresh("f"), self.fresh(), self.fresh("y")
        start = self.term(wanted, env, depth)
        step = self.term(wanted, (*env, Variable(param, INT), Variable(last, wanted)), depth)
        given = self.one_of(("0", "1", "2", "3"))
        head, use = f"{name}[{param} \\in 0..3] ==", "[{}]"
        if self.chance(50):
            head, use = f"RECURSIVE {name}(_) {name}({param}) ==", "({})"
        again = f"{name}{use.format(param + ' - 1')}"
        parts = (f"(LET {head} IF {param} = 0 THEN ", start, f" ELSE LET {last} == {again} IN ", step)
        return self.join(wanted, env, *parts, f" IN {name}{use.format(given)})", binds=[name, param, last])

    def chosen(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make a CHOOSE; mostly one that a single element satisfies."""
        name = self.fresh()
        if self.chance(30):
            container = self.term(set_of(wanted), env, depth)
            body = self.term(BOOL, (*env, Variable(name, wanted)), depth)
            return self.join(wanted, env, f"(CHOOSE {name} \\in ", container, " : ", body, ")", binds=[name])
        container, value = self.term(set_of(wanted), env, depth), self.term(wanted, env, depth)
        if wanted == INT and self.chance(40):
            other = self.fresh()
            rest = f" : \\A {other} \\in ", container, f" : {name} {self.one_of(('<=', '>='))} {other})"
            return self.join(wanted, env, f"(CHOOSE {name} \\in ", container, *rest, binds=[name, other])
        parts = (f"(CHOOSE {name} \\in ", container, " \\cup {", value, f"}} : {name} = ", value, ")")
        return self.join(wanted, env, *parts, binds=[name])

    def application(self, wanted: Type, env: Env, depth: int) -> Term:
        key = self.base()
        if self.chance(30):
            return self.application_of_two(wanted, env, depth)
        if self.chance(30):
            items = self.term(seq_of(wanted), env, depth)
            return self.join(wanted, env, items, "[", self.term(INT, env, depth), "]")
        function = self.term(function_of(key, wanted), env, depth)
        return self.join(wanted, env, function, "[", self.term(key, env, depth), "]")

    def application_of_two(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make an application of a function of two arguments, which may be updated there before."""
        types, names = [self.base(), self.base()], [self.fresh(), self.fresh()]
        domains = [self.term(set_of(inner), env, depth) for inner in types]
        body = self.term(wanted, (*env, *map(Variable, names, types)), depth)
        parts: list[str | Term] = [
            f"[{names[0]} \\in ",
            domains[0],
            f", {names[1]} \\in ",
            domains[1],
            " |-> ",
            body,
            "]",
        ]
        if self.chance(30):
            pairs = self.term(set_of(tuple_of(*types)), env, depth)
            parts = [f"[<<{', '.join(names)}>> \\in ", pairs, " |-> ", body, "]"]
        whole = self.join(("pairs",), env, *parts, binds=names)
        if self.chance(30):
            first, second = (self.term(inner, env, depth) for inner in types)
            value = self.term(wanted, env, depth)
            whole = self.join(("pairs",), env, "[", whole, " EXCEPT ![", first, ", ", second, "] = ", value, "]")
        first, second = (self.term(inner, env, depth) for inner in types)
        return self.join(wanted, env, whole, "[", first, ", ", second, "]")

    def component(self, wanted: Type, env: Env, depth: int) -> Term:
        place, others = self.number(3), [self.type(1) for _ in range(3)]
        others[place] = wanted
        if self.chance(50):
            whole = self.term(tuple_of(*others), env, depth)
            return self.join(wanted, env, whole, f"[{place + 1}]")
        whole = self.term(record_of(*zip(FIELDS, others, strict=True)), env, depth)
        return self.join(wanted, env, whole, f".{FIELDS[place]}")

    def higher_order(self, wanted: Type, env: Env, depth: int) -> Term:
        first, second = self.fresh(), self.fresh()
        one = self.term(wanted, env, depth)
        at, self.at = self.at, []
        if self.chance(50):
            body = self.term(wanted, (*env, Variable(first, wanted)), depth)
            self.at = at
            return self.join(wanted, env, f"Twice(LAMBDA {first} : ", body, ", ", one, ")", binds=[first])
        inner = self.base()
        body = self.term(wanted, (*env, Variable(first, inner), Variable(second, wanted)), depth)
        self.at = at
        given = self.term(inner, env, depth)
        head = f"Apply(LAMBDA {first}, {second} : "
        return self.join(wanted, env, head, body, ", ", given, ", ", one, ")", binds=[first, second])

    def lazy(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make an application of an operator that does not need all its arguments."""
        if self.chance(50):
            unused = self.unneeded(self.type(1), env, depth)
            return self.join(wanted, env, "Second(", unused, ", ", self.term(wanted, env, depth), ")")
        test, yes, no = self.term(BOOL, env, depth), self.unneeded(wanted, env, depth), self.term(wanted, env, depth)
        return self.join(wanted, env, "Pick(", test, ", ", yes, ", ", no, ")")

    def first(self, wanted: Type, env: Env, depth: int) -> Term:
        return self.join(wanted, env, "Head(", self.term(seq_of(wanted), env, depth), ")")

    # ---- Numbers ----

    def make_int(self, wanted: Type, env: Env, depth: int) -> Term:
        made = self.number(12)
        if made < 3:
            left, right = self.term(INT, env, depth), self.term(INT, env, depth)
            return self.join(INT, env, "(", left, f" {self.one_of(('+', '-'))} ", right, ")")
        if made == 3:  # Small factors alone: TLC's numbers have 32 bits.
            return self.join(INT, env, "(", self.term(INT, env, depth), f" * {self.one_of(('2', '3', '(-2)'))})")
        if made == 4:
            sign = self.one_of(("%", "\\div"))
            if self.chance(50):
                left, right = self.one_of(("7", "(-7)", "(-5)")), self.one_of(("2", "3", "(-2)"))
                return self.join(INT, env, f"({left} {sign} {right})")
            return self.join(INT, env, "(", self.term(INT, env, depth), f" {sign} ", self.term(INT, env, depth), ")")
        if made == 5:
            return self.join(INT, env, f"({self.one_of(('2', '3', '0', '(-2)'))} ^ ", self.leaf(INT, env), ")")
        if made == 6:
            return self.join(INT, env, "(-", self.term(INT, env, depth), ")")
        if made == 7:
            measured = STR if self.chance(20) else seq_of(self.type(1))
            return self.join(INT, env, "Len(", self.term(measured, env, depth), ")")
        if made == 8:
            return self.join(INT, env, "Cardinality(", self.term(set_of(self.type(1)), env, depth), ")")
        if made == 9:
            return self.counted(env, depth)
        if made == 10:
            return self.join(INT, env, "BagCardinality(", self.term(bag_of(self.base()), env, depth), ")")
        element = self.base()
        bag = self.term(bag_of(element), env, depth)
        return self.join(INT, env, "CopiesIn(", self.term(element, env, depth), ", ", bag, ")")

    def counted(self, env: Env, depth: int) -> Term:
        """Make an application of one of the modules' own operators on numbers."""
        made = self.number(6)
        if made == 0:
            return self.join(INT, env, "Sum(", self.term(set_of(INT), env, depth), ")")
        if made == 1:
            return self.join(INT, env, "Count(", self.term(seq_of(self.base()), env, depth), ")")
        if made == 2:
            return self.join(INT, env, "fact[", self.leaf(INT, env), "]")
        if made == 3:
            return self.join(INT, env, "table[", self.term(INT, env, depth), ", ", self.term(STR, env, depth), "]")
        if made == 4:
            return self.join(INT, env, "Inner!Add(", self.term(INT, env, depth), ")")
        left, right = self.term(INT, env, depth), self.term(INT, env, depth)
        return self.join(INT, env, f"Apply({self.one_of(('+', '-', '%'))}, ", left, ", ", right, ")")

    # ---- Truth values ----

    def make_bool(self, wanted: Type, env: Env, depth: int) -> Term:
        options = (self.comparison, self.equality, self.membership, self.quantifier, self.equality, self.connective)
        return self.one_of((*options, self.connective, self.connective))(env, depth)  # type: ignore[no-any-return]

    def connective(self, env: Env, depth: int) -> Term:
        if self.chance(20):
            return self.join(BOOL, env, "(~", self.term(BOOL, env, depth), ")")
        if self.chance(5):
            return self.join(BOOL, env, "Assert(", self.term(BOOL, env, depth), ', "it failed")')
        sign = self.one_of(("<=>", "/\\", "\\/", "=>"))
        left, right = self.term(BOOL, env, depth), self.unneeded(BOOL, env, depth)
        return self.join(BOOL, env, "(", left, f" {sign} ", right, ")")

    def comparison(self, env: Env, depth: int) -> Term:
        sign = self.one_of(("<", "<=", ">", ">="))
        return self.join(BOOL, env, "(", self.term(INT, env, depth), f" {sign} ", self.term(INT, env, depth), ")")

    def equality(self, env: Env, depth: int) -> Term:
        inner = self.type(2)
        left, right = self.term(inner, env, depth), self.term(inner, env, depth)
        if inner[0] == "bag" and self.chance(50):
            return self.join(BOOL, env, "(", left, " \\sqsubseteq ", right, ")")
        return self.join(BOOL, env, "(", left, f" {self.one_of(('=', '#'))} ", right, ")")

    def membership(self, env: Env, depth: int) -> Term:
        inner = self.type(1)
        if self.chance(20):
            left, right = self.term(set_of(inner), env, depth), self.container(inner, env, depth)
            return self.join(BOOL, env, "(", left, " \\subseteq ", right, ")")
        if self.chance(15):
            bag = self.term(bag_of(inner), env, depth) if inner in BASES else self.leaf(bag_of(inner), env)
            return self.join(BOOL, env, "BagIn(", self.term(inner, env, depth), ", ", bag, ")")
        if self.chance(10):
            question = self.one_of(("IsFiniteSet", "IsFiniteSet", "IsABag"))
            asked = self.container(inner, env, depth) if question == "IsFiniteSet" else None
            return self.join(BOOL, env, f"{question}(", asked or self.term(bag_of(self.base()), env, depth), ")")
        sign = self.one_of(("\\in", "\\notin"))
        value, container = self.term(inner, env, depth), self.container(inner, env, depth)
        return self.join(BOOL, env, "(", value, f" {sign} ", container, ")")

    def container(self, element: Type, env: Env, depth: int) -> Term:
        """Make a set to ask for membership, which may be infinite."""
        wanted, kind = set_of(element), element[0]
        if self.chance(40):
            return self.term(wanted, env, depth)
        if self.chance(15):
            left, right = self.container(element, env, depth - 1), self.container(element, env, depth - 1)
            return self.join(wanted, env, "(", left, self.one_of((" \\cup ", " \\cap ", " \\ ")), right, ")")
        scope = self.scope(env)
        whole = {"int": ("Nat", "Int"), "bool": ("BOOLEAN",), "str": ("STRING",)}.get(kind)
        if whole:
            return Term(wanted, (self.one_of(whole),), scope)
        if depth <= 0:
            return self.leaf(wanted, env)
        if kind == "seq":
            return self.join(wanted, env, "Seq(", self.container(element[1], env, depth - 1), ")")
        if kind == "set":
            return self.join(wanted, env, "(SUBSET ", self.container(element[1], env, depth - 1), ")")
        if kind == "tuple" and len(element) > 2:
            parts: list[str | Term] = ["("]
            for index, inner in enumerate(element[1:]):
                parts += [" \\X "] * bool(index) + [self.container(inner, env, depth - 1)]
            return self.join(wanted, env, *parts, ")")
        if kind == "record":
            term = self.record(element, env, lambda inner: self.container(inner, env, depth - 1), sign=" : ")
            return replace(term, type=wanted)
        if kind == "function":
            domain, image = self.small(element[1], env), self.container(element[2], env, depth - 1)
            return self.join(wanted, env, "[", domain, " -> ", image, "]")
        return self.term(wanted, env, depth)

    def bounds(self, env: Env, depth: int, *, most: int = 3) -> tuple[list[str | Term], Env, list[str]]:
        """Make the bounds of a quantifier: their text, the variables known within, and the bound names."""
        parts: list[str | Term] = []
        inside, names = env, list[str]()
        for index in range(1 + self.number(2)):
            if len(names) >= most:
                break
            parts += [", "] * bool(index)
            if self.chance(25):
                types = [self.base() for _ in range(2)]
                fresh = [self.fresh() for _ in types]
                domain = self.term(set_of(tuple_of(*types)), env, depth)
                parts += [f"<<{', '.join(fresh)}>> \\in ", domain]
            else:
                element = self.type(1)
                fresh = [self.fresh() for _ in range(1 + self.number(2))]
                types = [element] * len(fresh)
                parts += [f"{', '.join(fresh)} \\in ", self.term(set_of(element), env, depth)]
            names += fresh
            inside = (*inside, *[Variable(n, t) for n, t in zip(fresh, types, strict=True)])
        return parts, inside, names

    def quantifier(self, env: Env, depth: int) -> Term:
        parts, inside, names = self.bounds(env, depth)
        body = self.term(BOOL, inside, depth)
        return self.join(BOOL, env, self.one_of(("(\\A ", "(\\E ")), *parts, " : ", body, ")", binds=names)

    # ---- Strings and model values ----

    def make_str(self, wanted: Type, env: Env, depth: int) -> Term:
        if self.chance(20):
            return self.join(STR, env, "(", self.term(STR, env, depth), " \\o ", self.term(STR, env, depth), ")")
        if self.chance(20):
            whole = self.term(STR, env, depth)
            if self.chance(50):
                return self.join(STR, env, f"{self.one_of(('Head', 'Tail'))}(", whole, ")")
            return self.join(STR, env, "SubSeq(", whole, ", 1, ", self.term(INT, env, depth), ")")
        if self.chance(20):
            return self.join(STR, env, "ToString(", self.term(self.one_of((INT, BOOL)), env, depth), ")")
        return self.leaf(STR, env)

    def make_model(self, wanted: Type, env: Env, depth: int) -> Term:
        return self.leaf(MODEL, env)

    # ---- Sets ----

    def make_set(self, wanted: Type, env: Env, depth: int) -> Term:
        element = wanted[1]
        options: list[MakeSet] = [self.enumerated, self.enumerated, self.algebra, self.algebra]
        options += [self.filtered, self.mapped, self.united, self.domain, *self.special_sets(element)]
        return self.one_of(options)(wanted, env, depth)  # type: ignore[no-any-return]

    def special_sets(self, element: Type) -> Sequence[MakeSet]:
        """List the constructs that suit a set of some element type only."""
        kind = element[0]
        if kind == "int":
            return [self.interval, self.interval]
        if kind == "set":
            return [self.powerset, self.powerset]
        if kind == "tuple" and len(element) > 2:
            return [self.product, self.product]
        if kind == "record":
            return [self.record_set, self.record_set]
        if kind == "function":
            return [self.permutations, self.function_set] if element[1] == element[2] else [self.function_set] * 2
        if kind == "bag":
            return [self.sub_bags]
        return []

    def enumerated(self, wanted: Type, env: Env, depth: int) -> Term:
        items = [self.term(wanted[1], env, depth) for _ in range(self.number(4))]
        return self.listed(wanted, env, "{", items, "}")

    def algebra(self, wanted: Type, env: Env, depth: int) -> Term:
        sign = self.one_of(("\\cup", "\\cap", "\\"))
        left, right = self.term(wanted, env, depth), self.term(wanted, env, depth)
        if sign != "\\cup" and self.chance(20):
            right = self.container(wanted[1], env, depth)
        return self.join(wanted, env, "(", left, f" {sign} ", right, ")")

    def filtered(self, wanted: Type, env: Env, depth: int) -> Term:
        element, container = wanted[1], self.term(wanted, env, depth)
        if element[0] == "tuple":
            names = [self.fresh() for _ in element[1:]]
            inside = (*env, *[Variable(n, t) for n, t in zip(names, element[1:], strict=True)])
            head = f"{{<<{', '.join(names)}>> \\in "
        else:
            names = [self.fresh()]
            inside, head = (*env, Variable(names[0], element)), f"{{{names[0]} \\in "
        return self.join(wanted, env, head, container, " : ", self.term(BOOL, inside, depth), "}", binds=names)

    def mapped(self, wanted: Type, env: Env, depth: int) -> Term:
        parts, inside, names = self.bounds(env, depth, most=2)
        return self.join(wanted, env, "{", self.term(wanted[1], inside, depth), " : ", *parts, "}", binds=names)

    def united(self, wanted: Type, env: Env, depth: int) -> Term:
        if self.chance(30):
            return self.join(wanted, env, "BagToSet(", self.term(bag_of(wanted[1]), env, depth), ")")
        return self.join(wanted, env, "(UNION ", self.term(set_of(wanted), env, depth), ")")

    def domain(self, wanted: Type, env: Env, depth: int) -> Term:
        element = wanted[1]
        if element == INT and self.chance(50):
            return self.join(wanted, env, "(DOMAIN ", self.term(seq_of(self.base()), env, depth), ")")
        if element == STR and self.chance(50):
            record = record_of(*[(name, self.base()) for name in FIELDS[: 1 + self.number(3)]])
            return self.join(wanted, env, "(DOMAIN ", self.term(record, env, depth), ")")
        if element not in BASES:
            return self.enumerated(wanted, env, depth)
        return self.join(wanted, env, "(DOMAIN ", self.term(function_of(element, self.base()), env, depth), ")")

    def interval(self, wanted: Type, env: Env, depth: int) -> Term:
        low = self.one_of((self.term(INT, env, depth), Term(INT, ("1",))))
        if self.chance(50):
            return self.join(wanted, env, "(", low, " .. ", self.leaf(INT, env), ")")
        return self.join(wanted, env, f"({self.one_of(('(-1)', '0', '1'))} .. {self.one_of(('2', '3', '4'))})")

    def small(self, element: Type, env: Env) -> Term:
        """Make a set of three elements at most, to build larger sets of."""
        wanted = set_of(element)
        if element == INT and self.chance(40):
            return Term(wanted, (self.one_of(("(0..2)", "(1..3)", "(1..2)", "(1..0)")),))
        items = [self.leaf(element, env) for _ in range(self.number(4))]
        return self.listed(wanted, env, "{", items, "}")

    def powerset(self, wanted: Type, env: Env, depth: int) -> Term:
        # TLC 2.15 has one enumeration of SUBSET {} for all, so that {0 : x, y \\in SUBSET {}} is {} to it: not here.
        inner = wanted[1]
        items = [self.leaf(inner[1], env) for _ in range(1 + self.number(3))]
        return self.join(wanted, env, "(SUBSET ", self.listed(inner, env, "{", items, "}"), ")")

    def product(self, wanted: Type, env: Env, depth: int) -> Term:
        parts: list[str | Term] = ["("]
        for index, inner in enumerate(wanted[1][1:]):
            parts += [" \\X "] * bool(index) + [self.small(inner, env)]
        return self.join(wanted, env, *parts, ")")

    def record_set(self, wanted: Type, env: Env, depth: int) -> Term:
        term = self.record(wanted[1], env, lambda inner: self.small(inner, env), sign=" : ")
        return replace(term, type=wanted)

    def function_set(self, wanted: Type, env: Env, depth: int) -> Term:
        _, key, value = wanted[1]
        return self.join(wanted, env, "[", self.small(key, env), " -> ", self.small(value, env), "]")

    def permutations(self, wanted: Type, env: Env, depth: int) -> Term:
        return self.join(wanted, env, "Permutations(", self.small(wanted[1][1], env), ")")

    def sub_bags(self, wanted: Type, env: Env, depth: int) -> Term:
        return self.join(wanted, env, "SubBag(SetToBag(", self.small(wanted[1][1], env), "))")

    # ---- Sequences, tuples, records, functions, bags ----

    def make_seq(self, wanted: Type, env: Env, depth: int) -> Term:
        made, element = self.number(11), wanted[1]
        if made < 2:
            items = [self.term(element, env, depth) for _ in range(self.number(4))]
            return self.listed(wanted, env, "<<", items, ">>")
        whole = self.term(wanted, env, depth)
        if made == 2:
            return self.join(wanted, env, "Append(", whole, ", ", self.term(element, env, depth), ")")
        if made == 3:
            return self.join(wanted, env, "(", whole, " \\o ", self.term(wanted, env, depth), ")")
        if made == 4:
            return self.join(wanted, env, "Tail(", whole, ")")
        if made == 5:
            low, high = self.leaf(INT, env), self.term(INT, env, depth)
            return self.join(wanted, env, "SubSeq(", whole, ", ", low, ", ", high, ")")
        if made == 6:
            return self.selected(wanted, whole, env, depth)
        if made == 7:
            return self.sorted(wanted, whole, env, depth)
        if made == 8:
            return self.join(wanted, env, "Reverse(", whole, ")")
        if made == 9:
            name = self.fresh()
            body = self.term(element, (*env, Variable(name, INT)), depth)
            head = f"[{name} \\in 1..{self.one_of('0123')} |-> "
            return self.join(wanted, env, head, body, "]", binds=[name])
        return self.updated(wanted, whole, [(INT, element)], env, depth)

    def selected(self, wanted: Type, whole: Term, env: Env, depth: int) -> Term:
        name = self.fresh()
        at, self.at = self.at, []
        body = self.term(BOOL, (*env, Variable(name, wanted[1])), depth)
        self.at = at
        return self.join(wanted, env, "SelectSeq(", whole, f", LAMBDA {name} : ", body, ")", binds=[name])

    def sorted(self, wanted: Type, whole: Term, env: Env, depth: int) -> Term:
        """Sort by a relation, which need not be an order."""
        if wanted[1] == INT and self.chance(50):
            return self.join(wanted, env, "SortSeq(", whole, f", {self.one_of(('<', '>', '<='))})")
        names = [self.fresh(), self.fresh()]
        at, self.at = self.at, []
        body = self.term(BOOL, (*env, *[Variable(name, wanted[1]) for name in names]), depth)
        self.at = at
        if not body.uses.intersection(names):
            body = Term(BOOL, (self.one_of(("TRUE", "FALSE")),))
        head = f", LAMBDA {', '.join(names)} : "
        return self.join(wanted, env, "SortSeq(", whole, head, body, ")", binds=names)

    def make_tuple(self, wanted: Type, env: Env, depth: int) -> Term:
        if wanted == tuple_of(INT, INT) and self.chance(40):
            if self.chance(50):
                return self.join(wanted, env, "Inner!Both(", self.term(INT, env, depth), ")")
            return self.join(wanted, env, "(", self.term(INT, env, depth), " ++ ", self.term(INT, env, depth), ")")
        if len(wanted) == 3 and self.chance(20):
            return self.join(wanted, env, "Swap(", self.term(tuple_of(wanted[2], wanted[1]), env, depth), ")")
        if self.chance(30):
            places = [(index, inner) for index, inner in enumerate(wanted[1:], 1)]
            place, inner = self.one_of(places)
            return self.updated(wanted, self.term(wanted, env, depth), [(f"[{place}]", inner)], env, depth)
        return self.listed(wanted, env, "<<", [self.term(t, env, depth) for t in wanted[1:]], ">>")

    def make_record(self, wanted: Type, env: Env, depth: int) -> Term:
        if self.chance(40):
            fields = [(f".{name}", inner) for name, inner in wanted[1:]]
            paths = [self.one_of(fields) for _ in range(1 + self.number(2))]
            return self.updated(wanted, self.term(wanted, env, depth), paths, env, depth)
        return self.record(wanted, env, lambda inner: self.term(inner, env, depth))

    def updated(self, wanted: Type, whole: Term, paths: Sequence[tuple[Any, Type]], env: Env, depth: int) -> Term:
        """Make an EXCEPT; a path is the text of one, or the type of an argument."""
        parts: list[str | Term] = ["[", whole, " EXCEPT "]
        for index, (path, inner) in enumerate(paths):
            parts += [", "] * bool(index)
            parts += [f"!{path}"] if isinstance(path, str) else ["![", self.path(path, env, depth), "]"]
            inner = self.deeper(inner, parts, env, depth)
            self.at.append(inner)
            value = self.term(inner, env, depth)
            self.at.pop()
            # A term of its own, which no other can stand for: without the EXCEPT around it, @ means nothing.
            parts += [" = ", self.join(("update",), env, value, binds="@")]
        return self.join(wanted, env, *parts, "]")

    def path(self, wanted: Type, env: Env, depth: int) -> Term:
        """Make a step of an EXCEPT's path; a number may be without a value, but is not of another kind.

        Whether TLC refuses another kind depends on how the function was written: ``<<>>`` or ``[x \\in {} |-> x]``.
        """
        kept, self.keeps_kinds = self.keeps_kinds, wanted == INT
        found = self.term(wanted, env, depth)
        self.keeps_kinds = kept
        return found

    def deeper(self, inner: Type, parts: list[str | Term], env: Env, depth: int) -> Type:
        """Extend the path of an EXCEPT within the value that it has reached, and return the type there."""
        if inner[0] == "record" and self.chance(50):
            name, found = self.one_of(inner[1:])
            parts.append(f".{name}")
            return self.deeper(found, parts, env, depth)
        if inner[0] == "function" and self.chance(50):
            parts += ["[", self.path(inner[1], env, depth), "]"]
            return self.deeper(inner[2], parts, env, depth)
        if inner[0] == "seq" and self.chance(50):
            parts += ["[", self.path(INT, env, depth), "]"]
            return self.deeper(inner[1], parts, env, depth)
        return inner

    def make_function(self, wanted: Type, env: Env, depth: int) -> Term:
        made, key, value = self.number(8), wanted[1], wanted[2]
        if made < 3:
            name = self.fresh()
            container = self.term(set_of(key), env, depth)
            body = self.term(value, (*env, Variable(name, key)), depth)
            return self.join(wanted, env, f"[{name} \\in ", container, " |-> ", body, "]", binds=[name])
        if made == 3:
            left, right = self.term(wanted, env, depth), self.term(wanted, env, depth)
            return self.join(wanted, env, "(", left, " @@ ", right, ")")
        if made == 4:
            return self.join(wanted, env, "(", self.term(key, env, depth), " :> ", self.term(value, env, depth), ")")
        if made == 5 and key in BASES and value in BASES:
            name = self.fresh()
            domain, image = self.small(key, env), self.small(value, env)
            each = f" : \\A {name}i \\in DOMAIN {name} : {name}[{name}i] = "
            parts = (f"(CHOOSE {name} \\in [", domain, " -> ", image, "]", each, self.leaf(value, env), ")")
            return self.join(wanted, env, *parts, binds=[name])
        paths = [(key, value)] * (1 + self.number(2))
        return self.updated(wanted, self.term(wanted, env, depth), paths, env, depth)

    def make_bag(self, wanted: Type, env: Env, depth: int) -> Term:
        made = self.number(6)
        if made < 2:
            left, right = self.term(wanted, env, depth), self.term(wanted, env, depth)
            return self.join(wanted, env, "(", left, f" {self.one_of(('(+)', '(-)'))} ", right, ")")
        if made == 5:
            name, source = self.fresh(), self.base()
            at, self.at = self.at, []
            body = self.term(wanted[1], (*env, Variable(name, source)), depth)
            self.at = at
            if name not in body.uses:  # TLC 2.15 does not take an operator that ignores its argument.
                source, body = wanted[1], Term(wanted[1], (name,), name=name)
            bag = self.term(bag_of(source), env, depth)
            body = self.join(("image",), env, body)
            return self.join(wanted, env, f"BagOfAll(LAMBDA {name} : ", body, ", ", bag, ")", binds=[name])
        if made == 2:
            return self.join(wanted, env, "SetToBag(", self.term(set_of(wanted[1]), env, depth), ")")
        if made == 3:
            return Term(wanted, ("EmptyBag",), self.scope(env))
        return self.join(wanted, env, "BagUnion(", self.term(set_of(wanted), env, depth), ")")


def made_up(count: int) -> list[Term]:
    """Return different terms of any type, in which two places in a hundred are spoilt."""
    found: dict[str, Term] = {}
    numbers = itertools.count(SEED * 1_000_000)
    while len(found) < count:
        maker = Maker(Random(next(numbers)), errors=2)
        term = maker.term(maker.type(2), (), 2 + maker.number(4))
        found.setdefault(str(term), term)
    return list(found.values())
