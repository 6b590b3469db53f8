"""Actions that are never enabled, since the constants alone make their guards false.

A feature that is turned off leaves such actions: `Feature /\\ ...` with Feature = FALSE or "x" \\in {}, or
`\\E m \\in Mail(n) : ...` where Mail(n) is `IF Feature THEN ... ELSE {}`. A formula is folded as far as the constants
go: what depends on the state, or is not understood, is UNKNOWN. So there may be more actions that can never be taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lockstep.tla.compile.next_actions import ActionPart
from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import (
    Bind,
    Builtin,
    Call,
    Expr,
    Let,
    Number,
    OperatorArg,
    String,
)
from lockstep.tla.values.kinds import ModelValue, Value

#: The number of definitions that are followed into one another.
_MAX_DEPTH = 60


class _Unknown:
    """A value that folding does not find."""


UNKNOWN = _Unknown()

Folded: TypeAlias = "Value | _Unknown"


@dataclass(frozen=True)
class _Closure:
    """An expression, or a definition of a LET, with what the names in it stand for."""

    expr: Expr
    params: tuple[int, ...]
    scope: Mapping[int, _Closure | None]


_Scope: TypeAlias = "Mapping[int, _Closure | None]"
"""The meaning of names; None: an element of some set."""


def is_never(program: Program, part: ActionPart) -> bool:
    """Return whether the constants alone make an action, or one of its alternatives, false."""
    fold = _Folding(program)
    scope: _Scope = {}
    for frame in part.frames:
        if frame.let is not None:
            scope = fold.with_definitions(frame.let, scope)
        elif frame.use is not None and frame.definition is not None:
            scope = fold.with_arguments(frame.definition.params, frame.use.args, scope, scope)
        elif frame.bound is not None:
            if frame.bound.domain is not None and _is_empty(fold.value(frame.bound.domain, scope)):
                return True
            scope = {**scope, **dict.fromkeys(frame.bound.params)}
    return fold.value(part.body, scope) is False


def _is_empty(folded: Folded) -> bool:
    return type(folded) is frozenset and not folded


class _Folding:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.depth = 0

    def value(self, expr: Expr, scope: _Scope) -> Folded:
        """Fold an expression; TRUE and FALSE are Python's."""
        if isinstance(expr, (Number, String)):
            return expr.value
        if isinstance(expr, Let):
            return self.value(expr.body, self.with_definitions(expr, scope))
        if isinstance(expr, Bind):
            return self.bind(expr, scope)
        if isinstance(expr, Call):
            return self.call(expr, scope)
        if isinstance(expr, Builtin):
            return self.builtin(expr, scope)
        return UNKNOWN

    def with_definitions(self, expr: Let, scope: _Scope) -> _Scope:
        """Return a scope with the definitions of a LET."""
        for uid in expr.definitions:
            definition = self.program.tree.definitions[uid]
            if not definition.recursive:
                scope = {**scope, uid: _Closure(definition.body, definition.params, scope)}
        return scope

    def with_arguments(self, params: tuple[int, ...], args: tuple[Expr, ...], scope: _Scope, outside: _Scope) -> _Scope:
        """Return a scope in which parameters stand for arguments, which are written in the scope outside."""
        given = {param: self.argument(arg, outside) for param, arg in zip(params, args, strict=True)}
        return {**scope, **given}

    def argument(self, arg: Expr, outside: _Scope) -> _Closure | None:
        """Return what a parameter stands for; an operator that is passed is not followed."""
        return None if isinstance(arg, OperatorArg) else _Closure(arg, (), outside)

    def call(self, expr: Call, scope: _Scope) -> Folded:
        """Fold the use of a name: a constant, a parameter, or a definition, which is followed."""
        if expr.op in scope:
            closure = scope[expr.op]
            if closure is None or len(closure.params) != len(expr.args):
                return UNKNOWN
            return self.within(closure.expr, self.with_arguments(closure.params, expr.args, closure.scope, scope))
        uid = self.program.target(expr.op)
        if uid in self.program.values:
            return self.program.values[uid]
        definition = self.program.own_definition(uid)
        if definition is None or definition.recursive:
            return UNKNOWN
        return self.within(definition.body, self.with_arguments(definition.params, expr.args, {}, scope))

    def within(self, body: Expr, scope: _Scope) -> Folded:
        """Fold what a name stands for."""
        if self.depth >= _MAX_DEPTH:
            return UNKNOWN
        self.depth += 1
        try:
            return self.value(body, scope)
        finally:
            self.depth -= 1

    def bind(self, expr: Bind, scope: _Scope) -> Folded:
        """Fold a quantifier: over an empty set, or with a body that is folded."""
        if expr.name not in ("$BoundedExists", "$BoundedForall"):
            return UNKNOWN
        over_nothing = expr.name == "$BoundedForall"
        inner: dict[int, Any] = dict(scope)
        for bound in expr.bounds:
            if bound.domain is not None and _is_empty(self.value(bound.domain, inner)):
                return over_nothing
            inner |= dict.fromkeys(bound.params)
        return over_nothing if self.value(expr.body, inner) is over_nothing else UNKNOWN

    def builtin(self, expr: Builtin, scope: _Scope) -> Folded:
        """Fold a construct of the language."""
        match expr.name:
            case "TRUE" | "FALSE":
                return expr.name == "TRUE"
            case "\\land" | "\\lor":
                return self.junction(expr, scope)
            case "=>":
                return self.either([_negated(self.value(expr.args[0], scope)), self.value(expr.args[1], scope)])
            case "\\lnot":
                return _negated(self.value(expr.args[0], scope))
            case "=" | "#" if not self.program.reads(expr)[1]:
                left, right = (self.value(arg, scope) for arg in expr.args)
                known = type(left) is type(right) and type(left) in (bool, int, str, ModelValue)
                return (left == right) is (expr.name == "=") if known else UNKNOWN
            case "\\in" | "\\notin":
                truth = self.program.truth(expr)
                return UNKNOWN if truth is None else truth
            case "$IfThenElse":
                return self.conditional(expr, scope)
            case "$SetEnumerate" if not expr.args:
                return frozenset()
            case _:
                return UNKNOWN

    def junction(self, expr: Builtin, scope: _Scope) -> Folded:
        """Fold a conjunction or disjunction; one conjunct that is false is enough, whatever the others."""
        values = [self.value(arg, scope) for arg in expr.args]
        return self.either(values) if expr.name == "\\lor" else _negated(self.either(map(_negated, values)))

    def either(self, values: Any) -> Folded:
        """Fold a disjunction of what is folded."""
        all_false = True
        for value in values:
            if value is True:
                return True
            all_false = all_false and value is False
        return False if all_false else UNKNOWN

    def conditional(self, expr: Builtin, scope: _Scope) -> Folded:
        """Fold an IF: the branch that is taken, or what both come to."""
        test, then, otherwise = expr.args
        decided = self.value(test, scope)
        if isinstance(decided, bool):
            return self.value(then if decided else otherwise, scope)
        left, right = self.value(then, scope), self.value(otherwise, scope)
        return left if isinstance(left, bool) and left is right else UNKNOWN


def _negated(value: Folded) -> Folded:
    return not value if isinstance(value, bool) else UNKNOWN
