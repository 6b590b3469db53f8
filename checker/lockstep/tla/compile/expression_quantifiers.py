"""Quantifiers and comprehensions, which bind variables to the elements of a set."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import limits_of
from lockstep.tla.compile.expression_context import Context
from lockstep.tla.compile.expression_forms import are_alike, is_use_of
from lockstep.tla.compile.expression_writer import ExpressionWriter, Write
from lockstep.tla.compile.keyed_bounds import Key, key_of
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Call, Expr, Location, Number


def loops(
    writer: ExpressionWriter,
    bounds: Sequence[Bound],
    scope: Context,
    block: Block,
    *,
    in_order: bool = False,
    key: Key | None = None,
) -> tuple[Context, str, list[str]]:
    """Compile bounds as the ``for`` clauses of a comprehension; return the variables too.

    All domains are computed before; then, as in TLC, the first variable changes fastest. With a key, no more than the
    elements that have it need be listed.
    """
    clauses, inner = [], scope
    names: list[str] = []
    single = len(bounds) == 1 and (bounds[0].is_tuple or len(bounds[0].params) == 1)
    for bound in bounds:
        if bound.domain is None:
            raise CompileError("a quantifier without a bound is not supported", location_of(bounds))
        domain = iterable(writer, bound.domain, scope, block, in_order=in_order, key=key)
        if not single:
            domain = hoisted(writer, domain, scope, block)
        inner, fresh = writer.bind_values(bound.params, inner)
        names.extend(fresh)
        if bound.is_tuple:
            clauses.append(f"for {', '.join(fresh)}{',' * (len(fresh) == 1)} in _tuples({domain}, {len(fresh)})")
        else:
            clauses.extend(f"for {name} in {domain}" for name in fresh)
    return inner, " ".join(reversed(clauses)), names


def hoisted(writer: ExpressionWriter, code: str, scope: Context, block: Block) -> str:
    """Write the computation of something that is needed several times; return its name."""
    name = scope.names.fresh("_d")
    block.emit(f"{name} = {code}")
    return name


def iterable(
    writer: ExpressionWriter,
    domain: Expr,
    scope: Context,
    block: Block,
    *,
    in_order: bool = False,
    key: Key | None = None,
) -> str:
    """Compile a domain, or its elements with a key, for iteration, in its deterministic order or in any."""
    limits = limits_of(writer.program, domain)
    if limits is not None:
        low, high = (writer.expr(limit, scope, block) for limit in limits)
        return f"_span({low}, {high})"
    code = writer.expr(domain, scope, block)
    if key is not None and writer.program.is_pure:
        code = f"_having({code}, {key.field!r}, {writer.delayed(key.value, scope, block)})"
    if in_order or writer.program.has_registers:
        return f"_elements({code})"
    if isinstance(domain, Builtin) and domain.name == "$SetEnumerate" and len(domain.args) < 2:
        return code
    return f"_listed({code})"


def body_call(
    writer: ExpressionWriter, expr: Expr, scope: Context, names: list[str], block: Block, *, test: bool
) -> str:
    """Compile the body of a comprehension; one that needs statements becomes a local function."""
    inner = Block()
    code = writer.test(expr, scope, inner) if test else writer.expr(expr, scope, inner)
    if not inner.lines:
        return code
    inner.emit(f"return {code}")
    name = scope.names.fresh("_f")
    block.nest(f"def {name}({', '.join(names)}):", inner)
    return f"{name}({', '.join(names)})"


def quantifier(writer: ExpressionWriter, expr: Bind, scope: Context, block: Block) -> str:
    """Compile ``\\A`` and ``\\E`` over bounds."""
    key = key_of(writer.program, expr)
    inner, clauses, names = loops(writer, expr.bounds, scope, block, in_order=True, key=key)
    body = body_call(writer, expr.body, inner, names, block, test=True)
    return f"{'any' if expr.name == '$BoundedExists' else 'all'}({body} {clauses})"


def set_map(writer: ExpressionWriter, expr: Bind, scope: Context, block: Block) -> str:
    """Compile ``{e : x \\in S}``."""
    sequence = None if writer.program.may_be_lazy(expr.body) else sequence_of_elements(writer.program, expr)
    if sequence is not None:
        return f"_elements_of({writer.expr(sequence, scope, block)})"
    return f"_make_set([{_each(writer, expr, scope, block)}]{', True' * writer.program.may_be_lazy(expr.body)})"


def sequence_of_elements(program: Program, expr: Bind) -> Expr | None:
    """Return s of ``{s[i] : i \\in 1..Len(s)}``, None for any other set."""
    bound, applied = expr.bounds[0], expr.body
    limits = limits_of(program, bound.domain) if len(expr.bounds) == 1 and bound.domain is not None else None
    if limits is None or not _is_of_one_name(bound) or not isinstance(limits[0], Number) or limits[0].value != 1:
        return None
    length = limits[1]
    if not isinstance(length, Call) or program.standard_use(length.op) != ("Sequences", "Len"):
        return None
    if (
        not isinstance(applied, Builtin)
        or applied.name != "$FcnApply"
        or not is_use_of(applied.args[1], bound.params[0])
    ):
        return None
    sequence = applied.args[0]
    return sequence if are_alike(sequence, length.args[0]) else None


def _each(writer: ExpressionWriter, expr: Bind, scope: Context, block: Block) -> str:
    inner, clauses, names = loops(writer, expr.bounds, scope, block)
    return f"{body_call(writer, expr.body, inner, names, block, test=False)} {clauses}"


def union(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile UNION; that of sets which are written out, or given by a comprehension, does not list them."""
    sets = expr.args[0]
    intervals = ", True" * writer.program.may_hold_intervals(sets)
    if isinstance(sets, Bind) and sets.name == "$SetOfAll":
        return f"_union_over([{_each(writer, sets, scope, block)}]{intervals})"
    if isinstance(sets, Builtin) and sets.name == "$SetEnumerate":
        return f"_union_over([{', '.join(writer.expr(arg, scope, block) for arg in sets.args)}]{intervals})"
    return f"_big_union({writer.expr(sets, scope, block)}{intervals})"


def set_filter(writer: ExpressionWriter, expr: Bind, scope: Context, block: Block) -> str:
    """Compile ``{x \\in S : p}``."""
    bound = expr.bounds[0]
    assert bound.domain is not None
    if not writer.program.is_listed(bound.domain):
        domain = writer.expr(bound.domain, scope, block)
        return f"_set_filter({domain}, {function_of_bound(writer, bound, expr.body, scope, block, test=True)})"
    inner, clauses, names = loops(writer, expr.bounds, scope, block, key=key_of(writer.program, expr))
    body = body_call(writer, expr.body, inner, names, block, test=True)
    element = f"({', '.join(names)}{',' * (len(names) == 1)})" if bound.is_tuple else names[0]
    return f"frozenset([{element} {clauses} if {body}])"


def function_of_bound(
    writer: ExpressionWriter,
    bound: Bound,
    body: Expr,
    scope: Context,
    block: Block,
    *,
    test: bool = False,
    write: Write | None = None,
) -> str:
    """Compile the body of a construct with one bound as a Python function of an element."""
    inner, names = writer.bind_values(bound.params, scope)
    code = writer.delayed(body, inner, block, ", ".join(names), test=test, write=write)
    return f"lambda _x, _b={code}: _b(*_untuple(_x, {len(names)}))" if bound.is_tuple else code


def choose(writer: ExpressionWriter, expr: Bind, scope: Context, block: Block) -> str:
    """Compile CHOOSE over a bound."""
    bound = expr.bounds[0]
    if bound.domain is None:
        raise CompileError("CHOOSE without a bound is not supported: replace it in the configuration", expr.loc)
    limits = limits_of(writer.program, bound.domain)
    domain = iterable(writer, bound.domain, scope, block) if limits else writer.expr(bound.domain, scope, block)
    test = function_of_bound(writer, bound, expr.body, scope, block, test=True)
    extreme = extreme_of(writer.program, expr)
    if extreme is not None:
        return f"_names.choose_extreme({extreme}, {domain}, {test}, {str(expr.loc)!r})"
    return f"_choose({domain}, {test}, {str(expr.loc)!r})"


def extreme_of(program: Program, expr: Bind) -> str | None:
    """Return ``max`` for ``CHOOSE x \\in S : \\A y \\in S : y <= x``, ``min`` for its opposite, None for anything else.

    S is a name. A set of integers has one witness at most, which is found without comparing each with each.
    """
    (bound, *others), body = expr.bounds, expr.body
    if others or not _is_of_one_name(bound) or not isinstance(body, Bind) or body.name != "$BoundedForall":
        return None
    (within, *others), compared = body.bounds, body.body
    if others or not _is_of_one_name(within) or not isinstance(compared, Call) or len(compared.args) != 2:
        return None
    ends = [each.op for each in (bound.domain, within.domain) if isinstance(each, Call) and not each.args]
    definition = program.definition(compared.op)
    known = None if definition is None else program.standard(definition)
    if len(ends) != 2 or ends[0] != ends[1] or known not in _NOT_STRICT:
        return None
    sides = [each.op for each in compared.args if isinstance(each, Call) and not each.args]
    chosen, any_one = bound.params[0], within.params[0]
    if sides == [any_one, chosen]:
        return _NOT_STRICT[known][0]
    return _NOT_STRICT[known][1] if sides == [chosen, any_one] else None


def _is_of_one_name(bound: Bound) -> bool:
    return not bound.is_tuple and len(bound.params) == 1


#: The element that a comparison with all others chooses: the one on its right, or on its left.
_NOT_STRICT = {("Naturals", "\\leq"): ("max", "min"), ("Naturals", "\\geq"): ("min", "max")}


def location_of(bounds: Sequence[Bound]) -> Location | None:
    """Return the location of bounds, if one has a set."""
    return next((bound.domain.loc for bound in bounds if bound.domain is not None), None)
