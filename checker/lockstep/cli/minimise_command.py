"""lockstep minimise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import write_bytes
from lockstep.cli.options import FILE, LIBRARY, OWN_CFG, OWN_SPEC, TLA_TOOLS, cfg_of, progress, progress_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.base.deadline import Deadline
    from lockstep.jobs.minimise_trace import Minimised
    from lockstep.systems.system import System
    from lockstep.tla.spec import Spec
    from lockstep.trace.trace_reader import Trace


@click.command()
@click.argument("path", metavar="TRACE", type=FILE)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The trace to write (default: standard output; what was found goes to standard error then).",
)
@click.option(
    "--property", "only", metavar="NAME", help="The property that stays violated (default: what fails first)."
)
@OWN_SPEC
@OWN_CFG
@LIBRARY
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds; after that the shortest so far is written, and the exit code is 3 (default: no limit).",
)
@TLA_TOOLS
def command(
    path: Path,
    output: Path | None,
    only: str | None,
    own: Path | None,
    cfg: Path | None,
    library: tuple[Path, ...],
    timeout: float | None,
    tla_tools: Path | None,
) -> int:
    """Make a trace with a violation shorter: what is left violates the same, and no part of it can go.

    A trace that is a behaviour of the spec and violates properties is taken again on the spec without some of its
    steps: chunks of them, then each alone, then all of one node, of one term, of one value. A step that no longer
    fits as it was, for its message is another one now, is taken with the arguments that differ least, or goes. What
    each step shows and sends is what the spec says.

    A trace that leaves the spec, or was imported from a recording, tells what a system did. It is only cut: to what
    happened before the event that is wrong, in the order of Lamport, and to whatever else the verdict needs. Every
    value stays as it was told. But where a Python reference left the spec, and still does so when it takes the same
    steps again, it takes fewer and fewer of them, and what it tells of these is the result.

    Where a model of the flaw is known to reach a violation of the same property, its length is told as well: that is
    the shortest within the bounds of the model. The result is accepted by `lockstep check`, with the same first
    finding, and by `lockstep view`.

    \b
    lockstep minimise trace.ndjson -o short.ndjson
    lockstep minimise --property NAME trace.ndjson | lockstep check -
    lockstep minimise --spec My.tla trace.ndjson

    Exit codes: 0 a trace was written of which no part can go; 2 there is nothing to minimise, or wrong usage or
    malformed input; 3 the time was over, and the shortest so far was written, or there is no verdict; 4 an internal
    error.
    """
    from lockstep.base.deadline import Deadline
    from lockstep.base.verdict import Verdict
    from lockstep.jobs.minimise_trace import minimise
    from lockstep.systems.trace_files import OverwritingError
    from lockstep.trace.trace_format import trace_lines, write_trace

    if own is None and (cfg or library):
        raise click.UsageError("--cfg and -I go with --spec")
    if output is not None and output.exists() and path.samefile(output):
        raise OverwritingError(f"{output}: the trace would overwrite what it is made of")
    trace, spec, system = _opened(path, own, cfg, library, tla_tools)
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
    for line in _said(output or path, found, system, deadline):
        click.echo(line, err=output is None)
    return 0 if found.is_minimal else Verdict.INCONCLUSIVE.exit_code


def _opened(
    path: Path, own: Path | None, cfg: Path | None, library: tuple[Path, ...], jar: Path | None
) -> tuple[Trace, Spec, System]:
    """Open a trace with the spec that it is told in, and the system of that."""
    from lockstep.systems.own_traces import load_own_spec, own_system
    from lockstep.systems.trace_files import open_trace
    from lockstep.systems.trace_specs import compiled, system_of
    from lockstep.trace.json_lines import TraceError
    from lockstep.trace.trace_reader import read_trace

    if own is None:
        trace = open_trace(path)
        system = system_of(trace.header, trace.source)
        return trace, compiled(system, trace.header, trace.source, jar=jar), system
    system = own_system(own, cfg_of(own, cfg))
    trace = read_trace(path)
    if trace.header.spec != system.spec:
        raise TraceError(trace.source, 1, f"field `spec`: {trace.header.spec!r} is not {system.spec!r}")
    return trace, load_own_spec(system, library, jar), system


def _said(path: Path, found: Minimised, system: System, deadline: Deadline) -> Iterator[str]:
    """Yield what was found, a line each."""
    from lockstep.jobs.minimise_trace import shortest_known

    if found.is_cut:
        what = f"{len(found.events):,} of {found.given:,} events, each as it was told"
        proof = "none can go with what happened after it"
    else:
        what = f"{len(found.events):,} steps for {found.first:,} of {found.given:,} events"
        proof = "no step, node, term or value can go"
    if found.is_again:
        what, proof = f"{what}, taken again by the reference", "no step and no node can go"
    known = proof if found.is_minimal else f"not known to be minimal: {deadline.spent()}"
    yield f"{path}: {found.wrong}: {what}; {known} ({found.tried:,} runs tried)"
    shortest = shortest_known(system, found.header, found.properties)
    if shortest is not None:
        model, steps = shortest
        yield f"note: the model {model.name} violates {model.violates} in {steps} steps, the fewest within its bounds"
