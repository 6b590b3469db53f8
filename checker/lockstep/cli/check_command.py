"""lockstep check."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from lockstep.base.characters import visible_line
from lockstep.base.terminal import fit_to_terminal
from lockstep.cli.options import diagnosis_option, note_translation, progress, progress_end, spec_options

if TYPE_CHECKING:
    from lockstep.conformance.diagnosis import Diagnosis
    from lockstep.conformance.trace_verdict import TraceVerdict
    from lockstep.logs.log_check import InterruptedAfterVerdict
    from lockstep.logs.log_deviation import UnexplainedLine
    from lockstep.models.search_result import SpecFiles
    from lockstep.systems.file_check import KnownTraceCheck, OwnTraceCheck
    from lockstep.systems.trace_opening import SpecOptions
    from lockstep.trace.trace_paths import MissingTrace

#: The traces of one run whose causes are looked for.
MAX_DIAGNOSED = 5

#: Checks traces one after another.
Check: TypeAlias = "Callable[[Sequence[Path | MissingTrace]], Iterator[TraceVerdict]]"


@click.command()
@click.argument("traces", nargs=-1, required=True)
@spec_options()
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
    help="Seconds for each trace, or the logs of one system; after that it is inconclusive (default: no limit). The "
    "search for the cause of a finding may take as long again, at most 20 seconds, once the spec is loaded.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="With --mapping: no pass where some explanation of the logs violates a property (exit code 3).",
)
@click.option(
    "--reached",
    "covers",
    is_flag=True,
    help="Also print which parts of the protocol the traces reach, and which none does: their actions, and what the "
    "spec's definition Reached has (docs/measured/coverage.md).",
)
@diagnosis_option(
    "Name the flaw, or the expression of the spec, that would make a trace fit which leaves the spec. Takes up to "
    "20 seconds, or --timeout if that is less, for each of the first five."
)
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
    engine: str,
    timeout: float | None,
    strict: bool,
    covers: bool,
    diagnoses: bool,
    form: str,
    sarif: Path | None,
    spec_options: SpecOptions,
) -> int:
    """Check traces against the spec, step by step.

    TRACES are files, folders (every .ndjson in them; with --mapping every .log, too), patterns, or - for standard
    input. A recording, or a log of a system that lockstep knows, is imported first, as by `lockstep import`. Several
    such logs are those of the nodes of one group. They may begin anywhere: those that do not begin with the first start
    of their nodes are checked for what their lines establish (docs/traces/operator_logs.md).

    The verdict names the first event that the spec does not allow: its line, its action, the condition that is
    false with the values of both sides, and the lines of spec and reference. Each finding has a code
    (FILE:LINE: CODE ...); `lockstep explain CODE` explains it.

    For the first five traces that leave the spec, the verdict also names causes: the known flaw, or two, with which the
    spec allows the rest; the expression of the spec that decides, its value, and the step in which it was evaluated; or
    a line that alone is wrong, is too much, or follows a step that the trace does not have.

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
    lockstep check n0.log n1.log n2.log
    lockstep check --format junit my-traces/ > verdicts.xml
    lockstep check --format github --sarif verdicts.sarif my-traces/
    zcat trace.ndjson.gz | lockstep check -
    lockstep check --switch repaired figure8.trace.ndjson
    lockstep check --switch NAME=repaired --switch OTHER=true trace.ndjson
    lockstep check --engine tlc --timeout 300 trace.ndjson
    lockstep check --spec My.tla --mapping my.toml my.log
    lockstep check --spec My.tla counterexample.itf.json
    lockstep check --reached my-traces/
    """
    from lockstep.base.verdict import worst

    if covers:
        _refuse_coverage(engine, form)
    paths = _open(traces, spec_options, strict, sarif)
    check = _load_check(spec_options, engine == "tlc", timeout, strict, covers, MAX_DIAGNOSED if diagnoses else 0)
    verdicts, stopped = _print_each(check(paths), form)
    _print_all(verdicts, form)
    if covers and form == "text":
        _print_reached(verdicts)
    if sarif is not None:
        _write_sarif(sarif, verdicts, spec_options.own)
    if stopped is not None:
        raise stopped
    if form == "text" and any(verdict.findings for verdict in verdicts):
        with_tlc = ["--engine tlc"] if engine == "tlc" else []
        words = ["lockstep check", *with_tlc, *spec_options.command_line(), *traces]
        click.echo("\nreplay: " + visible_line(" ".join(words)))
    return worst([verdict.verdict for verdict in verdicts]).exit_code


# ---- The traces and the spec ----


def _open(traces: Sequence[str], options: SpecOptions, strict: bool, sarif: Path | None) -> list[Path | MissingTrace]:
    """Return the files that the words name; raises UsageError where an option does not fit them."""
    from lockstep.logs.log_rotation import is_log
    from lockstep.trace.trace_paths import trace_paths

    has_mapping = options.own is not None and options.own.mapping is not None
    if strict and not has_mapping:
        raise click.UsageError("--strict goes with --mapping")
    paths = trace_paths(traces, is_log, ".ndjson or .log") if has_mapping else trace_paths(traces)
    _refuse_to_overwrite(sarif, paths)
    return paths


def _refuse_to_overwrite(sarif: Path | None, paths: Sequence[Path | MissingTrace]) -> None:
    """Raise UsageError where the file for SARIF is one of the traces."""
    if sarif is None or not sarif.exists():
        return
    if any(isinstance(path, Path) and path.exists() and path.samefile(sarif) for path in paths):
        raise click.UsageError(f"--sarif {sarif} would overwrite a trace")


def _refuse_coverage(engine: str, form: str) -> None:
    """Raise UsageError where there is nobody to count what traces reach, or no place to print it."""
    if engine == "tlc":
        raise click.UsageError("--reached needs the compiled spec; leave --engine out")
    if form in ("junit", "github"):
        raise click.UsageError(f"--reached goes with --format text, json or jsonl, not {form}")


def _load_check(
    options: SpecOptions, by_tlc: bool, timeout: float | None, strict: bool, covers: bool, diagnosed: int
) -> Check:
    """Load the spec that the options choose, if they choose one, and return the check of traces against it."""
    from lockstep.systems.file_check import KnownTraceCheck, own_check

    own = options.own
    if own is None:
        known = KnownTraceCheck(options.switches, by_tlc, progress, options.jar, timeout, covers=covers)
        return lambda paths: _check_known(paths, known, _Diagnoses(diagnosed))
    note_translation(own.module, own.jar)
    check = own_check(own, by_tlc=by_tlc, timeout_seconds=timeout, strict=strict, say=progress, covers=covers)
    return lambda paths: _check_own(paths, check, _Diagnoses(diagnosed))


# ---- The check ----


def _check_known(
    paths: Sequence[Path | MissingTrace], check: KnownTraceCheck, diagnoses: _Diagnoses
) -> Iterator[TraceVerdict]:
    """Check traces whose headers name systems that lockstep knows, and logs of the nodes of such a system."""
    from lockstep.conformance.trace_verdict import malformed

    groups = {files[0]: (files, system) for files, system in check.groups([p for p in paths if isinstance(p, Path)])}
    for path in paths:
        if not isinstance(path, Path):
            yield malformed(path.word, path.reason)
        elif path in groups:  # and not beside the log of another node
            files, system = groups[path]
            if system is not None:
                yield check.check_logs(files, system)
            else:
                yield diagnoses.explain(check(path), partial(check.diagnosis, path))


def _check_own(
    paths: Sequence[Path | MissingTrace], check: OwnTraceCheck, diagnoses: _Diagnoses
) -> Iterator[TraceVerdict]:
    """Check files that may be the logs of one system, which is not checked where one of its logs is missing."""
    from lockstep.base.errors import BadInputError
    from lockstep.conformance.trace_verdict import malformed
    from lockstep.trace.trace_paths import MissingTrace

    files = [path for path in paths if isinstance(path, Path)]
    absent = [path for path in paths if not isinstance(path, Path)]
    try:
        systems = [] if check.is_together and absent else check.systems(files)
    except BadInputError as error:  # of two files it is not known which is older
        systems, absent = [], [*absent, MissingTrace(", ".join(map(str, files)), str(error))]
    for system in systems:
        refuted: list[UnexplainedLine] = []
        found = check(system[0], refuted.append) if len(system) == 1 else check.check_logs(system, refuted.append)
        why = partial(check.diagnosis_of, refuted[0]) if refuted else partial(check.diagnosis, system[0])
        found = diagnoses.explain(found, why)
        if check.loaded.logs is not None and len(systems) > 1 and found.deviation is not None:
            found.notes.append('note: each log is checked alone; if they are of one system, say files = "together"')
        yield found
    yield from (malformed(missing.word, missing.reason) for missing in absent)


@dataclass(slots=True)
class _Diagnoses:
    """Diagnoses of the first traces of a run that leave their spec: `left` are those that there may still be."""

    left: int

    def explain(self, verdict: TraceVerdict, diagnosis: Callable[[], Diagnosis | None]) -> TraceVerdict:
        """Return a verdict, with why the trace leaves the spec.

        Raises InterruptedAfterVerdict, with the verdict, where the search for that is interrupted.
        """
        from lockstep.base.interrupts import Interrupted
        from lockstep.logs.log_check import InterruptedAfterVerdict

        found = verdict.explicable
        if self.left and found is not None:
            progress(f"{verdict.source}: looking for the cause of line {found.line}")
            try:
                verdict.explain(diagnosis())
            except Interrupted as error:
                raise InterruptedAfterVerdict(error.number, verdict) from error
            self.left -= 1
        return verdict


# ---- The report ----


def _print_each(found: Iterable[TraceVerdict], form: str) -> tuple[list[TraceVerdict], InterruptedAfterVerdict | None]:
    """Print verdicts as they come; return them, and the interrupt that ended the check after one of them."""
    from lockstep.logs.log_check import InterruptedAfterVerdict

    verdicts: list[TraceVerdict] = []
    try:
        for verdict in found:
            verdicts.append(verdict)
            _print_verdict(verdict, form)
    except InterruptedAfterVerdict as error:
        verdicts.append(error.verdict)
        _print_verdict(error.verdict, form)
        return verdicts, error
    return verdicts, None


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


def _print_reached(verdicts: Sequence[TraceVerdict]) -> None:
    """Print what the traces reach together, and what none does."""
    from lockstep.jobs.fleet_coverage import Coverage

    found = Coverage()
    counted = [verdict for verdict in verdicts if verdict.reached]
    for verdict in counted:
        found.add_verdict(verdict)
    click.echo(f"\nreached by {len(counted)} of {len(verdicts)} traces:\n")
    if counted:
        click.echo(found.text())
        never = found.never_text(frozenset().union(*(verdict.reachable for verdict in counted)))
        click.echo("\n" + (never or "every part is reached"))


def _write_sarif(path: Path, verdicts: Sequence[TraceVerdict], own: SpecFiles | None) -> None:
    from lockstep.base.whole_files import writing_whole
    from lockstep.report.sarif_report import sarif_log

    with writing_whole(path) as file:
        file.write(f"{sarif_log(verdicts, own)}\n".encode())


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
