"""The quantifiers that a formula begins with, and the tests among them, in any order of the names.

``\\A x \\in D : A(x) => \\A y \\in E : B(x, y) /\\ C(y) => P(x, y)`` says of each y the same as
``C(y) => \\A x \\in D : A(x) /\\ B(x, y) => P(x, y)``. They differ where B has no value for a pair and C is false: the
first has none there, and the second one holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lockstep.tla.compile.expression_forms import mentions
from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Expr


@dataclass(frozen=True)
class QuantifierPrefix:
    """Bounds of one name each, tests that say where the rest is asked for, and the rest."""

    program: Program
    bounds: tuple[Bound, ...]
    tests: tuple[Expr, ...]
    body: Expr
    whole: Expr

    def beginning_with(self, number: int) -> Expr:
        """Return what is said of each element of one bound: each test as soon as its names are bound."""
        if len(self.bounds) == 1 and isinstance(self.whole, Bind):
            return self.whole.body
        first, others = self.bounds[number], self.bounds[:number] + self.bounds[number + 1 :]
        return self._within((first,), others, self.tests)

    def _within(self, outer: tuple[Bound, ...], inner: tuple[Bound, ...], tests: tuple[Expr, ...]) -> Expr:
        unbound = frozenset(bound.params[0] for bound in inner)
        now = tuple(test for test in tests if not mentions(self.program, test, unbound))
        rest = self.body
        if inner:
            later = tuple(test for test in tests if test not in now)
            body = self._within((*outer, inner[0]), inner[1:], later)
            rest = Bind("$BoundedForall", inner[:1], body, self.whole.loc)
        if not now:
            return rest
        test = now[0] if len(now) == 1 else Builtin("\\land", now, self.whole.loc)
        return Builtin("=>", (test, rest), self.whole.loc)


def prefix_of(program: Program, expr: Expr) -> QuantifierPrefix:
    """Return the quantifiers over sets that depend on none of their names, and the tests."""
    whole, bounds, tests = expr, tuple[Bound, ...](), tuple[Expr, ...]()
    while isinstance(expr, Bind) and expr.name == "$BoundedForall":
        names = frozenset(bound.params[0] for bound in bounds)
        if any(
            bound.domain is None or bound.is_tuple or mentions(program, bound.domain, names) for bound in expr.bounds
        ):
            break
        bounds += tuple(replace(bound, params=(uid,)) for bound in expr.bounds for uid in bound.params)
        expr = expr.body
        while isinstance(expr, Builtin) and expr.name == "=>":
            test, expr = expr.args
            tests += test.args if isinstance(test, Builtin) and test.name == "\\land" else (test,)
    return QuantifierPrefix(program, bounds, tests, expr, whole)
