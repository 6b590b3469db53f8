"""Footprints: the parts of a formula, and the paths into the state that each part reads.

A formula is a conjunction over the elements of constant sets, such as the nodes, as far as it can be taken apart so:
``\\A n \\in Node : P(n)``, ``P /\\ Q``, ``r \\in [a: S, b: T]``. Each part with its elements is an instance, whose
value depends on its footprint alone: paths into the state, such as ``node``, n, ``log``. So an instance need be
evaluated again only after a step that changed something on one of its paths. Nothing here evaluates anything.

An example. For the invariant ::

    Safe == \\A n \\in Node : \\A c \\in done : c.index <= state[n].mark => state[n].log[c.index] = c.entry

with two nodes there are two instances, since Node is constant. The instance of n1 (the element with number 0) has the
footprint ``done``, ``state[0].mark``, ``state[0].log``. A step that changes ``state[n2].log`` leaves n1's alone. A step
that appends to ``state[n1].log`` affects n1's, but not all of it: it says something of *each* c of the set ``done`` of
the state, and reads the log at the index ``c.index`` only. So the part has an :class:`Each` with ``domain`` = ``done``,
``at`` = (``state[0].log``, "index", 0) and a :class:`Threshold` for ``c.index <= state[n].mark``;
:mod:`lockstep.conformance.affected_elements` then tests the c whose index is one that changed, and, where the mark rose
from 4 to 6, those with index 5 and 6.

A footprint may be too large, which costs time, but never too small: what is not understood reads all variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lockstep.tla.compile.context_facts import limits_of
from lockstep.tla.compile.expression_forms import FunctionPart, part_of_function
from lockstep.tla.compile.keyed_bounds import key_of
from lockstep.tla.compile.next_actions import Frame
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.quantifier_prefix import QuantifierPrefix, prefix_of
from lockstep.tla.syntax.tree import (
    Bind,
    Bound,
    Builtin,
    Call,
    Definition,
    Expr,
    Number,
    OperatorArg,
    String,
    children,
    within,
)

#: A step of a path: the number of a bound element, a key, or None for any.
_Step = int | str | None
Path = tuple[str, *tuple[_Step, ...]]

#: Paths are no longer than this: a variable and two steps into it.
MAX_PATH_LENGTH = 3


@dataclass(frozen=True)
class Part:
    """A conjunct: how it is reached, its formula, and its footprint, in which numbers are those of the elements."""

    frames: tuple[Frame, ...]
    body: Expr
    footprint: frozenset[Path]
    eaches: tuple[Each, ...] = ()


@dataclass(frozen=True, eq=False)
class Threshold:
    """A comparison of a number of the element, ``x + offset`` or ``x.key + offset``, with one of the state alone."""

    key: str | None
    offset: int
    limit: Expr
    scope: Scope
    footprint: frozenset[Path]


@dataclass(frozen=True)
class IndexedRead:
    """A function of the state that is read at ``x + offset`` or ``x.key + offset``, which may lie in its domain."""

    path: Path
    key: str | None
    offset: int


@dataclass(frozen=True)
class Selection:
    """A set of the state that is read as far as the field of an element is ``x + offset``, or ``x.key + offset``."""

    path: Path
    field: str
    key: str | None
    offset: int


@dataclass(frozen=True, eq=False)
class Each:
    """A part that says something of every element of a set or range of the state: ``\\A x \\in D : P(x)``, or
    ``guard => \\A x \\in D : P(x)``. ``\\A x \\in D : \\A y \\in E : P(x, y)`` is one for x and one for y: a pair is
    affected where either is, so that what is read for y does not affect every x.

    Where only the domain, a function at an index of x, a set as far as a field has a number of x, or the limit of a
    comparison changed, no more than some elements are affected. `whole` is what else P reads.
    """

    bound: Bound
    body: Expr
    range: tuple[Expr, ...] | None
    domain: frozenset[Path]
    whole: frozenset[Path]
    at: frozenset[IndexedRead]
    selections: frozenset[Selection]
    thresholds: tuple[Threshold, ...]
    guard: Expr | None = None


@dataclass(frozen=True)
class _Element:
    """A name bound to an element of a constant set: its number."""

    number: int


@dataclass(frozen=True)
class CallArgument:
    """A parameter that stands for an expression, in the scope of its call."""

    expr: Expr
    scope: Scope
    within: frozenset[int]


@dataclass(frozen=True)
class _BoundName:
    """A name bound by an Each: its own, or that of another Each of the same part."""

    is_own: bool


@dataclass(frozen=True)
class _Number:
    """A number of the element that a name stands for: ``x + offset`` or ``x.key + offset``."""

    name: _BoundName
    key: str | None
    offset: int


#: The meaning of bound names; None: an element of a set that is not constant.
Scope = dict[int, "_Element | CallArgument | _BoundName | None"]
_NAME, _OTHER = _BoundName(is_own=True), _BoundName(is_own=False)
_OF_BOTH_STATES = frozenset({"'", "UNCHANGED", "ENABLED", "$SquareAct", "$AngleAct"})
_COMPARISONS = frozenset(("Naturals", name) for name in ("<", ">", "\\leq", "\\geq"))


@dataclass(frozen=True)
class _Record:
    """A record, its domain without the fields that are left out, the frames that lead there, and their scope."""

    expr: Expr
    domain: Expr
    left_out: frozenset[str]
    frames: tuple[Frame, ...]
    scope: Scope


def parts(program: Program, formula: Expr) -> Iterator[Part]:
    """Split a formula into parts whose conjunction it is."""
    yield from _Splitter(program).split(formula, (), {}, 0)


def footprint_of(program: Program, definition: Definition) -> frozenset[Path]:
    """Return the footprint of a definition; numbers are those of its parameters."""
    scope: Scope = {uid: _Element(number) for number, uid in enumerate(definition.params)}
    return _Splitter(program).footprint(definition.body, scope)


def read_by(program: Program, frames: Iterable[Frame], body: Expr) -> frozenset[str]:
    """Return the variables that the effect of an action depends on, given the frames from Next to its body.

    Any other variable stays as it is, whatever it is: the action says no more of it than UNCHANGED.
    """
    reader = _ActionReader(program)
    for frame in frames:
        if frame.bound is not None and frame.bound.domain is not None:
            reader.read(frame.bound.domain)
        for argument in () if frame.use is None else frame.use.args:
            reader.read(argument)
    reader.read(body)
    return frozenset(reader.found)


class _Splitter:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.variables = {each.uid: each.name for each in program.variables()}
        self.everything: frozenset[Path] = frozenset((name,) for name in self.variables.values())
        self._followed: dict[int, CallArgument] = {}

    # ---- Parts ----

    def split(self, expr: Expr, frames: tuple[Frame, ...], scope: Scope, count: int) -> Iterator[Part]:
        if isinstance(expr, Builtin) and expr.name == "\\land":
            for each in expr.args:
                yield from self.split(each, frames, scope, count)
        elif (
            isinstance(expr, Builtin) and expr.name == "\\in" and (fields := self._record_set(expr.args[1])) is not None
        ):
            yield from self._split_record(expr, fields, frames, scope)
        elif isinstance(expr, Bind) and expr.name == "$BoundedForall" and self._are_constant(expr.bounds):
            for bound in expr.bounds:
                frames = (*frames, Frame(bound=bound))
                scope = scope | {uid: _Element(count + number) for number, uid in enumerate(bound.params)}
                count += len(bound.params)
            yield from self.split(expr.body, frames, scope, count)
        elif isinstance(expr, Call) and (definition := self.program.named_definition(expr)) is not None:
            yield from self.split(definition.body, (*frames, Frame(use=expr, definition=definition)), {}, count)
        else:
            yield Part(frames, expr, self.footprint(expr, scope), self._eaches(expr, scope))

    def _eaches(self, expr: Expr, scope: Scope) -> tuple[Each, ...]:
        if isinstance(expr, Builtin) and expr.name == "=>":
            guard, then = expr.args
            eaches = self._eaches(then, scope)
            if any(each.guard is not None for each in eaches):
                return ()
            reads = self.footprint(guard, scope)
            return tuple(replace(each, guard=guard, whole=each.whole | reads) for each in eaches)
        prefix = prefix_of(self.program, expr)
        return tuple(self._each(prefix, number, scope) for number in range(len(prefix.bounds)))

    def _each(self, prefix: QuantifierPrefix, number: int, scope: Scope) -> Each:
        """Return what quantifiers say of every element of one of their bounds."""
        bound = prefix.bounds[number]
        assert bound.domain is not None
        reader = _EachReader(self.program)
        inside: Scope = {**scope, **{other.params[0]: _OTHER for other in prefix.bounds}, bound.params[0]: _NAME}
        whole = frozenset[Path]().union(*(reader.footprint(each, inside) for each in (*prefix.tests, prefix.body)))
        domain = self.footprint(bound.domain, scope)
        limits = limits_of(self.program, bound.domain)
        found = (frozenset(reader.at), frozenset(reader.selections), tuple(reader.thresholds))
        return Each(bound, prefix.beginning_with(number), limits, domain, whole, *found)

    def _are_constant(self, bounds: tuple[Bound, ...]) -> bool:
        return all(
            bound.domain is not None and not bound.is_tuple and self.program.is_constant(bound.domain)
            for bound in bounds
        )

    def _record_set(self, expr: Expr) -> tuple[Builtin, tuple[Frame, ...]] | None:
        """Return ``[a: S, b: T]``, and the uses of definitions that lead to it, if that is what an expression is."""
        uses: tuple[Frame, ...] = ()
        while isinstance(expr, Call):
            definition = self.program.definition(expr.op)
            if definition is None or definition.recursive or definition.uid in self.program.values:
                return None
            uses = (*uses, Frame(use=expr, definition=definition))
            expr = definition.body
        return (expr, uses) if isinstance(expr, Builtin) and expr.name == "$SetOfRcds" else None

    def _split_record(
        self, expr: Builtin, fields: tuple[Builtin, tuple[Frame, ...]], frames: tuple[Frame, ...], scope: Scope
    ) -> Iterator[Part]:
        """Yield that the record has these fields, no others, and that each is in its set, where that is constant."""
        sets, uses = fields
        record = self._record(expr.args[0], frames, scope)
        path = self.path(record.expr, record.scope)
        if path is None or len(path) >= MAX_PATH_LENGTH or not self.program.is_constant(expr.args[1]):
            yield Part(frames, expr, self.footprint(expr, scope))
            return
        names = Builtin("$SetEnumerate", tuple(pair.args[0] for pair in _pairs(sets)), expr.loc)
        indexes = self.footprint(record.expr, record.scope) - {path[:MAX_PATH_LENGTH]}
        yield Part(record.frames, Builtin("=", (record.domain, names), expr.loc), frozenset({path}) | indexes)
        for pair in _pairs(sets):
            name = pair.args[0]
            assert isinstance(name, String)
            if name.value not in record.left_out:
                value = Builtin("$FcnApply", (record.expr, name), expr.loc)
                member = Builtin("\\in", (value, pair.args[1]), expr.loc)
                yield Part((*record.frames, *uses), member, frozenset({(*path, name.value)}) | indexes)

    def _record(self, expr: Expr, frames: tuple[Frame, ...], scope: Scope) -> _Record:
        """Return a record; the whole one of ``[f \\in DOMAIN r \\ {"a"} |-> r[f]]``."""
        whole = _Record(expr, Builtin("DOMAIN", (expr,), expr.loc), frozenset(), frames, scope)
        definition = self.program.own_definition(expr.op) if isinstance(expr, Call) else None
        if not isinstance(expr, Call) or expr.op in scope or definition is None or definition.recursive:
            return whole
        part = part_of_function(definition.body)
        names = _left_out(part)
        if part is None or names is None:
            return whole
        given = {
            uid: CallArgument(arg, scope, frozenset()) for uid, arg in zip(definition.params, expr.args, strict=True)
        }
        use = Frame(use=expr, definition=definition)
        return _Record(part.function, part.domain, names, (*frames, use), {**given})

    # ---- Footprints ----

    def footprint(self, expr: Expr, scope: Scope) -> frozenset[Path]:
        found: set[Path] = set()
        self._followed = {}
        self._read(expr, scope, found, frozenset())
        return frozenset(found)

    def path(self, expr: Expr, scope: Scope) -> Path | None:
        """Return the path that an expression is; None if it is none."""
        if isinstance(expr, Builtin) and expr.name == "'":
            return self.path(expr.args[0], scope)
        if isinstance(expr, Builtin) and expr.name == "$FcnApply":
            path = self.path(expr.args[0], scope)
            return None if path is None else (*path, self._step(expr.args[1], scope))
        if not isinstance(expr, Call) or expr.args:
            return None
        bound = scope.get(expr.op)
        if isinstance(bound, CallArgument):
            return self.path(bound.expr, bound.scope)
        uid = self.program.target(expr.op)
        if uid in self.variables:
            return (self.variables[uid],)
        definition = self.program.definition(expr.op)
        if definition is None or definition.params or definition.recursive or expr.op in scope:
            return None
        return self.path(definition.body, scope)

    def _step(self, expr: Expr, scope: Scope) -> _Step:
        if isinstance(expr, String):
            return expr.value
        if isinstance(expr, Call) and not expr.args:
            bound = scope.get(expr.op)
            if isinstance(bound, _Element):
                return bound.number
            if isinstance(bound, CallArgument):
                return self._step(bound.expr, bound.scope)
        return None

    def _read(self, expr: Expr, scope: Scope, found: set[Path], within: frozenset[int]) -> None:
        path = self.path(expr, scope)
        if path is not None:
            found.add(path[:MAX_PATH_LENGTH])  # type: ignore[arg-type]  # a slice of a path is one
            for index, its_scope in self._indexes(expr, scope):
                self._read(index, its_scope, found, within)
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
        else:
            for each in children(expr):
                self._read(each, scope, found, within)

    def _indexes(self, expr: Expr, scope: Scope) -> list[tuple[Expr, Scope]]:
        """Return the indexes within a path, also where names stand for it."""
        if isinstance(expr, Builtin):
            return [*self._indexes(expr.args[0], scope), *((index, scope) for index in expr.args[1:])]
        if isinstance(expr, Call) and isinstance(bound := scope.get(expr.op), CallArgument):
            return self._indexes(bound.expr, bound.scope)
        if isinstance(expr, Call) and (definition := self.program.definition(expr.op)) is not None:
            return self._indexes(definition.body, scope)
        return []

    def _read_call(
        self, op: int, args: tuple[Expr, ...], scope: Scope, found: set[Path], within: frozenset[int]
    ) -> None:
        if op in scope:
            bound = scope[op]
            if isinstance(bound, CallArgument):
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
        inside = scope | {
            uid: CallArgument(arg, scope, within) for uid, arg in zip(definition.params, args, strict=True)
        }
        self._read(definition.body, inside, found, within | {definition.uid})

    def _read_argument(self, bound: CallArgument, args: tuple[Expr, ...], found: set[Path]) -> None:
        if isinstance(bound.expr, OperatorArg):
            if args:  # an operator that was passed: what it does with its arguments is not followed
                found |= self.everything
        elif id(bound) not in self._followed:  # each is followed once, however often the definition uses it
            self._followed[id(bound)] = bound
            self._read(bound.expr, bound.scope, found, bound.within)


def _left_out(part: FunctionPart | None) -> frozenset[str] | None:
    """Return the fields that ``[f \\in DOMAIN r \\ {"a"} |-> r[f]]`` leaves out; None of any other expression."""
    if part is None or part.operator != "\\":
        return None
    if not isinstance(part.other, Builtin) or part.other.name != "$SetEnumerate":
        return None
    found = frozenset(name.value for name in part.other.args if isinstance(name, String))
    return found if len(found) == len(part.other.args) else None


def _pairs(sets: Builtin) -> Iterator[Builtin]:
    for pair in sets.args:
        assert isinstance(pair, Builtin)
        yield pair


class _ActionReader:
    """Reader of an action, which skips the variables that it leaves unchanged; each definition is read once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.found: set[str] = set()
        self._variables = {each.uid: each.name for each in program.variables()}
        self._opened: set[int] = set()

    def read(self, expr: Expr) -> None:
        """Find the variables that an expression, or what it uses, depends on."""
        waiting = [expr]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Builtin) and each.name == "UNCHANGED" and self._are_variables(each.args[0]):
                continue
            waiting += within(each, self.program.tree)
            if isinstance(each, Call | OperatorArg):
                waiting += self._used(each.op)

    def _used(self, op: int) -> Iterator[Expr]:
        uid = self.program.target(op)
        if uid in self._variables:
            self.found.add(self._variables[uid])
            return
        definition = self.program.own_definition(op)
        if definition is not None and definition.uid not in self._opened:
            self._opened.add(definition.uid)
            yield definition.body

    def _are_variables(self, expr: Expr) -> bool:
        """Return whether an expression is a variable, or a tuple of some: ``UNCHANGED (x * y)`` depends on more."""
        if isinstance(expr, Builtin) and expr.name == "$Tuple":
            return all(self._are_variables(each) for each in expr.args)
        if isinstance(expr, Call) and self.program.target(expr.op) in self._variables:
            return True
        definition = self.program.named_definition(expr)
        return definition is not None and self._are_variables(definition.body)


class _EachReader(_Splitter):
    """Reader of a formula about the elements of a set, which separates the reads that affect one element only.

    What is read so for another name of the same quantifiers is left out: it affects an element of that one.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.at: set[IndexedRead] = set()
        self.selections: set[Selection] = set()
        self.thresholds: list[Threshold] = []

    def _read(self, expr: Expr, scope: Scope, found: set[Path], within: frozenset[int]) -> None:
        if isinstance(expr, Builtin) and expr.name in _OF_BOTH_STATES and self.path(expr, scope) is None:
            # What is a limit in the one state is another in the next: no difference is made here.
            for each in expr.args:
                _Splitter(self.program)._read(each, scope, found, within)
        elif (indexed := self._indexed(expr, scope)) is not None:
            path, number, others = indexed
            if number.name.is_own:
                self.at.add(IndexedRead(path, number.key, number.offset))
            for index, its_scope in others:
                self._read(index, its_scope, found, within)
        elif (threshold := self._threshold(expr, scope)) is not None:
            if threshold.footprint:
                self.thresholds.append(threshold)
        elif isinstance(expr, Bind) and (selected := self._selected(expr, scope)) is not None:
            path, field, number, others = selected
            if number.name.is_own:
                self.selections.add(Selection(path, field, number.key, number.offset))
            for index, its_scope in others:
                self._read(index, its_scope, found, within)
            self._read(expr.body, scope | dict.fromkeys(expr.bounds[0].params), found, within)
        else:
            super()._read(expr, scope, found, within)

    def _indexed(self, expr: Expr, scope: Scope) -> tuple[Path, _Number, list[tuple[Expr, Scope]]] | None:
        """Return a path and the number at which the function there is read, if an expression does no more than that.

        It is the value at that index, or within that, or asks whether there is one. With it come the other indexes on
        the way, in their scopes.
        """
        others: list[tuple[Expr, Scope]] = []
        if isinstance(expr, Builtin) and expr.name in ("\\in", "\\notin"):
            value, domain = expr.args
            if not isinstance(domain, Builtin) or domain.name != "DOMAIN":
                return None
            path, number = self.path(domain.args[0], scope), self._number(value, scope)
            found = self._indexes(domain.args[0], scope)
            return None if path is None or number is None else (path, number, found)
        while True:
            if isinstance(expr, Builtin) and expr.name == "$FcnApply":
                path, number = self.path(expr.args[0], scope), self._number(expr.args[1], scope)
                if path is not None and number is not None:
                    return path, number, others + self._indexes(expr.args[0], scope)
                others.append((expr.args[1], scope))
                expr = expr.args[0]
            elif isinstance(expr, Builtin) and expr.name == "'":
                expr = expr.args[0]
            elif isinstance(expr, Call) and not expr.args and isinstance(bound := scope.get(expr.op), CallArgument):
                expr, scope = bound.expr, bound.scope
            else:
                return None

    def _number(self, expr: Expr, scope: Scope) -> _Number | None:
        """Return the number that an expression is."""
        if (name := self._name(expr, scope)) is not None:
            return _Number(name, None, 0)
        if isinstance(expr, Builtin) and expr.name == "$FcnApply":
            name, key = self._name(expr.args[0], scope), expr.args[1]
            return _Number(name, key.value, 0) if name is not None and isinstance(key, String) else None
        if not isinstance(expr, Call):
            return None
        if isinstance(bound := scope.get(expr.op), CallArgument) and not expr.args:
            return self._number(bound.expr, bound.scope)
        sign = {("Naturals", "+"): 1, ("Naturals", "-"): -1}.get(self.program.standard_use(expr.op) or ("", ""))
        if sign is None or not isinstance(expr.args[1], Number):
            return None
        number = self._number(expr.args[0], scope)
        return None if number is None else replace(number, offset=number.offset + sign * expr.args[1].value)

    def _name(self, expr: Expr, scope: Scope) -> _BoundName | None:
        """Return the name that an expression is."""
        if not isinstance(expr, Call) or expr.args:
            return None
        bound = scope.get(expr.op)
        if isinstance(bound, CallArgument):
            return self._name(bound.expr, bound.scope)
        return bound if isinstance(bound, _BoundName) else None

    def _threshold(self, expr: Expr, scope: Scope) -> Threshold | None:
        """Return the comparison that an expression is; one that affects no element of this name has no footprint."""
        equals = isinstance(expr, Builtin) and expr.name == "="
        if not equals and not (isinstance(expr, Call) and self.program.standard_use(expr.op) in _COMPARISONS):
            return None
        assert isinstance(expr, Call | Builtin)
        for mine, other in (expr.args, expr.args[::-1]):
            number = self._number(mine, scope)
            if number is not None and not self._depends_on_element(other, scope, frozenset()):
                reads = _Splitter(self.program).footprint(other, scope) if number.name.is_own else frozenset[Path]()
                return Threshold(number.key, number.offset, other, scope, reads)
        return None

    def _selected(self, expr: Bind, scope: Scope) -> tuple[Path, str, _Number, list[tuple[Expr, Scope]]] | None:
        """Return a path to a set, a field and the number in it that selects the elements which an expression reads.

        With it come the indexes on the way, in their scopes.
        """
        key, domain = key_of(self.program, expr), expr.bounds[0].domain
        if key is None or domain is None:
            return None
        path, number = self.path(domain, scope), self._number(key.value, scope)
        return None if path is None or number is None else (path, key.field, number, self._indexes(domain, scope))

    def _depends_on_element(self, expr: Expr, scope: Scope, within: frozenset[int]) -> bool:
        """Return whether an expression depends on the element, or on another name bound beside it."""
        if isinstance(expr, Call):
            bound = scope.get(expr.op)
            if isinstance(bound, _BoundName) or (bound is None and expr.op in scope):
                return True
            if isinstance(bound, CallArgument) and self._depends_on_element(bound.expr, bound.scope, within):
                return True
            definition = self.program.own_definition(expr.op)
            opens = definition is not None and definition.uid not in within
            if opens and definition and self._depends_on_element(definition.body, scope, within | {definition.uid}):
                return True
        if isinstance(expr, OperatorArg):
            return True
        return any(self._depends_on_element(each, scope, within) for each in children(expr))
