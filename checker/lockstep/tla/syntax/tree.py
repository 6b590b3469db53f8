"""The syntax tree of a specification, typed.

Symbols (definitions, declarations, parameters) are known by SANY's unique ids: names are resolved already, so a
consumer never handles scope.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

#: Modules that TLC implements in Java in part; the rest is compiled from their TLA+ text. The user has those of the
#: community beside the spec or in a named folder.
MODULES_PARTLY_JAVA = frozenset({"Json", "IOUtils", "CSV", "SVG", "GraphViz", "Statistics", "TLCExt"})

#: SANY's name of a LAMBDA.
LAMBDA = "LAMBDA"


@dataclass(frozen=True, slots=True)
class Location:
    """A range of a module's text; lines and columns count from 1, the end is included."""

    module: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.module}.tla:{self.line}:{self.column}"

    def is_within(self, other: Location) -> bool:
        """Return whether this range is a part of another one, or all of it."""
        begins = (other.line, other.column) <= (self.line, self.column)
        ends = (self.end_line, self.end_column) <= (other.end_line, other.end_column)
        return self.module == other.module and begins and ends


@dataclass(frozen=True, slots=True)
class Number:
    """An integer literal."""

    value: int
    loc: Location


@dataclass(frozen=True, slots=True)
class String:
    """A string literal."""

    value: str
    loc: Location


@dataclass(frozen=True, slots=True)
class FieldName(String):
    """The name of a field where it is selected: ``r.f`` means ``r["f"]``, though TLC never takes it apart."""


@dataclass(frozen=True, slots=True)
class Call:
    """The use of a definition, declaration or parameter, with its arguments if it has any."""

    op: int
    args: tuple[Expr, ...]
    loc: Location


@dataclass(frozen=True, slots=True)
class Builtin:
    """A construct of the language without bound variables, by SANY's name (``$Except``, ``\\in``, ...)."""

    name: str
    args: tuple[Expr, ...]
    loc: Location


@dataclass(frozen=True, slots=True)
class Bound:
    """``x, y \\in S``, ``<<x, y>> \\in S`` (a tuple) or, without a domain, an unbounded ``x``."""

    params: tuple[int, ...]
    is_tuple: bool
    domain: Expr | None


@dataclass(frozen=True, slots=True)
class Bind:
    """A construct that binds variables: quantifiers, CHOOSE, set and function constructors."""

    name: str
    bounds: tuple[Bound, ...]
    body: Expr
    loc: Location


@dataclass(frozen=True, slots=True)
class Let:
    """``LET definitions IN body``; without definitions, a part of another definition (``Inv!2``), or all of it."""

    definitions: tuple[int, ...]
    body: Expr
    loc: Location


@dataclass(frozen=True, slots=True)
class AtSign:
    """``@`` within the innermost EXCEPT."""

    loc: Location


@dataclass(frozen=True, slots=True)
class OperatorArg:
    """An operator passed as an argument: a definition, a LAMBDA, a declaration or a parameter."""

    op: int
    builtin: str | None
    loc: Location


@dataclass(frozen=True, slots=True)
class Substitution:
    """``declared <- value`` of an INSTANCE."""

    declared: int
    value: Expr


@dataclass(frozen=True, slots=True)
class Substituted:
    """The body of a definition that an INSTANCE brings in."""

    substitutions: tuple[Substitution, ...]
    body: Expr
    loc: Location


Expr: TypeAlias = Number | String | Call | Builtin | Bind | Let | AtSign | OperatorArg | Substituted


@dataclass(frozen=True, slots=True)
class Param:
    """A formal parameter or a bound variable."""

    uid: int
    name: str
    arity: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """A CONSTANT or a VARIABLE."""

    uid: int
    name: str
    arity: int
    is_variable: bool
    loc: Location


@dataclass(frozen=True, slots=True)
class Definition:
    """``name(params) == body``."""

    uid: int
    name: str
    params: tuple[int, ...]
    body: Expr
    recursive: bool
    loc: Location


@dataclass(frozen=True, slots=True)
class Assumption:
    """``ASSUME body``."""

    body: Expr
    loc: Location


@dataclass(frozen=True, slots=True)
class Module:
    """A module: the symbols visible at its top level, in SANY's order."""

    name: str
    symbols: tuple[int, ...]
    assumptions: tuple[Assumption, ...]


@dataclass
class SyntaxTree:
    """A whole specification.

    Attributes:
        modules: all modules by name, standard ones included.
        origins: of a definition that an INSTANCE brought in: the definition it is a copy of.
        unlisted: the definitions at the top level that no module lists as its symbols: ASSUMEs and THEOREMs with a
            name, and what SANY made of parts with parameters, as ``Inv!2!(x)``.
        own_variables: the declarations of variables that only an ENABLED within an INSTANCE knows.
    """

    root: str = ""
    modules: dict[str, Module] = field(default_factory=dict)
    definitions: dict[int, Definition] = field(default_factory=dict)
    declarations: dict[int, Declaration] = field(default_factory=dict)
    params: dict[int, Param] = field(default_factory=dict)
    origins: dict[int, int] = field(default_factory=dict)
    unlisted: set[int] = field(default_factory=set)
    own_variables: list[int] = field(default_factory=list)
    _next_uid: int = 1 << 40

    def fresh_uid(self) -> int:
        """Return an id that nothing has yet."""
        self._next_uid += 1
        return self._next_uid

    def name_of(self, uid: int) -> str:
        """Return the name of a symbol."""
        found = self.definitions.get(uid) or self.declarations.get(uid) or self.params.get(uid)
        if found is None:
            raise KeyError(uid)
        return found.name


def children(expr: Expr) -> tuple[Expr, ...]:
    """List the expressions directly within one (LET definitions and substitutions aside)."""
    if isinstance(expr, (Call, Builtin)):
        return expr.args
    if isinstance(expr, Bind):
        return (*(bound.domain for bound in expr.bounds if bound.domain is not None), expr.body)
    if isinstance(expr, (Let, Substituted)):
        return (expr.body,)
    return ()


def walk(expr: Expr, tree: SyntaxTree) -> list[Expr]:
    """List an expression and everything in it, LET definitions included."""
    found: list[Expr] = []
    stack = [expr]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(within(current, tree))
    return found


def within(expr: Expr, tree: SyntaxTree) -> tuple[Expr, ...]:
    """List what stands directly within an expression, LET definitions included."""
    parts = children(expr)
    if isinstance(expr, Let):
        return (*parts, *(tree.definitions[uid].body for uid in expr.definitions))
    if isinstance(expr, Substituted):
        return (*parts, *(pair.value for pair in expr.substitutions))
    if isinstance(expr, OperatorArg) and is_lambda(expr, tree):
        return (tree.definitions[expr.op].body,)
    return parts


def is_lambda(arg: OperatorArg, tree: SyntaxTree) -> bool:
    """Return whether an operator passed as an argument is a LAMBDA."""
    definition = tree.definitions.get(arg.op)
    return definition is not None and definition.name == LAMBDA
