"""lockstep fleet."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from lockstep.cli.options import FORMAT, LOCAL_MASTER, completing, plan_names, progress, progress_end
from lockstep.cli.pipeline.pipeline_options import TIMEOUT
from raftref.limits import MAX_EVENTS

if TYPE_CHECKING:
    from lockstep.jobs.fleet import Fleet


def _known_plans(_: click.Context, __: click.Parameter, plans: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse unknown plans."""
    names = sorted(plan_names())
    for plan in plans:
        if plan not in names:
            raise click.BadParameter(f"{plan!r} is not one of {', '.join(names)}")
    return plans


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The first seed.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="The number of seeds.")
@click.option(
    "--plan",
    "plans",
    multiple=True,
    callback=_known_plans,
    shell_complete=completing(plan_names),
    help="A plan of faults; may be given several times (default: all plans).",
)
@click.option(
    "--events",
    type=click.IntRange(1, MAX_EVENTS),
    default=900,
    show_default=True,
    help="The number of events of each cluster.",
)
@click.option(
    "--both-ways",
    "both_ways_steps",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="STEPS",
    help="The number of steps of each cluster at which every action is tried, on reference and spec.",
)
@TIMEOUT
@LOCAL_MASTER
@FORMAT
def command(
    seed: int,
    seeds: int,
    plans: tuple[str, ...],
    events: int,
    both_ways_steps: int,
    seconds: float | None,
    master: str,
    form: str,
) -> int:
    """Simulate many clusters, check each against the spec, and count what they reach.

    The tables show how many traces reach each action, answer, dispatcher transition and fault, and which properties
    fail. The clusters of a plan must reach its floor: everything in the spec, except for what is listed, with a
    reason, as unreachable or too rare. A plan below its floor is violated. A cluster that does not conform is named,
    with the command that writes its trace.
    """
    from lockstep.base.extras import extra

    with extra("spark"):  # slow to import, and few commands need it
        from lockstep.jobs.fleet import Fleet

    def say(text: str) -> None:
        progress_end()
        if form == "text":
            click.echo(text)

    job = Fleet(
        plans or tuple(plan_names()), range(seed, seed + seeds), events, say, progress, master, both_ways_steps, seconds
    )
    try:
        verdict = job.run()
    finally:
        progress_end()
    if form == "json":
        click.echo(json.dumps(_as_json(job), indent=2))
    return verdict.exit_code


def _as_json(job: Fleet) -> dict[str, object]:
    return {
        "verdict": job.verdict,
        "clusters": len(job.verdicts),
        "events": job.events,
        "floors": [asdict(floor) for floor in job.floors],
        "both_ways": [asdict(plan) for plan in job.both_ways],
        "failed": [{"plan": plan, "property": name, "traces": n} for (plan, name), n in sorted(job.failed.items())],
    }
