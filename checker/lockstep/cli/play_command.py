"""lockstep play."""

from __future__ import annotations

import signal
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.characters import counted
from lockstep.cli.options import FILE, completing, model_names, note_translation, progress, progress_end, spec_options

if TYPE_CHECKING:
    from lockstep.jobs.play.opened_game import GameFiles
    from lockstep.jobs.play.play_game import Game
    from lockstep.jobs.play.play_scenario import Scenario
    from lockstep.models.model_manifest import Manifest, ModelEntry
    from lockstep.systems.system import System
    from lockstep.systems.trace_opening import SpecOptions


@click.command()
@click.argument("name", metavar="[TRACE|MODEL]", required=False, shell_complete=completing(model_names))
@spec_options(with_switch=False, with_mapping=False)
@click.option("--scenario", "file", type=FILE, help="Start with the steps of this scenario.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the steps of the scenario, or of the trace, as a trace, and serve no page.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on (default: any that is free)."
)
@click.option("--all", "lists_all", is_flag=True, help="List all models, not only those of a flaw.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--static",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the page into DIR, a new folder or one with such pages, to be played without lockstep.",
)
@click.option(
    "--pyodide",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The folder with Pyodide and msgspec for it (default: where `make pyodide` puts them).",
)
def command(
    name: str | None,
    spec_options: SpecOptions,
    file: Path | None,
    output: Path | None,
    port: int,
    lists_all: bool,
    opens: bool,
    folder: Path | None,
    pyodide: Path | None,
) -> int:
    """Play a spec: take its steps one by one in a browser, make faults happen, fork, undo, ask why not.

    MODEL is a model of a manifest, with its constants and bounds. All steps of a TRACE are there, and others can be
    taken from any of them; `--spec` names a spec of your own. The page shows what `lockstep view` shows, and the
    steps that the spec allows. For an action that is not enabled it shows the first conjunct that is false, with the
    values of both sides. Properties are evaluated in every state. What was played can be saved: as a trace, which
    `lockstep check` reads, or as a scenario, a list of steps that `--scenario` takes again.

    The page is served to this machine alone, at an address that nobody can guess, until Ctrl-C.
    Without anything to play, the models of flaws are listed, with --all all models.

    With --static, nothing is served: the page is written into a folder of plain files, and played in any browser, from
    the disk or a web server, without lockstep. Without anything to play, the folder gets a level for each flaw, whose
    property is to be violated in as few steps as possible, and the course, whose exercises are graded in the page.
    `make pyodide` fetches what this needs.

    \b
    lockstep play
    lockstep play late_truncate_bug
    lockstep play --spec My.tla --open
    lockstep play --scenario late.scenario.ndjson
    lockstep play --scenario late.scenario.ndjson -o late.trace.ndjson
    lockstep play late_truncate_bug --static out

    Exit codes: 0 stopped by Ctrl-C, or the file was written; 1 the spec does not allow a step of the scenario; 2
    wrong usage or malformed input; 3 a tool or a package is missing; 4 an internal error.
    """
    from lockstep.jobs.play.opened_game import first_state
    from lockstep.jobs.play.play_scenario import ScenarioRefusedError, read_scenario

    _refuse_together(output, port, opens, folder, pyodide)
    is_game = name is not None or file is not None or spec_options.own is not None
    if lists_all and (is_game or folder is not None):
        raise click.UsageError("--all lists models: leave the rest out")
    if not is_game:
        if folder is not None:
            return _write_all(folder, pyodide, spec_options.jar)
        _refuse_without_game(output, port, opens)
        _list_models(lists_all)
        return 0
    scenario = None if file is None else read_scenario(file)
    files = _game_files(name, spec_options, scenario)
    game = _open_game(files)
    try:
        at = first_state(game, scenario)
    except ScenarioRefusedError as error:
        click.echo(str(error))
        for line in error.lines:
            click.echo(f"    {line}")
        return 1
    if output is not None:
        return _write_trace(game, at, output)
    if folder is not None:
        return _write_page(files, game, at, folder, pyodide)
    return _serve(game, at, port, opens)


def _refuse_without_game(output: Path | None, port: int, opens: bool) -> None:
    """Raise UsageError where an option says what to do with a game, and there is none."""
    if output is not None or port or opens:
        raise click.UsageError("give a TRACE, a MODEL, --spec or --scenario")


def _refuse_together(output: Path | None, port: int, opens: bool, folder: Path | None, pyodide: Path | None) -> None:
    """Raise UsageError where --static is given with what it leaves out, or --pyodide without it."""
    if folder is not None and (output is not None or port or opens):
        raise click.UsageError("--static serves nothing, and writes no trace: leave -o, --port and --open out")
    if pyodide is not None and folder is None:
        raise click.UsageError("--pyodide is of --static DIR")


def _list_models(lists_all: bool) -> None:
    """Print the models of the systems that can be played: those of a flaw alone, or all, and these first."""
    from lockstep.systems.registry import manifests, model_system

    click.echo("lockstep play MODEL plays one of these, lockstep play --spec My.tla a spec of")
    click.echo("your own. Start with late_truncate_bug.")
    if lists_all:
        click.echo("A witness claims that something never happens, and is refuted on purpose.")
    else:
        click.echo("--all lists the models in which every property holds, too, and the witnesses.")
    for manifest in manifests():
        system = model_system(manifest.path)
        listed = _all_models(system, manifest) if lists_all else _flaw_models(system, manifest)
        click.echo(f"\n{system.title}\n\n{listed}")


def _flaw_models(system: System, manifest: Manifest) -> str:
    """Return the models of one flaw each as a table: the flaw, which property fails, and after how many steps."""
    from lockstep.report.text_table import table

    rows = [
        (each.name, _flaw(system, each), each.violates, each.depth and each.depth - 1)
        for each in manifest.models
        if each.is_of_flaw
    ]
    return table(("model", "flaw", "fails", "steps"), rows)


def _all_models(system: System, manifest: Manifest) -> str:
    """Return the models as a table, those first in which a flaw breaks something."""
    from lockstep.report.text_table import table

    models = sorted(manifest.models, key=lambda each: (each.result != "violated", each.witness))
    rows = [(each.name, _flaw(system, each), *_shown_by(each)) for each in models]
    return table(("model", "flaw", "shows", "states"), rows)


def _flaw(system: System, model: ModelEntry) -> str:
    """Return how the flaw of a model is shown; empty where a model is not of one."""
    return "" if model.switch is None else system.switch_title.format(model.switch)


def _shown_by(model: ModelEntry) -> tuple[str, str]:
    """Return what a model shows, and how many states it has where nothing ends the search before."""
    if model.result != "violated":
        return "every property holds", "" if model.distinct is None else f"{model.distinct:,}"
    after = "" if model.depth is None else f" after {counted(model.depth - 1, 'step')}"
    return f"{model.violates} {'is refuted' if model.witness else 'fails'}{after}", ""


def _game_files(name: str | None, options: SpecOptions, scenario: Scenario | None) -> GameFiles:
    """Return what the command names: a trace, a model or a spec, or else what its scenario is of."""
    from lockstep.jobs.play.opened_game import GameFiles

    jar = options.jar
    if options.own is not None:
        if name is not None:
            raise click.UsageError("give either TRACE, MODEL or --spec")
        note_translation(options.own.module, jar)
        return GameFiles(own=options.own, scenario=scenario, jar=jar)
    if name is not None and Path(name).exists():
        if scenario is not None:
            raise click.UsageError("a scenario names what it is of, and starts where that starts: leave TRACE out")
        return GameFiles(trace=Path(name), jar=jar)
    if name is None and scenario is not None and scenario.start.spec:
        raise click.UsageError(f"{scenario.source} is of the spec {scenario.start.spec}: name its file with --spec")
    return GameFiles(model=name or "", scenario=scenario, jar=jar)


def _open_game(files: GameFiles) -> Game:
    """Open a game, with progress on a terminal."""
    from lockstep.jobs.play.opened_game import open_game
    from lockstep.systems.registry import UnknownModelError

    try:
        return open_game(files, progress)
    except UnknownModelError as error:
        if not files.model:
            raise
        if files.model.endswith(".ndjson") or Path(files.model).name != files.model:  # no model is named like that
            raise UnknownModelError(f"no file {files.model!r}") from error
        raise UnknownModelError(f"no file {files.model!r}, and {error}; `lockstep play --all` lists them") from error
    finally:
        progress_end()


def _write_trace(game: Game, at: int, output: Path) -> int:
    """Write the path to a state as a trace, and print the verdict of its check."""
    from lockstep.base.whole_files import writing_whole
    from lockstep.jobs.play.play_trace import save_trace
    from lockstep.systems.trace_files import OverwritingError

    if output.exists():
        raise OverwritingError(f"{output}: it is there already, and is not overwritten")
    saved = save_trace(game, at)
    with writing_whole(output) as file:
        file.write(saved.text)
    click.echo(f"{output}: {counted(saved.verdict.steps, 'step')}, {saved.verdict.verdict}: {saved.verdict.reason}")
    for note in saved.notes:
        click.echo(note)
    return 0


def _write_page(files: GameFiles, game: Game, at: int, folder: Path, pyodide: Path | None) -> int:
    """Write the page of a game into a folder."""
    from lockstep.jobs.play_folder.pyodide_files import default_folder, read_pyodide
    from lockstep.jobs.play_folder.write_folder import PlayFolder, page_of

    pages = PlayFolder(folder, read_pyodide(pyodide or default_folder()))
    pages.refuse_taken([game.name])
    page = page_of(files, game, at, list(pages.scripts))
    pages.add([page])
    click.echo(f"{folder / page.file}: {page.title}")
    return 0


def _write_all(folder: Path, pyodide: Path | None, jar: Path | None) -> int:
    """Write a page for each flaw that a player can find, and for each exercise of the course, into a folder."""
    from lockstep.jobs.course.course_exercises import exercise_names
    from lockstep.jobs.play.opened_game import GameFiles, open_game
    from lockstep.jobs.play_folder.chapter_pages import chapter_page, chapters, course_page_names
    from lockstep.jobs.play_folder.exercise_pages import exercise_page
    from lockstep.jobs.play_folder.levels import level_models, level_of
    from lockstep.jobs.play_folder.pyodide_files import default_folder, read_pyodide
    from lockstep.jobs.play_folder.write_folder import PlayFolder, page_of

    pages = PlayFolder(folder, read_pyodide(pyodide or default_folder()))
    models = list(level_models())
    pages.refuse_taken([*course_page_names(), *(entry.name for entry in models)])
    levels, exercises = [], []
    try:
        for name in exercise_names():
            progress(f"exercise {name}")
            exercises.append(exercise_page(name, list(pages.scripts)))
        for number, entry in enumerate(models, start=1):
            progress(f"{entry.name}: {number} of {len(models)}")
            files = GameFiles(model=entry.name, jar=jar)
            game = open_game(files)
            level = level_of(game, entry)
            if level is not None:
                levels.append(page_of(files, game, game.begin, list(pages.scripts), level))
    finally:
        progress_end()
    pages.add([*exercises, *map(chapter_page, chapters()), *levels])
    click.echo(f"{folder / 'index.html'}: {counted(len(levels), 'level')}, {counted(len(exercises), 'exercise')}")
    return 0


def _serve(game: Game, at: int, port: int, opens: bool) -> int:
    """Serve the page until Ctrl-C."""
    from lockstep.base.errors import BadInputError
    from lockstep.base.interrupts import Interrupted
    from lockstep.jobs.play.page_requests import RequestHandler
    from lockstep.jobs.play.play_server import PlayServer
    from lockstep.report.page.build_page import build_live_page

    requests = RequestHandler(game, at)
    build_live_page(requests.page())  # report a missing package before anything is served
    try:
        server = PlayServer(requests, port)
    except OSError as error:
        raise BadInputError(f"cannot listen on port {port}: {error.strerror or error}") from error
    # In a thread of its own: an interrupt is raised in this one, not as a connection is handed to its thread, where
    # socketserver closes the connection under it.
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    with server:
        try:
            click.echo(f"{server.url}")
            click.echo("Ctrl-C stops it.", err=True)
            if opens:
                # Some browsers end only when their window is closed; the page is served meanwhile.
                threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
            serving.start()
            try:
                # In short waits: a signal that arrives just before a wait does not end it.
                while serving.is_alive():
                    serving.join(0.2)
            finally:
                server.shutdown()
            raise RuntimeError("the server has ended by itself")
        except Interrupted as error:
            if error.number != signal.SIGINT:
                raise
            return 0
