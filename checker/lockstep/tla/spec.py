"""A compiled specification, by which the rest of the checker evaluates TLA+.

>>> spec = load_spec("LockService.tla", "LockService.cfg")   # doctest: +SKIP
>>> state = next(spec.initial_states())                       # doctest: +SKIP
>>> after = spec.step(state, "Lock", {"c": a})                # doctest: +SKIP
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import CodeType
from typing import Any, TypeVar

from lockstep.base.errors import WRONG_CFG, BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.module_text import MARKER, STAGES
from lockstep.tla.compile.property_parts import PathOf, PropertyPart, part_of
from lockstep.tla.compile.spec_fault import SpecFault, fault_of, place_of_line
from lockstep.tla.compile.spec_meta import Meta, Temporal
from lockstep.tla.explain import Branch, Explanation, Tracer
from lockstep.tla.liveness.temporal_formulas import Formula, formula_of
from lockstep.tla.state import State, state_of
from lockstep.tla.syntax.tree import Location
from lockstep.tla.values.kinds import ModelValue, TlaAssertionError, TlaError, Value
from lockstep.tla.values.name_order import NameOrder
from lockstep.tla.values.next_state import UnassignedError
from lockstep.tla.values.probed_values import ProbedExpression, Probes
from lockstep.tla.values.quantifier_bounds import Hint
from lockstep.tla.values.tlc_operators import Registers

Known = TypeVar("Known")

#: The depth of calls in Python: a recursive operator of TLA+ takes a few calls a level.
_RECURSION = 10_000


class FalseAssumptionError(BadInputError):
    """The constants are excluded by an ASSUME of the spec."""


#: The complaint about a step that its arguments do not determine.
TWO_SUCCESSORS = "has two successors for the same arguments"


class AmbiguousStep(TlaError):  # noqa: N818 - it names what happened
    """An action with given arguments has two different successors."""


@dataclass(frozen=True)
class ActionInfo:
    """A named action of the next-state relation.

    Attributes:
        labels: the names that TLC gives its edges: its own, unless a constant quantifier makes TLC enter further.
        reads: the variables that its steps depend on; it leaves any other as it is.
    """

    name: str
    params: tuple[str, ...]
    labels: tuple[str, ...]
    loc: Location
    reads: frozenset[str]


class Spec:
    """A specification, compiled; it needs no Java and can be pickled.

    Attributes:
        source: the Python text it was compiled to, from which :meth:`from_source` makes it again.
        code: what that compiles to.
        variables: the variables, in the order of a state.
        spec_hash: identifies modules, configuration and compiler.
        never: the actions that the constants alone make false; there may be more that are never enabled.
        definitions: where each definition of the root module stands, and `bodies`, where the body of each does.
        property_places: where each property of the cfg is defined.
        unchecked: properties (by name) with parts that no search checks (such as \\EE), and where they stand; so is
            a POSTCONDITION that asks TLC for what no search here knows.
        why_unchecked: why properties are unchecked, by name.
        temporal: properties (by name) with parts that are checked of whole behaviours, and where they stand.
        assumptions: where the ASSUMEs stand.
        has_behaviour: whether there is an initial predicate; a specification may have nothing but ASSUMEs.
        init_place: where Init is defined, if there is one.
        postcondition: the name of the configuration's POSTCONDITION, if there is one that is checked here.
        postcondition_name: its name, whether it is checked or not.
        undeclared_names: names that no module declares, given a value by the configuration, and what may be meant.
        check_deadlock: whether the configuration leaves deadlock an error.
        symmetry: the configuration's SYMMETRY, which a search applies.
        view: the configuration's VIEW, which a search applies.
        cfg_file: the configuration's file, for messages.
        cfg_places: where it names the SYMMETRY and the VIEW, as LINE:COLUMN, by name.
        registers: the registers of TLCGet and TLCSet, in a search.
        has_registers: whether some formula has TLCGet or TLCSet, so that it matters when and how often it is evaluated.
        probes: those around its expressions, if it was loaded for them.
    """

    def __init__(self, source: str, code: CodeType | None = None, stages: Callable[[], CodeType] | None = None) -> None:
        """Make a specification of its generated source; see :mod:`lockstep.tla.loading` and :meth:`from_source`.

        Args:
            code: the result of :func:`code_of`, where that is known.
            stages: returns that of :func:`stages_of`, if it may be stored somewhere.
        """
        self.source = source
        self._stages = stages or partial(stages_of, source)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION))
        self._slow_text = source.partition(MARKER)[2].partition(STAGES)[0]
        self._noted: set[int] = set()
        self._module = self.names_before()
        self.code = code_of(source) if code is None else code
        exec(self.code, self._module)
        meta: Meta = self._module["META"]
        self._meta = meta
        self.name: str = meta["name"]
        self.spec_hash: str = meta["spec_hash"]
        self.variables: tuple[str, ...] = tuple(meta["variables"])
        self.actions: dict[str, ActionInfo] = {
            name: ActionInfo(name, tuple(a["params"]), tuple(a["labels"]), Location(*a["loc"]), frozenset(a["reads"]))
            for name, a in meta["actions"].items()
        }
        self.never = frozenset(name for name, a in meta["actions"].items() if a["never"])
        self.constants: dict[str, Value] = {name: self._module[py] for name, py in meta["constants"].items()}
        self.definitions = {name: Location(*entry["loc"]) for name, entry in meta["definitions"].items()}
        self.bodies = {name: Location(*entry["body"]) for name, entry in meta["definitions"].items()}
        self.property_places = {name: Location(*loc) for name, loc in meta["property_places"].items()}
        self.names: NameOrder = self._module["_names"]
        self.model_values: dict[str, ModelValue] = {name: ModelValue(name) for name in meta["model_values"]}
        self.unchecked: dict[str, list[str]] = meta["unchecked"]
        self.why_unchecked: dict[str, str] = meta["why_unchecked"]
        self.temporal: dict[str, list[str]] = meta["temporal_places"]
        self.assumptions = tuple(Location(*loc) for _, loc in meta["assumptions"])
        self.has_behaviour = meta["init"] is not None
        self.init_place = None if meta["init_place"] is None else Location(*meta["init_place"])
        self.postcondition = meta["postcondition"] and meta["postcondition"][0]
        self.postcondition_name: str | None = meta["postcondition_name"]
        self.undeclared_names: dict[str, str] = meta["undeclared_names"]
        self.check_deadlock: bool = meta["check_deadlock"]
        self.symmetry: str | None = meta["symmetry"]
        self.view: str | None = meta["view"]
        self.cfg_file = "the cfg"
        self.cfg_places: dict[str, str] = meta["cfg_places"]
        self.registers: Registers = self._module["_registers"]
        self.has_registers: bool = meta["has_registers"]
        self.probes: Probes | None = self._module.get("_probes")
        self._params = {name: action.params for name, action in self.actions.items()}
        self._step = {name: self._module[a["step"]] for name, a in meta["actions"].items()}
        self._bound = {name: self._module[a["bound"]] for name, a in meta["actions"].items()}
        self._constraints = [self._module[py] for py in meta["constraints"]]
        self._action_constraints = [self._module[py] for py in meta["action_constraints"]]

    def names_before(self) -> dict[str, Any]:
        """Return the names that the generated code takes for granted, for executing it."""
        return {"__name__": "lockstep_compiled_spec", "_note_at": self._note_at}

    @classmethod
    def from_source(cls, text: str) -> Spec:
        """Make a specification of another's ``source``; raises ValueError if the text is none."""
        return cls(text)

    @cached_property
    def stages(self) -> CodeType:
        """The code that makes the successors piece by piece, which only a search by tables executes."""
        return self._stages()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Spec, (self.source,))

    def __repr__(self) -> str:
        return f"<Spec {self.name} {self.spec_hash[:12]}>"

    # ---- States ----

    def state(self, values: Mapping[str, Value]) -> State:
        """Make a state of the values of all variables; raises KeyError if one is missing, or unknown."""
        return state_of(self.variables, values)

    def initial_states(self) -> Iterator[State]:
        """List the initial states as TLC generates them: one may come several times.

        Raises:
            SpecFault: if evaluation fails.
            TlaError: if the specification has no initial predicate, or an Assert is false.
        """
        init = self._meta["init"]
        if init is None:
            raise TlaError(f"{self.name} has no initial predicate")
        return self._initial(init)

    def _initial(self, init: str) -> Iterator[State]:
        try:
            yield from self._module[init]()
        except TlaAssertionError:
            raise
        except TlaError as error:
            raise fault_of(error, self.source, "Init", {}, str(self.init_place or "")) from error

    def successors(self, state: State) -> Iterator[tuple[str, dict[str, Value], State]]:
        """List the successors of a state as TLC generates them.

        Yields:
            The action's name, its arguments by name, and the next state; the same may come several times.

        Raises:
            SpecFault: if evaluation fails, or an action leaves open what a variable becomes; it names the action.
            TlaError: if an Assert is false.
        """
        for name, args, after in self._generated(state):
            yield name, dict(zip(self._params[name], args, strict=True)), after

    def _generated(self, state: State) -> Iterator[tuple[str, tuple[Value, ...], State]]:
        """List the successors: action, arguments in order, next state."""
        function = self._meta["successors"]
        if function is None:
            return
        try:
            yield from self._module[function](state)
        except TlaAssertionError:
            raise
        except TlaError as error:
            raise self._blamed(error, state) from error

    def _blamed(self, error: TlaError, state: State) -> SpecFault:
        """Make the fault of an evaluation that failed among the successors of a state: in which action, and where."""
        name, args, place = self._failing(error, state)
        fault = fault_of(error, self.source, name, args, place)
        if place or (within := self.action_at(fault.place)) is None:
            return fault
        return fault_of(error, self.source, within.name, {}, str(within.loc))

    def _failing(self, error: TlaError, state: State) -> tuple[str, dict[str, Value], str]:
        """Find the action, its arguments and its place, whose evaluation in a state fails with this error."""
        for name, action in self.actions.items():
            args: dict[str, Value] = {}
            try:
                for args in self.arguments(state, name):
                    deque(self.steps(state, name, args), maxlen=0)
            except TlaError as again:
                if str(again) == str(error):
                    return name, args, str(action.loc)
        return "Next", {}, ""

    def enabled(self, state: State) -> Iterator[tuple[str, dict[str, Value]]]:
        """List the actions that are enabled in a state, by name and arguments, each once.

        The exceptions are those of :meth:`successors`.
        """
        seen: set[tuple[str, tuple[Value, ...]]] = set()
        for name, args, _after in self._generated(state):
            if (name, args) not in seen:
                seen.add((name, args))
                yield name, dict(zip(self._params[name], args, strict=True))

    def step(self, state: State, action: str, args: Mapping[str, Value]) -> State | None:
        """Take a step, with all arguments of the action, which are tested for being in their quantifiers' domains.

        Returns:
            The next state, or None if the action is not enabled with these arguments.

        Raises:
            KeyError: if there is no such action.
            TypeError: if the arguments are not those of the action.
            AmbiguousStep: if there are two different next states.
            SpecFault: if it reads, or leaves open, what a variable of the next state is.
            TlaError: if evaluation fails otherwise.
        """
        found: State | None = None
        steps = self.steps(state, action, args)
        try:
            for after in steps:
                if found is None:
                    found = after
                elif after != found:
                    raise AmbiguousStep(f"{action} {TWO_SUCCESSORS}")
        except UnassignedError as error:
            raise fault_of(error, self.source, action, args, str(self.actions[action].loc)) from error
        return found

    def _known(self, table: Mapping[str, Known], name: str, what: str) -> Known:
        """Look up a name; the KeyError of one that is not there says what it may be."""
        if name not in table:
            raise KeyError(f"{self.name} has no {what} {name}{did_you_mean(name, table)}")
        return table[name]

    def _arguments(self, action: str, args: Mapping[str, Value]) -> list[Value]:
        params = self._known(self._params, action, "action")
        if len(args) != len(params) or any(name not in args for name in params):
            raise TypeError(f"{action} takes ({', '.join(params)}), not ({', '.join(args)})")
        return [args[name] for name in params]

    def arguments(
        self, state: State, action: str, hints: Mapping[str, Hint] | None = None
    ) -> Iterator[dict[str, Value]]:
        """List the arguments that the quantifiers of an action allow, whether it is enabled with them or not.

        Args:
            hints: what is known of its parameters, by name.

        Yields:
            The arguments by name, the same perhaps several times; one element stands for all of Nat, Int and STRING
            where nothing is known.

        Raises:
            KeyError: if there is no such action.
            ArgumentError: if a value that is known cannot be compared with the set that binds its parameter.
            UnknownArgumentError: if nothing is known of an element of another infinite set.
            TlaError: if evaluation fails, or a set cannot be listed.
        """
        params = self._known(self._params, action, "action")
        known = hints or {}
        for args in self._bound[action](state, tuple(known.get(name) for name in params)):
            yield dict(zip(params, args, strict=True))

    def steps(self, state: State, action: str, args: Mapping[str, Value]) -> Iterator[State]:
        """List all next states of an action with given arguments; otherwise as :meth:`step`.

        Yields:
            The next states, the same perhaps several times; none where the action is not enabled.
        """
        given = self._arguments(action, args)
        return iter(self._step[action](state, *given))

    def action_at(self, place: str) -> ActionInfo | None:
        """Return the action within whose definition a place (MODULE.tla:LINE:COLUMN) is; None if none, or several."""
        module, _, at = place.partition(".tla:")
        line, column = (int(number) for number in at.split(":")) if at else (0, 0)
        found = [
            action
            for action in self.actions.values()
            if action.loc.module == module
            and (action.loc.line, action.loc.column) <= (line, column) <= (action.loc.end_line, action.loc.end_column)
        ]
        return found[0] if len(found) == 1 else None

    def _note_at(self, line: int, said: str) -> str | None:
        """Return a note on what a line of the generated source does; None where there was one before."""
        if line in self._noted:
            return None
        self._noted.add(line)
        place = place_of_line(self.source, line)
        action = self.action_at(place)
        return f"{place}: note: {action.name if action is not None else self.name}: {said}"

    def explain(self, state: State, action: str, args: Mapping[str, Value]) -> Explanation:
        """Explain why an action is not enabled: per branch, its first false conjunct.

        Raises:
            KeyError: if there is no such action.
            TypeError: if the arguments are not those of the action.
        """
        given = self._arguments(action, args)
        tracer = Tracer(self._traced["CONJUNCTS"])
        enabled = False
        try:
            for _after in self._traced[self._meta["actions"][action]["why"]](tracer, state, *given):
                enabled = True
        except TlaError as error:
            tracer.broke(error)
        return Explanation(action, dict(args), enabled, tracer.branches())

    def explain_property(self, name: str, before: State | None, after: State) -> tuple[Branch, ...]:
        """Explain why a property is false: the parts that are, with what quantifiers bind there, and both sides.

        Args:
            name: an invariant, or a property of steps.
            before: the state in which the step begins; None for the first state.
            after: the state in which it is false, or the step ends.

        Returns:
            The first false part of a conjunction, each of a disjunction, and that of a set's first element. Nothing
            where it is true, or cannot be taken apart.

        Raises:
            TlaError: if a part of it has no value.
        """
        tracer = Tracer(self._traced["CONJUNCTS"])
        for function, of_step in self._meta["reasons"].get(name, ()):
            if not of_step:
                self._module[function](tracer, after)
            elif before is not None:
                self._module[function](tracer, before, after)
        return tracer.branches()

    @cached_property
    def probed(self) -> tuple[ProbedExpression, ...]:
        """The expressions with a probe, by the probe's number."""
        listed = self._module.get("PROBES", ())
        return tuple(ProbedExpression(Location(*place), kind, text, sides) for place, kind, text, sides in listed)

    @cached_property
    def _traced(self) -> dict[str, Any]:
        exec(compile(self._slow_text, "<compiled TLA+, traced>", "exec"), self._module)
        return self._module

    # ---- Formulas ----

    @cached_property
    def invariants(self) -> dict[str, Callable[[State], bool]]:
        """The configuration's invariants (and properties of the form ``[]P``) by name."""
        return {name: self._module[py] for name, py in self._meta["invariants"].items()}

    @cached_property
    def action_properties(self) -> dict[str, Callable[[State, State], bool]]:
        """The configuration's properties of the form ``[][A]_v``, by name."""
        table = self._meta["action_properties"]
        return {name: _all_of([self._module[py] for py in names]) for name, names in table.items()}

    @cached_property
    def initial_properties(self) -> dict[str, Callable[[State], bool]]:
        """The tests of the first state by the configuration's properties (such as refinements), by name."""
        table = self._meta["initial_properties"]
        return {name: _all_of([self._module[py] for py in names]) for name, names in table.items()}

    @cached_property
    def temporal_formulas(self) -> tuple[tuple[Formula, ...], dict[str, tuple[Formula, ...]]]:
        """The SPECIFICATION's assumptions (fairness), and each property's temporal parts by name."""

        def made(trees: list[Temporal]) -> tuple[Formula, ...]:
            return tuple(formula_of(self._module, tree) for tree in trees)

        return made(self._meta["assumed"]), {name: made(trees) for name, trees in self._meta["temporal"].items()}

    @cached_property
    def parts(self) -> dict[str, list[PropertyPart]]:
        """The parts of each invariant and action property, by its name; see :mod:`lockstep.tla.compile.footprints`."""
        return {name: [part_of(self._module, part) for part in parts] for name, parts in self._meta["parts"].items()}

    def footprint(self, name: str) -> list[PathOf]:
        """List the paths into the state that a definition reads; 0 is its parameter.

        Raises:
            KeyError: if there is no such definition, or it was not named when the specification was loaded.
        """
        return list(map(tuple, self._meta["footprints"][name]))

    def constraint(self, state: State) -> bool:
        """Return whether the configuration's state constraints hold."""
        return all(holds(state) for holds in self._constraints)

    def action_constraint(self, state: State, after: State) -> bool:
        """Return whether the configuration's action constraints hold of a step."""
        return all(holds(state, after) for holds in self._action_constraints)

    def false_assumptions(self) -> list[Location]:
        """List the ASSUMEs that are false.

        Raises:
            SpecFault: if one cannot be evaluated.
            TlaError: if an Assert in one is false.
        """
        return [Location(*loc) for py, loc in self._meta["assumptions"] if not self._assumed(py, Location(*loc))]

    def _assumed(self, py: str, loc: Location) -> bool:
        try:
            return bool(self._module[py](None))
        except TlaAssertionError:
            raise
        except TlaError as error:
            raise fault_of(error, self.source, "the ASSUME", {}, str(loc)) from error

    def refuse_false_constants(self) -> None:
        """Refuse the configuration where TLC does so because of what is constant, and then an ASSUME that is false.

        Raises:
            SpecFault: if a property or constraint speaks of no variable and is FALSE, or INIT or NEXT speaks of none.
            FalseAssumptionError: if an ASSUME is false.
        """
        for entry, at, py in self._meta["constant_entries"]:
            place = f"{self.cfg_file}:{at}" if at else self.cfg_file
            try:
                holds = bool(self._module[py](None))
            except (TlaError, RecursionError):  # evaluating it in a state reports that with its place
                continue
            if entry.startswith(("INIT ", "NEXT ")):
                raise SpecFault(WRONG_CFG, place, f"the {entry} speaks of no variable")
            if not holds:
                raise SpecFault(WRONG_CFG, place, f"the {entry} speaks of no variable, and is FALSE")
        for assumed in self.false_assumptions():
            raise FalseAssumptionError(f"the ASSUME at {assumed} is false")

    def postcondition_holds(self) -> bool:
        """Return whether the configuration's POSTCONDITION holds, or there is none."""
        postcondition = self._meta["postcondition"]
        return postcondition is None or bool(self._module[postcondition[1]](None))

    def arity(self, name: str) -> int:
        """Return how many arguments a definition of the root module takes; raises KeyError if there is none."""
        return len(self._meta["definitions"][name]["arguments"])

    def fields(self, name: str) -> list[str] | None:
        """Return the fields of the record that a definition of the root module is in every state.

        None where it may be something else, or is not written out; raises KeyError if there is no such definition.
        """
        return self._meta["definitions"][name]["fields"]

    def evaluate(self, name: str, state: State | None = None, *args: Value, after: State | None = None) -> Value:
        """Evaluate a definition or constant of the root module by name.

        Args:
            state: the state that unprimed variables refer to; None will do for a constant.
            *args: its arguments: values, or Python functions of values for operators.
            after: the state that primed variables refer to.

        Returns:
            The value.

        Raises:
            KeyError: if there is no such definition.
            CompileError: if the definition is outside the supported language.
            TypeError: if a state is needed, or the arguments are too many or too few.
            TlaError: if evaluation fails.
        """
        if name in self.constants:
            return self.constants[name]
        if name in self._meta["uncompiled"]:
            raise CompileError(self._meta["uncompiled"][name])
        definition = self._known(self._meta["definitions"], name, "definition")
        kinds, reads_next = definition["arguments"], definition["reads_next"]
        if len(args) != len(kinds):
            raise TypeError(f"{name} takes {len(kinds)} arguments, not {len(args)}")
        states = [s for s, wanted in ((state, definition["reads_now"]), (after, reads_next)) if wanted]
        if None in states:
            raise TypeError(f"{name} needs a {'next ' if reads_next and after is None else ''}state")
        given = [_passed(kind, arg) for kind, arg in zip(kinds, args, strict=True)]
        value: Value = self._module[definition["function"]](*states, *given)
        return value


def code_of(source: str) -> CodeType:
    """Return the code of the first part of a generated source; raises ValueError if it is none."""
    fast, marker, _ = source.partition(MARKER)
    if not marker:
        raise ValueError("this is not the source of a compiled specification")
    return compile(fast, "<compiled TLA+>", "exec")


def stages_of(source: str) -> CodeType:
    """Return the code of the part of a generated source that makes the successors piece by piece."""
    before, _, stages = source.partition(STAGES)
    lines = before.count("\n") + 1  # so that a line has its number in the whole source, by which its place is found
    return compile("\n" * lines + stages, "<compiled TLA+, stages>", "exec")


def _passed(kind: str, arg: Any) -> Any:
    """Convert an argument to what a compiled definition takes: a value, a function that returns it, or an operator."""
    if kind == "l":
        return lambda: arg
    if kind == "o":
        return lambda *thunks: arg(*[thunk() for thunk in thunks])
    return arg


def _all_of(tests: list[Callable[..., bool]]) -> Callable[..., bool]:
    if len(tests) == 1:
        return tests[0]
    return lambda *states: all(test(*states) for test in tests)
