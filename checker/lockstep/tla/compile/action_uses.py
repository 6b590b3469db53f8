"""Uses of definitions and parameters as actions."""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_conjunctions import guard, loop_over
from lockstep.tla.compile.action_facts import may_branch, needs_inlining, uses_of
from lockstep.tla.compile.action_writer import Actions, Assigned, Rest, recording
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import may_be_soft, unstable
from lockstep.tla.compile.expression_context import NOW, Context, InlineBinding, LetBinding
from lockstep.tla.compile.expression_uses import arguments
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Call, Definition, Expr, OperatorArg


def write_call(actions: Actions, expr: Call, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write the use of a name that stands as a conjunct."""
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        inline_argument(actions, expr, binding, scope, block, assigned, rest)
    elif isinstance(binding, LetBinding):
        inside = binding.scope.of_states(scope)
        inline(actions, binding.definition, expr, inside, scope, block, assigned, rest)
    elif binding is not None:
        guard(actions, expr, scope, block, assigned, rest)
    else:
        call_definition(actions, expr, scope, block, assigned, rest)


def inline_argument(
    actions: Actions, expr: Call, binding: InlineBinding, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write an argument, itself an action, in place of the parameter."""
    outer = binding.scope.of_states(scope)
    if not isinstance(binding.expr, OperatorArg):
        if binding.kept and may_branch(actions, binding.expr, outer):
            _follow_unless_computed(actions, expr, binding, scope, block, assigned, rest)
        else:
            actions.write(binding.expr, outer, block, assigned, _back(actions, scope, rest))
        return
    definition = actions.program.definition(binding.expr.op)
    local = outer.env.get(binding.expr.op)
    if isinstance(local, InlineBinding):
        inline_argument(actions, expr, local, scope, block, assigned, rest)
    elif definition is None:
        raise CompileError("this operator cannot be used as an action", expr.loc)
    else:
        inline(actions, definition, expr, outer, scope, block, assigned, rest)


def _follow_unless_computed(
    actions: Actions, expr: Call, binding: InlineBinding, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write an argument that may hold in several ways, each of which is taken unless its value is there already.

    TLC takes the expression of a LazyValue apart at every use as a conjunct, until an evaluation has computed its
    value; from then on that is tested (Tool.getNextStatesAppl). So ``IF p THEN p ELSE q`` does not branch on p;
    ``p /\\ p`` does, twice.
    """
    ends: list[Assigned] = []
    local, known, followed = Block(), Block(), Block()
    guard(actions, expr, scope, known, assigned, recording(ends))
    actions.write(binding.expr, binding.scope.of_states(scope), followed, assigned, recording(ends))
    local.nest(f"if {binding.kept}.is_computed:", known)
    local.nest("else:", followed)
    loop_over(actions, local, ends, scope, block, rest)


def _back(actions: Actions, scope: Context, rest: Rest) -> Rest:
    return Rest(lambda b, a, _inner: rest.write(b, a, scope), rest.is_small)


def inline(
    actions: Actions,
    definition: Definition,
    expr: Call,
    inside: Context,
    scope: Context,
    block: Block,
    assigned: Assigned,
    rest: Rest,
) -> None:
    """Write a definition's body in place of its use."""

    def after(inner: Block, left: Assigned, _inside: Context) -> None:
        with actions.values.after_inlined():
            rest.write(inner, left, scope)

    with actions.values.inlined(definition, expr.loc):
        bound = inside.bind(
            {
                param: InlineBinding(arg, scope, kept(actions, definition, param, arg, scope, block))
                for param, arg in zip(definition.params, expr.args, strict=True)
            }
        )
        actions.write(definition.body, bound, block, assigned, Rest(after, rest.is_small))


def kept(actions: Actions, definition: Definition, param: int, arg: Expr, scope: Context, block: Block) -> str:
    """Write the computation of an argument that is asked for more than once, branches, or depends on its moment.

    Returns the name to call for it; an empty one where it is computed wherever it is used: if it is a name or may be
    one to assign, is an action, reads the state under construction, or may be a function whose body TLC keeps.
    """
    program = actions.program
    if actions.mode not in ("next", "step", "init") or isinstance(arg, OperatorArg):
        return ""
    matters = program.matters_when(arg)
    if not (matters or is_work(program, arg, scope)) or unstable(program, arg, scope):
        return ""
    if may_be_soft(program, arg, scope):
        return ""
    if not (matters or may_branch(actions, arg, scope)) and uses_of(program, definition, param) < _SEVERAL:
        return ""
    name = scope.names.fresh("_kept")
    block.emit(f"# {arg.loc}")
    block.emit(f"{name} = _Lazy({actions.values.delayed(arg, scope, block)})")
    return name


_SEVERAL = 2


def is_work(program: Program, expr: Expr, scope: Context) -> bool:
    """Tell whether it takes work to compute an expression: it is more than a name, and its value is not kept."""
    binding = scope.env.get(expr.op) if isinstance(expr, Call) and not expr.args else None
    if isinstance(binding, InlineBinding):
        is_kept = bool(binding.kept) or isinstance(binding.expr, OperatorArg)
        return not is_kept and is_work(program, binding.expr, binding.scope)
    return binding is None and not program.is_atomic(expr)


def call_definition(actions: Actions, expr: Call, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write the use of a definition: a loop over its generator's ends."""
    definition = actions.program.definition(expr.op)
    if definition is None or actions.program.standard(definition) is not None:
        guard(actions, expr, scope, block, assigned, rest)
        return
    if needs_inlining(actions, definition, expr, scope):
        inline(actions, definition, expr, replace(scope, env={}, at=()), scope, block, assigned, rest)
        return
    args = arguments(actions.values, definition, expr, scope, block)
    name = actions.function(definition, assigned)
    states = [str(scope.now) if state == NOW else state for state in actions.states()]
    after = actions.exit_of(definition, assigned)
    inner = Block()
    rest.write(inner, after, scope)
    use = f"{name}({', '.join([*states, *args])})"
    if inner.lines == ["yield"]:
        block.emit(f"yield from {use}")
    else:
        block.nest(f"for _ in {use}:", inner)
