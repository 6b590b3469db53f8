"""lockstep chaos."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.node_command import (
    SETTING,
    SYSTEM,
    chosen,
    chosen_flaws,
    group_size,
    refuse_settings,
    running_system,
    settings,
)
from lockstep.cli.options import FORMAT, progress, progress_end

if TYPE_CHECKING:
    from lockstep.cluster.chaos_series import ChaosSeries
    from lockstep.cluster.chaos_verdict import ChaosVerdict
    from lockstep.systems.running_nodes import NodeKind, RunningNodes
    from lockstep.systems.system import System


@click.command()
@SYSTEM
@click.option("--nodes", type=int, default=3, show_default=True, help="The number of nodes.")
@click.option("--runs", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="The number of runs.")
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    show_default=True,
    help="The simulated time of a run under faults; at least five seconds without follow.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="The first run's seed.")
@click.option("--flaw", "flaws", multiple=True, help="A flaw that all nodes have (default: none); `published` for all.")
@click.option("--feature", "features", multiple=True, help="A feature that all nodes have besides those of all.")
@click.option("--no-power", is_flag=True, help="Let no machine lose power, and with it what was not forced.")
@click.option(
    "--spec-every",
    type=click.IntRange(0, 1_000_000),
    default=10,
    show_default=True,
    help="Check the trace of one run of this many against the spec; 0 for none. It takes longer than the run.",
)
@click.option(
    "--each-flaw",
    is_flag=True,
    help="Print a table: for each flaw alone the first seed, up to --runs, that shows it, and what is violated there.",
)
@click.option("--real", is_flag=True, help="Let groups of processes fail on this machine, in real time.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("lockstep-chaos"),
    show_default=True,
    help="The folder for the traces that were checked, or violate something.",
)
@FORMAT
@SETTING
def command(
    spec: str | None,
    nodes: int,
    runs: int,
    seconds: float,
    seed: int,
    flaws: tuple[str, ...],
    features: tuple[str, ...],
    no_power: bool,
    spec_every: int,
    each_flaw: bool,
    real: bool,
    output: Path,
    form: str,
    set_to: tuple[str, ...],
) -> int:
    """Let groups of running nodes fail in simulated time, and judge what their clients saw.

    The nodes are those of `lockstep node`, with their timers and files, in a network, on disks and by clocks that
    are simulated: a minute takes a second or two, and follows from its seed. Some clients append and read while
    processes are killed and paused, links are cut, slow and lossy, machines lose power, clocks jump, disks are slow
    and fill up, and an operator transfers leaderships, changes the members and takes snapshots, where the system
    can. Each run is judged by its clients' history, which the log must explain; by the properties of the spec,
    after each step; and, every now and then, by the spec. With --real the nodes are processes on this machine: they
    are killed and stopped, links are cut and slow, and the leadership is handed over, while clients ask from
    outside. A series in which some fault, or what should come of faults, never happened is no pass; twenty runs are
    enough.

    \b
    lockstep chaos --runs 1000
    lockstep chaos --flaw published --no-power --runs 50
    lockstep chaos --each-flaw --runs 30
    lockstep chaos --real --runs 5

    The README of each spec names the flaws and features.

    Exit codes: 0 nothing is wrong; 1 something is, with its seed; 2 wrong usage; 3 nothing is wrong, and something
    never happened, which is named; 4 an internal error.
    """
    from lockstep.base.errors import GaveUpError
    from lockstep.cluster.chaos_run import ChaosRun, kinds_of_faults
    from lockstep.cluster.chaos_series import ChaosSeries, collected_between
    from lockstep.cluster.chaos_verdict import ChaosJudge
    from lockstep.cluster.flaw_table import TABLE_HEAD, FlawSearch
    from lockstep.cluster.real_chaos import REAL_FAULTS, REAL_FLOORS
    from lockstep.systems.running_nodes import NodeKind

    system, running = running_system(spec)
    group_size(nodes, system, running, "--nodes")
    wanted = chosen_flaws(flaws, running)
    _refuse_unused(each_flaw=each_flaw, real=real)
    if each_flaw:
        click.echo(TABLE_HEAD)
        for row in FlawSearch(system, running, seconds, output).rows(wanted or running.flaws, runs):
            click.echo(row.line())
        return 0
    kind = NodeKind(
        chosen(features, running.features, "--feature"),
        wanted,
        {**(running.chaos_settings if real else {}), **settings(set_to, running.settings)},
    )
    refuse_settings(running, kind)
    series = ChaosSeries(kinds_of_faults(running, kind.features, power_fails=not no_power))
    if real:
        series = ChaosSeries(REAL_FAULTS, REAL_FLOORS)
        verdicts = _in_real_time(system, running, range(seed, seed + runs), seconds, nodes, kind, output)
    else:
        judge = ChaosJudge(system, running, nodes)
        chaos = (
            ChaosRun(running, each, nodes, kind, power_fails=not no_power).run(seconds)
            for each in range(seed, seed + runs)
        )
        verdicts = judge.judge_all(chaos, output, spec_every)
    for verdict, checked in collected_between(verdicts):
        series.add(verdict, checked=checked)
        progress(f"run {series.runs} of {runs}, {series.confirmed:,} appends confirmed, {len(series.wrong)} runs wrong")
        if verdict.reasons:
            progress_end()
            if form == "text":
                click.echo("\n  ".join((f"seed {verdict.result.seed}:", *verdict.reasons)))
    progress_end()
    record = {**series.record(), "settings": dict(kind.settings)}
    click.echo(json.dumps(record, indent=2) if form == "json" else _text(series, seconds, nodes, kind.settings))
    missing = series.missing() + ["trace checked against the spec"] * ((real or spec_every > 0) and not series.checked)
    if missing and not series.wrong:
        raise GaveUpError(f"no pass: in {series.runs} runs there was no {', no '.join(missing)}")
    return 1 if series.wrong else 0


#: The options that a table of flaws takes, and those that a series in real time has no use for.
_OF_EACH_FLAW = frozenset({"spec", "runs", "seconds", "flaws", "each_flaw", "output"})
_NOT_IN_REAL_TIME = frozenset({"spec_every", "no_power"})


def _refuse_unused(*, each_flaw: bool, real: bool) -> None:
    """Refuse options that were given and would change nothing; raises click.UsageError."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    given = {name for name in context.params if context.get_parameter_source(name) is source}
    unused = given - _OF_EACH_FLAW if each_flaw else given & _NOT_IN_REAL_TIME if real else set()
    if unused:
        names = sorted(option.opts[0] for option in context.command.params if option.name in unused)
        raise click.UsageError(f"{', '.join(names)}: of no use with {'--each-flaw' if each_flaw else '--real'}")


def _in_real_time(
    system: System,
    running: RunningNodes,
    seeds: Iterable[int],
    seconds: float,
    nodes: int,
    kind: NodeKind,
    output: Path,
) -> Iterator[tuple[ChaosVerdict, bool]]:
    """Return the verdicts of groups of processes as they come, each with whether its trace was checked.

    Raises a usage error, before the first group starts, where the folder of any is not empty.
    """
    from lockstep.base.errors import GaveUpError
    from lockstep.cluster.group_session import GroupOptions, refuse_filled
    from lockstep.cluster.real_chaos import REAL_TIME_SCALE, RealChaosRun

    folders = {seed: output / f"real_{seed}" for seed in seeds}
    try:
        for folder in folders.values():
            refuse_filled(folder)
    except GaveUpError as error:
        raise click.BadParameter(str(error), param_hint="--output") from error

    def verdict(seed: int, folder: Path) -> ChaosVerdict:
        run = RealChaosRun(system, running, seed, GroupOptions(nodes, folder, kind, REAL_TIME_SCALE))
        return run.run(seconds)

    return ((verdict(seed, folder), True) for seed, folder in folders.items())


def _text(series: ChaosSeries, seconds: float, nodes: int, set_to: Mapping[str, float]) -> str:
    lines = [
        f"{series.runs:,} runs of {seconds:g} s, {nodes} nodes: {series.steps:,} steps, {series.confirmed:,} of "
        f"{series.appends:,} appends confirmed, {series.answered_reads:,} of {series.reads:,} reads answered"
    ]
    if set_to:
        lines.append(f"settings: {', '.join(f'{name} {value:g}' for name, value in set_to.items())}")
    for title, counts in (
        ("faults", series.faults),
        ("orders carried out", series.orders),
        ("what came of them", series.outcomes),
    ):
        lines.append(f"{title}: {', '.join(f'{count:,} {name}' for name, count in sorted(counts.items()))}")
    lines.append(f"{len(series.wrong)} runs wrong; {series.checked} traces checked against the spec")
    return "\n".join(lines)
