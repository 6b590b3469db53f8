"""The named actions of a next-state relation.

Each disjunct of Next is an action: a use of a definition below the quantifiers that choose its arguments. Its
parameters are the variables of those quantifiers, then those of the quantifiers that begin the definition's own body.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lockstep.tla.compile.program import Program
from lockstep.tla.syntax.tree import Bind, Bound, Builtin, Call, Definition, Expr, Let, Location


@dataclass(frozen=True)
class Frame:
    """One step from Next down to an action: a bound of a quantifier, a LET, or the use of a definition.

    `further` is how many bounds of the same quantifier follow.
    """

    bound: Bound | None = None
    further: int = 0
    let: Let | None = None
    use: Call | None = None
    definition: Definition | None = None


@dataclass(frozen=True)
class ActionPart:
    """A disjunct of Next.

    Attributes:
        label: the name that TLC gives its edges.
        frames: the way from Next to ``body``.
        body: what remains.
    """

    name: str
    label: str
    frames: tuple[Frame, ...]
    body: Expr
    loc: Location

    def params(self) -> list[int]:
        """List the bound variables, outermost first."""
        return [uid for frame in self.frames if frame.bound is not None for uid in frame.bound.params]


@dataclass(frozen=True)
class _State:
    """The descent so far: the action's name if it is known, TLC's label, and whether TLC would go on."""

    frames: tuple[Frame, ...]
    name: str | None
    label: str
    tlc_descends: bool
    loc: Location


def split_next(program: Program, definition: Definition) -> list[ActionPart]:
    """Split a next-state relation into actions, in source order; parts of one name are alternatives of one action."""
    start = _State((), None, definition.name, True, definition.loc)
    return _split(program, definition.body, start, definition.name)


def _split(program: Program, expr: Expr, state: _State, home: str) -> list[ActionPart]:
    if isinstance(expr, Builtin) and expr.name == "\\lor" and _splits_here(program, expr, state):
        below = replace(state, name=None)
        return [part for arg in expr.args for part in _split(program, arg, below, state.name or home)]
    if isinstance(expr, Bind) and expr.name == "$BoundedExists":
        constant = all(b.domain is not None and program.is_constant(b.domain) for b in expr.bounds)
        further = range(len(expr.bounds) - 1, -1, -1)
        frames = state.frames + tuple(map(Frame, expr.bounds, further))
        inner = replace(state, frames=frames, tlc_descends=state.tlc_descends and constant)
        return _split(program, expr.body, inner, home)
    if isinstance(expr, Let) and expr.definitions and _leads_to_split(program, expr.body):
        inner = replace(state, frames=(*state.frames, Frame(let=expr)))
        return _split(program, expr.body, inner, home)
    if isinstance(expr, Call):
        found = _split_use(program, expr, state, home)
        if found is not None:
            return found
    return [ActionPart(state.name or home, _label(program, expr, state), state.frames, expr, state.loc)]


def _splits_here(program: Program, expr: Builtin, state: _State) -> bool:
    """Return whether a disjunction separates actions; one that TLC does not reach belongs to its action."""
    if state.name is not None and not state.tlc_descends:
        return False
    return any(_leads_to_use(program, arg) for arg in expr.args)


def _leads_to_use(program: Program, expr: Expr) -> bool:
    if isinstance(expr, Bind) and expr.name == "$BoundedExists":
        return _leads_to_use(program, expr.body)
    if isinstance(expr, Builtin) and expr.name == "\\lor":
        return any(_leads_to_use(program, arg) for arg in expr.args)
    return isinstance(expr, Call) and _action_used(program, expr) is not None


def _leads_to_split(program: Program, expr: Expr) -> bool:
    return isinstance(expr, Builtin) and expr.name == "\\lor" and _leads_to_use(program, expr)


def _action_used(program: Program, expr: Call) -> Definition | None:
    """Return the definition that a use means, if it is an action."""
    definition = program.definition(expr.op)
    if definition is None or (definition.uid not in program.top.values() and "!" not in definition.name):
        return None
    if definition.recursive or not program.facts[definition.uid].reads_next:
        return None
    return definition


def _split_use(program: Program, expr: Call, state: _State, home: str) -> list[ActionPart] | None:
    definition = _action_used(program, expr)
    if definition is None or any(program.tree.params[uid].arity for uid in definition.params):
        return None
    descends = state.tlc_descends and all(map(program.is_constant, expr.args))
    stays = (arg for arg in expr.args if not program.reads(arg)[1])
    if any(program.branches(arg) or program.matters_when(arg) for arg in stays):
        # Where TLC computes such an argument matters to all that uses it: this stays together.
        whole = ActionPart(definition.name, _label(program, expr, state), state.frames, expr, definition.loc)
        return [whole] if state.name is None else None
    frame = Frame(use=expr, definition=definition)
    label = definition.name if state.tlc_descends else state.label
    if state.name is None:
        inner = _State((*state.frames, frame), definition.name, label, descends, definition.loc)
        return _split(program, definition.body, inner, definition.name)
    inner = replace(state, frames=(*state.frames, frame), label=label, tlc_descends=descends)
    parts = _split(program, definition.body, inner, home)
    return parts if len(parts) > 1 else None


def _label(program: Program, expr: Expr, state: _State) -> str:
    """Return the name that TLC prints: that of the innermost definition that it can enter without a state."""
    label, descends = state.label, state.tlc_descends
    while descends:
        if isinstance(expr, Let) and expr.definitions:
            expr = expr.body
        elif isinstance(expr, Bind) and expr.name == "$BoundedExists":
            descends = all(b.domain is not None and program.is_constant(b.domain) for b in expr.bounds)
            expr = expr.body if descends else expr
        elif isinstance(expr, Call) and (definition := program.definition(expr.op)) is not None:
            if program.standard(definition) is not None:
                break
            label = definition.name
            descends = all(map(program.is_constant, expr.args)) and not definition.recursive
            expr = definition.body
        else:
            break
    return label
