"""lockstep view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

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
    from collections.abc import Sequence

    from lockstep.report.page.page_content import Subject
    from lockstep.report.page.shown_behaviour import Shown


@click.command()
@click.argument("what", metavar="[TRACE|MODEL|LOG]...", nargs=-1, shell_complete=completing(model_names))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write (default: NAME.html; with --switch or another --cfg NAME.VARIANT.html).",
)
@SWITCH
@OWN_SPEC
@OWN_CFG
@LIBRARY
@click.option("--mapping", type=FILE, help="With --spec: the TOML file that says which action each line of a log is.")
@TLA_TOOLS
def command(
    what: tuple[str, ...],
    output: Path | None,
    switches: dict[str, bool | str | int],
    own: Path | None,
    cfg: Path | None,
    library: tuple[Path, ...],
    mapping: Path | None,
    tla_tools: Path | None,
) -> int:
    """Write a page on which one steps through a trace, or through the counterexample of a model.

    The page is one HTML file that a browser opens from the disk; it loads nothing. It draws the messages between
    the nodes, and at each step the log of every node with the indexes into it, what the step changes, and its lines
    in the spec and in the reference. Of a long trace it shows the part around what is wrong, or the end: some 2,000
    steps at most, and fewer where the page would have more than 8 MB. The page and the last line printed say which.

    The page of another variant of the spec has a name of its own: figure8.repaired.html beside figure8.html.

    With --spec it shows a spec of your own: the counterexample that a search of the compiled spec finds, or a trace,
    or logs with a mapping, and of those one of the behaviours that explain them. It draws no nodes then, and
    shows the whole state at each step.

    \b
    lockstep view figure8.trace.ndjson
    lockstep view --switch repaired figure8.trace.ndjson
    lockstep view late_truncate_bug -o late_truncate.html
    lockstep view --spec My.tla
    lockstep view --spec My.tla --mapping my.toml node1.log node2.log

    Exit codes: 0 the page was written; 2 there is nothing to show, or wrong usage or malformed input; 3 a tool or a
    package is missing, or there is no verdict; 4 an internal error.
    """
    from lockstep.base.whole_files import writing_whole
    from lockstep.report.page.build_page import page
    from lockstep.report.page.page_content import MAX_PAGE_BYTES, fitting

    if own is None and (cfg or mapping or library):
        raise click.UsageError("--cfg, -I and --mapping go with --spec")
    if own is not None and switches:
        raise click.UsageError("--switch is for traces of a system that lockstep knows")
    target = output or _target(what, own, cfg, switches)
    if any(target.exists() and Path(word).exists() and target.samefile(word) for word in what):
        raise click.UsageError(f"{target} would overwrite what is to be shown")
    try:
        if own is not None:
            shown, subject = _of_own(own, cfg_of(own, cfg), mapping, library, tla_tools, [Path(each) for each in what])
        else:
            shown, subject = _known(what, switches)
        progress(f"{target}: the page")
        whole, (shown, tree) = shown, fitting(shown, subject)
        text = page(tree).encode()
    finally:
        progress_end()
    with writing_whole(target) as file:
        file.write(text)
    click.echo(f"{target}: {len(shown.steps):,} of {shown.count + 1:,} states, {shown.verdict}: {shown.reason}")
    if len(shown.steps) <= shown.count:
        first, last = shown.steps[0].number, shown.steps[-1].number
        sides = [f"before step {first:,}"] * (first > 0) + [f"after step {last:,}"] * (last < shown.count)
        why = f": a page has {MAX_PAGE_BYTES // 1_000_000} MB at most" if shown is not whole else ""
        click.echo(f"left out are the states {' and '.join(sides)}{why}")
    return 0


def _target(what: Sequence[str], own: Path | None, cfg: Path | None, switches: dict[str, bool | str | int]) -> Path:
    """Return the page to write where none is named: no two variants of one trace or spec have the same."""
    from lockstep.systems.trace_specs import variants

    named = Path(what[0] if what else own.stem if own is not None else "").name
    words = [name if name in variants() else f"{name}={value}" for name, value in switches.items()]
    if own is not None and cfg is not None and cfg.stem != own.stem:
        words.append(cfg.stem)
    return Path(".".join([named.removesuffix(".ndjson").removesuffix(".trace"), *words, "html"]))


def _known(what: Sequence[str], switches: dict[str, bool | str | int]) -> tuple[Shown, Subject]:
    """Return what is shown of a trace or a model of a system that lockstep knows."""
    from lockstep.jobs.view.trace_view import of_model, of_trace, system_of_manifest
    from lockstep.systems.registry import UnknownModelError, model_named

    if len(what) != 1:
        raise click.UsageError("give one trace, or the name of one model; or a spec of your own with --spec")
    (name,) = what
    if Path(name).exists():
        from lockstep.jobs.view.log_view import of_exported
        from lockstep.trace.itf_reader import is_itf

        return of_exported(Path(name), switches) if is_itf(Path(name)) else of_trace(Path(name), switches, progress)
    if switches:
        raise click.UsageError(f"no file {name!r}; --switch is for traces, and a model has its own cfg")
    try:
        manifest, model = model_named(name)
    except UnknownModelError as error:
        raise UnknownModelError(f"no file {name!r}, and {error}") from error
    return of_model(manifest, model, system_of_manifest(manifest), progress)


def _of_own(
    own: Path,
    cfg: Path,
    mapping: Path | None,
    library: Sequence[Path],
    jar: Path | None,
    paths: Sequence[Path],
) -> tuple[Shown, Subject]:
    """Return what is shown of a spec of the reader's own: its counterexample, or traces of it."""
    from lockstep.jobs.view.log_view import of_own_logs, of_own_spec
    from lockstep.systems.own_logs import own_subject

    if not paths:
        if mapping is not None:
            raise click.UsageError("--mapping goes with the logs that it tells of")
        return of_own_spec(own, cfg, library, jar, progress)
    held = own_subject(own, cfg, mapping, search_path=library, jar=jar)
    return of_own_logs(paths, held, library, progress)
