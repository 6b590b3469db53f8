"""lockstep import."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
import msgspec

from lockstep.cli.options import FORMAT, progress, progress_end


@click.command(name="import")
@click.argument("recordings", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The trace to write."
)
@click.option(
    "--logged-version",
    help="The version of the system that wrote the log, if the file does not have it.",
)
@click.option("--skew", default="0 ms", help='The largest difference between the clocks of several logs: "5 ms".')
@FORMAT
def command(recordings: tuple[Path, ...], output: Path, logged_version: str | None, skew: str, form: str) -> int:
    """Turn a recording or a log of a real system into a trace.

    Every line of a recording is an action of the spec, an observation within one, or noise, which the spec does not
    model; the README of the system's spec has the table. A step is hidden if no line describes it but later lines need
    it. A step is forced if the recording contradicts every place where it could stand; it is put at its own line.

    A log describes few steps. So the import searches for states that explain its lines, with hidden steps between
    the lines, and writes one explanation. If it finds none, it writes no trace and exits with 3. The nodes of a group
    may have a log each.

    \b
    lockstep import recording.ndjson -o trace.ndjson
    lockstep import its.log --logged-version 0.3.1.2 -o trace.ndjson
    lockstep import n0.log n1.log n2.log --skew "5 ms" -o trace.ndjson
    """
    from lockstep.systems.system import ImportOptions
    from lockstep.systems.trace_files import import_trace, raw_format

    _, raw = raw_format(recordings[0])
    try:
        count, summary = import_trace(recordings, output, ImportOptions(logged_version, nanoseconds(skew)), progress)
    finally:
        progress_end()
    lines = summary.lines
    if form == "json":
        click.echo(json.dumps({"trace": str(output), "events": count, "lines": lines, **asdict(summary)}))
        return 0
    uses = ", ".join(f"{lines.get(use, 0)} {use}" for use in ("action", "observation", "noise"))
    counts = f"{count} events, {sum(summary.hidden.values())} of them hidden, from {sum(lines.values())} lines ({uses})"
    if raw.is_explained:
        carried = f"states carried: {summary.states} at most, {summary.explanations} at the end"
        refuted = f"; the last event is what line {summary.refuted} says, which no behaviour explains"
        click.echo(f"{output}: {counts}, {carried}{'' if summary.refuted is None else refuted}")
    else:
        click.echo(f"{output}: {counts}, {_forced_text(summary.forced)}")
    for note in summary.notes:
        click.echo(f"note: {note}")
    return 0


def nanoseconds(text: str) -> int:
    """Return the time of --skew in nanoseconds; raises a usage error."""
    from lockstep.logs.mapping import Duration, duration

    try:
        return duration(msgspec.convert(text, Duration))
    except msgspec.ValidationError as error:
        raise click.BadParameter(f"{text!r} is no time such as '5 ms'", param_hint="--skew") from error


def _forced_text(forced: tuple[int, ...]) -> str:
    """Return the number of steps that were placed against the recording, and their lines."""
    where = f" (lines {', '.join(map(str, forced))})" if forced else ""
    return f"{len(forced)} forced{where}"
