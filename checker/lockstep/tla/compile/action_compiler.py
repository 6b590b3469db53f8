"""Actions of TLA+ to Python generators over a next state under construction.

An action is written as nested statements: a conjunct that is a formula is an ``if``, ``x' = e`` assigns, ``\\E`` and
``x' \\in S`` are loops, a disjunction tries its branches in order, and what is innermost says ``yield``: the next state
is then complete. What a branch assigned is taken back when it is left, so that nothing of one branch shows in another.

Which variables are assigned where is known while writing; a definition used as an action becomes one generator for
each set of variables that may be assigned when it is entered. Where that depends on the run, a helper asks at run time.
"""

from __future__ import annotations

from lockstep.tla.compile.action_applications import write_application, write_let
from lockstep.tla.compile.action_assignments import assignment, write_unchanged
from lockstep.tla.compile.action_conjunctions import conjunction, guard, loop_over
from lockstep.tla.compile.action_facts import assigns, is_action, variable_of
from lockstep.tla.compile.action_quantifiers import write_bind
from lockstep.tla.compile.action_uses import write_call
from lockstep.tla.compile.action_writer import Actions, Assigned, Rest, recording
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_context import Context
from lockstep.tla.compile.expression_logic import case_as_if, changed, unchanged
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Expr, Let

__all__ = ["ActionCompiler"]


class ActionCompiler(Actions):
    """Compiles actions by what they are: each construct of the language has its writer."""

    def write(self, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write an action into a block, and what follows wherever it holds."""
        if isinstance(expr, Builtin) and expr.name == "TRUE":
            rest.write(block, assigned, scope)
        elif not is_action(self, expr, scope, assigned):
            guard(self, expr, scope, block, assigned, rest)
        elif isinstance(expr, Let):
            self.write(expr.body, write_let(self, expr, scope, block), block, assigned, rest)
        elif isinstance(expr, Bind):
            write_bind(self, expr, scope, block, assigned, rest)
        elif isinstance(expr, Call):
            write_call(self, expr, scope, block, assigned, rest)
        elif isinstance(expr, Builtin):
            write_builtin(self, expr, scope, block, assigned, rest)
        else:
            raise CompileError("this is not an action", expr.loc)


def write_builtin(
    actions: Actions, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    """Write a construct of the language that stands as a conjunct."""
    name = expr.name
    if name == "\\land":
        conjunction(actions, expr.args, scope, block, assigned, rest)
    elif name == "\\lor":
        branch(actions, [(None, arg) for arg in expr.args], scope, block, assigned, rest)
    elif name == "$SquareAct":
        branch(actions, [(None, expr.args[0]), (None, unchanged(expr))], scope, block, assigned, rest)
    elif name == "$AngleAct":
        conjunction(actions, (expr.args[0], changed(expr)), scope, block, assigned, rest)
    elif name == "$IfThenElse":
        conditional(actions, expr, scope, block, assigned, rest)
    elif name == "=>" and assigns(actions, expr, scope):
        holds = Builtin("TRUE", (), expr.loc)
        conditional(actions, Builtin("$IfThenElse", (*expr.args, holds), expr.loc), scope, block, assigned, rest)
    elif name == "$Case":
        actions.write(case_as_if(expr), scope, block, assigned, rest)
    elif name == "$FcnApply":
        write_application(actions, expr, scope, block, assigned, rest)
    elif name == "UNCHANGED":
        write_unchanged(actions, expr, scope, block, assigned, rest)
    elif name in ("=", "\\in") and variable_of(actions, expr.args[0], scope) is not None:
        assignment(actions, expr, scope, block, assigned, rest)
    else:
        guard(actions, expr, scope, block, assigned, rest)


def branch(
    actions: Actions,
    arms: list[tuple[str | None, Expr]],
    scope: Context,
    block: Block,
    assigned: Assigned,
    rest: Rest,
) -> None:
    """Write alternatives: each under its own test (None: always), one after the other."""
    if rest.is_small:
        _arms(actions, arms, scope, block, assigned, rest)
        return
    ends: list[Assigned] = []
    local = Block()
    _arms(actions, arms, scope, local, assigned, recording(ends))
    loop_over(actions, local, ends, scope, block, rest)


def _arms(
    actions: Actions, arms: list[tuple[str | None, Expr]], scope: Context, block: Block, assigned: Assigned, rest: Rest
) -> None:
    for head, arm in arms:
        if head is None:
            actions.write(arm, scope, block, assigned, rest)
        else:
            inner = Block()
            actions.write(arm, scope, inner, assigned, rest)
            block.nest(head, inner)


def conditional(actions: Actions, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
    """Write IF: each branch under its test."""
    code = actions.values.test(expr.args[0], scope, block)
    branch(actions, [(f"if {code}:", expr.args[1]), ("else:", expr.args[2])], scope, block, assigned, rest)
