"""Functions applied as conjuncts: as TLC does, the function's body is taken apart as if it stood there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lockstep.tla.compile.actions.assigned import Assigned, Rest, anything
from lockstep.tla.compile.actions.compiler import Actions
from lockstep.tla.compile.actions.guards import guard
from lockstep.tla.compile.emit import Block
from lockstep.tla.compile.expressions.context import Binding, Context, FunctionBinding, InlineBinding, LetBinding
from lockstep.tla.compile.expressions.functions import argument_domains, pattern
from lockstep.tla.compile.shapes import FUNCTIONS
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Call, Expr


@dataclass(frozen=True)
class _Written:
    """A function that is written out, ``[x \\in S |-> e]`` or ``f[x \\in S] == e``, and where that stands."""

    bind: Bind
    scope: Context

    @property
    def own(self) -> int | None:
        """The name of the function within itself, if it is recursive."""
        return self.bind.bounds[0].params[0] if self.bind.name == "$RecursiveFcnSpec" else None

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """What it is a function of."""
        return self.bind.bounds[self.own is not None :]


def write_application(
    actions: Actions, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write ``f[x]`` that stands as a conjunct."""
    applied = expr.args[0]
    binding = scope.env.get(applied.op) if isinstance(applied, Call) else None
    if isinstance(binding, FunctionBinding):
        _go_on(actions, binding, actions.values.expr(expr.args[1], scope, block), scope, block, assigned, rest)
        return
    written = _written(actions, applied, scope)
    if written is None or (len(written.bounds) > 1 and any(bound.is_tuple for bound in written.bounds)):
        guard(actions, expr, scope, block, assigned, rest)
        return
    domains = argument_domains(actions.values, written.bounds, written.scope, block)
    domain = scope.names.fresh("_domain")
    block.emit(f"{domain} = {domains[0]}" if len(domains) == 1 else f"{domain} = _Product({', '.join(domains)})")
    if written.own is None:
        argument = f"_argument({domain}, {actions.values.expr(expr.args[1], scope, block)})"
        again = Rest(lambda b, a, _inner: rest.write(b, a, scope), rest.is_small)
        _write_body(actions, written, argument, written.scope, block, assigned, again)
        return
    value = scope.names.fresh("_function")
    block.emit(f"{value} = {actions.values.lazily(applied, scope, block)}")
    function = FunctionBinding(value, scope.names.fresh("_taken"), domain)
    inside, local = anything(actions.values.variables.values(), assigned), Block()
    ends = Rest(lambda b, a, _inner: b.emit("yield"), True)
    recursive = written.scope.bind({written.own: function})
    _write_body(actions, written, "_x", recursive, local, inside, ends)
    local.emit("yield from ()")
    block.nest(f"def {function.generator}(_x):", local)
    _go_on(actions, function, actions.values.expr(expr.args[1], scope, block), scope, block, assigned, rest)


def _go_on(
    actions: Actions,
    function: FunctionBinding,
    argument: str,
    scope: Context,
    block: Block,
    assigned: Assigned,
    rest: Rest,
) -> None:
    inner = Block()
    rest.write(inner, anything(actions.values.variables.values(), assigned), scope)
    block.nest(f"for _ in {function.generator}(_argument({function.domain}, {argument})):", inner)


def _write_body(
    actions: Actions, written: _Written, argument: str, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    params = [uid for bound in written.bounds for uid in bound.params]
    inside, names = actions.values.bind_values(params, scope)
    if written.bounds[0].is_tuple:
        argument = f"_untuple({argument}, {len(names)})"
    block.emit(f"{pattern(written.bounds, names)} = {argument}")
    actions.write(written.bind.body, inside, block, assigned, rest)


def _written(actions: Actions, expr: Expr, scope: Context) -> _Written | None:
    """Find the function that TLC takes apart where this is applied; None where it applies a value.

    What is a constant of a module has been computed as a value before, where it can be; so has any function that is
    applied in an initial predicate.
    """
    program = actions.program
    if isinstance(expr, Bind):
        is_value = expr.name not in FUNCTIONS or (actions.mode == "init" and program.is_computed(expr))
        return None if is_value else _Written(expr, scope)
    if not isinstance(expr, Call):
        return None
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        return _written(actions, binding.expr, binding.scope.of_states(scope))
    if isinstance(binding, LetBinding):
        definition, inside = binding.definition, binding.scope.of_states(scope)
    elif binding is not None or not program.is_taken_apart(expr.op):
        return None
    else:
        definition, inside = program.tree.definitions[program.target(expr.op)], replace(scope, env={}, at=())
    args: dict[int, Binding] = {
        param: InlineBinding(arg, scope) for param, arg in zip(definition.params, expr.args, strict=True)
    }
    return _written(actions, definition.body, inside.bind(args))
