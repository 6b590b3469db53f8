"""lockstep watch."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import fitted
from lockstep.cli.options import EXIT_CODES, progress, progress_end
from lockstep.cli.pipeline.options import SWITCHES, spark_options

if TYPE_CHECKING:
    from lockstep.pipeline.watch.run import Watch
    from lockstep.pipeline.watch.told import Told

#: At its end a watch waits so long for a webhook to take what it was sent.
_WEBHOOK_SECONDS = 10.0


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
    "--webhook",
    metavar="URL",
    help="POST each finding, and each verdict that is no pass, to this http or https URL as JSON, at least once.",
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
    webhook: str | None,
    patience: float,
    timeout: float,
    every: float,
    form: str,
    master: str | None,
    settings: dict[str, str],
) -> int:
    """Check the traces in DIR while they are written.

    A trace is a file DIR/**/*.trace.ndjson; each line is checked once, within seconds of its being complete, by Spark
    Structured Streaming. Files may be rotated: renamed, compressed, or copied and truncated. It needs the lines in any
    order that `seq` puts right, from 0 or 1 on without a gap.

    A violation is printed in the words of `lockstep check`, and is a row of the table STORE/verdicts. Ctrl-C ends with
    a summary; the next start goes on, and tells nothing twice in the table.

    Logs of a spec of your own (--spec, --mapping) cannot be watched: how a line is explained may depend on all lines
    after it. `lockstep check --spec ... --mapping ...` checks them.

    \b
    lockstep watch staging/traces
    lockstep watch --exit-on violation --store /var/lib/lockstep staging/traces
    lockstep watch --webhook https://alerts.example/raft staging/traces
    lockstep watch --until-idle 60 staging/traces
    """
    if once and until_idle is not None:
        raise click.UsageError("--once and --until-idle say different things")
    from lockstep.base.extras import extra
    from lockstep.base.verdict import Verdict
    from lockstep.cli.pipeline.options import against

    with extra("spark"):
        from lockstep.pipeline.watch.run import Options, Watch
        from lockstep.pipeline.watch.table import Store
        from lockstep.pipeline.watch.under_way import Limits
        from lockstep.pipeline.watch.webhook import Webhook, checked_url
    from lockstep.systems.specs import switches_of

    held = against(words, None, None, (), None, strict=False)
    options = Options(
        folder=folder,
        switches=switches_of(words),
        limits=Limits(patience, seconds=timeout),
        every=every,
        idle_seconds=0.0 if once else until_idle,
        ends_on_violation=exit_on is not None,
        master=master,
        settings=settings,
    )
    if webhook is not None:
        checked_url(webhook)
    kept = Store((store or folder / ".lockstep").absolute(), held.name or "told")
    with kept.opened({"folder": str(folder.absolute()), "switches": sorted(words)}):
        hook = None if webhook is None else Webhook(webhook, kept.folder, _warn)
        watch = Watch(options, kept, _teller(form), _replay(held.options), progress)
        try:
            verdict = watch.run(None if hook is None else hook.put)
        finally:
            progress_end()
            left = 0 if hook is None else hook.close(_WEBHOOK_SECONDS)
            if left:
                _warn(f"webhook: {left:,} not taken yet; they are sent at the next start")
            _warn(_summary(watch, folder))
    return Verdict.VIOLATED.exit_code if watch.has_ended_on_violation else verdict.exit_code


def _warn(text: str) -> None:
    progress_end()
    click.echo(text, err=True)


def _replay(options: tuple[str, ...]) -> Callable[[Path], str]:
    return lambda path: shlex.join(["lockstep", "check", *options, str(path)])


def _teller(form: str) -> Callable[[Told], None]:
    """Return what prints a row."""

    def tell(row: Told) -> None:
        progress_end()
        click.echo(_text(row) if form == "text" else json.dumps(row.record()))

    return tell


def _text(row: Told) -> str:
    from lockstep.report.verdict_text import finding_text, verdict_text

    result = row.result
    if row.settled:
        return fitted(verdict_text(result, colour=True), sys.stdout)
    return "\n".join(finding_text(row.source, each) for each in result.findings)


def _summary(watch: Watch, folder: Path) -> str:
    if not watch.verdicts and not watch.under_way:
        return f"watch: no verdict: there is no *.trace.ndjson in {folder}"
    counts = Counter(str(each) for each in watch.verdicts.values())
    settled = ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items())) or "no verdict"
    under_way = f"; {watch.under_way:,} without their end" if watch.under_way else ""
    return f"watch: {settled}{under_way}"
