"""Context of an expression: the bindings of its names, and the states that it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.python_text import FreshNames
from lockstep.tla.syntax.tree import Definition, Expr, Location

NOW, NEXT = "_s", "_t"


@dataclass(frozen=True)
class ValueBinding:
    """A name bound to a value: a bound variable, or an argument passed as a value."""

    code: str


@dataclass(frozen=True)
class ThunkBinding:
    """A parameter whose argument is computed by calling it."""

    code: str


@dataclass(frozen=True)
class OperatorBinding:
    """A parameter that is an operator: a Python function, whose arguments are computed by calling them."""

    code: str


@dataclass(frozen=True)
class FunctionBinding:
    """A recursive function within itself: its value, the generator that takes it apart, and whether that assigns."""

    code: str
    generator: str
    assigns: bool


@dataclass(frozen=True)
class LetBinding:
    """A LET definition: its Python name, whether that is called for the value, and whether it is written lazily.

    `generator` is that of a function which TLC takes apart where it is applied as a conjunct; empty without one.
    """

    code: str
    called: bool
    definition: Definition
    scope: Context
    soft: bool = False
    generator: str = ""


@dataclass(frozen=True)
class InlineBinding:
    """A parameter replaced by its argument, unevaluated, where a function cannot carry it.

    `computed` is called for its value in the state that it refers to, where that is computed once; empty if not.
    """

    expr: Expr
    scope: Context
    computed: str = ""


Binding = ValueBinding | ThunkBinding | OperatorBinding | FunctionBinding | LetBinding | InlineBinding


@dataclass(frozen=True)
class Context:
    """The context of an expression.

    Attributes:
        env: what parameters, bound variables and LET names mean, by unique id.
        now: the Python name of the state that unprimed variables refer to, if there is one.
        next: the Python name of the state that primed variables refer to, if there is one.
        at: the Python names that ``@`` may mean, innermost last.
        names: hands out local names in the function being written.
    """

    env: dict[int, Binding]
    now: str | None
    next: str | None
    at: tuple[str, ...]
    names: FreshNames

    def bind(self, bindings: Mapping[int, Binding]) -> Context:
        """Return this context with more names bound."""
        return replace(self, env={**self.env, **bindings})

    def primed(self, loc: Location) -> Context:
        """Return the context under a prime."""
        if self.next is None:
            raise CompileError("a prime where there is no next state", loc)
        return replace(self, now=self.next, next=None)

    def in_states_of(self, other: Context) -> Context:
        """Return this context, referring to the states of another."""
        return replace(self, now=other.now, next=other.next, names=other.names)
