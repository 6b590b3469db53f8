"""lockstep graph."""

from __future__ import annotations

from pathlib import Path

import click

from lockstep.cli.options import OWN_CFG, OWN_SPEC, cfg_of, completing, model_names


@click.command()
@click.argument("name", required=False, shell_complete=completing(model_names))
@OWN_SPEC
@OWN_CFG
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The SVG to write."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20_000, show_default=True, help="The most states to explore."
)
def command(name: str | None, own: Path | None, cfg: Path | None, output: Path, limit: int) -> int:
    """Draw the shortest path to a violation of a small model, within its state graph, as SVG.

    The state graph is that of the compiled spec; NAME is a model of a manifest, and --spec one of your own.
    """
    from lockstep.models.picture import draw
    from lockstep.systems.models import model_named
    from lockstep.tla.spec import load_spec

    if (name is None) == (own is None):
        raise click.UsageError("give either NAME or --spec")
    if own is not None:
        spec = load_spec(own, cfg_of(own, cfg))
        _, line = draw(own.stem, spec, output, limit, deadlock=spec.check_deadlock)
    else:
        manifest, model = model_named(name or "")
        spec = load_spec(*manifest.files(model), search_path=manifest.library)
        _, line = draw(model.name, spec, output, limit, deadlock=model.deadlock)
    click.echo(line)
    return 0
