"""The functions of a module that take steps: initial states, successors, and each action by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from lockstep.tla.compile.action_conjunctions import write_held
from lockstep.tla.compile.action_quantifiers import write_bounds
from lockstep.tla.compile.action_writer import YIELD, ActionWriter, Assigned, Rest, Site
from lockstep.tla.compile.context_facts import limits_of
from lockstep.tla.compile.expression_context import NEXT, NOW, Context
from lockstep.tla.compile.expression_logic import given_of, member_of
from lockstep.tla.compile.expression_quantifiers import iterable
from lockstep.tla.compile.expression_uses import let
from lockstep.tla.compile.footprints import read_by
from lockstep.tla.compile.generated_module import GeneratedModule, inlined, place_of
from lockstep.tla.compile.named_formulas import actions_of, split_of
from lockstep.tla.compile.never_enabled import is_never
from lockstep.tla.compile.next_actions import ActionPart, Frame
from lockstep.tla.compile.python_text import Block, pattern_text, python_name, tuple_text
from lockstep.tla.syntax.tree import Bound, Expr

#: An action, and the frames that are left above it.
Way: TypeAlias = tuple[ActionPart, tuple[Frame, ...]]

#: The parameter of a function that lists arguments: the hints on each of them.
_HINTS = "_args"


def _first_frame(way: Way) -> object:
    """Return the key of the first frame above an action; frames with one key are one quantifier, LET or use."""
    part, frames = way
    if not frames:
        return part.body, id(part)
    frame = frames[0]
    return tuple(id(each) for each in (frame.bound, frame.let, frame.use))


def group_alike(ways: Iterable[Way]) -> Iterator[list[Way]]:
    """Group actions by the quantifier, LET or use that their frames begin with."""
    for _, group in itertools.groupby(ways, key=_first_frame):
        yield list(group)


def last_statement(module: GeneratedModule, *results: str) -> Rest:
    """Return the statement below all frames: it yields results, in which State is the new state."""
    state = f"State(({', '.join(f'{NEXT}.{name}' for name in module.expressions.variables.values())},))"

    def write(block: Block, _assigned: Assigned) -> None:
        block.emit(f"yield {', '.join(state if result == 'State' else result for result in results)}")

    return Rest(write, True)


def end_of_generator(body: Block) -> Block:
    """Turn a body without a yield into that of a generator."""
    if not any("yield" in line for line in body.lines):
        body.emit("yield from ()")
    return body


def write_init(module: GeneratedModule, init: Expr | None) -> None:
    """Write the function that lists the initial states, if there is Init."""
    if init is None:
        return
    actions, body = module.actions["init"], Block(f"{NEXT} = Next()")
    actions.write(init, Site(actions.scope(), body, (), last_statement(module, "State")))
    name = module.fresh("_init")
    module.meta["init"], module.meta["init_place"] = name, place_of(init.loc)
    module.add("init", name, (), end_of_generator(body), init.loc)


def write_actions(module: GeneratedModule, nxt: Expr | None) -> None:
    """Write the functions of each action, and that of all successors, if there is Next."""
    if nxt is None:
        return
    split = split_of(module.program, nxt)
    grouped = actions_of(module.program, split)
    for name, (params, alternatives) in grouped.items():
        _write_action(module, name, params, alternatives)
    names = {id(part): name for name, (_, alternatives) in grouped.items() for part in alternatives}
    _write_successors(module, split, names)
    module.split = split, names


def _write_action(module: GeneratedModule, name: str, params: tuple[str, ...], parts: list[ActionPart]) -> None:
    """Write the functions of one action: `step` and `why` decide it with given arguments, `bound` lists these."""
    given = [f"_p_{python_name(param)}" for param in params]
    signatures = {"step": [NOW, *given], "why": ["_w", NOW, *given], "bound": [NOW, _HINTS]}
    keys = {mode: module.fresh(f"_{mode}_{python_name(name)}") for mode in signatures}
    loc = parts[0].loc
    for mode, key in keys.items():
        body = Block(f"{NEXT} = Next()")
        writer = _WayWriter(module, module.actions[mode], given, {})
        for part in parts:
            writer.descend([(part, part.frames)], [], writer.actions.scope(), body)
        module.add(mode, key, signatures[mode], end_of_generator(body), f"{loc} {name}")
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


def _write_successors(module: GeneratedModule, split: list[ActionPart], names: dict[int, str]) -> None:
    """Write the function that lists all successors of a state, in the order in which TLC generates them.

    The actions below a quantifier are taken element by element: ``\\E i \\in 1..2 : A(i) \\/ B(i)`` is A(1), B(1),
    A(2), B(2).
    """
    key = module.meta["successors"] = module.fresh("_successors")
    writer, body = _WayWriter(module, module.actions["next"], [], names), Block(f"{NEXT} = Next()")
    for group in group_alike([(part, part.frames) for part in split]):
        writer.descend(group, [], writer.actions.scope(), body)
    head = Block()
    head.nest(f"def {key}({NOW}):", end_of_generator(body))
    module.entries["next"].append("\n".join(head.lines))


#: Writes the code below a frame, given the block and the context there, and the variables that were chosen.
_GoOn: TypeAlias = Callable[[Block, Context, list[str]], None]


@dataclass(frozen=True)
class _WayWriter:
    """Writer of the frames from Next to actions: quantifiers are enumerated, or tested for the given arguments.

    Attributes:
        names: the actions' names, by part.
    """

    module: GeneratedModule
    actions: ActionWriter
    given: list[str]
    names: dict[int, str]

    def descend(self, ways: list[Way], chosen: list[str], scope: Context, block: Block) -> None:
        """Write actions below frames that begin alike, given the variables chosen so far."""
        part, frames = ways[0]
        if not frames:
            self._write_end(part, chosen, scope, block)
            return
        frame = frames[0]
        passed = 1 + frame.further if self.actions.mode in ("next", "bound") else 1

        def go_on(inner: Block, inside: Context, more: list[str]) -> None:
            for group in group_alike([(each, left[passed:]) for each, left in ways]):
                self.descend(group, chosen + more, inside, inner)

        if frame.let is not None:
            go_on(block, let(self.module.expressions, frame.let, scope, block, anew=True), [])
        elif frame.use is not None:
            go_on(block, replace(scope, env=inlined(frame, scope)), [])
        elif frame.bound is not None:
            bounds = [each.bound for each in frames[:passed] if each.bound is not None]
            if self.actions.mode == "next":
                write_bounds(self.actions, bounds, scope, block, go_on)
            elif self.actions.mode == "bound":
                self._list(bounds, len(chosen), scope, block, go_on)
            else:
                self._test_given(frame.bound, len(chosen), scope, block, go_on)

    def _write_end(self, part: ActionPart, chosen: list[str], scope: Context, block: Block) -> None:
        row = tuple_text(chosen)
        if self.actions.mode == "bound":
            block.emit(f"yield {row}")
            return
        results = (repr(self.names[id(part)]), row, "State") if self.actions.mode == "next" else ("State",)
        self.actions.write(part.body, Site(scope, block, (), last_statement(self.module, *results)))

    def _list(self, bounds: list[Bound], first: int, scope: Context, block: Block, go_on: _GoOn) -> None:
        """Write loops over what may be each parameter; `first` is the number of the first one."""
        expressions = self.module.expressions

        def nest(left: list[Bound], outside: Context, outer: Block, after: list[str]) -> None:
            if not left:
                go_on(outer, outside, after)
                return
            *rest, bound = left
            assert bound.domain is not None
            number = first + sum(len(each.params) for each in rest)
            outer.emit(f"# {bound.domain.loc}")
            is_interval = limits_of(self.module.program, bound.domain) is not None
            write = partial(iterable, expressions) if is_interval else expressions.expr
            domain = write(bound.domain, outside, outer)
            inside, names = expressions.bind_values(bound.params, outside)
            heads = [f"for {name} in _matching({domain}, {_HINTS}[{number + k}]):" for k, name in enumerate(names)]
            if bound.is_tuple:
                hints = f"{_HINTS}[{number}:{number + len(names)}]"
                heads = [f"for {pattern_text(names)} in _matching_tuples({domain}, {hints}):"]
            blocks = [Block() for _ in heads]
            nest(rest, inside, blocks[0], names + after)
            for head, inner, around in zip(heads, blocks, [*blocks[1:], outer], strict=True):
                around.nest(head, inner)

        nest(bounds, scope, block, [])

    def _test_given(self, bound: Bound, first: int, scope: Context, block: Block, go_on: _GoOn) -> None:
        """Write the test that given arguments are in the domain of their quantifier."""
        mine = self.given[first : first + len(bound.params)]
        inside, local = self.module.expressions.bind_values(bound.params, scope)
        assert bound.domain is not None
        block.emit(f"# {bound.domain.loc}")
        block.emit(f"{', '.join(local)} = {', '.join(mine)}")
        shown = [self.module.program.tree.params[uid].name for uid in bound.params]
        tests = list(zip(local, shown, strict=True))
        if bound.is_tuple:
            tests = [(tuple_text(local), f"<<{', '.join(shown)}>>")]
        self._test_membership(bound.domain, tests, scope, block, lambda inner: go_on(inner, inside, local))

    def _test_membership(
        self,
        domain: Expr,
        tests: list[tuple[str, str]],
        scope: Context,
        block: Block,
        write: Callable[[Block], None],
    ) -> None:
        if not tests:
            write(block)
            return
        inner, expressions = Block(), self.module.expressions
        self._test_membership(domain, tests[1:], scope, inner, write)
        value, shown = tests[0]
        if self.actions.mode == "why":
            code = member_of(expressions, value, domain, scope, block)
            number = expressions.conjunct(domain.loc, f"{shown} \\in ")
            container = expressions.expr(domain, scope, block)
            write_held(f"if _w.compare({number}, {code}, {value}, {container}):", inner, block)
        elif self._may_be_made(value, domain):
            container = scope.names.fresh("_d")
            block.emit(f"{container} = {expressions.expr(domain, scope, block)}")
            own = Block(f"{value} = _own({value}, {container})")
            own.extend(inner)
            block.nest(f"if _given({shown!r}, {value}, {container}):", own)
        else:
            block.nest(f"if {given_of(expressions, shown, value, domain, scope, block)}:", inner)

    def _may_be_made(self, value: str, domain: Expr) -> bool:
        """Return whether an argument, by its name, may be an element that the specification has made, as a message."""
        program = self.module.program
        return value.isidentifier() and not program.is_constant(domain) and limits_of(program, domain) is None


def write_enabled(module: GeneratedModule, expr: Expr, scope: Context, block: Block) -> str:
    """Write ENABLED: does the action have a successor?"""
    now, name = scope.names.fresh("_now"), scope.names.fresh("_enabled")
    inner = Block()
    with module.expressions.writing(quickly=False):
        module.actions["step"].write(expr, Site(replace(scope, now=now, next=NEXT), inner, (), YIELD))
    inner.emit("yield from ()")
    block.nest(f"def {name}({NEXT}, {now}={scope.now}):", inner)
    return f"any(True for _ in {name}(Next()))"
