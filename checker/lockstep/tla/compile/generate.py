"""From a syntax tree and a configuration to the text of one Python module.

The text has two parts. The first is all that checking needs; the second, below a marker line, holds the same actions
once more, telling a tracer of every conjunct, and is compiled only when something is to be explained.
"""

from __future__ import annotations

import itertools
import pprint
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeAlias

from lockstep.tla.compile.actions import YIELD, ActionCompiler, Mode, Rest
from lockstep.tla.compile.analysis import Program
from lockstep.tla.compile.emit import Block, Names, python_name
from lockstep.tla.compile.expressions.compiler import Compiler
from lockstep.tla.compile.expressions.context import NEXT, NOW, Binding, Context, InlineBinding
from lockstep.tla.compile.expressions.language import ExpressionCompiler
from lockstep.tla.compile.expressions.logic import given_of, member_of
from lockstep.tla.compile.expressions.uses import let
from lockstep.tla.compile.footprints import Argument, Each, Part, Scope, footprint_of, parts
from lockstep.tla.compile.never import is_never
from lockstep.tla.compile.nextstate import ActionPart, Frame, split_next
from lockstep.tla.compile.program import CompileError
from lockstep.tla.meta import EachMeta, Path, Place, empty_meta
from lockstep.tla.syntax.tree import Bound, Builtin, Call, Definition, Expr, Location
from lockstep.tla.values import equality, kinds
from lockstep.tla.values.kinds import Fcn, ModelValue, Value, format_value
from lockstep.tla.values.lazy import constructed, kept, sets
from lockstep.tla.values.lazy.constructed import INT, NAT, STRING
from lockstep.tla.values.operators import bags, bounds, functions, logic, next_state, numbers, sequences, tlc
from lockstep.tla.values.operators import sets as set_operators

__all__ = ["COMPILER_VERSION", "MARKER", "behaviour", "generate"]

COMPILER_VERSION = "12"
MARKER = "# ==== Explanations: the same actions, telling a tracer of each conjunct ====\n"


#: An action, and what is left of the way to it.
_Way: TypeAlias = tuple[ActionPart, tuple[Frame, ...]]


def _first_frame(way: _Way) -> object:
    """Answer what the way to an action begins with; two ways that begin alike have one quantifier, LET or use."""
    part, frames = way
    if not frames:
        return part.body, id(part)
    frame = frames[0]
    return tuple(id(each) for each in (frame.bound, frame.let, frame.use))


def _alike(ways: Iterable[_Way]) -> Iterator[list[_Way]]:
    """Yield the ways to actions, together where they begin with the same quantifier, LET or use."""
    for _, group in itertools.groupby(ways, key=_first_frame):
        yield list(group)


@dataclass
class _Formula:
    """The parts of a temporal formula ``Init /\\ [][Next]_v /\\ ...``."""

    initial: list[Expr]
    steps: list[Builtin]
    invariants: list[Expr]
    unchecked: list[Expr]


class _Generator:
    def __init__(
        self,
        program: Program,
        sources: dict[str, str],
        debug: bool,
        spec_hash: str,
        asked: Iterable[str] = (),
        names: Mapping[str, int] | None = None,
    ) -> None:
        self.program = program
        self.names = dict(names or {})
        self.asked = tuple(asked)
        self.sources = sources
        self.spec_hash = spec_hash
        self.values: Compiler = ExpressionCompiler(program, debug)
        for name in ("Next", "State"):
            self.values.globals.fresh(name)
        self.modes: dict[Mode, ActionCompiler] = {
            mode: ActionCompiler(self.values, mode) for mode in ("next", "step", "init", "why", "bound")
        }
        self.values.write_enabled = self.write_enabled
        self.entries: dict[str, list[str]] = {"next": [], "step": [], "init": [], "why": [], "bound": []}
        self.meta = empty_meta(
            name=program.tree.root,
            spec_hash=spec_hash,
            compiler=COMPILER_VERSION,
            debug=debug,
            variables=[d.name for d in program.variables()],
            modules=sorted(sources),
        )

    # ---- What the configuration names ----

    def named(self, name: str, what: str) -> Definition:
        uid = self.program.top.get(name)
        definition = self.program.definition(uid) if uid is not None else None
        if definition is None:
            raise CompileError(f"{self.program.cfg.file}: {what} {name} is not defined in {self.program.tree.root}")
        return definition

    def behaviour(self) -> tuple[Expr | None, Expr | None]:
        """Find Init and Next: as the configuration names them, or by their usual names."""
        cfg = self.program.cfg
        if cfg.specification is not None:
            definition = self.named(cfg.specification, "SPECIFICATION")
            formula = self.formula(definition.body)
            if len(formula.steps) != 1 or not formula.initial:
                raise CompileError(f"{cfg.specification} should be Init /\\ [][Next]_vars", definition.loc)
            initial = formula.initial
            whole = initial[0] if len(initial) == 1 else Builtin("\\land", tuple(initial), initial[0].loc)
            return whole, formula.steps[0].args[0]
        init = cfg.init or ("Init" if "Init" in self.program.top else None)
        nxt = cfg.next or ("Next" if "Next" in self.program.top else None)
        return self._use(init, "INIT"), self._use(nxt, "NEXT")

    def _use(self, name: str | None, what: str) -> Expr | None:
        if name is None:
            return None
        definition = self.named(name, what)
        return Call(self.program.top[name], (), definition.loc)

    def formula(self, expr: Expr) -> _Formula:
        """Sort the conjuncts of a temporal formula."""
        found = _Formula([], [], [], [])
        self._sort(expr, found)
        return found

    def _sort(self, expr: Expr, found: _Formula) -> None:
        if isinstance(expr, Builtin) and expr.name == "\\land":
            for arg in expr.args:
                self._sort(arg, found)
        elif isinstance(expr, Builtin) and expr.name == "[]":
            self._sort_always(expr.args[0], found)
        elif self._is_temporal(expr):
            definition = self.program.definition(expr.op) if isinstance(expr, Call) else None
            if definition is not None and not definition.params:
                self._sort(definition.body, found)
            else:
                found.unchecked.append(expr)
        else:
            found.initial.append(expr)

    def _sort_always(self, expr: Expr, found: _Formula) -> None:
        if isinstance(expr, Builtin) and expr.name == "$SquareAct":
            found.steps.append(expr)
        elif self._is_temporal(expr) or self.program.reads(expr)[1]:
            found.unchecked.append(expr)
        else:
            found.invariants.append(expr)

    def _is_temporal(self, expr: Expr, seen: frozenset[int] = frozenset()) -> bool:
        from lockstep.tla.syntax.instances import walk

        for part in walk(expr, self.program.tree):
            if isinstance(part, Builtin) and part.name in _TEMPORAL:
                return True
            if isinstance(part, Call) and part.op not in seen:
                definition = self.program.definition(part.op)
                if definition is not None and self.program.standard(definition) is None:
                    seen |= {part.op}
                    if self._is_temporal(definition.body, seen):
                        return True
        return False

    # ---- Entry points ----

    def run(self) -> str:
        init, nxt = self.behaviour()
        self.meta["footprints"] = dict(self.footprints())
        self.write_init(init)
        self.write_actions(nxt)
        self.write_predicates()
        self.write_definitions()
        return self.assemble()

    def footprints(self) -> Iterator[tuple[str, list[Path]]]:
        """Yield the paths that each definition that was asked about reads, if there is one of that name."""
        for name in self.asked:
            definition = self.program.definition(self.program.top.get(name, -1))
            if definition is not None:
                yield name, sorted(map(list, footprint_of(self.program, definition)), key=repr)

    def write_init(self, init: Expr | None) -> None:
        self.meta["init"] = None
        if init is None:
            return
        mode = self.modes["init"]
        body = Block()
        body.emit(f"{NEXT} = Next()")
        mode.write(init, mode.scope(), body, (), Rest(self._finish("State"), True))
        if not any("yield" in line for line in body.lines):
            body.emit("yield from ()")
        head = Block()
        self.meta["init"] = self.values.globals.fresh("_init")
        head.nest(f"def {self.meta['init']}():  # {init.loc}", body)
        self.entries["init"].append("\n".join(head.lines))

    def _finish(self, *results: str) -> Callable[[Block, Any, Context], None]:
        state = f"State(({', '.join(f'{NEXT}.{name}' for name in self.values.variables.values())},))"

        def write(block: Block, assigned: Any, scope: Context) -> None:
            block.emit(f"yield {', '.join(state if result == 'State' else result for result in results)}")

        return write

    def write_actions(self, nxt: Expr | None) -> None:
        if nxt is None:
            return
        grouped = self.grouped(nxt)
        for name, (params, alternatives) in grouped.items():
            self.write_action(name, params, alternatives)
        names = {id(part): name for name, (_, alternatives) in grouped.items() for part in alternatives}
        self.write_successors(self.split, names)

    def grouped(self, nxt: Expr) -> dict[str, tuple[tuple[str, ...], list[ActionPart]]]:
        """Find the actions by name, each with its parameters and its alternatives."""
        grouped: dict[tuple[str, tuple[str, ...]], list[ActionPart]] = {}
        self.split = self.parts(nxt)
        for part in self.split:
            grouped.setdefault((part.name, tuple(self.param_names(part))), []).append(part)
        taken = Names()
        return {taken.fresh(name): (params, parts) for (name, params), parts in grouped.items()}

    def parts(self, nxt: Expr) -> list[ActionPart]:
        if isinstance(nxt, Call):
            definition = self.program.definition(nxt.op)
            if definition is not None and not definition.params:
                return split_next(self.program, definition)
        holder = Definition(self.program.tree.fresh_uid(), "Next", (), nxt, False, nxt.loc)
        return split_next(self.program, holder)

    def param_names(self, part: ActionPart) -> list[str]:
        names = Names()
        return [names.fresh(self.program.tree.params[uid].name) for uid in part.params()]

    def write_action(self, name: str, params: tuple[str, ...], parts: list[ActionPart]) -> None:
        modes = ("step", "why", "bound")
        keys = {mode: self.values.globals.fresh(f"_{mode}_{python_name(name)}") for mode in modes}
        for mode, key in keys.items():
            self.entries[mode].append(self.entry(mode, key, name, params, parts))
        loc = parts[0].loc
        self.meta["actions"][name] = {
            "params": list(params),
            "labels": sorted({part.label for part in parts}),
            "loc": _place(loc),
            "step": keys["step"],
            "why": keys["why"],
            "bound": keys["bound"],
            "never": all(is_never(self.program, part) for part in parts),
        }

    def entry(self, mode: str, key: str, name: str, params: tuple[str, ...], parts: list[ActionPart]) -> str:
        """Write the function that decides (step, why) an action with given arguments, or lists these (bound)."""
        actions = self.modes[mode]  # type: ignore[index]
        given = [f"_p_{python_name(param)}" for param in params]
        body = Block()
        body.emit(f"{NEXT} = Next()")
        for part in parts:
            self._descend(actions, [(part, part.frames)], [], given, {}, actions.scope(), body)
        if not any("yield" in line for line in body.lines):
            body.emit("yield from ()")
        states = {"bound": [NOW], "step": [NOW, *given], "why": ["_w", NOW, *given]}[mode]
        head = Block()
        head.nest(f"def {key}({', '.join(states)}):  # {parts[0].loc} {name}", body)
        return "\n".join(head.lines)

    def write_successors(self, split: list[ActionPart], names: dict[int, str]) -> None:
        """Write the function that lists all successors of a state, in the order in which TLC generates them.

        What stands below a quantifier is taken element by element: ``\\E i \\in 1..2 : A(i) \\/ B(i)`` is A(1), B(1),
        A(2), B(2).
        """
        key = self.meta["successors"] = self.values.globals.fresh("_successors")
        actions, body, head = self.modes["next"], Block(), Block()
        body.emit(f"{NEXT} = Next()")
        ways: list[_Way] = [(part, part.frames) for part in split]
        for group in _alike(ways):
            self._descend(actions, group, [], [], names, actions.scope(), body)
        if not any("yield" in line for line in body.lines):
            body.emit("yield from ()")
        head.nest(f"def {key}({NOW}):", body)
        self.entries["next"].append("\n".join(head.lines))

    def _descend(
        self,
        actions: ActionCompiler,
        ways: list[_Way],
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
            rest = Rest(self._finish(*chosen, "State"), True)
            actions.write(part.body, scope, block, (), rest)
            return
        frame, below = frames[0], [(each, left[1:]) for each, left in ways]

        def go_on(inner: Block, inside: Context, more: Iterable[str] = ()) -> None:
            for group in _alike(below):
                self._descend(actions, group, [*bound, *more], given, names, inside, inner)

        if frame.let is not None:
            go_on(block, let(self.values, frame.let, scope, block))
        elif frame.use is not None and frame.definition is not None:
            go_on(block, replace(scope, env=_inlined(frame, scope)))
        elif frame.bound is not None and actions.mode in ("next", "bound"):
            self._enumerate(actions, frame.bound, scope, block, go_on)
        elif frame.bound is not None:
            self._test_given(actions, frame.bound, bound, given, scope, block, go_on)

    def _enumerate(
        self, actions: ActionCompiler, bound: Bound, scope: Context, block: Block, go_on: Callable[..., None]
    ) -> None:
        def write(inner: Block, inside: Context) -> None:
            go_on(inner, inside, [inside.env[uid].code for uid in bound.params])  # type: ignore[union-attr]

        actions.loop(bound, scope, block, write)

    def _test_given(
        self,
        actions: ActionCompiler,
        bound: Bound,
        names: list[str],
        given: list[str],
        scope: Context,
        block: Block,
        go_on: Callable[..., None],
    ) -> None:
        """Write the test that given arguments are in the domain of their quantifier."""
        mine = given[len(names) : len(names) + len(bound.params)]
        inside, local = self.values.bind_values(bound.params, scope)
        block.emit(f"{', '.join(local)} = {', '.join(mine)}")
        assert bound.domain is not None
        shown = [self.program.tree.params[uid].name for uid in bound.params]
        tests = list(zip(local, shown, strict=True))
        if bound.is_tuple:
            tests = [(f"({', '.join(local)}{',' * (len(local) == 1)})", f"<<{', '.join(shown)}>>")]
        self._membership(actions, bound.domain, tests, scope, block, lambda inner: go_on(inner, inside, local))

    def _membership(
        self,
        actions: ActionCompiler,
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
        self._membership(actions, domain, tests[1:], scope, inner, write)
        value, shown = tests[0]
        if actions.mode == "why":
            code = member_of(self.values, value, domain, scope, block)
            number = self.values.conjunct(domain.loc, f"{shown} \\in ")
            container = self.values.expr(domain, scope, block)
            actions.held(f"if _w.compare({number}, {code}, {value}, {container}):", inner, block)
        else:
            code = given_of(self.values, shown, value, domain, scope, block)
            block.nest(f"if {code}:", inner)

    def write_enabled(self, expr: Expr, scope: Context, block: Block) -> str:
        """Write ENABLED: does the action have a successor?"""
        now, name = scope.names.fresh("_now"), scope.names.fresh("_enabled")
        inner = Block()
        inside = replace(scope, now=now, next=NEXT)
        self.modes["step"].write(expr, inside, inner, (), YIELD)
        inner.emit("yield from ()")
        block.nest(f"def {name}({NEXT}, {now}={scope.now}):", inner)
        return f"any(True for _ in {name}(Next()))"

    def write_predicates(self) -> None:
        cfg, meta = self.program.cfg, self.meta
        named = [(name, "INVARIANT") for name in cfg.invariants] + [(name, "PROPERTY") for name in cfg.properties]
        meta["property_places"] = {name: _place(self.named(name, what).loc) for name, what in named}
        meta["invariants"] = {name: self.state_predicate(name, "INVARIANT") for name in cfg.invariants}
        for name in cfg.invariants:
            self.write_parts(name, self.named(name, "INVARIANT").body, of_step=False)
        meta["constraints"] = [self.state_predicate(name, "CONSTRAINT") for name in cfg.constraints]
        meta["action_constraints"] = [
            self.predicate(self.named(name, "ACTION_CONSTRAINT").body) for name in cfg.action_constraints
        ]
        for name in cfg.properties:
            self.write_property(name)
        meta["symmetry"], meta["view"], meta["check_deadlock"] = cfg.symmetry, cfg.view, cfg.check_deadlock
        if cfg.view is not None:
            view = self.named(cfg.view, "VIEW")
            self.check_of_state(view.body, f"the VIEW {cfg.view}", view.loc)
        meta["assumptions"] = self.assumptions()

    def state_predicate(self, name: str, what: str) -> str:
        """Compile a definition that must speak of one state; answer the function's name."""
        definition = self.named(name, what)
        compiled = self.predicate(definition.body)
        self.check_of_state(definition.body, f"the {what} {name}", definition.loc)
        return compiled

    def check_of_state(self, expr: Expr, what: str, loc: Location) -> None:
        """Refuse an expression that speaks of the next state."""
        if self.program.reads(expr)[1]:
            raise CompileError(f"{what} speaks of the next state, but it should speak of one state only", loc)

    def write_property(self, name: str) -> None:
        formula = self.formula(self.named(name, "PROPERTY").body)
        if formula.steps:
            self.meta["action_properties"][name] = [self.predicate(step) for step in formula.steps]
            for step in formula.steps:
                self.write_parts(name, step.args[0], of_step=True)
        if formula.initial:
            what = f"what the PROPERTY {name} asks of the first state"
            self.meta["initial_properties"][name] = [self.predicate(part) for part in formula.initial]
            for part in formula.initial:
                self.check_of_state(part, what, part.loc)
        for index, part in enumerate(formula.invariants):
            key = name if len(formula.invariants) == 1 else f"{name}#{index + 1}"
            if key not in self.meta["invariants"]:
                self.meta["invariants"][key] = self.predicate(part)
                self.write_parts(key, part, of_step=False)
        if formula.unchecked:
            self.meta["unchecked"][name] = [str(part.loc) for part in formula.unchecked]

    def predicate(self, expr: Expr) -> str:
        """Compile a formula as a function of both states; answer its name."""
        scope = self.values.context(NOW, NEXT)
        body = Block()
        body.emit(f"return {self.values.test(expr, scope, body)}")
        name = self.values.globals.fresh("_holds")
        head = Block()
        head.nest(f"def {name}({NOW}, {NEXT}=None):  # {expr.loc}", body)
        self.entries["next"].append("\n".join(head.lines))
        return name

    def write_parts(self, name: str, formula: Expr, *, of_step: bool) -> None:
        """Compile the parts of a property: of each its test, the elements it is for, and its footprint."""
        found = self.meta["parts"].setdefault(name, [])
        for part in parts(self.program, formula):
            holds, elements = (self.values.globals.fresh(wanted) for wanted in ("_part_holds", "_part_elements"))
            self._write_test(holds, part)
            self._write_elements(elements, part)
            footprint = sorted(map(list, part.footprint), key=repr)
            eaches = [self._write_each(part, each) for each in part.eaches]
            known = [each for each in eaches if each is not None]
            found.append(
                {
                    "holds": holds,
                    "elements": elements,
                    "footprint": footprint,
                    "eaches": known if len(known) == len(eaches) else [],
                    "of_step": of_step,
                }
            )

    def _write_each(self, part: Part, each: Each) -> EachMeta | None:
        """Compile what tells which elements a change concerns; nothing where a limit cannot be compiled alone."""
        assert each.bound.domain is not None
        fresh = self.values.globals.fresh
        told: EachMeta = {
            "holds": fresh("_each_holds"),
            "domain": None,
            "range": None,
            "guard": None,
            "of_domain": sorted(map(list, each.domain), key=repr),
            "whole": sorted(map(list, each.whole), key=repr),
            "at": sorted(((list(path), key, offset) for path, key, offset in each.at), key=repr),
            "thresholds": [],
        }
        if each.guard is not None:
            guard = told["guard"] = fresh("_each_guard")
            self._write_function(guard, part, each.guard, test=True)
        self._write_test(told["holds"], replace(part, frames=(*part.frames, Frame(bound=each.bound)), body=each.body))
        if each.range is None:
            domain = told["domain"] = fresh("_each_domain")
            self._write_function(domain, part, each.bound.domain)
        else:
            ends = told["range"] = (fresh("_each_low"), fresh("_each_high"))
            for name, end in zip(ends, each.range, strict=True):
                self._write_function(name, part, end)
        for threshold in each.thresholds:
            limit = fresh("_each_limit")
            try:
                with self.values.attempt():
                    self._write_function(limit, part, threshold.limit, threshold.scope)
            except (CompileError, KeyError):
                return None
            paths = sorted(map(list, threshold.footprint), key=repr)
            told["thresholds"].append(
                {"key": threshold.key, "offset": threshold.offset, "limit": limit, "footprint": paths}
            )
        return told

    def _write_test(self, name: str, part: Part) -> None:
        self._write_function(name, part, part.body, test=True)

    def _write_function(
        self, name: str, part: Part, expr: Expr, arguments: Scope | None = None, *, test: bool = False
    ) -> None:
        """Write a function of both states and the elements of a part; `arguments` are what parameters stand for."""
        scope, given = self.values.context(NOW, NEXT), []
        for frame in part.frames:
            if frame.bound is not None:
                scope, local = self.values.bind_values(frame.bound.params, scope)
                given += local
            else:
                scope = scope.bind(_inlined(frame, scope))
        scope = _with_arguments(scope, arguments or {})
        body = Block()
        body.emit(f"return {(self.values.test if test else self.values.expr)(expr, scope, body)}")
        head = Block()
        head.nest(f"def {name}({', '.join([NOW, NEXT, *given])}):  # {expr.loc}", body)
        self.entries["next"].append("\n".join(head.lines))

    def _write_elements(self, name: str, part: Part) -> None:
        body, head = Block(), Block()
        self._write_loops(list(part.frames), [], self.values.context(None, None), body)
        head.nest(f"def {name}():  # {part.body.loc}", body)
        self.entries["next"].append("\n".join(head.lines))

    def _write_loops(self, frames: list[Frame], names: list[str], scope: Context, block: Block) -> None:
        if not frames:
            block.emit(f"yield ({''.join(f'{name}, ' for name in names)})")
            return
        frame, below = frames[0], frames[1:]
        if frame.bound is None:
            self._write_loops(below, names, scope.bind(_inlined(frame, scope)), block)
            return

        def write(inner: Block, inside: Context) -> None:
            assert frame.bound is not None
            more = [inside.env[uid].code for uid in frame.bound.params]  # type: ignore[union-attr]  # a bound value
            self._write_loops(below, [*names, *more], inside, inner)

        self.modes["next"].loop(frame.bound, scope, block, write)

    def assumptions(self) -> list[tuple[str, Place]]:
        found = []
        for module in self.program.tree.modules.values():
            if module.name not in self.sources:
                continue
            for assumed in module.assumptions:
                try:
                    with self.values.attempt():
                        found.append((self.predicate(assumed.body), _place(assumed.loc)))
                except CompileError:
                    if module.name == self.program.tree.root:
                        raise
        return found

    def write_definitions(self) -> None:
        """Compile every definition of the root module for evaluation by name; note those that cannot be."""
        for name, uid in self.program.top.items():
            definition = self.program.definition(uid)
            if definition is None or definition.loc.module not in self.sources:
                continue
            facts = self.program.facts[definition.uid]
            try:
                with self.values.attempt():
                    function = self.values.value_function(definition)
            except CompileError as error:
                self.meta["uncompiled"][name] = str(error)
                continue
            how = self.values.protocol(definition)
            self.meta["definitions"][name] = {
                "function": function,
                "arguments": list(how),
                "reads_now": facts.reads_now,
                "reads_next": facts.reads_next,
                "loc": _place(definition.loc),
            }

    # ---- The text ----

    def assemble(self) -> str:
        meta = self.meta
        meta["constants"] = {
            d.name: self.values.constant(d.uid) for d in self.program.constants() if self._given(d.uid)
        }
        meta["model_values"] = self.program.model_values()
        fast = [f for key, f in self.values.functions.items() if not _is_why(key)]
        slow = [f for key, f in self.values.functions.items() if _is_why(key)]
        parts = [
            f'"""Compiled from {meta["name"]}.tla; do not edit."""',
            *_imports(),
            "from lockstep.tla.state import state_class as _state_class",
            "from lockstep.tla.values.names import Names as _Names",
            f"\nMETA = {pprint.pformat(meta, width=110, sort_dicts=False)}",
            f"\nState = _state_class({tuple(meta['variables'])!r})",
            f"\n\nclass Next(_NextState):\n    __slots__ = {tuple(self.values.variables.values())!r}\n\n",
            f"_names = _Names({self.names!r})\n_choose, _elements = _names.choose, _names.elements\n",
            *self.constant_lines(),
            *self._texts(fast),
            *[f"\n\n{text}" for mode in ("init", "next", "step", "bound") for text in self.entries[mode]],
            f"\n\n{MARKER}",
            f"CONJUNCTS = {pprint.pformat(self.conjuncts(), width=110, sort_dicts=False)}",
            *self._texts(slow),
            *[f"\n\n{text}" for text in self.entries["why"]],
            "",
        ]
        return "\n".join(parts)

    def _given(self, uid: int) -> bool:
        return uid in self.program.values

    def constant_lines(self) -> list[str]:
        lines = []
        for key, name in self.values.names_of.items():
            if isinstance(key, tuple) and key[0] == "constant":
                lines.append(f"{name} = {_literal(self.program.values[key[1]])}")
        return lines

    def _texts(self, functions: list[Any]) -> list[str]:
        ordered = sorted(functions, key=lambda f: (f.loc.module, f.loc.line, f.name))
        return [f"\n\n{self._comment(f.loc)}{f.text}" for f in ordered]

    def _comment(self, loc: Location) -> str:
        first = self.source_text(loc).splitlines()
        return f"# {first[0].strip()}\n" if first else ""

    def conjuncts(self) -> list[list[Any]]:
        return [[*_place(loc), before + self.source_text(loc)] for loc, before in self.values.conjuncts]

    def source_text(self, loc: Location) -> str:
        """Answer the text of the specification at a location."""
        lines = self.sources.get(loc.module, "").splitlines()[loc.line - 1 : loc.end_line]
        if not lines:
            return ""
        lines[-1] = lines[-1][: loc.end_column]
        lines[0] = lines[0][loc.column - 1 :]
        return "\n".join(lines)


def _with_arguments(scope: Context, arguments: Scope) -> Context:
    """Return a context in which parameters stand for what they were given."""
    given = ((uid, each) for uid, each in arguments.items() if isinstance(each, Argument))
    return scope.bind({uid: InlineBinding(each.expr, _with_arguments(scope, each.scope)) for uid, each in given})


def _inlined(frame: Frame, scope: Context) -> dict[int, Binding]:
    """Return what the parameters of a definition stand for where it is used."""
    assert frame.use is not None
    assert frame.definition is not None
    pairs = zip(frame.definition.params, frame.use.args, strict=True)
    return {uid: InlineBinding(arg, scope) for uid, arg in pairs}


_TEMPORAL = frozenset({"[]", "<>", "~>", "$WF", "$SF", "$SquareAct", "$AngleAct", "-+->", "$TemporalExists"})


_CALLED: tuple[tuple[ModuleType, Iterable[str]], ...] = (
    (kinds, ("Fcn", "ModelValue", "as_fcn", "domain_of")),
    (equality, ("build_set", "eq")),
    (kept, ("frozen",)),
    (sets, ("member",)),
    (constructed, constructed.__all__),
    *(
        (module, module.__all__)
        for module in (logic, next_state, bounds, numbers, set_operators, functions, sequences, bags, tlc)
    ),
)
"""The modules of what generated code calls, each with the names that it imports."""


def _imports() -> Iterator[str]:
    """Write the imports of what generated code calls: each name with an underscore before it."""
    for module, names in _CALLED:
        yield f"from {module.__name__} import ("
        yield from (f"    {name} as _{name.rstrip('_')}," for name in names)
        yield ")"


def _is_why(key: object) -> bool:
    return isinstance(key, tuple) and key[0] == "why"


def _place(loc: Location) -> Place:
    return (loc.module, loc.line, loc.column, loc.end_line, loc.end_column)


def _literal(value: Value) -> str:
    """Write a value as Python."""
    if isinstance(value, ModelValue):
        return f"_ModelValue({value.name!r})"
    if isinstance(value, frozenset):
        return f"frozenset(({''.join(_literal(v) + ', ' for v in sorted(value, key=format_value))}))"
    if isinstance(value, tuple):
        return f"({''.join(_literal(v) + ', ' for v in value)})"
    if isinstance(value, Fcn):
        return f"_Fcn({{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in value.d.items())}}})"
    if isinstance(value, (bool, int, str)):
        return repr(value)
    if value is NAT or value is INT or value is STRING:
        return f"_{value.__reduce__()}"
    raise CompileError(f"a constant cannot be {format_value(value)}")


def behaviour(program: Program) -> tuple[Expr | None, dict[str, tuple[tuple[str, ...], list[ActionPart]]]]:
    """Find what a compiled specification is made of.

    Args:
        program: the tree, with INSTANCEs resolved, and the configuration.

    Returns:
        Init, and each action with its parameters and its alternatives, by the names the compiled specification has.

    Raises:
        CompileError: if the configuration names what is not there.
    """
    generator = _Generator(program, {}, False, "")
    init, nxt = generator.behaviour()
    return init, {} if nxt is None else generator.grouped(nxt)


def generate(
    program: Program,
    sources: dict[str, str],
    *,
    debug: bool = False,
    spec_hash: str = "",
    footprints: Iterable[str] = (),
    names: Mapping[str, int] | None = None,
) -> str:
    """Compile a program to the text of a Python module.

    Args:
        program: the tree and the configuration.
        sources: the text of each module of the project, by name.
        debug: whether a CHOOSE must have one witness only.
        spec_hash: what identifies the specification.
        footprints: definitions whose footprints are asked for; one that is not there has none.
        names: the numbers by which strings and model values are ordered, see :mod:`lockstep.tla.syntax.interning`.

    Returns:
        The Python source.

    Raises:
        CompileError: if something needed is outside the supported language.
    """
    return _Generator(program, sources, debug, spec_hash, footprints, names).run()
