"""The functions of a module that take steps: initial states, successors, and each action by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from lockstep.tla.compile.action_conjunctions import held
from lockstep.tla.compile.action_quantifiers import every
from lockstep.tla.compile.action_writer import YIELD, Actions, Rest
from lockstep.tla.compile.context_facts import limits_of
from lockstep.tla.compile.expression_context import NEXT, NOW, Context
from lockstep.tla.compile.expression_logic import given_of, member_of
from lockstep.tla.compile.expression_quantifiers import iterable
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.footprints import read_by
from lockstep.tla.compile.generated_module import Module, inlined, place_of
from lockstep.tla.compile.named_formulas import actions_of, split_of
from lockstep.tla.compile.never_enabled import is_never
from lockstep.tla.compile.next_actions import ActionPart, Frame
from lockstep.tla.compile.python_text import Block, python_name
from lockstep.tla.syntax.tree import Bound, Expr

#: An action, and what is left of the way to it.
Way: TypeAlias = tuple[ActionPart, tuple[Frame, ...]]


#: What a function that lists arguments is told of each of them.
_TOLD = "_args"


def _first_frame(way: Way) -> object:
    """Answer what the way to an action begins with; two ways that begin alike have one quantifier, LET or use."""
    part, frames = way
    if not frames:
        return part.body, id(part)
    frame = frames[0]
    return tuple(id(each) for each in (frame.bound, frame.let, frame.use))


def alike(ways: Iterable[Way]) -> Iterator[list[Way]]:
    """Yield the ways to actions, together where they begin with the same quantifier, LET or use."""
    for _, group in itertools.groupby(ways, key=_first_frame):
        yield list(group)


def write_init(module: Module, init: Expr | None) -> None:
    """Write the function that lists the initial states, if there is Init."""
    module.meta["init"] = None
    if init is None:
        return
    mode = module.modes["init"]
    body = Block()
    body.emit(f"{NEXT} = Next()")
    mode.write(init, mode.scope(), body, (), Rest(finish(module, "State"), True))
    if not any("yield" in line for line in body.lines):
        body.emit("yield from ()")
    head = Block()
    module.meta["init_place"] = place_of(init.loc)
    module.meta["init"] = module.values.globals.fresh("_init")
    head.nest(f"def {module.meta['init']}():  # {init.loc}", body)
    module.entries["init"].append("\n".join(head.lines))


def finish(module: Module, *results: str) -> Callable[[Block, Any, Context], None]:
    """Return what writes the end of a way: it yields results, of which State is the state that was made."""
    state = f"State(({', '.join(f'{NEXT}.{name}' for name in module.values.variables.values())},))"

    def write(block: Block, assigned: Any, scope: Context) -> None:
        block.emit(f"yield {', '.join(state if result == 'State' else result for result in results)}")

    return write


def write_actions(module: Module, nxt: Expr | None) -> None:
    """Write the functions of each action, and that of all successors, if there is Next."""
    if nxt is None:
        return
    split = split_of(module.program, nxt)
    grouped = actions_of(module.program, split)
    for name, (params, alternatives) in grouped.items():
        write_action(module, name, params, alternatives)
    names = {id(part): name for name, (_, alternatives) in grouped.items() for part in alternatives}
    write_successors(module, split, names)
    module.split = split, names


def write_action(module: Module, name: str, params: tuple[str, ...], parts: list[ActionPart]) -> None:
    """Write the functions of one action, one for each way to ask for it."""
    modes = ("step", "why", "bound")
    keys = {mode: module.values.globals.fresh(f"_{mode}_{python_name(name)}") for mode in modes}
    for mode, key in keys.items():
        module.entries[mode].append(entry(module, mode, key, name, params, parts))
    loc = parts[0].loc
    module.meta["actions"][name] = {
        "params": list(params),
        "labels": sorted({part.label for part in parts}),
        "loc": place_of(loc),
        "step": keys["step"],
        "why": keys["why"],
        "bound": keys["bound"],
        "reads": sorted(frozenset().union(*(read_by(module.program, part.frames, part.body) for part in parts))),
        "never": all(is_never(module.program, part) for part in parts),
    }


def entry(module: Module, mode: str, key: str, name: str, params: tuple[str, ...], parts: list[ActionPart]) -> str:
    """Write the function that decides (step, why) an action with given arguments, or lists these (bound)."""
    actions = module.modes[mode]  # type: ignore[index]
    given = [f"_p_{python_name(param)}" for param in params]
    body = Block()
    body.emit(f"{NEXT} = Next()")
    for part in parts:
        _descend(module, actions, [(part, part.frames)], [], given, {}, actions.scope(), body)
    if not any("yield" in line for line in body.lines):
        body.emit("yield from ()")
    states = {"bound": [NOW, _TOLD], "step": [NOW, *given], "why": ["_w", NOW, *given]}[mode]
    head = Block()
    head.nest(f"def {key}({', '.join(states)}):  # {parts[0].loc} {name}", body)
    return "\n".join(head.lines)


def write_successors(module: Module, split: list[ActionPart], names: dict[int, str]) -> None:
    """Write the function that lists all successors of a state, in the order in which TLC generates them.

    What stands below a quantifier is taken element by element: ``\\E i \\in 1..2 : A(i) \\/ B(i)`` is A(1), B(1),
    A(2), B(2).
    """
    key = module.meta["successors"] = module.values.globals.fresh("_successors")
    actions, body, head = module.modes["next"], Block(), Block()
    body.emit(f"{NEXT} = Next()")
    ways: list[Way] = [(part, part.frames) for part in split]
    for group in alike(ways):
        _descend(module, actions, group, [], [], names, actions.scope(), body)
    if not any("yield" in line for line in body.lines):
        body.emit("yield from ()")
    head.nest(f"def {key}({NOW}):", body)
    module.entries["next"].append("\n".join(head.lines))


def _descend(
    module: Module,
    actions: Actions,
    ways: list[Way],
    bound: list[str],
    given: list[str],
    names: dict[int, str],
    scope: Context,
    block: Block,
) -> None:
    """Write the way from Next to actions: quantifiers are enumerated, or tested for the given arguments.

    Arguments: `ways`, the actions with what is left of the way, which begins alike; `bound`, the variables chosen
    so far; `given`, the parameters of the function to write; `names`, the actions' names, by part.
    """
    part, frames = ways[0]
    if not frames:
        row = f"({', '.join(bound)}{',' * (len(bound) == 1)})"
        if actions.mode == "bound":
            block.emit(f"yield {row}")
            return
        chosen = (repr(names[id(part)]), row) if actions.mode == "next" else ()
        rest = Rest(finish(module, *chosen, "State"), True)
        actions.write(part.body, scope, block, (), rest)
        return
    frame, below = frames[0], [(each, left[1:]) for each, left in ways]

    def go_on(inner: Block, inside: Context, more: Iterable[str] = ()) -> None:
        for group in alike(below):
            _descend(module, actions, group, [*bound, *more], given, names, inside, inner)

    if frame.let is not None:
        go_on(block, let(module.values, frame.let, scope, block, anew=True))
    elif frame.use is not None and frame.definition is not None:
        go_on(block, replace(scope, env=inlined(frame, scope)))
    elif frame.bound is not None and actions.mode in ("next", "bound"):
        below = [(each, left[1 + frame.further :]) for each, left in ways]
        bounds = [each.bound for each in frames[: 1 + frame.further] if each.bound is not None]
        enumerate_ = partial(_list, module, len(bound)) if actions.mode == "bound" else _enumerate
        enumerate_(actions, bounds, scope, block, go_on)
    elif frame.bound is not None:
        _test_given(module, actions, frame.bound, bound, given, scope, block, go_on)


def _enumerate(actions: Actions, bounds: list[Bound], scope: Context, block: Block, go_on: Callable[..., None]) -> None:
    def write(inner: Block, inside: Context) -> None:
        params = [uid for bound in bounds for uid in bound.params]
        go_on(inner, inside, [inside.env[uid].code for uid in params])  # type: ignore[union-attr]

    every(actions, bounds, scope, block, write)


def _list(
    module: Module,
    first: int,
    actions: Actions,
    bounds: list[Bound],
    scope: Context,
    block: Block,
    go_on: Callable[..., None],
) -> None:
    """Write loops over what is told of each parameter; `first` is the number of the first one."""
    params = [uid for bound in bounds for uid in bound.params]

    def nest(left: list[Bound], outside: Context, outer: Block) -> None:
        if not left:
            go_on(outer, outside, [outside.env[uid].code for uid in params])  # type: ignore[union-attr]  # as bound here
            return
        *rest, bound = left
        assert bound.domain is not None
        number = first + sum(len(each.params) for each in rest)
        limits = limits_of(actions.program, bound.domain)
        outer.emit(f"# {bound.domain.loc}")
        write = module.values.expr if limits is None else partial(iterable, module.values)
        domain = write(bound.domain, outside, outer)
        inside, names = module.values.bind_values(bound.params, outside)
        heads = [f"for {name} in _told({domain}, {_TOLD}[{number + k}]):" for k, name in enumerate(names)]
        if bound.is_tuple:
            told = f"{_TOLD}[{number}:{number + len(names)}]"
            heads = [f"for {', '.join(names)}{',' * (len(names) == 1)} in _told_tuples({domain}, {told}):"]
        blocks = [Block() for _ in heads]
        nest(rest, inside, blocks[0])
        for head, inner, around in zip(heads, blocks, [*blocks[1:], outer], strict=True):
            around.nest(head, inner)

    nest(bounds, scope, block)


def _test_given(
    module: Module,
    actions: Actions,
    bound: Bound,
    names: list[str],
    given: list[str],
    scope: Context,
    block: Block,
    go_on: Callable[..., None],
) -> None:
    """Write the test that given arguments are in the domain of their quantifier."""
    mine = given[len(names) : len(names) + len(bound.params)]
    inside, local = module.values.bind_values(bound.params, scope)
    assert bound.domain is not None
    block.emit(f"# {bound.domain.loc}")
    block.emit(f"{', '.join(local)} = {', '.join(mine)}")
    shown = [module.program.tree.params[uid].name for uid in bound.params]
    tests = list(zip(local, shown, strict=True))
    if bound.is_tuple:
        tests = [(f"({', '.join(local)}{',' * (len(local) == 1)})", f"<<{', '.join(shown)}>>")]
    _membership(module, actions, bound.domain, tests, scope, block, lambda inner: go_on(inner, inside, local))


def _membership(
    module: Module,
    actions: Actions,
    domain: Expr,
    tests: list[tuple[str, str]],
    scope: Context,
    block: Block,
    write: Callable[[Block], None],
) -> None:
    if not tests:
        write(block)
        return
    inner = Block()
    _membership(module, actions, domain, tests[1:], scope, inner, write)
    value, shown = tests[0]
    if actions.mode == "why":
        code = member_of(module.values, value, domain, scope, block)
        number = module.values.conjunct(domain.loc, f"{shown} \\in ")
        container = module.values.expr(domain, scope, block)
        held(f"if _w.compare({number}, {code}, {value}, {container}):", inner, block)
    elif is_made(module, value, domain):
        container = scope.names.fresh("_d")
        block.emit(f"{container} = {module.values.expr(domain, scope, block)}")
        own = Block()
        own.emit(f"{value} = _own({value}, {container})")
        own.extend(inner)
        block.nest(f"if _given({shown!r}, {value}, {container}):", own)
    else:
        code = given_of(module.values, shown, value, domain, scope, block)
        block.nest(f"if {code}:", inner)


def is_made(module: Module, value: str, domain: Expr) -> bool:
    """Tell whether an argument, by its name, may be an element that the specification has made, as a message is."""
    is_state = not module.program.is_constant(domain) and limits_of(module.program, domain) is None
    return is_state and value.isidentifier()


def write_enabled(module: Module, expr: Expr, scope: Context, block: Block) -> str:
    """Write ENABLED: does the action have a successor?"""
    now, name = scope.names.fresh("_now"), scope.names.fresh("_enabled")
    inner = Block()
    inside = replace(scope, now=now, next=NEXT)
    with module.values.writing(quickly=False):
        module.modes["step"].write(expr, inside, inner, (), YIELD)
    inner.emit("yield from ()")
    block.nest(f"def {name}({NEXT}, {now}={scope.now}):", inner)
    return f"any(True for _ in {name}(Next()))"
