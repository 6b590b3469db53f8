"""lockstep watch."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.options import SWITCH, progress, progress_end

if TYPE_CHECKING:
    from lockstep.pipeline.watch.told import Told


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@SWITCH
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), help="Where verdicts and progress are kept.")
@click.option("--once", is_flag=True, help="Check what there is, and end.")
@click.option("--until-idle", type=click.FloatRange(min=0), help="End after so many seconds without anything new.")
@click.option("--exit-on", type=click.Choice(["violation"]), help="End with the first violation, exit code 1.")
@click.option("--patience", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True)
@click.option("--every", type=click.FloatRange(min=0.1), default=1.0, show_default=True)
@click.option("--master", default="local[*,4]", show_default=True, help="The Spark cluster.")
@click.option("--format", "form", type=click.Choice(["text", "jsonl"]), default="text")
def command(
    folder: Path,
    switches: dict[str, bool | str | int],
    store: Path | None,
    once: bool,
    until_idle: float | None,
    exit_on: str | None,
    patience: float,
    every: float,
    master: str,
    form: str,
) -> int:
    """Check traces while they are written."""
    from lockstep.base.extras import extra

    with extra("spark"):
        from lockstep.pipeline.watch.run import Options, Watch
        from lockstep.pipeline.watch.table import Store
        from lockstep.pipeline.watch.under_way import Limits

    kept = Store((store or folder / ".lockstep").absolute(), "as-recorded")
    options = Options(
        folder=folder,
        switches=switches,
        limits=Limits(patience),
        every=every,
        idle_seconds=0.0 if once else until_idle,
        ends_on_violation=exit_on is not None,
        master=master,
    )

    def tell(row: Told) -> None:
        progress_end()
        click.echo(_text(row))

    with kept.opened({"folder": str(folder.absolute()), "switches": dict(switches)}):
        watch = Watch(options, kept, tell, lambda source: f"lockstep check {shlex.quote(source)}", progress)
        verdict = watch.run()
    progress_end()
    return verdict.exit_code


def _text(row: Told) -> str:
    from lockstep.report.text import finding_text, verdict_text

    result = row.result
    if row.settled:
        return verdict_text(result, colour=True)
    return "\n".join(finding_text(row.source, each) for each in result.findings)
