"""What is known of a conjunct of an action: whether it acts, what it would assign, what it compares."""

from __future__ import annotations

from lockstep.tla.compile.action_writer import Actions, Assigned, status_of
from lockstep.tla.compile.context_facts import is_rigid_but_for_states, must_inline
from lockstep.tla.compile.expression_context import Context, InlineBinding, LetBinding
from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Definition, Expr, Let, OperatorArg, walk

_ORDERS = {("Naturals", name) for name in ("<", ">", "\\leq", "\\geq")}


def is_action(actions: Actions, expr: Expr, scope: Context, assigned: Assigned) -> bool:
    """Tell whether a conjunct must be written as an action, not tested as a formula."""
    if actions.mode == "why" and has_structure(actions, expr, scope):
        return True
    if may_branch(actions, expr, scope):
        return True
    if not is_rigid_but_for_states(actions.program, expr, scope):
        return True
    now, nxt = actions.program.reads(expr)
    if actions.mode == "init":
        full = all(status_of(assigned, name) == "yes" for name in actions.values.variables.values())
        return now and not full
    return nxt


def may_branch(actions: Actions, expr: Expr, scope: Context) -> bool:
    """Tell whether TLC may take a conjunct in several ways, so that a search has to follow it; others need not."""
    return may_follow(actions) and _may_branch(actions.program, expr, scope)


def _may_branch(program: Program, expr: Expr, scope: Context) -> bool:
    if program.branches(expr):
        return True
    for part in walk(expr, program.tree):
        if not isinstance(part, (Call, OperatorArg)):
            continue
        binding = scope.env.get(part.op)
        if isinstance(binding, InlineBinding) and (
            _may_branch(program, binding.expr, binding.scope) or _branches_used(program, binding.expr)
        ):
            return True
        if isinstance(binding, LetBinding) and _body_may_branch(program, binding):
            return True
        if isinstance(part, Call) and _passes_on(program, part):
            return True
    return False


def _body_may_branch(program: Program, binding: LetBinding) -> bool:
    definition = binding.definition
    return not definition.recursive and _may_branch(program, definition.body, binding.scope)


def _passes_on(program: Program, expr: Call) -> bool:
    """Tell whether a definition is given what branches: it may use that as a conjunct."""
    definition = program.definition(expr.op)
    if definition is None or definition.recursive or program.standard(definition) is not None:
        return False
    return any(_branches_used(program, arg) or program.branches(arg) for arg in expr.args)


def uses_of(program: Program, definition: Definition, param: int) -> int:
    """Count the places at which a definition uses a parameter."""
    parts = walk(definition.body, program.tree)
    return sum(isinstance(part, Call | OperatorArg) and part.op == param for part in parts)


def _branches_used(program: Program, expr: Expr) -> bool:
    """Tell whether an argument branches where it is used: an operator, or a function that is applied."""
    if not isinstance(expr, OperatorArg):
        return program.branches_applied(expr)
    definition = program.definition(expr.op)
    return definition is not None and program.branches(definition.body)


def assigns(actions: Actions, expr: Expr, scope: Context) -> bool:
    """Tell whether a conjunct must be taken apart even where explanations would show it whole."""
    return actions.mode != "why" or reads_next(actions.program, expr, scope)


def reads_next(program: Program, expr: Expr, scope: Context) -> bool:
    """Tell whether an expression reads or assigns the next state, itself or by what its names are bound to."""
    return program.reads(expr)[1] or not is_rigid_but_for_states(program, expr, scope)


def has_structure(actions: Actions, expr: Expr, scope: Context) -> bool:
    """Tell whether a conjunct has conjuncts within, for explanations."""
    if isinstance(expr, Builtin):
        return expr.name in (
            "\\land",
            "\\lor",
            "$IfThenElse",
            "$Case",
            "UNCHANGED",
            "$SquareAct",
            "$AngleAct",
            "=",
            "\\in",
            "TRUE",
            "FALSE",
        )
    if isinstance(expr, Bind):
        return expr.name == "$BoundedExists"
    if isinstance(expr, Let):
        return True
    if isinstance(expr, Call):
        if isinstance(scope.env.get(expr.op), (InlineBinding, LetBinding)):
            return True
        definition = actions.program.definition(expr.op)
        if definition is None or actions.program.standard(definition) or definition.recursive:
            return False
        return actions.program.facts[definition.uid].boolean and expr.op not in scope.env
    return False


def may_follow(actions: Actions) -> bool:
    """Tell whether ways to hold are counted: in a search."""
    return actions.mode in ("next", "init")


def variable_of(actions: Actions, expr: Expr, scope: Context) -> str | None:
    """Answer the variable that ``expr = e`` would assign: ``x'``, or ``x`` in an initial predicate."""
    if actions.mode != "init":
        if isinstance(expr, Builtin) and expr.name == "'":
            return plain_variable(actions, expr.args[0], scope)
        if isinstance(expr, Call) and isinstance(inline := scope.env.get(expr.op), InlineBinding):
            return variable_of(actions, inline.expr, inline.scope)
        body = _plain_body(actions, expr, scope)
        return None if body is None else variable_of(actions, body, scope)
    return plain_variable(actions, expr, scope)


def plain_variable(actions: Actions, expr: Expr, scope: Context) -> str | None:
    """Answer the Python name of the variable that an expression is."""
    if not isinstance(expr, Call):
        return None
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        return plain_variable(actions, binding.expr, binding.scope)
    body = _plain_body(actions, expr, scope)
    if body is not None:
        return plain_variable(actions, body, scope)
    return actions.values.slots.get(actions.program.target(expr.op))


def _plain_body(actions: Actions, expr: Expr, scope: Context) -> Expr | None:
    """Answer the body of a definition without parameters, through which TLC looks for a variable to assign."""
    if not isinstance(expr, Call) or expr.args:
        return None
    binding = scope.env.get(expr.op)
    definition = binding.definition if isinstance(binding, LetBinding) else actions.program.definition(expr.op)
    return definition.body if definition is not None and not definition.params else None


def flattened(actions: Actions, expr: Expr, scope: Context) -> list[str] | None:
    """List the variables of a tuple of variables, definitions such as ``vars`` included."""
    variable = plain_variable(actions, expr, scope)
    if variable is not None:
        return [variable]
    if isinstance(expr, Builtin) and expr.name == "$Tuple":
        parts = [flattened(actions, arg, scope) for arg in expr.args]
        if any(part is None for part in parts):
            return None
        return [name for part in parts if part is not None for name in part]
    if isinstance(expr, Call) and isinstance(inline := scope.env.get(expr.op), InlineBinding):
        return flattened(actions, inline.expr, inline.scope)
    body = _plain_body(actions, expr, scope)
    return None if body is None else flattened(actions, body, scope)


def needs_inlining(actions: Actions, definition: Definition, expr: Call, scope: Context) -> bool:
    """Tell whether an argument must reach the body unevaluated: it is an action or a variable to be assigned."""
    if must_inline(actions.program, definition, expr, scope):
        return True
    for arg in expr.args:
        if actions.mode == "init" and plain_variable(actions, arg, scope) is not None:
            return True
        if actions.program.reads(arg)[1] and not definition.recursive:
            return True
        if may_branch(actions, arg, scope) or (may_follow(actions) and _branches_used(actions.program, arg)):
            return not definition.recursive
        if isinstance(arg, (Call, OperatorArg)) and isinstance(scope.env.get(arg.op), InlineBinding):
            return True
    return False


def sides(actions: Actions, expr: Expr) -> tuple[Expr, Expr] | None:
    """Answer both sides of a comparison."""
    if isinstance(expr, Builtin) and expr.name in ("=", "#", "\\in", "\\notin", "\\subseteq"):
        return expr.args[0], expr.args[1]
    if isinstance(expr, Call) and len(expr.args) == 2:
        definition = actions.program.definition(expr.op)
        if definition is not None and actions.program.standard(definition) in _ORDERS:
            return expr.args[0], expr.args[1]
    return None
