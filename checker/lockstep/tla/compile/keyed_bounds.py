"""Quantifiers that speak of the elements of a set with one value of a field.

These are ``\\A x \\in S : x.f = e => P``, ``\\E x \\in S : x.f = e /\\ P`` and ``{x \\in S : x.f = e /\\ P}``, where e
does not depend on x: of a long set an index finds those elements, and what others there are makes no difference.
"""

from __future__ import annotations

from typing import NamedTuple

from lockstep.tla.compile.expression_forms import is_use_of, mentions
from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Bind, Builtin, Expr, String


class Key(NamedTuple):
    """A field, and the value that it must have."""

    field: str
    value: Expr


def key_of(program: Program, expr: Bind) -> Key | None:
    """Return the field, with its value, of the elements that a quantifier or filter speaks of, if there is one."""
    if len(expr.bounds) != 1 or expr.bounds[0].is_tuple or len(expr.bounds[0].params) != 1:
        return None
    test: Expr | None = expr.body
    if expr.name == "$BoundedForall":
        test = expr.body.args[0] if isinstance(expr.body, Builtin) and expr.body.name == "=>" else None
    elif expr.name not in ("$BoundedExists", "$SubsetOf"):
        return None
    while isinstance(test, Builtin) and test.name == "\\land" and test.args:
        test = test.args[0]
    if not isinstance(test, Builtin) or test.name != "=":
        return None
    (element,) = expr.bounds[0].params
    for mine, other in (test.args, test.args[::-1]):
        field = _field_of(mine, element)
        if field is not None and not mentions(program, other, frozenset({element})):
            return Key(field, other)
    return None


def _field_of(expr: Expr, element: int) -> str | None:
    """Return f of ``x.f``."""
    if not isinstance(expr, Builtin) or expr.name != "$FcnApply":
        return None
    record, field = expr.args
    return field.value if is_use_of(record, element) and isinstance(field, String) else None
