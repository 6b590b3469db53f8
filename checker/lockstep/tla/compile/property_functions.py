"""The functions that test states and steps: invariants, properties and their parts, constraints, ASSUMEs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.expression_context import NEXT, NOW, Context, InlineBinding
from lockstep.tla.compile.footprints import CallArgument, Each, Part, Scope, footprint_of, parts
from lockstep.tla.compile.generated_module import GeneratedModule, inlined, place_of, write_loops
from lockstep.tla.compile.named_formulas import (
    CONSTANT,
    STATE,
    definition_named,
    is_constant_in_tlc,
    refuse_above,
    sorted_formula,
)
from lockstep.tla.compile.next_actions import Frame
from lockstep.tla.compile.property_reasons import write_reason
from lockstep.tla.compile.python_text import Block
from lockstep.tla.compile.spec_meta import EachMeta, Path, Place
from lockstep.tla.compile.temporal_functions import write_temporal_properties
from lockstep.tla.syntax.tree import Builtin, Expr


def write_predicates(module: GeneratedModule) -> None:
    """Write the formulas that the configuration names besides Init and Next, and the ASSUMEs."""
    cfg, meta = module.program.cfg, module.meta
    asked = [(name, "INVARIANT") for name in cfg.invariants] + [(name, "PROPERTY") for name in cfg.properties]
    meta["property_places"] = {name: place_of(definition_named(module.program, name, what).loc) for name, what in asked}
    meta["invariants"] = {name: state_predicate(module, name, "INVARIANT") for name in cfg.invariants}
    for name in cfg.invariants:
        write_parts(module, name, definition_named(module.program, name, "INVARIANT").body, of_step=False)
        write_reason(module, name, definition_named(module.program, name, "INVARIANT").body)
    meta["constraints"] = [state_predicate(module, name, "CONSTRAINT") for name in cfg.constraints]
    meta["action_constraints"] = [
        predicate(module, definition_named(module.program, name, "ACTION_CONSTRAINT").body)
        for name in cfg.action_constraints
    ]
    write_temporal_properties(module, dict(_temporal_parts(module)))
    meta["symmetry"], meta["view"], meta["check_deadlock"] = cfg.symmetry, cfg.view, cfg.check_deadlock
    meta["cfg_places"] = {name: cfg.places[name] for name in (cfg.symmetry, cfg.view) if name in cfg.places}
    meta["has_registers"] = module.program.has_registers
    meta["undeclared_names"] = module.program.undeclared_names()
    for entry, what in ((cfg.view, "VIEW"), (cfg.symmetry, "SYMMETRY"), (cfg.alias, "ALIAS")):
        if entry is not None:
            definition_named(module.program, entry, what)
    check_replaced(module)
    meta["assumptions"] = assumptions(module)
    meta["constant_entries"] = list(constant_entries(module))
    if cfg.postcondition is not None:
        write_postcondition(module, cfg.postcondition)


def write_postcondition(module: GeneratedModule, name: str) -> None:
    """Write the POSTCONDITION; one that asks for more than a search knows, or speaks of a state, is left unchecked."""
    definition = definition_named(module.program, name, "POSTCONDITION")
    module.meta["property_places"][name] = place_of(definition.loc)
    module.meta["postcondition_name"] = name
    try:
        with module.expressions.attempt():
            written = predicate(module, definition.body) if module.program.is_constant(definition.body) else None
    except CompileError as error:
        if error.code:
            raise
        written = None
    if written is None:
        module.meta["unchecked"][name] = [str(definition.loc)]
        is_constant = module.program.is_constant(definition.body)
        why = "asks TLC for what no search here knows" if is_constant else "speaks of a state"
        module.meta["why_unchecked"][name] = f"the POSTCONDITION {why}"
    else:
        module.meta["postcondition"] = (name, written)


def state_predicate(module: GeneratedModule, name: str, what: str) -> str:
    """Compile a definition that must speak of one state; return the function's name."""
    return predicate(module, definition_named(module.program, name, what).body)


def check_replaced(module: GeneratedModule) -> None:
    """Refuse a replacement of a declared constant that is no constant, as TLC does."""
    for declared in module.program.constants():
        definition = module.program.definition(declared.uid)
        if definition is not None and not definition.params:
            what = f"{definition.name}, which stands for the constant {declared.name},"
            refuse_above(module.program, definition.body, CONSTANT, what, definition.loc)


def _temporal_parts(module: GeneratedModule) -> Iterator[tuple[str, list[Expr]]]:
    """Write the parts of each PROPERTY that a search of states checks; yield the other parts."""
    for name in module.program.cfg.properties:
        temporal = write_property(module, name)
        if temporal:
            yield name, temporal


def write_property(module: GeneratedModule, name: str) -> list[Expr]:
    """Write the conjuncts of a PROPERTY about steps, the first state and all states; return the temporal ones."""
    formula = sorted_formula(module.program, definition_named(module.program, name, "PROPERTY").body)
    if formula.steps:
        module.meta["action_properties"][name] = [predicate(module, step) for step in formula.steps]
        for step in formula.steps:
            write_parts(module, name, step.args[0], of_step=True)
            write_reason(module, name, step.args[0], of_step=True)
    if formula.initial:
        what = f"what the PROPERTY {name} asks of the first state"
        for part in formula.initial:
            refuse_above(module.program, part, STATE, what, part.loc)
        module.meta["initial_properties"][name] = [predicate(module, part) for part in formula.initial]
    for index, part in enumerate(formula.invariants):
        key = name if len(formula.invariants) == 1 else f"{name}#{index + 1}"
        if key not in module.meta["invariants"]:
            module.meta["invariants"][key] = predicate(module, part)
            write_parts(module, key, part, of_step=False)
            write_reason(module, key, part)
    return formula.temporal


def predicate(module: GeneratedModule, expr: Expr) -> str:
    """Compile a formula as a function of both states; return its name."""
    scope = module.expressions.context(NOW, NEXT)
    body = Block()
    *conjuncts, last = expr.args if isinstance(expr, Builtin) and expr.name == "\\land" and expr.args else (expr,)
    for conjunct in conjuncts:
        body.emit(f"# {conjunct.loc}")
        body.emit(f"if not ({module.expressions.test(conjunct, scope, body)}):")
        body.emit("    return False")
    body.emit(f"# {last.loc}")
    body.emit(f"return {module.expressions.test(last, scope, body)}")
    name = module.fresh("_holds")
    module.add("next", name, [NOW, f"{NEXT}=None"], body, expr.loc)
    return name


def write_parts(module: GeneratedModule, name: str, formula: Expr, *, of_step: bool) -> None:
    """Compile the parts of a property: of each its test, the elements it is for, and its footprint."""
    found = module.meta["parts"].setdefault(name, [])
    for part in parts(module.program, formula):
        holds, elements = module.fresh("_part_holds"), module.fresh("_part_elements")
        _write_function(module, holds, part, part.body, test=True)
        _write_elements(module, elements, part)
        eaches = [_write_each(module, part, each) for each in part.eaches]
        known = [each for each in eaches if each is not None]
        found.append(
            {
                "holds": holds,
                "elements": elements,
                "footprint": _listed(part.footprint),
                "eaches": known if len(known) == len(eaches) else [],
                "of_step": of_step,
            }
        )


def _listed(paths: Iterable[tuple[str | int | None, ...]]) -> list[Path]:
    return sorted(map(list, paths), key=repr)


def _write_each(module: GeneratedModule, part: Part, each: Each) -> EachMeta | None:
    """Compile the functions that find the elements affected by a change; None where a limit has none of its own."""
    assert each.bound.domain is not None
    found: EachMeta = {
        "holds": module.fresh("_each_holds"),
        "domain": None,
        "range": None,
        "guard": None,
        "of_domain": _listed(each.domain),
        "whole": _listed(each.whole),
        "at": sorted(((list(at.path), at.key, at.offset) for at in each.at), key=repr),
        "selections": sorted(((list(of.path), of.field, of.key, of.offset) for of in each.selections), key=repr),
        "thresholds": [],
    }
    if each.guard is not None:
        guard = found["guard"] = module.fresh("_each_guard")
        _write_function(module, guard, part, each.guard, test=True)
    inside = replace(part, frames=(*part.frames, Frame(bound=each.bound)))
    _write_function(module, found["holds"], inside, each.body, test=True)
    if each.range is None:
        domain = found["domain"] = module.fresh("_each_domain")
        _write_function(module, domain, part, each.bound.domain)
    else:
        ends = found["range"] = (module.fresh("_each_low"), module.fresh("_each_high"))
        for name, end in zip(ends, each.range, strict=True):
            _write_function(module, name, part, end)
    for threshold in each.thresholds:
        limit = module.fresh("_each_limit")
        try:
            with module.expressions.attempt():
                _write_function(module, limit, part, threshold.limit, threshold.scope)
        except (CompileError, KeyError):
            return None
        footprint = _listed(threshold.footprint)
        found["thresholds"].append(
            {"key": threshold.key, "offset": threshold.offset, "limit": limit, "footprint": footprint}
        )
    return found


def _write_function(
    module: GeneratedModule, name: str, part: Part, expr: Expr, arguments: Scope | None = None, *, test: bool = False
) -> None:
    """Write a function of both states and the elements of a part; `arguments` are what parameters stand for."""

    def write() -> tuple[list[str], Block]:
        scope, elements = module.expressions.context(NOW, NEXT), []
        for frame in part.frames:
            if frame.bound is not None:
                scope, local = module.expressions.bind_values(frame.bound.params, scope)
                elements += local
            else:
                scope = scope.bind(inlined(frame, scope))
        scope, body = _with_arguments(scope, arguments or {}), Block()
        compiled = (module.expressions.test if test else module.expressions.expr)(expr, scope, body)
        body.emit(f"return {compiled}")
        return [NOW, NEXT, *elements], body

    module.entries["next"].append("\n".join(module.expressions.quickly(name, expr, expr.loc, write).lines))


def _write_elements(module: GeneratedModule, name: str, part: Part) -> None:
    body = Block()
    write_loops(module, part.frames, module.expressions.context(None, None), body)
    module.add("next", name, (), body, part.body.loc)


def assumptions(module: GeneratedModule) -> list[tuple[str, Place]]:
    """Write the ASSUMEs; return the function and the place of each."""
    found = []
    for of_spec in module.program.tree.modules.values():
        if of_spec.name not in module.sources:
            continue
        for assumed in of_spec.assumptions:
            try:
                with module.expressions.attempt():
                    found.append((predicate(module, assumed.body), place_of(assumed.loc)))
            except CompileError:
                if of_spec.name == module.program.tree.root:
                    raise
    return found


def constant_entries(module: GeneratedModule) -> Iterator[tuple[str, str, str]]:
    """Write the formulas that the configuration names and TLC takes for constants; yield entry, place and function."""
    cfg = module.program.cfg
    entries = [("INIT", cfg.init), ("NEXT", cfg.next)]
    entries += [("INVARIANT", name) for name in cfg.invariants] + [("PROPERTY", name) for name in cfg.properties]
    entries += [("CONSTRAINT", name) for name in cfg.constraints]
    entries += [("ACTION_CONSTRAINT", name) for name in cfg.action_constraints]
    for what, name in entries:
        if name is not None and is_constant_in_tlc(module.program, name):
            body = definition_named(module.program, name, what).body
            yield f"{what} {name}", cfg.places.get(name, ""), predicate(module, body)


def footprints_of(module: GeneratedModule) -> Iterator[tuple[str, list[Path]]]:
    """Yield the paths that each definition of a list reads, if there is one of that name."""
    for name in module.footprints:
        definition = module.program.definition(module.program.top.get(name, -1))
        if definition is not None:
            yield name, _listed(footprint_of(module.program, definition))


def _with_arguments(scope: Context, arguments: Scope) -> Context:
    """Return a context in which parameters stand for what they were given."""
    given = ((uid, each) for uid, each in arguments.items() if isinstance(each, CallArgument))
    return scope.bind({uid: InlineBinding(each.expr, _with_arguments(scope, each.scope)) for uid, each in given})
