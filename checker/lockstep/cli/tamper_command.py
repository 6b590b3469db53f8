"""lockstep tamper."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockstep.cli.options import FILE, FORMAT, progress, progress_end

if TYPE_CHECKING:
    from lockstep.conformance.tampering import Tally, Tampering


@click.command()
@click.argument("traces", type=FILE, nargs=-1, required=True)
@click.option("--events", type=click.IntRange(min=1), help="Use only the first N events of each trace.", metavar="N")
@click.option("--allowed", is_flag=True, help="List the changes that the spec allows.")
@FORMAT
def command(traces: tuple[Path, ...], events: int | None, allowed: bool, form: str) -> int:
    """Change one thing in a conforming trace at a time, and count the changes that the check notices.

    If a value that an event shows or sent is changed, the check must refuse the trace at that event. Other changes (a
    parameter, a node, an action; an event dropped, repeated or swapped) are refused there, refused later, or allowed
    by the spec. A trace that shows nothing is inconclusive.

    lockstep tamper --events 200 trace.ndjson
    """
    from lockstep.base.verdict import Verdict
    from lockstep.conformance.tampering import TALLY_HEADS, NotConformingError, Tally
    from lockstep.report.text_table import table

    tally = Tally()
    listed: list[dict[str, Any]] = []
    try:
        for path in traces:
            for tampering in _tamper_one(path, events, tally):
                listed.append({"trace": str(path), "kind": str(tampering.kind), "line": tampering.at + 2})
    except NotConformingError as error:
        click.echo(f"lockstep: {error}", err=True)
        return Verdict.VIOLATED.exit_code
    finally:
        progress_end()
    if form == "json":
        kinds = [dict(zip(TALLY_HEADS, row, strict=True)) for row in tally.rows()]
        click.echo(json.dumps({"kinds": kinds, "unnoticed": tally.unnoticed(), "allowed": listed}, indent=2))
    else:
        click.echo(table(TALLY_HEADS, tally.rows()))
        for each in listed if allowed else ():
            click.echo(f"{each['trace']}:{each['line']}: allowed: {each['kind']}")
    return tally.verdict().exit_code


def _tamper_one(path: Path, events: int | None, tally: Tally) -> Iterator[Tampering]:
    """Check every change of one trace, and yield those that the spec allows."""
    from lockstep.conformance.tampering import Tampered, TamperingOutcome, tamperings
    from lockstep.systems.trace_opening import SpecOptions, open_with_spec
    from lockstep.trace.json_lines import TraceError

    trace, spec, system = open_with_spec(path, SpecOptions())
    taken = list(itertools.islice((event for _, event in trace), events))
    if not taken:
        raise TraceError(str(path), 2, "there is no event to tamper with")
    subject = Tampered(trace.header, taken, spec, system.interface(spec), str(path))
    for tampering in tamperings(trace.header, taken, spec):
        if not tampering.at % 10:
            progress(f"{path}: event {tampering.at} of {len(taken)}")
        judged = subject.judge(tampering)
        tally.add(judged)
        if judged.outcome is TamperingOutcome.ALLOWED:
            yield tampering
