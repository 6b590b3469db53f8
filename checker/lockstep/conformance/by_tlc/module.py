"""The module and the cfg that let TLC take the steps of a trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from lockstep.conformance.by_tlc.actions import Actions
from lockstep.conformance.by_tlc.comparisons import Comparisons
from lockstep.conformance.by_tlc.literals import Literals
from lockstep.conformance.by_tlc.names import SENT, SHOWS, Names
from lockstep.conformance.by_tlc.source import Source
from lockstep.conformance.check import INIT
from lockstep.conformance.interface import Interface
from lockstep.conformance.reading import Reading
from lockstep.tla.compile.analysis import Program
from lockstep.tla.compile.module.behaviour import behaviour
from lockstep.tla.compile.program import CompileError
from lockstep.tla.loading.project import Parsed
from lockstep.tla.spec import Spec
from lockstep.tla.syntax.tree import Builtin, Call, Expr
from lockstep.tla.values.kinds import ModelValue, Value
from lockstep.trace.format import Event, TraceError

#: The files that are written; the first is the module for TLC.
MODULE, OPERATORS = "LockstepTrace", "LockstepOperators"


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """An event with its line and its arguments as values, in the order of the action's parameters."""

    line: int
    event: Event
    args: tuple[Value, ...]


class TraceModule:
    """The module for one trace, or for several: each is a behaviour of its own.

    Attributes:
        names: the names of its own.
        text: the module.
        events: the events, in order; None stands between one trace and the next.
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
        `probing`, whether the module says what it is about to compare.
        Raises CompileError where TLC cannot be given the arguments of an action.
        """
        self.spec, self.parsed, self.events, self._interface = spec, parsed, events, interface
        program = parsed.program
        source = Source(parsed.modules)
        self.names = Names(source.fresh_prefix("Trace_", spec.model_values), probing)
        self._literals = Literals(self.names.prefix, self.names.operators)
        init, actions = behaviour(program)
        self._actions = Actions(program, actions, source, self.names)
        self._comparisons = Comparisons(self.names, self._literals, interface.words)
        self._reading = Reading("", spec.actions, interface)
        self._constants: dict[str, str] = {}
        steps = list(self._events())
        dispatch, root = self._dispatch()
        lines = self._assembled(_conjuncts(init, program, source), [*steps, *dispatch], root)
        self.text = "".join(f"{line}\n" for line in lines)

    def write(self, folder: Path, without: Collection[str]) -> tuple[Path, Path]:
        """Write module, operators and cfg into a folder; return module and cfg.

        Arguments: `without`, properties to leave out of the cfg.
        """
        module, cfg = folder / f"{MODULE}.tla", folder / f"{MODULE}.cfg"
        module.write_text(self.text, encoding="utf-8")
        operators = files("lockstep.conformance.by_tlc").joinpath(f"{OPERATORS}.tla").read_bytes()
        (folder / f"{OPERATORS}.tla").write_bytes(operators)
        cfg.write_text(self._cfg(without), encoding="utf-8")
        return module, cfg

    # ---- The parts of the module ----

    def _assembled(self, init: list[str], steps: list[str], root: str) -> Iterator[str]:
        names, literals = self.names, self._literals
        # These come first for the literals that they define.
        constants = self._constant_definitions()
        model_values = f"{names.prefix}model_values == {{{self._all_model_values()}}}"
        yield f"---- MODULE {MODULE} ----"
        yield f"EXTENDS {self.spec.name}"
        yield f"{names.operators} == INSTANCE {OPERATORS}"
        if literals.model_values:
            yield f"CONSTANTS {', '.join(literals.model_values)}"
        yield f"VARIABLE {names.next_event}"
        yield model_values
        yield from [*literals.definitions, *constants, *self._observations()]
        yield from [*self._comparisons.lines, *self._actions.lines, *steps]
        for number, conjunct in enumerate(init, start=1):
            yield f"{names.prefix}init{number} ==\n{conjunct}"
        yield f"{names.prefix}init =="
        yield from (f"    /\\ {names.prefix}init{number}" for number in range(1, len(init) + 1))
        begins = [1, *(number + 1 for number, read in enumerate(self.events, start=1) if read is None)]
        yield f"    /\\ {names.next_event} \\in {{{', '.join(map(str, begins))}}}"
        yield f"{names.prefix}next == {root}"
        yield "===="

    def _all_model_values(self) -> str:
        constants = {value.name: value for value in self.spec.constants.values() if type(value) is ModelValue}
        known = {**constants, **self.spec.model_values}
        # A typed one cannot be compared with every value, and so can be told of none.
        return ", ".join(self._literals.of(known[name]) for name in sorted(known) if not known[name].kind)

    def _constant_definitions(self) -> list[str]:
        """Define the values of constants that a cfg cannot say, or not with the module's own strings."""
        defined = []
        for name, value in self.parsed.program.cfg.constants.items():
            if type(value) is not ModelValue:
                self._constants[name] = f"{self.names.prefix}constant{len(self._constants) + 1}"
                defined.append(f"{self._constants[name]} == {self._literals.of(value)}")
        return defined

    def _observations(self) -> list[str]:
        names, spec = self.names, self.spec
        node = f"{names.prefix}n"
        observe = self._interface.observe
        if observe not in spec.definitions:
            shown = "[" + ", ".join(f"{name} |-> {name}" for name in spec.variables) + "]"
        else:
            shown = f"{observe}({node})" if spec.arity(observe) else observe
        lines = [f"{names.observed}({node}) == {shown}"]
        outbox = self._interface.outbox
        if outbox is not None and self._has_outbox():
            fresh, channels = f"{outbox.operator}({node})", f"{outbox.network}[{node}]"
            now, later = f"{fresh}, {channels}", f"{fresh}', ({channels})'"
            lines.append(f"{names.added}({node}) == {names.operators}!Added({now}, {later})")
        return lines

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
        return f"{operator}({', '.join(map(self._literals.of, read.args))})" if read.args else operator

    def _shown(self, number: int, read: ReadEvent) -> list[str]:
        if not read.event.shows:
            return []
        observe = self._interface.observe
        if not read.event.node and observe in self.spec.definitions and self.spec.arity(observe):
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
        return self._literals.of(self._reading.node(read.event))

    def _dispatch(self) -> tuple[list[str], str]:
        """Write a search tree over the events, so that a step costs the same wherever it stands."""
        lines: list[str] = []
        names = [self.names.event(number) for number in range(1, len(self.events) + 1)]
        if not names:
            return lines, f"UNCHANGED <<{', '.join([*self.spec.variables, self.names.next_event])}>> /\\ FALSE"
        first = {name: number for number, name in enumerate(names, start=1)}
        while len(names) > 1:
            above = []
            for left, right in zip(names[::2], names[1::2], strict=False):
                above.append(f"{self.names.prefix}from{first[left]}_{len(names)}")
                first[above[-1]] = first[left]
                test = f"{self.names.operators}!Before({self.names.next_event}, {first[right]})"
                lines.append(f"{above[-1]} == IF {test} THEN {left} ELSE {right}")
            names = [*above, *names[len(above) * 2 :]]
        return lines, names[0]

    # ---- The cfg ----

    def _cfg(self, without: Collection[str]) -> str:
        cfg = self.parsed.program.cfg
        lines = ["CONSTANTS"]
        lines += [f"  {name} = {value}" for name, value in self._literals.model_values.items()]
        lines += [f"  {name} = {value.name}" for name, value in cfg.constants.items() if type(value) is ModelValue]
        lines += [f"  {name} <- {definition}" for name, definition in self._constants.items()]
        lines += [f"  {name} <- {other}" for name, other in cfg.substitutions.items()]
        lines += [f"  {name} <- [{module}]{other}" for (module, name), other in cfg.module_substitutions.items()]
        if cfg.module_constants:
            (module, name), _ = next(iter(cfg.module_constants.items()))
            raise CompileError(f"TLC cannot be given the constant {name} = [{module}]...: this engine writes none such")
        lines += [f"INIT {self.names.prefix}init", f"NEXT {self.names.prefix}next"]
        lines += [f"INVARIANT {name}" for name in cfg.invariants if name not in without]
        lines += [f"PROPERTY {name}" for name in cfg.properties if name not in without]
        return "\n".join(lines) + "\n"


def _conjuncts(init: Expr | None, program: Program, source: Source) -> list[str]:
    """List the conjuncts of Init, as text."""
    if init is None:
        raise CompileError(f"{program.tree.root} has no initial predicate {INIT}")
    parts = init.args if isinstance(init, Builtin) and init.name == "\\land" else (init,)
    return [
        f"    {program.tree.name_of(part.op)}" if isinstance(part, Call) and not part.args else source.cut(part.loc)
        for part in parts
    ]
