"""What a part of a definition takes from a LET around it: ``Op(5)!lab(1)!c``, where c is defined within Op."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lockstep.tla.syntax.instances import walk
from lockstep.tla.syntax.tree import LAMBDA, PART, Call, Definition, Expr, Let, OperatorArg, Substituted, Tree

__all__ = ["bind_captured"]


def bind_captured(tree: Tree) -> None:
    """Put each part that has a name beneath the LET that it uses, in place.

    SANY writes such a part as a LAMBDA whose parameters are those of the definition and of the quantifiers on the way,
    and which calls c from outside of its LET. A LAMBDA that somebody wrote has parameters of its own, and no
    definition beyond it speaks of them.

    Args:
        tree: what :func:`lockstep.tla.syntax.tree.read_tree` answers.
    """
    listed = {uid for module in tree.modules.values() for uid in module.symbols} | tree.unlisted
    for uid, definition in list(tree.definitions.items()):
        if definition.name in (LAMBDA, PART) and (captured := sorted(_captured(tree, definition, listed))):
            body = _beneath(tuple(captured), definition.body, definition)
            tree.definitions[uid] = replace(definition, body=body)


def _beneath(definitions: tuple[int, ...], body: Expr, part: Definition) -> Expr:
    """Put a formula beneath a LET; beneath an INSTANCE both stand, so that it substitutes in the LET, too."""
    if isinstance(body, Substituted):
        return replace(body, body=_beneath(definitions, body.body, part))
    return Let(definitions, body, part.loc)


def _captured(tree: Tree, part: Definition, listed: set[int]) -> Iterator[int]:
    """Yield the definitions, of no module, that speak of a part's parameters and are not defined within it."""
    own = {uid for each in walk(part.body, tree) if isinstance(each, Let) for uid in each.definitions}
    for uid in _used(tree, part.body, listed) - own:
        within = [uid, *_used(tree, tree.definitions[uid].body, listed)]
        spoken_of = {name for each in within for name in _named(tree, tree.definitions[each].body)}
        if not spoken_of.isdisjoint(part.params):
            yield uid


def _used(tree: Tree, expr: Expr, listed: set[int]) -> set[int]:
    """Find the definitions of no module that an expression uses, itself or through others of these."""
    found: set[int] = set()
    pending = [expr]
    while pending:
        new = (_named(tree, pending.pop()) & tree.definitions.keys()) - listed - found
        found |= new
        pending += [tree.definitions[uid].body for uid in new]
    return found


def _named(tree: Tree, expr: Expr) -> set[int]:
    return {each.op for each in walk(expr, tree) if isinstance(each, (Call, OperatorArg))}
