"""lockstep export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import write_bytes
from lockstep.cli.options import behaviour_named, completing, model_names, progress_end, spec_options

if TYPE_CHECKING:
    from lockstep.systems.trace_opening import SpecOptions


@click.command()
@click.argument("words", metavar="[TRACE|MODEL|LOG]...", nargs=-1, shell_complete=completing(model_names))
@click.option("--to", "form", type=click.Choice(("itf", "svg")), required=True, help="The form to write it in.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write (default: standard output).",
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --to svg: only the last N steps up to what is wrong first, or up to the end.",
)
@spec_options()
def command(words: tuple[str, ...], form: str, output: Path | None, last: int | None, spec_options: SpecOptions) -> int:
    """Write a trace, or a counterexample, in the form of another tool.

    \b
    itf  the states, in Apalache's Informal Trace Format; `lockstep check` gives them the verdict of the trace
    svg  a space-time diagram, in one file

    The trace is checked first. A malformed one is not exported; in any other, what is wrong is marked. Where a trace
    leaves the spec no state is known any more, so it is not written as ITF.

    \b
    lockstep export figure8.trace.ndjson --to svg -o figure8.svg
    lockstep export late_truncate_bug --to svg -o late_truncate.svg
    lockstep export --spec My.tla trace.ndjson --to itf -o trace.itf.json

    Exit codes: 0 the file was written, whatever the verdict; 2 wrong usage, malformed input, or nothing that this form
    can express; 3 the check came to no verdict, or a tool is missing; 4 an internal error.
    """
    from lockstep.base.whole_files import writing_whole
    from lockstep.jobs.export_behaviour import export_itf
    from lockstep.report.space_time_diagram import diagram_svg, draw_diagram
    from lockstep.systems.trace_files import OverwritingError

    if last is not None and form == "itf":
        raise click.UsageError("--last leaves steps out, and itf needs them all")
    if output is not None and output.exists() and any(Path(word).exists() and output.samefile(word) for word in words):
        raise OverwritingError(f"{output}: the export would overwrite what it is made of")
    try:
        behaviour, context = behaviour_named(words, spec_options, whole=True)
    finally:
        progress_end()
    text = export_itf(behaviour, context) if form == "itf" else diagram_svg(draw_diagram(behaviour, context, last))
    if output is None:
        write_bytes(text)
    else:
        with writing_whole(output) as file:
            file.write(text)
        click.echo(f"{output}: {behaviour.title}: {behaviour.verdict_line}")
    return 0
