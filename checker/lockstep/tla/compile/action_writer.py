"""What all that compiles actions shares: generators under way, one for each set of variables assigned before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_context import NEXT, NOW, Context
from lockstep.tla.compile.expression_writer import Compiler, Function
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Definition, Expr

__all__ = [
    "YIELD",
    "Actions",
    "Assigned",
    "Mode",
    "Rest",
    "anything",
    "joined",
    "recording",
    "status_of",
    "with_status",
]


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


class Actions(ABC):
    """Writes actions in one mode.

    ``next`` follows TLC step by step, so that a successor is generated as often as TLC generates it; ``step`` only
    decides; ``init`` assigns unprimed variables; ``why`` tells a tracer each conjunct that holds or fails. ``bound``
    stops below the quantifiers that choose an action's arguments.
    """

    def __init__(self, values: Compiler, mode: Mode) -> None:
        """Write actions with the help of a compiler of expressions."""
        self.values = values
        self.program = values.program
        self.mode: Mode = mode
        self.exits: dict[object, Assigned | None] = {}

    def function(self, definition: Definition, assigned: Assigned) -> str:
        """Compile a definition as a generator, entered with some variables assigned; answer its name."""
        key = (self.mode, definition.uid, assigned)
        suffix = {"next": "next", "step": "step", "init": "init", "why": "why"}[self.mode]
        name = self.values.name_for(key, f"{definition.name}__{suffix}")
        if key not in self.values.functions:
            written = self.values.functions[key] = Function(name, "", definition.loc)
            self.exits[key] = None
            try:
                written.text = self._text(name, definition, assigned, key)
            except CompileError:
                del self.values.functions[key]
                raise
        return name

    def exit_of(self, definition: Definition, assigned: Assigned) -> Assigned:
        """Answer what is assigned after a definition used as an action."""
        known = self.exits.get((self.mode, definition.uid, assigned))
        if known is not None:
            return known
        return anything(self.values.slots.values(), assigned)

    def _text(self, name: str, definition: Definition, assigned: Assigned, key: object) -> str:
        scope, params = self.values.bind_params(definition, self.scope())
        ends: list[Assigned] = []
        body = Block()
        self.write(definition.body, scope, body, assigned, recording(ends))
        if not ends:
            body.emit("yield from ()")
        self.exits[key] = joined(ends)
        head = Block()
        head.nest(f"def {name}({', '.join([*self.states(), *params])}):  # {definition.loc}", body)
        return "\n".join(head.lines)

    def scope(self) -> Context:
        """Answer the context of a new function of this mode."""
        return self.values.context(NEXT, None) if self.mode == "init" else self.values.context(NOW, NEXT)

    def states(self) -> list[str]:
        """List the parameters that functions of this mode have before their own."""
        if self.mode == "init":
            return [NEXT]
        return ["_w", NOW, NEXT] if self.mode == "why" else [NOW, NEXT]

    @abstractmethod
    def write(self, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write an action into a block, and what follows wherever it holds."""
