"""lockstep graph."""

from __future__ import annotations

import json
from pathlib import Path

import click

from lockstep.cli.options import (
    FORMAT,
    FULL,
    ITF,
    LIBRARY,
    OWN_CFG,
    OWN_SPEC,
    TLA_TOOLS,
    cfg_of,
    completing,
    keep_counterexample,
    model_names,
    note_translation,
    show_counterexample,
)


@click.command()
@click.argument("name", required=False, shell_complete=completing(model_names))
@OWN_SPEC
@OWN_CFG
@LIBRARY
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The SVG to write."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="The maximum number of states.",
)
@ITF
@FULL
@TLA_TOOLS
@FORMAT
def command(
    name: str | None,
    own: Path | None,
    cfg: Path | None,
    library: tuple[Path, ...],
    output: Path,
    limit: int,
    itf: Path | None,
    full: bool,
    jar: Path | None,
    form: str,
) -> int:
    """Draw the shortest path to a violation of a small model as SVG, and print its steps.

    NAME is a model of a manifest; `--spec` names a spec of your own. The compiled spec searches the state graph.

    Exit codes: 0 a path was drawn; 2 there is no violation to draw, or wrong usage or malformed input; 3 gave up
    (the limit was reached, a property cannot be checked, a tool or a package is missing); 4 an
    internal error.
    """
    from lockstep.models.counterexample import behaviour_of_violation
    from lockstep.models.counterexample_picture import draw
    from lockstep.models.search_result import SpecFiles
    from lockstep.report.counterexample_steps import counterexample_record
    from lockstep.systems.registry import model_named

    if (name is None) == (own is None):
        raise click.UsageError("give either NAME or --spec")
    if own is None and library:
        raise click.UsageError("-I goes with --spec")
    if own is not None:
        files = SpecFiles(own, cfg_of(own, cfg), library, jar)
        spec = files.load()
        note_translation(own, jar)
        title, deadlock = own.stem, spec.check_deadlock
    else:
        manifest, model = model_named(name or "")
        files = SpecFiles(*manifest.files(model), manifest.library, jar)
        spec = files.load()
        title, deadlock = model.name, model.deadlock
    violation, line = draw(spec, output, title=title, limit=limit, check_deadlock=deadlock)
    behaviour = behaviour_of_violation(spec, violation)
    if form == "json":
        record = {"drawn": str(output), "property": violation.label, **counterexample_record(behaviour, full=full)}
        click.echo(json.dumps(record, indent=2))
    else:
        click.echo(line)
        show_counterexample(behaviour, full=full)
    keep_counterexample(behaviour, itf, files.module, violation.label)
    return 0
