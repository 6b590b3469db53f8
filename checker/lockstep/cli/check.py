"""The commands about traces: check, tamper, explain."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lockstep.base.verdict import Verdict, worst
from lockstep.cli.options import FILE, FORMAT, OWN_CFG, OWN_SPEC, TLA_TOOLS, cfg_of, completing, progress, progress_end
from lockstep.conformance.by_tlc import Subject, check_with_tlc, dledger_subject
from lockstep.conformance.check import Events, TraceVerdict, check_trace, failure, unreadable
from lockstep.conformance.compare import Words
from lockstep.conformance.tamper import TALLY_HEADS, NotConformingError, Outcome, Tally, Tampered, Tampering, tamperings
from lockstep.models.search import Engine
from lockstep.report.junit import junit_xml
from lockstep.report.records import verdict_record
from lockstep.report.text import table, verdict_text
from lockstep.systems.own import check_own, load_own_spec
from lockstep.systems.rules import OTHER_SPEC, codes, rule
from lockstep.systems.specs import CHOICES, VARIANTS, spec_hash, trace_spec
from lockstep.tla.spec import Spec, parse_spec
from lockstep.trace.format import Event, Header, TraceError, read_trace
from lockstep.trace.json_lines import source_name
from lockstep.trace.mapping import read_mapping
from lockstep.trace.paths import trace_paths

#: A passing line is shown after so many events.
_OFTEN = 500


def _switches(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, bool | str]:
    """Read NAME=VALUE pairs; `repaired` and `published` alone set every flaw switch."""
    chosen: dict[str, bool | str] = {}
    for value in values:
        if value in VARIANTS:
            chosen |= VARIANTS[value]
            continue
        name, equals, text = value.partition("=")
        if not equals or text.lower() not in _values(name):
            names = ", ".join(f"{name}={'|'.join(_values(name))}" for name in CHOICES)
            raise click.BadParameter(f"{value!r} is none of: {', '.join(VARIANTS)}, {names}")
        chosen[name] = _values(name)[text.lower()]
    return chosen


def _values(name: str) -> dict[str, bool | str]:
    """Return what a constant may be, by the word for it."""
    return {str(choice).lower(): choice for choice in CHOICES.get(name, ())}


@click.command()
@click.argument("traces", nargs=-1, required=True)
@click.option(
    "--switch",
    "switches",
    multiple=True,
    callback=_switches,
    shell_complete=completing(lambda: [*VARIANTS, *(f"{name}={value}" for name in CHOICES for value in _values(name))]),
    help="Hold the trace against another variant of the spec: `repaired`, `published`, or NAME=VALUE.",
)
@OWN_SPEC
@OWN_CFG
@click.option("--mapping", type=FILE, help="With --spec: how lines of your log are told in it (TOML).")
@click.option(
    "--engine",
    type=click.Choice([each.value for each in Engine]),
    default=Engine.COMPILED.value,
    show_default=True,
    help="What takes the steps: the compiled spec, or TLC alone, which is slow and the authority.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="With --engine tlc: seconds for each trace, then it is inconclusive (default: no limit).",
)
@TLA_TOOLS
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "jsonl", "junit"]),
    default="text",
    help="How to print the verdicts: for people, as one JSON array, as a JSON object a line, or as JUnit XML.",
)
def check(
    traces: tuple[str, ...],
    switches: dict[str, bool | str],
    own: Path | None,
    cfg: Path | None,
    mapping: Path | None,
    engine: str,
    timeout: float | None,
    tla_tools: Path | None,
    form: str,
) -> int:
    """Check traces against the spec, step by step.

    TRACES are files, folders (every .ndjson in them), patterns, or - for standard input.

    The verdict names the first event that the spec does not allow: its line, the action, the conjunct that is
    false with both values, and the lines of spec and reference. Each finding has a code (FILE:LINE: CODE ...), which
    `lockstep explain` tells about.

    The engine tlc checks the same with TLC alone, one trace after the other: each becomes a TLA+ module in which
    an event is one step of the spec, and every property is TLC's to check. It is the authority, should the two
    ever differ, and slow: seconds a trace, and once more for each property that fails. It names the event, but of
    an action that is not allowed no conjunct.

    \b
    lockstep check trace.ndjson
    lockstep check --format junit my-traces/ > verdicts.xml
    zcat trace.ndjson.gz | lockstep check -
    lockstep check --switch repaired figure8.trace.ndjson
    lockstep check --switch PriorTermCommit=repaired --switch Fifo=true trace.ndjson
    lockstep check --engine tlc --timeout 300 trace.ndjson
    lockstep check --spec My.tla --mapping my.toml my.log
    """
    if own is None and (cfg or mapping):
        raise click.UsageError("--cfg and --mapping go with --spec")
    if own is not None and switches:
        raise click.UsageError("--switch is for traces of DLedger")
    tlc = _TlcOptions(timeout, tla_tools) if engine == Engine.TLC else None
    if tlc is None and (timeout, tla_tools) != (None, None):
        raise click.UsageError("--timeout and --tla-tools go with --engine tlc")
    paths = trace_paths(traces)
    judge = _judge_dledger(switches, tlc) if own is None else _judge_own(own, cfg, mapping, tlc)
    verdicts: list[TraceVerdict] = []
    for path in paths:
        verdicts.append(judge(path))
        progress_end()
        _say(verdicts[-1], form)
    _say_all(verdicts, form)
    if form == "text" and any(verdict.findings for verdict in verdicts):
        options = _own_words(own, cfg, mapping) if own is not None else _switch_words(switches)
        with_tlc = ["--engine tlc"] if tlc is not None else []
        click.echo("\nreplay: " + " ".join(["lockstep check", *with_tlc, *options, *traces]))
    return worst([verdict.verdict for verdict in verdicts]).exit_code


def _say(verdict: TraceVerdict, form: str) -> None:
    """Print one verdict as soon as there is one, where the format allows it."""
    if form == "text":
        click.echo(verdict_text(verdict, colour=True))  # click takes it out where it is not wanted
    elif form == "jsonl":
        click.echo(json.dumps(verdict_record(verdict)))


def _say_all(verdicts: Sequence[TraceVerdict], form: str) -> None:
    if form == "json":
        click.echo(json.dumps([verdict_record(verdict) for verdict in verdicts], indent=2))
    elif form == "junit":
        click.echo(junit_xml(verdicts))


@dataclass(frozen=True, slots=True)
class _TlcOptions:
    """How `check` runs TLC: seconds for each trace, and the jar."""

    timeout: float | None
    jar: Path | None


@dataclass(frozen=True, slots=True)
class _Told:
    """Events that are counted on a terminal while they are read."""

    events: Events

    @property
    def source(self) -> str:
        """The file."""
        return self.events.source

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        for count, (line, event) in enumerate(self.events):
            if count % _OFTEN == 0:
                progress(f"{self.source}: event {count:,}")
            yield line, event


Judge = Callable[[Path], TraceVerdict]


def _judge_dledger(switches: dict[str, bool | str], tlc: _TlcOptions | None) -> Judge:
    """Return the check of one trace of DLedger; what goes wrong with it is its own verdict, and leaves the others."""

    def judge(path: Path) -> TraceVerdict:
        source = source_name(path)
        try:
            trace = read_trace(path)
        except OSError as error:
            return unreadable(error, source)
        except TraceError as error:
            return failure(error, source)
        try:
            if tlc is None:
                found = check_trace(_Told(trace), trace_spec(trace.header, source, switches))
            else:
                subject = dledger_subject(trace.header, source, switches, tlc.jar)
                found = check_with_tlc(trace, subject, timeout_seconds=tlc.timeout, jar=tlc.jar)
        except Exception as error:
            return failure(error, source)
        found.notes.extend(_notes(trace.header, source))
        return found

    return judge


def _notes(header: Header, source: str) -> Iterator[str]:
    if header.spec_hash and header.spec_hash != spec_hash():
        told = f"written with the spec {header.spec_hash[:12]}, checked against {spec_hash()[:12]}"
        yield f"{source}:1: {OTHER_SPEC} note: {told}"


def _judge_own(own: Path, cfg: Path | None, mapping: Path | None, tlc: _TlcOptions | None) -> Judge:
    config = cfg_of(own, cfg)
    spec = load_own_spec(own, config)
    mapped = None if mapping is None else read_mapping(mapping)
    if tlc is None:
        return lambda path: check_own(path, spec, mapped)
    parsed = parse_spec(own, config, jar=tlc.jar)

    def with_tlc(trace: Events, spec: Spec, words: Words) -> TraceVerdict:
        return check_with_tlc(trace, Subject(spec, parsed, words), timeout_seconds=tlc.timeout, jar=tlc.jar)

    return lambda path: check_own(path, spec, mapped, with_tlc)


def _own_words(own: Path, cfg: Path | None, mapping: Path | None) -> Iterable[str]:
    given = {"--spec": own, "--cfg": cfg, "--mapping": mapping}
    return (f"{option} {path}" for option, path in given.items() if path is not None)


def _switch_words(switches: dict[str, bool | str]) -> Iterable[str]:
    whole = [name for name, variant in VARIANTS.items() if switches == variant]
    return [f"--switch {whole[0]}"] if whole else [f"--switch {name}={value}" for name, value in switches.items()]


@click.command()
@click.argument("code", required=False, shell_complete=completing(codes))
def explain(code: str | None) -> int:
    """Tell what a finding's CODE means; without one, list the codes.

    A property of DLedger is told in the words of the spec, with its definition and the models that break it.

    \b
    lockstep explain DL105
    lockstep explain LeaderCompleteness
    """
    if code is None:
        for each, title in codes().items():
            click.echo(f"{each}  {title}")
        return 0
    try:
        found = rule(code)
    except KeyError as error:
        raise click.BadParameter(f"there is no code {code!r}; `lockstep explain` lists them") from error
    click.echo(f"{found.code} {found.title}\n\n{found.text}")
    return 0


@click.command()
@click.argument("traces", type=FILE, nargs=-1, required=True)
@click.option("--events", type=click.IntRange(min=1), help="Only the first so many events of each trace.")
@click.option("--allowed", is_flag=True, help="List the changes that the spec allows.")
@FORMAT
def tamper(traces: tuple[Path, ...], events: int | None, allowed: bool, form: str) -> int:
    """Change one thing of a conforming trace at a time, and count what the check notices.

    A value that an event shows or sent must be refused at that event; a trace that shows nothing is inconclusive. A
    parameter, a node, an action, or an event that is dropped, repeated or swapped, is refused at once, or later, or
    the spec allows it.

    lockstep tamper --events 200 trace.ndjson
    """
    tally = Tally()
    listed: list[dict[str, Any]] = []
    try:
        for path in traces:
            for tampering in _tamper_one(path, events, tally):
                listed.append({"trace": str(path), "kind": str(tampering.kind), "line": tampering.at + 2})
    except NotConformingError as error:
        click.echo(f"lockstep: {error}", err=True)
        return Verdict.VIOLATED.exit_code
    finally:
        progress_end()
    if form == "json":
        kinds = [dict(zip(TALLY_HEADS, row, strict=True)) for row in tally.rows()]
        click.echo(json.dumps({"kinds": kinds, "unnoticed": tally.unnoticed(), "allowed": listed}, indent=2))
    else:
        click.echo(table(TALLY_HEADS, tally.rows()))
        for each in listed if allowed else ():
            click.echo(f"{each['trace']}:{each['line']}: allowed: {each['kind']}")
    return tally.verdict().exit_code


def _tamper_one(path: Path, events: int | None, tally: Tally) -> Iterator[Tampering]:
    """Judge every change of one trace, and yield those that the spec allows."""
    trace = read_trace(path)
    spec = trace_spec(trace.header, str(path))
    told = list(itertools.islice((event for _, event in trace), events))
    if not told:
        raise TraceError(str(path), 2, "there is no event to tamper with")
    subject = Tampered(trace.header, told, spec, str(path))
    for tampering in tamperings(trace.header, told, spec):
        if not tampering.at % 10:
            progress(f"{path}: event {tampering.at} of {len(told)}")
        judged = subject.judge(tampering)
        tally.add(judged)
        if judged.outcome is Outcome.ALLOWED:
            yield tampering
