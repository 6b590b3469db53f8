"""lockstep model."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockstep.cli.options import (
    FORMAT,
    OWN_CFG,
    OWN_SPEC,
    PARALLEL,
    TLA_TOOLS,
    cfg_of,
    completing,
    model_names,
    progress,
    progress_end,
)

if TYPE_CHECKING:
    from lockstep.models.run import ModelOutcome


@click.command()
@click.argument("names", nargs=-1, shell_complete=completing(model_names))
@click.option("--tier", type=click.Choice(["quick", "deep"]), default="quick", help="Without names: which models.")
@OWN_SPEC
@OWN_CFG
@click.option(
    "--engine",
    type=click.Choice(["tlc", "compiled"]),
    default="tlc",
    show_default=True,
    help="With --spec: TLC, or the compiled spec, which needs Java only the first time.",
)
@click.option("--deadlock/--no-deadlock", default=True, help="With --spec: whether a deadlock is a violation.")
@PARALLEL
@TLA_TOOLS
@FORMAT
def command(
    names: tuple[str, ...],
    tier: str,
    own: Path | None,
    cfg: Path | None,
    engine: str,
    deadlock: bool,
    parallel: int,
    tla_tools: Path | None,
    form: str,
) -> int:
    """Check models with TLC and compare with the pinned results; or explore a spec of your own.

    NAMES are models of the manifests (spec/*/models/manifest.toml); without any, all models of the tier. A model whose
    pinned result is a violation is as expected when TLC finds that violation.

    \b
    lockstep model quorum
    lockstep model --spec My.tla --cfg My.cfg --engine compiled --format json
    """
    from lockstep.base.verdict import worst
    from lockstep.models.run import run_models
    from lockstep.report.text import table
    from lockstep.systems.models import model_named, models_of_tier
    from lockstep.tlc import TlcOptions, find_java, find_tla2tools

    if own is not None:
        if names:
            raise click.UsageError("give either names or --spec")
        return _explore(own, cfg, engine, deadlock, tla_tools, form)
    entries = [model_named(name) for name in names] or models_of_tier(tier)
    java, jar = find_java(), find_tla2tools(tla_tools)
    outcomes = list(
        run_models(
            entries,
            parallel=parallel,
            options=TlcOptions(java=java.path, jar=jar),
            on_start=lambda entry: progress(f"TLC: {entry.name}"),
        )
    )
    progress_end()
    if form == "json":
        click.echo(json.dumps([_model_json(outcome) for outcome in outcomes], indent=2))
    else:
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
        if len(outcomes) == 1:
            _show_counterexample(outcomes[0])
    return worst([outcome.verdict for outcome in outcomes]).exit_code


def _explore(spec: Path, cfg: Path | None, engine: str, deadlock: bool, jar: Path | None, form: str) -> int:
    """Explore a spec of the reader's own."""
    from lockstep.models.search import explore_compiled, explore_with_tlc
    from lockstep.report.text import table

    config = cfg_of(spec, cfg)
    say = partial(_say_states, spec.name)
    if engine == "tlc":
        found = explore_with_tlc(spec, config, deadlock=deadlock, jar=jar, on_progress=say)
    else:
        found = explore_compiled(spec, config, deadlock=deadlock, jar=jar, on_progress=say)
    progress_end()
    if form == "json":
        click.echo(json.dumps(asdict(found), indent=2))
        return found.verdict.exit_code
    rows = [(spec.stem, found.distinct, found.generated, found.depth, f"{found.seconds:.1f} s", found.reason)]
    click.echo(table(("spec", "distinct", "generated", "depth", "time", "result"), rows))
    for index, action in enumerate(found.counterexample or (), start=1):
        click.echo(f"  {index:3d}  {action}")
    return found.verdict.exit_code


def _say_states(name: str, distinct: int) -> None:
    progress(f"{name}: {distinct:,} distinct states")


def _model_json(outcome: ModelOutcome) -> dict[str, Any]:
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
        "counterexample": [step.action for step in result.counterexample.steps] if result.counterexample else None,
    }


def _show_counterexample(outcome: ModelOutcome) -> None:
    trace = outcome.result.counterexample
    if trace is None:
        return
    click.echo("\nThe counterexample, step by step:\n")
    for step in trace.steps:
        place = f"  {step.location.module}.tla:{step.location.line}" if step.location else ""
        click.echo(f"  {step.index:3d}  {step.action or 'Init'}{place}")
