"""Base of the action compiler: the sites where actions are written, and the generators of functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_context import NEXT, NOW, Context
from lockstep.tla.compile.expression_writer import ExpressionWriter, GeneratedFunction
from lockstep.tla.compile.python_text import Block, function_text
from lockstep.tla.syntax.tree import Definition, Expr

Mode = Literal["next", "step", "init", "why", "bound"]
Assigned: TypeAlias = "tuple[tuple[str, str], ...]"
"""The Python name of each variable that is (``yes``) or may be (``maybe``) assigned, and which of the two."""


@dataclass(frozen=True)
class Rest:
    """The statements that follow an action.

    Attributes:
        write: writes them into a block, given what is assigned by then.
        is_small: whether they may be written several times.
    """

    write: Callable[[Block, Assigned], None]
    is_small: bool


YIELD = Rest(lambda block, _assigned: block.emit("yield"), True)


@dataclass(frozen=True)
class Site:
    """Where an action is written.

    Attributes:
        scope: what its names are bound to.
        block: the statements so far.
        assigned: the variables that are assigned there.
        rest: what follows wherever the action holds.
    """

    scope: Context
    block: Block
    assigned: Assigned
    rest: Rest

    def write_rest(self, assigned: Assigned | None = None) -> None:
        """Write the statements that follow into the block."""
        self.rest.write(self.block, self.assigned if assigned is None else assigned)

    def rest_block(self, assigned: Assigned | None = None) -> Block:
        """Return a block of the statements that follow."""
        inner = Block()
        self.rest.write(inner, self.assigned if assigned is None else assigned)
        return inner

    def status(self, variable: str) -> str:
        """Return whether a variable is assigned: yes, no or maybe."""
        return dict(self.assigned).get(variable, "no")


class Alternatives:
    """A generator with an end for each alternative of an action."""

    def __init__(self, site: Site) -> None:
        self.block = Block()
        self.inside = replace(site, block=self.block, rest=Rest(self._end, True))
        self._site, self._ends = site, list[Assigned]()

    def _end(self, block: Block, assigned: Assigned) -> None:
        self._ends.append(assigned)
        block.emit("yield")

    def finish(self) -> Assigned:
        """Finish the generator; return what is assigned at its ends."""
        if not self._ends:
            self.block.emit("yield from ()")
        tables = [dict(end) for end in self._ends]
        names = {name for table in tables for name in table}
        return tuple(sorted((n, "yes" if all(table.get(n) == "yes" for table in tables) else "maybe") for n in names))

    def write(self) -> None:
        """Write a loop over the generator at the site, with the statements that follow once for all of its ends."""
        assigned, name = self.finish(), self._site.scope.names.fresh("_either")
        self._site.block.nest(f"def {name}():", self.block)
        self._site.block.nest(f"for _ in {name}():", self._site.rest_block(assigned))


def possibly_assigned(variables: Iterable[str], assigned: Assigned = ()) -> Assigned:
    """Return the assignments in which some variables may be assigned besides."""
    return tuple(sorted({**dict.fromkeys(variables, "maybe"), **dict(assigned)}.items()))


class ActionWriter(ABC):
    """Writes actions in one mode.

    ``next`` follows TLC step by step, so that a successor is generated as often as TLC generates it; ``step`` only
    decides; ``init`` assigns unprimed variables; ``why`` reports to a tracer each conjunct that holds or fails.
    ``bound`` stops below the quantifiers that choose an action's arguments.
    """

    def __init__(self, expressions: ExpressionWriter, mode: Mode) -> None:
        self.expressions, self.program = expressions, expressions.program
        self.mode: Mode = mode
        self._exits: dict[object, Assigned] = {}

    @property
    def is_search(self) -> bool:
        """Whether the ways in which an action holds are counted."""
        return self.mode in ("next", "init")

    def function(self, definition: Definition, assigned: Assigned) -> str:
        """Compile a definition as a generator, entered with some variables assigned; return its name."""
        key = (self.mode, definition.uid, assigned)
        name = self.expressions.name_for(key, f"{definition.name}__{self.mode}")
        if key not in self.expressions.functions:
            written = self.expressions.functions[key] = GeneratedFunction(name, "", definition.loc)
            try:
                written.text = self._text(name, definition, assigned, key)
            except CompileError:
                del self.expressions.functions[key]
                raise
        return name

    def exit_of(self, definition: Definition, assigned: Assigned) -> Assigned:
        """Return what is assigned after a definition used as an action; within it, that is not known yet."""
        known = self._exits.get((self.mode, definition.uid, assigned))
        return possibly_assigned(self.expressions.slots.values(), assigned) if known is None else known

    def _text(self, name: str, definition: Definition, assigned: Assigned, key: object) -> str:
        scope, params = self.expressions.bind_params(definition, self.scope())
        ways = Alternatives(Site(scope, Block(), assigned, YIELD))
        self.write(definition.body, ways.inside)
        self._exits[key] = ways.finish()
        return function_text(name, [*self.states(), *params], ways.block, definition.loc)

    def scope(self) -> Context:
        """Return the context of a new function of this mode."""
        return self.expressions.context(*((NEXT, None) if self.mode == "init" else (NOW, NEXT)))

    def states(self) -> list[str]:
        """Return the parameters that functions of this mode have before their own."""
        return {"init": [NEXT], "why": ["_w", NOW, NEXT]}.get(self.mode, [NOW, NEXT])

    @abstractmethod
    def write(self, expr: Expr, site: Site) -> None:
        """Write an action, and the statements that follow wherever it holds."""
