"""Conjuncts: those that are formulas, and how TLC takes them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from lockstep.tla.compile.action_facts import may_branch, sides
from lockstep.tla.compile.action_writer import Actions, Assigned, Rest, joined, recording, status_of
from lockstep.tla.compile.expression_context import NEXT, Context, ValueBinding
from lockstep.tla.compile.expression_quantifiers import body_call, loops
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Expr


def guard(actions: Actions, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write a conjunct that is a formula."""
    block.emit(f"# {expr.loc}")
    inner = Block()
    if actions.mode == "why":
        traced_guard(actions, expr, scope, block, assigned, rest)
        return
    code = actions.values.test(expr, scope, block)
    rest.write(inner, assigned, scope)
    block.nest(f"if {code}:", inner)


def traced_guard(actions: Actions, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write a formula so that the tracer learns whether it holds, and its sides."""
    inner = Block()
    rest.write(inner, assigned, scope)
    if isinstance(expr, Bind) and expr.name == "$BoundedForall":
        traced_universal(actions, expr, scope, block, inner)
        return
    compared = sides(actions, expr)
    if compared is None:
        code = actions.values.test(expr, scope, block)
        held(f"if _w.test({conjunct(actions, expr)}, {code}):", inner, block)
        return
    left, right = (scope.names.fresh(wanted) for wanted in ("_left", "_right"))
    uids = [actions.program.tree.fresh_uid() for _ in compared]
    for name, side in zip((left, right), compared, strict=True):
        block.emit(f"{name} = {actions.values.expr(side, scope, block)}")
    bound = scope.bind({uid: ValueBinding(name) for uid, name in zip(uids, (left, right), strict=True)})
    args = tuple(Call(uid, (), expr.loc) for uid in uids)
    assert isinstance(expr, (Builtin, Call))
    again = replace(expr, args=args)
    comparison(actions, expr, left, right, actions.values.test(again, bound, block), inner, block, scope)


def traced_universal(actions: Actions, expr: Bind, scope: Context, block: Block, inner: Block) -> None:
    """Write a formula that holds for all of a set so that the tracer learns of the first for which it does not."""
    values = actions.values
    within, clauses, names = loops(values, expr.bounds, scope, block, in_order=True)
    test = body_call(values, expr.body, within, names, block, test=True)
    said = [actions.program.tree.params[uid].name for bound in expr.bounds for uid in bound.params]
    shown = ["{" + ", ".join(f"{name!r}: {code}" for name, code in zip(said, names, strict=True)) + "}"]
    for side in sides(actions, expr.body) or ():
        shown.append(body_call(values, side, within, names, block, test=False))
    failing = f"(({', '.join(shown)},) {clauses} if not {test})"
    held(f"if _w.every({conjunct(actions, expr)}, {failing}):", inner, block)


def comparison(
    actions: Actions, expr: Expr, left: str, right: str, code: str, inner: Block, block: Block, scope: Context
) -> None:
    """Write a conjunct that compares two values, and what follows it."""
    if actions.mode == "why":
        held(f"if _w.compare({conjunct(actions, expr)}, {code}, {left}, {right}):", inner, block)
    else:
        block.nest(f"if {code}:", inner)


def held(head: str, inner: Block, block: Block) -> None:
    """Write a traced conjunct: while what follows it runs, it counts as held."""
    inner.emit("_w.release()")
    block.nest(head, inner)


def conjunct(actions: Actions, expr: Expr) -> int:
    """Answer the number of a conjunct in the table of conjuncts."""
    return actions.values.conjunct(expr.loc)


#: Writes a conjunct.
_Writer: TypeAlias = Callable[[Expr, Context, Block, Assigned, Rest], None]

_DEEPEST = 12
"""Loops nested in one function for the conjuncts of one conjunction: Python allows 20."""


def conjunction(
    actions: Actions, parts: tuple[Expr, ...], scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write conjuncts one within the other."""
    _conjuncts(actions, tuple(_flat(parts)), scope, block, assigned, rest, actions.write)


def _flat(parts: tuple[Expr, ...]) -> Iterator[Expr]:
    """List the conjuncts of conjunctions within."""
    for part in parts:
        if isinstance(part, Builtin) and part.name == "\\land":
            yield from _flat(part.args)
        else:
            yield part


def _depth(part: Expr) -> int:
    """Answer how many loops a conjunct may be."""
    return sum(len(bound.params) for bound in part.bounds) if isinstance(part, Bind) else 1


def _first(parts: tuple[Expr, ...]) -> int:
    """Answer how many of the conjuncts one function can have, at least one."""
    depth = 0
    for number, part in enumerate(parts):
        depth += _depth(part)
        if depth > _DEEPEST and number:
            return number
    return len(parts)


def _conjuncts(
    actions: Actions,
    parts: tuple[Expr, ...],
    scope: Context,
    block: Block,
    assigned: Assigned,
    rest: Rest,
    write: _Writer,
) -> None:
    """Write the first conjunct as told, and the others as those that follow one."""

    def others(those: tuple[Expr, ...]) -> Rest:
        return Rest(
            lambda b, a, _inner: _conjuncts(actions, those, scope, b, a, rest, partial(further, actions)), False
        )

    if len(parts) == 1:
        write(parts[0], scope, block, assigned, rest)
    elif (first := _first(parts)) < len(parts):
        ends: list[Assigned] = []
        local = Block()
        _conjuncts(actions, parts[:first], scope, local, assigned, recording(ends), write)
        loop_over(actions, local, ends, scope, block, others(parts[first:]))
    else:
        write(parts[0], scope, block, assigned, others(parts[1:]))


def further(
    actions: Actions, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest, follows: str = ""
) -> None:
    """Write a conjunct that follows another: where all variables are assigned, TLC only asks whether it holds.

    So ``x' = 1 /\\ (A \\/ B)`` is one successor, however many of A and B hold (Tool.getNextStatesAllAssigned).
    `follows` tells at run time whether it does, where that is not known before.
    """
    if not may_branch(actions, expr, scope):
        actions.write(expr, scope, block, assigned, rest)
        return
    found = {status_of(assigned, name) for name in actions.values.variables.values()}
    if "no" in found:
        actions.write(expr, scope, block, assigned, rest)
    elif "maybe" not in found and not follows:
        guard(actions, expr, scope, block, assigned, rest)
    else:
        ends: list[Assigned] = []
        local, held, taken = Block(), Block(), Block()
        guard(actions, expr, scope, held, assigned, recording(ends))
        actions.write(expr, scope, taken, assigned, recording(ends))
        complete = f"_is_complete({NEXT})"
        local.nest(f"if {follows} and {complete}:" if follows else f"if {complete}:", held)
        local.nest("else:", taken)
        loop_over(actions, local, ends, scope, block, rest)


def loop_over(actions: Actions, local: Block, ends: list[Assigned], scope: Context, block: Block, rest: Rest) -> None:
    """Write a local generator, and what follows once for all of its ends."""
    if not ends:
        local.emit("yield from ()")
    name = scope.names.fresh("_either")
    block.nest(f"def {name}():", local)
    inner = Block()
    rest.write(inner, joined(ends), scope)
    block.nest(f"for _ in {name}():", inner)
