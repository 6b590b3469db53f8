"""Formulas: conjunctions and the like, membership, IF and CASE, and the operators of actions."""

from __future__ import annotations

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import limits_of
from lockstep.tla.compile.expression_context import Context
from lockstep.tla.compile.expression_writer import ExpressionWriter, Write
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Builtin, Expr, String


def truth(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile a constant of the language."""
    return {"TRUE": "True", "FALSE": "False", "BOOLEAN": "_BOOLEAN", "STRING": "_STRING"}[expr.name]


def conjunction(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``/\\``."""
    return junction(writer, list(expr.args), scope, block, "and")


def disjunction(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``\\/``."""
    return junction(writer, list(expr.args), scope, block, "or")


def implication(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``=>``."""
    negated = Builtin("\\lnot", (expr.args[0],), expr.args[0].loc)
    return junction(writer, [negated, expr.args[1]], scope, block, "or")


def junction(writer: ExpressionWriter, parts: list[Expr], scope: Context, block: Block, word: str) -> str:
    """Compile ``and`` or ``or``; a part that needs statements makes it a chain of ifs."""
    compiled = []
    for part in parts:
        inner = Block()
        compiled.append((inner, writer.test(part, scope, inner)))
    if len(compiled) == 1:
        block.extend(compiled[0][0])
        return compiled[0][1]
    if not any(inner.lines for inner, _ in compiled[1:]):
        block.extend(compiled[0][0])
        return "(" + f" {word} ".join(code for _, code in compiled) + ")"
    verdict = scope.names.fresh("_v")
    block.emit(f"{verdict} = {word == 'or'}")
    chain = Block()
    chain.emit(f"{verdict} = {word == 'and'}")
    for inner, code in reversed(compiled):
        outer = Block()
        outer.extend(inner)
        outer.nest(f"if {code}:" if word == "and" else f"if not {code}:", chain)
        chain = outer
    block.extend(chain)
    return verdict


def negation(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``~``."""
    inner = expr.args[0]
    if isinstance(inner, Builtin) and inner.name == "\\lnot":
        return writer.test(inner.args[0], scope, block)
    return f"(not {writer.test(inner, scope, block)})"


def equivalence(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``<=>``."""
    left, right = (writer.test(arg, scope, block) for arg in expr.args)
    return f"({left} is {right})"


def membership(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``\\in`` and ``\\notin``."""
    code = member_of(writer, writer.expr(expr.args[0], scope, block), expr.args[1], scope, block)
    return code if expr.name == "\\in" else f"(not {code})"


def member_of(writer: ExpressionWriter, value: str, domain: Expr, scope: Context, block: Block) -> str:
    """Compile a membership test of a Python expression."""
    limits = limits_of(writer.program, domain)
    if limits is not None:
        low, high = (writer.expr(limit, scope, block) for limit in limits)
        return f"_within({value}, {low}, {high})"
    if isinstance(domain, Builtin) and domain.name == "DOMAIN":
        return f"_in_domain({value}, {writer.expr(domain.args[0], scope, block)})"
    return f"_member({value}, {writer.expr(domain, scope, block)})"


def given_of(writer: ExpressionWriter, name: str, value: str, domain: Expr, scope: Context, block: Block) -> str:
    """Compile the membership test of an argument that a step is given: its error names the argument."""
    limits = limits_of(writer.program, domain)
    if limits is not None:
        low, high = (writer.expr(limit, scope, block) for limit in limits)
        return f"_given_within({name!r}, {value}, {low}, {high})"
    return f"_given({name!r}, {value}, {writer.expr(domain, scope, block)})"


def conditional(
    writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block, write: Write | None = None
) -> str:
    """Compile IF: a conditional expression, or statements if a branch needs them."""
    test = writer.test(expr.args[0], scope, block)
    yes, no = Block(), Block()
    write = write or writer.expr
    then, other = write(expr.args[1], scope, yes), write(expr.args[2], scope, no)
    if not yes.lines and not no.lines:
        return f"({then} if {test} else {other})"
    value = scope.names.fresh("_v")
    yes.emit(f"{value} = {then}")
    no.emit(f"{value} = {other}")
    block.nest(f"if {test}:", yes)
    block.nest("else:", no)
    return value


def case(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile CASE as nested conditionals; without a true guard it is an error."""
    return writer.expr(case_as_if(expr), scope, block)


def case_as_if(expr: Builtin) -> Expr:
    """Rewrite a CASE as nested IFs."""
    result: Expr = Builtin("<no case>", (), expr.loc)
    for arm in reversed(expr.args):
        assert isinstance(arm, Builtin)
        guard, value = arm.args
        if isinstance(guard, String) and guard.value == "$Other":
            result = value
        else:
            result = Builtin("$IfThenElse", (guard, value, result), arm.loc)
    return result


def no_case(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile the end of a CASE without OTHER."""
    return f"_no_case({str(expr.loc)!r})"


def prime(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile a prime: the expression in the next state."""
    return writer.expr(expr.args[0], scope.primed(expr.loc), block)


def unchanged_variables(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile UNCHANGED as an equality."""
    before = writer.expr(expr.args[0], scope, block)
    after = writer.expr(expr.args[0], scope.primed(expr.loc), block)
    return f"_eq({after}, {before})"


def square_action(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``[A]_v``."""
    return junction(writer, [expr.args[0], unchanged(expr)], scope, block, "or")


def angle_action(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ``<<A>>_v``."""
    return junction(writer, [expr.args[0], changed(expr)], scope, block, "and")


def enabled(writer: ExpressionWriter, expr: Builtin, scope: Context, block: Block) -> str:
    """Compile ENABLED."""
    if writer.write_enabled is None or scope.now is None:
        raise CompileError("ENABLED is not supported here", expr.loc)
    return writer.write_enabled(expr.args[0], scope, block)


def unchanged(expr: Builtin) -> Expr:
    """Return ``UNCHANGED v`` for ``[A]_v``."""
    return Builtin("UNCHANGED", (expr.args[1],), expr.loc)


def changed(expr: Builtin) -> Expr:
    """Return ``~UNCHANGED v`` for ``<<A>>_v``."""
    return Builtin("\\lnot", (unchanged(expr),), expr.loc)
