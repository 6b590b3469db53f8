"""lockstep pipeline run, and generate, ingest, check, coverage, report: one stage each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lockstep.base.characters import counted
from lockstep.cli.options import FORMAT, completing, plan_names
from lockstep.cli.pipeline.pipeline_options import (
    NEW_RUN,
    RUN,
    STORE,
    TIMEOUT,
    VERSION,
    against_options,
    choose_run,
    choose_spec,
    files,
    open_store,
    run_spark,
    show_progress,
    spark_options,
)
from raftref.limits import MAX_EVENTS

if TYPE_CHECKING:
    from lockstep.pipeline.generate_stage import Clusters
    from lockstep.pipeline.run_report import RunReport


def _known(_: click.Context, __: click.Parameter, plans: tuple[str, ...]) -> tuple[str, ...]:
    names = plan_names()
    for plan in plans:
        if plan not in names:
            raise click.BadParameter(f"{plan!r} is not one of {', '.join(sorted(names))}")
    return plans


SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The first seed.")
SEEDS = click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="How many seeds.")
PLANS = click.option(
    "--plan",
    "plans",
    multiple=True,
    callback=_known,
    shell_complete=completing(plan_names),
    help="A plan of faults; may be given several times (default: all plans of both systems).",
)
VARIANTS = click.option(
    "--variant",
    "variants",
    type=click.Choice(["declared", "published", "repaired"]),
    multiple=True,
    default=("declared",),
    help="Simulate with every flaw as published, or repaired; `declared`, the default, is each plan's own form. May be "
    "given several times.",
)
EVENTS = click.option(
    "--events",
    type=click.IntRange(1, MAX_EVENTS),
    default=500,
    show_default=True,
    help="How many events a cluster takes.",
)


def clusters_of(seed: int, seeds: int, plans: tuple[str, ...], events: int, variants: tuple[str, ...]) -> Clusters:
    """Return the clusters that the options choose."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.generate_stage import Clusters
    return Clusters(plans or tuple(plan_names()), range(seed, seed + seeds), events, tuple(dict.fromkeys(variants)))


@click.command("generate")
@STORE
@NEW_RUN
@SEED
@SEEDS
@PLANS
@EVENTS
@VARIANTS
@spark_options
def generate_command(
    store: str,
    run: str | None,
    seed: int,
    seeds: int,
    plans: tuple[str, ...],
    events: int,
    variants: tuple[str, ...],
    master: str | None,
    settings: dict[str, str],
) -> int:
    """Simulate clusters of the references, in the tasks, and write the lines of their traces into the store.

    The clusters are every plan of faults with every seed in every variant. Each trace is that of `lockstep simulate`,
    to the byte.
    """
    clusters = clusters_of(seed, seeds, plans, events, variants)
    there = open_store(store, create=True)
    from lockstep.pipeline.generate_stage import generate
    from lockstep.pipeline.trace_store import checked_name

    name = checked_name(run or clusters.run_name(), "run")
    with run_spark(master, settings) as spark:
        generate(spark, there, name, clusters, show_progress)
    click.echo(f"run {name}: {counted(len(clusters), 'cluster')}")
    return 0


@click.command("ingest")
@STORE
@click.argument("paths", nargs=-1, required=True)
@NEW_RUN
@click.option(
    "--logs",
    type=click.Choice(["each", "together"]),
    default=None,
    help="Take lines as they are, for `check --spec --mapping` to read: each file is a log of its own, or the files of "
    "a folder are those of one system.",
)
@VERSION
@spark_options
def ingest_command(
    store: str,
    paths: tuple[str, ...],
    run: str | None,
    logs: str | None,
    version: str | None,
    master: str | None,
    settings: dict[str, str],
) -> int:
    """Read traces, recordings and logs into the store, in the tasks.

    PATHS are files and folders (every .ndjson, .jsonl and .log in them, plain or packed as .gz or .zst), on this
    machine or by a URI that all tasks reach. A recording or a log of a system that lockstep knows is imported, as by
    `lockstep import`. What is no line of a trace goes to the table dead_letters, with file, line and reason.

    Files that the run has read already are not read again.
    """
    there, given = open_store(store, create=True), files(paths, logs or "", version)
    from lockstep.pipeline.ingest_stage import ingest
    from lockstep.pipeline.trace_store import checked_name

    name = checked_name(run or given.run_name(), "run")
    with run_spark(master, settings) as spark:
        ingest(spark, there, name, given, show_progress)
    click.echo(f"run {name}: read")
    return 0


@click.command("check")
@STORE
@RUN
@against_options
@TIMEOUT
@spark_options
def check_command(
    store: str, run: str | None, seconds: float | None, master: str | None, settings: dict[str, str], **chosen: Any
) -> int:
    """Check the traces of a run, each whole and in order, and write a verdict on each.

    The options that choose the spec are those of `lockstep check`. A trace whose check kills its process, or takes
    longer than `--timeout`, is inconclusive; of a long trace that is cut each part may take so long. The exit code
    says whether all traces were checked, not what was found: that is in `lockstep pipeline report`.
    """
    there = open_store(store)
    name, held = choose_run(there, run), choose_spec(**chosen)
    from lockstep.pipeline.check_stage import check

    with run_spark(master, settings) as spark:
        check(spark, there, name, held, show_progress, seconds=seconds)
    click.echo(f"run {name}: checked")
    return 0


@click.command("coverage")
@STORE
@RUN
@spark_options
def coverage_command(store: str, run: str | None, master: str | None, settings: dict[str, str]) -> int:
    """Count what the traces of a run reach of the protocol: actions, answers, faults, what becomes of logs.

    The report holds the sums against the floor of each plan, and names the actions of the specs that no trace takes.
    """
    there = open_store(store)
    name = choose_run(there, run)
    from lockstep.pipeline.coverage_stage import cover

    with run_spark(master, settings) as spark:
        cover(spark, there, name, show_progress)
    click.echo(f"run {name}: counted")
    return 0


@click.command("report")
@STORE
@RUN
@FORMAT
@spark_options
def report_command(store: str, run: str | None, form: str, master: str | None, settings: dict[str, str]) -> int:
    """Report on a run, as far as its tables are there; what is missing is named, and never a pass.

    The report is written into the store, too: STORE/_reports/run=NAME/report.json, and
    report.md with pictures (SVG).
    """
    there = open_store(store)
    name = choose_run(there, run)
    from lockstep.pipeline.report_stage import report

    with run_spark(master, settings) as spark:
        found = report(spark, there, name)
    return show(found, form)


def show(found: RunReport, form: str) -> int:
    """Print a report; return its exit code."""
    from lockstep.pipeline.run_report import as_markdown

    click.echo(found.as_json() if form == "json" else as_markdown(found))
    return found.verdict.exit_code


@click.command("job")
def job_command() -> int:
    """Print the path of the job for spark-submit, which runs the commands of `lockstep pipeline`.

    \b
    spark-submit "$(lockstep pipeline job)" run STORE traces/
    """
    from lockstep.cli.pipeline import spark_job

    click.echo(spark_job.__file__)
    return 0


@click.command("run")
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
def run_command(
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
    held = choose_spec(**chosen)
    goes_in = files(paths, held.logs, version) if paths else clusters_of(seed, seeds, plans, events, variants)
    there = open_store(store, create=True)
    from lockstep.pipeline.all_stages import run_all
    from lockstep.pipeline.trace_store import checked_name

    name = checked_name(run or goes_in.run_name(), "run")
    with run_spark(master, settings) as spark:
        found = run_all(spark, there, name, goes_in, held, show_progress, seconds)
    return show(found, form)
