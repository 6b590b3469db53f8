"""Functions that explain why a property is false: they descend its formula to the parts that are false.

Each is compiled with the explanations of actions, and reports to a tracer: what quantifiers bind where it is false,
and the sides of a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.tla.compile.action_facts import sides
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_context import NEXT, NOW, Context, InlineBinding
from lockstep.tla.compile.expression_quantifiers import body_call, loops
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.generated_module import GeneratedModule
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Definition, Expr, Let, OperatorArg

#: The comparisons that may have a type, such as all functions, on their right side, which is not worth listing.
_IN_SETS = ("\\in", "\\notin", "\\subseteq")


def write_reason(module: GeneratedModule, name: str, formula: Expr, *, of_step: bool = False) -> None:
    """Write the function that explains why a formula of a property is false, if it can be compiled alone."""
    scope = module.expressions.context(NOW, NEXT)
    body = Block()
    try:
        with module.expressions.attempt():
            _first_of(module, (formula,), scope, body)
    except (CompileError, KeyError):
        return
    function = module.fresh("_reason")
    module.add("why", function, ["_w", NOW, f"{NEXT}=None"], body, formula.loc)
    module.meta["reasons"].setdefault(name, []).append((function, of_step))


def _walk(module: GeneratedModule, expr: Expr, scope: Context, block: Block) -> None:
    """Write the report on a formula, where it is false."""
    if isinstance(expr, Builtin) and expr.name == "\\land":
        _first_of(module, expr.args, scope, block)
    elif isinstance(expr, Builtin) and expr.name == "\\lor":
        for arg in expr.args:
            _walk(module, arg, scope, block)
    elif isinstance(expr, Builtin) and expr.name == "=>":
        _walk(module, expr.args[1], scope, block)
    elif isinstance(expr, Builtin) and expr.name == "$IfThenElse":
        _chosen(module, expr, scope, block)
    elif isinstance(expr, Bind) and expr.name == "$BoundedForall":
        _universal(module, expr, scope, block)
    elif isinstance(expr, Let):
        _walk(module, expr.body, let(module.expressions, expr, scope, block), block)
    elif isinstance(expr, Call) and (definition := _opened(module, expr, scope)) is not None:
        given = zip(definition.params, expr.args, strict=True)
        _walk(module, definition.body, scope.bind({uid: InlineBinding(arg, scope) for uid, arg in given}), block)
    else:
        _leaf(module, expr, scope, block)


def _first_of(module: GeneratedModule, conjuncts: Iterable[Expr], scope: Context, block: Block) -> None:
    """Write conjuncts: those after the first that is false are not evaluated, for they may have no value."""
    local, name = Block(), scope.names.fresh("_first")
    for conjunct in conjuncts:
        code = module.expressions.test(conjunct, scope, local)
        inner = Block()
        _walk(module, conjunct, scope, inner)
        inner.emit("return")
        local.nest(f"if not ({code}):", inner)
    block.nest(f"def {name}():", local)
    block.emit(f"{name}()")


def _chosen(module: GeneratedModule, expr: Builtin, scope: Context, block: Block) -> None:
    test, then, other = expr.args
    code = module.expressions.test(test, scope, block)
    for head, branch in ((f"if {code}:", then), ("else:", other)):
        inner = Block()
        _walk(module, branch, scope, inner)
        block.nest(head, inner)


def _universal(module: GeneratedModule, expr: Bind, scope: Context, block: Block) -> None:
    """Write the report on the first elements for which a formula is false that is to hold for all."""
    expressions = module.expressions
    within, clauses, names = loops(expressions, expr.bounds, scope, block, in_order=True)
    test = body_call(expressions, expr.body, within, names, block, test=True)
    found, row = scope.names.fresh("_found"), f"({', '.join(names)},)"
    block.emit(f"{found} = next(({row} {clauses} if not {test}), None)")
    inner = Block(f"{row} = {found}", f"_w.bind(**{expressions.shown_bindings(expr.bounds, names)})")
    _walk(module, expr.body, within, inner)
    inner.emit("_w.release()")
    block.nest(f"if {found} is not None:", inner)


def _leaf(module: GeneratedModule, expr: Expr, scope: Context, block: Block) -> None:
    """Write the report on a formula that is not taken apart, with its sides if it compares."""
    number = module.expressions.conjunct(expr.loc)
    compared = expr.args[0] if isinstance(expr, Builtin) and expr.name == "\\lnot" else expr
    found = sides(module.program, compared)
    if found is None:
        block.emit(f"_w.test({number}, False)")
        return
    left, right = found
    shown = [module.expressions.expr(left, scope, block)]
    is_in = isinstance(compared, Builtin) and compared.name in _IN_SETS
    is_domain = isinstance(right, Builtin) and right.name == "DOMAIN"
    if not is_in or any(module.program.reads(right)) or is_domain:
        shown.append(module.expressions.expr(right, scope, block))
    block.emit(f"_w.compare({number}, False, {', '.join(shown)})")


def _opened(module: GeneratedModule, expr: Call, scope: Context) -> Definition | None:
    """Return the definition of the spec that a formula uses; None where the report does not enter it."""
    definition = module.program.own_definition(expr.op)
    if definition is None or definition.recursive or expr.op in scope.env or definition.loc == expr.loc:
        return None
    if any(isinstance(arg, OperatorArg) for arg in expr.args):
        return None
    return definition if module.program.facts[definition.uid].boolean else None
