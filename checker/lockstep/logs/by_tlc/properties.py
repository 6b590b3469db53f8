"""The properties of a cfg as what fails in a state, by a step, and in the first state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockstep.base.errors import BadInputError
from lockstep.conformance.by_tlc.parts import text_of
from lockstep.conformance.by_tlc.source import Source
from lockstep.tla.compile.analysis import Program
from lockstep.tla.compile.module.behaviour import Formula, is_temporal, named, sorted_formula
from lockstep.tla.syntax.tree import Builtin, Call, Expr


class Properties:
    """Writes operators that give the names of the properties that fail, as sets of strings.

    Attributes:
        in_state, by_step, at_first: the operators: what fails in a state, by a step, and in the first state besides.
        lines: the definitions.
    """

    def __init__(self, program: Program, source: Source, prefix: str) -> None:
        """Write the properties of the cfg; raises BadInputError where one is of an INSTANCE, or speaks of no step."""
        self._program, self._source, self._prefix = program, source, prefix
        self.lines: list[str] = []
        self._count = 0
        cfg = program.cfg
        states = {name: name for name in cfg.invariants}
        steps: list[tuple[str, str]] = []
        first: list[tuple[str, str]] = []
        for name in cfg.properties:
            formula = self._sorted(name)
            steps += [(name, self._defined(part)) for part in formula.steps]
            first += [(name, self._defined(part)) for part in formula.initial]
            for number, part in enumerate(formula.invariants, start=1):
                states.setdefault(name if len(formula.invariants) == 1 else f"{name}#{number}", self._defined(part))
        self.in_state = self._failing("broken", list(states.items()))
        self.by_step = self._failing("broken_by", steps)
        self.at_first = self._failing("broken_first", first)

    def after_step(self) -> str:
        """Write the names of what fails by a step and after it."""
        return f"{self.by_step} \\cup {self.in_state}'"

    def _sorted(self, name: str) -> Formula:
        body = named(self._program, name, "PROPERTY").body
        for call in self._temporal_definitions(body):
            definition = self._program.definition(call.op)
            if definition is None or "!" in definition.name or definition.uid in self._program.tree.origins:
                of = "" if definition is None else f": {definition.name}"
                raise BadInputError(f"TLC cannot say where the PROPERTY {name} fails, as it is of an INSTANCE{of}")
        formula = sorted_formula(self._program, body)
        if formula.temporal:
            raise BadInputError(f"TLC cannot say where the PROPERTY {name} fails: it speaks of more than steps")
        return formula

    def _temporal_definitions(self, expr: Expr) -> Iterator[Call]:
        """Yield the uses of definitions that a temporal formula is put together from."""
        if isinstance(expr, Builtin) and expr.name == "\\land":
            for part in expr.args:
                yield from self._temporal_definitions(part)
        elif isinstance(expr, Call) and is_temporal(self._program, expr):
            yield expr
            definition = self._program.definition(expr.op)
            if definition is not None and not definition.params:
                yield from self._temporal_definitions(definition.body)

    def _defined(self, part: Expr) -> str:
        self._count += 1
        name = f"{self._prefix}part{self._count}"
        self.lines.append(f"{name} ==\n{text_of(part, self._program, self._source)}")
        return name

    def _failing(self, title: str, parts: Sequence[tuple[str, str]]) -> str:
        name = f"{self._prefix}{title}"
        sets = ", ".join(f'IF {operator} THEN {{}} ELSE {{"{of}"}}' for of, operator in parts)
        self.lines.append(f"{name} == UNION {{{sets}}}")
        return name
