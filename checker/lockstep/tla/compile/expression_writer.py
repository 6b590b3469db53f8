"""Base of the expression compiler: the functions of a module, one for each definition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.context_facts import is_boolean
from lockstep.tla.compile.expression_context import (
    NEXT,
    NOW,
    Binding,
    Context,
    OperatorBinding,
    ThunkBinding,
    ValueBinding,
)
from lockstep.tla.compile.expression_probes import ProbeTable, is_probed_constant
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.python_text import Block, FreshNames, python_name
from lockstep.tla.syntax.tree import Bound, Definition, Expr, Location

Write = Callable[[Expr, Context, Block], str]


@dataclass
class GeneratedFunction:
    """A generated function."""

    name: str
    text: str
    loc: Location


@dataclass
class ExpressionWriter(ABC):
    """Compiler of the definitions of a program, on demand; subclasses write the expressions.

    Attributes:
        conjuncts: the conjuncts that explanations name, numbered.
        variables: what the spec's variables are called, by id.
        slots: the same of all that a next state may hold: also the variables that only an ENABLED knows.
        write_enabled: compiles ENABLED of an action.
        is_quick: whether functions are written that take for granted what they apply; see :meth:`quickly`.
        probes: those around expressions, where the module is to have some.
    """

    program: Program
    functions: dict[object, GeneratedFunction] = field(default_factory=dict)
    globals: FreshNames = field(default_factory=lambda: FreshNames(separator="__"))
    names_of: dict[object, str] = field(default_factory=dict)
    conjuncts: dict[tuple[Location, str], int] = field(default_factory=dict)
    write_enabled: Callable[[Expr, Context, Block], str] | None = None
    is_quick: bool = False
    probes: ProbeTable | None = None

    def __post_init__(self) -> None:
        """Reserve the names of all definitions."""
        tree = self.program.tree
        self.variables = {d.uid: python_name(d.name) for d in self.program.variables()}
        own = {uid: f"{python_name(tree.declarations[uid].name)}__{n}" for n, uid in enumerate(tree.own_variables)}
        self.slots = {**self.variables, **own}
        self.reserved = {python_name(tree.name_of(u)) for m in tree.modules.values() for u in m.symbols}
        self.inlining: list[int] = []

    def context(self, now: str | None, nxt: str | None) -> Context:
        """Return the context of a new function."""
        return Context({}, now, nxt, (), FreshNames(self.reserved))

    def name_for(self, key: object, wanted: str) -> str:
        """Return the global name for a key, the same each time."""
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
        """Compile a definition as a function that returns its value, unless that is done; return its name."""
        key = ("lazy" if lazily else "value", definition.uid)
        name = self.name_for(key, definition.name + "__applied" * lazily)
        if key not in self.functions:
            self.functions[key] = GeneratedFunction(name, "", definition.loc)
            try:
                self.functions[key].text = self._value_text(name, definition, lazily)
            except CompileError:
                del self.functions[key]
                raise
        return name

    def _value_text(self, name: str, definition: Definition, lazily: bool) -> str:
        facts = self.program.facts[definition.uid]
        now, nxt = NOW if facts.reads_now else None, NEXT if facts.reads_next else None
        states = [state for state in (now, nxt) if state is not None]

        def write() -> tuple[list[str], Block]:
            scope, params = self.bind_params(definition, self.context(now, nxt))
            body = Block()
            write = self.lazily if lazily else self.expr
            body.emit(f"return {write(definition.body, scope, body)}")
            return [*states, *params], body

        head = Block()
        is_constant = not definition.params and not states and not self.program.has_registers
        if is_constant and not (self.probes is not None and is_probed_constant(definition, facts.boolean)):
            head.emit("@_Lazy")
            with self.writing(quickly=False):
                params, body = write()
            head.nest(f"def {name}({', '.join(params)}):  # {definition.loc}", body)
        else:
            once = lazily or definition.recursive
            head.extend(self.quickly(name, definition.body, definition.loc, write, once=once))
        return "\n".join(head.lines)

    @contextmanager
    def writing(self, *, quickly: bool) -> Iterator[None]:
        """Write code that assumes that applications succeed, or that does not."""
        before, self.is_quick = self.is_quick, quickly
        try:
            yield
        finally:
            self.is_quick = before

    def quickly(
        self,
        name: str,
        expr: Expr,
        loc: Location,
        write: Callable[[], tuple[list[str], Block]],
        *,
        once: bool = False,
    ) -> Block:
        """Write a function, where it pays in two versions: one that assumes that applications succeed, and a plain one.

        ``r.f`` is the entry of a table if r is a record with that field. The quick version looks it up on that
        assumption; where it is wrong, Python raises an error, and the plain version finds the fault. A quick version is
        written where nothing is computed after it has returned, and repeated evaluation makes no difference.

        Args:
            write: writes its parameters and its body.
            once: whether to write the plain one alone: its value is computed on demand, or it calls itself, so that
                each call could come to two more.
        """
        with self.writing(quickly=False):
            params, plain = write()
        written = Block()
        ends = self.program.is_boolean(expr) or not self.program.may_be_lazy(expr)
        if ends and not once and self.program.is_pure:
            with self.writing(quickly=True):
                _, quick = write()
            if quick.lines != plain.lines:
                other, tried, instead = self.globals.fresh(f"{name}__plain"), Block(), Block()
                instead.emit(f"return {other}({', '.join(params)})")
                tried.nest("try:", quick)
                tried.nest("except (AttributeError, KeyError):", instead)
                written.nest(f"def {name}({', '.join(params)}):  # {loc}", tried)
                written.lines += ["", ""]
                name = other
        written.nest(f"def {name}({', '.join(params)}):  # {loc}", plain)
        return written

    def shown_bindings(self, bounds: Sequence[Bound], names: list[str]) -> str:
        """Return the text of a dict of what a quantifier binds, by the names that the specification has."""
        shown = [self.program.tree.params[uid].name for bound in bounds for uid in bound.params]
        return "{" + ", ".join(f"{name!r}: {code}" for name, code in zip(shown, names, strict=True)) + "}"

    def bind_params(self, definition: Definition, scope: Context) -> tuple[Context, list[str]]:
        """Bind the parameters of a definition as its function receives them."""
        return self._bind(definition.params, scope, self.program.thunked)

    def bind_values(self, uids: Sequence[int], scope: Context, *, called: bool = False) -> tuple[Context, list[str]]:
        """Bind names to values, or to functions that return them when they are called."""
        return self._bind(uids, scope, uids if called else ())

    def _bind(self, uids: Sequence[int], scope: Context, thunks: Collection[int]) -> tuple[Context, list[str]]:
        bindings: dict[int, Binding] = {}
        names = []
        for uid in uids:
            param = self.program.tree.params[uid]
            name = scope.names.fresh(python_name(param.name))
            names.append(name)
            kind = OperatorBinding if param.arity else ThunkBinding if uid in thunks else ValueBinding
            bindings[uid] = kind(name)
        return scope.bind(bindings), names

    def protocol(self, definition: Definition) -> str:
        """Describe how each parameter is passed: ``v`` a value, ``l`` lazily, ``o`` an operator."""
        thunked = self.program.thunked
        arities = [self.program.tree.params[uid].arity for uid in definition.params]
        return "".join(
            "o" if arity else "l" if uid in thunked else "v"
            for uid, arity in zip(definition.params, arities, strict=True)
        )

    def conjunct(self, loc: Location, before: str = "") -> int:
        """Return the number of a conjunct in the table that explanations use; its text may begin with ``before``."""
        return self.conjuncts.setdefault((loc, before), len(self.conjuncts))

    def constant(self, uid: int) -> str:
        """Return the global name of a symbol that the configuration gives a value."""
        return self.name_for(("constant", uid), self.program.tree.name_of(uid))

    def test(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile a formula: like :meth:`expr`, checked to be TRUE or FALSE."""
        code = self.expr(expr, scope, block)
        if is_boolean(self.program, expr, scope):
            return code
        tested = f"_boolean({code})"
        return tested if self.probes is None else self.probes.around_test(expr, tested)

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

    @contextmanager
    def after_inlined(self) -> Iterator[None]:
        """Write what follows the innermost definition that is inlined: it is not within it."""
        left = self.inlining.pop()
        try:
            yield
        finally:
            self.inlining.append(left)

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

    @abstractmethod
    def expr(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression: return Python for its value, after hoisting statements into a block."""

    @abstractmethod
    def lazily(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile an expression that is applied as a function: one that is written out is computed on demand."""
