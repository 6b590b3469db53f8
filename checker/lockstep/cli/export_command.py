"""lockstep export."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import write_bytes
from lockstep.cli.options import behaviour_named, completing, model_names, progress_end, spec_options

if TYPE_CHECKING:
    from lockstep.systems.trace_opening import SpecOptions

FORMS = ("itf", "svg", "pytest")


@click.command()
@click.argument("words", metavar="[TRACE|MODEL|LOG]...", nargs=-1, shell_complete=completing(model_names))
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="The form to write it in.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write (default: standard output).",
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --to svg: only the last N steps up to what is wrong first, or up to the end.",
)
@spec_options()
def command(words: tuple[str, ...], form: str, output: Path | None, last: int | None, spec_options: SpecOptions) -> int:
    """Write a trace, or a counterexample, in the form of another tool.

    \b
    itf     the states, in Apalache's Informal Trace Format; `lockstep check` gives them the verdict of the trace
    svg     a space-time diagram, in one file
    pytest  a regression test that checks the trace again, and asserts the verdict

    The trace is checked first. A malformed one is not exported; in any other, what is wrong is marked. Where a trace
    leaves the spec no state is known any more, so it is not written as ITF.

    \b
    lockstep export figure8.trace.ndjson --to svg -o figure8.svg
    lockstep export late_truncate_bug --to svg -o late_truncate.svg
    lockstep export --spec My.tla trace.ndjson --to itf -o trace.itf.json
    lockstep export --spec My.tla trace.ndjson --to pytest -o test_trace.py

    Exit codes: 0 the file was written, whatever the verdict; 2 wrong usage, malformed input, or nothing that this form
    can express; 3 the check came to no verdict, or a tool is missing; 4 an internal error.
    """
    from lockstep.base.whole_files import writing_whole
    from lockstep.jobs.export_behaviour import export_itf
    from lockstep.report.space_time_diagram import diagram_svg, draw_diagram
    from lockstep.systems.trace_files import refuse_overwriting

    if last is not None and form != "svg":
        raise click.UsageError(f"--last leaves steps out, and {form} needs them all")
    refuse_overwriting(output, map(Path, words), "export")
    try:
        if form == "pytest":
            text, summary = _regression_test(words, spec_options, output)
        else:
            behaviour, context = behaviour_named(words, spec_options, whole=True)
            text = (
                export_itf(behaviour, context) if form == "itf" else diagram_svg(draw_diagram(behaviour, context, last))
            )
            summary = f"{behaviour.title}: {behaviour.verdict_line}"
    finally:
        progress_end()
    if output is None:
        write_bytes(text)
    else:
        with writing_whole(output) as file:
            file.write(text)
        click.echo(f"{output}: {summary}")
    return 0


def _regression_test(words: Sequence[str], options: SpecOptions, output: Path | None) -> tuple[bytes, str]:
    """Return a test of the verdict that `lockstep.check`, which the test calls, gives a trace now."""
    from lockstep.jobs.export_behaviour import NotExportedError
    from lockstep.jobs.view.trace_view import refuse_no_verdict
    from lockstep.report.regression_test import regression_test
    from lockstep.report.verdict_text import verdict_text
    from lockstep.systems.file_check import check
    from lockstep.systems.registry import model_named
    from lockstep.trace.itf_reader import is_itf

    path = Path(words[0])
    if not path.exists():
        _, model = model_named(words[0])
        again = f"`lockstep model {model.name}` checks it again"
        raise NotExportedError(f"{model.name} is a model, and a regression test holds a trace; {again}")
    own, switches = options.own, options.switches
    if (own is not None and own.mapping is not None) or is_itf(path):
        raise NotExportedError(f"{path}: a regression test holds a trace, whose lines name the actions")
    if options.jar or (own is not None and own.library):
        raise click.UsageError("a test names the module and its cfg alone; leave -I and --tla-tools out")
    verdict = check(path, switches=switches) if own is None else check(path, spec=own.module, cfg=own.cfg)
    refuse_no_verdict(verdict)
    folder = Path() if output is None else output.parent
    files = None if own is None else (_path_from(folder, own.module), _path_from(folder, own.cfg))
    name = path.name.removesuffix(".ndjson").removesuffix(".trace")
    lines = path.read_bytes().decode().splitlines(keepends=True)
    test = regression_test(name, lines, verdict, switches=switches, own=files)
    return test.encode(), verdict_text(verdict).splitlines()[0]


def _path_from(folder: Path, file: Path) -> str:
    import os

    return Path(os.path.relpath(file, folder)).as_posix()
