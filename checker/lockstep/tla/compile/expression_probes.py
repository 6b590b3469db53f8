"""Probes around the expressions of a spec that is loaded for them; see :mod:`lockstep.tla.values.probed_values`."""

from __future__ import annotations

from dataclasses import dataclass, field

from lockstep.tla.compile.context_facts import is_boolean
from lockstep.tla.compile.expression_context import Context
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.value_shapes import COMPARISONS
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Expr, Location, Number, walk

#: The operators of arithmetic whose results are probed, and those that compare numbers.
_ARITHMETIC = frozenset({"+", "-", "\\div", "*"})
_ORDER = frozenset({"<", ">", "\\leq", "\\geq"})

#: Formulas whose opposite is that of a part, which has a probe of its own, or that are TRUE or FALSE as they stand.
_NO_FORMULAS = frozenset({"\\lnot", "TRUE", "FALSE", "$SquareAct", "$AngleAct", "UNCHANGED", "ENABLED"})

FORMULA, NUMBER, UPDATE, OPERAND = "formula", "number", "update", "operand"


@dataclass(slots=True)
class ProbeTable:
    """The probes of a module while it is written, numbered by the place and kind of their expressions.

    `operands` has, of a comparison, the places of both sides, whose values are noted.
    """

    program: Program
    numbers: dict[tuple[Location, str], int] = field(default_factory=dict)
    operands: dict[Location, tuple[Location, Location]] = field(default_factory=dict)
    _sides: dict[int, Expr] = field(default_factory=dict)
    _kept: dict[int, Expr] = field(default_factory=dict)  # with the expressions, so that no other gets an id

    def enter(self, expr: Expr) -> None:
        """Take note of the sides of a comparison, and of those of a power, before they are written.

        A power with another number may be too large for any machine; it has no probe within.
        """
        if isinstance(expr, Call) and self._is_power(expr):
            self._kept.update({id(part): part for part in walk(expr, self.program.tree)})
        if isinstance(expr, (Builtin, Call)) and len(expr.args) == 2 and self._is_comparison(expr):
            left, right = expr.args
            self._sides.update({id(side): side for side in expr.args})
            self.operands[expr.loc] = left.loc, right.loc

    def _is_power(self, expr: Call) -> bool:
        known = self.program.standard_use(expr.op)
        return known is not None and known[1] == "^"

    def _is_comparison(self, expr: Builtin | Call) -> bool:
        if isinstance(expr, Builtin):
            return expr.name in COMPARISONS
        known = self.program.standard_use(expr.op)
        return known is not None and known[1] in _ORDER

    def around(self, expr: Expr, scope: Context, code: str) -> str:
        """Return the code of an expression with a probe around it, if it has one."""
        kind = self._kind(expr, scope)
        if kind is not None:
            return f"_probe({self._number(expr.loc, kind)}, {code})"
        if id(expr) in self._sides:
            return f"_probe_operand({self._number(expr.loc, OPERAND)}, {code})"
        return code

    def around_test(self, expr: Expr, code: str) -> str:
        """Return the code of a formula with a probe around it, where only evaluation shows that it is one."""
        return code if self.program.reads(expr)[1] else f"_probe({self._number(expr.loc, FORMULA)}, {code})"

    def around_update(self, loc: Location, code: str) -> str:
        """Return the code of an update of EXCEPT, a function, with a probe around it."""
        return f"_probe_update({self._number(loc, UPDATE)}, {code})"

    def _number(self, loc: Location, kind: str) -> int:
        return self.numbers.setdefault((loc, kind), len(self.numbers))

    def _kind(self, expr: Expr, scope: Context) -> str | None:
        if id(expr) in self._kept:
            return None
        if isinstance(expr, Number):
            return NUMBER
        if isinstance(expr, Call):
            known = self.program.standard_use(expr.op)
            if known is not None and known[1] in _ARITHMETIC:
                return NUMBER
            if expr.op in scope.env:  # a parameter: what it stands for has its own
                return None
        elif not isinstance(expr, (Builtin, Bind)) or expr.name in _NO_FORMULAS:
            return None
        return FORMULA if is_boolean(self.program, expr, scope) and not self.program.reads(expr)[1] else None
