"""The form of expressions: uses of names, and expressions that are written alike."""

from __future__ import annotations

from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Builtin, Call, Expr, Number, OperatorArg, String, walk


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
