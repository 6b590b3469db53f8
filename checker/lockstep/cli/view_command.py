"""lockstep view."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.options import (
    behaviour_named,
    completing,
    diagnosis_option,
    model_names,
    progress,
    progress_end,
    spec_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep.report.page.shown_behaviour import ShownBehaviour
    from lockstep.systems.trace_opening import SpecOptions


@click.command()
@click.argument("words", metavar="[TRACE|MODEL|LOG]...", nargs=-1, shell_complete=completing(model_names))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write (default: NAME.html; with --switch or another --cfg NAME.VARIANT.html).",
)
@diagnosis_option(
    "Show why a trace leaves the spec: the flaw, or the expression of the spec, that would make it fit. Takes up "
    "to 20 seconds."
)
@spec_options()
def command(words: tuple[str, ...], output: Path | None, diagnoses: bool, spec_options: SpecOptions) -> int:
    """Write a page for stepping through a trace.

    The page is one HTML file that a browser opens from the disk; it loads nothing. It begins with what is wrong and,
    where the trace leaves the spec, with the cause that `lockstep check` names. It opens at the step in which that was
    decided, if that is an earlier one, and events that cannot have had to do with it are faint. It draws the messages
    between the nodes, and at each step the log of every node with the indexes into it, what the step changes, and its
    lines in the spec and in the reference. For a long trace it shows the part around the first finding, or the end: up
    to about 2,000 steps, and fewer where the page would exceed 8 MB. The page and the last line printed say which.

    The page of another variant of the spec has a name of its own: figure8.repaired.html beside figure8.html.

    With --spec it shows a spec of your own: the counterexample that a search of the compiled spec finds, or a trace,
    or one of the behaviours that explain logs with a mapping. It draws no nodes then, and shows the whole state at
    each step.

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
    from lockstep.report.page.build_page import build_page
    from lockstep.report.page.page_content import MAX_PAGE_BYTES, fit_to_page

    target = output or _default_target(words, spec_options)
    if any(target.exists() and Path(word).exists() and target.samefile(word) for word in words):
        raise click.UsageError(f"{target} would overwrite what is to be shown")
    try:
        behaviour, context = behaviour_named(words, spec_options, diagnoses=diagnoses)
        behaviour = _with_check(behaviour, words, spec_options)
        progress(f"{target}: the page")
        shown, tree = fit_to_page(behaviour, context)
        text = build_page(tree).encode()
    finally:
        progress_end()
    with writing_whole(target) as file:
        file.write(text)
    click.echo(f"{target}: {len(shown.steps):,} of {shown.count + 1:,} states, {shown.verdict_line}")
    if len(shown.steps) <= shown.count:
        first, last = shown.steps[0], shown.steps[-1]
        sides = [f"before {shown.name_of(first)}"] * (first.number > 0)
        sides += [f"after {shown.name_of(last)}"] * (last.number < shown.count)
        why = f": a page has at most {MAX_PAGE_BYTES // 1_000_000} MB" if shown is not behaviour else ""
        click.echo(f"left out are the states {' and '.join(sides)}{why}")
    return 0


def _with_check(behaviour: ShownBehaviour, words: Sequence[str], options: SpecOptions) -> ShownBehaviour:
    """Return a behaviour that names the command that comes to its verdict again."""
    from lockstep.report.page.shown_behaviour import Origin

    is_trace = any(Path(word).exists() for word in words)
    checked = ["lockstep", "check" if is_trace else "model", *options.command_line(), *words]
    return replace(behaviour, origins=(Origin("checked again by", shlex.join(checked)), *behaviour.origins))


def _default_target(words: Sequence[str], options: SpecOptions) -> Path:
    """Return the page to write where none is named; different variants of a trace or spec have different pages."""
    own = options.own
    named = Path(words[0] if words else own.module.stem if own is not None else "").name
    variant = [*options.switch_words()]
    if own is not None and own.cfg.stem != own.module.stem:
        variant.append(own.cfg.stem)
    return Path(".".join([named.removesuffix(".ndjson").removesuffix(".trace"), *variant, "html"]))
