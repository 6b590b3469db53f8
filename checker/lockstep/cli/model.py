"""lockstep model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockstep.models.pinned_models import ModelOutcome
    from lockstep.models.spec_search import SearchResult
    from lockstep.tla.behaviour import Behaviour
    from lockstep.tla.tables.table_search import Progress


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
    "ten to twenty seconds, where actions read little of a state. `compiled` begins as `literal` does, and changes to "
    "tables after 500 states, if NumPy is there; `tables` needs it. `compiled` and `literal` need --spec.",
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
    deadlock: bool | None,
    itf: Path | None,
    full: bool,
    parallel: int,
    tla_tools: Path | None,
    form: str,
) -> int:
    """Check models with TLC and compare the results with the pinned ones, or explore a spec of your own.

    NAMES are models of the manifests (spec/*/models/manifest.toml). Without names, all models of the tier are
    checked. If the pinned result of a model is a violation, that violation must be found. Models of which the manifest
    says so, as they take TLC long, are explored by tables.

    If there is only one model, or a spec of your own, its counterexample is shown step by step: the action with its
    arguments, and the old and new value of everything that it changed.

    \b
    lockstep model quorum
    lockstep model late_truncate_bug --itf late_truncate.itf.json
    lockstep model --spec My.tla --cfg My.cfg --engine tables --format json
    """
    from lockstep.base.verdict import worst
    from lockstep.models.pinned_models import behaviour_of, run_models
    from lockstep.systems.registry import model_named, models_of_tier
    from lockstep.tlc import TlcOptions, find_java, find_tla2tools

    how = How(checkpoint, _bytes_of(memory), confirm)
    if how != How() and (own is None or engine != "tables"):
        raise click.UsageError(f"{_OF_TABLES} go with --spec and --engine tables")
    if own is not None:
        if names:
            raise click.UsageError("give either names or --spec")
        tools = Tools(library, tla_tools, engine or "tlc", how)
        return _explore(own, cfg, deadlock, tools, Shown(form, full, itf))
    if library:
        raise click.UsageError("-I goes with --spec")
    if engine in ("compiled", "literal"):
        raise click.UsageError(f"--engine {engine} goes with --spec")
    if itf is not None and len(names) != 1:
        raise click.UsageError("--itf goes with the name of one model, or with --spec")
    entries = [model_named(name) for name in names] or models_of_tier(tier)
    java, jar = find_java(), find_tla2tools(tla_tools)
    outcomes = list(
        run_models(
            entries,
            parallel=parallel,
            options=TlcOptions(java=java.path, jar=jar),
            engine=engine,
            on_start=lambda entry: progress(f"exploring {entry.name}"),
        )
    )
    behaviours: list[Behaviour | None] = [None] * len(outcomes)
    if form == "json" or len(outcomes) == 1:
        pairs = zip(entries, outcomes, strict=True)
        behaviours = [behaviour_of(manifest, outcome, jar) for (manifest, _), outcome in pairs]
    progress_end()
    if form == "json":
        told = zip(outcomes, behaviours, strict=True)
        click.echo(json.dumps([_model_json(outcome, behaviour, full) for outcome, behaviour in told], indent=2))
    else:
        _show(outcomes)
        show_counterexample(behaviours[0] if len(outcomes) == 1 else None, full=full)
    if itf is not None:
        ((manifest, entry),) = entries
        violation = outcomes[0].result.violation
        keep_counterexample(behaviours[0], itf, manifest.files(entry)[0], violation.label if violation else "")
    return worst([outcome.verdict for outcome in outcomes]).exit_code


def _show(outcomes: list[ModelOutcome]) -> None:
    from lockstep.report.text_table import table

    rows = [
        (
            o.entry.name,
            o.result.distinct,
            o.result.generated,
            o.result.depth,
            f"{o.result.wall_seconds:.1f} s",
            o.found,
        )
        for o in outcomes
    ]
    click.echo(table(("model", "distinct", "generated", "depth", "time", "result"), rows))


@dataclass(frozen=True, slots=True)
class Shown:
    """How a result is shown: the format, whether states are shown as a whole, the file for the counterexample."""

    form: str
    full: bool
    itf: Path | None


_OF_TABLES = "--checkpoint, --memory and --confirm"


@dataclass(frozen=True, slots=True)
class How:
    """How tables explore.

    That is the file that keeps the search, how many bytes of memory may be used, and whether the count is to be
    confirmed.
    """

    checkpoint: Path | None = None
    most_memory: int | None = None
    confirm: bool = False


def _bytes_of(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else int(gigabytes * 1e9)


@dataclass(frozen=True, slots=True)
class Tools:
    """What a spec is explored with: further folders with modules, the tla2tools, the engine, how tables explore."""

    library: tuple[Path, ...]
    jar: Path | None
    engine: str
    how: How


def _explore(spec: Path, cfg: Path | None, deadlock: bool | None, tools: Tools, shown: Shown) -> int:
    """Explore a spec of the reader's own."""
    from lockstep.base.errors import BadInputError, GaveUpError
    from lockstep.base.verdict import Verdict
    from lockstep.models.spec_search import Engine, without_search
    from lockstep.report.counterexample_steps import counterexample_record
    from lockstep.report.text_table import table

    config = cfg_of(spec, cfg)
    note_translation(spec, tools.jar)
    search = _search_with(tools, spec)
    try:
        found = search(spec, config, deadlock=deadlock is not False, search_path=tools.library, jar=tools.jar)
        if deadlock and found.verdict is not Verdict.MALFORMED and _says_no_deadlock(config):
            note = f"note: {config.name} has CHECK_DEADLOCK FALSE, which counts more than --deadlock"
            found = replace(found, notes=(*found.notes, note))
    except (BadInputError, GaveUpError) as error:
        if shown.form != "json":
            raise
        verdict = Verdict.MALFORMED if isinstance(error, BadInputError) else Verdict.INCONCLUSIVE
        found = without_search(spec, Engine(tools.engine), verdict, str(error))
    progress_end()
    if shown.form == "json":
        steps = counterexample_record(found.counterexample, full=shown.full)
        click.echo(json.dumps(asdict(replace(found, counterexample=None)) | steps, indent=2))
    else:
        rows = [(spec.stem, found.distinct, found.generated, found.depth, f"{found.seconds:.1f} s", found.reason)]
        click.echo(table(("spec", "distinct", "generated", "depth", "time", "result"), rows))
        for note in found.notes:
            click.echo(note)
        show_counterexample(found.counterexample, full=shown.full)
    keep_counterexample(found.counterexample, shown.itf, spec, found.property or "")
    return found.verdict.exit_code


def _search_with(tools: Tools, spec: Path) -> Callable[..., SearchResult]:
    """Return what explores with an engine, and tells how far it is."""
    from lockstep.models.spec_search import explore_compiled, explore_literally, explore_with_tables, explore_with_tlc

    if tools.engine == "tables":
        say = partial(_say_tables, spec.name)
        return partial(explore_with_tables, **asdict(tools.how), on_progress=say)
    searches: dict[str, Callable[..., SearchResult]] = {
        "tlc": explore_with_tlc,
        "compiled": explore_compiled,
        "literal": explore_literally,
    }
    return partial(searches[tools.engine], on_progress=partial(_say_states, spec.name))


def _says_no_deadlock(cfg: Path) -> bool:
    from lockstep.tlc.tlc_output import cfg_section

    return cfg_section(cfg.read_text(encoding="utf-8", errors="replace"), "CHECK_DEADLOCK") == ("FALSE",)


def _say_states(name: str, distinct: int) -> None:
    progress(f"{name}: {distinct:,} distinct states")


def _say_tables(name: str, far: Progress) -> None:
    rate = far.distinct / max(far.seconds, 1e-9)
    said = f"{name}: {far.distinct:,} distinct states, {far.queued:,} waiting, level {far.depth}, {rate:,.0f}/s"
    if far.looked_up:  # and not state by state
        said += f", {far.evaluations:,} evaluations, {1 - far.evaluations / far.looked_up:.2%} known"
    progress(said)


def _model_json(outcome: ModelOutcome, behaviour: Behaviour | None, full: bool) -> dict[str, Any]:
    from lockstep.report.counterexample_steps import counterexample_record

    result = outcome.result
    return {
        "model": outcome.entry.name,
        "verdict": str(outcome.verdict),
        "tlc": str(result.verdict),
        "property": result.violation.label if result.violation else None,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "seconds": round(result.wall_seconds, 3),
        "mismatches": list(outcome.mismatches),
        "reason": result.reason,
        **counterexample_record(behaviour, full=full),
    }
