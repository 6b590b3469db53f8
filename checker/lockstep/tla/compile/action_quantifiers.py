"""Quantifiers that stand as conjuncts: loops over the elements of their sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lockstep.tla.compile.action_conjunctions import write_further, write_guard
from lockstep.tla.compile.action_facts import assigns, reads_next
from lockstep.tla.compile.action_writer import ActionWriter, Rest, Site, possibly_assigned
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import limits_of
from lockstep.tla.compile.expression_context import Context
from lockstep.tla.compile.expression_quantifiers import iterable, loops
from lockstep.tla.compile.python_text import Block, pattern_text
from lockstep.tla.syntax.tree import Bind, Bound, Expr

#: Writes the body of loops, given the block and the context there, and the names of the variables.
WriteBody = Callable[[Block, Context, list[str]], None]


def compile_ordered(actions: ActionWriter, domain: Expr, scope: Context, block: Block) -> str:
    """Compile a domain for iteration in its deterministic order."""
    if limits_of(actions.program, domain) is not None:
        return iterable(actions.expressions, domain, scope, block)
    return f"_elements({actions.expressions.expr(domain, scope, block)})"


def write_bind(actions: ActionWriter, expr: Bind, site: Site) -> None:
    """Write a quantifier that stands as a conjunct."""
    if expr.name == "$BoundedExists":

        def write(block: Block, scope: Context, _names: list[str]) -> None:
            actions.write(expr.body, replace(site, scope=scope, block=block))

        write_bounds(actions, expr.bounds, site.scope, site.block, write)
    elif expr.name == "$BoundedForall" and assigns(actions, expr, site.scope):
        _write_forall(actions, expr, site)
    else:
        write_guard(actions, expr, site)


def write_bounds(
    actions: ActionWriter, bounds: Sequence[Bound], scope: Context, block: Block, write: WriteBody
) -> None:
    """Write the loops of a quantifier, the last bound's outermost: TLC's first variable changes fastest."""
    if not bounds:
        write(block, scope, [])
        return

    def write_others(block: Block, scope: Context, names: list[str]) -> None:
        write_bounds(actions, bounds[:-1], scope, block, lambda b, inner, others: write(b, inner, others + names))

    write_loop(actions, bounds[-1], scope, block, write_others)


def write_loop(actions: ActionWriter, bound: Bound, scope: Context, block: Block, write: WriteBody) -> None:
    """Write a loop over a bound, and its body."""
    if bound.domain is None:
        raise CompileError("an unbounded quantifier is not supported")
    block.emit(f"# {bound.domain.loc}")
    domain = compile_ordered(actions, bound.domain, scope, block)
    is_traced = actions.mode == "why"
    if is_traced:
        shown = ", ".join(actions.program.tree.params[uid].name for uid in bound.params)
        number = actions.expressions.conjunct(bound.domain.loc, f"\\E {shown} \\in ")
        domain = f"_w.domain({number}, {domain})"
    inside, names = actions.expressions.bind_values(bound.params, scope)
    heads = [f"for {name} in {domain}:" for name in reversed(names)]
    if bound.is_tuple:
        heads = [f"for {pattern_text(names)} in _tuples({domain}, {len(names)}):"]
    inner = Block()
    if is_traced:
        inner.emit(f"_w.bind({', '.join(f'{name}={name}' for name in names)})")
    write(inner, inside, names)
    if is_traced:
        inner.emit("_w.release()")
    for head in reversed(heads[1:]):
        around = Block()
        around.nest(head, inner)
        inner = around
    block.nest(heads[0], inner)


def _write_forall(actions: ActionWriter, expr: Bind, site: Site) -> None:
    """Write ``\\A x \\in S : A`` as the conjunction of A over all x, as TLC does."""
    block, fresh = site.block, site.scope.names.fresh
    block.emit(f"# {expr.loc}")
    scope, clauses, names = loops(actions.expressions, expr.bounds, site.scope, block)
    row = f"({', '.join(names)},)"
    rows, each, index = fresh("_rows"), fresh("_each"), fresh("_i")
    block.emit(f"{rows} = [{row} {clauses}]")
    if actions.is_search:  # TLC puts each further element before those that wait
        block.emit(f"{rows}[1:] = {rows}[:0:-1]")
    assigned = site.assigned
    if reads_next(actions.program, expr.body, site.scope) or actions.mode == "init":
        assigned = possibly_assigned(actions.expressions.slots.values(), assigned)
    local = Block()
    local.nest(f"if {index} == len({rows}):", Block("yield", "return"))
    local.emit(f"{', '.join(names)}, = {rows}[{index}]")
    again = Rest(lambda b, _assigned: b.emit(f"yield from {each}({index} + 1)"), True)
    write_further(actions, expr.body, Site(scope, local, assigned, again), follows=index)
    block.nest(f"def {each}({index}):", local)
    block.nest(f"for _ in {each}(0):", site.rest_block(assigned))
