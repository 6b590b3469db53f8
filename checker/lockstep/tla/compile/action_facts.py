"""Facts about a conjunct of an action: whether it acts, the variable it assigns, the values it compares."""

from __future__ import annotations

from lockstep.tla.compile.action_writer import ActionWriter, Site
from lockstep.tla.compile.context_facts import is_rigid_but_for_states, must_inline
from lockstep.tla.compile.expression_context import Context, InlineBinding, LetBinding
from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Definition, Expr, Let, OperatorArg, walk

_ORDERS = {("Naturals", name) for name in ("<", ">", "\\leq", "\\geq")}
_COMPARISONS = ("=", "#", "\\in", "\\notin", "\\subseteq")
#: The constructs that explanations take apart.
_STRUCTURES = frozenset(
    {"\\land", "\\lor", "$IfThenElse", "$Case", "UNCHANGED", "$SquareAct", "$AngleAct", "=", "\\in", "TRUE", "FALSE"}
)


def is_action(actions: ActionWriter, expr: Expr, site: Site) -> bool:
    """Return whether a conjunct must be written as an action, not tested as a formula."""
    if actions.mode == "why" and _has_structure(actions.program, expr, site.scope):
        return True
    if may_branch(actions, expr, site.scope) or not is_rigid_but_for_states(actions.program, expr, site.scope):
        return True
    now, nxt = actions.program.reads(expr)
    if actions.mode == "init":
        return now and any(site.status(name) != "yes" for name in actions.expressions.variables.values())
    return nxt


def may_branch(actions: ActionWriter, expr: Expr, scope: Context) -> bool:
    """Return whether a conjunct may hold in several ways for TLC, so that a search has to follow each."""
    return actions.is_search and _may_branch(actions.program, expr, scope)


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
        if isinstance(binding, LetBinding) and (
            not binding.definition.recursive and _may_branch(program, binding.definition.body, binding.scope)
        ):
            return True
        if isinstance(part, Call) and _passes_on(program, part):
            return True
    return False


def _passes_on(program: Program, expr: Call) -> bool:
    """Return whether a definition is given an argument that branches, which it may use as a conjunct."""
    definition = program.own_definition(expr.op)
    if definition is None or definition.recursive:
        return False
    return any(_branches_used(program, arg) or program.branches(arg) for arg in expr.args)


def uses_of(program: Program, definition: Definition, param: int) -> int:
    """Count the places at which a definition uses a parameter."""
    parts = walk(definition.body, program.tree)
    return sum(isinstance(part, Call | OperatorArg) and part.op == param for part in parts)


def _branches_used(program: Program, expr: Expr) -> bool:
    """Return whether an argument branches where it is used: an operator, or a function that is applied."""
    if not isinstance(expr, OperatorArg):
        return program.branches_applied(expr)
    definition = program.definition(expr.op)
    return definition is not None and program.branches(definition.body)


def assigns(actions: ActionWriter, expr: Expr, scope: Context) -> bool:
    """Return whether a conjunct must be taken apart even where explanations would show it whole."""
    return actions.mode != "why" or reads_next(actions.program, expr, scope)


def reads_next(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether an expression reads or assigns the next state, itself or through the bindings of its names."""
    return program.reads(expr)[1] or not is_rigid_but_for_states(program, expr, scope)


def _has_structure(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether a conjunct has conjuncts within, for explanations."""
    if isinstance(expr, Builtin):
        return expr.name in _STRUCTURES
    if isinstance(expr, Bind):
        return expr.name == "$BoundedExists"
    if isinstance(expr, Call):
        if isinstance(scope.env.get(expr.op), (InlineBinding, LetBinding)):
            return True
        definition = program.own_definition(expr.op)
        if definition is None or definition.recursive:
            return False
        return program.facts[definition.uid].boolean and expr.op not in scope.env
    return isinstance(expr, Let)


def variable_of(actions: ActionWriter, expr: Expr, scope: Context) -> str | None:
    """Return the variable that ``expr = e`` would assign: ``x'``, or ``x`` in an initial predicate."""
    if actions.mode == "init":
        return plain_variable(actions, expr, scope)
    if isinstance(expr, Builtin) and expr.name == "'":
        return plain_variable(actions, expr.args[0], scope)
    if isinstance(expr, Call) and isinstance(inline := scope.env.get(expr.op), InlineBinding):
        return variable_of(actions, inline.expr, inline.scope)
    body = _plain_body(actions, expr, scope)
    return None if body is None else variable_of(actions, body, scope)


def plain_variable(actions: ActionWriter, expr: Expr, scope: Context) -> str | None:
    """Return the Python name of the variable that an expression is."""
    if not isinstance(expr, Call):
        return None
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        return plain_variable(actions, binding.expr, binding.scope)
    body = _plain_body(actions, expr, scope)
    if body is not None:
        return plain_variable(actions, body, scope)
    return actions.expressions.slots.get(actions.program.target(expr.op))


def _plain_body(actions: ActionWriter, expr: Expr, scope: Context) -> Expr | None:
    """Return the body of a definition without parameters, through which TLC looks for a variable to assign."""
    if not isinstance(expr, Call) or expr.args:
        return None
    binding = scope.env.get(expr.op)
    definition = binding.definition if isinstance(binding, LetBinding) else actions.program.definition(expr.op)
    return definition.body if definition is not None and not definition.params else None


def flattened(actions: ActionWriter, expr: Expr, scope: Context) -> list[str] | None:
    """List the variables of a tuple of variables, definitions such as ``vars`` included."""
    variable = plain_variable(actions, expr, scope)
    if variable is not None:
        return [variable]
    if isinstance(expr, Builtin) and expr.name == "$Tuple":
        parts = [flattened(actions, arg, scope) for arg in expr.args]
        return None if None in parts else [name for part in parts for name in part or ()]
    if isinstance(expr, Call) and isinstance(inline := scope.env.get(expr.op), InlineBinding):
        return flattened(actions, inline.expr, inline.scope)
    body = _plain_body(actions, expr, scope)
    return None if body is None else flattened(actions, body, scope)


def needs_inlining(actions: ActionWriter, definition: Definition, expr: Call, scope: Context) -> bool:
    """Return whether an argument must reach the body unevaluated: it is an action or a variable to be assigned."""
    program = actions.program
    if must_inline(program, definition, expr, scope):
        return True
    for arg in expr.args:
        if actions.mode == "init" and plain_variable(actions, arg, scope) is not None:
            return True
        if program.reads(arg)[1] and not definition.recursive:
            return True
        if may_branch(actions, arg, scope) or (actions.is_search and _branches_used(program, arg)):
            return not definition.recursive
        if isinstance(arg, (Call, OperatorArg)) and isinstance(scope.env.get(arg.op), InlineBinding):
            return True
    return False


def sides(program: Program, expr: Expr) -> tuple[Expr, Expr] | None:
    """Return both sides of a comparison."""
    if isinstance(expr, Builtin) and expr.name in _COMPARISONS:
        return expr.args[0], expr.args[1]
    if isinstance(expr, Call) and len(expr.args) == 2 and program.standard_use(expr.op) in _ORDERS:
        return expr.args[0], expr.args[1]
    return None
