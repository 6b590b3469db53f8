"""lockstep pipeline run: all stages."""

from __future__ import annotations

from typing import Any

import click

from lockstep.cli.options import FORMAT
from lockstep.cli.pipeline.options import (
    NEW_RUN,
    STORE,
    TIMEOUT,
    VERSION,
    against,
    against_options,
    files,
    opened,
    say,
    session,
    spark_options,
)
from lockstep.cli.pipeline.stages import EVENTS, PLANS, SEED, SEEDS, VARIANTS, clusters_of, show


@click.command()
@STORE
@click.argument("paths", nargs=-1)
@NEW_RUN
@SEED
@SEEDS
@PLANS
@EVENTS
@VARIANTS
@VERSION
@against_options
@TIMEOUT
@FORMAT
@spark_options
def command(
    store: str,
    paths: tuple[str, ...],
    run: str | None,
    seed: int,
    seeds: int,
    plans: tuple[str, ...],
    events: int,
    variants: tuple[str, ...],
    version: str | None,
    seconds: float | None,
    form: str,
    master: str | None,
    settings: dict[str, str],
    **chosen: Any,
) -> int:
    """Read files or simulate clusters, check the traces, and report: all stages with one command.

    PATHS are those of `lockstep pipeline ingest`; without any, clusters are simulated as by `generate`. What is in the
    store already is not done again, so the same command goes on after an interruption.
    """
    held = against(**chosen)
    goes_in = files(paths, held.logs, version) if paths else clusters_of(seed, seeds, plans, events, variants)
    there = opened(store, create=True)
    from lockstep.pipeline.run import run_all
    from lockstep.pipeline.store.store import checked_name

    name = checked_name(run or goes_in.run_name(), "run")
    with session(master, settings) as spark:
        found = run_all(spark, there, name, goes_in, held, say, seconds)
    return show(found, form)
