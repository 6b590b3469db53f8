"""The functions that generate successors piece by piece: the sets that choose arguments, and what is below them.

``\\E n \\in Node : \\E m \\in Inbox(n) : Receive(n, m)`` is three stages: the elements of Node, those of Inbox(n) given
n, and the successors given n and m. Put together in their order they are what the function of all successors lists;
apart, each reads less of the state than the whole.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_quantifiers import every
from lockstep.tla.compile.action_writer import Rest
from lockstep.tla.compile.expression_context import NEXT, NOW, Context
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.generated_module import Module, inlined
from lockstep.tla.compile.next_actions import ActionPart, Frame
from lockstep.tla.compile.python_text import Block
from lockstep.tla.compile.spec_meta import Stage
from lockstep.tla.compile.step_functions import Way, alike, finish
from lockstep.tla.syntax.tree import Bound


def write_stages(module: Module, split: list[ActionPart], names: dict[int, str]) -> None:
    """Write a function for each stage, and what comes after what, in the order in which TLC generates successors."""
    ways: list[Way] = [(part, part.frames) for part in split]
    module.meta["stages"] = [stage for group in alike(ways) for stage in _stages(module, group, (), names)]


def _stages(module: Module, ways: list[Way], passed: tuple[Frame, ...], names: dict[int, str]) -> list[Stage]:
    """Write the stages that begin alike, below the frames that were passed."""
    part, frames = ways[0]
    if not frames:
        return [{"function": _body(module, part, passed), "action": names[id(part)], "below": []}]
    frame = frames[0]
    many = 1 if frame.bound is None else 1 + frame.further
    after = (*passed, *frames[:many])
    below = [
        stage
        for group in alike([(each, left[many:]) for each, left in ways])
        for stage in _stages(module, group, after, names)
    ]
    if frame.bound is None:
        return below
    bounds = [each.bound for each in frames[:many] if each.bound is not None]
    return [{"function": _listing(module, bounds, passed, part), "action": "", "below": below}]


def _body(module: Module, part: ActionPart, passed: tuple[Frame, ...]) -> str:
    """Write what yields the successors, given what was chosen before."""
    body = Block()
    body.emit(f"{NEXT} = Next()")
    scope, given = _within(module, passed, body)
    module.modes["next"].write(part.body, scope, body, (), Rest(finish(module, "State"), True))
    return _function(module, "_successors_of", given, body, part)


def _listing(module: Module, bounds: list[Bound], passed: tuple[Frame, ...], part: ActionPart) -> str:
    """Write what yields the elements of the sets of a quantifier, given what was chosen before."""
    body = Block()
    scope, given = _within(module, passed, body)

    def write(inner: Block, inside: Context) -> None:
        params = [uid for bound in bounds for uid in bound.params]
        row = "".join(f"{inside.env[uid].code}, " for uid in params)  # type: ignore[union-attr]  # as bound here
        inner.emit(f"yield ({row})")

    every(module.modes["next"], bounds, scope, body, write)
    return _function(module, "_chosen_by", given, body, part)


def _within(module: Module, passed: tuple[Frame, ...], block: Block) -> tuple[Context, list[str]]:
    """Write the LETs that were passed; answer the context there, and the names of what was chosen."""
    scope, given = module.modes["next"].scope(), []
    for frame in passed:
        if frame.let is not None:
            scope = let(module.values, frame.let, scope, block, anew=True)
        elif frame.use is not None:
            scope = replace(scope, env=inlined(frame, scope))
        elif frame.bound is not None:
            scope, local = module.values.bind_values(frame.bound.params, scope)
            given += local
    return scope, given


def _function(module: Module, wanted: str, given: list[str], body: Block, part: ActionPart) -> str:
    name = module.values.globals.fresh(wanted)
    if not any("yield" in line for line in body.lines):
        body.emit("yield from ()")
    head = Block()
    head.nest(f"def {name}({', '.join([NOW, *given])}):  # {part.loc}", body)
    module.entries["stage"].append("\n".join(head.lines))
    return name
