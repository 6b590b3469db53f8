"""Facts about the definitions of a specification, which decide how each is compiled.

All are fixed points over the definitions, so recursion is no special case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lockstep.tla.compile.program import CompileError, Configured
from lockstep.tla.syntax.cfg import Cfg
from lockstep.tla.syntax.standard import PASSING, STANDARD, STANDARD_VALUES
from lockstep.tla.syntax.tree import (
    At,
    Bind,
    Builtin,
    Call,
    Definition,
    Expr,
    Let,
    Number,
    OperatorArg,
    String,
    Tree,
    children,
)
from lockstep.tla.values.kinds import Value

__all__ = ["BOOLEAN_BUILTINS", "CompileError", "Facts", "Program", "outcomes"]


def outcomes(expr: Builtin) -> Iterator[Expr]:
    """List the parts of an expression one of which is its value: the branches of an IF or a CASE."""
    if expr.name == "$IfThenElse":
        yield from expr.args[1:]
    elif expr.name == "$Case":
        yield from (arm.args[1] for arm in expr.args if isinstance(arm, Builtin))
    elif expr.name == "$FcnApply":
        yield expr.args[0]


COMPARISONS = frozenset({"=", "#", "\\in", "\\notin", "\\subseteq"})
BOOLEAN_BUILTINS = COMPARISONS | {
    "TRUE",
    "FALSE",
    "\\land",
    "\\lor",
    "\\lnot",
    "=>",
    "\\equiv",
    "$BoundedExists",
    "$BoundedForall",
    "UNCHANGED",
    "ENABLED",
    "$SquareAct",
    "$AngleAct",
}
_BOOLEAN_OPERATORS = frozenset(
    {"<", ">", "\\leq", "\\geq", "IsFiniteSet", "Assert", "PrintT", "IsABag", "BagIn", "\\sqsubseteq"}
)
_LAZY_SETS = frozenset({"SUBSET", "$SetOfFcns", "$SetOfRcds", "$CartesianProd", "STRING"})
_LAZY_IF_PARTS_ARE = frozenset({"DOMAIN", "$FcnApply", "$Tuple", "$RcdConstructor", "$Pair", "'"})
_ALGEBRA = frozenset({"\\cup", "\\cap", "\\"})
_LAZY_AFTER_FIRST = frozenset({"\\land", "\\lor", "=>", "$Case"})


@dataclass
class Facts:
    """What is known of one definition.

    Attributes:
        reads_now: it mentions variables of the current state.
        reads_next: it mentions variables of the next state.
        strict: the parameters certainly evaluated whenever the body is.
        primed: the parameters that occur under a prime (or UNCHANGED, ENABLED), here or in what is called.
        boolean: its value is TRUE or FALSE, if it has one.
        branches: as a conjunct of an action it may hold in several ways (it has a disjunction or an exists).
        lazy: its value may have something unlisted in it: a set such as ``SUBSET S``, or a function computed on demand.
        listed: its value is a set with its elements listed, if it has one.
        makes_function: its value is a function that it writes out, ``[x \\in S |-> e]``.
    """

    reads_now: bool = False
    reads_next: bool = False
    strict: frozenset[int] = frozenset()
    primed: frozenset[int] = frozenset()
    boolean: bool = True
    branches: bool = False
    lazy: bool = False
    listed: bool = False
    makes_function: bool = False


class Program(Configured):
    """A tree together with a configuration, and what is known of its definitions.

    The facts are solved first; all else follows from them, and is found when it is asked for.

    Attributes:
        facts: per definition.
    """

    def __init__(self, tree: Tree, cfg: Cfg) -> None:
        """Apply the configuration and compute the facts."""
        super().__init__(tree, cfg)
        self.facts: dict[int, Facts] = {}
        self._at_is_lazy: list[bool] = []
        self._lazy_params: set[int] = set()
        self._solve()
        self._find_lazy()

    # ---- Fixed points ----

    def _solve(self) -> None:
        definitions = self.tree.definitions
        for uid, definition in definitions.items():
            self.facts[uid] = Facts(strict=frozenset(definition.params))
        pending = [d for d in definitions.values() if self.standard(d) is None or d.loc.module == "Bags"]
        changed = True
        while changed:
            changed = False
            for definition in pending:
                fresh = self._examine(definition)
                if fresh != self.facts[definition.uid]:
                    self.facts[definition.uid] = fresh
                    changed = True

    @cached_property
    def thunked(self) -> frozenset[int]:
        """The parameters whose arguments are passed unevaluated: they may go unused, and one is more than a name."""
        thunked: set[int] = set()
        passed_on: list[tuple[int, int]] = []
        for definition, param, arg in self._passings():
            if param in self.facts[definition.uid].strict:
                continue
            if arg is None or not self.is_atomic(arg):
                thunked.add(param)
            elif isinstance(arg, Call) and arg.op in self.tree.params:
                passed_on.append((arg.op, param))
        changed = True
        while changed:
            fresh = {param for source, param in passed_on if source in thunked} - thunked
            thunked |= fresh
            changed = bool(fresh)
        return frozenset(thunked)

    def _passings(self) -> Iterator[tuple[Definition, int, Expr | None]]:
        """List what is passed to parameters: definition, parameter, argument (None: that of an operator passed)."""
        for expr in self._all_parts():
            if not isinstance(expr, (Call, OperatorArg)):
                continue
            definition = self.definition(expr.op)
            if definition is None or self.standard(definition) is not None:
                continue
            if isinstance(expr, OperatorArg):
                yield from ((definition, param, None) for param in definition.params)
                continue
            for param, arg in zip(definition.params, expr.args, strict=True):
                if not isinstance(arg, OperatorArg):
                    yield definition, param, arg

    @cached_property
    def applied(self) -> frozenset[int]:
        """The parameters and definitions that some expression applies as a function.

        There TLC computes the one value that is asked for.
        """
        applied: set[int] = set()
        given: dict[int, list[Expr]] = {}
        pending = []
        for expr in self._all_parts():
            if isinstance(expr, Builtin) and expr.name == "$FcnApply":
                pending.append(expr.args[0])
            definition = self.definition(expr.op) if isinstance(expr, Call) else None
            if isinstance(expr, Call) and definition is not None and self.standard(definition) is None:
                for param, arg in zip(definition.params, expr.args, strict=True):
                    given.setdefault(param, []).append(arg)
        while pending:
            for uid in self._roots(pending.pop()):
                if uid not in applied:
                    applied.add(uid)
                    definition = self.definition(uid)
                    if definition is not None and self.standard(definition) is None:
                        pending.append(definition.body)
                    pending += given.get(uid, [])
        return frozenset(applied)

    @cached_property
    def soft(self) -> frozenset[int]:
        """The parameters that may be given a function which is computed on demand because it will be applied."""
        soft: set[int] = set()
        passings = list(self._passings())
        calls = [e for e in self._all_parts() if isinstance(e, Call) and e.args and e.op in self.tree.params]
        if any(self.makes_function(arg) for call in calls for arg in call.args):
            # Which operators these calls mean is not known: it may be any that is passed.
            soft |= {param for _, param, arg in passings if arg is None}
        changed = True
        while changed:
            before = len(soft)
            for _, param, arg in passings:
                if arg is None or param not in self.applied:
                    continue
                if self.makes_function(arg) or any(uid in soft for uid in self._roots(arg)):
                    soft.add(param)
            changed = len(soft) > before
        return frozenset(soft)

    def _roots(self, expr: Expr) -> Iterator[int]:
        """List the symbols whose value an expression's value may be."""
        if isinstance(expr, (Call, OperatorArg)):
            yield self.target(expr.op)
        elif isinstance(expr, Let):
            yield from self._roots(expr.body)
        elif isinstance(expr, Builtin):
            for part in outcomes(expr):
                yield from self._roots(part)

    def _find_lazy(self) -> None:
        """Find the parameters that may be given something unlisted, and which definitions are lazy because of it."""
        passings = list(self._passings())
        for expr in self._all_parts():
            if isinstance(expr, Bind) and expr.name == "$RecursiveFcnSpec":
                self._lazy_params.update(expr.bounds[0].params)
        changed = True
        while changed:
            before = len(self._lazy_params), sum(facts.lazy for facts in self.facts.values())
            for _, param, arg in passings:
                if arg is None or self.may_be_lazy(arg):
                    self._lazy_params.add(param)
            for uid, definition in self.tree.definitions.items():
                if self.standard(definition) is None or definition.loc.module == "Bags":
                    self.facts[uid].lazy = self.may_be_lazy(definition.body)
            changed = before != (len(self._lazy_params), sum(facts.lazy for facts in self.facts.values()))

    def _all_parts(self) -> Iterable[Expr]:
        bodies = [d.body for d in self.tree.definitions.values() if self.standard(d) is None or d.loc.module == "Bags"]
        bodies.extend(a.body for module in self.tree.modules.values() for a in module.assumptions)
        for body in bodies:
            stack = [body]
            while stack:
                expr = stack.pop()
                yield expr
                stack.extend(children(expr))

    def _examine(self, definition: Definition) -> Facts:
        body = definition.body
        now, nxt = self.reads(body)
        own = frozenset(definition.params)
        return Facts(
            reads_now=now,
            reads_next=nxt,
            strict=self.strict(body) & own,
            primed=self.primed(body) & own,
            boolean=self.is_boolean(body),
            branches=self.branches(body),
            makes_function=self.makes_function(body),
            listed=self.is_listed(body),
        )

    def reads(self, expr: Expr, primed: bool = False) -> tuple[bool, bool]:
        """Tell whether an expression reads variables of the current state, and of the next."""
        if isinstance(expr, (Call, OperatorArg)):
            now, nxt = self._symbol_reads(expr.op, primed)
            args = expr.args if isinstance(expr, Call) else ()
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
            if isinstance(expr, Let):  # what is never used is written all the same
                args += tuple(self.tree.definitions[uid].body for uid in expr.definitions)
        for arg in args:
            if now and nxt:
                break
            more_now, more_next = self.reads(arg, primed)
            now, nxt = now or more_now, nxt or more_next
        return now, nxt

    def _primes_argument(self, expr: Call | OperatorArg) -> bool:
        """Tell whether a definition primes an argument that reads the state."""
        definition = self.definition(expr.op)
        if definition is None or not isinstance(expr, Call):
            return False
        primed = self.facts[definition.uid].primed
        return any(
            param in primed and not self.is_constant(arg)
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
        """Tell whether an expression reads no variable."""
        return self.reads(expr) == (False, False)

    def truth(self, expr: Expr) -> bool | None:
        """Answer the truth of a formula that strings in constant sets decide, as ``"x" \\in S``; None of any other."""
        if isinstance(expr, Builtin) and expr.name in ("\\in", "\\notin"):
            element, known = expr.args[0], self._strings(expr.args[1])
            if not isinstance(element, String) or known is None:
                return None
            return (element.value in known) is (expr.name == "\\in")
        if isinstance(expr, Builtin) and expr.name == "\\lnot":
            inner = self.truth(expr.args[0])
            return None if inner is None else not inner
        definition = self._without_parameters(expr)
        return None if definition is None else self.truth(definition.body)

    def _strings(self, expr: Expr) -> frozenset[str] | None:
        """Answer a set of strings that a constant or the text gives; None if it is none."""
        value: Value = None
        if isinstance(expr, Builtin) and expr.name == "$SetEnumerate":
            value = frozenset(each.value if isinstance(each, String) else None for each in expr.args)
        elif isinstance(expr, Builtin) and expr.name == "\\":
            left, right = map(self._strings, expr.args)
            value = None if left is None or right is None else left - right
        elif isinstance(expr, Call) and self.target(expr.op) in self.values:
            value = self.values[self.target(expr.op)]
        elif (definition := self._without_parameters(expr)) is not None:
            return self._strings(definition.body)
        return value if isinstance(value, frozenset) and all(type(each) is str for each in value) else None

    def _without_parameters(self, expr: Expr) -> Definition | None:
        """Answer the definition that is used, if it takes no arguments and its body is there to be looked at."""
        definition = self.definition(expr.op) if isinstance(expr, Call) else None
        if definition is None or definition.params or definition.recursive or self.standard(definition):
            return None
        return definition

    def strict(self, expr: Expr) -> frozenset[int]:
        """List the parameters (and LET names) certainly evaluated whenever an expression is."""
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

    def primed(self, expr: Expr, under: bool = False) -> frozenset[int]:
        """List the parameters that occur under a prime."""
        found: frozenset[int] = frozenset()
        if isinstance(expr, (Call, OperatorArg)):
            if under and expr.op in self.tree.params:
                found |= {expr.op}
            if isinstance(expr, Call):
                found |= self._primed_call(expr, under)
            return found
        if isinstance(expr, Builtin):
            under = under or expr.name in ("'", "UNCHANGED", "ENABLED", "$SquareAct", "$AngleAct")
        if isinstance(expr, Let):
            for uid in expr.definitions:
                found |= self.primed(self.tree.definitions[uid].body, under)
        for part in self._parts(expr):
            found |= self.primed(part, under)
        return found

    def _primed_call(self, expr: Call, under: bool) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        definition = self.definition(expr.op)
        inside = self.facts[definition.uid].primed if definition is not None else frozenset()
        for index, arg in enumerate(expr.args):
            flagged = definition is not None and definition.params[index] in inside
            found |= self.primed(arg, under or flagged)
        return found

    def is_boolean(self, expr: Expr) -> bool:
        """Tell whether an expression has no value but TRUE and FALSE."""
        if isinstance(expr, Builtin):
            if expr.name == "$IfThenElse":
                return self.is_boolean(expr.args[1]) and self.is_boolean(expr.args[2])
            if expr.name == "$Case":
                return all(self.is_boolean(arm.args[1]) for arm in expr.args if isinstance(arm, Builtin))
            return expr.name in BOOLEAN_BUILTINS
        if isinstance(expr, Bind):
            return expr.name in BOOLEAN_BUILTINS
        if isinstance(expr, Let):
            return self.is_boolean(expr.body)
        if isinstance(expr, Call):
            definition = self.definition(expr.op)
            if definition is None:
                return type(self.values.get(self.target(expr.op))) is bool
            known = self.standard(definition)
            if known is not None:
                return known[1] in _BOOLEAN_OPERATORS or (known[1] == "Print" and self.is_boolean(expr.args[1]))
            return self.facts[definition.uid].boolean
        return False

    def branches(self, expr: Expr) -> bool:
        """Tell whether TLC may take a conjunct in several ways: it has a disjunction, or an exists."""
        if isinstance(expr, Builtin):
            if expr.name in ("\\lor", "$SquareAct"):
                return True
            if expr.name in ("\\land", "$AngleAct"):
                return any(map(self.branches, expr.args))
            if expr.name in ("$IfThenElse", "=>"):
                return any(map(self.branches, expr.args[1:]))
            if expr.name == "$Case":
                return any(self.branches(arm.args[1]) for arm in expr.args if isinstance(arm, Builtin))
            return False
        if isinstance(expr, Bind):
            if expr.name == "$BoundedForall":
                return self.branches(expr.body)
            return expr.name == "$BoundedExists"
        if isinstance(expr, Let):
            return self.branches(expr.body)
        if isinstance(expr, Call):
            definition = self.definition(expr.op)
            if definition is None or self.standard(definition) is not None:
                return False
            return self.facts[definition.uid].branches
        return False

    def makes_function(self, expr: Expr) -> bool:
        """Tell whether the value of an expression may be a function written out in it, ``[x \\in S |-> e]``."""
        if isinstance(expr, Bind):
            return expr.name in ("$FcnConstructor", "$NonRecursiveFcnSpec")
        if isinstance(expr, Let):
            return self.makes_function(expr.body)
        if isinstance(expr, Builtin):
            return any(map(self.makes_function, outcomes(expr)))
        if isinstance(expr, Call):
            definition = self.definition(expr.op)
            return definition is not None and self.facts[definition.uid].makes_function
        return False

    def may_be_lazy(self, expr: Expr) -> bool:
        """Tell whether the value of an expression may have something unlisted in it."""
        if isinstance(expr, Builtin):
            if expr.name in _LAZY_SETS:
                return True
            if expr.name == "$Except":
                return self._except_is_lazy(expr)
            if expr.name in _ALGEBRA or expr.name == "UNION":
                return not self.is_listed(expr)
            parts = expr.args if expr.name in _LAZY_IF_PARTS_ARE else tuple(outcomes(expr))
            return any(map(self.may_be_lazy, parts))
        if isinstance(expr, Bind):
            return self._binds_lazily(expr)
        if isinstance(expr, Let):
            return self.may_be_lazy(expr.body)
        if isinstance(expr, Call):
            return self._call_is_lazy(expr)
        return isinstance(expr, At) and (not self._at_is_lazy or self._at_is_lazy[-1])

    def _except_is_lazy(self, expr: Builtin) -> bool:
        if self.may_be_lazy(expr.args[0]):
            return True
        self._at_is_lazy.append(False)
        found = any(map(self.may_be_lazy, expr.args[1:]))
        self._at_is_lazy.pop()
        return found

    def _binds_lazily(self, expr: Bind) -> bool:
        if expr.name == "$RecursiveFcnSpec":
            return True
        listed = all(bound.domain is not None and self.is_listed(bound.domain) for bound in expr.bounds)
        if expr.name == "$SubsetOf":
            return not listed
        if expr.name in ("$FcnConstructor", "$NonRecursiveFcnSpec"):
            return not listed or self.may_be_lazy(expr.body)
        return False

    def is_listed(self, expr: Expr) -> bool:
        """Tell whether an expression is known to be a set with its elements listed, if it has a value."""
        if isinstance(expr, Bind):
            domain = expr.bounds[0].domain
            return expr.name == "$SetOfAll" or (
                expr.name == "$SubsetOf" and domain is not None and self.is_listed(domain)
            )
        if isinstance(expr, Builtin):
            if expr.name in _ALGEBRA:
                return all(map(self.is_listed, expr.args))
            return expr.name in ("$SetEnumerate", "BOOLEAN") or (
                expr.name == "DOMAIN" and not self.may_be_lazy(expr.args[0])
            )
        if isinstance(expr, Call):
            definition = self.definition(expr.op)
            if definition is None:
                return type(self.values.get(self.target(expr.op))) is frozenset
            known = self.standard(definition)
            if known is None:
                return self.facts[definition.uid].listed
            return known in (("Naturals", ".."), ("TLC", "Permutations"), ("Bags", "BagToSet"))
        return isinstance(expr, Let) and self.is_listed(expr.body)

    def _call_is_lazy(self, expr: Call) -> bool:
        uid = self.target(expr.op)
        if uid in self.values:
            return False
        if uid in self.tree.params:
            return uid in self._lazy_params or self.tree.params[uid].arity > 0
        definition = self.tree.definitions.get(uid)
        if definition is None:
            return False
        known = self.standard(definition)
        if known is None or (known not in STANDARD and known not in STANDARD_VALUES):
            return self.facts[uid].lazy
        if known in STANDARD_VALUES:
            return STANDARD_VALUES[known] in ("_NAT", "_INT")
        return known[1] == "Seq" or (known[1] in PASSING and any(map(self.may_be_lazy, expr.args)))

    def is_atomic(self, expr: Expr) -> bool:
        """Tell whether evaluating an expression can neither fail nor cost much."""
        if isinstance(expr, (Number, String)):
            return True
        if isinstance(expr, Call) and not expr.args:
            uid = self.target(expr.op)
            return uid in self.values or uid in self.tree.declarations or uid in self.tree.params
        if isinstance(expr, Builtin):
            return expr.name in ("TRUE", "FALSE", "BOOLEAN") or (
                expr.name in ("$Tuple", "$SetEnumerate") and not expr.args
            )
        return isinstance(expr, At)
