"""What gives a variable its next value: ``x' = e``, ``x' \\in S``, UNCHANGED."""

from __future__ import annotations

from lockstep.tla.compile.action_conjunctions import comparison, guard
from lockstep.tla.compile.action_facts import flattened, variable_of
from lockstep.tla.compile.action_quantifiers import ordered
from lockstep.tla.compile.action_writer import Actions, Assigned, Rest, status_of, with_status
from lockstep.tla.compile.expression_constructors import kept
from lockstep.tla.compile.expression_context import NEXT, Context
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Builtin, Expr


def assignment(actions: Actions, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write ``x' = e`` or ``x' \\in S``: an assignment, or a test if the variable is assigned."""
    variable = variable_of(actions, expr.args[0], scope)
    assert variable is not None
    block.emit(f"# {expr.loc}")
    status = status_of(assigned, variable)
    if status == "yes":
        guard(actions, expr, scope, block, assigned, rest)
    elif expr.name == "=":
        assign(
            actions, variable, kept(actions.values, expr.args[1], scope, block), status, scope, block, assigned, rest
        )
    else:
        assign_any(actions, variable, expr.args[1], status, scope, block, assigned, rest)


def assign(
    actions: Actions,
    variable: str,
    code: str,
    status: str,
    scope: Context,
    block: Block,
    assigned: Assigned,
    rest: Rest,
) -> None:
    """Write the assignment of one value, taken back after what follows it."""
    after = with_status(assigned, variable)
    if status == "no":
        block.emit(f"{NEXT}.{variable} = {code}")
        rest.write(block, after, scope)
        block.emit(f"del {NEXT}.{variable}")
        return
    inner = Block()
    rest.write(inner, after, scope)
    block.nest(f"for _ in _assign({NEXT}, {variable!r}, {code}):", inner)


def assign_any(
    actions: Actions,
    variable: str,
    domain: Expr,
    status: str,
    scope: Context,
    block: Block,
    assigned: Assigned,
    rest: Rest,
) -> None:
    """Write the assignment of each element of a set in turn."""
    after = with_status(assigned, variable)
    inner = Block()
    if status == "maybe":
        rest.write(inner, after, scope)
        code = actions.values.expr(domain, scope, block)
        block.nest(f"for _ in _choose_next({NEXT}, {variable!r}, {code}):", inner)
        return
    name = scope.names.fresh("_x")
    inner.emit(f"{NEXT}.{variable} = {name}")
    rest.write(inner, after, scope)
    inner.emit(f"del {NEXT}.{variable}")
    block.nest(f"for {name} in {ordered(actions, domain, scope, block)}:", inner)


def write_unchanged(
    actions: Actions, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write UNCHANGED: each variable keeps its value."""
    variables = flattened(actions, expr.args[0], scope)
    if variables is None:
        guard(actions, expr, scope, block, assigned, rest)
    else:
        keep(actions, variables, expr, scope, block, assigned, rest)


def keep(
    actions: Actions, variables: list[str], expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write ``x' = x`` for each of some variables."""
    if not variables:
        rest.write(block, assigned, scope)
        return
    variable = variables[0]
    after = Rest(lambda b, a, _inner: keep(actions, variables[1:], expr, scope, b, a, rest), False)
    status = status_of(assigned, variable)
    if status != "yes":
        assign(actions, variable, f"{scope.now}.{variable}", status, scope, block, assigned, after)
        return
    inner = Block()
    after.write(inner, assigned, scope)
    left, right = f"{NEXT}.{variable}", f"{scope.now}.{variable}"
    comparison(actions, expr, left, right, f"_eq({left}, {right})", inner, block, scope)
