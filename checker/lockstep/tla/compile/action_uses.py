"""Uses of definitions and parameters as actions."""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_conjunctions import write_guard
from lockstep.tla.compile.action_facts import may_branch, needs_inlining, uses_of
from lockstep.tla.compile.action_writer import ActionWriter, Alternatives, Assigned, Rest, Site
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import may_be_soft, unstable
from lockstep.tla.compile.expression_context import NOW, Context, InlineBinding, LetBinding
from lockstep.tla.compile.expression_uses import arguments
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Call, Definition, Expr, OperatorArg


def write_call(actions: ActionWriter, expr: Call, site: Site) -> None:
    """Write the use of a name that stands as a conjunct."""
    binding = site.scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        _write_argument(actions, expr, binding, site)
    elif isinstance(binding, LetBinding):
        _write_inlined(actions, binding.definition, expr, binding.scope.in_states_of(site.scope), site)
    elif binding is not None:
        write_guard(actions, expr, site)
    else:
        _write_definition(actions, expr, site)


def _write_argument(actions: ActionWriter, expr: Call, binding: InlineBinding, site: Site) -> None:
    """Write an argument, itself an action, in place of the parameter."""
    outer = binding.scope.in_states_of(site.scope)
    if not isinstance(binding.expr, OperatorArg):
        if binding.computed and may_branch(actions, binding.expr, outer):
            _follow_unless_computed(actions, expr, binding, site)
        else:
            actions.write(binding.expr, replace(site, scope=outer))
        return
    definition = actions.program.definition(binding.expr.op)
    local = outer.env.get(binding.expr.op)
    if isinstance(local, InlineBinding):
        _write_argument(actions, expr, local, site)
    elif definition is None:
        raise CompileError("this operator cannot be used as an action", expr.loc)
    else:
        _write_inlined(actions, definition, expr, outer, site)


def _follow_unless_computed(actions: ActionWriter, expr: Call, binding: InlineBinding, site: Site) -> None:
    """Write an argument that may hold in several ways, which are all taken unless it is computed already.

    TLC takes the expression of a LazyValue apart at every use as a conjunct, until an evaluation has computed its
    value; from then on that is tested (Tool.getNextStatesAppl). So ``IF p THEN p ELSE q`` does not branch on p;
    ``p /\\ p`` does, twice.
    """
    ways, known, followed = Alternatives(site), Block(), Block()
    write_guard(actions, expr, replace(ways.inside, block=known))
    outer = binding.scope.in_states_of(site.scope)
    actions.write(binding.expr, replace(ways.inside, block=followed, scope=outer))
    ways.block.nest(f"if {binding.computed}.is_computed:", known)
    ways.block.nest("else:", followed)
    ways.write()


def _write_inlined(actions: ActionWriter, definition: Definition, expr: Call, inside: Context, site: Site) -> None:
    """Write a definition's body in place of its use."""

    def after(block: Block, assigned: Assigned) -> None:
        with actions.expressions.after_inlined():
            site.rest.write(block, assigned)

    with actions.expressions.inlined(definition, expr.loc):
        pairs = zip(definition.params, expr.args, strict=True)
        bindings = {
            param: InlineBinding(arg, site.scope, _computed(actions, definition, param, arg, site))
            for param, arg in pairs
        }
        rest = Rest(after, site.rest.is_small)
        actions.write(definition.body, replace(site, scope=inside.bind(bindings), rest=rest))


def _computed(actions: ActionWriter, definition: Definition, param: int, arg: Expr, site: Site) -> str:
    """Write the computation of an argument that is used more than once, branches, or depends on its moment.

    Returns the name to call for it; an empty one where it is computed wherever it is used: if it is a name or may be
    one to assign, is an action, reads the state under construction, or may be a function whose body TLC keeps.
    """
    program, scope = actions.program, site.scope
    if actions.mode not in ("next", "step", "init") or isinstance(arg, OperatorArg):
        return ""
    matters = program.matters_when(arg)
    if not (matters or _is_work(program, arg, scope)) or unstable(program, arg, scope):
        return ""
    if may_be_soft(program, arg, scope):
        return ""
    if not (matters or may_branch(actions, arg, scope)) and uses_of(program, definition, param) < 2:
        return ""
    name = scope.names.fresh("_kept")
    site.block.emit(f"# {arg.loc}")
    site.block.emit(f"{name} = _Lazy({actions.expressions.delayed(arg, scope, site.block)})")
    return name


def _is_work(program: Program, expr: Expr, scope: Context) -> bool:
    """Return whether an expression takes work to compute: it is more than a name, and not computed yet."""
    binding = scope.env.get(expr.op) if isinstance(expr, Call) and not expr.args else None
    if isinstance(binding, InlineBinding):
        is_there = bool(binding.computed) or isinstance(binding.expr, OperatorArg)
        return not is_there and _is_work(program, binding.expr, binding.scope)
    return binding is None and not program.is_atomic(expr)


def _write_definition(actions: ActionWriter, expr: Call, site: Site) -> None:
    """Write the use of a definition: a loop over its generator's ends."""
    definition = actions.program.own_definition(expr.op)
    if definition is None:
        write_guard(actions, expr, site)
        return
    if needs_inlining(actions, definition, expr, site.scope):
        _write_inlined(actions, definition, expr, replace(site.scope, env={}, at=()), site)
        return
    args = arguments(actions.expressions, definition, expr, site.scope, site.block)
    name = actions.function(definition, site.assigned)
    inner = site.rest_block(actions.exit_of(definition, site.assigned))
    use = call_text(actions, name, args, site.scope)
    if inner.lines == ["yield"]:
        site.block.emit(f"yield from {use}")
    else:
        site.block.nest(f"for _ in {use}:", inner)


def call_text(actions: ActionWriter, name: str, args: list[str], scope: Context) -> str:
    """Return the call of a generator of this mode in a context."""
    states = [str(scope.now) if state == NOW else state for state in actions.states()]
    return f"{name}({', '.join([*states, *args])})"
