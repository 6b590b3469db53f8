"""lockstep model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from lockstep.cli.options import (
    FORMAT,
    FULL,
    ITF,
    LIBRARY,
    OWN_CFG,
    OWN_SPEC,
    PARALLEL,
    TLA_TOOLS,
    cfg_of,
    completing,
    keep_counterexample,
    model_names,
    note_translation,
    progress,
    progress_end,
    show_counterexample,
)
from lockstep.cli.pipeline.pipeline_options import CONF, run_spark

#: The most threads of a search, unless more are asked for: what they find is put together by one.
MAX_THREADS = 8

if TYPE_CHECKING:
    from lockstep.models.pinned_models import ModelOutcome
    from lockstep.models.search_result import Engine, SearchResult, SpecFiles
    from lockstep.models.spec_search import Explore
    from lockstep.tla.behaviour import Behaviour
    from lockstep.tla.search_options import ReportProgress, SearchOptions


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(model_names))
@click.option(
    "--tier",
    type=click.Choice(["quick", "deep"]),
    default="quick",
    help="Which models to check when no names are given.",
)
@OWN_SPEC
@OWN_CFG
@LIBRARY
@click.option(
    "--engine",
    type=click.Choice(["tlc", "compiled", "tables", "literal"]),
    help="TLC, or the compiled spec, which needs Java only the first time (default: tlc; with NAMES what the manifest "
    "says of each). It evaluates each action in "
    "each state (literal), or once for each value of what the action reads (tables): then a million states take "
    "five to ten seconds, where actions read little of a state. `compiled` begins as `literal` does, and changes to "
    "tables after 500 states, if NumPy and Numba are there; `tables` needs them. `compiled` and `literal` need --spec.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --engine tables: a file in which the search is kept, after a level if five minutes have passed, and "
    "from which the same command goes on. After Ctrl-C the file is as it was written last. It is refused "
    "where temporal properties are checked.",
)
@click.option(
    "--memory",
    type=click.FloatRange(0, min_open=True),
    metavar="GB",
    help="With --engine tables: how much memory may be used (default: three quarters of what is free). "
    "The result is inconclusive where that is not enough.",
)
@click.option(
    "--confirm",
    is_flag=True,
    help="With --engine tables: explore again with another function of fingerprints, and without "
    "SYMMETRY if there is one (up to 20 million states); inconclusive unless the counts agree, those without SYMMETRY "
    "with the images of all states.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    help="With --engine tables: where states are expanded, on the processor or on a graphics card of NVIDIA, which "
    "needs the extra `gpu` and finds the same.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help=f"With --engine tables or compiled: how many threads look up states together (default: as many as there are "
    f"processors, {MAX_THREADS} at most). They find the same.",
)
@click.option(
    "--spark",
    "master",
    metavar="MASTER",
    help="With --spec and --store: explore by tables on a cluster of Spark, level by level, and find the same. It is "
    "meant for searches too large for one machine; on one, as with `local[*,4]`, it is many times slower.",
)
@click.option(
    "--store",
    metavar="FOLDER",
    help="With --spark: the folder, or its URI (hdfs://, s3a://), in which the search is kept after each level, and "
    "from which the same command goes on, also after a kill.",
)
@click.option(
    "--parts",
    type=click.IntRange(min=1),
    help="With --spark: the number of buckets that states are put into by their fingerprints, fixed when a search "
    "begins. A task handles those of one (default: twice the tasks that run at once).",
)
@CONF
@click.option(
    "--deadlock/--no-deadlock",
    default=None,
    help="With --spec: whether a deadlock is a violation. It is, unless the cfg says CHECK_DEADLOCK FALSE.",
)
@ITF
@FULL
@PARALLEL
@TLA_TOOLS
@FORMAT
def command(
    names: tuple[str, ...],
    tier: str,
    own: Path | None,
    cfg: Path | None,
    library: tuple[Path, ...],
    engine: str | None,
    checkpoint: Path | None,
    memory: float | None,
    confirm: bool,
    device: Literal["cpu", "cuda"],
    threads: int | None,
    master: str | None,
    store: str | None,
    parts: int | None,
    settings: dict[str, str],
    deadlock: bool | None,
    itf: Path | None,
    full: bool,
    parallel: int,
    jar: Path | None,
    form: str,
) -> int:
    """Check models with TLC and compare the results with the pinned ones, or explore a spec of your own.

    NAMES are models of the manifests (spec/*/models/manifest.toml). Without names, all models of the tier are
    checked. If the pinned result of a model is a violation, that violation must be found. Models that take TLC
    long are explored by tables, where the manifest says so.

    If there is only one model, or a spec of your own, its counterexample is shown step by step: the action with its
    arguments, and the old and new value of everything that it changed.

    \b
    lockstep model quorum
    lockstep model late_truncate_bug --itf late_truncate.itf.json
    lockstep model --spec My.tla --cfg My.cfg --engine tables --format json
    lockstep model --spec My.tla --spark spark://host:7077 --store hdfs://host/searches/my
    """
    from lockstep.models.search_result import Engine, SpecFiles
    from lockstep.tla.search_options import SearchOptions

    of_tables = checkpoint, memory, confirm, device
    if master is not None and (own is None or store is None or engine not in (None, "tables")):
        raise click.UsageError("--spark goes with --spec, --store, and no other --engine than tables")
    if master is not None and (*of_tables, threads) != (None, None, False, "cpu", None):
        raise click.UsageError("--checkpoint, --memory, --confirm, --device and --threads do not go with --spark")
    if master is None and (store, parts, settings) != (None, None, {}):
        raise click.UsageError("--store, --parts and --conf go with --spark")
    if of_tables != (None, None, False, "cpu") and (own is None or engine != "tables"):
        raise click.UsageError("--checkpoint, --memory, --confirm and --device go with --spec and --engine tables")
    if threads is not None and (own is None or engine not in ("tables", "compiled")):
        raise click.UsageError("--threads goes with --spec and --engine tables or compiled")
    if own is not None:
        if names:
            raise click.UsageError("give either names or --spec")
        options = SearchOptions(
            check_deadlock=deadlock,
            memory_budget=None if memory is None else int(memory * 1e9),
            checkpoint=checkpoint,
            confirm=confirm,
            device=device,
            threads=threads or _usable_processors(),
            on_progress=_report_to_terminal(own.name),
        )
        files = SpecFiles(own, cfg_of(own, cfg), library, jar)
        if master is not None and store is not None:
            on_spark = _spark_search(master, settings, store, parts)
            result = _explore_own_spec(files, Engine.TABLES, options, form, on_spark)
        else:
            result = _explore_own_spec(files, Engine(engine or "tlc"), options, form)
        _show_result(result, files, form, full, itf)
        return result.verdict.exit_code
    if library:
        raise click.UsageError("-I goes with --spec")
    if engine in ("compiled", "literal"):
        raise click.UsageError(f"--engine {engine} goes with --spec")
    if itf is not None and len(names) != 1:
        raise click.UsageError("--itf goes with the name of one model, or with --spec")
    return _check_models(names, tier, None if engine is None else Engine(engine), parallel, jar, itf, form, full)


# ---- A spec of one's own ----


def _usable_processors() -> int:
    """Return how many processors this process may use, up to as many threads as gain by it."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MAX_THREADS)


@contextmanager
def _spark_search(master: str, settings: dict[str, str], store: str, parts: int | None) -> Iterator[Explore]:
    """Run Spark, and return the search of a spec on it."""
    from lockstep.base.extras import extra

    with extra("spark"), extra("tables"):
        from lockstep.pipeline.state_search.spark_search import SESSION_SETTINGS, explore_on_spark
    with run_spark(master, {**SESSION_SETTINGS, **settings}) as spark:
        yield lambda spec, options: explore_on_spark(spec, spark, store, options, parts)


def _explore_own_spec(
    files: SpecFiles,
    engine: Engine,
    options: SearchOptions,
    form: str,
    search: AbstractContextManager[Explore | None] | None = None,
) -> SearchResult:
    """Explore a spec, with another search than the engine's if one is given.

    As JSON, one that cannot be explored has a result, too.
    """
    from lockstep.base.errors import BadInputError, GaveUpError
    from lockstep.base.verdict import Verdict
    from lockstep.models.search_result import refused_result
    from lockstep.models.spec_search import explore_spec

    note_translation(files.module, files.jar)
    try:
        with nullcontext() if search is None else search as explore:
            result = explore_spec(files, engine, options, explore)
    except (BadInputError, GaveUpError) as error:
        if form != "json":
            raise
        result = refused_result(files, engine, error)
    finally:
        progress_end()
    if options.check_deadlock and result.verdict is not Verdict.MALFORMED and _turns_deadlock_off(files.cfg):
        note = f"note: {files.cfg.name} has CHECK_DEADLOCK FALSE, which counts more than --deadlock"
        result = replace(result, notes=(*result.notes, note))
    return result


def _turns_deadlock_off(cfg: Path) -> bool:
    from lockstep.tlc.tlc_output import cfg_section

    return cfg_section(cfg.read_text(encoding="utf-8", errors="replace"), "CHECK_DEADLOCK") == ("FALSE",)


def _report_to_terminal(name: str) -> ReportProgress:
    """Return the report of a search's progress on a line of the terminal."""
    from lockstep.tla.search_options import SearchProgress

    def report(search: SearchProgress) -> None:
        text = f"{name}: {search.distinct:,} distinct states"
        if search.waits_for:
            text += f", {search.waits_for}"
        if search.seconds:
            rate = search.distinct / search.seconds
            text += f", {search.queued:,} waiting, level {search.depth}, {rate:,.0f}/s"
        if search.lookups:
            text += f", {search.evaluations:,} evaluations, {1 - search.evaluations / search.lookups:.2%} known"
        progress(text)

    return report


def _show_result(result: SearchResult, files: SpecFiles, form: str, full: bool, itf: Path | None) -> None:
    """Print the result of a spec, and write its counterexample into a file if one is named."""
    from lockstep.report.counterexample_steps import counterexample_record
    from lockstep.report.text_table import table

    if form == "json":
        click.echo(json.dumps(result.record() | counterexample_record(result.counterexample, full=full), indent=2))
    else:
        counts = result.distinct, result.generated, result.depth
        rows = [(files.module.stem, *counts, f"{result.seconds:.1f} s", result.reason)]
        click.echo(table(("spec", "distinct", "generated", "depth", "time", "result"), rows))
        for note in result.notes:
            click.echo(note)
        show_counterexample(result.counterexample, full=full)
    keep_counterexample(result.counterexample, itf, files.module, result.property or "")


# ---- Models of the manifests ----


def _check_models(
    names: tuple[str, ...],
    tier: str,
    engine: Engine | None,
    parallel: int,
    jar: Path | None,
    itf: Path | None,
    form: str,
    full: bool,
) -> int:
    from lockstep.base.verdict import worst
    from lockstep.models.pinned_models import run_models
    from lockstep.report.text_table import table
    from lockstep.systems.registry import model_named, models_of_tier
    from lockstep.tlc import TlcOptions, find_java, find_tla2tools

    entries = [model_named(name) for name in names] or models_of_tier(tier)
    java, jar = find_java(), find_tla2tools(jar)
    outcomes = list(
        run_models(
            entries,
            parallel=parallel,
            options=TlcOptions(java=java.path, jar=jar),
            engine=engine,
            on_start=lambda entry: progress(f"exploring {entry.name}"),
        )
    )
    shows_steps = form == "json" or len(outcomes) == 1
    behaviours = [outcome.counterexample if shows_steps else None for outcome in outcomes]
    progress_end()
    if form == "json":
        pairs = zip(outcomes, behaviours, strict=True)
        click.echo(json.dumps([_model_record(outcome, behaviour, full) for outcome, behaviour in pairs], indent=2))
    else:
        click.echo(
            table(("model", "distinct", "generated", "depth", "time", "result"), list(map(_model_row, outcomes)))
        )
        show_counterexample(behaviours[0] if len(outcomes) == 1 else None, full=full)
    if itf is not None:
        keep_counterexample(behaviours[0], itf, outcomes[0].files.module, outcomes[0].result.property or "")
    return worst([outcome.verdict for outcome in outcomes]).exit_code


def _model_row(outcome: ModelOutcome) -> tuple[str | int | None, ...]:
    result = outcome.result
    counts = result.distinct, result.generated, result.depth
    return (outcome.entry.name, *counts, f"{result.seconds:.1f} s", outcome.found)


def _model_record(outcome: ModelOutcome, behaviour: Behaviour | None, full: bool) -> dict[str, Any]:
    from lockstep.base.verdict import Verdict
    from lockstep.report.counterexample_steps import counterexample_record

    result = outcome.result
    return {
        "model": outcome.entry.name,
        "verdict": str(outcome.verdict),
        "tlc": "error" if result.verdict is Verdict.MALFORMED else str(result.verdict),
        "property": result.property,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "seconds": round(result.seconds, 3),
        "mismatches": list(outcome.mismatches),
        "reason": result.reason,
        **counterexample_record(behaviour, full=full),
    }
