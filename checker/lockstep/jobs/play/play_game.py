"""What is played: a model of a manifest, a trace with what may follow it, or a spec of the reader's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockstep.base.progress import Say, silent
from lockstep.conformance.json_values import Words
from lockstep.conformance.spec_interface import Interface, no_location
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.play.play_session import Offer, Session
from lockstep.jobs.view.trace_view import subject_of, system_of_manifest
from lockstep.report.page.page_content import Subject
from lockstep.systems.own_traces import load_own_spec, not_checked, own_system
from lockstep.systems.registry import model_named
from lockstep.systems.system import System
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import compiled, system_of
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import module_texts
from lockstep.trace.trace_format import Header
from lockstep.trace.trace_reader import Trace

__all__ = ["Game", "of_header", "of_model", "of_own", "of_trace"]


@dataclass(frozen=True, slots=True)
class Game:
    """A session, and what is known of the spec that is played.

    `title` heads the page, `name` is what files are called after. `model` names a model of a manifest; `header` is that
    of a trace, and `begin` the number of the state to which the trace leads. With neither the spec is the reader's own.
    `notes` tell what is not evaluated, and where a trace could not be followed.
    """

    session: Session
    system: System
    subject: Subject
    title: str
    name: str
    model: str = ""
    header: Header | None = None
    begin: int = 0
    notes: tuple[str, ...] = ()

    @property
    def interface(self) -> Interface:
        """Where traces meet the spec that is played, whose model values traces write as strings."""
        met = self.system.interface(self.subject.spec)
        null = met.words.null
        strings = {name: value for name, value in self.subject.spec.model_values.items() if value != null}
        return replace(met, words=Words(null, strings))

    @property
    def is_own(self) -> bool:
        """Tell whether the spec is the reader's own."""
        return not self.model and self.header is None


def of_model(name: str, jar: Path | None = None) -> Game:
    """Play a model of a manifest, with its constants and bounds; raises UnknownModelError, and as load_spec does."""
    manifest, model = model_named(name)
    module, cfg = manifest.files(model)
    system = system_of_manifest(manifest)
    spec = load_spec(module, cfg, search_path=manifest.library, jar=jar)
    spec.refuse_false_constants()
    subject = subject_of(system, spec, module)
    title = f"{name}, {system.title}"
    return Game(Session(spec), system, subject, title, name, model=name, notes=not_checked(spec))


def of_own(spec: Path, cfg: Path, library: Sequence[Path] = (), jar: Path | None = None) -> Game:
    """Play a spec of the reader's own, of which no picture is known; raises as load_spec does."""
    system = own_system(spec, cfg)
    loaded = load_own_spec(system, library, jar)
    subject = Subject(loaded, module_texts(spec, library), no_location)
    return Game(Session(loaded), system, subject, f"{spec.stem}, {cfg.name}", spec.stem, notes=not_checked(loaded))


def of_header(header: Header, source: str, name: str, jar: Path | None = None) -> Game:
    """Play the spec that a trace is told in, from its beginning; raises TraceError where the header is wrong."""
    system = system_of(header, source)
    spec = compiled(system, header, source, jar=jar)
    title = f"{name}, {system.title}"
    return Game(Session(spec), system, subject_of(system, spec), title, name, header=header)


def of_trace(path: Path, jar: Path | None = None, say: Say = silent) -> Game:
    """Play what may follow a trace, from any of its steps.

    What a trace shows is compared with the spec; where it leaves that, its steps end, and a note says so.
    Arguments: `say`, told how many events were taken.
    Raises TraceError where the trace is malformed, UnreadableError where it cannot be read.
    """
    trace = open_trace(path)
    name = path.name.removesuffix(".ndjson").removesuffix(".trace")
    game = of_header(trace.header, trace.source, name, jar)
    begin, notes = _followed(trace, game, say)
    return replace(game, begin=begin, notes=(*game.notes, *notes))


def _followed(trace: Trace, game: Game, say: Say) -> tuple[int, list[str]]:
    """Take the steps of a trace, and return the last state, with a note where the spec refuses the next one."""
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
