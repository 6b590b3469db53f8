"""Assignments of a variable's next value: ``x' = e``, ``x' \\in S``, UNCHANGED."""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_conjunctions import write_comparison, write_guard
from lockstep.tla.compile.action_facts import flattened, variable_of
from lockstep.tla.compile.action_quantifiers import compile_ordered
from lockstep.tla.compile.action_writer import ActionWriter, Assigned, Rest, Site
from lockstep.tla.compile.expression_constructors import frozen
from lockstep.tla.compile.expression_context import NEXT
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Builtin, Expr


def write_assignment(actions: ActionWriter, expr: Builtin, site: Site) -> None:
    """Write ``x' = e`` or ``x' \\in S``: an assignment, or a test if the variable is assigned."""
    variable = variable_of(actions, expr.args[0], site.scope)
    assert variable is not None
    site.block.emit(f"# {expr.loc}")
    if site.status(variable) == "yes":
        write_guard(actions, expr, site)
    elif expr.name == "=":
        write_value(variable, frozen(actions.expressions, expr.args[1], site.scope, site.block), site)
    else:
        _assign_any(actions, variable, expr.args[1], site)


def _after(site: Site, variable: str) -> Assigned:
    """Return the assignments with one more variable assigned."""
    return tuple(sorted({**dict(site.assigned), variable: "yes"}.items()))


def write_value(variable: str, code: str, site: Site) -> None:
    """Write the assignment of one value, which is undone after the statements that follow."""
    after = _after(site, variable)
    if site.status(variable) == "no":
        site.block.emit(f"{NEXT}.{variable} = {code}")
        site.write_rest(after)
        site.block.emit(f"del {NEXT}.{variable}")
    else:
        site.block.nest(f"for _ in _assign({NEXT}, {variable!r}, {code}):", site.rest_block(after))


def _assign_any(actions: ActionWriter, variable: str, domain: Expr, site: Site) -> None:
    """Write the assignment of each element of a set in turn."""
    after = _after(site, variable)
    if site.status(variable) == "maybe":
        inner = site.rest_block(after)
        code = actions.expressions.expr(domain, site.scope, site.block)
        site.block.nest(f"for _ in _choose_next({NEXT}, {variable!r}, {code}):", inner)
        return
    name = site.scope.names.fresh("_x")
    inner = Block(f"{NEXT}.{variable} = {name}")
    replace(site, block=inner).write_rest(after)
    inner.emit(f"del {NEXT}.{variable}")
    site.block.nest(f"for {name} in {compile_ordered(actions, domain, site.scope, site.block)}:", inner)


def write_unchanged(actions: ActionWriter, expr: Builtin, site: Site) -> None:
    """Write UNCHANGED: each variable keeps its value."""
    variables = flattened(actions, expr.args[0], site.scope)
    if variables is None:
        write_guard(actions, expr, site)
    else:
        _keep(actions, variables, expr, site)


def _keep(actions: ActionWriter, variables: list[str], expr: Builtin, site: Site) -> None:
    """Write ``x' = x`` for each of some variables."""
    if not variables:
        site.write_rest()
        return

    def write_others(block: Block, assigned: Assigned) -> None:
        _keep(actions, variables[1:], expr, replace(site, block=block, assigned=assigned))

    variable = variables[0]
    before_others = replace(site, rest=Rest(write_others, False))
    before, after = f"{site.scope.now}.{variable}", f"{NEXT}.{variable}"
    if site.status(variable) == "yes":
        inner = before_others.rest_block()
        write_comparison(actions, expr, (after, before), f"_eq({after}, {before})", inner, site.block)
    else:
        write_value(variable, before, before_others)
