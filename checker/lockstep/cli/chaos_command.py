"""lockstep chaos."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.node_command import SYSTEM, chosen, group_size, running_system
from lockstep.cli.options import FORMAT, progress, progress_end

if TYPE_CHECKING:
    from lockstep.cluster.chaos_verdict import ChaosVerdict


@click.command()
@SYSTEM
@click.option("--nodes", type=int, default=3, show_default=True, help="The number of nodes.")
@click.option("--runs", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="The number of runs.")
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    show_default=True,
    help="The simulated time of a run under faults; twenty seconds without follow.",
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
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("lockstep-chaos"),
    show_default=True,
    help="The folder for the traces that were checked, or have something wrong.",
)
@FORMAT
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
    output: Path,
    form: str,
) -> int:
    """Let groups of running nodes fail in every way in simulated time, and judge what their clients saw.

    The nodes are those of `lockstep node`, with their timers and files, in a network, on disks and by a clock that are
    simulated: a minute takes a second or two, and follows from its seed. Some clients append while processes are killed
    and paused, links are cut, slow and lossy, and machines lose power. Each run is judged by its clients' history,
    which the log must explain; by the properties of the spec, after each step; and, every now and then, by the spec.

    \b
    lockstep chaos --runs 1000
    lockstep chaos --flaw published --no-power --runs 50

    Exit codes: 0 nothing is wrong; 1 something is, with its seed; 2 wrong usage; 3 nothing was confirmed in any run,
    so that there was nothing to lose; 4 an internal error.
    """
    from lockstep.base.errors import GaveUpError
    from lockstep.cluster.chaos_run import ChaosRun
    from lockstep.cluster.chaos_verdict import ChaosJudge

    system, running = running_system(spec)
    group_size(nodes, system, running, "--nodes")
    wanted = running.published if flaws == ("published",) else chosen(flaws, running.flaws, "--flaw")
    kinds = chosen(features, running.features, "--feature"), wanted
    judge = ChaosJudge(system, running, nodes, kinds)
    wrong: list[ChaosVerdict] = []
    counts, faults = Counter[str](), Counter[str]()
    for number in range(runs):
        progress(f"run {number + 1} of {runs}, {counts['confirmed']:,} appends confirmed, {len(wrong)} runs wrong")
        result = ChaosRun(running, seed + number, nodes, kinds, power_fails=not no_power).run(seconds)
        with_spec = spec_every > 0 and number % spec_every == 0
        verdict = judge.judge(result, output / f"chaos_{seed + number}.trace.ndjson", with_spec=with_spec)
        counts.update(
            runs=1,
            steps=len(result.steps),
            appends=len(result.appends),
            confirmed=result.confirmed,
            checked=int(with_spec),
        )
        faults.update(result.faults)
        if verdict.reasons:
            wrong.append(verdict)
            progress_end()
            if form == "text":
                click.echo(f"seed {seed + number}:")
                for reason in verdict.reasons:
                    click.echo(f"  {reason}")
    progress_end()
    if form == "json":
        seeds = {each.result.seed: each.reasons for each in wrong}
        click.echo(json.dumps({**counts, "faults": dict(sorted(faults.items())), "wrong": seeds}, indent=2))
    else:
        click.echo(
            f"{runs} runs of {seconds:g} s, {nodes} nodes: {counts['steps']:,} steps, {counts['confirmed']:,} of "
            f"{counts['appends']:,} appends confirmed"
        )
        click.echo(f"faults: {', '.join(f'{count:,} {kind}' for kind, count in sorted(faults.items()))}")
        click.echo(f"{len(wrong)} runs wrong; {counts['checked']} traces checked against the spec")
    if not wrong and not counts["confirmed"]:
        raise GaveUpError("nothing was confirmed in any run, so nothing could be lost")
    return 1 if wrong else 0
