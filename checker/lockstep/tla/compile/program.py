"""A program to compile: facts about the definitions of a specification, which decide how each is compiled.

All are fixed points over the definitions, so recursion is no special case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, partial

from lockstep.tla.compile.evaluation_facts import DefinitionFacts
from lockstep.tla.compile.value_shapes import ValueShapes, outcomes
from lockstep.tla.syntax.cfg import Cfg
from lockstep.tla.syntax.tree import (
    Bind,
    Builtin,
    Call,
    Definition,
    Expr,
    Let,
    OperatorArg,
    String,
    SyntaxTree,
    children,
)
from lockstep.tla.values.kinds import ModelValue


class Program(ValueShapes):
    """A tree together with a configuration, and the facts about its definitions.

    The facts are solved first; all else follows from them, and is computed when it is first needed.
    """

    def __init__(self, tree: SyntaxTree, cfg: Cfg) -> None:
        super().__init__(tree, cfg)
        self._solve()
        self._find_lazy()

    def _solve(self) -> None:
        definitions = self.tree.definitions
        for uid, definition in definitions.items():
            self.facts[uid] = DefinitionFacts(strict=frozenset(definition.params))
        changed = True
        while changed:
            changed = False
            for definition in self._compiled:
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
            definition = self.own_definition(expr.op)
            if definition is None:
                continue
            if isinstance(expr, OperatorArg):
                yield from ((definition, param, None) for param in definition.params)
                continue
            for param, arg in zip(definition.params, expr.args, strict=True):
                if not isinstance(arg, OperatorArg):
                    yield definition, param, arg

    @cached_property
    def applied(self) -> frozenset[int]:
        """The parameters and definitions that some expression applies as a function: TLC computes that one value."""
        applied: set[int] = set()
        given: dict[int, list[Expr]] = {}
        pending = []
        for expr in self._all_parts():
            if isinstance(expr, Builtin) and expr.name == "$FcnApply":
                pending.append(expr.args[0])
            definition = self.own_definition(expr.op) if isinstance(expr, Call) else None
            if isinstance(expr, Call) and definition is not None:
                for param, arg in zip(definition.params, expr.args, strict=True):
                    given.setdefault(param, []).append(arg)
        while pending:
            for uid in self._roots(pending.pop()):
                if uid not in applied:
                    applied.add(uid)
                    definition = self.own_definition(uid)
                    if definition is not None:
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

    @cached_property
    def named(self) -> frozenset[int]:
        """The parameters and bound variables that have no values but strings and model values.

        Only such arguments does Python look up in a table as TLA+ does, whatever else is in it. Those of definitions
        that can be evaluated by name are not among them: they may be given anything.
        """
        bounds = [bound for expr in self._all_parts() if isinstance(expr, Bind) for bound in expr.bounds]
        named = {
            uid
            for bound in bounds
            if bound.domain is not None and not bound.is_tuple and self._has_names(bound.domain)
            for uid in bound.params
        }
        passings = list(self._passings())
        by_name = set(self.top.values())
        named |= {param for definition, param, _ in passings if definition.uid not in by_name}
        changed = True
        while changed:
            wrong = {param for _, param, arg in passings if arg is None or not self._is_name(arg, named)} & named
            named -= wrong
            changed = bool(wrong)
        return frozenset(named)

    def _is_name(self, expr: Expr, named: Collection[int]) -> bool:
        """Return whether an expression is a string or a model value, if these symbols are."""
        if isinstance(expr, String):
            return True
        if not isinstance(expr, Call) or expr.args:
            return False
        return expr.op in named or type(self.values.get(self.target(expr.op))) in (str, ModelValue)

    def _has_names(self, expr: Expr) -> bool:
        """Return whether an expression is a set of strings and model values alone, if it has a value."""
        if isinstance(expr, Builtin) and expr.name in ("\\", "\\cap"):
            return self._has_names(expr.args[0])
        if isinstance(expr, Builtin) and expr.name in ("$SetEnumerate", "\\cup"):
            is_one = self._has_names if expr.name == "\\cup" else partial(self._is_name, named=())
            return all(map(is_one, expr.args))
        if isinstance(expr, Bind) and expr.name == "$SubsetOf" and expr.bounds[0].domain is not None:
            return self._has_names(expr.bounds[0].domain)
        if not isinstance(expr, Call):
            return False
        value = self.values.get(self.target(expr.op))
        if value is not None:
            return isinstance(value, frozenset) and all(type(each) in (str, ModelValue) for each in value)
        definition = self.own_definition(expr.op)
        return definition is not None and not definition.recursive and self._has_names(definition.body)

    def _find_lazy(self) -> None:
        """Find the parameters that may be given unlisted values, and the definitions that are lazy because of them."""
        passings = list(self._passings())
        for expr in self._all_parts():
            if isinstance(expr, Bind) and expr.name == "$RecursiveFcnSpec":
                self.lazy_params.update(expr.bounds[0].params)
        changed = True
        while changed:
            before = len(self.lazy_params), sum(facts.lazy for facts in self.facts.values())
            for _, param, arg in passings:
                if arg is None or self.may_be_lazy(arg):
                    self.lazy_params.add(param)
            for definition in self._compiled:
                self.facts[definition.uid].lazy = self.may_be_lazy(definition.body)
            changed = before != (len(self.lazy_params), sum(facts.lazy for facts in self.facts.values()))

    @cached_property
    def _compiled(self) -> list[Definition]:
        """The definitions that are compiled from their text: the project's, and those of Bags."""
        return [d for d in self.tree.definitions.values() if self.standard(d) is None or d.loc.module == "Bags"]

    def _all_parts(self) -> Iterable[Expr]:
        bodies = [definition.body for definition in self._compiled]
        bodies.extend(a.body for module in self.tree.modules.values() for a in module.assumptions)
        for body in bodies:
            stack = [body]
            while stack:
                expr = stack.pop()
                yield expr
                stack.extend(children(expr))

    def _examine(self, definition: Definition) -> DefinitionFacts:
        body = definition.body
        now, nxt = self.reads(body)
        own = frozenset(definition.params)
        return DefinitionFacts(
            reads_now=now,
            reads_next=nxt,
            strict=self.strict(body) & own,
            primed=self.primed(body) & own,
            primed_outside=self.primed(body, within_enabled=False) & own,
            only_enabled=own - self.used_otherwise(body),
            boolean=self.is_boolean(body),
            branches=self.branches(body),
            branches_applied=self.branches_applied(body),
            makes_function=self.makes_function(body),
            listed=self.is_listed(body),
        )
