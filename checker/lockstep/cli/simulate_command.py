"""lockstep simulate."""

from __future__ import annotations

import json
from pathlib import Path

import click

from lockstep.base.spelling import did_you_mean
from lockstep.cli.options import EVENTS, FORMAT, completing, plan_names, progress, progress_end


@click.command()
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="The first seed; a seed and a plan reproduce a trace.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="The number of seeds, from --seed on."
)
@click.option(
    "--plan",
    default="ordered",
    show_default=True,
    shell_complete=completing(plan_names),
    help="A plan of faults: a name (an unknown one lists them all), or a JSON or TOML file.",
)
@click.option(
    "--system",
    "spec",
    help="If --plan is a file: the system it is for, by the name of its spec (default: the first in spec/README.md).",
)
@click.option(
    "--variant",
    type=click.Choice(["published", "repaired"]),
    help="Run a named plan with every flaw as published, or repaired, instead of the plan's own choice.",
)
@EVENTS
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder for the traces.",
)
@FORMAT
def command(
    seed: int, seeds: int, plan: str, spec: str | None, variant: str | None, events: int, output: Path, form: str
) -> int:
    """Run clusters of the Python reference under faults and write their traces.

    \b
    lockstep simulate --seed 7
    lockstep simulate --plan published --seeds 20 -o traces
    """
    from lockstep.systems.registry import SYSTEMS
    from lockstep.systems.trace_files import write_cluster

    if spec is not None and spec not in SYSTEMS:
        raise click.BadParameter(f"{spec!r} is none of {', '.join(SYSTEMS)}", param_hint="--system")
    system = None if spec is None else SYSTEMS[spec]

    names = plan_names()
    if plan not in names and not Path(plan).is_file():
        near = did_you_mean(plan, names) or f"; there are {', '.join(names)}"
        raise click.BadParameter(f"{plan!r} is neither a file nor a plan{near}", param_hint="--plan")
    output.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    for each in range(seed, seed + seeds):
        written.append(str(write_cluster(output, plan, each, events, system, progress, variant or "")))
        progress_end()
        if form == "text":
            click.echo(written[-1])
    if form == "json":
        click.echo(json.dumps(written))
    return 0
