"""A small machine in z3's terms: states whose fields are terms, and the steps that lead from one to the next."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

import z3

S = TypeVar("S")

Branch = tuple[z3.BoolRef, S]
"""When a step can be taken, and the state it leads to."""


def equal(one: Any, other: Any) -> z3.BoolRef:
    """Build the statement that two states, dataclasses of one kind with terms or lists of terms, are the same."""
    terms: list[z3.BoolRef] = []
    for each in fields(one):
        mine, theirs = getattr(one, each.name), getattr(other, each.name)
        pairs = zip(mine, theirs, strict=True) if isinstance(mine, list | tuple) else [(mine, theirs)]
        terms += [a == b for a, b in pairs]
    return z3.And(*terms)


def one_step(branches: Iterable[Branch[S]], then: S, action: z3.ArithRef) -> z3.BoolRef:
    """Build the statement that one of the steps leads to a state; `action` is its number."""
    return z3.Or([z3.And(action == nth, guard, equal(then, after)) for nth, (guard, after) in enumerate(branches)])
