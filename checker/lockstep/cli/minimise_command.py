"""lockstep minimise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import write_bytes
from lockstep.cli.options import FILE, progress, progress_end, spec_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.base.deadline import Deadline
    from lockstep.jobs.minimise_trace import MinimisedTrace
    from lockstep.systems.system import System
    from lockstep.systems.trace_opening import SpecOptions


@click.command()
@click.argument("path", metavar="TRACE", type=FILE)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The trace to write (default: standard output; the summary goes to standard error then).",
)
@click.option(
    "--property", "only", metavar="NAME", help="The property that stays violated (default: what fails first)."
)
@spec_options(with_switch=False, with_mapping=False)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds, after which the shortest so far is written, with exit code 3 (default: no limit).",
)
def command(
    path: Path,
    output: Path | None,
    only: str | None,
    spec_options: SpecOptions,
    timeout: float | None,
) -> int:
    """Make a trace with a violation shorter: the rest violates the same, and no part of it can be removed.

    A trace that is a behaviour of the spec and violates properties is taken again on the spec without some of its
    steps: chunks of them, then each alone, then all of one node, of one term, of one value. A step that no longer
    fits, because its message has changed, is taken with the arguments that differ least, or removed. Each step shows
    and sends what the spec says.

    A trace that leaves the spec, or was imported from a recording, is a record of what a system did. It is only cut:
    to what happened before the event that is wrong, in the order of Lamport, and to whatever else the verdict needs.
    Every value stays as recorded. But where a Python reference left the spec, and still does so when it takes the same
    steps again, it takes fewer and fewer of them, and its trace of these is the result.

    Where a model of the flaw is known to reach a violation of the same property, its length is printed as well: that
    is the shortest within the bounds of the model. The result is accepted by `lockstep check`, with the same first
    finding, and by `lockstep view`.

    \b
    lockstep minimise trace.ndjson -o short.ndjson
    lockstep minimise --property NAME trace.ndjson | lockstep check -
    lockstep minimise --spec My.tla trace.ndjson

    Exit codes: 0 a minimal trace was written; 2 there is nothing to minimise, or wrong usage or malformed input; 3 the
    time was over, and the shortest so far was written, or there is no verdict; 4 an internal error.
    """
    from lockstep.base.deadline import Deadline
    from lockstep.base.verdict import Verdict
    from lockstep.jobs.minimise_trace import minimise
    from lockstep.systems.trace_files import refuse_overwriting
    from lockstep.systems.trace_opening import open_with_spec
    from lockstep.trace.trace_format import trace_lines, write_trace

    refuse_overwriting(output, [path], "trace")
    trace, spec, system = open_with_spec(path, spec_options)
    deadline = Deadline(timeout)
    try:
        found = minimise(
            trace, spec, system, only=only, deadline=deadline, say=lambda text: progress(f"{path}: {text}")
        )
    finally:
        progress_end()
    if output is None:
        write_bytes(b"".join(trace_lines(found.header, found.events)))
    else:
        write_trace(output, found.header, found.events)
    for line in _summary(output or path, found, system, deadline):
        click.echo(line, err=output is None)
    return 0 if found.is_minimal else Verdict.INCONCLUSIVE.exit_code


def _summary(path: Path, found: MinimisedTrace, system: System, deadline: Deadline) -> Iterator[str]:
    """Yield the lines that describe the result."""
    from lockstep.jobs.minimise_trace import shortest_known

    if found.is_cut:
        what = f"{len(found.events):,} of {found.given:,} events, each as recorded"
        proof = "none can be removed with what happened after it"
    else:
        what = f"{len(found.events):,} steps for {found.first:,} of {found.given:,} events"
        proof = "no step, node, term or value can be removed"
    if found.is_rerun:
        what, proof = f"{what}, taken again by the reference", "no step and no node can be removed"
    known = proof if found.is_minimal else f"not known to be minimal: {deadline.spent()}"
    yield f"{path}: {found.wrong}: {what}; {known} ({found.tried:,} runs tried)"
    shortest = shortest_known(system, found.header, found.properties)
    if shortest is not None:
        model, steps = shortest
        yield f"note: the model {model.name} violates {model.violates} in {steps} steps, the fewest within its bounds"
