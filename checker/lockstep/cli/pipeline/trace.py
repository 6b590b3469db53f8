"""lockstep pipeline trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import click

from lockstep.base.terminal import write_bytes
from lockstep.cli.pipeline.options import STORE, opened


@click.command()
@STORE
@click.argument("run")
@click.argument("trace")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file (default: standard output), or where the trace has the lines of several files, the folder.",
)
def command(store: str, run: str, trace: str, output: Path | None) -> int:
    """Write one trace of a run into a file, as it was before it was stored; Spark is not needed for it.

    \b
    lockstep pipeline trace STORE RUN TRACE -o x.trace.ndjson && lockstep check x.trace.ndjson
    """
    there = opened(store)
    there.refuse_unknown(run)
    from lockstep.pipeline.replay import stored_lines
    from lockstep.pipeline.sources import TOGETHER

    lines = stored_lines(there, run, trace)
    is_folder = any(noted.get("logs") == TOGETHER for noted in there.inputs(run))
    if output is None:
        _print(list(lines))
    else:
        _write(lines, output, is_folder)
    return 0


def _print(lines: Sequence[tuple[bytes, str]]) -> None:
    if len(sources := {source for _, source in lines}) > 1:
        raise click.UsageError(f"the trace has the lines of {len(sources)} files: give with -o the folder for them")
    for line, _ in lines:
        write_bytes(line)


def _write(lines: Iterator[tuple[bytes, str]], output: Path, is_folder: bool) -> None:
    """Write the lines into a file, or where they came from several files, or `is_folder`, into as many in a folder."""
    from lockstep.base.whole_files import writing_whole
    from lockstep.pipeline.sources import unpacked

    of_files = {source: [line for line, _ in each] for source, each in groupby(lines, key=itemgetter(1))}
    targets = {source: output / Path(unpacked(source)).name for source in of_files}
    if len(of_files) == 1 and not is_folder:
        targets = dict.fromkeys(of_files, output)
    else:
        output.mkdir(parents=True, exist_ok=True)
    for source, each in of_files.items():
        with writing_whole(targets[source]) as file:
            file.writelines(each)
