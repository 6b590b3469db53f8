"""lockstep graph."""

from __future__ import annotations

from pathlib import Path

import click

from lockstep.cli.options import completing, model_names


@click.command()
@click.argument("name", shell_complete=completing(model_names))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The SVG to write."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20_000, show_default=True, help="The most states to explore."
)
def command(name: str, output: Path, limit: int) -> int:
    """Draw the shortest path to a violation of a small model, within its state graph, as SVG.

    The state graph is that of the compiled spec; NAME is a model of a manifest.
    """
    from lockstep.models.picture import draw
    from lockstep.systems.models import model_named
    from lockstep.tla.spec import load_spec

    manifest, model = model_named(name)
    module, cfg = manifest.files(model)
    spec = load_spec(module, cfg, search_path=manifest.library)
    click.echo(draw(spec, output, title=name, limit=limit))
    return 0
