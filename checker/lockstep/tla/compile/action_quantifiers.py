"""Quantifiers that stand as conjuncts: loops over the elements of their sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.tla.compile.action_conjunctions import further, guard
from lockstep.tla.compile.action_facts import assigns, may_follow, reads_next
from lockstep.tla.compile.action_writer import Actions, Assigned, Rest, anything
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import limits_of
from lockstep.tla.compile.expression_context import Context
from lockstep.tla.compile.expression_quantifiers import iterable, loops
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Bound, Expr


def ordered(actions: Actions, domain: Expr, scope: Context, block: Block) -> str:
    """Compile a domain for iterating over it in its deterministic order."""
    limits = limits_of(actions.program, domain)
    if limits is not None:
        return iterable(actions.values, domain, scope, block)
    return f"_elements({actions.values.expr(domain, scope, block)})"


def write_bind(actions: Actions, expr: Bind, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write a quantifier that stands as a conjunct."""
    if expr.name == "$BoundedExists":
        exists(actions, expr.bounds, expr.body, scope, block, assigned, rest)
    elif expr.name == "$BoundedForall" and assigns(actions, expr, scope):
        forall(actions, expr, scope, block, assigned, rest)
    else:
        guard(actions, expr, scope, block, assigned, rest)


def exists(
    actions: Actions,
    bounds: tuple[Bound, ...],
    body: Expr,
    scope: Context,
    block: Block,
    assigned: Assigned,
    rest: Rest,
) -> None:
    """Write ``\\E``: a loop for each bound, and the body within."""
    every(actions, bounds, scope, block, lambda b, inner: actions.write(body, inner, b, assigned, rest))


def every(
    actions: Actions,
    bounds: Sequence[Bound],
    scope: Context,
    block: Block,
    write: Callable[[Block, Context], None],
) -> None:
    """Write the loops of a quantifier, the last bound's outermost: TLC's first variable changes fastest."""
    if not bounds:
        write(block, scope)
        return
    loop(actions, bounds[-1], scope, block, lambda b, inner: every(actions, bounds[:-1], inner, b, write))


def loop(actions: Actions, bound: Bound, scope: Context, block: Block, write: Callable[[Block, Context], None]) -> None:
    """Write a loop over a bound, and its body."""
    if bound.domain is None:
        raise CompileError("an unbounded quantifier is not supported")
    block.emit(f"# {bound.domain.loc}")
    domain = ordered(actions, bound.domain, scope, block)
    if actions.mode == "why":
        shown = ", ".join(actions.program.tree.params[uid].name for uid in bound.params)
        number = actions.values.conjunct(bound.domain.loc, f"\\E {shown} \\in ")
        domain = f"_w.domain({number}, {domain})"
    inner_scope, names = actions.values.bind_values(bound.params, scope)
    heads = [f"for {name} in {domain}:" for name in reversed(names)]
    if bound.is_tuple:
        heads = [f"for {', '.join(names)}{',' * (len(names) == 1)} in _tuples({domain}, {len(names)}):"]
    _nested(actions, heads, names, inner_scope, block, write)


def _nested(
    actions: Actions,
    heads: list[str],
    names: list[str],
    scope: Context,
    block: Block,
    write: Callable[[Block, Context], None],
) -> None:
    inner = Block()
    if len(heads) > 1:
        _nested(actions, heads[1:], names, scope, inner, write)
    else:
        if actions.mode == "why":
            inner.emit(f"_w.bind({', '.join(f'{name}={name}' for name in names)})")
        write(inner, scope)
        if actions.mode == "why":
            inner.emit("_w.release()")
    block.nest(heads[0], inner)


def forall(actions: Actions, expr: Bind, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write ``\\A x \\in S : A`` as the conjunction of A over all x, as TLC does."""
    block.emit(f"# {expr.loc}")
    inner_scope, clauses, names = loops(actions.values, expr.bounds, scope, block)
    row = f"({', '.join(names)},)"
    rows, each, index = (scope.names.fresh(wanted) for wanted in ("_rows", "_each", "_i"))
    block.emit(f"{rows} = [{row} {clauses}]")
    if may_follow(actions):  # TLC puts each further element before those that wait
        block.emit(f"{rows}[1:] = {rows}[:0:-1]")
    inside = anything(actions.values.slots.values(), assigned)
    if not reads_next(actions.program, expr.body, scope) and actions.mode != "init":
        inside = assigned
    local, done, body = Block(), Block(), Block()
    done.emit("yield")
    done.emit("return")
    local.nest(f"if {index} == len({rows}):", done)
    local.emit(f"{', '.join(names)}, = {rows}[{index}]")
    again = Rest(lambda b, a, s: b.emit(f"yield from {each}({index} + 1)"), True)
    further(actions, expr.body, inner_scope, local, inside, again, follows=index)
    block.nest(f"def {each}({index}):", local)
    rest.write(body, inside, scope)
    block.nest(f"for _ in {each}(0):", body)
