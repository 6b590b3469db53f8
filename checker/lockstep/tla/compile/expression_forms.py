"""The form of expressions: uses of names, and expressions that are written alike."""

from __future__ import annotations

from typing import NamedTuple

from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Expr, Number, OperatorArg, String, walk


def is_use_of(expr: Expr, uid: int) -> bool:
    """Return whether an expression is a name."""
    return isinstance(expr, Call) and expr.op == uid and not expr.args


def mentions(program: Program, expr: Expr, names: frozenset[int]) -> bool:
    """Return whether an expression has one of some bound names in it."""
    return any(isinstance(part, Call | OperatorArg) and part.op in names for part in walk(expr, program.tree))


def are_alike(left: Expr, right: Expr) -> bool:
    """Return whether two expressions without bound names of their own are written alike."""
    if isinstance(left, Call) and isinstance(right, Call):
        same = left.op == right.op
    elif isinstance(left, Builtin) and isinstance(right, Builtin):
        same = left.name == right.name
    elif isinstance(left, String | Number) and isinstance(right, String | Number):
        return left.value == right.value and type(left) is type(right)
    else:
        return False
    return same and len(left.args) == len(right.args) and all(map(are_alike, left.args, right.args))


class FunctionPart(NamedTuple):
    """A function on a part of its domain: that part, which is the domain without, or within, another set."""

    function: Expr
    domain: Expr
    operator: str
    other: Expr


def part_of_function(expr: Expr) -> FunctionPart | None:
    """Return the parts of ``[x \\in DOMAIN f \\ S |-> f[x]]``, or with \\cap; None for any other expression."""
    if not isinstance(expr, Bind) or expr.name != "$FcnConstructor" or len(expr.bounds) != 1:
        return None
    (bound,), applied = expr.bounds, expr.body
    if bound.is_tuple or len(bound.params) != 1 or not isinstance(bound.domain, Builtin):
        return None
    if bound.domain.name not in ("\\", "\\cap") or not isinstance(applied, Builtin) or applied.name != "$FcnApply":
        return None
    domain, other = bound.domain.args
    function, argument = applied.args
    if not isinstance(domain, Builtin) or domain.name != "DOMAIN" or not is_use_of(argument, bound.params[0]):
        return None
    is_its_domain = are_alike(domain.args[0], function)
    return FunctionPart(function, bound.domain, bound.domain.name, other) if is_its_domain else None
