"""lockstep fleet."""

from __future__ import annotations

import click

from lockstep.cli.options import EVENTS, completing, plan_names, progress, progress_end


def _known(_: click.Context, __: click.Parameter, plans: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse the name of a plan that there is not."""
    names = sorted(plan_names())
    for plan in plans:
        if plan not in names:
            raise click.BadParameter(f"{plan!r} is not one of {', '.join(names)}")
    return plans


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The first seed.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="How many seeds.")
@click.option(
    "--plan",
    "plans",
    multiple=True,
    callback=_known,
    shell_complete=completing(plan_names),
    help="A fault plan, once or more often (default: all of them).",
)
@EVENTS
@click.option("--master", default="local[*]", show_default=True, help="The Spark cluster.")
def command(seed: int, seeds: int, plans: tuple[str, ...], events: int, master: str) -> int:
    """Simulate many clusters, check each against the spec, and count what they reach.

    The tables show the actions, answers, dispatcher transitions and faults with the number of traces that
    reach them, and the properties that fail. A cluster that does not conform is named, with the command
    that writes its trace.
    """
    from lockstep.base.extras import extra

    with extra("spark"):  # slow to import, and few commands need it
        from lockstep.jobs.fleet import Fleet

    def say(text: str) -> None:
        progress_end()
        click.echo(text)

    job = Fleet(plans or tuple(plan_names()), range(seed, seed + seeds), events, say, progress, master)
    try:
        return job.run().exit_code
    finally:
        progress_end()
