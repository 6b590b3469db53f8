"""The properties of a cfg in parts that TLC can check one by one: of a state, of a step, and of the first state.

Conjuncts about behaviours without end are no such parts: no trace is checked for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lockstep.base.errors import BadInputError
from lockstep.conformance.by_tlc.module_text import SpecText, text_of
from lockstep.tla.compile.named_formulas import definition_named, is_temporal, sorted_formula
from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Builtin, Call, Expr


@dataclass
class PropertyOperators:
    """Operators without arguments, each true where a part of a property holds: with the property's name."""

    states: list[tuple[str, str]] = field(default_factory=list)
    steps: list[tuple[str, str]] = field(default_factory=list)
    first: list[tuple[str, str]] = field(default_factory=list)


class PropertyParts:
    """Writes an operator for each part of a PROPERTY that speaks of a state, of a step or of the first state.

    Attributes:
        unwritten: properties whose parts cannot be written, each with the reason.
    """

    def __init__(self, program: Program, source: SpecText, prefix: str) -> None:
        self._program, self._source, self._prefix = program, source, prefix
        self.lines: list[str] = []
        self.unwritten: dict[str, str] = {}
        self._count = 0

    def is_about_behaviours(self, name: str) -> bool:
        """Return whether a PROPERTY has a part that speaks of behaviours without end."""
        return bool(sorted_formula(self._program, definition_named(self._program, name, "PROPERTY").body).temporal)

    def called(self, name: str) -> list[str]:
        """Return the definitions that parts of a PROPERTY are: where one is violated, TLC names that."""
        formula = sorted_formula(self._program, definition_named(self._program, name, "PROPERTY").body)
        parts = (*formula.initial, *formula.invariants)
        return [self._program.tree.name_of(part.op) for part in parts if isinstance(part, Call)]

    def write(self, name: str) -> PropertyOperators:
        """Write the parts of a PROPERTY.

        Raises BadInputError where it cannot be written, unless it speaks of behaviours, too: such a one is then noted
        as unwritten, with what else there is of it that no trace is checked for.
        """
        body, written = definition_named(self._program, name, "PROPERTY").body, len(self.lines)
        formula = sorted_formula(self._program, body)
        if not (formula.steps or formula.initial or formula.invariants):
            return PropertyOperators()
        try:
            instance = self._instance(name, body)
            found = PropertyOperators(
                steps=[(name, self._defined(name, part, instance)) for part in formula.steps],
                first=[(name, self._defined(name, part, instance)) for part in formula.initial],
            )
            for number, part in enumerate(formula.invariants, start=1):
                key = name if len(formula.invariants) == 1 else f"{name}#{number}"
                found.states.append((key, self._defined(name, part, instance)))
        except BadInputError as error:
            if not formula.temporal:
                raise
            del self.lines[written:]
            self.unwritten[name] = str(error)
            return PropertyOperators()
        return found

    def _instance(self, name: str, body: Expr) -> str | None:
        """Return the INSTANCE that a property's formula is of, as in "Abs!"; None where it is of none.

        The parts of such a formula cannot be copied: in its module, names stand for something else.
        """
        found = set()
        for call in self._temporal_uses(body):
            definition = self._program.definition(call.op)
            if definition is None or "!" in definition.name or definition.uid in self._program.tree.origins:
                found.add("" if definition is None else definition.name.rpartition("!")[0])
        if len(found) > 1 or "" in found:
            raise self._refusal(name)
        return f"{found.pop()}!" if found else None

    def _temporal_uses(self, expr: Expr) -> Iterator[Call]:
        """Yield the uses of definitions that a temporal formula is put together from, not those within an INSTANCE."""
        if isinstance(expr, Builtin) and expr.name == "\\land":
            for part in expr.args:
                yield from self._temporal_uses(part)
        elif isinstance(expr, Call) and is_temporal(self._program, expr):
            yield expr
            definition = self._program.definition(expr.op)
            if definition is not None and not definition.params and "!" not in definition.name:
                yield from self._temporal_uses(definition.body)

    def _defined(self, name: str, part: Expr, instance: str | None) -> str:
        self._count += 1
        operator = f"{self._prefix}part{self._count}"
        if instance is None:
            text = text_of(part, self._program, self._source)
        elif isinstance(part, Builtin) and part.name == "$SquareAct":
            action, view = (self._name(name, each, instance) for each in part.args)
            text = f"    \\/ {action}\n    \\/ UNCHANGED {view}"
        else:
            text = f"    {self._name(name, part, instance)}"
        self.lines.append(f"{operator} ==\n{text}")
        return operator

    def _name(self, name: str, part: Expr, instance: str) -> str:
        """Return the name of what a formula of an INSTANCE uses; raises BadInputError where it has none."""
        if not isinstance(part, Call) or part.args:
            raise self._refusal(name)
        found = self._program.tree.name_of(part.op)
        return f"{instance}{found}" if part.op in self._program.tree.origins else found

    def _refusal(self, name: str) -> BadInputError:
        why = "its parts are of an INSTANCE and have no names of their own, as Init, Next and vars would be"
        return BadInputError(f"TLC cannot find where the PROPERTY {name} fails: {why}")
