"""lockstep verify."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from lockstep.cli.options import EVENTS, FORMAT, LOCAL_MASTER, PARALLEL, TLA_TOOLS, progress, progress_end


@click.command()
@click.option(
    "--tier",
    type=click.Choice(["quick", "deep"]),
    default="quick",
    help="The models and recordings to check; the deep models take an hour or two.",
)
@click.option(
    "--engine",
    type=click.Choice(["manifest", "tlc"]),
    default="manifest",
    show_default=True,
    help="The engine that explores the models: what the manifest says of each, TLC or tables, or TLC for all.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="The number of clusters of each plan."
)
@EVENTS
@click.option(
    "--both-ways",
    "both_ways_steps",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    metavar="STEPS",
    help="The number of steps of each cluster at which every action is tried, on reference and spec.",
)
@LOCAL_MASTER
@PARALLEL
@TLA_TOOLS
@FORMAT
def command(
    tier: str,
    engine: str,
    seeds: int,
    events: int,
    both_ways_steps: int,
    master: str,
    parallel: int,
    jar: Path | None,
    form: str,
) -> int:
    """Run the main job: models with TLC or by tables, lemmas with z3, clusters and recordings with Spark.

    Each check gets a verdict, and any outcome that is not the expected one fails the run. The clusters of a plan must
    also reach its floor, so that they are more than empty runs, and must take exactly the steps that the spec allows.
    """
    from lockstep.base.extras import extra

    with extra("spark"):  # slow to import, and few commands need it
        from lockstep.jobs.verify_job import Job
    from lockstep.models.search_result import Engine

    def say(text: str) -> None:
        progress_end()
        if form == "text":
            click.echo(text)

    explored_by = None if engine == "manifest" else Engine(engine)
    job = Job(say, progress, tier, seeds, events, both_ways_steps, master, parallel, jar, explored_by)
    try:
        verdict = job.run()
    finally:
        progress_end()
    if form == "json":
        checks, floors = [asdict(check) for check in job.checks], [asdict(floor) for floor in job.floors]
        click.echo(json.dumps({"verdict": verdict, "checks": checks, "floors": floors}, indent=2))
    return verdict.exit_code
