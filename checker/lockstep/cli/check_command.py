"""lockstep check."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.characters import visible_line
from lockstep.base.terminal import fit_to_terminal
from lockstep.cli.options import (
    FILE,
    LIBRARY,
    OWN_CFG,
    OWN_SPEC,
    SWITCH,
    TLA_TOOLS,
    cfg_of,
    note_translation,
    progress,
    progress_end,
)

if TYPE_CHECKING:
    from lockstep.conformance.trace_verdict import TraceVerdict
    from lockstep.systems.own_logs import OwnLogs
    from lockstep.trace.trace_paths import MissingTrace


@click.command()
@click.argument("traces", nargs=-1, required=True)
@SWITCH
@OWN_SPEC
@OWN_CFG
@LIBRARY
@click.option("--mapping", type=FILE, help="With --spec: a TOML file that says which action each line of your log is.")
@click.option(
    "--engine",
    type=click.Choice(["tlc", "compiled"]),
    default="compiled",
    show_default=True,
    help="What takes the steps: the compiled spec, or TLC alone (slow, and the authority).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for each trace, or the logs of one system; after that it is inconclusive (default: no limit).",
)
@click.option(
    "--strict",
    is_flag=True,
    help="With --mapping: no pass where some explanation of the logs violates a property (exit code 3).",
)
@TLA_TOOLS
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "jsonl", "junit", "github"]),
    default="text",
    help="How to print the verdicts: as text, as one JSON array, as one JSON object per line, as JUnit XML, or as text "
    "with annotations and a job's summary for GitHub Actions.",
)
@click.option(
    "--sarif",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the findings into this file as well, as SARIF 2.1.0.",
)
def command(
    traces: tuple[str, ...],
    switches: dict[str, bool | str | int],
    own: Path | None,
    cfg: Path | None,
    library: tuple[Path, ...],
    mapping: Path | None,
    engine: str,
    timeout: float | None,
    strict: bool,
    tla_tools: Path | None,
    form: str,
    sarif: Path | None,
) -> int:
    """Check traces against the spec, step by step.

    TRACES are files, folders (every .ndjson in them; with --mapping every .log, too), patterns, or - for standard
    input.

    The verdict names the first event that the spec does not allow: its line, its action, the condition that is
    false with the values of both sides, and the lines of spec and reference. Each finding has a code
    (FILE:LINE: CODE ...); `lockstep explain CODE` explains it.

    The header of a trace says which known flaws of the protocol its system repairs. A flaw that the header leaves
    out counts as published: the spec then allows what the flaw does, and reports the properties that it breaks.
    `--switch repaired` holds the trace against the protocol without any flaw.

    With --spec a trace may be a counterexample of Apalache, Quint or lockstep in the Informal Trace Format (ITF).

    `--engine tlc` leaves the whole check to TLC. Each trace becomes a TLA+ module in which every event is one step
    of the spec. TLC is the authority if the two engines ever differ. It is slow: it takes seconds for a trace, and
    as long again for each property that fails. It names the event, but not the condition that is false. It searches
    for no steps: each line of a log must describe one in full.

    \b
    lockstep check trace.ndjson
    lockstep check --format junit my-traces/ > verdicts.xml
    lockstep check --format github --sarif verdicts.sarif my-traces/
    zcat trace.ndjson.gz | lockstep check -
    lockstep check --switch repaired figure8.trace.ndjson
    lockstep check --switch NAME=repaired --switch OTHER=true trace.ndjson
    lockstep check --engine tlc --timeout 300 trace.ndjson
    lockstep check --spec My.tla --mapping my.toml my.log
    lockstep check --spec My.tla counterexample.itf.json
    """
    from lockstep.base.verdict import worst
    from lockstep.conformance.trace_verdict import malformed
    from lockstep.logs.log_check import InterruptedAfterVerdict
    from lockstep.logs.log_rotation import is_log
    from lockstep.systems.file_check import ByTlc, KnownTraceCheck, own_check
    from lockstep.trace.trace_paths import trace_paths

    if own is None and (cfg or mapping or library):
        raise click.UsageError("--cfg, -I and --mapping go with --spec")
    if own is not None and switches:
        raise click.UsageError("--switch is for traces of a system that lockstep knows")
    tlc = ByTlc(timeout, tla_tools) if engine == "tlc" else None
    if strict and mapping is None:
        raise click.UsageError("--strict goes with --mapping")
    paths = trace_paths(traces) if mapping is None else trace_paths(traces, is_log, ".ndjson or .log")
    _refuse_to_overwrite(sarif, paths)
    found: Iterator[TraceVerdict]
    if own is None:
        known = KnownTraceCheck(switches, tlc, progress, jar=tla_tools, timeout_seconds=timeout)
        found = (known(path) if isinstance(path, Path) else malformed(path.word, path.reason) for path in paths)
    else:
        note_translation(own, tla_tools)
        judge = own_check(
            own,
            cfg_of(own, cfg),
            mapping,
            tlc,
            search_path=library,
            jar=tla_tools,
            timeout_seconds=timeout,
            strict=strict,
            say=progress,
        )
        found = _check_own(paths, judge)
    verdicts: list[TraceVerdict] = []
    stopped: InterruptedAfterVerdict | None = None
    try:
        for verdict in found:
            verdicts.append(verdict)
            _print_verdict(verdict, form)
    except InterruptedAfterVerdict as error:
        stopped = error
        verdicts.append(error.verdict)
        _print_verdict(error.verdict, form)
    _print_all(verdicts, form)
    if sarif is not None:
        _write_sarif(sarif, verdicts, own, library)
    if stopped is not None:
        raise stopped
    if form == "text" and any(verdict.findings for verdict in verdicts):
        options = _own_words(own, cfg, library, mapping) if own is not None else _switch_words(switches)
        with_tlc = ["--engine tlc"] if tlc is not None else []
        click.echo("\nreplay: " + visible_line(" ".join(["lockstep check", *with_tlc, *options, *traces])))
    return worst([verdict.verdict for verdict in verdicts]).exit_code


def _refuse_to_overwrite(sarif: Path | None, paths: Sequence[Path | MissingTrace]) -> None:
    """Raise UsageError where the file for SARIF is one of the traces."""
    if sarif is None or not sarif.exists():
        return
    if any(isinstance(path, Path) and path.exists() and path.samefile(sarif) for path in paths):
        raise click.UsageError(f"--sarif {sarif} would overwrite a trace")


def _check_own(paths: Sequence[Path | MissingTrace], judge: OwnLogs) -> Iterator[TraceVerdict]:
    """Check files that may be the logs of one system, which is not checked where one of its logs is missing."""
    from lockstep.base.errors import BadInputError
    from lockstep.conformance.trace_verdict import malformed
    from lockstep.trace.trace_paths import MissingTrace

    files = [path for path in paths if isinstance(path, Path)]
    absent = [path for path in paths if not isinstance(path, Path)]
    try:
        systems = [] if judge.together and absent else judge.systems(files)
    except BadInputError as error:  # of two files it is not known which is older
        systems, absent = [], [*absent, MissingTrace(", ".join(map(str, files)), str(error))]
    for system in systems:
        found = judge(system[0]) if len(system) == 1 else judge.all(system)
        if judge.searched is not None and len(systems) > 1 and found.deviation is not None:
            found.notes.append('note: each log is checked alone; if they are of one system, say files = "together"')
        yield found
    yield from (malformed(missing.word, missing.reason) for missing in absent)


def _print_verdict(verdict: TraceVerdict, form: str) -> None:
    """Print one verdict as soon as there is one, where the format allows it."""
    from lockstep.report.verdict_text import verdict_record, verdict_text

    progress_end()
    if form == "text":
        click.echo(fit_to_terminal(verdict_text(verdict, colour=True), sys.stdout))
    elif form == "jsonl":
        click.echo(json.dumps(verdict_record(verdict)))


def _print_all(verdicts: Sequence[TraceVerdict], form: str) -> None:
    from lockstep.report.verdict_text import verdict_record

    if form == "json":
        click.echo(json.dumps([verdict_record(verdict) for verdict in verdicts], indent=2))
    elif form == "junit":
        from lockstep.report.junit_xml import junit_xml

        click.echo(junit_xml(verdicts))
    elif form == "github":
        _for_github(verdicts)


def _write_sarif(path: Path, verdicts: Sequence[TraceVerdict], own: Path | None, library: Sequence[Path]) -> None:
    from lockstep.base.whole_files import writing_whole
    from lockstep.report.sarif_report import sarif_log

    with writing_whole(path) as file:
        file.write(f"{sarif_log(verdicts, own, library)}\n".encode())


def _for_github(verdicts: Sequence[TraceVerdict]) -> None:
    """Print the verdicts where no line of them is a command, then the annotations; append to the job's summary."""
    import os

    from lockstep.report.github_actions import commands, summary, without_commands
    from lockstep.report.verdict_text import verdict_text

    click.echo(without_commands("\n".join(map(verdict_text, verdicts))))
    for line in commands(verdicts):
        click.echo(line)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:  # of a file's name
            file.write(summary(verdicts))


def _own_words(own: Path, cfg: Path | None, library: Sequence[Path], mapping: Path | None) -> Iterable[str]:
    given = [("--spec", own), ("--cfg", cfg), *(("-I", folder) for folder in library), ("--mapping", mapping)]
    return (f"{option} {path}" for option, path in given if path is not None)


def _switch_words(switches: Mapping[str, object]) -> Iterator[str]:
    from lockstep.systems.trace_specs import variants

    for name, value in switches.items():
        yield f"--switch {name}" if name in variants() else f"--switch {name}={value}"
