"""lockstep view."""

from __future__ import annotations

from pathlib import Path

import click

from lockstep.cli.options import completing, model_names, progress, progress_end


@click.command()
@click.argument("what", metavar="TRACE|MODEL", shell_complete=completing(model_names))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The page to write (default: NAME.html)."
)
def command(what: str, output: Path | None) -> int:
    """Write a page on which one steps through a trace, or through the counterexample of a model.

    The page is one HTML file that a browser opens from the disk; it loads nothing. It draws the messages between
    the nodes, and at each step the log of every node with the indexes into it, what the step changes, and its lines
    in the spec and in the reference. Of a long trace it shows the part around what is wrong.

    \b
    lockstep view figure8.trace.ndjson
    lockstep view late_truncate_bug -o late_truncate.html

    Exit codes: 0 the page was written; 2 there is nothing to show, or wrong usage or malformed input; 3 a tool or a
    package is missing; 4 an internal error.
    """
    from lockstep.base.whole_files import writing_whole
    from lockstep.jobs.view import of_model, of_trace, system_of_manifest
    from lockstep.report.page.content import content
    from lockstep.report.page.html import page
    from lockstep.systems.models import UnknownModelError, model_named

    if Path(what).exists():
        shown, subject = of_trace(Path(what), {})
        name = Path(what).name.removesuffix(".ndjson").removesuffix(".trace")
    else:
        try:
            manifest, model = model_named(what)
        except UnknownModelError as error:
            raise UnknownModelError(f"no file {what!r}, and {error}") from error
        try:
            shown, subject = of_model(manifest, model, system_of_manifest(manifest), progress)
        finally:
            progress_end()
        name = what
    target = output or Path(f"{name}.html")
    with writing_whole(target) as file:
        file.write(page(content(shown, subject)).encode())
    click.echo(f"{target}: {len(shown.steps):,} of {shown.count + 1:,} states, {shown.verdict}: {shown.reason}")
    return 0
