"""Expressions of TLA+ to Python: one function a definition.

An expression becomes a Python expression; what Python cannot say in one (a LET, a local operator) is hoisted into
statements before it, but never across a point where TLA+ would not evaluate it (a later conjunct, a branch of an IF,
the body of a quantifier).

How a definition's parameters are passed: an operator as a Python function whose own arguments are functions without
arguments, and any other parameter as a value, unless it may go unused and some use gives it more than a name: then as a
function without arguments, so that ``F(1 \\div 0)`` fails only where TLC's lazy evaluation does.

A function that is written out, ``[x \\in S |-> e]``, is computed as a whole, unless it is only made to be applied: then
TLC computes the one value asked for, and so does what :meth:`Compiler.lazily` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from lockstep.tla.compile.analysis import CompileError, Program, outcomes
from lockstep.tla.compile.emit import Block, Names, python_name
from lockstep.tla.syntax.instances import walk
from lockstep.tla.syntax.standard import STANDARD, STANDARD_VALUES
from lockstep.tla.syntax.tree import (
    At,
    Bind,
    Bound,
    Builtin,
    Call,
    Declaration,
    Definition,
    Expr,
    Let,
    Location,
    Number,
    OperatorArg,
    String,
)

__all__ = ["NEXT", "NOW", "Binding", "Compiler", "Context", "Function"]

NOW, NEXT = "_s", "_t"


@dataclass(frozen=True)
class ValueBinding:
    """A name bound to a value: a bound variable, or an argument passed as a value."""

    code: str


@dataclass(frozen=True)
class ThunkBinding:
    """A parameter whose argument is computed by calling it."""

    code: str


@dataclass(frozen=True)
class OperatorBinding:
    """A parameter that is an operator: a Python function, whose arguments are computed by calling them."""

    code: str


@dataclass(frozen=True)
class LetBinding:
    """A LET definition: its Python name, whether that is called for the value, and whether it is written lazily."""

    code: str
    called: bool
    definition: Definition
    scope: Context
    soft: bool = False


@dataclass(frozen=True)
class InlineBinding:
    """A parameter replaced by its argument, unevaluated, where a function cannot carry it."""

    expr: Expr
    scope: Context


Binding = ValueBinding | ThunkBinding | OperatorBinding | LetBinding | InlineBinding


@dataclass(frozen=True)
class Context:
    """Where an expression stands.

    Attributes:
        env: what parameters, bound variables and LET names mean, by unique id.
        now: the Python name of the state that unprimed variables refer to, if there is one.
        next: the Python name of the state that primed variables refer to, if there is one.
        at: the Python names that ``@`` may mean, innermost last.
        names: hands out local names in the function being written.
    """

    env: dict[int, Binding]
    now: str | None
    next: str | None
    at: tuple[str, ...]
    names: Names

    def bind(self, bindings: dict[int, Binding]) -> Context:
        """Answer this context with more names bound."""
        return replace(self, env={**self.env, **bindings})

    def primed(self, loc: Location) -> Context:
        """Answer the context under a prime."""
        if self.next is None:
            raise CompileError("a prime where there is no next state", loc)
        return replace(self, now=self.next, next=None)

    def of_states(self, other: Context) -> Context:
        """Answer this context, referring to the states of another."""
        return replace(self, now=other.now, next=other.next, names=other.names)


@dataclass
class Function:
    """A generated function.

    Attributes:
        name: its Python name.
        text: its source.
        loc: the definition's location.
    """

    name: str
    text: str
    loc: Location


@dataclass
class Compiler:
    """Compiles the definitions of a program on demand.

    Attributes:
        program: what to compile.
        debug: whether a CHOOSE must have one witness only.
        functions: the functions written so far, by key.
        globals: the names of the generated module.
        names_of: the global name of each key.
        conjuncts: the conjuncts that explanations name, numbered.
        write_enabled: compiles ENABLED of an action.
    """

    program: Program
    debug: bool = False
    functions: dict[object, Function] = field(default_factory=dict)
    globals: Names = field(default_factory=lambda: Names(separator="__"))
    names_of: dict[object, str] = field(default_factory=dict)
    conjuncts: dict[tuple[Location, str], int] = field(default_factory=dict)
    write_enabled: Callable[[Expr, Context, Block], str] | None = None

    def __post_init__(self) -> None:
        """Reserve the names of all definitions."""
        tree = self.program.tree
        self.variables = {d.uid: python_name(d.name) for d in self.program.variables()}
        self.reserved = {python_name(tree.name_of(u)) for m in tree.modules.values() for u in m.symbols}
        self.inlining: list[int] = []

    # ---- Definitions ----

    def context(self, now: str | None, nxt: str | None) -> Context:
        """Answer the context of a new function."""
        return Context({}, now, nxt, (), Names(self.reserved))

    def name_for(self, key: object, wanted: str) -> str:
        """Answer the global name for a key, the same each time."""
        if key not in self.names_of:
            self.names_of[key] = self.globals.fresh(python_name(wanted))
        return self.names_of[key]

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Forget the functions written within if it fails, since they may call one that was not."""
        before = dict(self.functions)
        try:
            yield
        except CompileError:
            self.functions = before
            raise

    def value_function(self, definition: Definition, *, lazily: bool = False) -> str:
        """Compile a definition as a function that answers its value, unless that is done; answer its name."""
        key = ("lazy" if lazily else "value", definition.uid)
        name = self.name_for(key, definition.name + "__applied" * lazily)
        if key not in self.functions:
            self.functions[key] = Function(name, "", definition.loc)
            try:
                self.functions[key].text = self._value_text(name, definition, lazily)
            except CompileError:
                del self.functions[key]
                raise
        return name

    def _value_text(self, name: str, definition: Definition, lazily: bool) -> str:
        facts = self.program.facts[definition.uid]
        now, nxt = NOW if facts.reads_now else None, NEXT if facts.reads_next else None
        scope, params = self.bind_params(definition, self.context(now, nxt))
        body = Block()
        write = self.lazily if lazily else self.expr
        body.emit(f"return {write(definition.body, scope, body)}")
        head = Block()
        if not params and now is None and nxt is None:
            head.emit("@_Lazy")
        states = [state for state in (now, nxt) if state is not None]
        head.nest(f"def {name}({', '.join([*states, *params])}):  # {definition.loc}", body)
        return "\n".join(head.lines)

    def bind_params(self, definition: Definition, scope: Context) -> tuple[Context, list[str]]:
        """Bind the parameters of a definition as its function receives them."""
        bindings: dict[int, Binding] = {}
        params = []
        for uid in definition.params:
            param = self.program.tree.params[uid]
            name = scope.names.fresh(python_name(param.name))
            params.append(name)
            if param.arity:
                bindings[uid] = OperatorBinding(name)
            elif uid not in self.program.thunked:
                bindings[uid] = ValueBinding(name)
            else:
                bindings[uid] = ThunkBinding(name)
        return scope.bind(bindings), params

    def protocol(self, definition: Definition) -> str:
        """Describe how each parameter is passed: ``v`` a value, ``l`` lazily, ``o`` an operator."""
        thunked = self.program.thunked
        arities = [self.program.tree.params[uid].arity for uid in definition.params]
        return "".join(
            "o" if arity else "l" if uid in thunked else "v"
            for uid, arity in zip(definition.params, arities, strict=True)
        )

    def conjunct(self, loc: Location, before: str = "") -> int:
        """Answer the number of a conjunct in the table that explanations use; its text may begin with ``before``."""
        return self.conjuncts.setdefault((loc, before), len(self.conjuncts))

    # ---- Expressions ----

    def expr(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression: answer Python for its value, after hoisting statements into a block."""
        if isinstance(expr, Number):
            if expr.value >= 2**31:
                raise CompileError("a number of more than 32 bits is not supported: TLC has none", expr.loc)
            return str(expr.value)
        if isinstance(expr, String):
            return repr(expr.value)
        if isinstance(expr, Call):
            return self.call(expr, scope, block)
        if isinstance(expr, Builtin):
            return self.builtin(expr, scope, block)
        if isinstance(expr, Bind):
            return self.bind(expr, scope, block)
        if isinstance(expr, Let):
            return self.expr(expr.body, self.let(expr, scope, block), block)
        if isinstance(expr, At):
            if not scope.at:
                raise CompileError("@ outside EXCEPT", expr.loc)
            return scope.at[-1]
        raise CompileError(f"{type(expr).__name__} cannot be a value", expr.loc)

    def lazily(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression that is applied as a function: one that is written out is computed on demand."""
        if isinstance(expr, Bind) and expr.name in ("$FcnConstructor", "$NonRecursiveFcnSpec"):
            return self.function(expr, scope, block, soft=True)
        if isinstance(expr, Let):
            return self.lazily(expr.body, self.let(expr, scope, block), block)
        if isinstance(expr, Builtin) and expr.name == "$IfThenElse":
            return self.conditional(expr, scope, block, self.lazily)
        if isinstance(expr, Builtin) and expr.name == "$Case":
            return self.lazily(self.case_as_if(expr), scope, block)
        if isinstance(expr, Builtin) and expr.name == "$FcnApply":
            return f"_apply({self.lazily(expr.args[0], scope, block)}, {self.expr(expr.args[1], scope, block)})"
        if isinstance(expr, Call):
            return self.call(expr, scope, block, lazily=True)
        return self.expr(expr, scope, block)

    def application(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``f[x]``."""
        code = self.lazily(expr, scope, block)
        return f"_whole({code})" if self.may_be_soft(expr, scope) else code

    def may_be_soft(self, expr: Expr, scope: Context) -> bool:
        """Tell whether what :meth:`lazily` writes may answer a function that TLC would compute as a whole elsewhere."""
        if isinstance(expr, Bind):
            return self.program.makes_function(expr)
        if isinstance(expr, Let):
            return self.may_be_soft(expr.body, scope)
        if isinstance(expr, Builtin):
            return any(self.may_be_soft(part, scope) for part in outcomes(expr))
        return isinstance(expr, Call) and self.call_may_be_soft(expr, scope)

    def call_may_be_soft(self, expr: Call, scope: Context) -> bool:
        """Tell the same of the use of a symbol."""
        binding = scope.env.get(expr.op)
        if isinstance(binding, InlineBinding):
            return isinstance(binding.expr, OperatorArg) or self.may_be_soft(binding.expr, binding.scope)
        if isinstance(binding, LetBinding):
            return binding.soft
        if binding is not None:
            return self.is_given_soft(expr.op)
        definition = self.program.definition(expr.op)
        return definition is not None and self.program.facts[definition.uid].makes_function

    def test(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile a formula: like :meth:`expr`, checked to be TRUE or FALSE."""
        code = self.expr(expr, scope, block)
        return code if self.is_boolean(expr, scope) else f"_boolean({code})"

    def is_boolean(self, expr: Expr, scope: Context) -> bool:
        """Tell whether an expression is known to be TRUE or FALSE."""
        if isinstance(expr, Call) and isinstance(scope.env.get(expr.op), InlineBinding):
            return False
        return self.program.is_boolean(expr)

    def delayed(
        self,
        expr: Expr,
        scope: Context,
        block: Block,
        params: str = "",
        *,
        test: bool = False,
        write: Write | None = None,
    ) -> str:
        """Compile an expression as a Python function of ``params``."""
        inner = Block()
        code = self.test(expr, scope, inner) if test else (write or self.expr)(expr, scope, inner)
        if not inner.lines:
            return f"lambda {params}: {code}" if params else f"lambda: {code}"
        inner.emit(f"return {code}")
        name = scope.names.fresh("_f")
        block.nest(f"def {name}({params}):", inner)
        return name

    # ---- Uses of symbols ----

    def call(self, expr: Call, scope: Context, block: Block, *, lazily: bool = False) -> str:
        """Compile the use of a symbol."""
        binding = scope.env.get(expr.op)
        if binding is not None:
            return self.bound_use(expr, binding, scope, block, lazily=lazily)
        uid = self.program.target(expr.op)
        if uid in self.program.values:
            return self.constant(uid)
        declared = self.program.tree.declarations.get(uid)
        if declared is not None:
            return self.declared_use(declared, expr, scope)
        definition = self.program.tree.definitions.get(uid)
        if definition is None:
            raise CompileError(f"{self.program.tree.name_of(uid)} is not bound here", expr.loc)
        known = self.program.standard(definition)
        if known is not None and (known in STANDARD or known in STANDARD_VALUES):
            return self.standard_use(known, expr, scope, block)
        if known is not None and known[0] != "Bags":
            raise CompileError(f"{known[1]} of the module {known[0]} is not supported", expr.loc)
        return self.defined_use(definition, expr, scope, block, lazily=lazily)

    def constant(self, uid: int) -> str:
        """Answer the global name of a symbol that the configuration gives a value."""
        return self.name_for(("constant", uid), self.program.tree.name_of(uid))

    def declared_use(self, declared: Declaration, expr: Expr, scope: Context) -> str:
        """Compile the use of a variable."""
        if not declared.is_variable:
            raise CompileError(f"the constant {declared.name} has no value", expr.loc)
        if declared.uid not in self.variables:
            raise CompileError(f"{declared.name} is a variable of a module that is not instanced here", expr.loc)
        if scope.now is None:
            raise CompileError(f"the variable {declared.name} where there is no state", expr.loc)
        return f"{scope.now}.{self.variables[declared.uid]}"

    def bound_use(self, expr: Call, binding: Binding, scope: Context, block: Block, *, lazily: bool = False) -> str:
        """Compile the use of a parameter, a bound variable or a LET definition."""
        if isinstance(binding, InlineBinding):
            if isinstance(binding.expr, OperatorArg):
                return self.inline_operator(binding.expr, expr, scope, binding.scope, block)
            write = self.lazily if lazily else self.expr
            return write(binding.expr, self.inline_scope(binding, scope), block)
        if isinstance(binding, LetBinding):
            code = self.let_use(expr, binding, scope, block, lazily=lazily)
            return f"_whole({code})" if binding.soft and not lazily else code
        if isinstance(binding, OperatorBinding):
            args = [self.thunk(arg, scope, block, self.lazily) for arg in expr.args]
            code = f"{binding.code}({', '.join(args)})"
        else:
            code = f"{binding.code}()" if isinstance(binding, ThunkBinding) else binding.code
        return code if lazily or not self.is_given_soft(expr.op) else f"_whole({code})"

    def is_given_soft(self, uid: int) -> bool:
        """Tell whether a parameter is given functions (or operators that make some) computed on demand."""
        param = self.program.tree.params.get(uid)
        return uid in (self.program.applied if param is not None and param.arity else self.program.soft)

    def inline_scope(self, binding: InlineBinding, scope: Context) -> Context:
        """Answer the context for an inlined argument; a prime around the parameter reaches into it."""
        return binding.scope.of_states(scope)

    def inline_operator(self, operator: OperatorArg, expr: Call, scope: Context, outer: Context, block: Block) -> str:
        """Compile the use of an operator parameter whose argument is inlined."""
        if operator.builtin is not None:
            return self.builtin(Builtin(operator.builtin, expr.args, expr.loc), scope, block)
        inline: dict[int, Binding] = {}
        definition = self.program.definition(operator.op)
        if operator.op not in outer.env and definition is not None and definition.name == "LAMBDA":
            for param, arg in zip(definition.params, expr.args, strict=True):
                inline[param] = InlineBinding(arg, scope)
            return self.expr(definition.body, outer.of_states(scope).bind(inline), block)
        if operator.op in outer.env:
            return self.bound_use(expr, outer.env[operator.op], scope, block)
        return self.call(replace(expr, op=operator.op), scope, block)

    def let_use(self, expr: Call, binding: LetBinding, scope: Context, block: Block, *, lazily: bool = False) -> str:
        """Compile the use of a LET definition."""
        definition = binding.definition
        flexible = any(self.program.reads(definition.body))
        if flexible and (scope.now, scope.next) != (binding.scope.now, binding.scope.next):
            return self.inline(definition, expr, binding.scope.of_states(scope), scope, block, lazily=lazily)
        if self.must_inline(definition, expr, scope):
            return self.inline(definition, expr, binding.scope, scope, block, lazily=lazily)
        if not definition.params:
            return f"{binding.code}()" if binding.called else binding.code
        args = self.arguments(definition, expr, scope, block)
        return f"{binding.code}({', '.join(args)})"

    def defined_use(
        self, definition: Definition, expr: Call, scope: Context, block: Block, *, lazily: bool = False
    ) -> str:
        """Compile the use of a definition: a call of its function, or its truth where that is known by now."""
        truth = self.program.truth(expr)
        if truth is not None:
            return str(truth)
        if self.must_inline(definition, expr, scope):
            return self.inline(definition, expr, replace(scope, env={}, at=()), scope, block, lazily=lazily)
        args = self.arguments(definition, expr, scope, block)
        name = self.value_function(definition, lazily=lazily and self.program.facts[definition.uid].makes_function)
        return f"{name}({', '.join([*self.states(definition, scope, expr.loc), *args])})"

    def states(self, definition: Definition, scope: Context, loc: Location) -> list[str]:
        """Answer the states that a definition's function wants, as they are called here."""
        facts = self.program.facts[definition.uid]
        found = []
        for wanted, state in ((facts.reads_now, scope.now), (facts.reads_next, scope.next)):
            if wanted:
                if state is None:
                    raise CompileError(f"{definition.name} needs a state that there is not here", loc)
                found.append(state)
        return found

    def must_inline(self, definition: Definition, expr: Call, scope: Context) -> bool:
        """Tell whether a use cannot be a function call: a prime inside reaches into an argument."""
        primed = self.program.facts[definition.uid].primed
        return bool(primed) and any(
            param in primed and not self.is_rigid(arg, scope)
            for param, arg in zip(definition.params, expr.args, strict=True)
        )

    def is_rigid(self, expr: Expr, scope: Context) -> bool:
        """Tell whether a prime around an expression changes nothing."""
        return self.program.is_constant(expr) and self.is_rigid_but_for_states(expr, scope)

    def is_rigid_but_for_states(self, expr: Expr, scope: Context) -> bool:
        """Tell whether no inlined argument within an expression reads a state."""
        for part in walk(expr, self.program.tree):
            if isinstance(part, (Call, OperatorArg)):
                binding = scope.env.get(part.op)
                if isinstance(binding, InlineBinding) and not self.is_rigid(binding.expr, binding.scope):
                    return False
        return True

    def inline(
        self,
        definition: Definition,
        expr: Call,
        inside: Context,
        scope: Context,
        block: Block,
        *,
        lazily: bool = False,
    ) -> str:
        """Compile a definition's body in place of its use."""
        with self.inlined(definition, expr.loc):
            bindings: dict[int, Binding] = {
                param: InlineBinding(arg, scope) for param, arg in zip(definition.params, expr.args, strict=True)
            }
            write = self.lazily if lazily else self.expr
            return write(definition.body, inside.bind(bindings), block)

    @contextmanager
    def inlined(self, definition: Definition, loc: Location) -> Iterator[None]:
        """Guard against inlining without end."""
        if self.inlining.count(definition.uid) > 4:
            raise CompileError(f"{definition.name} is recursive and primes its own argument", loc)
        self.inlining.append(definition.uid)
        try:
            yield
        finally:
            self.inlining.pop()

    def arguments(self, definition: Definition, expr: Call, scope: Context, block: Block) -> list[str]:
        """Compile the arguments of a use, each as the definition's function wants it."""
        how = self.protocol(definition)
        return [
            self.argument(kind, param, arg, scope, block)
            for kind, param, arg in zip(how, definition.params, expr.args, strict=True)
        ]

    def argument(self, kind: str, param: int, arg: Expr, scope: Context, block: Block) -> str:
        """Compile one argument."""
        if kind == "o":
            return self.operator(arg, scope, block)
        write = self.lazily if self.is_given_soft(param) else self.expr
        return write(arg, scope, block) if kind == "v" else self.thunk(arg, scope, block, write)

    def thunk(self, expr: Expr, scope: Context, block: Block, write: Write | None = None) -> str:
        """Compile an expression as a function without arguments, computed at most once."""
        write = write or self.expr
        if isinstance(expr, Call):
            binding = scope.env.get(expr.op)
            if isinstance(binding, ThunkBinding) and (write == self.lazily or not self.is_given_soft(expr.op)):
                return binding.code
        code = self.delayed(expr, scope, block, write=write)
        if self.program.is_atomic(expr) or self.unstable(expr, scope):
            return f"({code})"
        return f"_Lazy({code})"

    def unstable(self, expr: Expr, scope: Context) -> bool:
        """Tell whether a value may change during an evaluation: it reads a state under construction."""
        now, nxt = self.program.reads(expr)
        if (now and scope.now == NEXT) or (nxt and scope.next == NEXT):
            return True
        return any(isinstance(binding, InlineBinding) for binding in scope.env.values())

    def operator(self, expr: Expr, scope: Context, block: Block, *, of_values: bool = False) -> str:
        """Compile an operator passed as an argument: a Python function of values, or of functions that answer them."""
        if not isinstance(expr, OperatorArg):
            raise CompileError("an operator is expected as argument", expr.loc)
        if expr.builtin is not None:
            return self.builtin_operator(expr, scope, of_values)
        binding = scope.env.get(expr.op)
        if isinstance(binding, InlineBinding):
            return self.operator(binding.expr, binding.scope.of_states(scope), block, of_values=of_values)
        if isinstance(binding, OperatorBinding):
            arity = self.program.tree.params[expr.op].arity
            return self.of_values(binding.code, arity, scope) if of_values else binding.code
        if isinstance(binding, LetBinding):
            definition = binding.definition
        else:
            found = self.program.definition(expr.op)
            if found is None:
                raise CompileError(f"{self.program.tree.name_of(expr.op)} cannot be passed", expr.loc)
            definition = found
        facts = self.program.facts.get(definition.uid)
        if facts is not None and facts.primed:
            raise CompileError("an operator that primes its parameter cannot be passed", expr.loc)
        if definition.name == "LAMBDA":
            return self.lambda_(definition, scope, block, of_values)
        return self.wrapped_operator(definition, expr, scope, block, of_values)

    def of_values(self, code: str, arity: int, scope: Context) -> str:
        """Make a function of values of one whose arguments are computed by calling them."""
        names = [scope.names.fresh("_a") for _ in range(arity)]
        return f"(lambda {', '.join(names)}: _whole({code}({', '.join(f'lambda: {name}' for name in names)})))"

    def lambda_(self, definition: Definition, scope: Context, block: Block, of_values: bool) -> str:
        """Compile a LAMBDA as a Python function."""
        inner, params = self.bind_values(definition.params, scope, called=not of_values)
        write = self.lazily if definition.uid in self.program.applied and not of_values else self.expr
        return f"({self.delayed(definition.body, inner, block, ', '.join(params), write=write)})"

    def bind_values(self, uids: Sequence[int], scope: Context, *, called: bool = False) -> tuple[Context, list[str]]:
        """Bind names to values, or to functions that answer them when they are called."""
        bindings: dict[int, Binding] = {}
        params = []
        for uid in uids:
            param = self.program.tree.params[uid]
            name = scope.names.fresh(python_name(param.name))
            params.append(name)
            plain: Binding = ThunkBinding(name) if called else ValueBinding(name)
            bindings[uid] = OperatorBinding(name) if param.arity else plain
        return scope.bind(bindings), params

    def wrapped_operator(
        self, definition: Definition, expr: OperatorArg, scope: Context, block: Block, of_values: bool
    ) -> str:
        """Pass a definition: as a function that calls it."""
        names = [scope.names.fresh("_a") for _ in definition.params]
        bound, args = self.stand_ins(names, expr.loc, scope, of_values)
        write = self.lazily if definition.uid in self.program.applied and not of_values else self.expr
        code = write(Call(expr.op, args, expr.loc), bound, block)
        return f"(lambda {', '.join(names)}: {code})"

    def stand_ins(
        self, names: list[str], loc: Location, scope: Context, of_values: bool
    ) -> tuple[Context, tuple[Expr, ...]]:
        """Make expressions that stand for the parameters of a Python function."""
        uids = [self.program.tree.fresh_uid() for _ in names]
        make: Callable[[str], Binding] = ValueBinding if of_values else ThunkBinding
        bound = scope.bind({uid: make(name) for uid, name in zip(uids, names, strict=True)})
        return bound, tuple([Call(uid, (), loc) for uid in uids])

    def builtin_operator(self, expr: OperatorArg, scope: Context, of_values: bool) -> str:
        """Pass an operator of the language, such as ``\\cup``."""
        arity = 1 if expr.builtin in ("SUBSET", "UNION", "DOMAIN", "\\lnot") else 2
        names = [scope.names.fresh("_a") for _ in range(arity)]
        bound, args = self.stand_ins(names, expr.loc, scope, of_values)
        code = self.expr(Builtin(str(expr.builtin), args, expr.loc), bound, Block())
        return f"(lambda {', '.join(names)}: {code})"

    # ---- LET ----

    def let(self, expr: Let, scope: Context, block: Block) -> Context:
        """Compile the definitions of a LET into a block; answer the context of its body."""
        needed = self.program.strict(expr.body)
        for uid in reversed(expr.definitions):
            definition = self.program.tree.definitions[uid]
            if uid in needed and not definition.params:
                needed |= self.program.strict(definition.body)
        env = dict(scope.env)
        inner = replace(scope, env=env)
        for uid in expr.definitions:
            definition = self.program.tree.definitions[uid]
            name = scope.names.fresh(python_name(definition.name.rpartition("!")[2]))
            eager = uid in needed and not definition.params and not definition.recursive
            called = not eager and not definition.params
            soft = uid in self.program.applied and self.program.facts[uid].makes_function
            env[uid] = LetBinding(name, called, definition, inner, soft)
            self.let_definition(definition, name, eager, soft, inner, block)
        return inner

    def let_definition(
        self, definition: Definition, name: str, eager: bool, soft: bool, scope: Context, block: Block
    ) -> None:
        """Write one LET definition; one that cannot be written here is compiled where it is used."""
        if self.action_only(definition):
            return
        write = self.lazily if soft else self.expr
        if definition.params:
            inner, params = self.bind_params(definition, scope)
            body = Block()
            body.emit(f"return {write(definition.body, inner, body)}")
            block.nest(f"def {name}({', '.join(params)}):", body)
        elif eager:
            block.emit(f"{name} = {write(definition.body, scope, block)}")
        else:
            block.emit(f"{name} = {self.thunk(definition.body, scope, block, write)}")

    def action_only(self, definition: Definition) -> bool:
        """Tell whether a LET definition is an action, to be inlined where an action uses it."""
        return False

    # ---- Constructs of the language ----

    def builtin(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile a construct without bound variables."""
        simple = _SIMPLE.get(expr.name)
        if simple is not None:
            return f"{simple}({', '.join(self.expr(arg, scope, block) for arg in expr.args)})"
        special = _SPECIAL.get(expr.name)
        if special is None:
            raise CompileError(f"{expr.name.strip('$')} is not supported", expr.loc)
        return special(self, expr, scope, block)

    def truth(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile a constant of the language."""
        return {"TRUE": "True", "FALSE": "False", "BOOLEAN": "_BOOLEAN", "STRING": "_STRING"}[expr.name]

    def conjunction(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``/\\``."""
        return self.junction(list(expr.args), scope, block, "and")

    def disjunction(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``\\/``."""
        return self.junction(list(expr.args), scope, block, "or")

    def implication(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``=>``."""
        negated = Builtin("\\lnot", (expr.args[0],), expr.args[0].loc)
        return self.junction([negated, expr.args[1]], scope, block, "or")

    def junction(self, parts: list[Expr], scope: Context, block: Block, word: str) -> str:
        """Compile ``and`` or ``or``; a part that needs statements makes it a chain of ifs."""
        compiled = []
        for part in parts:
            inner = Block()
            compiled.append((inner, self.test(part, scope, inner)))
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

    def negation(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``~``."""
        inner = expr.args[0]
        if isinstance(inner, Builtin) and inner.name == "\\lnot":
            return self.test(inner.args[0], scope, block)
        return f"(not {self.test(inner, scope, block)})"

    def equivalence(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``<=>``."""
        left, right = (self.test(arg, scope, block) for arg in expr.args)
        return f"({left} is {right})"

    def membership(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``\\in`` and ``\\notin``."""
        code = self.member_of(self.expr(expr.args[0], scope, block), expr.args[1], scope, block)
        return code if expr.name == "\\in" else f"(not {code})"

    def member_of(self, value: str, domain: Expr, scope: Context, block: Block) -> str:
        """Compile a membership test of a Python expression."""
        limits = self.limits(domain)
        if limits is not None:
            low, high = (self.expr(limit, scope, block) for limit in limits)
            return f"_within({value}, {low}, {high})"
        return f"_member({value}, {self.expr(domain, scope, block)})"

    def given_of(self, name: str, value: str, domain: Expr, scope: Context, block: Block) -> str:
        """Compile the membership test of an argument that a step is given: its error names the argument."""
        limits = self.limits(domain)
        if limits is not None:
            low, high = (self.expr(limit, scope, block) for limit in limits)
            return f"_given_within({name!r}, {value}, {low}, {high})"
        return f"_given({name!r}, {value}, {self.expr(domain, scope, block)})"

    def limits(self, domain: Expr) -> tuple[Expr, ...] | None:
        """Answer a and b of a domain ``a..b``."""
        if isinstance(domain, Call) and len(domain.args) == 2:
            definition = self.program.definition(domain.op)
            if definition is not None and self.program.standard(definition) == ("Naturals", ".."):
                return domain.args
        return None

    def conditional(self, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
        """Compile IF: a conditional expression, or statements if a branch needs them."""
        test = self.test(expr.args[0], scope, block)
        yes, no = Block(), Block()
        write = write or self.expr
        then, other = write(expr.args[1], scope, yes), write(expr.args[2], scope, no)
        if not yes.lines and not no.lines:
            return f"({then} if {test} else {other})"
        value = scope.names.fresh("_v")
        yes.emit(f"{value} = {then}")
        no.emit(f"{value} = {other}")
        block.nest(f"if {test}:", yes)
        block.nest("else:", no)
        return value

    def case(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile CASE as nested conditionals; without a true guard it is an error."""
        return self.expr(self.case_as_if(expr), scope, block)

    def case_as_if(self, expr: Builtin) -> Expr:
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

    def no_case(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile the end of a CASE without OTHER."""
        return f"_no_case({str(expr.loc)!r})"

    def set_enumeration(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``{a, b}``."""
        codes = [self.expr(arg, scope, block) for arg in expr.args]
        if any(map(self.program.may_be_lazy, expr.args)):
            return f"_make_set([{', '.join(codes)}], True)"
        literals = {type(arg) for arg in expr.args}
        if len(codes) < 2 or literals in ({String}, {Number}):
            return f"frozenset(({', '.join(codes)}{',' if codes else ''}))"
        return f"_make_set([{', '.join(codes)}])"

    def kept(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression whose value a state will keep: with nothing unlisted in it."""
        if not self.program.may_be_lazy(expr):
            return self.expr(expr, scope, block)
        if isinstance(expr, Builtin) and expr.name == "$Tuple":
            return self.tuple_(expr, scope, block, self.kept)
        if isinstance(expr, Builtin) and expr.name == "$RcdConstructor":
            return self.record(expr, scope, block, self.kept)
        if isinstance(expr, Builtin) and expr.name == "$Except":
            return self.except_(expr, scope, block, self.kept)
        if isinstance(expr, Builtin) and expr.name == "$IfThenElse":
            return self.conditional(expr, scope, block, self.kept)
        if isinstance(expr, Let):
            return self.kept(expr.body, self.let(expr, scope, block), block)
        return f"_frozen({self.expr(expr, scope, block)})"

    def union(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile UNION; that of listed sets does not list them."""
        inner = expr.args[0]
        if not isinstance(inner, Builtin) or inner.name != "$SetEnumerate":
            return f"_big_union({self.expr(inner, scope, block)})"
        return f"_union_of([{', '.join(self.expr(arg, scope, block) for arg in inner.args)}])"

    def tuple_(self, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
        """Compile ``<<a, b>>``."""
        codes = [(write or self.expr)(arg, scope, block) for arg in expr.args]
        return f"({', '.join(codes)}{',' if len(codes) == 1 else ''})"

    def record(self, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
        """Compile ``[a |-> 1]``."""
        return f"_Fcn({{{self.fields(expr, scope, block, write)}}})"

    def record_set(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``[a : S]``."""
        return f"_RcdSet({{{self.fields(expr, scope, block)}}})"

    def fields(self, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
        """Compile the fields of a record or of a set of records."""
        codes = []
        for pair in expr.args:
            assert isinstance(pair, Builtin)
            name, value = pair.args
            codes.append(f"{self.expr(name, scope, block)}: {(write or self.expr)(value, scope, block)}")
        return ", ".join(codes)

    def prime(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile a prime: the expression in the next state."""
        return self.expr(expr.args[0], scope.primed(expr.loc), block)

    def unchanged(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile UNCHANGED as an equality."""
        before = self.expr(expr.args[0], scope, block)
        after = self.expr(expr.args[0], scope.primed(expr.loc), block)
        return f"_eq({after}, {before})"

    def square_action(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``[A]_v``."""
        return self.junction([expr.args[0], unchanged(expr)], scope, block, "or")

    def angle_action(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ``<<A>>_v``."""
        return self.junction([expr.args[0], changed(expr)], scope, block, "and")

    def enabled(self, expr: Builtin, scope: Context, block: Block) -> str:
        """Compile ENABLED."""
        if self.write_enabled is None or scope.now is None:
            raise CompileError("ENABLED is not supported here", expr.loc)
        return self.write_enabled(expr.args[0], scope, block)

    def except_(self, expr: Builtin, scope: Context, block: Block, write: Write | None = None) -> str:
        """Compile ``[f EXCEPT !path = value, ...]``: one update after the other, each only where the path leads."""
        code = (write or self.expr)(expr.args[0], scope, block)
        for pair in expr.args[1:]:
            assert isinstance(pair, Builtin)
            path, value = pair.args
            assert isinstance(path, Builtin)
            keys = ", ".join(self.expr(key, scope, block) for key in path.args) + ","
            if self.is_computed(value, scope):
                code = f"_put({code}, ({keys}), {self.expr(value, scope, block)})"
                continue
            at = scope.names.fresh("at")
            update = self.delayed(value, replace(scope, at=(*scope.at, at)), block, at, write=write)
            code = f"_except({code}, ({keys}), {update})"
        return code

    def is_computed(self, expr: Expr, scope: Context) -> bool:
        """Tell whether an expression names a value that is there already, so that it cannot fail."""
        binding = scope.env.get(expr.op) if isinstance(expr, Call) else None
        known = binding is None or isinstance(binding, ValueBinding)
        return known and self.program.is_atomic(expr) and not isinstance(expr, At)

    # ---- Constructs that bind variables ----

    def bind(self, expr: Bind, scope: Context, block: Block) -> str:
        """Compile a construct that binds variables."""
        write = _BINDERS.get(expr.name)
        if write is None:
            raise CompileError(f"{expr.name.strip('$')} is not supported", expr.loc)
        return write(self, expr, scope, block)

    def loops(
        self, bounds: Sequence[Bound], scope: Context, block: Block, *, in_order: bool = False
    ) -> tuple[Context, str, list[str]]:
        """Compile bounds as the ``for`` clauses of a comprehension; answer the variables too.

        All domains are computed before; then, as in TLC, the first variable changes fastest.
        """
        clauses, inner = [], scope
        names: list[str] = []
        single = len(bounds) == 1 and (bounds[0].is_tuple or len(bounds[0].params) == 1)
        for bound in bounds:
            if bound.domain is None:
                raise CompileError("a quantifier without a bound is not supported", _loc_of(bounds))
            domain = self.iterable(bound.domain, scope, block, in_order=in_order)
            if not single:
                domain = self.kept_aside(domain, scope, block)
            inner, fresh = self.bind_values(bound.params, inner)
            names.extend(fresh)
            if bound.is_tuple:
                clauses.append(f"for {', '.join(fresh)}{',' * (len(fresh) == 1)} in _tuples({domain}, {len(fresh)})")
            else:
                clauses.extend(f"for {name} in {domain}" for name in fresh)
        return inner, " ".join(reversed(clauses)), names

    def kept_aside(self, code: str, scope: Context, block: Block) -> str:
        """Write the computation of something that is needed several times; answer its name."""
        name = scope.names.fresh("_d")
        block.emit(f"{name} = {code}")
        return name

    def iterable(self, domain: Expr, scope: Context, block: Block, *, in_order: bool = False) -> str:
        """Compile a domain for iterating over it, in its order or in any."""
        limits = self.limits(domain)
        if limits is not None:
            low, high = (self.expr(limit, scope, block) for limit in limits)
            return f"_span({low}, {high})"
        code = self.expr(domain, scope, block)
        if in_order:
            return f"_elements({code})"
        if isinstance(domain, Builtin) and domain.name == "$SetEnumerate" and len(domain.args) < 2:
            return code
        return f"_listed({code})"

    def body_call(self, expr: Expr, scope: Context, names: list[str], block: Block, *, test: bool) -> str:
        """Compile the body of a comprehension; one that needs statements becomes a local function."""
        inner = Block()
        code = self.test(expr, scope, inner) if test else self.expr(expr, scope, inner)
        if not inner.lines:
            return code
        inner.emit(f"return {code}")
        name = scope.names.fresh("_f")
        block.nest(f"def {name}({', '.join(names)}):", inner)
        return f"{name}({', '.join(names)})"

    def quantifier(self, expr: Bind, scope: Context, block: Block) -> str:
        """Compile ``\\A`` and ``\\E`` over bounds."""
        inner, clauses, names = self.loops(expr.bounds, scope, block, in_order=True)
        body = self.body_call(expr.body, inner, names, block, test=True)
        return f"{'any' if expr.name == '$BoundedExists' else 'all'}({body} {clauses})"

    def set_map(self, expr: Bind, scope: Context, block: Block) -> str:
        """Compile ``{e : x \\in S}``."""
        inner, clauses, names = self.loops(expr.bounds, scope, block)
        body = self.body_call(expr.body, inner, names, block, test=False)
        return f"_make_set([{body} {clauses}]{', True' * self.program.may_be_lazy(expr.body)})"

    def set_filter(self, expr: Bind, scope: Context, block: Block) -> str:
        """Compile ``{x \\in S : p}``."""
        bound = expr.bounds[0]
        assert bound.domain is not None
        if not self.program.is_listed(bound.domain):
            domain = self.expr(bound.domain, scope, block)
            return f"_set_filter({domain}, {self.function_of_bound(bound, expr.body, scope, block, test=True)})"
        inner, clauses, names = self.loops(expr.bounds, scope, block)
        body = self.body_call(expr.body, inner, names, block, test=True)
        element = f"({', '.join(names)}{',' * (len(names) == 1)})" if bound.is_tuple else names[0]
        return f"frozenset([{element} {clauses} if {body}])"

    def function_of_bound(
        self, bound: Bound, body: Expr, scope: Context, block: Block, *, test: bool = False, write: Write | None = None
    ) -> str:
        """Compile the body of a construct with one bound as a Python function of an element."""
        inner, names = self.bind_values(bound.params, scope)
        code = self.delayed(body, inner, block, ", ".join(names), test=test, write=write)
        return f"lambda _x, _b={code}: _b(*_untuple(_x, {len(names)}))" if bound.is_tuple else code

    def function(self, expr: Bind, scope: Context, block: Block, *, soft: bool = False) -> str:
        """Compile ``[x \\in S |-> e]``; with several variables the arguments are tuples."""
        bounds = expr.bounds
        domains = [bound.domain for bound in bounds if bound.domain is not None]
        write = self.lazily if soft else self.expr
        if len(bounds) == 1 and (bounds[0].is_tuple or len(bounds[0].params) == 1):
            if soft:
                code = self.expr(domains[0], scope, block)
                return (
                    f"_soft_function({code}, {self.function_of_bound(bounds[0], expr.body, scope, block, write=write)})"
                )
            if self.limits(domains[0]) is not None or not self.program.is_listed(domains[0]):
                limits = self.limits(domains[0])
                code = self.iterable(domains[0], scope, block) if limits else self.expr(domains[0], scope, block)
                return f"_function({code}, {self.function_of_bound(bounds[0], expr.body, scope, block)})"
        elif soft or not all(map(self.program.is_listed, domains)):
            codes = self.argument_domains(bounds, scope, block)
            body = self.function_of_tuple(bounds, expr.body, scope, block, write)
            return f"_function_of(({', '.join(codes)},), {body}, {soft})"
        inner, clauses, names = self.loops(bounds, scope, block)
        body = self.body_call(expr.body, inner, names, block, test=False)
        return f"_as_fcn({{{_pattern(bounds, names)}: {body} {clauses}}})"

    def argument_domains(self, bounds: Sequence[Bound], scope: Context, block: Block) -> list[str]:
        """Compile the domain of each argument of a function of several."""
        codes = []
        for bound in bounds:
            if bound.domain is None:
                raise CompileError("a bound without a set is not supported", _loc_of(bounds))
            code = self.expr(bound.domain, scope, block)
            count = 1 if bound.is_tuple else len(bound.params)
            codes += [code] if count == 1 else [self.kept_aside(code, scope, block)] * count
        return codes

    def function_of_tuple(
        self,
        bounds: Sequence[Bound],
        body: Expr,
        scope: Context,
        block: Block,
        write: Write | None = None,
        own: str = "",
    ) -> str:
        """Compile the body of a function of several arguments as a Python function of their tuple."""
        inner, names = self.bind_values([uid for bound in bounds for uid in bound.params], scope)
        params = ", ".join([own] * bool(own) + names)
        code = self.delayed(body, inner, block, params, write=write)
        given, place = [own and "_g"] * bool(own), 0
        for bound in bounds:
            if bound.is_tuple:
                given.append(f"*_untuple(_x[{place}], {len(bound.params)})")
                place += 1
            else:
                given += [f"_x[{place + index}]" for index in range(len(bound.params))]
                place += len(bound.params)
        return f"(lambda {'_g, ' * bool(own)}_x, _b={code}: _b({', '.join(given)}))"

    def recursive_function(self, expr: Bind, scope: Context, block: Block) -> str:
        """Compile ``f[x \\in S] == e`` where e mentions f."""
        inner, (own,) = self.bind_values(expr.bounds[0].params, scope)
        bounds = expr.bounds[1:]
        codes = self.argument_domains(bounds, scope, block)
        if len(codes) == 1 and not bounds[0].is_tuple:
            inner, names = self.bind_values(bounds[0].params, inner)
            body = self.delayed(expr.body, inner, block, f"{own}, {names[0]}")
            return f"_recursive_function({codes[0]}, {body})"
        domain = codes[0] if len(codes) == 1 else f"_Product({', '.join(codes)})"
        body = self.function_of_tuple(bounds, expr.body, inner, block, own=own)
        if len(codes) == 1:
            body = f"(lambda _g, _x, _t={body}: _t(_g, (_x,)))"
        return f"_recursive_function({domain}, {body})"

    def choose(self, expr: Bind, scope: Context, block: Block) -> str:
        """Compile CHOOSE over a bound."""
        bound = expr.bounds[0]
        if bound.domain is None:
            raise CompileError("CHOOSE without a bound is not supported: replace it in the configuration", expr.loc)
        limits = self.limits(bound.domain)
        domain = self.iterable(bound.domain, scope, block) if limits else self.expr(bound.domain, scope, block)
        test = self.function_of_bound(bound, expr.body, scope, block, test=True)
        return f"_choose({domain}, {test}, {self.debug}, {str(expr.loc)!r})"

    # ---- Standard modules ----

    def standard_use(self, known: tuple[str, str], expr: Call, scope: Context, block: Block) -> str:
        """Compile the use of a standard module's operator."""
        if known in STANDARD_VALUES:
            return STANDARD_VALUES[known]
        function, how, inline = STANDARD[known]
        args = [
            self.operator(arg, scope, block, of_values=True) if kind == "o" else self.expr(arg, scope, block)
            for kind, arg in zip(how, expr.args, strict=True)
        ]
        if inline and all(map(self.is_small if inline in "+-" else self.is_integer, expr.args)):
            return f"({args[0]} {inline} {args[1]})"
        return f"{function}({', '.join(args)})"

    def is_integer(self, expr: Expr) -> bool:
        """Tell whether an expression is known to be an integer, if it has a value."""
        if isinstance(expr, Number):
            return True
        if isinstance(expr, Call):
            definition = self.program.definition(expr.op)
            if definition is None:
                return type(self.program.values.get(self.program.target(expr.op))) is int
            known = self.program.standard(definition)
            if known is not None:
                return known[1] in ("+", "-", "*", "\\div", "%", "^", "-.", "Len", "Cardinality")
        return False

    def is_small(self, expr: Expr) -> bool:
        """Tell whether an expression is known to be an integer whose sum with another such has 32 bits."""
        if isinstance(expr, Number):
            return abs(expr.value) < 2**30
        if isinstance(expr, Call):
            definition = self.program.definition(expr.op)
            if definition is None:
                given = self.program.values.get(self.program.target(expr.op))
                return type(given) is int and abs(given) < 2**30
            known = self.program.standard(definition)
            return known is not None and known[1] in ("Len", "Cardinality")
        return False


def _pattern(bounds: Sequence[Bound], names: list[str]) -> str:
    """Write the argument that a function's variables make together: one value, or a tuple."""
    parts, left = [], list(names)
    for bound in bounds:
        own, left = left[: len(bound.params)], left[len(bound.params) :]
        parts += [f"({', '.join(own)}{',' * (len(own) == 1)})"] if bound.is_tuple else own
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def unchanged(expr: Builtin) -> Expr:
    """Answer ``UNCHANGED v`` for ``[A]_v``."""
    return Builtin("UNCHANGED", (expr.args[1],), expr.loc)


def changed(expr: Builtin) -> Expr:
    """Answer ``~UNCHANGED v`` for ``<<A>>_v``."""
    return Builtin("\\lnot", (unchanged(expr),), expr.loc)


def _loc_of(bounds: Sequence[Bound]) -> Location | None:
    return next((bound.domain.loc for bound in bounds if bound.domain is not None), None)


Write = Callable[[Expr, Context, Block], str]
Writer = Callable[[Compiler, Builtin, Context, Block], str]
Binder = Callable[[Compiler, Bind, Context, Block], str]

_SIMPLE = {
    "=": "_eq",
    "#": "_ne",
    "\\subseteq": "_subseteq",
    "\\cup": "_cup",
    "\\cap": "_cap",
    "\\": "_minus",
    "SUBSET": "_PowerSet",
    "DOMAIN": "_domain_of",
    "$CartesianProd": "_Product",
    "$SetOfFcns": "_FcnSet",
}
_SPECIAL: dict[str, Writer] = {
    "TRUE": Compiler.truth,
    "FALSE": Compiler.truth,
    "BOOLEAN": Compiler.truth,
    "STRING": Compiler.truth,
    "\\land": Compiler.conjunction,
    "\\lor": Compiler.disjunction,
    "\\lnot": Compiler.negation,
    "=>": Compiler.implication,
    "\\equiv": Compiler.equivalence,
    "\\in": Compiler.membership,
    "\\notin": Compiler.membership,
    "$IfThenElse": Compiler.conditional,
    "$Case": Compiler.case,
    "<no case>": Compiler.no_case,
    "$SetEnumerate": Compiler.set_enumeration,
    "UNION": Compiler.union,
    "$Tuple": Compiler.tuple_,
    "$RcdConstructor": Compiler.record,
    "$SetOfRcds": Compiler.record_set,
    "$Except": Compiler.except_,
    "$FcnApply": Compiler.application,
    "'": Compiler.prime,
    "UNCHANGED": Compiler.unchanged,
    "$SquareAct": Compiler.square_action,
    "$AngleAct": Compiler.angle_action,
    "ENABLED": lambda compiler, expr, scope, block: compiler.enabled(expr, scope, block),
}
_BINDERS: dict[str, Binder] = {
    "$BoundedExists": Compiler.quantifier,
    "$BoundedForall": Compiler.quantifier,
    "$SetOfAll": Compiler.set_map,
    "$SubsetOf": Compiler.set_filter,
    "$FcnConstructor": Compiler.function,
    "$RecursiveFcnSpec": Compiler.recursive_function,
    "$NonRecursiveFcnSpec": Compiler.function,
    "$BoundedChoose": Compiler.choose,
    "$UnboundedChoose": Compiler.choose,
}
