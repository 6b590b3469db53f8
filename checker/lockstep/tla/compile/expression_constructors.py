"""Sets, tuples, records and functions that are written out, EXCEPT, and the application of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import is_computed, limits_of, may_be_soft
from lockstep.tla.compile.expression_context import Context, ValueBinding
from lockstep.tla.compile.expression_forms import part_of_function
from lockstep.tla.compile.expression_logic import conditional
from lockstep.tla.compile.expression_quantifiers import (
    body_call,
    function_of_bound,
    hoisted,
    iterable,
    location_of,
    loops,
)
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.expression_writer import ExpressionWriter, Write
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Call, Expr, Let, Number, String


def set_enumeration(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``{a, b}``."""
    codes = [writer.expr(arg, scope, block) for arg in expr.args]
    if any(map(writer.program.may_be_lazy, expr.args)):
        return f"_make_set([{', '.join(codes)}], True)"
    literals = {type(arg) for arg in expr.args}
    if len(codes) < 2 or literals in ({String}, {Number}):
        return f"frozenset(({', '.join(codes)}{',' if codes else ''}))"
    return f"_make_set([{', '.join(codes)}])"


def frozen(writer: ExpressionWriter, expr: Expr, scope: Context, block: Block) -> str:
    """Compile an expression for a state, whose values have nothing unlisted in them."""
    if not writer.program.may_be_lazy(expr):
        return writer.expr(expr, scope, block)
    write = partial(frozen, writer)
    if isinstance(expr, Builtin) and expr.name == "$Tuple":
        return tuple_(writer, expr, scope, block, write)
    if isinstance(expr, Builtin) and expr.name == "$RcdConstructor":
        return record(writer, expr, scope, block, write)
    if isinstance(expr, Builtin) and expr.name == "$Except":
        return except_(writer, expr, scope, block, write)
    if isinstance(expr, Builtin) and expr.name == "$IfThenElse":
        return conditional(writer, expr, scope, block, write)
    if isinstance(expr, Let):
        return frozen(writer, expr.body, let(writer, expr, scope, block), block)
    return f"_frozen({writer.expr(expr, scope, block)})"


def tuple_(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile ``<<a, b>>``."""
    codes = [(write or writer.expr)(arg, scope, block) for arg in expr.args]
    return f"({', '.join(codes)}{',' if len(codes) == 1 else ''})"


def record(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile ``[a |-> 1]``."""
    return f"_Fcn({{{fields(writer, expr, scope, block, write)}}})"


def record_set(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``[a : S]``."""
    return f"_RcdSet({{{fields(writer, expr, scope, block)}}})"


def fields(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile the fields of a record or of a set of records."""
    codes = []
    for pair in expr.args:
        assert isinstance(pair, Builtin)
        name, value = pair.args
        codes.append(f"{writer.expr(name, scope, block)}: {(write or writer.expr)(value, scope, block)}")
    return ", ".join(codes)


def except_(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile ``[f EXCEPT !path = value, ...]``: one update after the other, each only where the path leads."""
    code = (write or writer.expr)(expr.args[0], scope, block)
    for pair in expr.args[1:]:
        assert isinstance(pair, Builtin)
        path, value = pair.args
        assert isinstance(path, Builtin)
        keys = ", ".join(writer.expr(key, scope, block) for key in path.args) + ","
        if writer.probes is None and is_computed(writer.program, value, scope):
            code = f"_put({code}, ({keys}), {writer.expr(value, scope, block)})"
            continue
        at = scope.names.fresh("at")
        update = writer.delayed(value, replace(scope, at=(*scope.at, at)), block, at, write=write)
        if writer.probes is not None:
            update = writer.probes.around_update(pair.loc, update, expr.loc if len(expr.args) > 2 else None)
        code = f"_except({code}, ({keys}), {update})"
    return code


def application(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``f[x]``."""
    code = writer.lazily(expr, scope, block)
    return f"_whole({code})" if may_be_soft(writer.program, expr, scope) else code


def applied(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``f[x]`` of a function that may be computed on demand."""
    function, argument = expr.args
    code, given = writer.lazily(function, scope, block), writer.expr(argument, scope, block)
    is_known = isinstance(argument, String) or is_named(writer, argument, scope)
    is_table = not (writer.program.may_be_lazy(function) or may_be_soft(writer.program, function, scope))
    if writer.is_quick and is_known and is_table:
        return f"{code}.d[{given}]"
    return f"_apply({code}, {given})"


def is_named(writer: ExpressionWriter, expr: Expr, scope: Context) -> bool:
    """Return whether an expression is a variable whose values are strings and model values alone."""
    return (
        isinstance(expr, Call)
        and not expr.args
        and expr.op in writer.program.named
        and isinstance(scope.env.get(expr.op), ValueBinding)
    )


def function(writer: ExpressionWriter, expr: Bind, scope: Context, block: Block, *, soft: bool = False) -> str:
    """Compile ``[x \\in S |-> e]``; with several variables the arguments are tuples."""
    bounds = expr.bounds
    domains = [bound.domain for bound in bounds if bound.domain is not None]
    write = writer.lazily if soft else writer.expr
    if len(bounds) == 1 and (bounds[0].is_tuple or len(bounds[0].params) == 1):
        if soft:
            code = writer.expr(domains[0], scope, block)
            body = function_of_bound(writer, bounds[0], expr.body, scope, block, write=write)
            return f"_soft_function({code}, {body})"
        if (part := part_of_function(expr)) is not None:
            return f"_part_of({writer.expr(part.function, scope, block)}, {writer.expr(part.domain, scope, block)})"
        if limits_of(writer.program, domains[0]) is not None or not writer.program.is_listed(domains[0]):
            limits = limits_of(writer.program, domains[0])
            code = iterable(writer, domains[0], scope, block) if limits else writer.expr(domains[0], scope, block)
            return f"_function({code}, {function_of_bound(writer, bounds[0], expr.body, scope, block)})"
    elif soft or not all(map(writer.program.is_listed, domains)):
        codes = argument_domains(writer, bounds, scope, block)
        body = function_of_tuple(writer, bounds, expr.body, scope, block, write)
        return f"_function_of(({', '.join(codes)},), {body}, {soft})"
    inner, clauses, names = loops(writer, bounds, scope, block)
    body = body_call(writer, expr.body, inner, names, block, test=False)
    return f"_as_fcn({{{_pattern(bounds, names)}: {body} {clauses}}})"


def argument_domains(writer: ExpressionWriter, bounds: Sequence[Bound], scope: Context, block: Block) -> list[str]:
    """Compile the domain of each argument of a function of several."""
    codes = []
    for bound in bounds:
        if bound.domain is None:
            raise CompileError("a bound without a set is not supported", location_of(bounds))
        code = writer.expr(bound.domain, scope, block)
        count = 1 if bound.is_tuple else len(bound.params)
        codes += [code] if count == 1 else [hoisted(writer, code, scope, block)] * count
    return codes


def function_of_tuple(
    writer: ExpressionWriter,
    bounds: Sequence[Bound],
    body: Expr,
    scope: Context,
    block: Block,
    write: Write | None = None,
    own: str = "",
) -> str:
    """Compile the body of a function of several arguments as a Python function of their tuple."""
    inner, names = writer.bind_values([uid for bound in bounds for uid in bound.params], scope)
    params = ", ".join([own] * bool(own) + names)
    code = writer.delayed(body, inner, block, params, write=write)
    given, place = [own and "_g"] * bool(own), 0
    for bound in bounds:
        if bound.is_tuple:
            given.append(f"*_untuple(_x[{place}], {len(bound.params)})")
            place += 1
        else:
            given += [f"_x[{place + index}]" for index in range(len(bound.params))]
            place += len(bound.params)
    return f"(lambda {'_g, ' * bool(own)}_x, _b={code}: _b({', '.join(given)}))"


def recursive_function(writer: ExpressionWriter, expr: Bind, scope: Context, block: Block) -> str:
    """Compile ``f[x \\in S] == e`` where e mentions f."""
    inner, (own,) = writer.bind_values(expr.bounds[0].params, scope)
    bounds = expr.bounds[1:]
    codes = argument_domains(writer, bounds, scope, block)
    if len(codes) == 1 and not bounds[0].is_tuple:
        inner, names = writer.bind_values(bounds[0].params, inner)
        body = writer.delayed(expr.body, inner, block, f"{own}, {names[0]}")
        return f"_recursive_function({codes[0]}, {body})"
    domain = codes[0] if len(codes) == 1 else f"_CartesianProduct({', '.join(codes)})"
    body = function_of_tuple(writer, bounds, expr.body, inner, block, own=own)
    if len(codes) == 1:
        body = f"(lambda _g, _x, _t={body}: _t(_g, (_x,)))"
    return f"_recursive_function({domain}, {body})"


def _pattern(bounds: Sequence[Bound], names: list[str]) -> str:
    """Write the argument that a function's variables make together: one value, or a tuple."""
    parts, left = [], list(names)
    for bound in bounds:
        own, left = left[: len(bound.params)], left[len(bound.params) :]
        parts += [f"({', '.join(own)}{',' * (len(own) == 1)})"] if bound.is_tuple else own
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
