"""lockstep graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.options import (
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
    progress,
    progress_end,
    show_counterexample,
)

if TYPE_CHECKING:
    from lockstep.models.search_result import SpecFiles
    from lockstep.tla.search_options import SearchProgress
    from lockstep.tla.spec import Spec

#: The formats of the whole graph; as in lockstep.models.spec_graph, which is slow to import.
GRAPH_FORMATS = ("graphml", "node-link", "dot")


@click.command()
@click.argument("name", required=False, shell_complete=completing(model_names))
@OWN_SPEC
@OWN_CFG
@LIBRARY
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write."
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
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", *GRAPH_FORMATS]),
    default="text",
    help="Draw the path, and print its steps as text or JSON; or write the graph of all states: graphml, "
    "node-link (JSON), or dot (Graphviz).",
)
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
    """Draw the shortest path to a violation of a small model as SVG, and print its steps; or write the whole graph.

    NAME is a model of a manifest; `--spec` names a spec of your own. The compiled spec searches the state graph.

    \b
    lockstep graph late_truncate_bug -o path.svg
    lockstep graph --spec My.tla --format graphml -o states.graphml

    Exit codes: 0 a path was drawn, or a graph written; 2 there is no violation to draw, or no state, or wrong usage or
    malformed input; 3 gave up (the limit was reached, a property cannot be checked, a tool or a package is missing); 4
    an internal error.
    """
    from lockstep.models.counterexample import behaviour_of_violation
    from lockstep.models.counterexample_picture import draw
    from lockstep.report.counterexample_steps import counterexample_record

    files, spec, title, deadlock = _loaded(name, own, cfg, library, jar)
    if form in GRAPH_FORMATS:
        if itf is not None or full:
            raise click.UsageError(f"--itf and --full go with a path, and --format {form} writes the whole graph")
        return _write_graph(spec, title, output, form, limit)
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


def _loaded(
    name: str | None, own: Path | None, cfg: Path | None, library: tuple[Path, ...], jar: Path | None
) -> tuple[SpecFiles, Spec, str, bool]:
    """Return a model's files, the compiled spec, its name, and whether a deadlock is a violation."""
    from lockstep.models.search_result import SpecFiles
    from lockstep.systems.registry import model_named

    if (name is None) == (own is None):
        raise click.UsageError("give either NAME or --spec")
    if own is None and library:
        raise click.UsageError("-I goes with --spec")
    if own is not None:
        files = SpecFiles(own, cfg_of(own, cfg), library, jar)
        spec = files.load()
        note_translation(own, jar)
        return files, spec, own.stem, spec.check_deadlock
    manifest, model = model_named(name or "")
    files = SpecFiles(*manifest.files(model), manifest.library, jar)
    return files, files.load(), model.name, model.deadlock


def _write_graph(spec: Spec, title: str, output: Path, form: str, limit: int) -> int:
    """Write the graph of all states that a spec can reach, and print how large it is and what is violated in it."""
    from lockstep.base.whole_files import writing_whole
    from lockstep.models.spec_graph import graph, graph_bytes

    def show(done: SearchProgress) -> None:
        progress(f"{title}: {done.distinct:,} states")

    try:
        found = graph(spec, limit=limit, on_progress=show)
    finally:
        progress_end()
    with writing_whole(output) as file:
        file.write(graph_bytes(found, form))
    click.echo(f"{output}: {title}, {found.number_of_nodes():,} states, {found.number_of_edges():,} steps")
    violated = [each for names in found.graph["violates"].values() for each in names]
    for each in dict.fromkeys(violated):
        click.echo(f"{each} is violated in {violated.count(each):,} states")
    return 0
