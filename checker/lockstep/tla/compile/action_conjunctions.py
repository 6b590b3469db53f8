"""Conjuncts that are formulas, and the order in which TLC takes conjuncts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from lockstep.tla.compile.action_facts import may_branch, sides
from lockstep.tla.compile.action_writer import ActionWriter, Alternatives, Assigned, Rest, Site
from lockstep.tla.compile.expression_context import NEXT, ValueBinding
from lockstep.tla.compile.expression_quantifiers import body_call, loops
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Expr


def write_guard(actions: ActionWriter, expr: Expr, site: Site) -> None:
    """Write a conjunct that is a formula."""
    site.block.emit(f"# {expr.loc}")
    if actions.mode == "why":
        _traced_guard(actions, expr, site)
        return
    code = actions.expressions.test(expr, site.scope, site.block)
    site.block.nest(f"if {code}:", site.rest_block())


def _traced_guard(actions: ActionWriter, expr: Expr, site: Site) -> None:
    """Write a formula so that the tracer learns whether it holds, and its sides."""
    inner, expressions = site.rest_block(), actions.expressions
    if isinstance(expr, Bind) and expr.name == "$BoundedForall":
        _traced_universal(actions, expr, site, inner)
        return
    compared = sides(actions.program, expr)
    if compared is None:
        code = expressions.test(expr, site.scope, site.block)
        write_held(f"if _w.test({expressions.conjunct(expr.loc)}, {code}):", inner, site.block)
        return
    names = [site.scope.names.fresh(wanted) for wanted in ("_left", "_right")]
    uids = [actions.program.tree.fresh_uid() for _ in compared]
    for name, side in zip(names, compared, strict=True):
        site.block.emit(f"{name} = {expressions.expr(side, site.scope, site.block)}")
    bound = site.scope.bind({uid: ValueBinding(name) for uid, name in zip(uids, names, strict=True)})
    assert isinstance(expr, (Builtin, Call))
    again = replace(expr, args=tuple(Call(uid, (), expr.loc) for uid in uids))
    write_comparison(actions, expr, (names[0], names[1]), expressions.test(again, bound, site.block), inner, site.block)


def _traced_universal(actions: ActionWriter, expr: Bind, site: Site, inner: Block) -> None:
    """Write a formula that holds for all of a set so that the tracer learns of the first for which it does not."""
    expressions = actions.expressions
    within, clauses, names = loops(expressions, expr.bounds, site.scope, site.block, in_order=True)
    test = body_call(expressions, expr.body, within, names, site.block, test=True)
    shown = [expressions.shown_bindings(expr.bounds, names)]
    for side in sides(actions.program, expr.body) or ():
        shown.append(body_call(expressions, side, within, names, site.block, test=False))
    failing = f"(({', '.join(shown)},) {clauses} if not {test})"
    write_held(f"if _w.every({expressions.conjunct(expr.loc)}, {failing}):", inner, site.block)


def write_comparison(
    actions: ActionWriter, expr: Expr, compared: tuple[str, str], code: str, inner: Block, block: Block
) -> None:
    """Write a conjunct that compares two values, and what follows it."""
    if actions.mode == "why":
        number = actions.expressions.conjunct(expr.loc)
        write_held(f"if _w.compare({number}, {code}, {', '.join(compared)}):", inner, block)
    else:
        block.nest(f"if {code}:", inner)


def write_held(head: str, inner: Block, block: Block) -> None:
    """Write a traced conjunct, which counts as true while the statements after it run."""
    inner.emit("_w.release()")
    block.nest(head, inner)


#: Writes a conjunct.
_WriteConjunct: TypeAlias = Callable[[Expr, Site], None]

#: Loops nested in one function for the conjuncts of one conjunction: Python allows 20.
_MAX_DEPTH = 12


def write_conjunction(actions: ActionWriter, parts: tuple[Expr, ...], site: Site) -> None:
    """Write conjuncts one within the other."""
    _conjuncts(actions, tuple(_flat(parts)), site, actions.write)


def _flat(parts: tuple[Expr, ...]) -> Iterator[Expr]:
    """List conjuncts, with nested conjunctions flattened."""
    for part in parts:
        if isinstance(part, Builtin) and part.name == "\\land":
            yield from _flat(part.args)
        else:
            yield part


def _first(parts: tuple[Expr, ...]) -> int:
    """Count the conjuncts that fit into one function, at least one."""
    depth = 0
    for number, part in enumerate(parts):
        depth += sum(len(bound.params) for bound in part.bounds) if isinstance(part, Bind) else 1
        if depth > _MAX_DEPTH and number:
            return number
    return len(parts)


def _conjuncts(actions: ActionWriter, parts: tuple[Expr, ...], site: Site, write: _WriteConjunct) -> None:
    """Write the first conjunct by its own writer, and the others as those that follow one."""

    def before(others: tuple[Expr, ...]) -> Site:
        def write_others(block: Block, assigned: Assigned) -> None:
            inside = replace(site, block=block, assigned=assigned)
            _conjuncts(actions, others, inside, partial(write_further, actions))

        return replace(site, rest=Rest(write_others, False))

    if len(parts) == 1:
        write(parts[0], site)
    elif (first := _first(parts)) < len(parts):
        ways = Alternatives(before(parts[first:]))
        _conjuncts(actions, parts[:first], ways.inside, write)
        ways.write()
    else:
        write(parts[0], before(parts[1:]))


def write_further(actions: ActionWriter, expr: Expr, site: Site, follows: str = "") -> None:
    """Write a conjunct that follows another; where all variables are assigned, TLC only tests it.

    So ``x' = 1 /\\ (A \\/ B)`` is one successor, however many of A and B hold (Tool.getNextStatesAllAssigned).
    `follows` is true at run time if the conjunct does, where that is not known before.
    """
    found = {site.status(name) for name in actions.expressions.variables.values()}
    if "no" in found or not may_branch(actions, expr, site.scope):
        actions.write(expr, site)
    elif "maybe" not in found and not follows:
        write_guard(actions, expr, site)
    else:
        ways, held_, taken = Alternatives(site), Block(), Block()
        write_guard(actions, expr, replace(ways.inside, block=held_))
        actions.write(expr, replace(ways.inside, block=taken))
        complete = f"_is_complete({NEXT})"
        ways.block.nest(f"if {follows} and {complete}:" if follows else f"if {complete}:", held_)
        ways.block.nest("else:", taken)
        ways.write()
