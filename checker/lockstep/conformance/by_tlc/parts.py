"""What the modules for TLC have in common: the spec's names, values, actions and observations, and the cfg."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from lockstep.conformance.by_tlc.actions import Actions
from lockstep.conformance.by_tlc.comparisons import Comparisons
from lockstep.conformance.by_tlc.literals import Literals
from lockstep.conformance.by_tlc.names import Names
from lockstep.conformance.by_tlc.source import Source
from lockstep.conformance.check import INIT
from lockstep.conformance.interface import Interface
from lockstep.tla.compile.compile_error import CompileError
from lockstep.tla.compile.named_formulas import behaviour
from lockstep.tla.compile.program import Program
from lockstep.tla.loading.spec_project import Parsed
from lockstep.tla.spec import Spec
from lockstep.tla.syntax.tree import Builtin, Call, Expr
from lockstep.tla.values.kinds import ModelValue

#: The files that are written; the first is the module for TLC.
MODULE, OPERATORS = "LockstepTrace", "LockstepOperators"


class Parts:
    """The parts of a module that EXTENDS a spec.

    Attributes:
        names: the names of its own.
        source: the text of the spec.
        literals, actions, comparisons: what writes values, actions and comparisons, and what these define.
    """

    def __init__(
        self,
        spec: Spec,
        parsed: Parsed,
        interface: Interface,
        *,
        probing: bool = False,
        actions: type[Actions] = Actions,
    ) -> None:
        """Prepare the parts.

        Arguments: `spec`, compiled, for its names alone; `parsed`, the same spec; `interface`, where a trace meets it;
        `probing`, whether the module says what it is about to compare; `actions`, what writes actions.
        """
        self.spec, self.parsed, self.interface = spec, parsed, interface
        self.source = Source(parsed.modules)
        self.names = Names(self.source.fresh_prefix("Trace_", spec.model_values), probing)
        self.literals = Literals(self.names.prefix, self.names.operators)
        self._init, by_name = behaviour(parsed.program)
        self.actions = actions(parsed.program, by_name, self.source, self.names)
        self.comparisons = Comparisons(self.names, self.literals, interface.words)
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

    def init(self, further: Sequence[str], start: str | None = None) -> Iterator[str]:
        """Write the initial predicate: the spec's or, where it is named, another one, with further conjuncts."""
        prefix = self.names.prefix
        own = self._conjuncts() if start is None else [f"    {start}"]
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

        Arguments: `text`, of the module; `checked`, the lines of the cfg that say what is checked.
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
        # A typed one cannot be compared with every value, and so can be told of none.
        return ", ".join(self.literals.of(known[name]) for name in sorted(known) if not known[name].kind)

    def _constant_definitions(self) -> list[str]:
        """Define the values of constants that a cfg cannot say, or not with the module's own strings."""
        defined = []
        for name, value in self.parsed.program.cfg.constants.items():
            if type(value) is not ModelValue:
                self._constants[name] = f"{self.names.prefix}constant{len(self._constants) + 1}"
                defined.append(f"{self._constants[name]} == {self.literals.of(value)}")
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


def text_of(expr: Expr, program: Program, source: Source) -> str:
    """Return the text of a formula of the spec: the name of a definition where it is one, or what stands there."""
    if isinstance(expr, Call) and not expr.args:
        return f"    {program.tree.name_of(expr.op)}"
    return source.cut(expr.loc)
