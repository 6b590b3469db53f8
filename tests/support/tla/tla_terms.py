"""Terms of TLA+ that are drawn at random, each of a type, with the text of the modules that they stand in.

What a term is: a piece of TLA+ that was drawn for a `Type`, so that most terms have a value. It is kept as a tree
(`Term`), of texts and the terms between them, with the names that are known at each place: so a term can be replaced
by a smaller one that means something there.

The other parts:

- `tla_term_maker` draws terms from a source of randomness, each construct of the language by a method of its own, and
  spoils a few places on purpose with what stands here under "Terms that are wrong".
- `tla_term_values` writes terms into a module as the definitions T0, T1, ..., lets TLC and the compiled specification
  evaluate it, compares the two, and reduces the terms whose values differ to the smallest that still do.

This module, in order: types; terms and how one becomes smaller; the operators that each module of terms defines; terms
without a value and values of other kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

# ---- Types ---------------------------------------------------------------------------------------------------------

Type: TypeAlias = "tuple[Any, ...]"

INT: Type = ("int",)
BOOL: Type = ("bool",)
STR: Type = ("str",)
MODEL: Type = ("model",)
BASES = (INT, BOOL, STR, MODEL)
FIELDS = ("a", "b", "c")
STRINGS = ("p", "q", "r")
MODELS = ("m1", "m2", "m3")


def set_of(element: Type) -> Type:
    return ("set", element)


def seq_of(element: Type) -> Type:
    return ("seq", element)


def tuple_of(*elements: Type) -> Type:
    return ("tuple", *elements)


def record_of(*fields: tuple[str, Type]) -> Type:
    return ("record", *fields)


def function_of(domain: Type, image: Type) -> Type:
    return ("function", domain, image)


def bag_of(element: Type) -> Type:
    return ("bag", element)


# ---- Terms ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """A piece of TLA+.

    Attributes:
        type: the type that it was drawn for.
        parts: its text, in pieces, with the terms within between them.
        scope: the variables that are known at its place.
        binds: the variables that it binds for the terms within.
        name: the variable's name, if the term is a variable.
    """

    type: Type
    parts: tuple[str | Term, ...]
    scope: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    name: str = ""

    @cached_property
    def uses(self) -> frozenset[str]:
        """The free variables of the term."""
        inner = [part.uses for part in self.parts if isinstance(part, Term)]
        return frozenset([self.name] * bool(self.name)).union(*inner) - self.binds

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def terms(self) -> Iterator[Term]:
        """List this term and all within, outermost first."""
        yield self
        for part in self.parts:
            if isinstance(part, Term):
                yield from part.terms()

    def size(self) -> int:
        return sum(1 for _ in self.terms())

    def smaller(self) -> Iterator[Term]:
        """List the terms that have something simpler in one place, the greatest steps first."""
        for inner in list(self.terms())[1:]:
            if inner.type == self.type and inner.uses <= self.scope:
                yield inner
        for simple in SIMPLEST.get(self.type, ()):
            if len(simple) < len(str(self)):
                yield Term(self.type, (simple,), self.scope)
        for index, part in enumerate(self.parts):
            if isinstance(part, Term):
                for other in part.smaller():
                    yield replace(self, parts=(*self.parts[:index], other, *self.parts[index + 1 :]))


#: The simplest terms of a type, which may stand for any other of it.
SIMPLEST: dict[Type, tuple[str, ...]] = {
    INT: ("0", "1"),
    BOOL: ("TRUE", "FALSE"),
    STR: ('"p"',),
    MODEL: ("m1",),
    set_of(INT): ("{}", "{1}"),
    set_of(BOOL): ("{}",),
    set_of(STR): ("{}",),
    seq_of(INT): ("<<>>", "<<1>>"),
}


@dataclass(frozen=True)
class Variable:
    """A name that a term may use: a variable, or an operator of one argument if it has a parameter's type."""

    name: str
    type: Type
    param: Type | None = None


# ---- The modules that terms stand in ---------------------------------------------------------------------------------

#: Operators and functions that each module of terms defines.
HEADER = r"""
Twice(F(_), v) == F(F(v))
Apply(Op(_, _), v, w) == Op(v, w)
Second(v, w) == w
Pick(test, v, w) == IF test THEN v ELSE w
Swap(pair) == <<pair[2], pair[1]>>
left ++ right == <<left, right>>
RECURSIVE Count(_)
Count(s) == IF s = <<>> THEN 0 ELSE 1 + Count(Tail(s))
RECURSIVE Sum(_)
Sum(S) == IF S = {} THEN 0 ELSE LET least == CHOOSE i \in S : \A j \in S : i <= j IN least + Sum(S \ {least})
RECURSIVE Reverse(_)
Reverse(s) == IF s = <<>> THEN <<>> ELSE Append(Reverse(Tail(s)), Head(s))
fact[i \in Nat] == IF i = 0 THEN 1 ELSE i * fact[i - 1]
table[i \in 0..2, j \in {"p", "q"}] == IF j = "p" THEN i ELSE -i
Inner == INSTANCE TermsInner WITH K <- 5, Op <- LAMBDA u, v : u - v
"""
INNER = r"""---- MODULE TermsInner ----
EXTENDS Integers
CONSTANTS K, Op(_, _)
Add(n) == n + K
Both(n) == LET twice == Op(n, K) IN <<twice, Op(K, n)>>
====
"""

# ---- Terms that are wrong -------------------------------------------------------------------------------------------

#: Terms without a value, whatever is asked for.
ERRORS = (
    "Head(<<>>)",
    "(CHOOSE none \\in {} : TRUE)",
    "(CHOOSE none \\in {1, 2} : none > 2)",
    "(1 \\div 0)",
    "(5 % 0)",
    "<<1, 2>>[3]",
    "[a |-> 1].b",
    "(CASE FALSE -> 1)",
    'Assert(FALSE, "it failed")',
    "SubSeq(<<1>>, 1, 2)",
    "Tail(<<>>)",
    "fact[-1]",
    "Cardinality(Nat)",
)
#: Values of each kind, to stand where another kind is wanted.
STRANGERS = {
    "int": ("0", "7"),
    "bool": ("TRUE",),
    "str": ('"p"', '"z"'),
    "set": ("{}", "{1}", '{"p"}', "{{}}"),
    "function": ("[a |-> 1]", "[i \\in {0, 5} |-> i]"),
    "seq": ("<<>>", "<<1>>", "<<TRUE, 2>>"),
    "model": ("m3",),
}


#: Kinds that are not exchanged. TLC takes a string for the sequence of its letters, but not the other way round; and
#: whether it can compare two functions depends on how each was written: as a tuple, a record or another function.
RELATED = {"seq": ("seq", "function", "str"), "function": ("seq", "function"), "str": ("str", "seq")}


def kind_of(wanted: Type) -> str:
    """Return the kind of a type's values, as equality distinguishes kinds."""
    name = str(wanted[0])
    return {"tuple": "seq", "record": "function", "bag": "function"}.get(name, name)
