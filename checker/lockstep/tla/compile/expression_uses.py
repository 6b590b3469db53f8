"""Uses of names (variables, constants, parameters, definitions of modules and of LETs), and their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lockstep.base.errors import WRONG_CFG
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import (
    asks_for_kept,
    is_given_soft,
    is_integer,
    is_small,
    must_inline,
    reads_unfinished,
    unstable,
)
from lockstep.tla.compile.expression_context import (
    Binding,
    Context,
    InlineBinding,
    LetBinding,
    OperatorBinding,
    ThunkBinding,
    ValueBinding,
)
from lockstep.tla.compile.expression_writer import Compiler, Write
from lockstep.tla.compile.python_text import Block, python_name
from lockstep.tla.syntax.standard_modules import (
    READING,
    REFUSED,
    REGISTERS,
    STANDARD,
    STANDARD_VALUES,
    TOLD_OF_A_SEARCH,
)
from lockstep.tla.syntax.tree import (
    Builtin,
    Call,
    Declaration,
    Definition,
    Expr,
    Let,
    Location,
    OperatorArg,
    String,
)


def call(compiler: Compiler, expr: Call, scope: Context, block: Block, *, lazily: bool = False) -> str:
    """Compile the use of a symbol."""
    binding = scope.env.get(expr.op)
    if binding is not None:
        return bound_use(compiler, expr, binding, scope, block, lazily=lazily)
    uid = compiler.program.target(expr.op)
    if uid in compiler.program.values:
        return compiler.constant(uid)  # of an operator, too: what it is given does not matter
    declared = compiler.program.tree.declarations.get(uid)
    if declared is not None:
        return declared_use(compiler, declared, expr, scope)
    definition = compiler.program.tree.definitions.get(uid)
    if definition is None:
        raise CompileError(f"{compiler.program.tree.name_of(uid)} is not bound here", expr.loc)
    known = compiler.program.standard(definition)
    if known is not None and (known in STANDARD or known in STANDARD_VALUES):
        return standard_use(compiler, known, expr, scope, block)
    if known is not None and known[0] != "Bags":
        why = f": {REFUSED[known]}" if known in REFUSED else ""
        raise CompileError(f"{known[1]} of the module {known[0]} is not supported{why}", expr.loc)
    return defined_use(compiler, definition, expr, scope, block, lazily=lazily)


def declared_use(compiler: Compiler, declared: Declaration, expr: Expr, scope: Context) -> str:
    """Compile the use of a variable."""
    if not declared.is_variable:
        raise CompileError(f"{WRONG_CFG} the constant {declared.name} has no value in the cfg", expr.loc, WRONG_CFG)
    if declared.uid not in compiler.slots:
        raise CompileError(f"{declared.name} is a variable of a module that is not instanced here", expr.loc)
    if scope.now is None:
        raise CompileError(f"the variable {declared.name} where there is no state", expr.loc)
    return f"{scope.now}.{compiler.slots[declared.uid]}"


def bound_use(
    compiler: Compiler, expr: Call, binding: Binding, scope: Context, block: Block, *, lazily: bool = False
) -> str:
    """Compile the use of a parameter, a bound variable or a LET definition."""
    if isinstance(binding, InlineBinding):
        if isinstance(binding.expr, OperatorArg):
            return inline_operator(compiler, binding.expr, expr, scope, binding.scope, block)
        if binding.kept and scope.now == binding.scope.now:
            return f"{binding.kept}()"
        write = compiler.lazily if lazily else compiler.expr
        return write(binding.expr, inline_scope(compiler, binding, scope), block)
    if isinstance(binding, LetBinding):
        code = let_use(compiler, expr, binding, scope, block, lazily=lazily)
        return f"_whole({code})" if binding.soft and not lazily else code
    if isinstance(binding, OperatorBinding):
        args = [thunk(compiler, arg, scope, block, compiler.lazily) for arg in expr.args]
        code = f"{binding.code}({', '.join(args)})"
    else:
        code = f"{binding.code}()" if isinstance(binding, ThunkBinding) else binding.code
    return code if lazily or not is_given_soft(compiler.program, expr.op) else f"_whole({code})"


def inline_scope(compiler: Compiler, binding: InlineBinding, scope: Context) -> Context:
    """Answer the context for an inlined argument; a prime around the parameter reaches into it."""
    return binding.scope.of_states(scope)


def inline_operator(
    compiler: Compiler, operator: OperatorArg, expr: Call, scope: Context, outer: Context, block: Block
) -> str:
    """Compile the use of an operator parameter whose argument is inlined."""
    if operator.builtin is not None:
        return compiler.expr(Builtin(operator.builtin, expr.args, expr.loc), scope, block)
    inline: dict[int, Binding] = {}
    definition = compiler.program.definition(operator.op)
    if operator.op not in outer.env and definition is not None and definition.name == "LAMBDA":
        for param, arg in zip(definition.params, expr.args, strict=True):
            inline[param] = InlineBinding(arg, scope)
        return compiler.expr(definition.body, outer.of_states(scope).bind(inline), block)
    if operator.op in outer.env:
        return bound_use(compiler, expr, outer.env[operator.op], scope, block)
    return call(compiler, replace(expr, op=operator.op), scope, block)


def let_use(
    compiler: Compiler, expr: Call, binding: LetBinding, scope: Context, block: Block, *, lazily: bool = False
) -> str:
    """Compile the use of a LET definition."""
    definition = binding.definition
    now, nxt = compiler.program.reads(definition.body)
    if nxt and scope.next is None:
        raise CompileError("a prime where there is no next state", expr.loc)
    flexible = now or nxt
    if flexible and (scope.now, scope.next) != (binding.scope.now, binding.scope.next):
        return inline(compiler, definition, expr, binding.scope.of_states(scope), scope, block, lazily=lazily)
    if must_inline(compiler.program, definition, expr, scope):
        return inline(compiler, definition, expr, binding.scope, scope, block, lazily=lazily)
    if not definition.params:
        return f"{binding.code}()" if binding.called else binding.code
    args = arguments(compiler, definition, expr, scope, block)
    return f"{binding.code}({', '.join(args)})"


def defined_use(
    compiler: Compiler, definition: Definition, expr: Call, scope: Context, block: Block, *, lazily: bool = False
) -> str:
    """Compile the use of a definition: a call of its function, or its truth where that is known by now."""
    truth = compiler.program.truth(expr)
    if truth is not None:
        return str(truth)
    if must_inline(compiler.program, definition, expr, scope):
        return inline(compiler, definition, expr, replace(scope, env={}, at=()), scope, block, lazily=lazily)
    args = arguments(compiler, definition, expr, scope, block)
    name = compiler.value_function(definition, lazily=lazily and compiler.program.facts[definition.uid].makes_function)
    return f"{name}({', '.join([*states(compiler, definition, scope, expr.loc), *args])})"


def states(compiler: Compiler, definition: Definition, scope: Context, loc: Location) -> list[str]:
    """Answer the states that a definition's function wants, as they are called here."""
    facts = compiler.program.facts[definition.uid]
    found = []
    for wanted, state in ((facts.reads_now, scope.now), (facts.reads_next, scope.next)):
        if wanted:
            if state is None:
                raise CompileError(f"{definition.name} needs a state that there is not here", loc)
            found.append(state)
    return found


def inline(
    compiler: Compiler,
    definition: Definition,
    expr: Call,
    inside: Context,
    scope: Context,
    block: Block,
    *,
    lazily: bool = False,
) -> str:
    """Compile a definition's body in place of its use."""
    with compiler.inlined(definition, expr.loc):
        bindings: dict[int, Binding] = {
            param: InlineBinding(arg, scope) for param, arg in zip(definition.params, expr.args, strict=True)
        }
        write = compiler.lazily if lazily else compiler.expr
        return write(definition.body, inside.bind(bindings), block)


def let(compiler: Compiler, expr: Let, scope: Context, block: Block, *, anew: bool = False) -> Context:
    """Compile the definitions of a LET that it uses into a block; answer the context of its body.

    Where the LET is a formula or a value, TLC computes each once, when it is first asked for. Where it is taken apart
    as an action TLC evaluates `anew` at each use (Tool.getNextStates binds none of a LetInNode), which shows if
    registers are read or something is printed.
    """
    needed = compiler.program.strict(expr.body)
    used = compiler.program.used(expr)
    for uid in reversed(used):
        definition = compiler.program.tree.definitions[uid]
        if uid in needed and not definition.params:
            needed |= compiler.program.strict(definition.body)
    env = dict(scope.env)
    inner = replace(scope, env=env)
    for uid in used:
        definition = compiler.program.tree.definitions[uid]
        name = scope.names.fresh(python_name(definition.name.rpartition("!")[2]))
        eager = uid in needed and not definition.params and not definition.recursive
        # What stands first may be an action, which assigns what its value would be asked of.
        eager = eager and not reads_unfinished(compiler.program, definition.body, inner)
        # Nor may an argument be computed before TLC does: until then it may hold in several ways.
        eager = eager and not asks_for_kept(compiler.program, definition.body, inner)
        again = anew and compiler.program.matters_when(definition.body)
        eager = eager and not again
        called = not eager and not definition.params
        soft = uid in compiler.program.applied and compiler.program.facts[uid].makes_function
        env[uid] = LetBinding(name, called, definition, inner, soft)
        if scope.next is None and compiler.program.reads(definition.body)[1]:
            continue  # an action, which only ENABLED can ask for: it is written there
        let_definition(compiler, definition, name, eager, soft, inner, block, anew=again)
    return inner


def let_definition(
    compiler: Compiler,
    definition: Definition,
    name: str,
    eager: bool,
    soft: bool,
    scope: Context,
    block: Block,
    *,
    anew: bool = False,
) -> None:
    """Write one LET definition."""
    write = compiler.lazily if soft else compiler.expr
    if definition.params:
        inner, params = compiler.bind_params(definition, scope)
        body = Block()
        body.emit(f"return {write(definition.body, inner, body)}")
        block.nest(f"def {name}({', '.join(params)}):", body)
    elif eager:
        block.emit(f"{name} = {write(definition.body, scope, block)}")
    elif anew:
        block.emit(f"{name} = {compiler.delayed(definition.body, scope, block, write=write)}")
    else:
        block.emit(f"{name} = {thunk(compiler, definition.body, scope, block, write)}")


def standard_use(compiler: Compiler, known: tuple[str, str], expr: Call, scope: Context, block: Block) -> str:
    """Compile the use of a standard module's operator."""
    if known in STANDARD_VALUES:
        return STANDARD_VALUES[known]
    if known in REGISTERS:
        refuse_counter(known[1], expr)
    if known in READING and not compiler.program.is_constant(expr.args[0]):
        raise CompileError(f"{known[1]} needs the name of a file that is constant", expr.loc)
    function, how, inline = STANDARD[known]
    args = [
        operator(compiler, arg, scope, block, of_values=True) if kind == "o" else compiler.expr(arg, scope, block)
        for kind, arg in zip(how, expr.args, strict=True)
    ]
    fits = is_small if inline in "+-" else is_integer
    if inline and all(fits(compiler.program, arg) for arg in expr.args):
        return f"({args[0]} {inline} {args[1]})"
    return f"{function}({', '.join(args)})"


def refuse_counter(name: str, expr: Call) -> None:
    """Refuse what TLCGet tells, and TLCSet does, that is no function of the registers and the search."""
    key = expr.args[0]
    if isinstance(key, String) and (name == "TLCSet" or key.value not in TOLD_OF_A_SEARCH):
        known = ", ".join(sorted(TOLD_OF_A_SEARCH))
        has = "numbered registers" if name == "TLCSet" else f"numbered registers, {known}"
        raise CompileError(f'{name}("{key.value}") is not supported; there are {has}', expr.loc)


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
