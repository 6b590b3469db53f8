"""lockstep merge."""

from __future__ import annotations

from pathlib import Path

import click

from lockstep.cli.options import progress, progress_end

_EXIT_CODES = """
Exit codes: 0 written; 2 wrong usage, or files that are damaged or do not fit together; 4 an internal error.
"""


@click.command(name="merge", epilog=_EXIT_CODES)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The recording to write."
)
@click.option(
    "--skew",
    default="0 ms",
    help='By how much the clocks of the hosts may differ at most, if the nodes ran on several: "5 ms".',
)
@click.option("--recorded-version", help="The version of the system, if no file has it.")
def command(files: tuple[Path, ...], output: Path, skew: str, recorded_version: str | None) -> int:
    """Make one recording of the files that the recorders of a group's nodes wrote.

    FILES are those of all nodes of one group, with all lives of each node: what traces/recorders writes, or the steps
    of `lockstep node --record`. `lockstep check` takes the recording, and so does `lockstep import`.

    The lines of a node keep their order. What a line receives must have been sent before. For the rest the clock
    decides: the processes of one host read the same one. Those of several hosts need --skew: then a line waits for what
    it receives, up to that time, and the order is by the wall clock that each process recorded at its start. It is an
    error if a message takes longer back in time than --skew: the clocks differ by more.

    What a process that was killed did not write is added: the line of its death, before the next start of its node. Its
    last line may be cut, which is noted. A line that is cut elsewhere is an error, and what the program printed between
    the lines is noise, which is counted in a note.

    \b
    lockstep merge n1.ndjson n2.ndjson n3.ndjson -o group.ndjson
    lockstep merge n1.ndjson n2.ndjson n3.ndjson --skew "5 ms" -o group.ndjson
    lockstep check group.ndjson

    While the group runs, `lockstep watch n1.ndjson n2.ndjson n3.ndjson` merges and checks what is written.
    """
    from lockstep.base.whole_files import writing_whole
    from lockstep.cli.import_command import nanoseconds
    from lockstep.systems.merged_files import MergedFiles
    from lockstep.systems.node_recorder import MergeOptions
    from lockstep.systems.trace_files import refuse_overwriting

    refuse_overwriting(output, files, "recording")
    notes: list[str] = []
    merged = MergedFiles(files, MergeOptions(recorded_version, nanoseconds(skew)), notes.append, progress)
    try:
        with writing_whole(output) as file:
            file.writelines(merged.lines(is_over=True))
    finally:
        progress_end()
        for note in notes:
            click.echo(f"note: {note}", err=True)
    assert merged.system is not None
    click.echo(f"{output}: {merged.count:,} lines of a group of {merged.system.title}, from {len(files)} files")
    return 0
