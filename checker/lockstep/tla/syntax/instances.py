"""INSTANCE resolved: every use of an instanced definition becomes the use of an ordinary definition.

An INSTANCE brings in a definition of its module under substitutions (``z <- x``), and so is all of that module
that it uses. A pair of the two, a definition as it was written and what its module's declarations stand for, is copied
once: the substitutions are carried out, and a use of another definition of the module becomes the use of that one's
copy under the same substitutions. Names decide nothing: an INSTANCE within an INSTANCE composes the substitutions, and
whatever bears the same name on another level is another definition, or stands under other substitutions.

``I(p) == INSTANCE M WITH z <- p`` substitutes parameters: they become additional parameters of the copies. Two sets of
substitutions that differ only in which parameters they name are one.

ENABLED is asked of the module's own variables: ``ENABLED (x' = 0 /\\ y' = 1)`` stays true where both x and y stand for
z. Within it a prime makes x a variable of its own, which nothing but that ENABLED knows (Specifying Systems, 17.8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from lockstep.tla.syntax.cfg import Cfg
from lockstep.tla.syntax.standard_modules import REFUSED, STANDARD
from lockstep.tla.syntax.tree import (
    Bind,
    Bound,
    Builtin,
    Call,
    Declaration,
    Definition,
    Expr,
    Let,
    Location,
    OperatorArg,
    Param,
    Substituted,
    SyntaxTree,
    is_lambda,
    walk,
)
from lockstep.tlc.module_files import STANDARD_MODULES

_FAIRNESS = ("$WF", "$SF")


def resolve_instances(tree: SyntaxTree, cfg: Cfg | None = None) -> None:
    """Carry out the substitutions of all INSTANCEs in a tree, in place.

    A configuration's replacement (``Op <- Other``) holds within an instance, too, where the module uses Op: as in TLC,
    Other then stands under the substitutions of the instance. ``I!Op`` is another definition, which is not replaced.

    Args:
        tree: the result of :func:`lockstep.tla.syntax.sany_xml.read_tree`.
    """
    _note_origins(tree)
    replaced, given = _configured(tree, cfg or Cfg())
    resolver = _InstanceResolver(tree, _make_standard(tree), replaced, given)
    for uid, definition in list(tree.definitions.items()):
        if resolver.has_work(definition.body):
            tree.definitions[uid] = resolver.resolved(definition)
    for name, module in tree.modules.items():
        assumed = [
            replace(each, body=resolver.rewrite(each.body, _NOTHING)) if resolver.has_work(each.body) else each
            for each in module.assumptions
        ]
        tree.modules[name] = replace(module, assumptions=tuple(assumed))


def _configured(tree: SyntaxTree, cfg: Cfg) -> tuple[dict[int, int], frozenset[int]]:
    """Find the names that a configuration replaces or gives a value; wrong names are refused later."""
    symbols = {name: {tree.name_of(uid): uid for uid in module.symbols} for name, module in tree.modules.items()}
    top = symbols[tree.root]
    pairs = [(top.get(name), other) for name, other in cfg.substitutions.items()]
    pairs += [(symbols.get(module, {}).get(name), other) for (module, name), other in cfg.module_substitutions.items()]
    replaced = {uid: top[other] for uid, other in pairs if uid is not None and other in top}
    given = [top.get(name) for name in cfg.constants]
    given += [symbols.get(module, {}).get(name) for module, name in cfg.module_constants]
    return replaced, frozenset(uid for uid in given if uid is not None)


def _make_standard(tree: SyntaxTree) -> frozenset[int]:
    """Make the definitions that repeat a standard module's be as those are, also within a LET; return which.

    The Nat of a LET keeps its own name, by which it is refused where it is used: TLC takes it for no set of numbers.
    """
    found = set()
    top = {uid for module in tree.modules.values() for uid in module.symbols}
    for uid, definition in tree.definitions.items():
        origin = _standard_origin(definition)
        if origin is not None:
            is_known = uid in top or definition.params or origin.loc.module == "Bags"
            plain = definition.name.rpartition("!")[2] if is_known else definition.name
            tree.definitions[uid] = replace(definition, name=plain, body=origin, loc=origin.loc)
            found.add(uid)
    return frozenset(found)


def _note_origins(tree: SyntaxTree) -> None:
    """Record the original of each definition that SANY copied, by its name and the place of its body."""
    definitions = tree.definitions
    places = {(d.name, d.body.loc): uid for uid, d in definitions.items() if not isinstance(d.body, Substituted)}
    for uid, definition in definitions.items():
        source = places.get((definition.name.rpartition("!")[2], _written(definition).loc))
        if source is not None and source != uid:
            tree.origins[uid] = source


def _written(definition: Definition) -> Expr:
    """Return the body as its module has it, without substitutions."""
    body = definition.body
    while isinstance(body, Substituted):
        body = body.body
    return body


def _standard_origin(definition: Definition) -> Expr | None:
    """Return the body of a standard module's definition that an INSTANCE repeats (``I!+``, or a LOCAL ``+``)."""
    body = _written(definition)
    module = body.loc.module
    known = module, definition.name.rpartition("!")[2]
    is_standard = module in STANDARD_MODULES or known in STANDARD or known in REFUSED
    return body if is_standard and module != definition.loc.module else None


@dataclass(frozen=True, eq=False)
class _Substitutions:
    """One set of substitutions, with the copies made for it.

    Attributes:
        values: what each declaration stands for.
        params: the parameters that the values mention, in their order; formal parameters of every copy.
        copies: the copy of each definition.
        primed: within ENABLED, what holds under a prime; else None.
    """

    values: Mapping[int, Expr]
    params: tuple[int, ...]
    copies: dict[int, int] = field(default_factory=dict)
    primed: _Substitutions | None = None


@dataclass(frozen=True)
class _Scope:
    """The scope of an expression that is rewritten.

    Attributes:
        instance: the substitutions that are to be carried out.
        actual: what the instance's parameters are called here.
        local: the copies of LET definitions, by what they are copies of.
    """

    instance: _Substitutions
    actual: tuple[int, ...]
    local: Mapping[int, int]

    def value(self, declared: int) -> Expr | None:
        """Return what a declaration stands for, in the instance's own parameters."""
        return self.instance.values.get(declared)


_NOTHING = _Scope(_Substitutions({}, ()), (), {})


class _InstanceResolver:
    def __init__(
        self, tree: SyntaxTree, standard: frozenset[int], replaced: Mapping[int, int], given: frozenset[int]
    ) -> None:
        self.tree = tree
        self.standard = standard
        self.replaced, self.given = replaced, given
        self.written = dict(tree.definitions)  # copies are made of what was written, whatever is resolved already
        self.top = {uid for module in tree.modules.values() for uid in module.symbols} | tree.unlisted
        self.instances: dict[object, _Substitutions] = {}
        self.freed: dict[_Substitutions, _Substitutions] = {}
        self.mentions = _Mentions(tree)

    def has_work(self, expr: Expr) -> bool:
        """Return whether an expression has substitutions, or a LET with what a standard module defines."""
        return any(
            isinstance(part, Substituted) or (isinstance(part, Let) and not self.standard.isdisjoint(part.definitions))
            for part in walk(expr, self.tree)
        )

    def resolved(self, definition: Definition) -> Definition:
        """Return a definition of the tree with all substitutions in it carried out."""
        self._offer(definition)
        return replace(definition, body=self.rewrite(definition.body, _NOTHING))

    def _offer(self, definition: Definition) -> None:
        """Make a definition that SANY copied the copy that others use, if it takes just what a copy takes."""
        scope = self.innermost(definition, _NOTHING)
        origin = self.tree.origins.get(definition.uid)
        if origin is None or scope is _NOTHING or definition.uid not in self.top:
            return
        if definition.params == scope.actual + self.written[origin].params:
            scope.instance.copies.setdefault(origin, definition.uid)

    def entered(self, expr: Substituted, outer: _Scope) -> _Scope:
        """Return the scope within a substitution: its values are rewritten in the scope where they stand."""
        values, primed = self.values_in(expr, outer), None
        if outer.instance.primed is not None:
            primed = self.values_in(expr, replace(outer, instance=outer.instance.primed))
        mentioned = [*values.values(), *(primed or {}).values()]
        params = tuple(dict.fromkeys(uid for value in mentioned for uid in self.free_params(value)))
        key = self.canonical(values, params), primed and self.canonical(primed, params)
        instance = self.instances.get(key)
        if instance is None:
            under_prime = None if primed is None else _Substitutions(primed, params)
            instance = self.instances[key] = _Substitutions(values, params, primed=under_prime)
        return _Scope(instance, params, {})

    def values_in(self, expr: Substituted, outer: _Scope) -> dict[int, Expr]:
        return {pair.declared: self.rewrite(pair.value, outer) for pair in expr.substitutions}

    def canonical(self, values: Mapping[int, Expr], params: tuple[int, ...]) -> object:
        """Return a key that is the same for sets of substitutions that differ in the names of parameters alone."""
        places = {uid: (self.tree.params[uid].arity, place) for place, uid in enumerate(params)}
        return tuple((declared, _shape(value, places)) for declared, value in sorted(values.items()))

    def free_params(self, expr: Expr) -> list[int]:
        """List the parameters that an expression uses and does not bind."""
        bound: set[int] = set()
        used: list[int] = []
        for part in walk(expr, self.tree):
            if isinstance(part, Bind):
                bound.update(uid for b in part.bounds for uid in b.params)
            elif isinstance(part, Let):
                bound.update(uid for d in part.definitions for uid in self.tree.definitions[d].params)
            elif isinstance(part, OperatorArg) and is_lambda(part, self.tree):
                bound.update(self.tree.definitions[part.op].params)
            if isinstance(part, (Call, OperatorArg)) and part.op in self.tree.params:
                used.append(part.op)
        return [uid for uid in used if uid not in bound]

    # ---- Rewriting ----

    def rewrite(self, expr: Expr, scope: _Scope) -> Expr:
        if isinstance(expr, Substituted):
            return self.rewrite(expr.body, self.entered(expr, scope))
        if isinstance(expr, Call):
            return self.call(expr, scope)
        if isinstance(expr, Builtin):
            return self.builtin(expr, scope)
        if isinstance(expr, Bind):
            bounds = tuple([self.bound(bound, scope) for bound in expr.bounds])
            return replace(expr, bounds=bounds, body=self.rewrite(expr.body, scope))
        if isinstance(expr, Let):
            return self.let(expr, scope)
        if isinstance(expr, OperatorArg):
            return self.operator_arg(expr, scope)
        return expr

    def builtin(self, expr: Builtin, scope: _Scope) -> Expr:
        args = tuple([self.rewrite(arg, scope) for arg in expr.args])
        free = self.free(scope.instance)
        if expr.name in _FAIRNESS and free is not None:
            subscript, action = expr.args
            angle = Builtin("$AngleAct", (action, subscript), expr.loc)
            return replace(expr, args=(*args, self.within(free, angle, scope)))
        if expr.name == "ENABLED" and free is not None:
            return replace(expr, args=(self.within(free, expr.args[0], scope),))
        if scope.instance.primed is None:
            return replace(expr, args=args)
        if expr.name == "'":
            return replace(expr, args=(self.within(scope.instance.primed, expr.args[0], scope),))
        if expr.name == "UNCHANGED":
            return self.unchanged(expr.args[0], scope)
        if expr.name == "$AngleAct":
            changed = Builtin("\\lnot", (self.unchanged(expr.args[1], scope),), expr.loc)
            return Builtin("\\land", (args[0], changed), expr.loc)
        if expr.name == "$SquareAct":
            return Builtin("\\lor", (args[0], self.unchanged(expr.args[1], scope)), expr.loc)
        return replace(expr, args=args)

    def free(self, instance: _Substitutions) -> _Substitutions | None:
        """Return the substitutions within ENABLED, where a prime makes a variable one of its own; None if none does."""
        declarations = self.tree.declarations
        variables = [uid for uid in instance.values if uid in declarations and declarations[uid].is_variable]
        if instance.primed is not None or not variables:
            return None
        if instance not in self.freed:
            own = {uid: self.own_variable(declarations[uid]) for uid in variables}
            primed = _Substitutions({**instance.values, **own}, instance.params)
            self.freed[instance] = _Substitutions(instance.values, instance.params, primed=primed)
        return self.freed[instance]

    def own_variable(self, declared: Declaration) -> Call:
        fresh = self.tree.fresh_uid()
        self.tree.declarations[fresh] = replace(declared, uid=fresh)
        self.tree.own_variables.append(fresh)
        return Call(fresh, (), declared.loc)

    def within(self, instance: _Substitutions, expr: Expr, scope: _Scope) -> Expr:
        """Rewrite an expression under other substitutions of the same declarations.

        Definitions of a LET around it stay as they are there, as in TLC.
        """
        return self.rewrite(expr, replace(scope, instance=instance))

    def unchanged(self, expr: Expr, scope: _Scope) -> Expr:
        """Return ``e' = e`` within ENABLED; for a tuple, of each of its parts."""
        definition = self.written.get(expr.op) if isinstance(expr, Call) else None
        if definition is not None and not definition.params and definition.uid in self.top:
            body = _written(definition)
            if body is definition.body and isinstance(body, Builtin) and body.name == "$Tuple":
                expr = body
        if isinstance(expr, Builtin) and expr.name == "$Tuple" and expr.args:
            parts = tuple([self.unchanged(part, scope) for part in expr.args])
            return Builtin("\\land", parts, expr.loc)
        after = Builtin("'", (expr,), expr.loc)
        return Builtin("=", (self.rewrite(after, scope), self.rewrite(expr, scope)), expr.loc)

    def bound(self, bound: Bound, scope: _Scope) -> Bound:
        return bound if bound.domain is None else replace(bound, domain=self.rewrite(bound.domain, scope))

    def call(self, expr: Call, scope: _Scope) -> Expr:
        args = tuple([self.rewrite(arg, scope) for arg in expr.args])
        value = self.value_here(expr.op, scope)
        if value is None:
            target, extra = self.target(expr.op, scope)
            return Call(target, self.uses(extra, expr.loc) + args, expr.loc)
        if not isinstance(value, OperatorArg):
            return value
        if value.builtin is not None:
            return Builtin(value.builtin, args, expr.loc)
        return self.applied(value, args, expr.loc)

    def applied(self, operator: OperatorArg, args: tuple[Expr, ...], loc: Location) -> Call:
        """Return the use of what stands for an operator; a LAMBDA is given the parameters around it, too."""
        free = tuple(dict.fromkeys(self.free_params(operator))) if is_lambda(operator, self.tree) else ()
        if not free:
            return Call(operator.op, args, loc)
        definition = self.tree.definitions[operator.op]
        fresh = self.tree.fresh_uid()
        self.tree.definitions[fresh] = replace(definition, uid=fresh, params=free + definition.params)
        return Call(fresh, self.uses(free, loc) + args, loc)

    def value_here(self, declared: int, scope: _Scope) -> Expr | None:
        """Return what a declaration stands for, in the parameters of where it is used."""
        value = scope.value(declared)
        if value is None or scope.actual == scope.instance.params:
            return value
        return self.renamed(value, dict(zip(scope.instance.params, scope.actual, strict=True)))

    def renamed(self, expr: Expr, names: Mapping[int, int]) -> Expr:
        """Return an expression with other parameters in the places of some."""
        if isinstance(expr, (Call, OperatorArg)):
            op = names.get(expr.op, expr.op)
            if isinstance(expr, OperatorArg):
                return self.lambda_renamed(expr, names) if is_lambda(expr, self.tree) else replace(expr, op=op)
            return replace(expr, op=op, args=tuple([self.renamed(arg, names) for arg in expr.args]))
        if isinstance(expr, Builtin):
            return replace(expr, args=tuple([self.renamed(arg, names) for arg in expr.args]))
        if isinstance(expr, Bind):
            bounds = [
                bound if bound.domain is None else replace(bound, domain=self.renamed(bound.domain, names))
                for bound in expr.bounds
            ]
            return replace(expr, bounds=tuple(bounds), body=self.renamed(expr.body, names))
        if isinstance(expr, Let):
            return self.let_renamed(expr, names)
        return expr

    def lambda_renamed(self, expr: OperatorArg, names: Mapping[int, int]) -> OperatorArg:
        definition = self.tree.definitions[expr.op]
        fresh = self.tree.fresh_uid()
        body = self.renamed(definition.body, names)
        self.tree.definitions[fresh] = replace(definition, uid=fresh, body=body)
        return replace(expr, op=fresh)

    def let_renamed(self, expr: Let, names: Mapping[int, int]) -> Let:
        fresh = {uid: self.tree.fresh_uid() for uid in expr.definitions}
        within = {**names, **fresh}
        for uid, copy in fresh.items():
            definition = self.tree.definitions[uid]
            body = self.renamed(definition.body, within)
            self.tree.definitions[copy] = replace(definition, uid=copy, body=body)
        return replace(expr, definitions=tuple(fresh.values()), body=self.renamed(expr.body, within))

    def target(self, uid: int, scope: _Scope) -> tuple[int, tuple[int, ...]]:
        """Return the definition that a use within a scope means, and the parameters to pass to it besides."""
        if uid in scope.local:
            return scope.local[uid], ()
        instance = scope.instance
        uid = self.replaced.get(uid, uid) if instance.values else uid
        if uid in self.given or uid not in self.top or not self.mentions.any_of(uid, instance.values):
            return uid, ()
        definition = self.written[uid]
        if isinstance(definition.body, Substituted):
            origin = self.tree.origins.get(uid)
            if origin is not None and definition.params == self.written[origin].params:
                return self.target(origin, self.innermost(definition, scope))
        if uid not in instance.copies:
            self.copy(uid, instance)
        return instance.copies[uid], scope.actual

    def innermost(self, definition: Definition, scope: _Scope) -> _Scope:
        """Return the scope in which the body of a definition stands, within all its substitutions."""
        body = definition.body
        while isinstance(body, Substituted):
            scope, body = self.entered(body, scope), body.body
        return scope

    def copy(self, uid: int, instance: _Substitutions) -> None:
        """Copy a definition of a module for an instance of it."""
        fresh = instance.copies[uid] = self.tree.fresh_uid()
        self.tree.origins[fresh] = self.tree.origins.get(uid, uid)
        definition = self.written[uid]
        params = instance.params + definition.params
        # It is there before its body is, which may use it.
        self.tree.definitions[fresh] = replace(definition, uid=fresh, params=params)
        body = self.rewrite(definition.body, _Scope(instance, instance.params, {}))
        self.tree.definitions[fresh] = replace(definition, uid=fresh, params=params, body=body)

    def let(self, expr: Let, scope: _Scope) -> Let:
        """Copy the definitions of a LET, save those of standard modules, which mean the same everywhere."""
        fresh = {uid: self.tree.fresh_uid() for uid in expr.definitions if uid not in self.standard}
        inner = replace(scope, local={**scope.local, **fresh})
        for uid, copy in fresh.items():
            self.copy_local(uid, copy, inner)
        return replace(expr, definitions=tuple(fresh.values()), body=self.rewrite(expr.body, inner))

    def copy_local(self, uid: int, fresh: int, scope: _Scope) -> None:
        definition = self.written.get(uid) or self.tree.definitions[uid]
        self.tree.definitions[fresh] = replace(definition, uid=fresh)
        body = self.rewrite(definition.body, scope)
        self.tree.definitions[fresh] = replace(definition, uid=fresh, body=body)

    def operator_arg(self, expr: OperatorArg, scope: _Scope) -> Expr:
        value = self.value_here(expr.op, scope)
        if value is not None:
            return value
        if is_lambda(expr, self.tree):
            fresh = self.tree.fresh_uid()
            self.copy_local(expr.op, fresh, scope)
            return replace(expr, op=fresh)
        target, extra = self.target(expr.op, scope)
        return self.partial(expr, target, extra) if extra else replace(expr, op=target)

    def partial(self, expr: OperatorArg, target: int, extra: tuple[int, ...]) -> OperatorArg:
        """Pass a copy that has additional parameters: as a LAMBDA that supplies them."""
        definition = self.tree.definitions[target]
        fresh_params = []
        for uid in definition.params[len(extra) :]:
            fresh = self.tree.fresh_uid()
            self.tree.params[fresh] = replace(self.tree.params[uid], uid=fresh)
            fresh_params.append(fresh)
        args = self.uses((*extra, *fresh_params), expr.loc)
        wrapper = self.tree.fresh_uid()
        self.tree.definitions[wrapper] = Definition(
            wrapper, "LAMBDA", tuple(fresh_params), Call(target, args, expr.loc), False, expr.loc
        )
        return replace(expr, op=wrapper)

    def uses(self, params: tuple[int, ...], loc: Location) -> tuple[Expr, ...]:
        """Return the expressions that pass these parameters on."""
        return tuple(use_of(self.tree.params[uid], loc) for uid in params)


def use_of(param: Param, loc: Location) -> Expr:
    """Return the expression that passes a parameter on."""
    return OperatorArg(param.uid, None, loc) if param.arity else Call(param.uid, (), loc)


def _shape(expr: object, places: Mapping[int, tuple[int, int]]) -> object:
    """Return an expression as nested tuples, with the places of parameters instead of their ids."""
    if isinstance(expr, (Call, OperatorArg)):
        op: object = places.get(expr.op, expr.op)
        args = tuple(_shape(arg, places) for arg in expr.args) if isinstance(expr, Call) else (expr.builtin,)
        return (type(expr).__name__, op, args)
    if isinstance(expr, Builtin):
        return ("Builtin", expr.name, tuple(_shape(arg, places) for arg in expr.args))
    if isinstance(expr, Bind):
        bounds = tuple((b.params, b.is_tuple, _shape(b.domain, places)) for b in expr.bounds)
        return ("Bind", expr.name, bounds, _shape(expr.body, places))
    return expr  # literals, and LETs, which equal themselves alone


class _Mentions:
    """The declarations that definitions mention, themselves or through others."""

    def __init__(self, tree: SyntaxTree) -> None:
        self.tree, self.definitions = tree, dict(tree.definitions)
        self._known: dict[int, frozenset[int]] = {}

    def any_of(self, uid: int, declared: Mapping[int, Expr]) -> bool:
        """Return whether a definition mentions one of these declarations."""
        return bool(declared) and not self._mentioned_by(uid).isdisjoint(declared)

    def _mentioned_by(self, uid: int) -> frozenset[int]:
        known = self._known.get(uid)
        if known is None:
            known = self._known[uid] = frozenset(self._reached(uid))
        return known

    def _reached(self, uid: int) -> Iterator[int]:
        seen: set[int] = set()
        stack = [uid]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            definition = self.definitions.get(current)
            if definition is None:
                if current in self.tree.declarations:
                    yield current
                continue
            for part in walk(definition.body, self.tree):
                if isinstance(part, (Call, OperatorArg)):
                    stack.append(part.op)
