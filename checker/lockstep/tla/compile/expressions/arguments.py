"""Arguments of a use, each passed as the parameter wants it: a value, a function that answers it, an operator."""

from __future__ import annotations

from collections.abc import Callable

from lockstep.tla.compile.emit import Block
from lockstep.tla.compile.expressions.compiler import Compiler, Write
from lockstep.tla.compile.expressions.context import (
    Binding,
    Context,
    InlineBinding,
    LetBinding,
    OperatorBinding,
    ThunkBinding,
    ValueBinding,
)
from lockstep.tla.compile.expressions.in_context import is_given_soft, unstable
from lockstep.tla.compile.program import CompileError
from lockstep.tla.syntax.tree import Builtin, Call, Definition, Expr, Location, OperatorArg


def arguments(compiler: Compiler, definition: Definition, expr: Call, scope: Context, block: Block) -> list[str]:
    """Compile the arguments of a use, each as the definition's function wants it."""
    how = compiler.protocol(definition)
    return [
        argument(compiler, kind, param, arg, scope, block)
        for kind, param, arg in zip(how, definition.params, expr.args, strict=True)
    ]


def argument(compiler: Compiler, kind: str, param: int, arg: Expr, scope: Context, block: Block) -> str:
    """Compile one argument."""
    if kind == "o":
        return operator(compiler, arg, scope, block)
    write = compiler.lazily if is_given_soft(compiler.program, param) else compiler.expr
    return write(arg, scope, block) if kind == "v" else thunk(compiler, arg, scope, block, write)


def thunk(compiler: Compiler, expr: Expr, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile an expression as a function without arguments, computed at most once."""
    write = write or compiler.expr
    if isinstance(expr, Call):
        binding = scope.env.get(expr.op)
        if isinstance(binding, ThunkBinding) and (
            write == compiler.lazily or not is_given_soft(compiler.program, expr.op)
        ):
            return binding.code
    code = compiler.delayed(expr, scope, block, write=write)
    if compiler.program.is_atomic(expr) or unstable(compiler.program, expr, scope):
        return f"({code})"
    return f"_Lazy({code})"


def operator(compiler: Compiler, expr: Expr, scope: Context, block: Block, *, of_values: bool = False) -> str:
    """Compile an operator passed as an argument: a Python function of values, or of functions that answer them."""
    if not isinstance(expr, OperatorArg):
        raise CompileError("an operator is expected as argument", expr.loc)
    if expr.builtin is not None:
        return builtin_operator(compiler, expr, scope, of_values)
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        return operator(compiler, binding.expr, binding.scope.of_states(scope), block, of_values=of_values)
    if isinstance(binding, OperatorBinding):
        arity = compiler.program.tree.params[expr.op].arity
        return taking_values(binding.code, arity, scope) if of_values else binding.code
    if isinstance(binding, LetBinding):
        definition = binding.definition
    else:
        found = compiler.program.definition(expr.op)
        if found is None:
            raise CompileError(f"{compiler.program.tree.name_of(expr.op)} cannot be passed", expr.loc)
        definition = found
    facts = compiler.program.facts.get(definition.uid)
    if facts is not None and facts.primed:
        raise CompileError("an operator that primes its parameter cannot be passed", expr.loc)
    if definition.name == "LAMBDA":
        return lambda_(compiler, definition, scope, block, of_values)
    return wrapped_operator(compiler, definition, expr, scope, block, of_values)


def taking_values(code: str, arity: int, scope: Context) -> str:
    """Make a function of values of one whose arguments are computed by calling them."""
    names = [scope.names.fresh("_a") for _ in range(arity)]
    return f"(lambda {', '.join(names)}: _whole({code}({', '.join(f'lambda: {name}' for name in names)})))"


def lambda_(compiler: Compiler, definition: Definition, scope: Context, block: Block, of_values: bool) -> str:
    """Compile a LAMBDA as a Python function."""
    inner, params = compiler.bind_values(definition.params, scope, called=not of_values)
    write = compiler.lazily if definition.uid in compiler.program.applied and not of_values else compiler.expr
    return f"({compiler.delayed(definition.body, inner, block, ', '.join(params), write=write)})"


def wrapped_operator(
    compiler: Compiler, definition: Definition, expr: OperatorArg, scope: Context, block: Block, of_values: bool
) -> str:
    """Pass a definition: as a function that calls it."""
    names = [scope.names.fresh("_a") for _ in definition.params]
    bound, args = stand_ins(compiler, names, expr.loc, scope, of_values)
    write = compiler.lazily if definition.uid in compiler.program.applied and not of_values else compiler.expr
    code = write(Call(expr.op, args, expr.loc), bound, block)
    return f"(lambda {', '.join(names)}: {code})"


def stand_ins(
    compiler: Compiler, names: list[str], loc: Location, scope: Context, of_values: bool
) -> tuple[Context, tuple[Expr, ...]]:
    """Make expressions that stand for the parameters of a Python function."""
    uids = [compiler.program.tree.fresh_uid() for _ in names]
    make: Callable[[str], Binding] = ValueBinding if of_values else ThunkBinding
    bound = scope.bind({uid: make(name) for uid, name in zip(uids, names, strict=True)})
    return bound, tuple([Call(uid, (), loc) for uid in uids])


def builtin_operator(compiler: Compiler, expr: OperatorArg, scope: Context, of_values: bool) -> str:
    """Pass an operator of the language, such as ``\\cup``."""
    arity = 1 if expr.builtin in ("SUBSET", "UNION", "DOMAIN", "\\lnot") else 2
    names = [scope.names.fresh("_a") for _ in range(arity)]
    bound, args = stand_ins(compiler, names, expr.loc, scope, of_values)
    code = compiler.expr(Builtin(str(expr.builtin), args, expr.loc), bound, Block())
    return f"(lambda {', '.join(names)}: {code})"
