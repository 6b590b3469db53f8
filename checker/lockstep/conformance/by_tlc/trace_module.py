"""The module and the cfg that let TLC take the steps of a trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from lockstep.conformance.by_tlc.module_actions import ActionDefinitions
from lockstep.conformance.by_tlc.module_comparisons import ComparisonDefinitions
from lockstep.conformance.by_tlc.module_properties import PropertyParts
from lockstep.conformance.by_tlc.module_text import SENT, SHOWS, Literals, ModuleNames, SpecText, text_of
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_verdict import INIT
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.named_formulas import behaviour
from lockstep.tla.loading.spec_project import Parsed
from lockstep.tla.spec import Spec
from lockstep.tla.syntax.tree import Builtin
from lockstep.tla.values.kinds import ModelValue, Value
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event

#: The files that are written; the first is the module for TLC.
MODULE, OPERATORS = "LockstepTrace", "LockstepOperators"


class ModuleParts:
    """The parts of a module that EXTENDS a spec.

    Attributes:
        source: the text of the spec.
        literals, actions, comparisons: what writes values, actions and comparisons, and what these define.
    """

    def __init__(self, spec: Spec, parsed: Parsed, interface: Interface, *, probing: bool = False) -> None:
        """Prepare the parts.

        Arguments: `spec`, compiled, for its names alone; `parsed`, the same spec; `interface`, where a trace meets it;
        `probing`, whether the module prints what it is about to compare.
        """
        self.spec, self.parsed, self.interface = spec, parsed, interface
        self.source = SpecText(parsed.modules)
        self.names = ModuleNames(self.source.fresh_prefix("Trace_", spec.model_values), probing)
        self.literals = Literals(self.names.prefix, self.names.operators)
        self._init, by_name = behaviour(parsed.program)
        self.actions = ActionDefinitions(parsed.program, by_name, self.source, self.names)
        self.comparisons = ComparisonDefinitions(self.names, self.literals, interface.words)
        self._constants: dict[str, str] = {}

    def head(self, variables: Sequence[str]) -> Iterator[str]:
        """Write the module down to what its own steps make use of; they must be written before, as they define it."""
        names, literals = self.names, self.literals
        # These come first for the literals that they define.
        constants = self._constant_definitions()
        model_values = f"{names.prefix}model_values == {{{self._all_model_values()}}}"
        yield f"---- MODULE {MODULE} ----"
        yield f"EXTENDS {self.spec.name}"
        yield f"{names.operators} == INSTANCE {OPERATORS}"
        if literals.model_values:
            yield f"CONSTANTS {', '.join(literals.model_values)}"
        yield f"VARIABLE{'S' if len(variables) > 1 else ''} {', '.join(variables)}"
        yield model_values
        yield from [*literals.definitions, *constants, *self._observations()]
        yield from [*self.comparisons.lines, *self.actions.lines]

    def init(self, further: Sequence[str]) -> Iterator[str]:
        """Write the spec's initial predicate with further conjuncts."""
        prefix, own = self.names.prefix, self._conjuncts()
        for number, conjunct in enumerate(own, start=1):
            yield f"{prefix}init{number} ==\n{conjunct}"
        yield f"{prefix}init =="
        yield from (f"    /\\ {prefix}init{number}" for number in range(1, len(own) + 1))
        yield from (f"    /\\ {conjunct}" for conjunct in further)

    def next(self, relation: str) -> str:
        """Write the next-state relation."""
        return f"{self.names.prefix}next == {relation}"

    def write(self, folder: Path, text: str, checked: Sequence[str]) -> tuple[Path, Path]:
        """Write module, operators and cfg into a folder; return module and cfg.

        Arguments: `text`, of the module; `checked`, the lines of the cfg for what is checked.
        """
        module, cfg = folder / f"{MODULE}.tla", folder / f"{MODULE}.cfg"
        module.write_text(text, encoding="utf-8")
        operators = files("lockstep.conformance.by_tlc").joinpath(f"{OPERATORS}.tla").read_bytes()
        (folder / f"{OPERATORS}.tla").write_bytes(operators)
        cfg.write_text("".join(f"{line}\n" for line in [*self._cfg(), *checked]), encoding="utf-8")
        return module, cfg

    def _conjuncts(self) -> list[str]:
        """List the conjuncts of Init, as text."""
        program, init = self.parsed.program, self._init
        if init is None:
            raise CompileError(f"{program.tree.root} has no initial predicate {INIT}")
        parts = init.args if isinstance(init, Builtin) and init.name == "\\land" else (init,)
        return [text_of(part, program, self.source) for part in parts]

    def _all_model_values(self) -> str:
        constants = {value.name: value for value in self.spec.constants.values() if type(value) is ModelValue}
        known = {**constants, **self.spec.model_values}
        # A typed one cannot be compared with every value, so it is left out.
        return ", ".join(self.literals.text(known[name]) for name in sorted(known) if not known[name].kind)

    def _constant_definitions(self) -> list[str]:
        """Define the values of constants that a cfg cannot have, or not with the module's own strings."""
        defined = []
        for name, value in self.parsed.program.cfg.constants.items():
            if type(value) is not ModelValue:
                self._constants[name] = f"{self.names.prefix}constant{len(self._constants) + 1}"
                defined.append(f"{self._constants[name]} == {self.literals.text(value)}")
        return defined

    def _observations(self) -> list[str]:
        names, spec = self.names, self.spec
        node = f"{names.prefix}n"
        observe = self.interface.observe
        if observe not in spec.definitions:
            shown = "[" + ", ".join(f"{name} |-> {name}" for name in spec.variables) + "]"
        else:
            shown = f"{observe}({node})" if spec.arity(observe) else observe
        lines = [f"{names.observed}({node}) == {shown}"]
        outbox = self.interface.outbox
        if outbox is not None and self.interface.has_outbox(self.spec):
            fresh, channels = f"{outbox.operator}({node})", f"{outbox.network}[{node}]"
            now, later = f"{fresh}, {channels}", f"{fresh}', ({channels})'"
            lines.append(f"{names.added}({node}) == {names.operators}!Added({now}, {later})")
        return lines

    def _cfg(self) -> list[str]:
        cfg = self.parsed.program.cfg
        lines = ["CONSTANTS"]
        lines += [f"  {name} = {value}" for name, value in self.literals.model_values.items()]
        lines += [f"  {name} = {value.name}" for name, value in cfg.constants.items() if type(value) is ModelValue]
        lines += [f"  {name} <- {definition}" for name, definition in self._constants.items()]
        lines += [f"  {name} <- {other}" for name, other in cfg.substitutions.items()]
        lines += [f"  {name} <- [{module}]{other}" for (module, name), other in cfg.module_substitutions.items()]
        if cfg.module_constants:
            (module, name), _ = next(iter(cfg.module_constants.items()))
            raise CompileError(f"TLC cannot be given the constant {name} = [{module}]...: this engine writes none such")
        return [*lines, f"INIT {self.names.prefix}init", f"NEXT {self.names.prefix}next"]


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """An event with its line and its arguments as values, in the order of the action's parameters."""

    line: int
    event: Event
    args: tuple[Value, ...]


class TraceModule:
    """The module for one trace, or for several: each is a behaviour of its own.

    Attributes:
        events: the events, in order; None stands between one trace and the next.
        unwritten: properties that TLC does not check, each with the reason; see PropertyParts.
        property_of: the PROPERTY of the cfg that is meant where TLC names something else, by that name.
    """

    def __init__(
        self,
        spec: Spec,
        parsed: Parsed,
        interface: Interface,
        events: Sequence[ReadEvent | None],
        *,
        probing: bool = False,
    ) -> None:
        """Write the module.

        Arguments: `spec`, compiled, for its names alone; `parsed`, the same spec; `interface`, where a trace meets it;
        `probing`, whether the module prints what it is about to compare.
        Raises CompileError where TLC cannot be given the arguments of an action.
        """
        self.spec, self.events, self._interface = spec, events, interface
        self._parts = ModuleParts(spec, parsed, interface, probing=probing)
        self.names, self._literals = self._parts.names, self._parts.literals
        self._actions, self._comparisons = self._parts.actions, self._parts.comparisons
        self._reading = EventReader("", spec.actions, interface)
        steps = [*self._properties(), *self._events()]
        dispatch, root = self._dispatch()
        self.text = "".join(f"{line}\n" for line in self._assembled([*steps, *dispatch], root))

    def write(self, folder: Path, without: Collection[str]) -> tuple[Path, Path]:
        """Write module, operators and cfg into a folder; return module and cfg.

        Arguments: `without`, properties to leave out of the cfg.
        """
        cfg = self._parts.parsed.program.cfg
        checked = [f"INVARIANT {name}" for name in cfg.invariants if name not in without]
        whole = [name for name in cfg.properties if name not in self._of_behaviours]
        checked += [f"PROPERTY {name}" for name in whole if name not in without]
        checked += [f"PROPERTY {part}" for part, name in self._taken_apart.items() if name not in without]
        return self._parts.write(folder, self.text, checked)

    # ---- The parts of the module ----

    def _assembled(self, steps: list[str], root: str) -> Iterator[str]:
        yield from self._parts.head([self.names.next_event])
        yield from steps
        begins = [1, *(number + 1 for number, read in enumerate(self.events, start=1) if read is None)]
        yield from self._parts.init([f"{self.names.next_event} \\in {{{', '.join(map(str, begins))}}}"])
        yield self._parts.next(root)
        yield "===="

    def _properties(self) -> Iterator[str]:
        """Write what a trace can be checked for of the properties that speak of behaviours without end."""
        program = self._parts.parsed.program
        parts = PropertyParts(program, self._parts.source, self.names.prefix)
        variables = ", ".join([*self.spec.variables, self.names.next_event])
        self._of_behaviours = [name for name in program.cfg.properties if parts.is_about_behaviours(name)]
        self._taken_apart: dict[str, str] = {}
        self.property_of = {called: name for name in program.cfg.properties for called in parts.called(name)}
        lines = []
        for name in self._of_behaviours:
            found = parts.write(name)
            self.property_of |= {operator: name for _, operator in (*found.states, *found.first)}
            formulas = [f"[]{operator}" for _, operator in found.states]
            formulas += [f"[][{operator}]_<<{variables}>>" for _, operator in found.steps]
            formulas += [operator for _, operator in found.first]
            for formula in formulas:
                part = f"{self.names.prefix}property{len(self._taken_apart) + 1}"
                self._taken_apart[part] = self.property_of[part] = name
                lines.append(f"{part} == {formula}")
        self.unwritten = parts.unwritten
        yield from [*parts.lines, *lines]

    def _has_outbox(self) -> bool:
        return self._interface.has_outbox(self.spec)

    def _events(self) -> Iterator[str]:
        for number, read in enumerate(self.events, start=1):
            if read is None:
                yield f"{self.names.event(number)} == FALSE"
                continue
            yield f"\\* line {read.line}"
            yield f"{self.names.event(number)} =="
            yield f"    /\\ {self.names.next_event} = {number}"
            for conjunct in [
                *self.names.probe("", number),
                self._step(read),
                *self._shown(number, read),
                *self._sent(number, read),
            ]:
                yield f"    /\\ {conjunct}"
            yield f"    /\\ {self.names.next_event}' = {number + 1}"

    def _step(self, read: ReadEvent) -> str:
        if self._reading.is_observation(read.event):
            return f"UNCHANGED <<{', '.join(self.spec.variables)}>>"
        operator = self._actions.operator(read.event.action)
        return f"{operator}({', '.join(map(self._literals.text, read.args))})" if read.args else operator

    def _shown(self, number: int, read: ReadEvent) -> list[str]:
        if not read.event.shows:
            return []
        if not read.event.node and self._interface.takes_node(self.spec):
            return [self._agrees(number, SHOWS, self._comparisons.never(SHOWS), "FALSE")]
        agrees = self._comparisons.shows(read.event.shows)
        return [self._agrees(number, SHOWS, agrees, f"{self.names.observed}({self._node(read)})'")]

    def _sent(self, number: int, read: ReadEvent) -> list[str]:
        sent = read.event.sent
        if sent is None:
            return []
        if not self._has_outbox() or not read.event.node:
            return [self._agrees(number, SENT, self._comparisons.never(SENT), "FALSE")]
        try:
            messages = [self._reading.message(tree, read.line, "") for tree in sent]
            agrees = self._comparisons.sent(messages)
        except TraceError:
            agrees = self._comparisons.never(SENT)
        return [self._agrees(number, SENT, agrees, f"{self.names.added}({self._node(read)})")]

    def _agrees(self, number: int, what: str, operator: str, value: str) -> str:
        """Write a conjunct that prints the spec's value where the operator does not hold for it."""
        printed = self.names.printed(what, str(number), value)
        return f"IF {operator}({value}) THEN TRUE ELSE {printed} /\\ FALSE"

    def _node(self, read: ReadEvent) -> str:
        return self._literals.text(self._reading.node(read.event))

    def _dispatch(self) -> tuple[list[str], str]:
        """Write a search tree over the events, so that a step costs the same wherever it stands."""
        names = [self.names.event(number) for number in range(1, len(self.events) + 1)]
        if not names:
            return [], f"UNCHANGED <<{', '.join([*self.spec.variables, self.names.next_event])}>> /\\ FALSE"
        return search_tree(names, self.names.next_event, self.names, "from")


def search_tree(steps: Sequence[str], number: str, names: ModuleNames, title: str) -> tuple[list[str], str]:
    """Write the operators that come to the step of a number, from 1 on, in few tests; return them and the topmost.

    Arguments: `steps`, operators, at least one; `number`, an expression; `title`, what the operators are called.
    """
    lines, level = [], list(steps)
    first = {name: place for place, name in enumerate(level, start=1)}
    while len(level) > 1:
        above = []
        for left, right in zip(level[::2], level[1::2], strict=False):
            above.append(f"{names.prefix}{title}{first[left]}_{len(level)}")
            first[above[-1]] = first[left]
            test = f"{names.operators}!Before({number}, {first[right]})"
            lines.append(f"{above[-1]} == IF {test} THEN {left} ELSE {right}")
        level = [*above, *level[len(above) * 2 :]]
    return lines, level[0]
