"""Uses of names (variables, constants, parameters, definitions of modules and of LETs), and their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lockstep.base.errors import WRONG_CFG
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import (
    is_integer,
    is_small,
    must_inline,
    reads_unfinished,
    receives_lazy_function,
    unstable,
    uses_computed,
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
from lockstep.tla.compile.expression_writer import ExpressionWriter, Write
from lockstep.tla.compile.python_text import Block, python_name
from lockstep.tla.syntax.standard_modules import (
    READING,
    REFUSED,
    REGISTERS,
    SEARCH_COUNTS,
    STANDARD,
    STANDARD_VALUES,
)
from lockstep.tla.syntax.tree import (
    LAMBDA,
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


def call(writer: ExpressionWriter, expr: Call, scope: Context, block: Block, *, lazily: bool = False) -> str:
    """Compile the use of a symbol."""
    binding = scope.env.get(expr.op)
    if binding is not None:
        return bound_use(writer, expr, binding, scope, block, lazily=lazily)
    uid = writer.program.target(expr.op)
    if uid in writer.program.values:
        return writer.constant(uid)  # of an operator, too: what it is given does not matter
    declared = writer.program.tree.declarations.get(uid)
    if declared is not None:
        return declared_use(writer, declared, expr, scope)
    definition = writer.program.tree.definitions.get(uid)
    if definition is None:
        raise CompileError(f"{writer.program.tree.name_of(uid)} is not bound here", expr.loc)
    known = writer.program.standard(definition)
    if known is not None and (known in STANDARD or known in STANDARD_VALUES):
        return standard_use(writer, known, expr, scope, block)
    if known is not None and known[0] != "Bags":
        why = f": {REFUSED[known]}" if known in REFUSED else ""
        raise CompileError(f"{known[1]} of the module {known[0]} is not supported{why}", expr.loc)
    return defined_use(writer, definition, expr, scope, block, lazily=lazily)


def declared_use(writer: ExpressionWriter, declared: Declaration, expr: Expr, scope: Context) -> str:
    """Compile the use of a variable."""
    if not declared.is_variable:
        raise CompileError(f"{WRONG_CFG} the constant {declared.name} has no value in the cfg", expr.loc, WRONG_CFG)
    if declared.uid not in writer.slots:
        raise CompileError(f"{declared.name} is a variable of a module that is not instanced here", expr.loc)
    if scope.now is None:
        raise CompileError(f"the variable {declared.name} where there is no state", expr.loc)
    return f"{scope.now}.{writer.slots[declared.uid]}"


def bound_use(
    writer: ExpressionWriter, expr: Call, binding: Binding, scope: Context, block: Block, *, lazily: bool = False
) -> str:
    """Compile the use of a parameter, a bound variable or a LET definition."""
    if isinstance(binding, InlineBinding):
        if isinstance(binding.expr, OperatorArg):
            return inline_operator(writer, binding.expr, expr, scope, binding.scope, block)
        if binding.computed and scope.now == binding.scope.now:
            return f"{binding.computed}()"
        write = writer.lazily if lazily else writer.expr
        return write(binding.expr, binding.scope.in_states_of(scope), block)
    if isinstance(binding, LetBinding):
        code = let_use(writer, expr, binding, scope, block, lazily=lazily)
        return f"_whole({code})" if binding.soft and not lazily else code
    if isinstance(binding, OperatorBinding):
        args = [thunk(writer, arg, scope, block, writer.lazily) for arg in expr.args]
        code = f"{binding.code}({', '.join(args)})"
    else:
        code = f"{binding.code}()" if isinstance(binding, ThunkBinding) else binding.code
    return code if lazily or not receives_lazy_function(writer.program, expr.op) else f"_whole({code})"


def inline_operator(
    writer: ExpressionWriter, operator: OperatorArg, expr: Call, scope: Context, outer: Context, block: Block
) -> str:
    """Compile the use of an operator parameter whose argument is inlined."""
    if operator.builtin is not None:
        return writer.expr(Builtin(operator.builtin, expr.args, expr.loc), scope, block)
    definition = writer.program.definition(operator.op)
    if operator.op not in outer.env and definition is not None and definition.name == LAMBDA:
        pairs = zip(definition.params, expr.args, strict=True)
        inside = outer.in_states_of(scope).bind({param: InlineBinding(arg, scope) for param, arg in pairs})
        return writer.expr(definition.body, inside, block)
    if operator.op in outer.env:
        return bound_use(writer, expr, outer.env[operator.op], scope, block)
    return call(writer, replace(expr, op=operator.op), scope, block)


def let_use(
    writer: ExpressionWriter, expr: Call, binding: LetBinding, scope: Context, block: Block, *, lazily: bool = False
) -> str:
    """Compile the use of a LET definition."""
    definition = binding.definition
    now, nxt = writer.program.reads(definition.body)
    if nxt and scope.next is None:
        raise CompileError("a prime where there is no next state", expr.loc)
    flexible = now or nxt
    if flexible and (scope.now, scope.next) != (binding.scope.now, binding.scope.next):
        return inline(writer, definition, expr, binding.scope.in_states_of(scope), scope, block, lazily=lazily)
    if must_inline(writer.program, definition, expr, scope):
        return inline(writer, definition, expr, binding.scope, scope, block, lazily=lazily)
    if not definition.params:
        return f"{binding.code}()" if binding.called else binding.code
    args = arguments(writer, definition, expr, scope, block)
    return f"{binding.code}({', '.join(args)})"


def defined_use(
    writer: ExpressionWriter, definition: Definition, expr: Call, scope: Context, block: Block, *, lazily: bool = False
) -> str:
    """Compile the use of a definition: a call of its function, or its truth where that is known by now."""
    truth = writer.program.truth(expr)
    if truth is not None and writer.probes is None:
        return str(truth)
    if must_inline(writer.program, definition, expr, scope):
        return inline(writer, definition, expr, replace(scope, env={}, at=()), scope, block, lazily=lazily)
    args = arguments(writer, definition, expr, scope, block)
    name = writer.value_function(definition, lazily=lazily and writer.program.facts[definition.uid].makes_function)
    return f"{name}({', '.join([*states(writer, definition, scope, expr.loc), *args])})"


def states(writer: ExpressionWriter, definition: Definition, scope: Context, loc: Location) -> list[str]:
    """Return the states that a definition's function takes, by their names here."""
    facts = writer.program.facts[definition.uid]
    found = []
    for wanted, state in ((facts.reads_now, scope.now), (facts.reads_next, scope.next)):
        if wanted:
            if state is None:
                raise CompileError(f"{definition.name} needs a state that there is not here", loc)
            found.append(state)
    return found


def inline(
    writer: ExpressionWriter,
    definition: Definition,
    expr: Call,
    inside: Context,
    scope: Context,
    block: Block,
    *,
    lazily: bool = False,
) -> str:
    """Compile a definition's body in place of its use."""
    with writer.inlined(definition, expr.loc):
        pairs = zip(definition.params, expr.args, strict=True)
        bound = inside.bind({param: InlineBinding(arg, scope) for param, arg in pairs})
        return (writer.lazily if lazily else writer.expr)(definition.body, bound, block)


def let(writer: ExpressionWriter, expr: Let, scope: Context, block: Block, *, anew: bool = False) -> Context:
    """Compile the definitions of a LET that it uses into a block; return the context of its body.

    Where the LET is a formula or a value, TLC computes each once, when it is first asked for. Where it is taken apart
    as an action TLC evaluates `anew` at each use (Tool.getNextStates binds none of a LetInNode), which shows if
    registers are read or something is printed.
    """
    needed = writer.program.strict(expr.body)
    used = writer.program.used(expr)
    for uid in reversed(used):
        definition = writer.program.tree.definitions[uid]
        if uid in needed and not definition.params:
            needed |= writer.program.strict(definition.body)
    env = dict(scope.env)
    inner = replace(scope, env=env)
    for uid in used:
        definition = writer.program.tree.definitions[uid]
        name = scope.names.fresh(python_name(definition.name.rpartition("!")[2]))
        again = anew and writer.program.matters_when(definition.body)
        eager = (
            not again
            and uid in needed
            and not definition.params
            and not definition.recursive
            # What stands first may be an action, which assigns what its value would depend on.
            and not reads_unfinished(writer.program, definition.body, inner)
            # Nor may an argument be computed before TLC does: until then it may hold in several ways.
            and not uses_computed(writer.program, definition.body, inner)
        )
        called = not eager and not definition.params
        soft = uid in writer.program.applied and writer.program.facts[uid].makes_function
        env[uid] = LetBinding(name, called, definition, inner, soft)
        if scope.next is None and writer.program.reads(definition.body)[1]:
            continue  # an action, which only ENABLED can ask for: it is written there
        let_definition(writer, definition, name, eager, soft, inner, block, anew=again)
    return inner


def let_definition(
    writer: ExpressionWriter,
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
    write = writer.lazily if soft else writer.expr
    if definition.params:
        inner, params = writer.bind_params(definition, scope)
        body = Block()
        body.emit(f"return {write(definition.body, inner, body)}")
        block.nest(f"def {name}({', '.join(params)}):", body)
    elif eager:
        block.emit(f"{name} = {write(definition.body, scope, block)}")
    elif anew:
        block.emit(f"{name} = {writer.delayed(definition.body, scope, block, write=write)}")
    else:
        block.emit(f"{name} = {thunk(writer, definition.body, scope, block, write)}")


def standard_use(writer: ExpressionWriter, known: tuple[str, str], expr: Call, scope: Context, block: Block) -> str:
    """Compile the use of a standard module's operator."""
    if known in STANDARD_VALUES:
        return STANDARD_VALUES[known]
    if known in REGISTERS:
        refuse_counter(known[1], expr)
    if known in READING and not writer.program.is_constant(expr.args[0]):
        raise CompileError(f"{known[1]} needs the name of a file that is constant", expr.loc)
    function, how, inline = STANDARD[known]
    args = [
        operator(writer, arg, scope, block, of_values=True) if kind == "o" else writer.expr(arg, scope, block)
        for kind, arg in zip(how, expr.args, strict=True)
    ]
    fits = is_small if inline in "+-" else is_integer
    if inline and all(fits(writer.program, arg) for arg in expr.args):
        return f"({args[0]} {inline} {args[1]})"
    return f"{function}({', '.join(args)})"


def refuse_counter(name: str, expr: Call) -> None:
    """Refuse a name for TLCGet or TLCSet that is no count of the search and no register."""
    key = expr.args[0]
    if isinstance(key, String) and (name == "TLCSet" or key.value not in SEARCH_COUNTS):
        known = ", ".join(sorted(SEARCH_COUNTS))
        has = "numbered registers" if name == "TLCSet" else f"numbered registers, {known}"
        raise CompileError(f'{name}("{key.value}") is not supported; there are {has}', expr.loc)


def arguments(writer: ExpressionWriter, definition: Definition, expr: Call, scope: Context, block: Block) -> list[str]:
    """Compile the arguments of a use, each as the definition's function takes it."""
    how = writer.protocol(definition)
    return [
        argument(writer, kind, param, arg, scope, block)
        for kind, param, arg in zip(how, definition.params, expr.args, strict=True)
    ]


def argument(writer: ExpressionWriter, kind: str, param: int, arg: Expr, scope: Context, block: Block) -> str:
    """Compile one argument."""
    if kind == "o":
        return operator(writer, arg, scope, block)
    write = writer.lazily if receives_lazy_function(writer.program, param) else writer.expr
    return write(arg, scope, block) if kind == "v" else thunk(writer, arg, scope, block, write)


def thunk(writer: ExpressionWriter, expr: Expr, scope: Context, block: Block, write: Write | None = None) -> str:
    """Compile an expression as a function without arguments, computed at most once."""
    write = write or writer.expr
    if isinstance(expr, Call):
        binding = scope.env.get(expr.op)
        if isinstance(binding, ThunkBinding) and (
            write == writer.lazily or not receives_lazy_function(writer.program, expr.op)
        ):
            return binding.code
    code = writer.delayed(expr, scope, block, write=write)
    if writer.program.is_atomic(expr) or unstable(writer.program, expr, scope):
        return f"({code})"
    return f"_Lazy({code})"


def operator(writer: ExpressionWriter, expr: Expr, scope: Context, block: Block, *, of_values: bool = False) -> str:
    """Compile an operator passed as an argument: a Python function of values, or of functions that return them."""
    if not isinstance(expr, OperatorArg):
        raise CompileError("an operator is expected as argument", expr.loc)
    if expr.builtin is not None:
        return builtin_operator(writer, expr, scope, of_values)
    binding = scope.env.get(expr.op)
    if isinstance(binding, InlineBinding):
        return operator(writer, binding.expr, binding.scope.in_states_of(scope), block, of_values=of_values)
    if isinstance(binding, OperatorBinding):
        arity = writer.program.tree.params[expr.op].arity
        return taking_values(binding.code, arity, scope) if of_values else binding.code
    if isinstance(binding, LetBinding):
        definition = binding.definition
    else:
        found = writer.program.definition(expr.op)
        if found is None:
            raise CompileError(f"{writer.program.tree.name_of(expr.op)} cannot be passed", expr.loc)
        definition = found
    facts = writer.program.facts.get(definition.uid)
    if facts is not None and facts.primed:
        raise CompileError("an operator that primes its parameter cannot be passed", expr.loc)
    if definition.name == LAMBDA:
        return lambda_(writer, definition, scope, block, of_values)
    return wrapped_operator(writer, definition, expr, scope, block, of_values)


def taking_values(code: str, arity: int, scope: Context) -> str:
    """Make a function of values of one whose arguments are computed by calling them."""
    names = [scope.names.fresh("_a") for _ in range(arity)]
    return f"(lambda {', '.join(names)}: _whole({code}({', '.join(f'lambda: {name}' for name in names)})))"


def lambda_(writer: ExpressionWriter, definition: Definition, scope: Context, block: Block, of_values: bool) -> str:
    """Compile a LAMBDA as a Python function."""
    inner, params = writer.bind_values(definition.params, scope, called=not of_values)
    write = writer.lazily if definition.uid in writer.program.applied and not of_values else writer.expr
    return f"({writer.delayed(definition.body, inner, block, ', '.join(params), write=write)})"


def wrapped_operator(
    writer: ExpressionWriter, definition: Definition, expr: OperatorArg, scope: Context, block: Block, of_values: bool
) -> str:
    """Pass a definition: as a function that calls it."""
    names = [scope.names.fresh("_a") for _ in definition.params]
    bound, args = stand_ins(writer, names, expr.loc, scope, of_values)
    write = writer.lazily if definition.uid in writer.program.applied and not of_values else writer.expr
    code = write(Call(expr.op, args, expr.loc), bound, block)
    return f"(lambda {', '.join(names)}: {code})"


def stand_ins(
    writer: ExpressionWriter, names: list[str], loc: Location, scope: Context, of_values: bool
) -> tuple[Context, tuple[Expr, ...]]:
    """Make expressions that stand for the parameters of a Python function."""
    uids = [writer.program.tree.fresh_uid() for _ in names]
    make: Callable[[str], Binding] = ValueBinding if of_values else ThunkBinding
    bound = scope.bind({uid: make(name) for uid, name in zip(uids, names, strict=True)})
    return bound, tuple([Call(uid, (), loc) for uid in uids])


def builtin_operator(writer: ExpressionWriter, expr: OperatorArg, scope: Context, of_values: bool) -> str:
    """Pass an operator of the language, such as ``\\cup``."""
    arity = 1 if expr.builtin in ("SUBSET", "UNION", "DOMAIN", "\\lnot") else 2
    names = [scope.names.fresh("_a") for _ in range(arity)]
    bound, args = stand_ins(writer, names, expr.loc, scope, of_values)
    code = writer.expr(Builtin(str(expr.builtin), args, expr.loc), bound, Block())
    return f"(lambda {', '.join(names)}: {code})"
