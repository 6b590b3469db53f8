"""lockstep verify."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from lockstep.cli.options import EVENTS, FORMAT, PARALLEL, TLA_TOOLS, progress, progress_end


@click.command()
@click.option(
    "--tier", type=click.Choice(["quick", "deep"]), default="quick", help="Which models; the deep ones take an hour."
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="How many clusters of each plan it runs."
)
@EVENTS
@click.option("--master", default="local[*]", show_default=True, help="The Spark cluster.")
@PARALLEL
@TLA_TOOLS
@FORMAT
def command(tier: str, seeds: int, events: int, master: str, parallel: int, tla_tools: Path | None, form: str) -> int:
    """Do the main job: models with TLC, lemmas with z3, clusters and recordings with Spark; a verdict for each."""
    from lockstep.base.extras import extra

    with extra("spark"):  # slow to import, and few commands need it
        from lockstep.jobs.verify import Job

    def say(text: str) -> None:
        progress_end()
        if form == "text":
            click.echo(text)

    job = Job(say, progress, tier, seeds, events, master, parallel, tla_tools)
    try:
        verdict = job.run()
    finally:
        progress_end()
    if form == "json":
        click.echo(json.dumps({"verdict": verdict, "checks": [asdict(check) for check in job.checks]}, indent=2))
    return verdict.exit_code
