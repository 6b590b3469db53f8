"""lockstep pipeline trace."""

from __future__ import annotations

from pathlib import Path

import click

from lockstep.cli.pipeline.options import STORE, opened


@click.command()
@STORE
@click.argument("run")
@click.argument("trace")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file (default: standard output).",
)
def command(store: str, run: str, trace: str, output: Path | None) -> int:
    """Write one trace of a run into a file, as it was before it was stored; Spark is not needed for it.

    \b
    lockstep pipeline trace STORE RUN TRACE -o x.trace.ndjson && lockstep check x.trace.ndjson
    """
    there = opened(store)
    there.refuse_unknown(run)
    from lockstep.base.whole_files import writing_whole
    from lockstep.pipeline.replay import stored_lines

    lines = stored_lines(there, run, trace)
    if output is None:
        for line in lines:
            click.echo(line, nl=False)
        return 0
    with writing_whole(output) as file:
        for line in lines:
            file.write(line)
    return 0
