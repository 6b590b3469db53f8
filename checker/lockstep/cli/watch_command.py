"""lockstep watch."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import fit_to_terminal
from lockstep.cli.options import EXIT_CODES, progress, progress_end
from lockstep.cli.pipeline.pipeline_options import SWITCHES, spark_options

if TYPE_CHECKING:
    from lockstep.conformance.trace_verdict import Finding
    from lockstep.pipeline.watch.verdict_table import WatchVerdict
    from lockstep.pipeline.watch.watch_stream import Watch, WatchOptions


def _refuse(_: click.Context, __: click.Parameter, given: Path | None) -> None:
    if given is not None:
        raise click.UsageError(
            "logs of a spec of your own cannot be watched: which steps explain a line may depend on all lines behind "
            "it; check them with `lockstep check --spec ... --mapping ...`"
        )


#: The options that only one of the two forms has, by their parameters.
_OF_FOLDERS = {
    "store": "--store",
    "patience": "--patience",
    "timeout": "--timeout",
    "master": "--master",
    "settings": "--conf",
}
_OF_FILES = {"skew": "--skew", "recorded_version": "--recorded-version", "output": "--output"}


@click.command(epilog=EXIT_CODES)
@click.argument("paths", metavar="DIR | FILES...", nargs=-1, required=True, type=click.Path(path_type=Path))
@SWITCHES
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the table of verdicts and Spark's checkpoint (default: DIR/.lockstep). A watch that is "
    "started again with the same store goes on where it was.",
)
@click.option("--once", is_flag=True, help="Check all there is, and end with the verdict and exit code of `check`.")
@click.option(
    "--until-idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End like --once after this time without a new line.",
)
@click.option(
    "--exit-on",
    type=click.Choice(["violation"]),
    help="End at the first violation, with exit code 1; of DIR that is one in the store.",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for an event that is missing, or for a file that is gone; then the trace is inconclusive.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the check of a trace's new lines may take, at most 2 MiB, and the compiling of its spec; then the "
    "trace is inconclusive.",
)
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="How often to look for new lines (default: 1 for DIR, 0.1 for FILES).",
)
@click.option("--skew", default="0 ms", help="With FILES: as for `lockstep merge`.")
@click.option("--recorded-version", help="With FILES: as for `lockstep merge`.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With FILES: write the recording of the group into this file, as `lockstep merge` does.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    help="How to print what is found: as text, or as one JSON object per line.",
)
@click.option("--spec", expose_value=False, hidden=True, callback=_refuse)
@click.option("--mapping", expose_value=False, hidden=True, callback=_refuse)
@spark_options
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[Path, ...],
    words: tuple[str, ...],
    store: Path | None,
    once: bool,
    until_idle: float | None,
    exit_on: str | None,
    patience: float,
    timeout: float,
    every: float | None,
    skew: str,
    recorded_version: str | None,
    output: Path | None,
    form: str,
    master: str | None,
    settings: dict[str, str],
) -> int:
    """Check a running group, or the traces in DIR, while they are written.

    FILES are what the recorders of a group's nodes write, one file each (traces/recorders, `lockstep node --record`).
    They are merged as by `lockstep merge` and checked as by `lockstep check`, about a second behind the nodes; they
    need not be there yet. What is found is checked once more with all that is written, and printed if that finds it,
    too. Ctrl-C, or the end by an option, prints the verdict on the group.

    DIR has traces of whole groups. A trace is a file DIR/**/*.trace.ndjson that only grows; each line is checked once,
    within seconds of its being complete, by Spark Structured Streaming. Lines may be in any order that `seq` puts
    right, from 0 or 1 on without a gap. A violation is printed in the words of `lockstep check`, and is a row of the
    table STORE/verdicts. Ctrl-C ends with a summary; the next start goes on, and puts nothing twice into the table.

    Logs of a spec of your own (--spec, --mapping) cannot be watched: how a line is explained may depend on all lines
    after it. `lockstep check --spec ... --mapping ...` checks them.

    \b
    lockstep watch n1.ndjson n2.ndjson n3.ndjson
    lockstep watch --exit-on violation -o group.ndjson n1.ndjson n2.ndjson n3.ndjson
    lockstep watch staging/traces
    lockstep watch --exit-on violation --store /var/lib/lockstep staging/traces
    lockstep watch --format jsonl staging/traces | vector --config alerts.yaml
    lockstep watch --until-idle 60 staging/traces
    """
    if once and until_idle is not None:
        raise click.UsageError("--once and --until-idle say different things")
    if len(paths) == 1 and not paths[0].exists():  # the files of a group may come later, but not a folder
        raise click.BadParameter(f"Directory '{paths[0]}' does not exist.", param_hint="DIR")
    is_folder = len(paths) == 1 and paths[0].is_dir()
    for name, option in (_OF_FILES if is_folder else _OF_FOLDERS).items():
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{option} goes with {'FILES' if is_folder else 'DIR'}")
    idle = 0.0 if once else until_idle
    if not is_folder:
        return _watch_group(paths, words, skew, recorded_version, output, every, idle, exit_on is not None, form)
    from lockstep.base.extras import extra
    from lockstep.cli.pipeline.pipeline_options import choose_spec

    with extra("spark"):
        from lockstep.pipeline.watch.resumed_check import WatchLimits
        from lockstep.pipeline.watch.watch_stream import WatchOptions
    from lockstep.systems.trace_specs import switches_of

    (folder,) = paths
    held = choose_spec(words, None, None, (), None, strict=False)
    options = WatchOptions(
        folder=folder,
        switches=switches_of(words),
        limits=WatchLimits(patience, seconds=timeout),
        every=every or 1.0,
        idle_seconds=idle,
        ends_on_violation=exit_on is not None,
        check_options=held.options,
        master=master,
        settings=settings,
    )
    return _watch_folder(options, store or folder / ".lockstep", held.name or "declared", sorted(words), form)


def _watch_folder(options: WatchOptions, store: Path, variant: str, words: list[str], form: str) -> int:
    """Watch the traces in a folder; return the exit code."""
    from lockstep.base.verdict import Verdict
    from lockstep.pipeline.watch.verdict_table import WatchStore
    from lockstep.pipeline.watch.watch_stream import Watch

    watch_store = WatchStore(store.absolute(), variant)
    with watch_store.opened({"folder": str(options.folder.absolute()), "switches": words}):
        watch = Watch(options, watch_store, _printer(form), progress)
        try:
            verdict = watch.run()
        finally:
            progress_end()
            click.echo(_summary(watch, options.folder), err=True)
    return Verdict.VIOLATED.exit_code if watch.has_ended_on_violation else verdict.exit_code


def _watch_group(
    paths: Sequence[Path],
    words: Sequence[str],
    skew: str,
    version: str | None,
    output: Path | None,
    every: float | None,
    idle: float | None,
    ends_on_violation: bool,
    form: str,
) -> int:
    """Watch the files of one group's nodes; return the exit code."""
    from lockstep.base.interrupts import deferred_interrupts
    from lockstep.cli.import_command import nanoseconds
    from lockstep.cluster.watched_group import POLL, GroupWatch, WatchedGroup
    from lockstep.report.verdict_text import finding_text, verdict_record, verdict_text
    from lockstep.systems.node_recorder import MergeOptions
    from lockstep.systems.trace_files import refuse_overwriting
    from lockstep.systems.trace_specs import switches_of

    refuse_overwriting(output, paths, "recording")
    merge = MergeOptions(version, nanoseconds(skew))
    watch = GroupWatch(paths, merge, switches_of(words), output, every or POLL, idle, ends_on_violation)
    is_text = form == "text"

    def show(finding: Finding) -> None:
        progress_end()
        text = finding_text(watch.source, finding)
        click.echo(text if is_text else json.dumps({"source": watch.source, "finding": asdict(finding)}))

    with deferred_interrupts() as interrupts:
        found = WatchedGroup(watch, lambda: bool(interrupts), show, progress).run()
        progress_end()
        text = fit_to_terminal(verdict_text(found, colour=True), sys.stdout)
        click.echo(text if is_text else json.dumps(verdict_record(found)))
        interrupts.received.clear()  # a watch ends like this
    return found.verdict.exit_code


def _printer(form: str) -> Callable[[WatchVerdict], None]:
    """Return what prints a row."""

    def show(row: WatchVerdict) -> None:
        progress_end()
        click.echo(_text(row) if form == "text" else json.dumps(row.record()))

    return show


def _text(row: WatchVerdict) -> str:
    from lockstep.report.verdict_text import finding_text, verdict_text

    if row.settled:
        return fit_to_terminal(verdict_text(row, colour=True), sys.stdout)
    return "\n".join(finding_text(row.source, each) for each in row.findings)


def _summary(watch: Watch, folder: Path) -> str:
    if not watch.verdicts and not watch.unfinished:
        return f"watch: no verdict: there is no *.trace.ndjson in {folder}"
    counts = Counter(str(each) for each in watch.verdicts.values())
    settled = ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items())) or "no verdict"
    unfinished = f"; {watch.unfinished:,} without their end" if watch.unfinished else ""
    return f"watch: {settled}{unfinished}"
