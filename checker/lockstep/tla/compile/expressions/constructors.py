"""Sets, tuples and records that are written out, and EXCEPT."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lockstep.tla.compile.emit import Block
from lockstep.tla.compile.expressions.compiler import Compiler, Write
from lockstep.tla.compile.expressions.context import Context
from lockstep.tla.compile.expressions.in_context import is_computed
from lockstep.tla.compile.expressions.logic import conditional
from lockstep.tla.compile.expressions.uses import let
from lockstep.tla.syntax.tree import Builtin, Expr, Let, Number, String


def set_enumeration(compiler: Compiler, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``{a, b}``."""
    codes = [compiler.expr(arg, scope, block) for arg in expr.args]
    if any(map(compiler.program.may_be_lazy, expr.args)):
        return f"_make_set([{', '.join(codes)}], True)"
    literals = {type(arg) for arg in expr.args}
    if len(codes) < 2 or literals in ({String}, {Number}):
        return f"frozenset(({', '.join(codes)}{',' if codes else ''}))"
    return f"_make_set([{', '.join(codes)}])"


def kept(compiler: Compiler, expr: Expr, scope: Context, block: Block) -> str:
    """Compile an expression whose value a state will keep: with nothing unlisted in it."""
    if not compiler.program.may_be_lazy(expr):
        return compiler.expr(expr, scope, block)
    write = partial(kept, compiler)
    if isinstance(expr, Builtin) and expr.name == "$Tuple":
        return tuple_(compiler, expr, scope, block, write)
    if isinstance(expr, Builtin) and expr.name == "$RcdConstructor":
        return record(compiler, expr, scope, block, write)
    if isinstance(expr, Builtin) and expr.name == "$Except":
        return except_(compiler, expr, scope, block, write)
    if isinstance(expr, Builtin) and expr.name == "$IfThenElse":
        return conditional(compiler, expr, scope, block, write)
    if isinstance(expr, Let):
        return kept(compiler, expr.body, let(compiler, expr, scope, block), block)
    return f"_frozen({compiler.expr(expr, scope, block)})"


def tuple_(compiler: Compiler, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile ``<<a, b>>``."""
    codes = [(write or compiler.expr)(arg, scope, block) for arg in expr.args]
    return f"({', '.join(codes)}{',' if len(codes) == 1 else ''})"


def record(compiler: Compiler, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile ``[a |-> 1]``."""
    return f"_Fcn({{{fields(compiler, expr, scope, block, write)}}})"


def record_set(compiler: Compiler, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``[a : S]``."""
    return f"_RcdSet({{{fields(compiler, expr, scope, block)}}})"


def fields(compiler: Compiler, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile the fields of a record or of a set of records."""
    codes = []
    for pair in expr.args:
        assert isinstance(pair, Builtin)
        name, value = pair.args
        codes.append(f"{compiler.expr(name, scope, block)}: {(write or compiler.expr)(value, scope, block)}")
    return ", ".join(codes)


def except_(compiler: Compiler, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile ``[f EXCEPT !path = value, ...]``: one update after the other, each only where the path leads."""
    code = (write or compiler.expr)(expr.args[0], scope, block)
    for pair in expr.args[1:]:
        assert isinstance(pair, Builtin)
        path, value = pair.args
        assert isinstance(path, Builtin)
        keys = ", ".join(compiler.expr(key, scope, block) for key in path.args) + ","
        if is_computed(compiler.program, value, scope):
            code = f"_put({code}, ({keys}), {compiler.expr(value, scope, block)})"
            continue
        at = scope.names.fresh("at")
        update = compiler.delayed(value, replace(scope, at=(*scope.at, at)), block, at, write=write)
        code = f"_except({code}, ({keys}), {update})"
    return code
