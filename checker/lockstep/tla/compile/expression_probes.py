"""Probes around the expressions of a spec that is loaded for them; see :mod:`lockstep.tla.values.probed_values`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lockstep.tla.compile.context_facts import is_boolean
from lockstep.tla.compile.expression_context import Context, InlineBinding
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.value_shapes import COMPARISONS
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Definition, Expr, Location, Number, walk

#: The operators of arithmetic whose results are probed, those that have an opposite, and those that compare numbers.
_ARITHMETIC = frozenset({"+", "-", "\\div", "*"})
_SUMS = frozenset({"+", "-"})
_ORDER = frozenset({"<", ">", "\\leq", "\\geq"})

#: Formulas whose opposite is that of a part, which has a probe of its own, or that are about steps.
_NO_FORMULAS = frozenset({"\\lnot", "$SquareAct", "$AngleAct", "UNCHANGED", "ENABLED"})

FORMULA, NUMBER, UPDATE, UPDATES, USE, OPERAND = "formula", "number", "update", "updates", "use", "operand"


@dataclass(slots=True)
class ProbeTable:
    """The probes of a module while it is written, numbered by the place and kind of their expressions.

    `operands` has, of a comparison, a sum or a difference, the places of both sides, whose values are noted.
    """

    program: Program
    numbers: dict[tuple[Location, str], int] = field(default_factory=dict)
    operands: dict[Location, tuple[Location, Location]] = field(default_factory=dict)
    _sides: dict[int, Expr] = field(default_factory=dict)
    _kept: dict[int, Expr] = field(default_factory=dict)  # with the expressions, so that no other gets an id

    def enter(self, expr: Expr) -> None:
        """Take note of the sides of a comparison, a sum or a difference, and of a power, before they are written.

        A power with another number may be too large for any machine; it has no probe within.
        """
        if isinstance(expr, Call) and self._is_power(expr):
            self._kept.update({id(part): part for part in walk(expr, self.program.tree)})
        if isinstance(expr, (Builtin, Call)) and len(expr.args) == 2 and self._has_sides(expr):
            left, right = expr.args
            self._sides.update({id(side): side for side in expr.args})
            self.operands[expr.loc] = left.loc, right.loc

    def _is_power(self, expr: Call) -> bool:
        known = self.program.standard_use(expr.op)
        return known is not None and known[1] == "^"

    def _has_sides(self, expr: Builtin | Call) -> bool:
        if isinstance(expr, Builtin):
            return expr.name in COMPARISONS
        known = self.program.standard_use(expr.op)
        return known is not None and known[1] in _ORDER | _SUMS

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

    def around_update(self, loc: Location, code: str, whole: Location | None) -> str:
        """Return the code of an update of EXCEPT, a function, with a probe around it.

        Arguments: `whole`, the place of the EXCEPT, where it has several updates, which have one probe more together.
        """
        more = "" if whole is None else f", {self._number(whole, UPDATES)}"
        return f"_probe_update({self._number(loc, UPDATE)}, {code}{more})"

    def left_by(self, expr: Expr, scope: Context) -> list[Expr]:
        """Return the arguments of an operator's use which may stand for it: names of values, and `node[n]`.

        An operator that changes a record is given it; where it is not used, the record stays as it was.
        """
        if not isinstance(expr, Call) or not expr.args or id(expr) in self._kept or self._kind(expr, scope) is not None:
            return []
        definition = self.program.tree.definitions.get(self.program.target(expr.op))
        if definition is None or expr.op in scope.env or self.program.reads(expr)[1]:
            return []
        return [arg for arg in expr.args if self._is_there(arg, scope)]

    def _is_there(self, arg: Expr, scope: Context) -> bool:
        """Return whether an argument is a name of a value, or a variable applied to one."""
        if isinstance(arg, Builtin) and arg.name == "$FcnApply" and len(arg.args) == 2:
            function, at = arg.args
            is_variable = isinstance(function, Call) and function.op in {each.uid for each in self.program.variables()}
            return is_variable and self._is_there(at, scope)
        return isinstance(arg, Call) and not arg.args and _is_value(arg, scope)

    def around_use(self, loc: Location, code: str, given: Sequence[str]) -> str:
        """Return the code of an operator's use with a probe around it, given that of what may stand for it."""
        return f"_probe_use({self._number(loc, USE)}, {code}, lambda: ({', '.join(given)},))"

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


def is_probed_constant(definition: Definition, is_formula: bool) -> bool:
    """Return whether a definition without parameters that reads no variable is evaluated at each use, for its probes.

    So is a switch, which is a formula, and a record that is written down, such as that of a node at its start.
    """
    body = definition.body
    return is_formula or (isinstance(body, Builtin) and body.name == "$RcdConstructor")


def _is_value(name: Call, scope: Context) -> bool:
    """Return whether a name is bound to a value here, rather than replaced by an expression."""
    return name.op in scope.env and not isinstance(scope.env[name.op], InlineBinding)
