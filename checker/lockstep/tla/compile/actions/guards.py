"""Conjuncts that are formulas, and what the tracer of explanations is told of them."""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.actions.assigned import Assigned, Rest
from lockstep.tla.compile.actions.compiler import Actions
from lockstep.tla.compile.actions.conjuncts import sides
from lockstep.tla.compile.emit import Block
from lockstep.tla.compile.expressions.context import Context, ValueBinding
from lockstep.tla.compile.expressions.quantifiers import body_call, loops
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
