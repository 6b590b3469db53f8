"""The command line: its group, its exit codes, and the commands that are not about checking a trace."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import sys
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from lockstep.cli_check import check, explain, tamper
from lockstep.cli_options import (
    EVENTS,
    EXIT_CODES,
    FORMAT,
    OWN_CFG,
    OWN_SPEC,
    PARALLEL,
    TLA_TOOLS,
    cfg_of,
    completing,
    progress,
    progress_end,
)
from lockstep.engines import Engine, explore_compiled, explore_with_tlc
from lockstep.errors import BadInputError, GaveUpError
from lockstep.models import ModelOutcome, manifest, model_names, run_models
from lockstep.report.text import table
from lockstep.tla.analysis import CompileError
from lockstep.tla.cfg import CfgError
from lockstep.tla.sany import SanyError
from lockstep.tlc import ManifestError, ToolDied, ToolMissing, find_java, find_tla2tools
from lockstep.trace.format import json_schema
from lockstep.trace_files import LOGGED_VERSION, PLANS, import_trace, is_log, write_cluster
from lockstep.verdict import Verdict, worst
from raftref.simulation import PlanError

#: What is wrong with a file that was given.
BAD_INPUT = (
    BadInputError,
    CfgError,
    CompileError,
    ManifestError,
    OSError,
    PlanError,
    SanyError,
)


#: Why a file, or the output, could not be written: nothing is wrong with the input.
_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class _ReaderGoneError(Exception):
    """Nobody reads the output any more, as behind `| head`."""


class OtherPipeError(GaveUpError):
    """A pipe broke that is not the output: a tool has died, or nobody reads what is written."""


class _Commands(click.Group):
    """The commands; those that need what is slow to import (z3, networkx) are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name them all."""
        return sorted([*super().list_commands(ctx), *_LATE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one of them."""
        if cmd_name in _LATE:
            found: click.Command = getattr(import_module(_LATE[cmd_name]), cmd_name)
            return found
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; of a closed pipe click would make the exit code 1, which is a verdict."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if _nobody_reads():
                raise _ReaderGoneError from error
            raise OtherPipeError(str(error)) from error


_LATE = {"graph": "lockstep.cli_graph", "prove": "lockstep.cli_prove"}


@click.group(cls=_Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockstep-raft")
def cli() -> None:
    """Keep implementations of replicated logs in step with their TLA+ spec.

    \b
    lockstep verify                     the main job: models, lemmas, clusters, recordings
    lockstep model figure8_bug          one model with TLC
    lockstep simulate --seed 7 -o t     a cluster of the Python reference, as a trace
    lockstep import recording.ndjson -o trace.ndjson
    lockstep check trace.ndjson         a trace against the spec
    lockstep explain DL101              what a finding means
    """


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        code = cli.main(
            prog_name="lockstep", standalone_mode=False, color=False if os.environ.get("NO_COLOR") else None
        )
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = 2
    except KeyboardInterrupt:
        code = 130
    except _ReaderGoneError:
        _forget_output()
        code = 141
    except (ToolMissing, ToolDied, GaveUpError) as error:
        click.echo(f"lockstep: {error}", err=True)
        code = 3
    except BAD_INPUT as error:
        click.echo(f"lockstep: {error}", err=True)
        code = 4 if isinstance(error, OSError) and error.errno in _NOT_WRITTEN else 2
        if code == 4:
            _forget_output()
    except Exception as error:  # Anything else is ours: say so, and keep it apart from verdicts.
        click.echo(f"lockstep: internal error: {type(error).__name__}: {error}", err=True)
        code = 4
    sys.exit(code if isinstance(code, int) else 0)


def _nobody_reads() -> bool:
    """Tell whether the output is a pipe whose other end is closed."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)  # an error is told whatever is asked for
    except OSError:
        return False
    return any(told & select.POLLERR for _file, told in poll.poll(0))


def _forget_output() -> None:
    """Let what is left to write go nowhere: Python would try again at its end, and make that the exit code."""
    with contextlib.suppress(OSError):  # where it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@cli.command()
@click.argument("names", nargs=-1, shell_complete=completing(model_names))
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

    NAMES are models of spec/dledger/models/manifest.toml; without any, all models of the tier. A model whose pinned
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
            on_start=lambda entry: progress(f"TLC: {entry.name}"),
        )
    )
    progress_end()
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
    config = cfg_of(spec, cfg)
    say = partial(_say_states, spec.name)
    if engine is Engine.TLC:
        found = explore_with_tlc(spec, config, deadlock=deadlock, jar=jar, on_progress=say)
    else:
        found = explore_compiled(spec, config, deadlock=deadlock, jar=jar, on_progress=say)
    progress_end()
    if form == "json":
        click.echo(json.dumps(asdict(found), indent=2))
        return found.verdict.exit_code
    rows = [(spec.stem, found.distinct, found.generated, found.depth, f"{found.seconds:.1f} s", found.reason)]
    click.echo(table(("spec", "distinct", "generated", "depth", "time", "result"), rows))
    for index, action in enumerate(found.counterexample or (), start=1):
        click.echo(f"  {index:3d}  {action}")
    return found.verdict.exit_code


def _say_states(name: str, distinct: int) -> None:
    progress(f"{name}: {distinct:,} distinct states")


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
@click.option(
    "--plan",
    default="ordered",
    show_default=True,
    shell_complete=completing(lambda: PLANS),
    help=f"{', '.join(PLANS)}, or a JSON or TOML file.",
)
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
        written.append(str(write_cluster(output, plan, each, events, progress)))
        progress_end()
        if form == "text":
            click.echo(written[-1])
    if form == "json":
        click.echo(json.dumps(written))
    return 0


for _command in (check, tamper, explain):
    cli.add_command(_command)


@cli.command(name="import")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The trace to write."
)
@click.option(
    "--logged-version",
    default=LOGGED_VERSION,
    show_default=True,
    help="The DLedger whose log it is; a recording says it itself.",
)
@FORMAT
def import_(recording: Path, output: Path, logged_version: str, form: str) -> int:
    """Turn a recording of the real DLedger, or its own log, into a trace.

    Every line of the recording is an action of the spec, an observation within one, or noise;
    spec/dledger/README.md has the table. An event is hidden where no line tells of it, and what a line tells needs it.
    A step is forced where no place agrees with all that was recorded: it stands at its line.

    A log tells of few steps, so the states that explain its lines are searched for, with hidden steps between
    the lines; one explanation is written. Where none is found the exit code is 3, and no trace is written.

    \b
    lockstep import recording.ndjson -o trace.ndjson
    lockstep import dledger.log --logged-version 0.3.1.2 -o trace.ndjson
    """
    try:
        count, summary = import_trace(recording, output, logged_version, progress)
    finally:
        progress_end()
    lines = summary.lines
    if form == "json":
        click.echo(json.dumps({"trace": str(output), "events": count, "lines": lines, **asdict(summary)}))
        return 0
    uses = ", ".join(f"{lines.get(use, 0)} {use}" for use in ("action", "observation", "noise"))
    said = f"{count} events, {sum(summary.hidden.values())} of them hidden, from {sum(lines.values())} lines ({uses})"
    if is_log(recording):
        carried = f"states carried: {summary.states} at most, {summary.explanations} at the end"
        refuted = f"; the last event is what line {summary.refuted} says, which no behaviour explains"
        click.echo(f"{output}: {said}, {carried}{'' if summary.refuted is None else refuted}")
    else:
        click.echo(f"{output}: {said}, {_forced_text(summary.forced)}")
    return 0


def _forced_text(forced: tuple[int, ...]) -> str:
    """Say how many steps were placed against the recording, and where."""
    where = f" (lines {', '.join(map(str, forced))})" if forced else ""
    return f"{len(forced)} forced{where}"


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print what makes a shell complete the words of this command.

    \b
    eval "$(lockstep completion bash)"       in ~/.bashrc; the same with zsh in ~/.zshrc
    lockstep completion fish | source        in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "lockstep", "_LOCKSTEP_COMPLETE").source())
    return 0


@cli.command()
def schema() -> int:
    """Print the JSON Schema of a line of a trace."""
    click.echo(json.dumps(json_schema(), indent=2))
    return 0


@cli.command()
@click.option(
    "--tier", type=click.Choice(["quick", "deep"]), default="quick", help="Which models; the deep ones take an hour."
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="How many clusters of each plan it runs."
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
        progress_end()
        if form == "text":
            click.echo(text)

    job = Job(say, progress, tier, seeds, events, master, parallel, tla_tools)
    try:
        verdict = job.run()
    except SparkStartError as error:
        progress_end()
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
        progress_end()
        click.echo(text)

    job = Fleet(plans or tuple(PLANS), range(seed, seed + seeds), events, say, progress, master)
    try:
        return job.run().exit_code
    except SparkStartError as error:
        progress_end()
        click.echo(f"lockstep: {error}", err=True)
        return Verdict.INCONCLUSIVE.exit_code
