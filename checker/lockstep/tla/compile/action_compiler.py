"""Actions of TLA+ to Python generators over a next state under construction.

An action is written as nested statements: a conjunct that is a formula is an ``if``, ``x' = e`` assigns, ``\\E`` and
``x' \\in S`` are loops, a disjunction tries its branches in order, and the innermost statement is a ``yield``: the next
state is then complete. The assignments of a branch are undone at its end, so that no branch sees those of another.

Which variables are assigned where is known while writing; a definition used as an action becomes one generator for
each set of variables that may be assigned when it is entered. Where that depends on the run, a helper asks at run time.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_applications import write_application, write_let
from lockstep.tla.compile.action_assignments import write_assignment, write_unchanged
from lockstep.tla.compile.action_conjunctions import write_conjunction, write_guard
from lockstep.tla.compile.action_facts import assigns, is_action, variable_of
from lockstep.tla.compile.action_quantifiers import write_bind
from lockstep.tla.compile.action_uses import write_call
from lockstep.tla.compile.action_writer import ActionWriter, Alternatives, Site
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_logic import case_as_if, changed, unchanged
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Expr, Let


class ActionCompiler(ActionWriter):
    """Compiler of actions, with a writer for each construct of the language."""

    def write(self, expr: Expr, site: Site) -> None:
        """Write an action, and the statements that follow wherever it holds."""
        if isinstance(expr, Builtin) and expr.name == "TRUE":
            site.write_rest()
        elif not is_action(self, expr, site):
            write_guard(self, expr, site)
        elif isinstance(expr, Let):
            self.write(expr.body, replace(site, scope=write_let(self, expr, site.scope, site.block)))
        elif isinstance(expr, Bind):
            write_bind(self, expr, site)
        elif isinstance(expr, Call):
            write_call(self, expr, site)
        elif isinstance(expr, Builtin):
            _write_builtin(self, expr, site)
        else:
            raise CompileError("this is not an action", expr.loc)


def _write_builtin(actions: ActionWriter, expr: Builtin, site: Site) -> None:
    """Write a construct of the language that stands as a conjunct."""
    name = expr.name
    if name == "\\land":
        write_conjunction(actions, expr.args, site)
    elif name == "\\lor":
        _write_arms(actions, [("", arg) for arg in expr.args], site)
    elif name == "$SquareAct":
        _write_arms(actions, [("", expr.args[0]), ("", unchanged(expr))], site)
    elif name == "$AngleAct":
        write_conjunction(actions, (expr.args[0], changed(expr)), site)
    elif name == "$IfThenElse":
        _write_conditional(actions, expr.args, site)
    elif name == "=>" and assigns(actions, expr, site.scope):
        _write_conditional(actions, (*expr.args, Builtin("TRUE", (), expr.loc)), site)
    elif name == "$Case":
        actions.write(case_as_if(expr), site)
    elif name == "$FcnApply":
        write_application(actions, expr, site)
    elif name == "UNCHANGED":
        write_unchanged(actions, expr, site)
    elif name in ("=", "\\in") and variable_of(actions, expr.args[0], site.scope) is not None:
        write_assignment(actions, expr, site)
    else:
        write_guard(actions, expr, site)


def _write_conditional(actions: ActionWriter, args: tuple[Expr, ...], site: Site) -> None:
    """Write IF: each branch under its test."""
    test, then, other = args
    code = actions.expressions.test(test, site.scope, site.block)
    _write_arms(actions, [(f"if {code}:", then), ("else:", other)], site)


def _write_arms(actions: ActionWriter, arms: list[tuple[str, Expr]], site: Site) -> None:
    """Write alternatives one after the other, each under its own test if it has one."""
    ways = None if site.rest.is_small else Alternatives(site)
    inside = site if ways is None else ways.inside
    for head, arm in arms:
        if not head:
            actions.write(arm, inside)
        else:
            inner = Block()
            actions.write(arm, replace(inside, block=inner))
            inside.block.nest(head, inner)
    if ways is not None:
        ways.write()
