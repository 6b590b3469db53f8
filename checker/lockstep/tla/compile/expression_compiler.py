"""Expressions of TLA+ to Python: one function a definition.

An expression becomes a Python expression; parts that are none in Python (a LET, a local operator) are hoisted into
statements before it, but never across a point where TLA+ would not evaluate it (a later conjunct, a branch of an IF,
the body of a quantifier).

How a definition's parameters are passed: an operator as a Python function whose own arguments are functions without
arguments, and any other parameter as a value, unless it may go unused and some use gives it more than a name: then as a
function without arguments, so that ``F(1 \\div 0)`` fails only where TLC's lazy evaluation does.

A function that is written out, ``[x \\in S |-> e]``, is computed as a whole, unless it is only made to be applied: then
TLC computes the one value asked for, like the code that :meth:`ExpressionCompiler.lazily` writes.
"""

from __future__ import annotations

from collections.abc import Callable

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_constructors import (
    application,
    applied,
    except_,
    function,
    record,
    record_set,
    recursive_function,
    set_enumeration,
    tuple_,
)
from lockstep.tla.compile.expression_context import Context
from lockstep.tla.compile.expression_logic import (
    case,
    case_as_if,
    conditional,
    enabled,
    equivalence,
    junction,
    membership,
    negation,
    no_case,
    prime,
    truth,
    unchanged_variables,
)
from lockstep.tla.compile.expression_quantifiers import choose, quantifier, set_filter, set_map, union
from lockstep.tla.compile.expression_uses import call, let
from lockstep.tla.compile.expression_writer import ExpressionWriter
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import AtSign, Bind, Builtin, Call, Expr, Let, Number, String

Writer = Callable[[ExpressionWriter, Builtin, Context, Block], str]
Binder = Callable[[ExpressionWriter, Bind, Context, Block], str]

_SIMPLE = {
    "=": "_eq",
    "#": "_ne",
    "\\subseteq": "_subseteq",
    "\\cup": "_cup",
    "\\cap": "_cap",
    "\\": "_minus",
    "SUBSET": "_PowerSet",
    "DOMAIN": "_domain_of",
    "$CartesianProd": "_CartesianProduct",
    "$SetOfFcns": "_FcnSet",
}
SPECIAL: dict[str, Writer] = {
    "TRUE": truth,
    "FALSE": truth,
    "BOOLEAN": truth,
    "STRING": truth,
    "\\land": junction,
    "\\lor": junction,
    "\\lnot": negation,
    "=>": junction,
    "\\equiv": equivalence,
    "\\in": membership,
    "\\notin": membership,
    "$IfThenElse": conditional,
    "$Case": case,
    "<no case>": no_case,
    "$SetEnumerate": set_enumeration,
    "UNION": union,
    "$Tuple": tuple_,
    "$RcdConstructor": record,
    "$SetOfRcds": record_set,
    "$Except": except_,
    "$FcnApply": application,
    "'": prime,
    "UNCHANGED": unchanged_variables,
    "$SquareAct": junction,
    "$AngleAct": junction,
    "ENABLED": enabled,
}
BINDERS: dict[str, Binder] = {
    "$BoundedExists": quantifier,
    "$BoundedForall": quantifier,
    "$SetOfAll": set_map,
    "$SubsetOf": set_filter,
    "$FcnConstructor": function,
    "$RecursiveFcnSpec": recursive_function,
    "$NonRecursiveFcnSpec": function,
    "$BoundedChoose": choose,
    "$UnboundedChoose": choose,
}


class ExpressionCompiler(ExpressionWriter):
    """Compiler of expressions, with a writer for each construct of the language."""

    def expr(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression: return Python for its value, after hoisting statements into a block."""
        if self.probes is None:
            return self._own_expr(expr, scope, block)
        self.probes.enter(expr)
        code = self.probes.around(expr, scope, self._own_expr(expr, scope, block))
        given = [self._own_expr(arg, scope, block) for arg in self.probes.left_by(expr, scope)]
        return self.probes.around_use(expr.loc, code, given) if given else code

    def _own_expr(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression itself, without a probe around it."""
        if isinstance(expr, Number):
            if expr.value >= 2**31:
                raise CompileError("a number of more than 32 bits is not supported: TLC has none", expr.loc)
            return str(expr.value)
        if isinstance(expr, String):
            return repr(expr.value)
        if isinstance(expr, Call):
            return call(self, expr, scope, block)
        if isinstance(expr, Builtin) and expr.name in _SIMPLE:
            return f"{_SIMPLE[expr.name]}({', '.join(self.expr(arg, scope, block) for arg in expr.args)})"
        if isinstance(expr, Builtin) and expr.name in SPECIAL:
            return SPECIAL[expr.name](self, expr, scope, block)
        if isinstance(expr, Bind) and expr.name in BINDERS:
            return BINDERS[expr.name](self, expr, scope, block)
        if isinstance(expr, (Builtin, Bind)):
            raise CompileError(f"{expr.name.strip('$')} is not supported", expr.loc)
        if isinstance(expr, Let):
            return self.expr(expr.body, let(self, expr, scope, block), block)
        if isinstance(expr, AtSign):
            if not scope.at:
                raise CompileError("@ outside EXCEPT", expr.loc)
            return scope.at[-1]
        raise CompileError(f"{type(expr).__name__} cannot be a value", expr.loc)

    def lazily(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression that is applied as a function: one that is written out is computed on demand."""
        if isinstance(expr, Bind) and expr.name in ("$FcnConstructor", "$NonRecursiveFcnSpec"):
            return function(self, expr, scope, block, soft=True)
        if isinstance(expr, Let):
            return self.lazily(expr.body, let(self, expr, scope, block), block)
        if isinstance(expr, Builtin) and expr.name == "$IfThenElse":
            return conditional(self, expr, scope, block, self.lazily)
        if isinstance(expr, Builtin) and expr.name == "$Case":
            return self.lazily(case_as_if(expr), scope, block)
        if isinstance(expr, Builtin) and expr.name == "$FcnApply":
            return applied(self, expr, scope, block)
        if isinstance(expr, Call):
            return call(self, expr, scope, block, lazily=True)
        return self.expr(expr, scope, block)
