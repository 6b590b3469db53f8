"""Functions applied as conjuncts: as TLC does, the function's body is taken apart as if it stood there.

A definition that is a function becomes a generator of its own, which takes the argument: of a LET a local one, else one
of the module. What is no function that TLC would take apart is a value, whose application is a formula.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_conjunctions import guard, loop_over
from lockstep.tla.compile.action_facts import may_follow, reads_next
from lockstep.tla.compile.action_writer import YIELD, Actions, Assigned, Rest, anything, recording
from lockstep.tla.compile.context_facts import must_inline
from lockstep.tla.compile.expression_constructors import argument_domains
from lockstep.tla.compile.expression_context import NOW, Context, FunctionBinding, InlineBinding, LetBinding
from lockstep.tla.compile.expression_logic import case_as_if
from lockstep.tla.compile.expression_uses import arguments, let
from lockstep.tla.compile.expression_writer import Function
from lockstep.tla.compile.python_text import Block
from lockstep.tla.compile.value_shapes import FUNCTIONS
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Call, Definition, Expr, Field, Let, OperatorArg

#: The argument of a generator.
_X = "_x"


def write_application(
    actions: Actions, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write ``f[x]`` that stands as a conjunct. ``r.f`` is a value, for TLC too."""
    if isinstance(expr.args[1], Field) or not _is_taken(actions, expr.args[0], scope):
        guard(actions, expr, scope, block, assigned, rest)
        return
    argument = scope.names.fresh(_X)
    block.emit(f"{argument} = {actions.values.expr(expr.args[1], scope, block)}")
    _apply(actions, expr.args[0], argument, scope, block, assigned, rest)


def write_let(actions: Actions, expr: Let, scope: Context, block: Block) -> Context:
    """Write the definitions of a LET, and a generator for each function that TLC takes apart."""
    inside = let(actions.values, expr, scope, block, anew=True)
    taken = []
    for uid in actions.program.used(expr):
        binding = inside.env[uid]
        definition = actions.program.tree.definitions[uid]
        if isinstance(binding, LetBinding) and _may_be_taken(actions, definition, inside):
            name = scope.names.fresh("_taken")
            inside.env[uid] = replace(binding, taken=name)
            taken.append((name, definition))
    for name, definition in taken:
        inner, params = actions.values.bind_params(definition, inside)
        _write_generator(actions, name, params, definition, inner, block)
    return inside


def function_of(actions: Actions, definition: Definition) -> str:
    """Compile a definition of a module as a generator that takes the argument of its value; answer its name."""
    key = ("applied", actions.mode, definition.uid)
    name = actions.values.name_for(key, f"{definition.name}__applied_{actions.mode}")
    if key not in actions.values.functions:
        written = actions.values.functions[key] = Function(name, "", definition.loc)
        scope, params = actions.values.bind_params(definition, actions.scope())
        block = Block()
        _write_generator(actions, name, [*actions.states(), *params], definition, scope, block)
        written.text = "\n".join(block.lines)
    return name


def _write_generator(
    actions: Actions, name: str, params: list[str], definition: Definition, scope: Context, block: Block
) -> None:
    """Write the generator of what a definition's value says of an argument, whatever is assigned already."""
    body = Block()
    _apply(actions, definition.body, _X, scope, body, anything(actions.values.slots.values(), ()), YIELD)
    body.emit("yield from ()")
    block.nest(f"def {name}({', '.join([*params, _X])}):  # {definition.loc}", body)


def _may_be_taken(actions: Actions, definition: Definition, scope: Context) -> bool:
    """Tell whether a definition's value is a function that TLC may take apart, and that has to be."""
    if actions.mode == "init" and not actions.program.stays_unlisted(definition.body):
        return False
    if not actions.program.gives_function(definition.body):
        return False
    branches = may_follow(actions) and actions.program.branches_applied(definition.body)
    return branches or reads_next(actions.program, definition.body, scope)


def _is_taken(actions: Actions, expr: Expr, scope: Context) -> bool:
    """Tell whether TLC takes apart what is applied, at least in some case."""
    program = actions.program
    if isinstance(expr, Call):
        binding = scope.env.get(expr.op)
        if isinstance(binding, InlineBinding):
            return not isinstance(binding.expr, OperatorArg) and _is_taken(actions, binding.expr, binding.scope)
        if isinstance(binding, LetBinding):
            return bool(binding.taken) and not must_inline(program, binding.definition, expr, scope)
        if binding is not None:
            return isinstance(binding, FunctionBinding)
        definition = program.definition(expr.op)
        if definition is None or program.standard(definition) is not None or program.is_made(expr.op):
            return False
        own = replace(scope, env={}, at=())
        return _may_be_taken(actions, definition, own) and not must_inline(program, definition, expr, scope)
    if isinstance(expr, Let):
        return _is_taken(actions, expr.body, scope) or program.gives_function(expr.body)
    if isinstance(expr, Builtin) and expr.name in ("$IfThenElse", "$Case"):
        return program.gives_function(expr)
    return (
        isinstance(expr, Bind) and expr.name in FUNCTIONS and (actions.mode != "init" or program.stays_unlisted(expr))
    )


def _apply(
    actions: Actions, expr: Expr, argument: str, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write what a function says of an argument, which is there as a Python name."""
    if not _is_taken(actions, expr, scope):
        inner = Block()
        rest.write(inner, assigned, scope)
        code = f"_boolean(_apply({actions.values.lazily(expr, scope, block)}, {argument}))"
        test = f"_w.test({actions.values.conjunct(expr.loc)}, {code})" if actions.mode == "why" else code
        if actions.mode == "why":
            inner.emit("_w.release()")
        block.nest(f"if {test}:", inner)
    elif isinstance(expr, Bind):
        _apply_written(actions, expr, argument, scope, block, assigned, rest)
    elif isinstance(expr, Let):
        back = Rest(lambda b, a, _inner: rest.write(b, a, scope), rest.is_small)
        _apply(actions, expr.body, argument, write_let(actions, expr, scope, block), block, assigned, back)
    elif isinstance(expr, Call):
        _apply_named(actions, expr, argument, scope, block, assigned, rest)
    elif isinstance(expr, Builtin):
        _apply_chosen(actions, expr, argument, scope, block, assigned, rest)


def _apply_chosen(
    actions: Actions, expr: Builtin, argument: str, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write the application of a function that IF or CASE chooses."""
    choice = case_as_if(expr) if expr.name == "$Case" else expr
    if not isinstance(choice, Builtin):
        _apply(actions, choice, argument, scope, block, assigned, rest)
        return
    test, then, other = choice.args
    ends: list[Assigned] = []
    local, held, failed = Block(), Block(), Block()
    code = actions.values.test(test, scope, local)
    _apply(actions, then, argument, scope, held, assigned, recording(ends))
    _apply(actions, other, argument, scope, failed, assigned, recording(ends))
    local.nest(f"if {code}:", held)
    local.nest("else:", failed)
    loop_over(actions, local, ends, scope, block, rest)


def _apply_named(
    actions: Actions, expr: Call, argument: str, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write the application of a function that has a name: a loop over its generator."""
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        back = Rest(lambda b, a, _inner: rest.write(b, a, scope), rest.is_small)
        _apply(actions, binding.expr, argument, binding.scope.of_states(scope), block, assigned, back)
        return
    if isinstance(binding, FunctionBinding):
        use, assigns = f"{binding.generator}({argument})", binding.assigns
    elif isinstance(binding, LetBinding):
        args = arguments(actions.values, binding.definition, expr, scope, block)
        use = f"{binding.taken}({', '.join([*args, argument])})"
        assigns = reads_next(actions.program, binding.definition.body, binding.scope)
    else:
        definition = actions.program.tree.definitions[actions.program.target(expr.op)]
        args = arguments(actions.values, definition, expr, scope, block)
        states = [str(scope.now) if state == NOW else state for state in actions.states()]
        use = f"{function_of(actions, definition)}({', '.join([*states, *args, argument])})"
        assigns = actions.program.reads(definition.body)[1] or actions.mode == "init"
    inner = Block()
    rest.write(inner, anything(actions.values.slots.values(), assigned) if assigns else assigned, scope)
    block.nest(f"for _ in {use}:", inner)


def _apply_written(
    actions: Actions, expr: Bind, argument: str, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write the application of a function that is written out: its body, with the argument for its variables."""
    if expr.name != "$RecursiveFcnSpec":
        back = Rest(lambda b, a, _inner: rest.write(b, a, scope), rest.is_small)
        inside = _bind(actions, expr.bounds, _domain(actions, expr.bounds, scope, block), argument, scope, block)
        actions.write(expr.body, inside, block, assigned, back)
        return
    (own,), bounds = expr.bounds[0].params, expr.bounds[1:]
    assigns = actions.mode == "init" or reads_next(actions.program, expr.body, scope)
    value, name = scope.names.fresh("_function"), scope.names.fresh("_taken")
    block.emit(f"{value} = {actions.values.expr(expr, scope, block)}")
    domain = _domain(actions, bounds, scope, block)
    bound = scope.bind({own: FunctionBinding(value, name, assigns)})
    local = Block()
    inside = _bind(actions, bounds, domain, _X, bound, local)
    actions.write(expr.body, inside, local, anything(actions.values.slots.values(), assigned), YIELD)
    local.emit("yield from ()")
    block.nest(f"def {name}({_X}):", local)
    inner = Block()
    rest.write(inner, anything(actions.values.slots.values(), assigned) if assigns else assigned, scope)
    block.nest(f"for _ in {name}({argument}):", inner)


def _domain(actions: Actions, bounds: tuple[Bound, ...], scope: Context, block: Block) -> str:
    """Write the domain of a function; answer its Python name."""
    domains, name = argument_domains(actions.values, bounds, scope, block), scope.names.fresh("_domain")
    block.emit(f"{name} = {domains[0]}" if len(domains) == 1 else f"{name} = _Product({', '.join(domains)})")
    return name


def _bind(
    actions: Actions, bounds: tuple[Bound, ...], domain: str, argument: str, scope: Context, block: Block
) -> Context:
    """Write the argument's check and its parts, the variables of the function; answer the context of its body."""
    inside, names = actions.values.bind_values([uid for bound in bounds for uid in bound.params], scope)
    places = sum(1 if bound.is_tuple else len(bound.params) for bound in bounds)
    given = f"_argument({domain}, {argument})"
    block.emit(f"_given = ({given},)" if places == 1 else f"_given = _untuple({given}, {places})")
    place, left = 0, list(names)
    for bound in bounds:
        own, left = left[: len(bound.params)], left[len(bound.params) :]
        if bound.is_tuple:
            block.emit(f"{', '.join(own)}, = _untuple(_given[{place}], {len(own)})")
            place += 1
        else:
            block.emit(f"{', '.join(own)}, = _given[{place}:{place + len(own)}]")
            place += len(own)
    return inside
