"""lockstep watch."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import fit_to_terminal
from lockstep.cli.options import EXIT_CODES, progress, progress_end
from lockstep.cli.pipeline.pipeline_options import SWITCHES, spark_options

if TYPE_CHECKING:
    from lockstep.pipeline.watch.verdict_table import WatchVerdict
    from lockstep.pipeline.watch.watch_stream import Watch


def _refuse(_: click.Context, __: click.Parameter, given: Path | None) -> None:
    if given is not None:
        raise click.UsageError(
            "logs of a spec of your own cannot be watched: which steps explain a line may depend on all lines behind "
            "it; check them with `lockstep check --spec ... --mapping ...`"
        )


@click.command(epilog=EXIT_CODES)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
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
    help="End at the first violation that the store has, with exit code 1.",
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
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for new lines.",
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
def command(
    folder: Path,
    words: tuple[str, ...],
    store: Path | None,
    once: bool,
    until_idle: float | None,
    exit_on: str | None,
    patience: float,
    timeout: float,
    every: float,
    form: str,
    master: str | None,
    settings: dict[str, str],
) -> int:
    """Check the traces in DIR while they are written.

    A trace is a file DIR/**/*.trace.ndjson that only grows; each line is checked once, within seconds of its being
    complete, by Spark Structured Streaming. Lines may be in any order that `seq` puts right, from 0 or 1 on without a
    gap.

    A violation is printed in the words of `lockstep check`, and is a row of the table STORE/verdicts. Ctrl-C ends with
    a summary; the next start goes on, and puts nothing twice into the table.

    Logs of a spec of your own (--spec, --mapping) cannot be watched: how a line is explained may depend on all lines
    after it. `lockstep check --spec ... --mapping ...` checks them.

    \b
    lockstep watch staging/traces
    lockstep watch --exit-on violation --store /var/lib/lockstep staging/traces
    lockstep watch --format jsonl staging/traces | vector --config alerts.yaml
    lockstep watch --until-idle 60 staging/traces
    """
    if once and until_idle is not None:
        raise click.UsageError("--once and --until-idle say different things")
    from lockstep.base.extras import extra
    from lockstep.base.verdict import Verdict
    from lockstep.cli.pipeline.pipeline_options import choose_spec

    with extra("spark"):
        from lockstep.pipeline.watch.resumed_check import WatchLimits
        from lockstep.pipeline.watch.verdict_table import WatchStore
        from lockstep.pipeline.watch.watch_stream import Watch, WatchOptions
    from lockstep.systems.trace_specs import switches_of

    held = choose_spec(words, None, None, (), None, strict=False)
    options = WatchOptions(
        folder=folder,
        switches=switches_of(words),
        limits=WatchLimits(patience, seconds=timeout),
        every=every,
        idle_seconds=0.0 if once else until_idle,
        ends_on_violation=exit_on is not None,
        check_options=held.options,
        master=master,
        settings=settings,
    )
    watch_store = WatchStore((store or folder / ".lockstep").absolute(), held.name or "declared")
    with watch_store.opened({"folder": str(folder.absolute()), "switches": sorted(words)}):
        watch = Watch(options, watch_store, _printer(form), progress)
        try:
            verdict = watch.run()
        finally:
            progress_end()
            click.echo(_summary(watch, folder), err=True)
    return Verdict.VIOLATED.exit_code if watch.has_ended_on_violation else verdict.exit_code


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
