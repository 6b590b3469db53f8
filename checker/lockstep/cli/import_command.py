"""lockstep import."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from lockstep.cli.options import FORMAT, progress, progress_end
from lockstep.cli.tap_command import ALL_VOTERS, addresses_of_capture, named, shown, tapped_system, tapped_words

if TYPE_CHECKING:
    from lockstep.systems.captures import Capture


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
@click.option("--system", "spec", help="The system whose nodes a capture is of, by its spec's name.")
@click.option("--node", "nodes", multiple=True, help="NAME=HOST:PORT, where a node listens in a capture.")
@ALL_VOTERS
@FORMAT
def command(
    recordings: tuple[Path, ...],
    output: Path,
    logged_version: str | None,
    skew: str,
    spec: str | None,
    nodes: tuple[str, ...],
    all_voters: bool,
    form: str,
) -> int:
    """Turn a recording or a log of a real system into a trace.

    Every line of a recording is an action of the spec, an observation within one, or noise, which the spec does not
    model; the README of the system's spec has the table. A step is hidden if no line describes it but later lines need
    it. A step is forced if the recording contradicts every place where it could stand; it is put at its own line.

    A log describes few steps. So the import searches for states that explain its lines, with hidden steps between
    the lines, and writes one explanation. If it finds none, it writes no trace and exits with 3. The nodes of a group
    may have a log each.

    Of a capture of the network, pcap or pcapng, it makes the lines that `lockstep tap` writes: give --system, and
    --node for each node. What the capture lacks of a connection ends the lines of that connection, with the reason.

    \b
    lockstep import recording.ndjson -o trace.ndjson
    lockstep import its.log --logged-version 0.3.1.2 -o trace.ndjson
    lockstep import n0.log n1.log n2.log --skew "5 ms" -o trace.ndjson
    lockstep import FILE.pcap --system NAME --node n1=10.0.0.1:8300 --node n2=10.0.0.2:8300 -o wire.ndjson
    """
    from lockstep.systems.captures import is_capture
    from lockstep.systems.system import ImportOptions
    from lockstep.systems.trace_files import import_trace, raw_format

    if is_capture(recordings[0]):
        return _import_capture(recordings, output, spec, nodes, all_voters, form)
    if spec is not None or nodes or all_voters:
        raise click.UsageError("--system, --node and --all-voters go with a capture (pcap, pcapng)")
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


def _import_capture(
    files: tuple[Path, ...], output: Path, spec: str | None, nodes: tuple[str, ...], all_voters: bool, form: str
) -> int:
    """Write the lines of a capture."""
    from lockstep.systems.captures import Capture
    from lockstep.systems.trace_files import refuse_overwriting

    if len(files) != 1:
        raise click.UsageError("one capture at a time: mergecap puts several together")
    if spec is None or not nodes:
        known = ", ".join(tapped_words())
        raise click.UsageError(f"a capture needs --system, one of {known}, and --node NAME=HOST:PORT for each node")
    system, wire = tapped_system(spec)
    addresses = addresses_of_capture(named(nodes, "--node"))
    refuse_overwriting(output, files, "file of lines")
    notes: list[str] = []
    capture = Capture(files[0], wire, addresses, notes.append, progress)
    try:
        count = _write_capture(capture, output, system.spec, shown(addresses), all_voters=all_voters)
    finally:
        progress_end()
    if not capture.packets:
        notes.append("note: no packet is to or from one of the nodes: is --node where they listen?")
    if capture.unread:
        notes.append(f"note: {capture.unread:,} connections could not be read to their end; `unreadable` lines say why")
    if form == "json":
        counts = {"packets": capture.packets, "connections": capture.connections, "unread": capture.unread}
        click.echo(json.dumps({"wire": str(output), "lines": count, **counts, "notes": notes}))
        return 0
    click.echo(f"{output}: {count:,} lines of {capture.connections:,} connections, from {capture.packets:,} packets")
    for note in notes:
        click.echo(note)
    return 0


def _write_capture(capture: Capture, output: Path, spec: str, nodes: dict[str, str], *, all_voters: bool) -> int:
    """Write the lines of a capture, and return how many there are."""
    from lockstep.base.whole_files import writing_whole
    from lockstep.systems.wire_lines import header_line

    count = 0
    with writing_whole(output) as file:
        file.write(header_line(spec, nodes, all_voters=all_voters))
        for line in capture.lines():
            file.write(line)
            count += 1
    return count


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
