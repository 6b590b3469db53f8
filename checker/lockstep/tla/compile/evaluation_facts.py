"""Evaluation of expressions: the states that they read, the parameters that they need, those that they prime."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lockstep.tla.compile.configured import Configured
from lockstep.tla.syntax.cfg import Cfg
from lockstep.tla.syntax.standard_modules import PRINTING, REGISTERS
from lockstep.tla.syntax.tree import (
    AtSign,
    Bind,
    Builtin,
    Call,
    Definition,
    Expr,
    Let,
    Number,
    OperatorArg,
    String,
    SyntaxTree,
    walk,
)

_LAZY_AFTER_FIRST = frozenset({"\\land", "\\lor", "=>", "$Case"})


@dataclass
class DefinitionFacts:
    """The facts about one definition.

    Attributes:
        reads_now: it mentions variables of the current state.
        reads_next: it mentions variables of the next state.
        strict: the parameters certainly evaluated whenever the body is.
        primed: the parameters that occur under a prime (or UNCHANGED, ENABLED), here or in what is called.
        primed_outside: those of them that are under a prime outside ENABLED, so that their next state matters.
        only_enabled: the parameters that occur within ENABLED alone.
        boolean: its value is TRUE or FALSE, if it has one.
        branches: as a conjunct of an action it may hold in several ways (it has a disjunction or an exists).
        branches_applied: its value is a function that, applied as a conjunct of an action, may hold in several ways.
        lazy: its value may have something unlisted in it: a set such as ``SUBSET S``, or a function computed on demand.
        listed: its value is a set with its elements listed, if it has one.
        makes_function: its value is a function that it writes out, ``[x \\in S |-> e]``.
    """

    reads_now: bool = False
    reads_next: bool = False
    strict: frozenset[int] = frozenset()
    primed: frozenset[int] = frozenset()
    primed_outside: frozenset[int] = frozenset()
    only_enabled: frozenset[int] = frozenset()
    boolean: bool = True
    branches: bool = False
    branches_applied: bool = False
    lazy: bool = False
    listed: bool = False
    makes_function: bool = False


class EvaluationFacts(Configured):
    """The evaluation of the expressions of a configured tree, by the facts about its definitions."""

    def __init__(self, tree: SyntaxTree, cfg: Cfg) -> None:
        super().__init__(tree, cfg)
        self.facts: dict[int, DefinitionFacts] = {}
        self.has_registers = any(self._uses(REGISTERS, definition) for definition in tree.definitions.values())

    @cached_property
    def is_pure(self) -> bool:
        """Whether repeated evaluation makes no difference: no registers are used, and nothing is printed."""
        return not any(self._uses(REGISTERS | PRINTING, definition) for definition in self.tree.definitions.values())

    def matters_when(self, expr: Expr) -> bool:
        """Return whether an expression reads or writes registers or prints, itself or by a definition it uses."""
        return not self.is_pure and any(
            isinstance(part, (Call, OperatorArg)) and self._is_impure(part.op) for part in walk(expr, self.tree)
        )

    def _is_impure(self, uid: int) -> bool:
        definition = self.definition(uid)
        return definition is not None and (
            definition.uid in self._impure or self.standard(definition) in REGISTERS | PRINTING
        )

    @cached_property
    def _impure(self) -> frozenset[int]:
        """The definitions whose value depends on when, or how often, it is computed."""
        found: set[int] = set()
        own = [each for each in self.tree.definitions.values() if self.standard(each) is None]
        pending = [each for each in own if self._uses(REGISTERS | PRINTING, each)]
        users: dict[int, list[Definition]] = {}
        for each in own:
            for part in walk(each.body, self.tree):
                if isinstance(part, (Call, OperatorArg)) and (used := self.definition(part.op)) is not None:
                    users.setdefault(used.uid, []).append(each)
        while pending:
            each = pending.pop()
            if each.uid not in found:
                found.add(each.uid)
                pending += users.get(each.uid, ())
        return frozenset(found)

    def _uses(self, operators: frozenset[tuple[str, str]], definition: Definition) -> bool:
        """Return whether a definition of the project mentions one of some operators of standard modules."""
        return self.standard(definition) is None and any(
            isinstance(part, (Call, OperatorArg))
            and part.op in self.tree.definitions
            and self.standard(self.tree.definitions[part.op]) in operators
            for part in walk(definition.body, self.tree)
        )

    def reads(self, expr: Expr, primed: bool = False) -> tuple[bool, bool]:
        """Return whether an expression reads variables of the current state, and of the next."""
        if isinstance(expr, (Call, OperatorArg)):
            now, nxt = self._symbol_reads(expr.op, primed)
            args = expr.args if isinstance(expr, Call) else ()
            passed = self._only_enabled(expr)
            now = now or any(any(self.reads(arg)) for arg in args if arg in passed)
            args = tuple(arg for arg in args if arg not in passed)
            nxt = nxt or self._primes_argument(expr)
        elif isinstance(expr, Builtin):
            now = nxt = expr.name in ("UNCHANGED", "$SquareAct", "$AngleAct")
            if expr.name == "ENABLED":
                return self.reads(expr.args[0])[0] or self.reads(expr.args[0])[1], False
            primed = primed or expr.name == "'"
            args = expr.args
        else:
            now = nxt = False
            args = tuple(self._parts(expr))
        for arg in args:
            if now and nxt:
                break
            more_now, more_next = self.reads(arg, primed)
            now, nxt = now or more_now, nxt or more_next
        return now, nxt

    def _only_enabled(self, expr: Call | OperatorArg) -> list[Expr]:
        """List the arguments of a use that the definition has within ENABLED alone."""
        definition = self.definition(expr.op)
        if definition is None or not isinstance(expr, Call):
            return []
        only_enabled = self.facts[definition.uid].only_enabled
        return [arg for param, arg in zip(definition.params, expr.args, strict=True) if param in only_enabled]

    def used_otherwise(self, expr: Expr) -> frozenset[int]:
        """List the parameters that occur elsewhere than within ENABLED."""
        if isinstance(expr, Builtin) and expr.name == "ENABLED":
            return frozenset()
        found: frozenset[int] = frozenset()
        parts = list(self._parts(expr))
        if isinstance(expr, (Call, OperatorArg)):
            found |= {expr.op}
            passed = self._only_enabled(expr)
            parts = [part for part in parts if part not in passed]
        if isinstance(expr, Let):
            parts += [self.tree.definitions[uid].body for uid in self.used(expr)]
        return found.union(*map(self.used_otherwise, parts))

    def _primes_argument(self, expr: Call | OperatorArg) -> bool:
        """Return whether a definition primes an argument that reads the state."""
        definition = self.definition(expr.op)
        if definition is None or not isinstance(expr, Call):
            return False
        primed_outside = self.facts[definition.uid].primed_outside
        return any(
            param in primed_outside and not self.is_constant(arg)
            for param, arg in zip(definition.params, expr.args, strict=True)
        )

    def _symbol_reads(self, uid: int, primed: bool) -> tuple[bool, bool]:
        uid = self.target(uid)
        declared = self.tree.declarations.get(uid)
        if declared is not None:
            return (declared.is_variable and not primed, declared.is_variable and primed)
        facts = self.facts.get(uid)
        if facts is None or uid in self.values:
            return False, False
        if primed:
            return False, facts.reads_now or facts.reads_next
        return facts.reads_now, facts.reads_next

    def _parts(self, expr: Expr) -> Iterable[Expr]:
        if isinstance(expr, Bind):
            for bound in expr.bounds:
                if bound.domain is not None:
                    yield bound.domain
            yield expr.body
        elif isinstance(expr, Let):
            yield expr.body
        elif isinstance(expr, (Call, Builtin)):
            yield from expr.args

    def is_constant(self, expr: Expr) -> bool:
        """Return whether an expression reads no variable."""
        return self.reads(expr) == (False, False)

    def strict(self, expr: Expr) -> frozenset[int]:
        """List the parameters (and LET names) certainly evaluated whenever an expression is.

        With registers it matters when that is, so nothing is evaluated before it is needed.
        """
        if self.has_registers:
            return frozenset()
        none: frozenset[int] = frozenset()
        if isinstance(expr, Call):
            return self._strict_call(expr)
        if isinstance(expr, Builtin):
            return self._strict_builtin(expr)
        if isinstance(expr, Bind):
            domain = expr.bounds[0].domain
            return none if domain is None else self.strict(domain)
        if isinstance(expr, Let):
            inner = self.strict(expr.body)
            for uid in reversed(expr.definitions):
                definition = self.tree.definitions[uid]
                if uid in inner and not definition.params:
                    inner |= self.strict(definition.body)
            return inner
        return none

    def _strict_call(self, expr: Call) -> frozenset[int]:
        definition = self.definition(expr.op)
        if definition is None:
            return frozenset({expr.op}) if expr.op in self.tree.params else frozenset()
        if self.standard(definition) is not None:
            return frozenset[int]().union(*map(self.strict, expr.args))
        result = frozenset({expr.op})
        facts = self.facts[definition.uid]
        for param, arg in zip(definition.params, expr.args, strict=True):
            if param in facts.strict:
                result |= self.strict(arg)
        return result

    def _strict_builtin(self, expr: Builtin) -> frozenset[int]:
        none: frozenset[int] = frozenset()
        args = expr.args
        if expr.name in _LAZY_AFTER_FIRST:
            return self.strict(args[0]) if args else none
        if expr.name == "$Pair":  # a CASE arm: only its guard
            return self.strict(args[0])
        if expr.name == "$IfThenElse":
            return self.strict(args[0]) | (self.strict(args[1]) & self.strict(args[2]))
        if expr.name in ("$RcdConstructor", "$SetOfRcds"):
            pairs = [arg.args[1] for arg in args if isinstance(arg, Builtin)]
            return none.union(*map(self.strict, pairs))
        if expr.name == "$Except":
            return self.strict(args[0])
        if expr.name in ("ENABLED", "UNCHANGED", "'", "[]", "<>", "$SquareAct", "$AngleAct", "$WF", "$SF"):
            return none
        return none.union(*map(self.strict, args))

    def primed(self, expr: Expr, under: bool = False, *, within_enabled: bool = True) -> frozenset[int]:
        """List the parameters that occur under a prime; those within ENABLED count as such, or not at all."""
        found: frozenset[int] = frozenset()
        if isinstance(expr, (Call, OperatorArg)):
            if under and expr.op in self.tree.params:
                found |= {expr.op}
            if isinstance(expr, Call):
                found |= self._primed_call(expr, under, within_enabled)
            return found
        if isinstance(expr, Builtin):
            if expr.name == "ENABLED" and not within_enabled:
                return found
            under = under or expr.name in ("'", "UNCHANGED", "ENABLED", "$SquareAct", "$AngleAct")
        if isinstance(expr, Let):
            for uid in self.used(expr):
                found |= self.primed(self.tree.definitions[uid].body, under, within_enabled=within_enabled)
        for part in self._parts(expr):
            found |= self.primed(part, under, within_enabled=within_enabled)
        return found

    def _primed_call(self, expr: Call, under: bool, within_enabled: bool) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        definition = self.definition(expr.op)
        inside: frozenset[int] = frozenset()
        if definition is not None:
            facts = self.facts[definition.uid]
            inside = facts.primed if within_enabled else facts.primed_outside
        for index, arg in enumerate(expr.args):
            flagged = definition is not None and definition.params[index] in inside
            found |= self.primed(arg, under or flagged, within_enabled=within_enabled)
        return found

    def is_atomic(self, expr: Expr) -> bool:
        """Return whether evaluating an expression can neither fail nor cost much."""
        if isinstance(expr, (Number, String)):
            return True
        if isinstance(expr, Call) and not expr.args:
            uid = self.target(expr.op)
            return uid in self.values or uid in self.tree.declarations or uid in self.tree.params
        if isinstance(expr, Builtin):
            return expr.name in ("TRUE", "FALSE", "BOOLEAN") or (
                expr.name in ("$Tuple", "$SetEnumerate") and not expr.args
            )
        return isinstance(expr, AtSign)
