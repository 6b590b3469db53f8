"""Facts about an expression in its context, which binds its names."""

from __future__ import annotations

from lockstep.tla.compile.expression_context import (
    NEXT,
    Context,
    FunctionBinding,
    InlineBinding,
    LetBinding,
    ValueBinding,
)
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.value_shapes import outcomes
from lockstep.tla.syntax.tree import AtSign, Bind, Builtin, Call, Definition, Expr, Let, Number, OperatorArg, walk


def may_be_soft(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether what :meth:`lazily` writes may be a function that TLC would compute as a whole elsewhere."""
    if isinstance(expr, Bind):
        return program.makes_function(expr)
    if isinstance(expr, Let):
        return may_be_soft(program, expr.body, scope)
    if isinstance(expr, Builtin):
        return any(may_be_soft(program, part, scope) for part in outcomes(expr))
    return isinstance(expr, Call) and call_may_be_soft(program, expr, scope)


def call_may_be_soft(program: Program, expr: Call, scope: Context) -> bool:
    """Return whether the use of a symbol may be such a function."""
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        return isinstance(binding.expr, OperatorArg) or may_be_soft(program, binding.expr, binding.scope)
    if isinstance(binding, LetBinding):
        return binding.soft
    if binding is not None:
        return receives_lazy_function(program, expr.op)
    definition = program.definition(expr.op)
    return definition is not None and program.facts[definition.uid].makes_function


def is_boolean(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether an expression is known to be TRUE or FALSE."""
    if isinstance(expr, Call) and isinstance(scope.env.get(expr.op), InlineBinding):
        return False
    return program.is_boolean(expr)


def receives_lazy_function(program: Program, uid: int) -> bool:
    """Return whether a parameter is given functions (or operators that make some) computed on demand."""
    param = program.tree.params.get(uid)
    return uid in (program.applied if param is not None and param.arity else program.soft)


def must_inline(program: Program, definition: Definition, expr: Call, scope: Context) -> bool:
    """Return whether a use cannot be a function call: a prime inside reaches into an argument."""
    primed = program.facts[definition.uid].primed
    return bool(primed) and any(
        param in primed and not is_rigid(program, arg, scope)
        for param, arg in zip(definition.params, expr.args, strict=True)
    )


def is_rigid(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether a prime around an expression changes nothing."""
    return program.is_constant(expr) and is_rigid_but_for_states(program, expr, scope)


def is_rigid_but_for_states(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether no inlined argument or function taken apart within an expression reads or assigns a state."""
    for part in walk(expr, program.tree):
        if isinstance(part, (Call, OperatorArg)):
            binding = scope.env.get(part.op)
            if isinstance(binding, InlineBinding) and not is_rigid(program, binding.expr, binding.scope):
                return False
            if isinstance(binding, FunctionBinding) and binding.assigns:
                return False
    return True


_OF_NEXT = frozenset({"'", "UNCHANGED", "ENABLED", "$SquareAct", "$AngleAct"})


def unstable(program: Program, expr: Expr, scope: Context, within: frozenset[int] = frozenset()) -> bool:
    """Return whether a value may change during an evaluation: it reads a state under construction.

    It may read that itself, or by what its names stand for; `within` are the LET definitions on the way.
    """
    now, nxt = program.reads(expr)
    if (now and scope.now == NEXT) or (nxt and scope.next == NEXT):
        return True
    for part in walk(expr, program.tree):
        if isinstance(part, Builtin) and part.name in _OF_NEXT:  # arguments are not followed into the next state
            if any(isinstance(binding, InlineBinding) for binding in scope.env.values()):
                return True
        elif isinstance(part, (Call, OperatorArg)) and _is_unstable_use(program, part, scope, within):
            return True
    return False


def _is_unstable_use(program: Program, expr: Call | OperatorArg, scope: Context, within: frozenset[int]) -> bool:
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        is_operator = isinstance(binding.expr, OperatorArg)
        return is_operator or unstable(program, binding.expr, binding.scope.in_states_of(scope), within)
    if isinstance(binding, LetBinding):
        uid, inside = binding.definition.uid, binding.scope.in_states_of(scope)
        return uid not in within and unstable(program, binding.definition.body, inside, within | {uid})
    if binding is not None:
        return isinstance(binding, FunctionBinding)
    definition = program.own_definition(expr.op)
    if definition is None or not program.facts[definition.uid].primed:
        return False
    return isinstance(expr, OperatorArg) or must_inline(program, definition, expr, scope)


def reads_unfinished(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether an expression reads a state under construction, itself or by what is put in its place."""
    now, nxt = program.reads(expr)
    if (now and scope.now == NEXT) or (nxt and scope.next == NEXT):
        return True
    bindings = [scope.env.get(part.op) for part in walk(expr, program.tree) if isinstance(part, (Call, OperatorArg))]
    return any(
        isinstance(binding, InlineBinding) and reads_unfinished(program, binding.expr, binding.scope)
        for binding in bindings
    )


def uses_computed(program: Program, expr: Expr, scope: Context, within: frozenset[int] = frozenset()) -> bool:
    """Return whether an expression uses an argument whose value is computed once, itself or by a LET definition.

    `within` are the LET definitions on the way.
    """
    for part in walk(expr, program.tree):
        binding = scope.env.get(part.op) if isinstance(part, (Call, OperatorArg)) else None
        if isinstance(binding, InlineBinding):
            found = bool(binding.computed) or uses_computed(program, binding.expr, binding.scope, within)
        else:
            found = (
                isinstance(binding, LetBinding)
                and (uid := binding.definition.uid) not in within
                and uses_computed(program, binding.definition.body, binding.scope, within | {uid})
            )
        if found:
            return True
    return False


def is_computed(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether an expression names a value that is there already, so that it cannot fail."""
    binding = scope.env.get(expr.op) if isinstance(expr, Call) else None
    known = binding is None or isinstance(binding, ValueBinding)
    return known and program.is_atomic(expr) and not isinstance(expr, AtSign)


def limits_of(program: Program, domain: Expr) -> tuple[Expr, ...] | None:
    """Return a and b of a domain ``a..b``."""
    is_interval = isinstance(domain, Call) and program.standard_use(domain.op) == ("Naturals", "..")
    return domain.args if isinstance(domain, Call) and is_interval else None


def is_integer(program: Program, expr: Expr) -> bool:
    """Return whether an expression is known to be an integer, if it has a value."""
    return isinstance(expr, Number) or (
        isinstance(expr, Call)
        and (
            type(program.values.get(program.target(expr.op))) is int
            or _standard_name(program, expr) in ("+", "-", "*", "\\div", "%", "^", "-.", "Len", "Cardinality")
        )
    )


def is_small(program: Program, expr: Expr) -> bool:
    """Return whether an expression is known to be an integer whose sum with another such has 32 bits."""
    if isinstance(expr, Number):
        return abs(expr.value) < 2**30
    if not isinstance(expr, Call):
        return False
    given = program.values.get(program.target(expr.op))
    is_small_constant = type(given) is int and abs(given) < 2**30
    return is_small_constant or _standard_name(program, expr) in ("Len", "Cardinality")


def _standard_name(program: Program, expr: Call) -> str:
    """Return the name of the standard module's operator that is used; empty where it is none."""
    known = program.standard_use(expr.op)
    return "" if known is None else known[1]
