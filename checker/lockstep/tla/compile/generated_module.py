"""A module under way: what is written so far, and what its META says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lockstep.tla.compile.action_compiler import ActionCompiler
from lockstep.tla.compile.action_writer import Actions, Mode
from lockstep.tla.compile.expression_compiler import ExpressionCompiler
from lockstep.tla.compile.expression_context import Binding, Context, InlineBinding
from lockstep.tla.compile.expression_writer import Compiler
from lockstep.tla.compile.next_actions import ActionPart, Frame
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.spec_meta import Place, empty_meta
from lockstep.tla.syntax.tree import Location

__all__ = ["COMPILER_VERSION", "Module", "inlined", "place_of", "source_text"]

COMPILER_VERSION = "17"


class Module:
    """A module under way.

    Attributes:
        program: what is compiled.
        sources: the text of each module of the project, by name.
        values: what compiles expressions.
        modes: what compiles actions, in each mode.
        entries: the functions that are called from outside, by mode.
        meta: what META will say.
        asked: the definitions whose footprints are asked for.
        names: the numbers by which names are ordered.
        split: the parts of Next, and the name of each one's action by its id; None before they are found.
    """

    def __init__(
        self,
        program: Program,
        sources: dict[str, str],
        debug: bool,
        spec_hash: str,
        asked: Iterable[str] = (),
        names: Mapping[str, int] | None = None,
    ) -> None:
        """Begin a module; the arguments are those of :func:`lockstep.tla.compile.module_text.generate`."""
        self.program = program
        self.names = dict(names or {})
        self.split: tuple[list[ActionPart], dict[int, str]] | None = None
        self.asked = tuple(asked)
        self.sources = sources
        self.values: Compiler = ExpressionCompiler(program, debug)
        for name in ("Next", "State"):
            self.values.globals.fresh(name)
        self.modes: dict[Mode, Actions] = {
            mode: ActionCompiler(self.values, mode) for mode in ("next", "step", "init", "why", "bound")
        }
        self.entries: dict[str, list[str]] = {mode: [] for mode in ("next", "step", "init", "why", "bound", "stage")}
        self.meta = empty_meta(
            name=program.tree.root,
            spec_hash=spec_hash,
            compiler=COMPILER_VERSION,
            debug=debug,
            variables=[d.name for d in program.variables()],
            modules=sorted(sources),
        )


def inlined(frame: Frame, scope: Context) -> dict[int, Binding]:
    """Return what the parameters of a definition stand for where it is used."""
    assert frame.use is not None
    assert frame.definition is not None
    pairs = zip(frame.definition.params, frame.use.args, strict=True)
    return {uid: InlineBinding(arg, scope) for uid, arg in pairs}


def place_of(loc: Location) -> Place:
    """Return a location as META has it."""
    return (loc.module, loc.line, loc.column, loc.end_line, loc.end_column)


def source_text(module: Module, loc: Location) -> str:
    """Answer the text of the specification at a location."""
    lines = module.sources.get(loc.module, "").splitlines()[loc.line - 1 : loc.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: loc.end_column]
    lines[0] = lines[0][loc.column - 1 :]
    return "\n".join(lines)
