"""A generated module while it is written, and its META."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lockstep.tla.compile.action_compiler import ActionCompiler
from lockstep.tla.compile.action_quantifiers import write_loop
from lockstep.tla.compile.action_writer import ActionWriter, Mode
from lockstep.tla.compile.expression_compiler import ExpressionCompiler
from lockstep.tla.compile.expression_context import Binding, Context, InlineBinding
from lockstep.tla.compile.expression_probes import ProbeTable
from lockstep.tla.compile.expression_writer import ExpressionWriter
from lockstep.tla.compile.next_actions import ActionPart, Frame
from lockstep.tla.compile.program import Program
from lockstep.tla.compile.python_text import Block, function_text
from lockstep.tla.compile.spec_meta import Place, empty_meta
from lockstep.tla.syntax.tree import Location

COMPILER_VERSION = "17"


class GeneratedModule:
    """A module while it is written.

    Attributes:
        sources: the text of each module of the project, by name.
        expressions: compiles expressions.
        actions: compile actions, by mode.
        entries: the functions that are called from outside, by mode.
        meta: what META will say.
        footprints: the definitions whose footprints are wanted.
        names: the numbers by which names are ordered.
        split: the parts of Next, and the name of each one's action by its id; None before they are found.
    """

    def __init__(
        self,
        program: Program,
        sources: dict[str, str],
        spec_hash: str,
        footprints: Iterable[str] = (),
        names: Mapping[str, int] | None = None,
        *,
        has_probes: bool = False,
    ) -> None:
        """Begin a module; the arguments are those of :func:`lockstep.tla.compile.module_text.generate`."""
        self.program = program
        self.sources = sources
        self.footprints = tuple(footprints)
        self.names = dict(names or {})
        self.split: tuple[list[ActionPart], dict[int, str]] | None = None
        self.expressions: ExpressionWriter = ExpressionCompiler(program)
        if has_probes:
            self.expressions.probes = ProbeTable(program)
        for name in ("Next", "State"):
            self.expressions.globals.fresh(name)
        modes: tuple[Mode, ...] = ("next", "step", "init", "why", "bound")
        self.actions: dict[str, ActionWriter] = {mode: ActionCompiler(self.expressions, mode) for mode in modes}
        self.entries: dict[str, list[str]] = {mode: [] for mode in (*modes, "stage")}
        self.meta = empty_meta(
            name=program.tree.root,
            spec_hash=spec_hash,
            compiler=COMPILER_VERSION,
            variables=[d.name for d in program.variables()],
            modules=sorted(sources),
        )

    def fresh(self, wanted: str) -> str:
        """Return a name for a function of the module."""
        return self.expressions.globals.fresh(wanted)

    def add(self, mode: str, name: str, params: Iterable[str], body: Block, note: object) -> None:
        """Add a function that is called from outside."""
        self.entries[mode].append(function_text(name, params, body, note))


def inlined(frame: Frame, scope: Context) -> dict[int, Binding]:
    """Return the arguments that the parameters of a definition stand for at a use."""
    assert frame.use is not None
    assert frame.definition is not None
    pairs = zip(frame.definition.params, frame.use.args, strict=True)
    return {uid: InlineBinding(arg, scope) for uid, arg in pairs}


def write_loops(
    module: GeneratedModule, frames: Sequence[Frame], scope: Context, block: Block, names: Sequence[str] = ()
) -> None:
    """Write loops over the bounds of some frames, the first outermost, that yield what they bind."""
    if not frames:
        block.emit(f"yield ({''.join(f'{name}, ' for name in names)})")
        return
    frame, below = frames[0], frames[1:]
    if frame.bound is None:
        write_loops(module, below, scope.bind(inlined(frame, scope)), block, names)
        return

    def write(inner: Block, inside: Context, more: list[str]) -> None:
        write_loops(module, below, inside, inner, [*names, *more])

    write_loop(module.actions["next"], frame.bound, scope, block, write)


def place_of(loc: Location) -> Place:
    """Return a location as META has it."""
    return (loc.module, loc.line, loc.column, loc.end_line, loc.end_column)


def source_text(module: GeneratedModule, loc: Location) -> str:
    """Return the text of the specification at a location."""
    lines = module.sources.get(loc.module, "").splitlines()[loc.line - 1 : loc.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: loc.end_column]
    lines[0] = lines[0][loc.column - 1 :]
    return "\n".join(lines)
