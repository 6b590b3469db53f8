"""lockstep pipeline generate, check, report: one stage each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lockstep.cli.options import FORMAT, completing, plan_names
from lockstep.cli.pipeline.options import RUN, STORE, SWITCHES, chosen_run, opened, say, session, spark_options, variant
from raftref.limits import EVENTS_MAX

if TYPE_CHECKING:
    from lockstep.pipeline.stages.generate import Clusters
    from lockstep.pipeline.stages.report import Report


def _known(_: click.Context, __: click.Parameter, plans: tuple[str, ...]) -> tuple[str, ...]:
    names = plan_names()
    for plan in plans:
        if plan not in names:
            raise click.BadParameter(f"{plan!r} is not one of {', '.join(sorted(names))}")
    return plans


SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The first seed.")
PLANS = click.option(
    "--plan",
    "plans",
    multiple=True,
    callback=_known,
    shell_complete=completing(plan_names),
    help="A plan of faults; may be given several times (default: all plans of both systems).",
)
EVENTS = click.option(
    "--events",
    type=click.IntRange(1, EVENTS_MAX),
    default=500,
    show_default=True,
    help="How many events a cluster takes.",
)
NEW_RUN = click.option("--run", metavar="NAME", help="The name of the run (default: a hash of what goes in).")


def clusters_of(seed: int, seeds: int, plans: tuple[str, ...], events: int) -> Clusters:
    """Return the clusters that the options choose."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.stages.generate import Clusters
    return Clusters(plans or tuple(plan_names()), range(seed, seed + seeds), events)


@click.command("generate")
@STORE
@NEW_RUN
@SEED
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="How many seeds.")
@PLANS
@EVENTS
@spark_options
def generate_command(
    store: str,
    run: str | None,
    seed: int,
    seeds: int,
    plans: tuple[str, ...],
    events: int,
    master: str,
    settings: dict[str, str],
) -> int:
    """Simulate clusters of the references, in the tasks, and write the lines of their traces into the store.

    The clusters are every plan of faults with every seed. Each trace is that of `lockstep simulate`, to the byte.
    """
    clusters = clusters_of(seed, seeds, plans, events)
    there = opened(store, create=True)
    from lockstep.pipeline.stages.generate import generate
    from lockstep.pipeline.store.store import checked_name

    name = checked_name(run or clusters.run_name(), "run")
    with session(master, settings) as spark:
        generate(spark, there, name, clusters, say)
    click.echo(f"run {name}: {len(clusters):,} clusters")
    return 0


@click.command("check")
@STORE
@RUN
@SWITCHES
@spark_options
def check_command(store: str, run: str | None, words: tuple[str, ...], master: str, settings: dict[str, str]) -> int:
    """Check the traces of a run, each whole and in order, and write a verdict on each.

    The exit code tells whether all were checked, not what was found: `lockstep pipeline report` tells that.
    """
    there = opened(store)
    name, against = chosen_run(there, run), variant(words)
    from lockstep.pipeline.stages.check import check

    with session(master, settings) as spark:
        check(spark, there, name, against, say)
    click.echo(f"run {name}: checked")
    return 0


@click.command("report")
@STORE
@RUN
@FORMAT
@spark_options
def report_command(store: str, run: str | None, form: str, master: str, settings: dict[str, str]) -> int:
    """Report on a run, as far as its tables are there; what is missing is told, and never a pass.

    The report is written into the store, too: STORE/_reports/run=NAME/report.json and report.md.
    """
    there = opened(store)
    name = chosen_run(there, run)
    from lockstep.pipeline.stages.report import report

    with session(master, settings) as spark:
        found = report(spark, there, name)
    return show(found, form)


def show(found: Report, form: str) -> int:
    """Print a report; return its exit code."""
    from lockstep.pipeline.stages.markdown import as_markdown

    click.echo(found.as_json() if form == "json" else as_markdown(found))
    return found.verdict.exit_code
