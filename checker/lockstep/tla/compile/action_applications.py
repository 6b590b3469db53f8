"""Functions applied as conjuncts: the body is taken apart in place of the application, as in TLC.

A definition that is a function becomes a generator of its own, which takes the argument: of a LET a local one, else one
of the module. A function that TLC would not take apart is a value, whose application is a formula.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_conjunctions import write_guard
from lockstep.tla.compile.action_facts import reads_next
from lockstep.tla.compile.action_uses import call_text
from lockstep.tla.compile.action_writer import YIELD, ActionWriter, Alternatives, Site, possibly_assigned
from lockstep.tla.compile.context_facts import must_inline
from lockstep.tla.compile.expression_constructors import argument_domains
from lockstep.tla.compile.expression_context import Context, FunctionBinding, InlineBinding, LetBinding
from lockstep.tla.compile.expression_logic import case_as_if
from lockstep.tla.compile.expression_uses import arguments, let
from lockstep.tla.compile.expression_writer import GeneratedFunction
from lockstep.tla.compile.python_text import Block
from lockstep.tla.compile.value_shapes import FUNCTIONS
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Call, Definition, Expr, FieldName, Let, OperatorArg

#: The argument of a generator.
_ARGUMENT = "_x"


def write_application(actions: ActionWriter, expr: Builtin, site: Site) -> None:
    """Write ``f[x]`` as a conjunct; ``r.f`` is a value, as in TLC."""
    if isinstance(expr.args[1], FieldName) or not _is_taken_apart(actions, expr.args[0], site.scope):
        write_guard(actions, expr, site)
        return
    argument = site.scope.names.fresh(_ARGUMENT)
    site.block.emit(f"{argument} = {actions.expressions.expr(expr.args[1], site.scope, site.block)}")
    _apply(actions, expr.args[0], argument, site)


def write_let(actions: ActionWriter, expr: Let, scope: Context, block: Block) -> Context:
    """Write the definitions of a LET, and a generator for each function that TLC takes apart."""
    inside = let(actions.expressions, expr, scope, block, anew=True)
    generators = []
    for uid in actions.program.used(expr):
        binding = inside.env[uid]
        definition = actions.program.tree.definitions[uid]
        if isinstance(binding, LetBinding) and _may_be_taken_apart(actions, definition, inside):
            name = scope.names.fresh("_taken")
            inside.env[uid] = replace(binding, generator=name)
            generators.append((name, definition))
    for name, definition in generators:
        inner, params = actions.expressions.bind_params(definition, inside)
        _write_generator(actions, name, params, definition, inner, block)
    return inside


def _generator_of(actions: ActionWriter, definition: Definition) -> str:
    """Compile a definition of a module as a generator that takes the argument of its value; return its name."""
    key = ("applied", actions.mode, definition.uid)
    functions = actions.expressions.functions
    name = actions.expressions.name_for(key, f"{definition.name}__applied_{actions.mode}")
    if key not in functions:
        written = functions[key] = GeneratedFunction(name, "", definition.loc)
        scope, params = actions.expressions.bind_params(definition, actions.scope())
        block = Block()
        _write_generator(actions, name, [*actions.states(), *params], definition, scope, block)
        written.text = "\n".join(block.lines)
    return name


def _write_generator(
    actions: ActionWriter, name: str, params: list[str], definition: Definition, scope: Context, block: Block
) -> None:
    """Write the generator of a function definition's body for an argument, whatever is assigned already."""
    body = Block()
    _apply(
        actions,
        definition.body,
        _ARGUMENT,
        Site(scope, body, possibly_assigned(actions.expressions.slots.values()), YIELD),
    )
    body.emit("yield from ()")
    block.nest(f"def {name}({', '.join([*params, _ARGUMENT])}):  # {definition.loc}", body)


def _may_be_taken_apart(actions: ActionWriter, definition: Definition, scope: Context) -> bool:
    """Return whether a definition's value is a function that TLC may take apart, and that has to be."""
    program, body = actions.program, definition.body
    if actions.mode == "init" and not program.stays_unlisted(body):
        return False
    if not program.gives_function(body):
        return False
    return (actions.is_search and program.branches_applied(body)) or reads_next(program, body, scope)


def _is_taken_apart(actions: ActionWriter, expr: Expr, scope: Context) -> bool:
    """Return whether TLC takes apart what is applied, at least in some case."""
    program = actions.program
    if isinstance(expr, Call):
        return _is_use_taken_apart(actions, expr, scope)
    if isinstance(expr, Let):
        return _is_taken_apart(actions, expr.body, scope) or program.gives_function(expr.body)
    if isinstance(expr, Builtin) and expr.name in ("$IfThenElse", "$Case"):
        return program.gives_function(expr)
    is_function = isinstance(expr, Bind) and expr.name in FUNCTIONS
    return is_function and (actions.mode != "init" or program.stays_unlisted(expr))


def _is_use_taken_apart(actions: ActionWriter, expr: Call, scope: Context) -> bool:
    program, binding = actions.program, scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        return not isinstance(binding.expr, OperatorArg) and _is_taken_apart(actions, binding.expr, binding.scope)
    if isinstance(binding, LetBinding):
        return bool(binding.generator) and not must_inline(program, binding.definition, expr, scope)
    if binding is not None:
        return isinstance(binding, FunctionBinding)
    definition = program.own_definition(expr.op)
    if definition is None or program.is_made(expr.op):
        return False
    own = replace(scope, env={}, at=())
    return _may_be_taken_apart(actions, definition, own) and not must_inline(program, definition, expr, scope)


def _apply(actions: ActionWriter, expr: Expr, argument: str, site: Site) -> None:
    """Write the body of a function for an argument that has a Python name."""
    if not _is_taken_apart(actions, expr, site.scope):
        _test_application(actions, expr, argument, site)
    elif isinstance(expr, Bind):
        _apply_written(actions, expr, argument, site)
    elif isinstance(expr, Let):
        scope = write_let(actions, expr, site.scope, site.block)
        _apply(actions, expr.body, argument, replace(site, scope=scope))
    elif isinstance(expr, Call):
        _apply_named(actions, expr, argument, site)
    elif isinstance(expr, Builtin):
        _apply_chosen(actions, expr, argument, site)


def _test_application(actions: ActionWriter, expr: Expr, argument: str, site: Site) -> None:
    """Write the application of a value, which is a formula."""
    inner = site.rest_block()
    code = f"_boolean(_apply({actions.expressions.lazily(expr, site.scope, site.block)}, {argument}))"
    if actions.mode == "why":
        code = f"_w.test({actions.expressions.conjunct(expr.loc)}, {code})"
        inner.emit("_w.release()")
    site.block.nest(f"if {code}:", inner)


def _apply_chosen(actions: ActionWriter, expr: Builtin, argument: str, site: Site) -> None:
    """Write the application of a function that IF or CASE chooses."""
    choice = case_as_if(expr) if expr.name == "$Case" else expr
    if not isinstance(choice, Builtin):
        _apply(actions, choice, argument, site)
        return
    test, then, other = choice.args
    ways, holds, fails = Alternatives(site), Block(), Block()
    code = actions.expressions.test(test, site.scope, ways.block)
    _apply(actions, then, argument, replace(ways.inside, block=holds))
    _apply(actions, other, argument, replace(ways.inside, block=fails))
    ways.block.nest(f"if {code}:", holds)
    ways.block.nest("else:", fails)
    ways.write()


def _apply_named(actions: ActionWriter, expr: Call, argument: str, site: Site) -> None:
    """Write the application of a function that has a name: a loop over its generator."""
    scope, binding = site.scope, site.scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        _apply(actions, binding.expr, argument, replace(site, scope=binding.scope.in_states_of(scope)))
        return
    if isinstance(binding, FunctionBinding):
        _loop_over(actions, f"{binding.generator}({argument})", site, assigns=binding.assigns)
        return
    definition = (
        binding.definition
        if isinstance(binding, LetBinding)
        else actions.program.tree.definitions[actions.program.target(expr.op)]
    )
    args = [*arguments(actions.expressions, definition, expr, scope, site.block), argument]
    if isinstance(binding, LetBinding):
        use = f"{binding.generator}({', '.join(args)})"
        assigns = reads_next(actions.program, definition.body, binding.scope)
    else:
        use = call_text(actions, _generator_of(actions, definition), args, scope)
        assigns = actions.program.reads(definition.body)[1] or actions.mode == "init"
    _loop_over(actions, use, site, assigns=assigns)


def _loop_over(actions: ActionWriter, use: str, site: Site, *, assigns: bool) -> None:
    """Write a loop over a generator, and what follows."""
    slots = actions.expressions.slots.values()
    site.block.nest(f"for _ in {use}:", site.rest_block(possibly_assigned(slots, site.assigned) if assigns else None))


def _apply_written(actions: ActionWriter, expr: Bind, argument: str, site: Site) -> None:
    """Write the application of a function that is written out: its body, with the argument for its variables."""
    scope, block = site.scope, site.block
    if expr.name != "$RecursiveFcnSpec":
        inside = _bind(actions, expr.bounds, _domain(actions, expr.bounds, scope, block), argument, scope, block)
        actions.write(expr.body, replace(site, scope=inside))
        return
    (own,), bounds = expr.bounds[0].params, expr.bounds[1:]
    assigns = actions.mode == "init" or reads_next(actions.program, expr.body, scope)
    value, name = scope.names.fresh("_function"), scope.names.fresh("_taken")
    block.emit(f"{value} = {actions.expressions.expr(expr, scope, block)}")
    domain = _domain(actions, bounds, scope, block)
    bound = scope.bind({own: FunctionBinding(value, name, assigns)})
    local = Block()
    inside = _bind(actions, bounds, domain, _ARGUMENT, bound, local)
    actions.write(
        expr.body, Site(inside, local, possibly_assigned(actions.expressions.slots.values(), site.assigned), YIELD)
    )
    local.emit("yield from ()")
    block.nest(f"def {name}({_ARGUMENT}):", local)
    _loop_over(actions, f"{name}({argument})", site, assigns=assigns)


def _domain(actions: ActionWriter, bounds: tuple[Bound, ...], scope: Context, block: Block) -> str:
    """Write the domain of a function; return its Python name."""
    domains, name = argument_domains(actions.expressions, bounds, scope, block), scope.names.fresh("_domain")
    block.emit(f"{name} = {domains[0]}" if len(domains) == 1 else f"{name} = _CartesianProduct({', '.join(domains)})")
    return name


def _bind(
    actions: ActionWriter, bounds: tuple[Bound, ...], domain: str, argument: str, scope: Context, block: Block
) -> Context:
    """Write the argument's check and its parts, the variables of the function; return the context of its body."""
    inside, names = actions.expressions.bind_values([uid for bound in bounds for uid in bound.params], scope)
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
