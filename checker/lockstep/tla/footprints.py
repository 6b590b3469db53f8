"""Footprints: the parts of a formula, and what of a state each part reads.

A formula is a conjunction over the elements of constant sets, such as the nodes, as far as it can be taken apart so:
``\\A n \\in Node : P(n)``, ``P /\\ Q``, ``r \\in [a: S, b: T]``. Each part with its elements is an instance, whose
value depends on its footprint alone: paths into the state, such as ``node``, n, ``log``. So an instance need be
evaluated again only after a step that changed something on one of its paths. Nothing here evaluates anything.

A footprint may be too large, which costs time, but never too small: whatever is not understood reads all variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lockstep.tla.analysis import Program
from lockstep.tla.syntax import Bind, Bound, Builtin, Call, Definition, Expr, Let, OperatorArg, String

#: A step of a path: the number of a bound element, a key, or None for any.
Step = int | str | None
Path = tuple[str, *tuple[Step, ...]]

#: Paths are no longer than this: a variable and two steps into it.
LENGTH = 3


@dataclass(frozen=True)
class Within:
    """One step from a formula down to a part: elements of constant sets, or the use of a definition."""

    bound: Bound | None = None
    use: Call | None = None
    definition: Definition | None = None


@dataclass(frozen=True)
class Part:
    """A conjunct: how it is reached, its formula, and its footprint, in which numbers are those of the elements."""

    frames: tuple[Within, ...]
    body: Expr
    footprint: frozenset[Path]


@dataclass(frozen=True)
class _Element:
    """A name bound to an element of a constant set: its number."""

    number: int


@dataclass(frozen=True)
class _Argument:
    """A parameter that stands for an expression, in the scope of its call."""

    expr: Expr
    scope: _Scope
    within: frozenset[int]


#: What the bound names mean; None: an element of a set that is not constant.
_Scope = dict[int, "_Element | _Argument | None"]


def parts(program: Program, formula: Expr) -> Iterator[Part]:
    """Take a formula apart; together the parts say what it says."""
    yield from _Splitter(program).split(formula, (), {}, 0)


class _Splitter:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.variables = {each.uid: each.name for each in program.variables()}
        self.everything: frozenset[Path] = frozenset((name,) for name in self.variables.values())

    # ---- Parts ----

    def split(self, expr: Expr, frames: tuple[Within, ...], scope: _Scope, count: int) -> Iterator[Part]:
        if isinstance(expr, Builtin) and expr.name == "\\land":
            for each in expr.args:
                yield from self.split(each, frames, scope, count)
        elif (
            isinstance(expr, Builtin) and expr.name == "\\in" and (fields := self._record_set(expr.args[1])) is not None
        ):
            yield from self._of_a_record(expr, fields, frames, scope)
        elif isinstance(expr, Bind) and expr.name == "$BoundedForall" and self._are_constant(expr.bounds):
            for bound in expr.bounds:
                frames = (*frames, Within(bound=bound))
                scope = scope | {uid: _Element(count + number) for number, uid in enumerate(bound.params)}
                count += len(bound.params)
            yield from self.split(expr.body, frames, scope, count)
        elif isinstance(expr, Call) and (definition := self._opened(expr)) is not None:
            yield from self.split(definition.body, (*frames, Within(use=expr, definition=definition)), {}, count)
        else:
            yield Part(frames, expr, self.footprint(expr, scope))

    def _are_constant(self, bounds: tuple[Bound, ...]) -> bool:
        return all(
            bound.domain is not None and not bound.is_tuple and self.program.is_constant(bound.domain)
            for bound in bounds
        )

    def _opened(self, call: Call) -> Definition | None:
        """Return the definition of a conjunct that only has a name: one without parameters."""
        definition = self.program.definition(call.op)
        if definition is None or definition.params or definition.recursive or self.program.standard(definition):
            return None
        return definition if definition.uid not in self.program.values else None

    def _record_set(self, expr: Expr) -> tuple[Builtin, tuple[Within, ...]] | None:
        """Return ``[a: S, b: T]``, and the uses of definitions that lead to it, if that is what an expression is."""
        uses: tuple[Within, ...] = ()
        while isinstance(expr, Call):
            definition = self.program.definition(expr.op)
            if definition is None or definition.recursive or definition.uid in self.program.values:
                return None
            uses = (*uses, Within(use=expr, definition=definition))
            expr = definition.body
        return (expr, uses) if isinstance(expr, Builtin) and expr.name == "$SetOfRcds" else None

    def _of_a_record(
        self, expr: Builtin, fields: tuple[Builtin, tuple[Within, ...]], frames: tuple[Within, ...], scope: _Scope
    ) -> Iterator[Part]:
        """Yield that the record has these fields, no others, and that each is in its set, where that is constant."""
        record, _ = expr.args
        told, uses = fields
        path = self.path(record, scope)
        if path is None or len(path) >= LENGTH or not self.program.is_constant(expr.args[1]):
            yield Part(frames, expr, self.footprint(expr, scope))
            return
        names = Builtin("$SetEnumerate", tuple(pair.args[0] for pair in _pairs(told)), expr.loc)
        domain = Builtin("DOMAIN", (record,), expr.loc)
        yield Part(frames, Builtin("=", (domain, names), expr.loc), frozenset({path}))
        for pair in _pairs(told):
            name = pair.args[0]
            assert isinstance(name, String)
            value = Builtin("$FcnApply", (record, name), expr.loc)
            member = Builtin("\\in", (value, pair.args[1]), expr.loc)
            yield Part((*frames, *uses), member, frozenset({(*path, name.value)}))

    # ---- Footprints ----

    def footprint(self, expr: Expr, scope: _Scope) -> frozenset[Path]:
        found: set[Path] = set()
        self._read(expr, scope, found, frozenset())
        return frozenset(found)

    def path(self, expr: Expr, scope: _Scope) -> Path | None:
        """Return the path that an expression is, cut to LENGTH; None if it is none."""
        if isinstance(expr, Builtin) and expr.name == "'":
            return self.path(expr.args[0], scope)
        if isinstance(expr, Builtin) and expr.name == "$FcnApply":
            path = self.path(expr.args[0], scope)
            return None if path is None else (*path, self._step(expr.args[1], scope))[:LENGTH]  # type: ignore[return-value]
        if not isinstance(expr, Call) or expr.args:
            return None
        bound = scope.get(expr.op)
        if isinstance(bound, _Argument):
            return self.path(bound.expr, bound.scope)
        uid = self.program.target(expr.op)
        if uid in self.variables:
            return (self.variables[uid],)
        definition = self.program.definition(expr.op)
        if definition is None or definition.params or definition.recursive or expr.op in scope:
            return None
        return self.path(definition.body, scope)

    def _step(self, expr: Expr, scope: _Scope) -> Step:
        if isinstance(expr, String):
            return expr.value
        if isinstance(expr, Call) and not expr.args:
            bound = scope.get(expr.op)
            if isinstance(bound, _Element):
                return bound.number
            if isinstance(bound, _Argument):
                return self._step(bound.expr, bound.scope)
        return None

    def _read(self, expr: Expr, scope: _Scope, found: set[Path], within: frozenset[int]) -> None:
        path = self.path(expr, scope)
        if path is not None:
            found.add(path)
            self._read_indexes(expr, scope, found, within)
        elif isinstance(expr, Call):
            self._read_call(expr.op, expr.args, scope, found, within)
        elif isinstance(expr, OperatorArg):
            if expr.builtin is None:
                found |= self.everything
        elif isinstance(expr, Bind):
            inside = dict(scope)
            for bound in expr.bounds:
                if bound.domain is not None:
                    self._read(bound.domain, inside, found, within)
                inside |= dict.fromkeys(bound.params)
            self._read(expr.body, inside, found, within)
        elif isinstance(expr, Let):
            self._read(expr.body, scope, found, within)
        elif isinstance(expr, Builtin):
            for each in expr.args:
                self._read(each, scope, found, within)

    def _read_indexes(self, expr: Expr, scope: _Scope, found: set[Path], within: frozenset[int]) -> None:
        """Add what the indexes on the way of a path read, also where a name stands for it."""
        if isinstance(expr, Builtin):
            self._read_indexes(expr.args[0], scope, found, within)
            for index in expr.args[1:]:
                self._read(index, scope, found, within)
        elif isinstance(expr, Call):
            bound = scope.get(expr.op)
            if isinstance(bound, _Argument):
                self._read_indexes(bound.expr, bound.scope, found, within)
            elif (definition := self.program.definition(expr.op)) is not None:
                self._read_indexes(definition.body, scope, found, within)

    def _read_call(
        self, op: int, args: tuple[Expr, ...], scope: _Scope, found: set[Path], within: frozenset[int]
    ) -> None:
        if op in scope:
            bound = scope[op]
            if isinstance(bound, _Argument):
                self._read_argument(bound, args, found)
            for each in args:
                self._read(each, scope, found, within)
            return
        definition = self.program.definition(op)
        if definition is None or self.program.standard(definition) or definition.uid in within:
            for each in args:
                self._read(each, scope, found, within)
            if definition is not None and definition.uid in within:
                found |= self.everything
            return
        if definition.uid in self.program.values:
            return
        inside = scope | {uid: _Argument(arg, scope, within) for uid, arg in zip(definition.params, args, strict=True)}
        self._read(definition.body, inside, found, within | {definition.uid})

    def _read_argument(self, bound: _Argument, args: tuple[Expr, ...], found: set[Path]) -> None:
        if isinstance(bound.expr, OperatorArg):
            if args:  # an operator that was passed: what it does with its arguments is not followed
                found |= self.everything
        else:
            self._read(bound.expr, bound.scope, found, bound.within)


def _pairs(told: Builtin) -> Iterator[Builtin]:
    for pair in told.args:
        assert isinstance(pair, Builtin)
        yield pair
