"""Temporal formulas: a tree for META, whose leaves are compiled functions of a step and bound variables.

A leaf is as large a formula as has no temporal operator in it. Definitions are entered, quantifiers over constant sets
keep their place in the tree, and their sets are listed when the specification is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_context import NEXT, NOW, Context
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.generated_module import GeneratedModule, inlined, source_text, write_loops
from lockstep.tla.compile.named_formulas import definition_named, is_temporal, sorted_formula
from lockstep.tla.compile.next_actions import Frame
from lockstep.tla.compile.python_text import Block
from lockstep.tla.compile.spec_meta import Temporal
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Expr, Let, Location, walk

_OPERATORS = {
    "\\lnot": "not",
    "\\land": "and",
    "\\lor": "or",
    "=>": "implies",
    "\\equiv": "equivalent",
    "[]": "always",
    "<>": "eventually",
    "~>": "leads to",
}
_FAIR = {"$WF": "WF", "$SF": "SF"}
_QUANTIFIERS = {"$BoundedForall": "all", "$BoundedExists": "some"}


class _NotCheckedError(CompileError):
    """A temporal formula of a form that no search of a state graph checks."""


@dataclass(frozen=True)
class _Place:
    """The place of a formula.

    Attributes:
        frames: the quantifiers, uses of definitions and LETs around it, outermost first.
        given: the arguments that stand for parameters, each with where it stands itself.
        within: the definitions that were entered.
    """

    frames: tuple[Frame, ...] = ()
    given: Mapping[int, tuple[Expr, _Place]] = field(default_factory=dict)
    within: tuple[int, ...] = ()

    def below(self, frame: Frame) -> _Place:
        """Return the place one frame further in."""
        return replace(self, frames=(*self.frames, frame))


def write_temporal_properties(module: GeneratedModule, parts: Mapping[str, list[Expr]]) -> None:
    """Write the temporal parts of properties, and what the SPECIFICATION assumes (fairness).

    A part that no search checks is listed in META as unchecked, and so is every property where that is so of something
    that the SPECIFICATION assumes.

    Args:
        parts: the temporal conjuncts of each property that has some, by its name.

    Raises:
        CompileError: if a leaf is outside the supported language.
    """
    meta = module.meta
    assumed: list[Expr] = []
    if parts and module.program.cfg.specification is not None:
        definition = definition_named(module.program, module.program.cfg.specification, "SPECIFICATION")
        formula = sorted_formula(module.program, definition.body)
        always = [Builtin("[]", (each,), each.loc) for each in formula.invariants]
        assumed = [*always, *formula.temporal]
    blocked: list[Location] = []
    for expr in assumed:
        found = _attempted(module, expr)
        if found is None:
            blocked.append(expr.loc)
        else:
            meta["assumed"].append(found)
    for name, exprs in parts.items():
        for expr in exprs:
            found = None if blocked else _attempted(module, expr)
            if found is None:
                meta["unchecked"].setdefault(name, []).extend(map(str, blocked or [expr.loc]))
            else:
                meta["temporal"].setdefault(name, []).append(found)
                meta["temporal_places"].setdefault(name, []).append(str(expr.loc))


def _attempted(module: GeneratedModule, expr: Expr) -> Temporal | None:
    """Write a formula; None if it is of a form that no search checks."""
    try:
        with module.expressions.attempt():
            return _write(module, expr, _Place())
    except _NotCheckedError:
        return None


def _write(module: GeneratedModule, expr: Expr, place: _Place) -> Temporal:
    if not _is_temporal(module, expr, place):
        return _leaf(module, expr, place)
    if isinstance(expr, Builtin):
        return _write_builtin(module, expr, place)
    if isinstance(expr, Bind) and expr.name in _QUANTIFIERS:
        return _write_quantifier(module, expr, place)
    if isinstance(expr, Call):
        return _write_use(module, expr, place)
    if isinstance(expr, Let):
        # What is temporal in a LET is entered where it is used; the rest is there for the leaves.
        definitions = module.program.tree.definitions
        plain = [uid for uid in expr.definitions if not is_temporal(module.program, definitions[uid].body)]
        inside = place.below(Frame(let=replace(expr, definitions=tuple(plain)))) if plain else place
        return _write(module, expr.body, inside)
    raise _NotCheckedError("this is not supported in a temporal formula", expr.loc)


def _write_builtin(module: GeneratedModule, expr: Builtin, place: _Place) -> Temporal:
    if expr.name in _OPERATORS:
        return [_OPERATORS[expr.name], *(_write(module, arg, place) for arg in expr.args)]
    if expr.name in _FAIR:
        return _write_fairness(module, expr, place)
    if expr.name == "$IfThenElse":
        test, yes, no = (_write(module, arg, place) for arg in expr.args)
        return ["and", ["implies", test, yes], ["implies", ["not", test], no]]
    raise _NotCheckedError(f"{expr.name} is not supported in a temporal formula", expr.loc)


def _write_fairness(module: GeneratedModule, expr: Builtin, place: _Place) -> Temporal:
    """Write WF or SF: of the angle action, a test of being enabled and a test of a step.

    In a module that is instanced, the action that is to be enabled has its own variables, and is another argument.
    """
    subscript, action, *apart = expr.args
    angle = Builtin("$AngleAct", (action, subscript), expr.loc)
    enabled = _leaf(module, Builtin("ENABLED", (*apart, angle)[:1], expr.loc), place)
    text = " ".join(source_text(module, expr.loc).split())
    return ["fair", _FAIR[expr.name], enabled, _leaf(module, angle, place), text, _shown(module, place)]


def _shown(module: GeneratedModule, place: _Place) -> list[str]:
    """List the names of what quantifiers bind here."""
    bounds = [frame.bound for frame in place.frames if frame.bound is not None]
    return [module.program.tree.params[uid].name for bound in bounds for uid in bound.params]


def _write_quantifier(module: GeneratedModule, expr: Bind, place: _Place) -> Temporal:
    for bound in expr.bounds:
        if bound.domain is None or not _is_constant(module, bound.domain, place):
            raise _NotCheckedError("a temporal formula is quantified over constant sets only", expr.loc)
    name = module.fresh("_temporal_elements")
    body = Block()
    scope, given = _scope(module, place, module.expressions.context(None, None), body)
    frames = [Frame(bound=bound) for bound in expr.bounds]
    write_loops(module, frames, scope, body)
    module.add("next", name, given, body, expr.loc)
    inside = replace(place, frames=(*place.frames, *frames))
    return [_QUANTIFIERS[expr.name], name, _write(module, expr.body, inside)]


def _write_use(module: GeneratedModule, expr: Call, place: _Place) -> Temporal:
    """Write the use of a definition or a parameter that stands for something temporal."""
    if expr.op in place.given:
        argument, outside = place.given[expr.op]
        # What is bound out there is bound in here as well, in the same order and before what is bound in here alone.
        return _write(module, argument, replace(place, given=outside.given))
    definition = module.program.definition(expr.op)
    if definition is None or definition.uid in place.within:
        raise _NotCheckedError("this is not supported in a temporal formula", expr.loc)
    inside = replace(place, within=(*place.within, definition.uid))
    if definition.params:
        inside = inside.below(Frame(use=expr, definition=definition))
        pairs = zip(definition.params, expr.args, strict=True)
        inside = replace(inside, given={**place.given, **{uid: (arg, place) for uid, arg in pairs}})
    return _write(module, definition.body, inside)


def _leaf(module: GeneratedModule, expr: Expr, place: _Place) -> Temporal:
    """Compile a formula without temporal operators as a function of both states and what is bound."""
    of_step = module.program.reads(expr)[1]
    name = module.fresh("_leaf")
    body = Block()
    scope, given = _scope(module, place, module.expressions.context(NOW, NEXT), body)
    body.emit(f"return {module.expressions.test(expr, scope, body)}")
    module.add("next", name, [NOW, NEXT, *given], body, expr.loc)
    return ["leaf", name, of_step, str(expr.loc)]


def _scope(module: GeneratedModule, place: _Place, scope: Context, block: Block) -> tuple[Context, list[str]]:
    """Bind the variables of the frames around a formula; return the parameters of a function that takes them."""
    given: list[str] = []
    for frame in place.frames:
        if frame.bound is not None:
            scope, names = module.expressions.bind_values(frame.bound.params, scope)
            given += names
        elif frame.let is not None:
            scope = let(module.expressions, _without_states(module, frame.let, scope), scope, block)
        else:
            scope = scope.bind(inlined(frame, scope))
    return scope, given


def _without_states(module: GeneratedModule, expr: Let, scope: Context) -> Let:
    """Leave the definitions about states out of a LET where there is no state: the set of a quantifier is constant."""
    if scope.now is not None:
        return expr
    constant = [
        uid for uid in expr.definitions if module.program.is_constant(module.program.tree.definitions[uid].body)
    ]
    return replace(expr, definitions=tuple(constant))


def _is_constant(module: GeneratedModule, domain: Expr, place: _Place) -> bool:
    """Return whether neither a set nor an argument that it uses depends on a variable."""
    return module.program.is_constant(domain) and all(
        _is_constant(module, *each) for each in _arguments(module, domain, place)
    )


def _is_temporal(module: GeneratedModule, expr: Expr, place: _Place) -> bool:
    """Return whether an expression has a temporal operator in it, or in an argument that it uses."""
    return is_temporal(module.program, expr) or any(
        _is_temporal(module, *each) for each in _arguments(module, expr, place)
    )


def _arguments(module: GeneratedModule, expr: Expr, place: _Place) -> list[tuple[Expr, _Place]]:
    """List the arguments that stand for parameters within an expression."""
    parts = walk(expr, module.program.tree)
    return [place.given[part.op] for part in parts if isinstance(part, Call) and part.op in place.given]
