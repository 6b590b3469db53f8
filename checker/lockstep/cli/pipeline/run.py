"""lockstep pipeline run: all stages."""

from __future__ import annotations

import click

from lockstep.cli.options import FORMAT
from lockstep.cli.pipeline.options import STORE, SWITCHES, opened, say, session, spark_options, variant
from lockstep.cli.pipeline.stages import EVENTS, NEW_RUN, PLANS, SEED, clusters_of, show


@click.command()
@STORE
@NEW_RUN
@SEED
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="How many seeds.")
@PLANS
@EVENTS
@SWITCHES
@FORMAT
@spark_options
def command(
    store: str,
    run: str | None,
    seed: int,
    seeds: int,
    plans: tuple[str, ...],
    events: int,
    words: tuple[str, ...],
    form: str,
    master: str,
    settings: dict[str, str],
) -> int:
    """Simulate clusters, check their traces, and report: all stages with one command.

    What is in the store already is not done again, so the same command goes on after an interruption.
    """
    clusters, there, against = clusters_of(seed, seeds, plans, events), opened(store, create=True), variant(words)
    from lockstep.pipeline.run import run_all
    from lockstep.pipeline.store.store import checked_name

    name = checked_name(run or clusters.run_name(), "run")
    with session(master, settings) as spark:
        found = run_all(spark, there, name, clusters, against, say)
    return show(found, form)
