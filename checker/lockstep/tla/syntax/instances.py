"""Resolving INSTANCE: every use of an instanced definition becomes the use of an ordinary definition.

A definition that an INSTANCE brings in has a body under substitutions (``z <- x``). The body is copied with the
substitutions carried out; what it uses of its own module is copied likewise, once per set of substitutions. What the
substituted expressions mention of the instance's own parameters becomes additional parameters of those copies.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.syntax.tree import (
    STANDARD_MODULES,
    Bind,
    Bound,
    Builtin,
    Call,
    Definition,
    Expr,
    Let,
    OperatorArg,
    Param,
    Substituted,
    Substitution,
    Tree,
    children,
)

__all__ = ["resolve_instances", "walk"]


def walk(expr: Expr, tree: Tree) -> list[Expr]:
    """List an expression and everything in it, LET definitions included."""
    found: list[Expr] = []
    stack = [expr]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(children(current))
        if isinstance(current, Let):
            stack.extend(tree.definitions[uid].body for uid in current.definitions)
        elif isinstance(current, Substituted):
            stack.extend(pair.value for pair in current.substitutions)
        elif isinstance(current, OperatorArg) and _is_lambda(current, tree):
            stack.append(tree.definitions[current.op].body)
    return found


def _is_lambda(arg: OperatorArg, tree: Tree) -> bool:
    definition = tree.definitions.get(arg.op)
    return definition is not None and definition.name == "LAMBDA"


def resolve_instances(tree: Tree) -> None:
    """Carry out the substitutions of all INSTANCEs in a tree, in place.

    Args:
        tree: what :func:`lockstep.tla.syntax.tree.read_tree` answers.
    """
    _Resolver(tree).run()


def _standard_origin(definition: Definition) -> Expr | None:
    """Answer the body of a standard module's definition that an INSTANCE repeats (``I!+``, or a LOCAL ``+``)."""
    body = definition.body
    while isinstance(body, Substituted):
        body = body.body
    module = body.loc.module
    return body if module in STANDARD_MODULES and module != definition.loc.module else None


class _Scope:
    """One set of substitutions, with the copies made for it."""

    def __init__(self, values: dict[int, Expr], extra: tuple[int, ...], prefix: str) -> None:
        self.written: tuple[Substitution, ...] | None = None
        self.values = values
        self.extra = extra
        self.prefix = prefix
        self.copies: dict[int, int] = {}
        self.independent: set[int] = set()


class _Resolver:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.top = {uid for module in tree.modules.values() for uid in module.symbols}
        self.scopes: dict[tuple[tuple[int, Expr], ...], _Scope] = {}
        self.exported = {
            (d.name, d.body.substitutions): uid
            for uid, d in tree.definitions.items()
            if isinstance(d.body, Substituted) and uid in self.top
        }

    def run(self) -> None:
        self.note_origins()
        for uid, definition in list(self.tree.definitions.items()):
            origin = _standard_origin(definition)
            if origin is not None:
                plain = definition.name.rpartition("!")[2]
                self.tree.definitions[uid] = replace(definition, name=plain, body=origin, loc=origin.loc)
            elif any(isinstance(part, Substituted) for part in walk(definition.body, self.tree)):
                prefix = definition.name.rpartition("!")[0]
                body = self.strip(definition.body, prefix)
                self.tree.definitions[uid] = replace(definition, body=body)

    def note_origins(self) -> None:
        """Note which definition each one that SANY copied is a copy of: the name and the place of the body tell."""
        definitions = self.tree.definitions
        places = {(d.name, d.body.loc): uid for uid, d in definitions.items() if not isinstance(d.body, Substituted)}
        for uid, definition in definitions.items():
            body = definition.body
            while isinstance(body, Substituted):
                body = body.body
            source = places.get((definition.name.rpartition("!")[2], body.loc))
            if source is not None and source != uid:
                self.tree.origins[uid] = source

    def strip(self, expr: Expr, prefix: str) -> Expr:
        """Rewrite an expression outside any substitution."""
        return self.rewrite(expr, _Scope({}, (), prefix))

    def scope(self, substitutions: tuple[Substitution, ...], outer: _Scope) -> _Scope:
        values = {pair.declared: self.rewrite(pair.value, outer) for pair in substitutions}
        key = tuple(sorted(values.items(), key=lambda item: item[0]))
        known = self.scopes.get(key)
        if known is None:
            extra: list[int] = []
            for value in values.values():
                for uid in self.free_params(value):
                    if uid not in extra:
                        extra.append(uid)
            known = self.scopes[key] = _Scope(values, tuple(extra), outer.prefix)
            known.written = None if outer.values else substitutions
        return known

    def free_params(self, expr: Expr) -> list[int]:
        bound: set[int] = set()
        used: list[int] = []
        for part in walk(expr, self.tree):
            if isinstance(part, Bind):
                bound.update(uid for b in part.bounds for uid in b.params)
            elif isinstance(part, Let):
                bound.update(uid for d in part.definitions for uid in self.tree.definitions[d].params)
            elif isinstance(part, OperatorArg) and _is_lambda(part, self.tree):
                bound.update(self.tree.definitions[part.op].params)
            if isinstance(part, (Call, OperatorArg)) and part.op in self.tree.params:
                used.append(part.op)
        return [uid for uid in used if uid not in bound]

    def rewrite(self, expr: Expr, scope: _Scope) -> Expr:
        if isinstance(expr, Substituted):
            return self.rewrite(expr.body, self.scope(expr.substitutions, scope))
        if isinstance(expr, Call):
            return self.call(expr, scope)
        if isinstance(expr, Builtin):
            return replace(expr, args=tuple([self.rewrite(arg, scope) for arg in expr.args]))
        if isinstance(expr, Bind):
            bounds = tuple([self.bound(bound, scope) for bound in expr.bounds])
            return replace(expr, bounds=bounds, body=self.rewrite(expr.body, scope))
        if isinstance(expr, Let):
            return self.let(expr, scope)
        if isinstance(expr, OperatorArg):
            return self.operator_arg(expr, scope)
        return expr

    def bound(self, bound: Bound, scope: _Scope) -> Bound:
        return bound if bound.domain is None else replace(bound, domain=self.rewrite(bound.domain, scope))

    def call(self, expr: Call, scope: _Scope) -> Expr:
        args = tuple([self.rewrite(arg, scope) for arg in expr.args])
        value = scope.values.get(expr.op)
        if value is not None:
            if isinstance(value, OperatorArg):
                if value.builtin is not None:
                    return Builtin(value.builtin, args, expr.loc)
                return Call(value.op, args, expr.loc)
            return value
        target = self.target(expr.op, scope)
        if target != expr.op and expr.op in self.top and scope.extra:
            args = tuple([self.use(self.tree.params[uid], expr) for uid in scope.extra]) + args
        return Call(target, args, expr.loc)

    def target(self, uid: int, scope: _Scope) -> int:
        """Answer the definition that a use within a scope means."""
        if uid in scope.copies:
            return scope.copies[uid]
        if uid not in self.top or not scope.values or not self.depends(uid, scope):
            return uid
        definition = self.tree.definitions[uid]
        name = f"{scope.prefix}!{definition.name}" if scope.prefix else definition.name
        if not scope.extra and scope.written is not None and (name, scope.written) in self.exported:
            scope.copies[uid] = self.exported[name, scope.written]  # SANY has made this copy
            return scope.copies[uid]
        fresh = scope.copies[uid] = self.tree.fresh_uid()
        self.tree.origins[fresh] = self.tree.origins.get(uid, uid)
        body = self.rewrite(definition.body, scope)
        params = scope.extra + definition.params
        self.tree.definitions[fresh] = replace(definition, uid=fresh, name=name, params=params, body=body)
        return fresh

    def depends(self, uid: int, scope: _Scope) -> bool:
        """Tell whether a definition mentions a substituted declaration, itself or through others."""
        seen: set[int] = set()
        stack = [uid]
        while stack:
            current = stack.pop()
            if current in scope.values:
                return True
            if current in seen or current in scope.independent or current not in self.tree.definitions:
                continue
            seen.add(current)
            for part in walk(self.tree.definitions[current].body, self.tree):
                if isinstance(part, (Call, OperatorArg)):
                    stack.append(part.op)
        scope.independent |= seen
        return False

    def let(self, expr: Let, scope: _Scope) -> Let:
        fresh = []
        for uid in expr.definitions:
            scope.copies[uid] = self.tree.fresh_uid()
            fresh.append(scope.copies[uid])
        for uid in expr.definitions:
            self.copy_local(uid, scope.copies[uid], scope)
        result = replace(expr, definitions=tuple(fresh), body=self.rewrite(expr.body, scope))
        for uid in expr.definitions:
            del scope.copies[uid]
        return result

    def copy_local(self, uid: int, fresh: int, scope: _Scope) -> None:
        definition: Definition = self.tree.definitions[uid]
        body = self.rewrite(definition.body, scope)
        self.tree.definitions[fresh] = replace(definition, uid=fresh, body=body)

    def operator_arg(self, expr: OperatorArg, scope: _Scope) -> Expr:
        value = scope.values.get(expr.op)
        if value is not None:
            return value
        if _is_lambda(expr, self.tree):
            fresh = self.tree.fresh_uid()
            self.copy_local(expr.op, fresh, scope)
            return replace(expr, op=fresh)
        target = self.target(expr.op, scope)
        if target != expr.op and expr.op in self.top and scope.extra:
            return self.partial(expr, target, scope)
        return replace(expr, op=target)

    def partial(self, expr: OperatorArg, target: int, scope: _Scope) -> OperatorArg:
        """Pass a copy that has additional parameters: as a LAMBDA that supplies them."""
        definition = self.tree.definitions[target]
        own = definition.params[len(scope.extra) :]
        fresh_params = []
        for uid in own:
            fresh = self.tree.fresh_uid()
            self.tree.params[fresh] = replace(self.tree.params[uid], uid=fresh)
            fresh_params.append(fresh)
        args = tuple([self.use(self.tree.params[uid], expr) for uid in (*scope.extra, *fresh_params)])
        wrapper = self.tree.fresh_uid()
        self.tree.definitions[wrapper] = Definition(
            wrapper, "LAMBDA", tuple(fresh_params), Call(target, args, expr.loc), False, expr.loc
        )
        return replace(expr, op=wrapper)

    def use(self, param: Param, near: Call | OperatorArg) -> Expr:
        if param.arity:
            return OperatorArg(param.uid, None, near.loc)
        return Call(param.uid, (), near.loc)
