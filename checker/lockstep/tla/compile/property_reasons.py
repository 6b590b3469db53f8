"""The functions that tell why a property is false: they go down its formula, to the parts that are.

Each is compiled with the explanations of actions, and tells a tracer: what quantifiers bind where it is false, and of a
comparison its sides.
"""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.tla.compile.action_facts import sides
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_context import NEXT, NOW, Context, InlineBinding
from lockstep.tla.compile.expression_quantifiers import body_call, loops
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.generated_module import Module
from lockstep.tla.compile.python_text import Block
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Definition, Expr, Let, OperatorArg

#: What may have a type, such as all functions, on its right side: a set that nobody wants to see listed.
_IN_SETS = ("\\in", "\\notin", "\\subseteq")


def write_reason(module: Module, name: str, formula: Expr, *, of_step: bool = False) -> None:
    """Write the function that tells why a formula of a property is false; none where it cannot be compiled alone."""
    scope = module.values.context(NOW, NEXT)
    body = Block()
    try:
        with module.values.attempt():
            _first_of(module, (formula,), scope, body)
    except (CompileError, KeyError):
        return
    function = module.values.globals.fresh("_reason")
    head = Block()
    head.nest(f"def {function}(_w, {NOW}, {NEXT}=None):  # {formula.loc}", body)
    module.entries["why"].append("\n".join(head.lines))
    module.meta["reasons"].setdefault(name, []).append((function, of_step))


def _walk(module: Module, expr: Expr, scope: Context, block: Block) -> None:
    """Write what is told of a formula, where it is false."""
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
        _walk(module, expr.body, let(module.values, expr, scope, block), block)
    elif isinstance(expr, Call) and (definition := _opened(module, expr, scope)) is not None:
        given = zip(definition.params, expr.args, strict=True)
        _walk(module, definition.body, scope.bind({uid: InlineBinding(arg, scope) for uid, arg in given}), block)
    else:
        _leaf(module, expr, scope, block)


def _first_of(module: Module, conjuncts: Iterable[Expr], scope: Context, block: Block) -> None:
    """Write conjuncts: of those after the first that is false nothing is asked, for they may have no value."""
    local, name = Block(), scope.names.fresh("_first")
    for conjunct in conjuncts:
        code = module.values.test(conjunct, scope, local)
        inner = Block()
        _walk(module, conjunct, scope, inner)
        inner.emit("return")
        local.nest(f"if not ({code}):", inner)
    block.nest(f"def {name}():", local)
    block.emit(f"{name}()")


def _chosen(module: Module, expr: Builtin, scope: Context, block: Block) -> None:
    test, then, other = expr.args
    code = module.values.test(test, scope, block)
    for head, branch in ((f"if {code}:", then), ("else:", other)):
        inner = Block()
        _walk(module, branch, scope, inner)
        block.nest(head, inner)


def _universal(module: Module, expr: Bind, scope: Context, block: Block) -> None:
    """Write what is told of the first elements for which a formula is false that is to hold for all."""
    values = module.values
    within, clauses, names = loops(values, expr.bounds, scope, block, in_order=True)
    test = body_call(values, expr.body, within, names, block, test=True)
    found, row = scope.names.fresh("_found"), f"({', '.join(names)},)"
    block.emit(f"{found} = next(({row} {clauses} if not {test}), None)")
    said = [module.program.tree.params[uid].name for bound in expr.bounds for uid in bound.params]
    inner = Block()
    inner.emit(f"{row} = {found}")
    inner.emit(f"_w.bind(**{{{', '.join(f'{name!r}: {code}' for name, code in zip(said, names, strict=True))}}})")
    _walk(module, expr.body, within, inner)
    inner.emit("_w.release()")
    block.nest(f"if {found} is not None:", inner)


def _leaf(module: Module, expr: Expr, scope: Context, block: Block) -> None:
    """Write a formula in which nothing is looked for, with its sides if it compares."""
    number = module.values.conjunct(expr.loc)
    compared = expr.args[0] if isinstance(expr, Builtin) and expr.name == "\\lnot" else expr
    found = sides(module.modes["why"], compared)
    if found is None:
        block.emit(f"_w.test({number}, False)")
        return
    told = [module.values.expr(found[0], scope, block)]
    is_in = isinstance(compared, Builtin) and compared.name in _IN_SETS
    if not is_in or any(module.program.reads(found[1])) or _is_domain(found[1]):
        told.append(module.values.expr(found[1], scope, block))
    block.emit(f"_w.compare({number}, False, {', '.join(told)})")


def _is_domain(expr: Expr) -> bool:
    return isinstance(expr, Builtin) and expr.name == "DOMAIN"


def _opened(module: Module, expr: Call, scope: Context) -> Definition | None:
    """Return the definition of the spec that a formula is; None where it is left closed."""
    definition = module.program.definition(expr.op)
    if definition is None or definition.recursive or expr.op in scope.env or definition.loc == expr.loc:
        return None
    if module.program.standard(definition) is not None or any(isinstance(arg, OperatorArg) for arg in expr.args):
        return None
    return definition if module.program.facts[definition.uid].boolean else None
