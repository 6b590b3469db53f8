"""A game: the model of a manifest, the trace, or the spec of the user's own that is played, and its session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockstep.base.progress import Say, silent
from lockstep.conformance.json_values import Words
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.course.course_exercises import UnknownExerciseError, WriteGuard, exercise_title, load_exercise
from lockstep.jobs.course.write_guard import guard_files
from lockstep.jobs.play.play_session import Offer, Session, Suggest, Visit
from lockstep.jobs.view.counterexample_view import page_context
from lockstep.models.search_result import SpecFiles
from lockstep.report.page.page_content import PageContext
from lockstep.systems.own_traces import load_own_spec, not_checked, own_system
from lockstep.systems.registry import SYSTEMS, model_named, model_system
from lockstep.systems.system import System
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import compiled, system_of, trace_constants
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.values.kinds import Value
from lockstep.trace.trace_format import Header
from lockstep.trace.trace_reader import Trace

__all__ = ["Game", "SpecSource", "play_guard", "play_header", "play_model", "play_own_spec", "play_trace"]


@dataclass(frozen=True, slots=True)
class SpecSource:
    """The files that a spec was compiled from, and the constants that do not come from its cfg."""

    module: Path
    cfg: Path
    library: tuple[Path, ...] = ()
    constants: Mapping[str, Value] = field(default_factory=dict)
    jar: Path | None = None


@dataclass(frozen=True, slots=True)
class Game:
    """A session, and the spec that is played.

    `title` heads the page, saved files are called `name`. `model` names a model of a manifest; `header` is that of a
    trace, `followed` the number of the state to which the trace leads, and `begin` that of the state that is shown
    first; `guard` is the exercise whose guard the spec leaves open. With none of them, the spec is the user's own.
    `notes` name what is not evaluated, and where a trace could not be followed. `source` is what the spec was compiled
    from; without it, as in a browser, no expression can be watched.
    """

    session: Session
    context: PageContext
    title: str
    name: str
    model: str = ""
    guard: str = ""
    header: Header | None = None
    begin: int = 0
    followed: int = 0
    notes: tuple[str, ...] = ()
    source: SpecSource | None = None

    @property
    def system(self) -> System:
        """The system that the spec belongs to."""
        return self.context.system

    @property
    def interface(self) -> Interface:
        """The interface of the spec that is played, whose model values traces write as strings."""
        interface = self.system.interface(self.context.spec)
        null = interface.words.null
        strings = {name: value for name, value in self.context.spec.model_values.items() if value != null}
        return replace(interface, words=Words(null, strings))

    @property
    def is_own(self) -> bool:
        """Whether the spec is the user's own."""
        return not self.model and not self.guard and self.header is None


def play_model(name: str, jar: Path | None = None) -> Game:
    """Play a model of a manifest, with its constants and bounds; raises UnknownModelError, and as load_spec does."""
    manifest, model = model_named(name)
    source = SpecSource(*manifest.files(model), tuple(manifest.library), jar=jar)
    return replace(_play_source(source, model_system(manifest.path), name), model=name)


def play_guard(name: str, jar: Path | None = None) -> Game:
    """Play the model of an exercise with its guard left open.

    Raises UnknownExerciseError where no exercise of that name has a guard, and as load_spec does.
    """
    exercise = load_exercise(name)
    if not isinstance(exercise, WriteGuard):
        raise UnknownExerciseError(f"exercise {name} has no guard")
    module, cfg, library = guard_files(name, exercise)
    system = next(each for each in SYSTEMS.values() if each.root.parts[0] == exercise.library)
    game = _play_source(SpecSource(module, cfg, library, jar=jar), system, name)
    return replace(game, guard=name, title=exercise_title(name, exercise))


def _play_source(source: SpecSource, system: System, name: str) -> Game:
    """Play the module of a model of a system."""
    spec = load_spec(source.module, source.cfg, search_path=source.library, jar=source.jar)
    spec.refuse_false_constants()
    context = page_context(system, spec, source.module)
    session = Session(spec, _client_writes(context))
    return Game(session, context, f"{name}, {system.title}", name, notes=not_checked(spec), source=source)


def play_own_spec(files: SpecFiles) -> Game:
    """Play a spec of the user's own; raises as load_spec does."""
    system = own_system(files)
    spec = load_own_spec(files, system)
    context = PageContext(system, spec, module_texts(files.module, files.library))
    name = files.module.stem
    source = SpecSource(files.module, files.cfg, tuple(files.library), jar=files.jar)
    title = f"{name}, {files.cfg.name}"
    return Game(Session(spec), context, title, name, notes=not_checked(spec), source=source)


def play_header(header: Header, source: str, name: str, jar: Path | None = None) -> Game:
    """Play the spec that the header of a trace names; raises TraceError where the header is wrong."""
    system = system_of(header, source)
    spec = compiled(system, header, source, jar=jar)
    context = page_context(system, spec)
    session = Session(spec, _client_writes(context))
    constants = trace_constants(system, header, source)
    files = SpecSource(system.module, system.trace_cfg, constants=constants, jar=jar)
    return Game(session, context, f"{name}, {system.title}", name, header=header, source=files)


def _client_writes(context: PageContext) -> Suggest:
    """Return what suggests, in each state, a client's write to each node; its value names the step."""

    def suggested(visit: Visit) -> Iterator[tuple[str, Mapping[str, Value]]]:
        for action, written in context.system.client_writes.items():
            params = context.spec.actions[action].params if action in context.spec.actions else ()
            for node in context.nodes(visit.state.as_dict()) if params else ():
                yield action, {params[0]: node, **written(f"v{visit.depth + 1}")}

    return suggested


def play_trace(path: Path, jar: Path | None = None, say: Say = silent) -> Game:
    """Play on from a trace, from any of its steps.

    The trace is compared with the spec; where it leaves the spec, its steps end, and a note says so.
    Arguments: `say`, called with the number of events that were taken.
    Raises TraceError where the trace is malformed, UnreadableError where it cannot be read.
    """
    trace = open_trace(path)
    name = path.name.removesuffix(".ndjson").removesuffix(".trace")
    game = play_header(trace.header, trace.source, name, jar)
    begin, notes = _followed(trace, game, say)
    return replace(game, begin=begin, followed=begin, notes=(*game.notes, *notes))


def _followed(trace: Trace, game: Game, say: Say) -> tuple[int, list[str]]:
    """Take the steps of a trace; return the number of the last state, and a note if the spec refuses the next step."""
    session = game.session
    check = TraceCheck(trace, session.spec, game.system.interface(session.spec))
    at = 0
    for line, event in trace:
        say(f"{trace.source}: line {line:,}")
        after = check.advance(session.visit(at).state, line, event)
        if after is None:
            found = check.result.findings[-1]
            return at, [f"line {line} of the trace is no step of the spec ({found.code} {found.name}); it ends before"]
        if not check.reading.is_observation(event):
            offer = Offer(event.action, check.reading.arguments(line, event), after)
            at = session.take(at, offer, line, event).number
    return at, []
