"""The functions that generate successors piece by piece: the sets that choose arguments, and what is below them.

``\\E n \\in Node : \\E m \\in Inbox(n) : Receive(n, m)`` is three stages: the elements of Node, those of Inbox(n) given
n, and the successors given n and m. Put together in their order they are what the function of all successors lists;
apart, each reads less of the state than the whole.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.tla.compile.action_quantifiers import write_bounds
from lockstep.tla.compile.action_writer import Site
from lockstep.tla.compile.expression_context import NEXT, NOW, Context
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.generated_module import GeneratedModule, inlined
from lockstep.tla.compile.next_actions import ActionPart, Frame
from lockstep.tla.compile.python_text import Block
from lockstep.tla.compile.spec_meta import SuccessorStage
from lockstep.tla.compile.step_functions import Way, end_of_generator, group_alike, last_statement
from lockstep.tla.syntax.tree import Bound


def write_stages(module: GeneratedModule, split: list[ActionPart], names: dict[int, str]) -> None:
    """Write a function for each stage, and the order of the stages, in which TLC generates successors."""
    ways: list[Way] = [(part, part.frames) for part in split]
    module.meta["stages"] = [stage for group in group_alike(ways) for stage in _stages(module, group, (), names)]


def _stages(
    module: GeneratedModule, ways: list[Way], passed: tuple[Frame, ...], names: dict[int, str]
) -> list[SuccessorStage]:
    """Write the stages that begin alike, below the frames that were passed."""
    part, frames = ways[0]
    if not frames:
        return [{"function": _write_successors(module, part, passed), "action": names[id(part)], "below": []}]
    frame = frames[0]
    many = 1 if frame.bound is None else 1 + frame.further
    after = (*passed, *frames[:many])
    below = [
        stage
        for group in group_alike([(each, left[many:]) for each, left in ways])
        for stage in _stages(module, group, after, names)
    ]
    if frame.bound is None:
        return below
    bounds = [each.bound for each in frames[:many] if each.bound is not None]
    return [{"function": _write_choices(module, bounds, passed, part), "action": "", "below": below}]


def _write_successors(module: GeneratedModule, part: ActionPart, passed: tuple[Frame, ...]) -> str:
    """Write the generator of the successors, given what was chosen before."""
    body = Block(f"{NEXT} = Next()")
    scope, chosen = _within(module, passed, body)
    module.actions["next"].write(part.body, Site(scope, body, (), last_statement(module, "State")))
    return _write_function(module, "_successors_of", chosen, body, part)


def _write_choices(module: GeneratedModule, bounds: list[Bound], passed: tuple[Frame, ...], part: ActionPart) -> str:
    """Write the generator of the elements of a quantifier's sets, given what was chosen before."""
    body = Block()
    scope, chosen = _within(module, passed, body)

    def write(inner: Block, _inside: Context, names: list[str]) -> None:
        inner.emit(f"yield ({''.join(f'{name}, ' for name in names)})")

    write_bounds(module.actions["next"], bounds, scope, body, write)
    return _write_function(module, "_chosen_by", chosen, body, part)


def _within(module: GeneratedModule, passed: tuple[Frame, ...], block: Block) -> tuple[Context, list[str]]:
    """Write the LETs that were passed; return the context there, and the names of what was chosen."""
    scope, chosen = module.actions["next"].scope(), []
    for frame in passed:
        if frame.let is not None:
            scope = let(module.expressions, frame.let, scope, block, anew=True)
        elif frame.use is not None:
            scope = replace(scope, env=inlined(frame, scope))
        elif frame.bound is not None:
            scope, local = module.expressions.bind_values(frame.bound.params, scope)
            chosen += local
    return scope, chosen


def _write_function(module: GeneratedModule, wanted: str, chosen: list[str], body: Block, part: ActionPart) -> str:
    name = module.fresh(wanted)
    module.add("stage", name, [NOW, *chosen], end_of_generator(body), part.loc)
    return name
