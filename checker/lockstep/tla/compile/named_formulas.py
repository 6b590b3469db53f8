"""The formulas that the configuration names: Init, Next and its actions, and the conjuncts of temporal formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lockstep.base.errors import WRONG_CFG
from lockstep.tla.compile.compile_error import CompileError, counted, refused_name
from lockstep.tla.compile.next_actions import ActionPart, split_next
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.python_text import FreshNames
from lockstep.tla.syntax.cfg import KEYWORDS
from lockstep.tla.syntax.standard_modules import PRINTING, REGISTERS
from lockstep.tla.syntax.tree import Bind, Builtin, Call, Definition, Expr, Location, OperatorArg, walk

_TEMPORAL = frozenset({"[]", "<>", "~>", "$WF", "$SF", "-+->", "$TemporalExists", "$TemporalForall"})
#: The operators that speak of steps, whatever stands in them.
_OF_STEPS = frozenset({"'", "ENABLED", "UNCHANGED", "$SquareAct", "$AngleAct"})


@dataclass
class Formula:
    """The parts of a temporal formula ``Init /\\ [][Next]_v /\\ ...``; `temporal` are all that are of no other kind."""

    initial: list[Expr]
    steps: list[Builtin]
    invariants: list[Expr]
    temporal: list[Expr]


def definition_named(program: Program, name: str, what: str) -> Definition:
    """Return the definition that an entry of the configuration names.

    Args:
        what: the keyword of the entry.

    Raises:
        CompileError: if there is no such definition; if it takes arguments, which a configuration cannot give; if it
            speaks of more than the entry may.
    """
    uid = program.top.get(name)
    if uid is None:
        problem = f"{what} {name} is not defined in {program.tree.root}"
        raise refused_name(program.cfg, name, problem, [*program.top, *KEYWORDS])
    definition = program.definition(uid)
    if definition is None:
        kind = "variable" if uid in program.tree.declarations and uid not in program.values else "constant"
        raise refused_name(program.cfg, name, f"{what} {name} is a {kind}, and should be a definition")
    if definition.params:
        wanted = counted(len(definition.params), "argument")
        raise refused_name(program.cfg, name, f"{what} {name} takes {wanted}, and a configuration gives none")
    refuse_above(program, definition.body, _LEVELS.get(what, TEMPORAL), f"the {what} {name}", definition.loc)
    return definition


#: The levels of formulas: they speak of nothing that changes, of one state, of a step, of behaviours.
CONSTANT, STATE, STEP, TEMPORAL = range(4)
_LEVELS = {
    "SYMMETRY": CONSTANT,
    "INIT": STATE,
    "INVARIANT": STATE,
    "CONSTRAINT": STATE,
    "VIEW": STATE,
    "NEXT": STEP,
    "ACTION_CONSTRAINT": STEP,
}


def refuse_above(program: Program, expr: Expr, level: int, what: str, loc: Location) -> None:
    """Refuse an expression above a level, with a CompileError at the given location."""
    now, after = program.reads(expr)
    if level < TEMPORAL and is_temporal(program, expr):
        said = "is a temporal formula"
    elif level < STEP and after:
        said = "speaks of the next state"
    elif level < STATE and now:
        said = "speaks of the variables"
    else:
        return
    wanted = ("be constant", "speak of one state only", "speak of one step only")[level]
    raise CompileError(f"{WRONG_CFG} {what} {said}, but it should {wanted}", loc, WRONG_CFG)


def init_and_next(program: Program) -> tuple[Expr | None, Expr | None]:
    """Find Init and Next: as the configuration names them, or by their usual names."""
    cfg = program.cfg
    if not program.variables():
        if (start := cfg.specification or cfg.init or cfg.next) is not None:
            raise refused_name(cfg, start, f"{program.tree.root} has no variable that {start} could speak of")
        return None, None
    if cfg.specification is not None:
        if (other := cfg.init or cfg.next) is not None:
            raise refused_name(cfg, other, f"{other} stands beside the SPECIFICATION {cfg.specification}")
        definition = definition_named(program, cfg.specification, "SPECIFICATION")
        formula = sorted_formula(program, definition.body)
        if len(formula.steps) != 1 or not formula.initial:
            said = f"{WRONG_CFG} the SPECIFICATION {cfg.specification} should be Init /\\ [][Next]_vars"
            raise CompileError(said, definition.loc, WRONG_CFG)
        initial = formula.initial
        whole = initial[0] if len(initial) == 1 else Builtin("\\land", tuple(initial), initial[0].loc)
        return (_use(program, cfg.start, "start") or whole), formula.steps[0].args[0]
    if (cfg.init is None) != (cfg.next is None):
        given, lacking = ("INIT", "NEXT") if cfg.next is None else ("NEXT", "INIT")
        raise refused_name(cfg, given, f"there is {given}, but no {lacking}")
    init = cfg.start or cfg.init or ("Init" if "Init" in program.top else None)
    nxt = cfg.next or ("Next" if "Next" in program.top else None)
    return _use(program, init, "INIT"), _use(program, nxt, "NEXT")


def _use(program: Program, name: str | None, what: str) -> Expr | None:
    if name is None:
        return None
    definition = definition_named(program, name, what)
    return Call(program.top[name], (), definition.loc)


def sorted_formula(program: Program, expr: Expr) -> Formula:
    """Sort the conjuncts of a temporal formula."""
    found = Formula([], [], [], [])
    _sort(program, expr, found)
    return found


def _sort(program: Program, expr: Expr, found: Formula) -> None:
    if isinstance(expr, Builtin) and expr.name == "\\land":
        for arg in expr.args:
            _sort(program, arg, found)
    elif isinstance(expr, Builtin) and expr.name == "[]":
        _sort_always(program, expr.args[0], found)
    elif is_temporal(program, expr):
        definition = program.definition(expr.op) if isinstance(expr, Call) else None
        if definition is not None and not definition.params:
            _sort(program, definition.body, found)
        else:
            found.temporal.append(expr)
    else:
        found.initial.append(expr)


def _sort_always(program: Program, expr: Expr, found: Formula) -> None:
    if isinstance(expr, Builtin) and expr.name == "$SquareAct":
        found.steps.append(expr)
    elif is_temporal(program, expr) or program.reads(expr)[1]:
        found.temporal.append(Builtin("[]", (expr,), expr.loc))
    else:
        found.invariants.append(expr)


def is_temporal(program: Program, expr: Expr) -> bool:
    """Return whether a temporal operator stands in an expression, or in a definition that it uses."""
    return any(isinstance(part, (Builtin, Bind)) and part.name in _TEMPORAL for part in _all_of(program, expr))


def is_constant_in_tlc(program: Program, name: str) -> bool:
    """Return whether TLC evaluates a definition of the root module before it reads what the configuration names.

    It does where the definition is not replaced by configuration, comes from no module that is also instantiated, and
    nothing in it speaks of states. (SpecProcessor.processConstantDefns; of the modules that are instantiated it leaves
    out only those with parameters.)
    """
    uid, tree = program.top[name], program.tree
    definition = program.definition(uid)
    instantiated = {tree.definitions[each].loc.module for each in tree.origins.values()}
    if definition is None or uid in program.replaced or definition.loc.module in instantiated:
        return False
    return not any(_is_of_states(program, part) for part in _all_of(program, definition.body))


def _is_of_states(program: Program, part: Expr) -> bool:
    if isinstance(part, (Builtin, Bind)):
        return part.name in _TEMPORAL or part.name in _OF_STEPS
    if not isinstance(part, (Call, OperatorArg)):
        return False
    declared, definition = program.tree.declarations.get(part.op), program.definition(part.op)
    if definition is not None:
        return program.standard(definition) in REGISTERS | PRINTING
    return declared is not None and declared.is_variable


def _all_of(program: Program, expr: Expr) -> Iterator[Expr]:
    """List the subexpressions of an expression and of the definitions that it uses."""
    seen: set[int] = set()
    waiting = [expr]
    while waiting:
        for part in walk(waiting.pop(), program.tree):
            yield part
            if isinstance(part, (Call, OperatorArg)) and part.op not in seen:
                seen.add(part.op)
                definition = program.own_definition(part.op)
                if definition is not None:
                    waiting.append(definition.body)


def actions_of(program: Program, split: list[ActionPart]) -> dict[str, tuple[tuple[str, ...], list[ActionPart]]]:
    """Find the actions by name, each with its parameters and its alternatives."""
    grouped: dict[tuple[str, tuple[str, ...]], list[ActionPart]] = {}
    for part in split:
        grouped.setdefault((part.name, tuple(param_names(program, part))), []).append(part)
    taken = FreshNames()
    return {taken.fresh(name): (params, parts) for (name, params), parts in grouped.items()}


def split_of(program: Program, nxt: Expr) -> list[ActionPart]:
    """Split Next into the parts of its actions."""
    if isinstance(nxt, Call):
        definition = program.definition(nxt.op)
        if definition is not None and not definition.params:
            return split_next(program, definition)
    holder = Definition(program.tree.fresh_uid(), "Next", (), nxt, False, nxt.loc)
    return split_next(program, holder)


def param_names(program: Program, part: ActionPart) -> list[str]:
    """List the names of an action's parameters, each once."""
    names = FreshNames()
    return [names.fresh(program.tree.params[uid].name) for uid in part.params()]


def behaviour(program: Program) -> tuple[Expr | None, dict[str, tuple[tuple[str, ...], list[ActionPart]]]]:
    """Return Init, and each action with its parameters and its alternatives, by the names in the compiled spec.

    Raises:
        CompileError: if the configuration names what is not there.
    """
    init, nxt = init_and_next(program)
    return init, {} if nxt is None else actions_of(program, split_of(program, nxt))
