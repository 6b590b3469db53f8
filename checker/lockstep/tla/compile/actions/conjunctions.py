"""Conjuncts one after the other, and what TLC makes of those that come when all variables are assigned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from lockstep.tla.compile.actions.assigned import Assigned, Rest, joined, recording, status_of
from lockstep.tla.compile.actions.compiler import Actions
from lockstep.tla.compile.actions.conjuncts import may_branch
from lockstep.tla.compile.actions.guards import guard
from lockstep.tla.compile.emit import Block
from lockstep.tla.compile.expressions.context import NEXT, Context
from lockstep.tla.syntax.tree import Bind, Builtin, Expr

__all__ = ["conjunction", "further", "loop_over"]

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
