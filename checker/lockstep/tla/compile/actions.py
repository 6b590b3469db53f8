"""Actions of TLA+ to Python generators over a next state under construction.

An action is written as nested statements: a conjunct that is a formula is an ``if``, ``x' = e`` assigns, ``\\E`` and
``x' \\in S`` are loops, a disjunction tries its branches in order, and what is innermost says ``yield``: the next state
is then complete. What a branch assigned is taken back when it is left, so that nothing of one branch shows in another.

Which variables are assigned where is known while writing; a definition used as an action becomes one generator for
each set of variables that may be assigned when it is entered. Where that depends on the run, a helper asks at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lockstep.tla.compile.emit import Block
from lockstep.tla.compile.expressions.arguments import arguments
from lockstep.tla.compile.expressions.compiler import Compiler, Function
from lockstep.tla.compile.expressions.constructors import kept
from lockstep.tla.compile.expressions.context import NEXT, NOW, Context, InlineBinding, LetBinding, ValueBinding
from lockstep.tla.compile.expressions.in_context import is_rigid_but_for_states, limits_of, must_inline
from lockstep.tla.compile.expressions.logic import case_as_if, changed, unchanged
from lockstep.tla.compile.expressions.quantifiers import iterable, loops
from lockstep.tla.compile.expressions.uses import let
from lockstep.tla.compile.program import CompileError
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Call, Definition, Expr, Let, OperatorArg

__all__ = ["ActionCompiler", "Assigned", "Mode"]

Mode = Literal["next", "step", "init", "why", "bound"]
Assigned: TypeAlias = "tuple[tuple[str, str], ...]"
"""For each variable that is (``yes``) or may be (``maybe``) assigned: its Python name, and which."""


@dataclass(frozen=True)
class Rest:
    """What follows an action: the writer of the statements, and whether it may be written several times."""

    write: Callable[[Block, Assigned, Context], None]
    is_small: bool


def _yield(block: Block, assigned: Assigned, scope: Context) -> None:
    block.emit("yield")


_DEEPEST = 12
"""Conjuncts nested in one function: Python allows 20 nested loops."""

YIELD = Rest(_yield, True)


def _status(assigned: Assigned, variable: str) -> str:
    return dict(assigned).get(variable, "no")


def _with(assigned: Assigned, variable: str, status: str = "yes") -> Assigned:
    return tuple(sorted({**dict(assigned), variable: status}.items()))


def _join(states: list[Assigned]) -> Assigned:
    """Combine what is assigned at the ends of several branches."""
    if not states:
        return ()
    names = {name for state in states for name, _ in state}
    joined = {}
    for name in names:
        found = {_status(state, name) for state in states}
        joined[name] = "yes" if found == {"yes"} else "maybe"
    return tuple(sorted(joined.items()))


class ActionCompiler:
    """Writes actions in one mode.

    ``next`` follows TLC step by step, so that a successor is generated as often as TLC generates it; ``step`` only
    decides; ``init`` assigns unprimed variables; ``why`` tells a tracer each conjunct that holds or fails. ``bound``
    stops below the quantifiers that choose an action's arguments.
    """

    def __init__(self, values: Compiler, mode: Mode) -> None:
        """Write actions with the help of a compiler of expressions."""
        self.values = values
        self.program = values.program
        self.mode: Mode = mode
        self.exits: dict[object, Assigned | None] = {}

    # ---- Functions ----

    def function(self, definition: Definition, assigned: Assigned) -> str:
        """Compile a definition as a generator, entered with some variables assigned; answer its name."""
        key = (self.mode, definition.uid, assigned)
        suffix = {"next": "next", "step": "step", "init": "init", "why": "why"}[self.mode]
        name = self.values.name_for(key, f"{definition.name}__{suffix}")
        if key not in self.values.functions:
            written = self.values.functions[key] = Function(name, "", definition.loc)
            self.exits[key] = None
            try:
                written.text = self._text(name, definition, assigned, key)
            except CompileError:
                del self.values.functions[key]
                raise
        return name

    def exit_of(self, definition: Definition, assigned: Assigned) -> Assigned:
        """Answer what is assigned after a definition used as an action."""
        known = self.exits.get((self.mode, definition.uid, assigned))
        if known is not None:
            return known
        return tuple(sorted({**dict.fromkeys(self.values.variables.values(), "maybe"), **dict(assigned)}.items()))

    def _text(self, name: str, definition: Definition, assigned: Assigned, key: object) -> str:
        scope, params = self.values.bind_params(definition, self.scope())
        ends: list[Assigned] = []
        body = Block()
        self.write(definition.body, scope, body, assigned, Rest(self._recording(ends), True))
        if not ends:
            body.emit("yield from ()")
        self.exits[key] = _join(ends)
        head = Block()
        head.nest(f"def {name}({', '.join([*self.states(), *params])}):  # {definition.loc}", body)
        return "\n".join(head.lines)

    def _recording(self, ends: list[Assigned]) -> Callable[[Block, Assigned, Context], None]:
        def record(block: Block, assigned: Assigned, scope: Context) -> None:
            ends.append(assigned)
            block.emit("yield")

        return record

    def scope(self) -> Context:
        """Answer the context of a new function of this mode."""
        return self.values.context(NEXT, None) if self.mode == "init" else self.values.context(NOW, NEXT)

    def states(self) -> list[str]:
        """List the parameters that functions of this mode have before their own."""
        if self.mode == "init":
            return [NEXT]
        return ["_w", NOW, NEXT] if self.mode == "why" else [NOW, NEXT]

    # ---- Which conjuncts are written as actions ----

    def is_action(self, expr: Expr, scope: Context, assigned: Assigned) -> bool:
        """Tell whether a conjunct must be written as an action, not tested as a formula."""
        if self.mode == "why" and self.has_structure(expr, scope):
            return True
        if self.mode in ("next", "init") and self.program.branches(expr):
            return True
        if not is_rigid_but_for_states(self.program, expr, scope):
            return True
        now, nxt = self.program.reads(expr)
        if self.mode == "init":
            full = all(_status(assigned, name) == "yes" for name in self.values.variables.values())
            return now and not full
        return nxt

    def assigns(self, expr: Expr) -> bool:
        """Tell whether a conjunct must be taken apart even where explanations would show it whole."""
        return self.mode != "why" or self.program.reads(expr)[1]

    def has_structure(self, expr: Expr, scope: Context) -> bool:
        """Tell whether a conjunct has conjuncts within, for explanations."""
        if isinstance(expr, Builtin):
            return expr.name in (
                "\\land",
                "\\lor",
                "$IfThenElse",
                "$Case",
                "UNCHANGED",
                "$SquareAct",
                "$AngleAct",
                "=",
                "\\in",
                "TRUE",
                "FALSE",
            )
        if isinstance(expr, Bind):
            return expr.name == "$BoundedExists"
        if isinstance(expr, Let):
            return True
        if isinstance(expr, Call):
            if isinstance(scope.env.get(expr.op), (InlineBinding, LetBinding)):
                return True
            definition = self.program.definition(expr.op)
            if definition is None or self.program.standard(definition) or definition.recursive:
                return False
            return self.program.facts[definition.uid].boolean and expr.op not in scope.env
        return False

    # ---- Statements ----

    def write(self, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write an action into a block, and what follows wherever it holds."""
        if isinstance(expr, Builtin) and expr.name == "TRUE":
            rest.write(block, assigned, scope)
        elif not self.is_action(expr, scope, assigned):
            self.guard(expr, scope, block, assigned, rest)
        elif isinstance(expr, Let):
            self.write(expr.body, let(self.values, expr, scope, block), block, assigned, rest)
        elif isinstance(expr, Bind):
            self.write_bind(expr, scope, block, assigned, rest)
        elif isinstance(expr, Call):
            self.write_call(expr, scope, block, assigned, rest)
        elif isinstance(expr, Builtin):
            self.write_builtin(expr, scope, block, assigned, rest)
        else:
            raise CompileError("this is not an action", expr.loc)

    def write_builtin(self, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write a construct of the language that stands as a conjunct."""
        name = expr.name
        if name == "\\land":
            self.conjunction(expr.args, scope, block, assigned, rest)
        elif name == "\\lor":
            self.branch([(None, arg) for arg in expr.args], scope, block, assigned, rest)
        elif name == "$SquareAct":
            self.branch([(None, expr.args[0]), (None, unchanged(expr))], scope, block, assigned, rest)
        elif name == "$AngleAct":
            self.conjunction((expr.args[0], changed(expr)), scope, block, assigned, rest)
        elif name == "$IfThenElse":
            self.conditional(expr, scope, block, assigned, rest)
        elif name == "=>" and self.assigns(expr):
            holds = Builtin("TRUE", (), expr.loc)
            self.conditional(Builtin("$IfThenElse", (*expr.args, holds), expr.loc), scope, block, assigned, rest)
        elif name == "$Case":
            self.write(case_as_if(expr), scope, block, assigned, rest)
        elif name == "UNCHANGED":
            self.unchanged(expr, scope, block, assigned, rest)
        elif name in ("=", "\\in") and self.variable(expr.args[0], scope) is not None:
            self.assignment(expr, scope, block, assigned, rest)
        else:
            self.guard(expr, scope, block, assigned, rest)

    def conjunction(
        self, parts: tuple[Expr, ...], scope: Context, block: Block, assigned: Assigned, rest: Rest
    ) -> None:
        """Write conjuncts one within the other."""
        if len(parts) == 1:
            self.write(parts[0], scope, block, assigned, rest)
            return
        if len(parts) > _DEEPEST:
            ends: list[Assigned] = []
            local = Block()
            self.conjunction(parts[:_DEEPEST], scope, local, assigned, Rest(self._recording(ends), True))
            after = Rest(lambda b, a, _inner: self.conjunction(parts[_DEEPEST:], scope, b, a, rest), False)
            self.loop_over(local, ends, scope, block, after)
            return
        after = Rest(lambda b, a, _inner: self.conjunction(parts[1:], scope, b, a, rest), False)
        self.write(parts[0], scope, block, assigned, after)

    def guard(self, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write a conjunct that is a formula."""
        inner = Block()
        if self.mode == "why":
            self.traced_guard(expr, scope, block, assigned, rest)
            return
        code = self.values.test(expr, scope, block)
        rest.write(inner, assigned, scope)
        block.nest(f"if {code}:", inner)

    def branch(
        self,
        arms: list[tuple[str | None, Expr]],
        scope: Context,
        block: Block,
        assigned: Assigned,
        rest: Rest,
    ) -> None:
        """Write alternatives: each under its own test (None: always), one after the other."""
        if rest.is_small:
            self._arms(arms, scope, block, assigned, rest)
            return
        ends: list[Assigned] = []
        local = Block()
        self._arms(arms, scope, local, assigned, Rest(self._recording(ends), True))
        self.loop_over(local, ends, scope, block, rest)

    def loop_over(self, local: Block, ends: list[Assigned], scope: Context, block: Block, rest: Rest) -> None:
        """Write a local generator, and what follows once for all of its ends."""
        if not ends:
            local.emit("yield from ()")
        name = scope.names.fresh("_either")
        block.nest(f"def {name}():", local)
        inner = Block()
        rest.write(inner, _join(ends), scope)
        block.nest(f"for _ in {name}():", inner)

    def _arms(
        self, arms: list[tuple[str | None, Expr]], scope: Context, block: Block, assigned: Assigned, rest: Rest
    ) -> None:
        for head, arm in arms:
            if head is None:
                self.write(arm, scope, block, assigned, rest)
            else:
                inner = Block()
                self.write(arm, scope, inner, assigned, rest)
                block.nest(head, inner)

    def conditional(self, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write IF: each branch under its test."""
        code = self.values.test(expr.args[0], scope, block)
        self.branch([(f"if {code}:", expr.args[1]), ("else:", expr.args[2])], scope, block, assigned, rest)

    # ---- Assignments ----

    def variable(self, expr: Expr, scope: Context) -> str | None:
        """Answer the variable that ``expr = e`` would assign: ``x'``, or ``x`` in an initial predicate."""
        if self.mode != "init":
            if isinstance(expr, Builtin) and expr.name == "'":
                return self.plain_variable(expr.args[0], scope)
            if isinstance(expr, Call) and isinstance(inline := scope.env.get(expr.op), InlineBinding):
                return self.variable(inline.expr, inline.scope)
            return None
        return self.plain_variable(expr, scope)

    def plain_variable(self, expr: Expr, scope: Context) -> str | None:
        """Answer the Python name of the variable that an expression is."""
        if not isinstance(expr, Call):
            return None
        binding = scope.env.get(expr.op)
        if isinstance(binding, InlineBinding):
            return self.plain_variable(binding.expr, binding.scope)
        return self.values.variables.get(self.program.target(expr.op))

    def assignment(self, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write ``x' = e`` or ``x' \\in S``: an assignment, or a test if the variable is assigned."""
        variable = self.variable(expr.args[0], scope)
        assert variable is not None
        status = _status(assigned, variable)
        if status == "yes":
            self.guard(expr, scope, block, assigned, rest)
        elif expr.name == "=":
            self.assign(variable, self.kept(expr.args[1], scope, block), status, scope, block, assigned, rest)
        else:
            self.assign_any(variable, expr.args[1], status, scope, block, assigned, rest)

    def kept(self, expr: Expr, scope: Context, block: Block) -> str:
        """Compile a value that a state will keep."""
        return kept(self.values, expr, scope, block)

    def assign(
        self, variable: str, code: str, status: str, scope: Context, block: Block, assigned: Assigned, rest: Rest
    ) -> None:
        """Write the assignment of one value, taken back after what follows it."""
        after = _with(assigned, variable)
        if status == "no":
            block.emit(f"{NEXT}.{variable} = {code}")
            rest.write(block, after, scope)
            block.emit(f"del {NEXT}.{variable}")
            return
        inner = Block()
        rest.write(inner, after, scope)
        block.nest(f"for _ in _assign({NEXT}, {variable!r}, {code}):", inner)

    def assign_any(
        self, variable: str, domain: Expr, status: str, scope: Context, block: Block, assigned: Assigned, rest: Rest
    ) -> None:
        """Write the assignment of each element of a set in turn."""
        after = _with(assigned, variable)
        inner = Block()
        if status == "maybe":
            rest.write(inner, after, scope)
            code = self.values.expr(domain, scope, block)
            block.nest(f"for _ in _choose_next({NEXT}, {variable!r}, {code}):", inner)
            return
        name = scope.names.fresh("_x")
        inner.emit(f"{NEXT}.{variable} = {name}")
        rest.write(inner, after, scope)
        inner.emit(f"del {NEXT}.{variable}")
        block.nest(f"for {name} in {self.ordered(domain, scope, block)}:", inner)

    def unchanged(self, expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write UNCHANGED: each variable keeps its value."""
        variables = self.flattened(expr.args[0], scope)
        if variables is None:
            self.guard(expr, scope, block, assigned, rest)
        else:
            self.keep(variables, expr, scope, block, assigned, rest)

    def keep(
        self, variables: list[str], expr: Builtin, scope: Context, block: Block, assigned: Assigned, rest: Rest
    ) -> None:
        """Write ``x' = x`` for each of some variables."""
        if not variables:
            rest.write(block, assigned, scope)
            return
        variable = variables[0]
        after = Rest(lambda b, a, _inner: self.keep(variables[1:], expr, scope, b, a, rest), False)
        status = _status(assigned, variable)
        if status != "yes":
            self.assign(variable, f"{scope.now}.{variable}", status, scope, block, assigned, after)
            return
        inner = Block()
        after.write(inner, assigned, scope)
        left, right = f"{NEXT}.{variable}", f"{scope.now}.{variable}"
        self.comparison(expr, left, right, f"_eq({left}, {right})", inner, block, scope)

    def flattened(self, expr: Expr, scope: Context) -> list[str] | None:
        """List the variables of a tuple of variables, definitions such as ``vars`` included."""
        variable = self.plain_variable(expr, scope)
        if variable is not None:
            return [variable]
        if isinstance(expr, Builtin) and expr.name == "$Tuple":
            parts = [self.flattened(arg, scope) for arg in expr.args]
            if any(part is None for part in parts):
                return None
            return [name for part in parts if part is not None for name in part]
        if isinstance(expr, Call):
            binding = scope.env.get(expr.op)
            if isinstance(binding, InlineBinding):
                return self.flattened(binding.expr, binding.scope)
            definition = binding.definition if isinstance(binding, LetBinding) else self.program.definition(expr.op)
            if definition is not None and not definition.params:
                return self.flattened(definition.body, scope)
        return None

    # ---- Quantifiers ----

    def ordered(self, domain: Expr, scope: Context, block: Block) -> str:
        """Compile a domain for iterating over it in its deterministic order."""
        limits = limits_of(self.program, domain)
        if limits is not None:
            return iterable(self.values, domain, scope, block)
        listing = "_sampled" if self.mode == "bound" else "_elements"
        return f"{listing}({self.values.expr(domain, scope, block)})"

    def write_bind(self, expr: Bind, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write a quantifier that stands as a conjunct."""
        if expr.name == "$BoundedExists":
            self.exists(expr.bounds, expr.body, scope, block, assigned, rest)
        elif expr.name == "$BoundedForall" and self.assigns(expr):
            self.forall(expr, scope, block, assigned, rest)
        else:
            self.guard(expr, scope, block, assigned, rest)

    def exists(
        self,
        bounds: tuple[Bound, ...],
        body: Expr,
        scope: Context,
        block: Block,
        assigned: Assigned,
        rest: Rest,
    ) -> None:
        """Write ``\\E``: a loop for each bound, and the body within."""
        if not bounds:
            self.write(body, scope, block, assigned, rest)
            return
        self.loop(bounds[0], scope, block, lambda b, inner: self.exists(bounds[1:], body, inner, b, assigned, rest))

    def loop(self, bound: Bound, scope: Context, block: Block, write: Callable[[Block, Context], None]) -> None:
        """Write a loop over a bound, and its body."""
        if bound.domain is None:
            raise CompileError("an unbounded quantifier is not supported")
        domain = self.ordered(bound.domain, scope, block)
        if self.mode == "why":
            shown = ", ".join(self.program.tree.params[uid].name for uid in bound.params)
            number = self.values.conjunct(bound.domain.loc, f"\\E {shown} \\in ")
            domain = f"_w.domain({number}, {domain})"
        inner_scope, names = self.values.bind_values(bound.params, scope)
        heads = [f"for {name} in {domain}:" for name in names]
        if bound.is_tuple:
            heads = [f"for {', '.join(names)}{',' * (len(names) == 1)} in _tuples({domain}, {len(names)}):"]
        self._nested(heads, names, inner_scope, block, write)

    def _nested(
        self,
        heads: list[str],
        names: list[str],
        scope: Context,
        block: Block,
        write: Callable[[Block, Context], None],
    ) -> None:
        inner = Block()
        if len(heads) > 1:
            self._nested(heads[1:], names, scope, inner, write)
        else:
            if self.mode == "why":
                inner.emit(f"_w.bind({', '.join(f'{name}={name}' for name in names)})")
            write(inner, scope)
            if self.mode == "why":
                inner.emit("_w.release()")
        block.nest(heads[0], inner)

    def forall(self, expr: Bind, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write ``\\A x \\in S : A`` as the conjunction of A over all x, as TLC does."""
        inner_scope, clauses, names = loops(self.values, expr.bounds, scope, block)
        row = f"({', '.join(names)},)"
        rows, each, index = (scope.names.fresh(wanted) for wanted in ("_rows", "_each", "_i"))
        block.emit(f"{rows} = [{row} {clauses}]")
        inside = tuple(sorted({**dict.fromkeys(self.values.variables.values(), "maybe"), **dict(assigned)}.items()))
        if not self.program.reads(expr.body)[1] and self.mode != "init":
            inside = assigned
        local, done, body = Block(), Block(), Block()
        done.emit("yield")
        done.emit("return")
        local.nest(f"if {index} == len({rows}):", done)
        local.emit(f"{', '.join(names)}, = {rows}[{index}]")
        again = Rest(lambda b, a, s: b.emit(f"yield from {each}({index} + 1)"), True)
        self.write(expr.body, inner_scope, local, inside, again)
        block.nest(f"def {each}({index}):", local)
        rest.write(body, inside, scope)
        block.nest(f"for _ in {each}(0):", body)

    # ---- Uses of definitions ----

    def write_call(self, expr: Call, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write the use of a name that stands as a conjunct."""
        binding = scope.env.get(expr.op)
        if isinstance(binding, InlineBinding):
            self.inline_argument(expr, binding, scope, block, assigned, rest)
        elif isinstance(binding, LetBinding):
            inside = binding.scope.of_states(scope)
            self.inline(binding.definition, expr, inside, scope, block, assigned, rest)
        elif binding is not None:
            self.guard(expr, scope, block, assigned, rest)
        else:
            self.call_definition(expr, scope, block, assigned, rest)

    def inline_argument(
        self, expr: Call, binding: InlineBinding, scope: Context, block: Block, assigned: Assigned, rest: Rest
    ) -> None:
        """Write an argument, itself an action, in place of the parameter."""
        outer = binding.scope.of_states(scope)
        if not isinstance(binding.expr, OperatorArg):
            self.write(binding.expr, outer, block, assigned, self._back(scope, rest))
            return
        definition = self.program.definition(binding.expr.op)
        local = outer.env.get(binding.expr.op)
        if isinstance(local, InlineBinding):
            self.inline_argument(expr, local, scope, block, assigned, rest)
        elif definition is None:
            raise CompileError("this operator cannot be used as an action", expr.loc)
        else:
            self.inline(definition, expr, outer, scope, block, assigned, rest)

    def _back(self, scope: Context, rest: Rest) -> Rest:
        return Rest(lambda b, a, _inner: rest.write(b, a, scope), rest.is_small)

    def inline(
        self,
        definition: Definition,
        expr: Call,
        inside: Context,
        scope: Context,
        block: Block,
        assigned: Assigned,
        rest: Rest,
    ) -> None:
        """Write a definition's body in place of its use."""
        with self.values.inlined(definition, expr.loc):
            bound = inside.bind(
                {p: InlineBinding(arg, scope) for p, arg in zip(definition.params, expr.args, strict=True)}
            )
            self.write(definition.body, bound, block, assigned, self._back(scope, rest))

    def call_definition(self, expr: Call, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write the use of a definition: a loop over its generator's ends."""
        definition = self.program.definition(expr.op)
        if definition is None or self.program.standard(definition) is not None:
            self.guard(expr, scope, block, assigned, rest)
            return
        if self.needs_inlining(definition, expr, scope):
            self.inline(definition, expr, replace(scope, env={}, at=()), scope, block, assigned, rest)
            return
        args = arguments(self.values, definition, expr, scope, block)
        name = self.function(definition, assigned)
        states = [str(scope.now) if state == NOW else state for state in self.states()]
        after = self.exit_of(definition, assigned)
        inner = Block()
        rest.write(inner, after, scope)
        use = f"{name}({', '.join([*states, *args])})"
        if inner.lines == ["yield"]:
            block.emit(f"yield from {use}")
        else:
            block.nest(f"for _ in {use}:", inner)

    def needs_inlining(self, definition: Definition, expr: Call, scope: Context) -> bool:
        """Tell whether an argument must reach the body unevaluated: it is an action or a variable to be assigned."""
        if must_inline(self.program, definition, expr, scope):
            return True
        for arg in expr.args:
            if self.mode == "init" and self.plain_variable(arg, scope) is not None:
                return True
            if self.program.reads(arg)[1] and not definition.recursive:
                return True
            if isinstance(arg, (Call, OperatorArg)) and isinstance(scope.env.get(arg.op), InlineBinding):
                return True
        return False

    # ---- Explanations ----

    def conjunct(self, expr: Expr) -> int:
        """Answer the number of a conjunct in the table of conjuncts."""
        return self.values.conjunct(expr.loc)

    def traced_guard(self, expr: Expr, scope: Context, block: Block, assigned: Assigned, rest: Rest) -> None:
        """Write a formula so that the tracer learns whether it holds, and its sides."""
        inner = Block()
        rest.write(inner, assigned, scope)
        sides = self.sides(expr)
        if sides is None:
            code = self.values.test(expr, scope, block)
            self.held(f"if _w.test({self.conjunct(expr)}, {code}):", inner, block)
            return
        left, right = (scope.names.fresh(wanted) for wanted in ("_left", "_right"))
        uids = [self.program.tree.fresh_uid() for _ in sides]
        for name, side in zip((left, right), sides, strict=True):
            block.emit(f"{name} = {self.values.expr(side, scope, block)}")
        bound = scope.bind({uid: ValueBinding(name) for uid, name in zip(uids, (left, right), strict=True)})
        args = tuple(Call(uid, (), expr.loc) for uid in uids)
        assert isinstance(expr, (Builtin, Call))
        again = replace(expr, args=args)
        self.comparison(expr, left, right, self.values.test(again, bound, block), inner, block, scope)

    def sides(self, expr: Expr) -> tuple[Expr, Expr] | None:
        """Answer both sides of a comparison."""
        if isinstance(expr, Builtin) and expr.name in ("=", "#", "\\in", "\\notin", "\\subseteq"):
            return expr.args[0], expr.args[1]
        if isinstance(expr, Call) and len(expr.args) == 2:
            definition = self.program.definition(expr.op)
            if definition is not None and self.program.standard(definition) in _ORDERS:
                return expr.args[0], expr.args[1]
        return None

    def comparison(
        self, expr: Expr, left: str, right: str, code: str, inner: Block, block: Block, scope: Context
    ) -> None:
        """Write a conjunct that compares two values, and what follows it."""
        if self.mode == "why":
            self.held(f"if _w.compare({self.conjunct(expr)}, {code}, {left}, {right}):", inner, block)
        else:
            block.nest(f"if {code}:", inner)

    def held(self, head: str, inner: Block, block: Block) -> None:
        """Write a traced conjunct: while what follows it runs, it counts as held."""
        inner.emit("_w.release()")
        block.nest(head, inner)


_ORDERS = {("Naturals", name) for name in ("<", ">", "\\leq", "\\geq")}
