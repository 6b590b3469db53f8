"""Which variables an action has assigned, and what follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lockstep.tla.compile.emit import Block
from lockstep.tla.compile.expressions.context import Context

__all__ = ["YIELD", "Assigned", "Mode", "Rest", "anything", "joined", "recording", "status_of", "with_status"]

Mode = Literal["next", "step", "init", "why", "bound"]
Assigned: TypeAlias = "tuple[tuple[str, str], ...]"
"""For each variable that is (``yes``) or may be (``maybe``) assigned: its Python name, and which."""


@dataclass(frozen=True)
class Rest:
    """What follows an action: the writer of the statements, and whether it may be written several times."""

    write: Callable[[Block, Assigned, Context], None]
    is_small: bool


def _yield(block: Block, assigned: Assigned, scope: Context) -> None:
    block.emit("yield")


YIELD = Rest(_yield, True)


def recording(ends: list[Assigned]) -> Rest:
    """Answer what follows an action: note what is assigned there, and yield."""

    def record(block: Block, assigned: Assigned, scope: Context) -> None:
        ends.append(assigned)
        block.emit("yield")

    return Rest(record, True)


def status_of(assigned: Assigned, variable: str) -> str:
    """Tell whether a variable is assigned: yes, no or maybe."""
    return dict(assigned).get(variable, "no")


def with_status(assigned: Assigned, variable: str, status: str = "yes") -> Assigned:
    """Answer what is assigned once a variable is, too."""
    return tuple(sorted({**dict(assigned), variable: status}.items()))


def anything(variables: Iterable[str], assigned: Assigned) -> Assigned:
    """Answer what is assigned where any of the variables may be, beside what is."""
    return tuple(sorted({**dict.fromkeys(variables, "maybe"), **dict(assigned)}.items()))


def joined(states: list[Assigned]) -> Assigned:
    """Combine what is assigned at the ends of several branches."""
    if not states:
        return ()
    names = {name for state in states for name, _ in state}
    combined = {}
    for name in names:
        found = {status_of(state, name) for state in states}
        combined[name] = "yes" if found == {"yes"} else "maybe"
    return tuple(sorted(combined.items()))
