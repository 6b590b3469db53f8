"""lockstep export."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import write_bytes
from lockstep.cli.options import (
    FILE,
    LIBRARY,
    OWN_CFG,
    OWN_SPEC,
    SWITCH,
    TLA_TOOLS,
    cfg_of,
    completing,
    model_names,
    progress,
    progress_end,
)

if TYPE_CHECKING:
    from lockstep.jobs.export_behaviour import Own

FORMS = ("itf", "svg", "pytest")


@click.command()
@click.argument("what", metavar="TRACE|MODEL|LOG...", nargs=-1, required=True, shell_complete=completing(model_names))
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
@SWITCH
@OWN_SPEC
@OWN_CFG
@LIBRARY
@click.option("--mapping", type=FILE, help="With --spec: the TOML file that says which action each line of a log is.")
@TLA_TOOLS
def command(
    what: tuple[str, ...],
    form: str,
    output: Path | None,
    last: int | None,
    switches: dict[str, bool | str | int],
    own: Path | None,
    cfg: Path | None,
    library: tuple[Path, ...],
    mapping: Path | None,
    tla_tools: Path | None,
) -> int:
    """Write a trace, or the counterexample of a model, in the form of another tool.

    \b
    itf     the states, in Apalache's Informal Trace Format; `lockstep check` gives them the verdict of the trace
    svg     a space-time diagram, in one file
    pytest  a regression test that checks the trace again, and asserts the verdict

    The trace is checked first; one that is malformed is not exported, and what is wrong with another is marked. A
    trace that leaves the spec tells no state after that, and is not written as ITF.

    \b
    lockstep export figure8.trace.ndjson --to svg -o figure8.svg
    lockstep export late_truncate_bug --to svg -o late_truncate.svg
    lockstep export --spec My.tla trace.ndjson --to itf -o trace.itf.json
    lockstep export --spec My.tla trace.ndjson --to pytest -o test_trace.py

    Exit codes: 0 the file was written, whatever the verdict; 2 wrong usage, malformed input, or nothing that this form
    can say; 3 the check came to no verdict, or a tool is missing; 4 an internal error.
    """
    from lockstep.base.whole_files import writing_whole
    from lockstep.jobs.export_behaviour import Own
    from lockstep.systems.trace_files import OverwritingError

    if own is None and (cfg or library or mapping):
        raise click.UsageError("--cfg, -I and --mapping go with --spec")
    if own is not None and switches:
        raise click.UsageError("--switch is for traces of a system that lockstep knows")
    if last is not None and form != "svg":
        raise click.UsageError(f"--last leaves steps out, and {form} needs them all")
    paths = [Path(each) for each in what]
    if output is not None and output.exists() and any(each.exists() and each.samefile(output) for each in paths):
        raise OverwritingError(f"{output}: the export would overwrite what it is made of")
    if len(paths) > 1 and mapping is None:
        raise click.UsageError("give one trace, or the name of one model; or logs of one system with --mapping")
    try:
        if all(each.exists() for each in paths):
            spec = None if own is None else Own(own, cfg_of(own, cfg), library, tla_tools)
            if form == "pytest":
                text, said = _regression_test(paths[0], switches, spec, mapping, output)
            elif mapping is not None or _holds_states(paths[0]):
                text, said = _of_explained(paths, form, switches, spec, mapping, last)
            else:
                text, said = _of_trace(paths[0], form, switches, spec, last)
        elif own is not None or switches:
            raise click.UsageError(f"there is no file {what[0]!r}, and --spec and --switch are for traces")
        else:
            text, said = _of_model(what[0], form, last)
    finally:
        progress_end()
    if output is None:
        write_bytes(text)
    else:
        with writing_whole(output) as file:
            file.write(text)
        click.echo(f"{output}: {said}")
    return 0


def _of_trace(
    path: Path, form: str, switches: dict[str, bool | str | int], own: Own | None, last: int | None
) -> tuple[bytes, str]:
    from lockstep.jobs.export_behaviour import checked, drawn_trace, itf_of_trace
    from lockstep.report.space_time_diagram import svg

    found = checked(path, switches, own)
    if form == "itf":
        return itf_of_trace(found, switches), found.said
    return svg(drawn_trace(found, last)), found.said


def _regression_test(
    path: Path, switches: dict[str, bool | str | int], own: Own | None, mapping: Path | None, output: Path | None
) -> tuple[bytes, str]:
    """Return a test of the verdict that `lockstep.check`, which the test calls, gives a trace now."""
    from lockstep.jobs.export_behaviour import NotExportedError
    from lockstep.jobs.view.trace_view import refuse_no_verdict
    from lockstep.report.regression_test import regression_test
    from lockstep.report.verdict_text import verdict_text
    from lockstep.systems.file_check import check

    if mapping is not None or _holds_states(path):
        raise NotExportedError(f"{path}: a regression test holds a trace, whose lines name the actions")
    if own is not None and (own.library or own.jar):
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


def _holds_states(path: Path) -> bool:
    """Return whether a file is a behaviour in ITF, which tells every state and no event."""
    from lockstep.trace.itf_reader import is_itf

    return is_itf(path)


def _of_explained(
    paths: Sequence[Path],
    form: str,
    switches: dict[str, bool | str | int],
    own: Own | None,
    mapping: Path | None,
    last: int | None,
) -> tuple[bytes, str]:
    """Return a behaviour in ITF, or one that explains logs, in a form: the one that `lockstep view` shows."""
    from lockstep.jobs.export_behaviour import NotExportedError, drawn_shown, itf_of_shown
    from lockstep.jobs.view.log_view import of_exported, of_own_logs
    from lockstep.report.space_time_diagram import svg
    from lockstep.systems.own_logs import own_subject

    if own is None:
        if form == "itf":
            raise NotExportedError(f"{paths[0]}: it is a file of ITF already")
        shown, subject = of_exported(paths[0], switches)
    else:
        held = own_subject(own.module, own.cfg, mapping, search_path=own.library, jar=own.jar)
        shown, subject = of_own_logs(paths, held, own.library, progress)
        if form == "itf":
            said = f"{shown.title}: {shown.verdict}: {shown.reason}"
            return itf_of_shown(shown, held.system, held.spec), said
    said = f"{shown.title}: {shown.verdict}: {shown.reason}"
    return svg(drawn_shown(shown, subject, last)), said


def _of_model(name: str, form: str, last: int | None) -> tuple[bytes, str]:
    from lockstep.jobs.export_behaviour import NotExportedError, drawn_model, itf_of_model
    from lockstep.jobs.view.trace_view import system_of_manifest
    from lockstep.report.space_time_diagram import svg
    from lockstep.systems.registry import UnknownModelError, model_named

    try:
        manifest, model = model_named(name)
    except UnknownModelError as error:
        raise UnknownModelError(f"no file {name!r}, and {error}") from error
    if form == "pytest":
        raise NotExportedError(
            f"{name} is a model, and a regression test holds a trace; `lockstep model {name}` checks it again"
        )
    system = system_of_manifest(manifest)
    if form == "itf":
        return itf_of_model(manifest, model, system, progress), f"the counterexample of {name}"
    drawn = drawn_model(manifest, model, system, last, progress)
    return svg(drawn), drawn.said
