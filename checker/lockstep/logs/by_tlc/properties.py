"""The properties of a cfg as what fails in a state, by a step, and in the first state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockstep.base.errors import BadInputError
from lockstep.conformance.by_tlc.parts import text_of
from lockstep.conformance.by_tlc.source import Source
from lockstep.tla.compile.analysis import Program
from lockstep.tla.compile.module.behaviour import is_temporal, named, sorted_formula
from lockstep.tla.syntax.tree import Builtin, Call, Expr


class Properties:
    """Writes operators that give the names of the properties that fail, as sets of strings.

    Attributes:
        in_state, by_step, at_first: the operators: what fails in a state, by a step, and in the first state besides.
        lines: the definitions.
    """

    def __init__(self, program: Program, source: Source, prefix: str) -> None:
        """Write the properties of the cfg; raises BadInputError where one cannot be."""
        self._program, self._source, self._prefix = program, source, prefix
        self.lines: list[str] = []
        self._count = 0
        cfg = program.cfg
        states = {name: name for name in cfg.invariants}
        steps: list[tuple[str, str]] = []
        first: list[tuple[str, str]] = []
        for name in cfg.properties:
            body = named(program, name, "PROPERTY").body
            formula, instance = sorted_formula(program, body), self._instance(name, body)
            if formula.temporal:
                raise BadInputError(f"TLC cannot say where the PROPERTY {name} fails: it speaks of more than steps")
            steps += [(name, self._defined(name, part, instance)) for part in formula.steps]
            first += [(name, self._defined(name, part, instance)) for part in formula.initial]
            for number, part in enumerate(formula.invariants, start=1):
                key = name if len(formula.invariants) == 1 else f"{name}#{number}"
                states.setdefault(key, self._defined(name, part, instance))
        self.in_state = self._failing("broken", list(states.items()))
        self.by_step = self._failing("broken_by", steps)
        self.at_first = self._failing("broken_first", first)

    def after_step(self) -> str:
        """Write the names of what fails by a step and after it."""
        return f"{self.by_step} \\cup {self.in_state}'"

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
        return BadInputError(f"TLC cannot say where the PROPERTY {name} fails: {why}")

    def _failing(self, title: str, parts: Sequence[tuple[str, str]]) -> str:
        name = f"{self._prefix}{title}"
        sets = ", ".join(f'IF {operator} THEN {{}} ELSE {{"{of}"}}' for of, operator in parts)
        self.lines.append(f"{name} == UNION {{{sets}}}")
        return name
