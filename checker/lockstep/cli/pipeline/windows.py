"""lockstep pipeline windows."""

from __future__ import annotations

import click

from lockstep.cli.pipeline.options import RUN, STORE, SWITCHES, chosen_run, opened, say, session, spark_options, variant


@click.command()
@STORE
@RUN
@SWITCHES
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="How many events a part has; no trace of fewer is cut.",
)
@spark_options
def command(
    store: str, run: str | None, words: tuple[str, ...], every: int, master: str, settings: dict[str, str]
) -> int:
    """Find states to cut long traces at, so that `check` checks the parts of one trace on all cores.

    One pass over each long trace takes its steps on the compiled spec, compares nothing and evaluates no property. The
    check then begins in all of these states at once. The state that each part comes to must be the one in which the
    next part begins, the network and what is remembered of history included: else the trace does not hold. Verdict,
    findings and counts are those of a check of the whole trace.
    """
    there = opened(store)
    name, against = chosen_run(there, run), variant(words)
    from lockstep.pipeline.stages.windows import windows

    with session(master, settings) as spark:
        windows(spark, there, name, against, every, say)
    click.echo(f"run {name}: cut")
    return 0
