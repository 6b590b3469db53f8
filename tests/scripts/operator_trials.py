"""Logs as operators have them, cut out of simulated hours: how many are blamed wrongly, and how many losses are found.

`python -m tests.scripts.operator_trials HOURS CUTS` prints the tables of docs/measured/traces/operator_logs.md: of each
system HOURS hours, one in two as released and the others repaired, with CUTS cuts each; and as many with a loss.
`clusters FIRST LAST` prints the table of the clusters of tests/scripts/log_trials.py, by their seeds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.logged_group import check_own_logs
from lockstep.systems.registry import SYSTEMS
from raftref.dledger.runtime import replayed_run as dledger_run
from raftref.dledger.simulation import simulate
from raftref.hashicorp.runtime import replayed_run as raft_run
from tests.scripts import log_trials
from tests.support.logs.operator_files import random_cut, write_cut
from tests.support.logs.operator_hours import AFTER_LOSS, HOUR, Hour, PlantedLoss, dledger_hour, planted_loss, raft_hour
from tests.support.logs.simulated_logs import log_of
from tests.support.systems.running_groups import checked
from tests.support.systems.simulated_traces import as_event, check, header

#: The time that a cut has at least, and on each side of a loss, in seconds.
SHORTEST = 120.0


@dataclass(frozen=True, slots=True)
class Subject:
    """A system by its spec, the hour of a group of it, and the run of that as a trace."""

    spec: str
    hour: Callable[..., Hour]
    events: Callable[..., Iterator[dict[str, object]]]


SUBJECTS = (
    Subject("DLedger", dledger_hour, dledger_run.replayed),
    Subject("HashicorpRaft", raft_hour, raft_run.replayed),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A cut with its verdict: the system, how the nodes are, what was lost, the logs that are missing, their level."""

    spec: str
    released: bool
    loss: PlantedLoss | None
    missing: int
    level: str
    verdict: TraceVerdict | None
    seconds: float
    seed: int

    @property
    def is_blamed(self) -> bool:
        """Whether the logs are violated."""
        return self.verdict is not None and self.verdict.verdict is Verdict.VIOLATED


def trials(subject: Subject, seed: int, cuts: int, *, released: bool, loss: PlantedLoss | None) -> Iterator[Trial]:
    """Run an hour, cut its logs and check each cut; a cut without a line has no verdict."""
    hour = subject.hour(seed, flaws=released, loss=loss)
    own_logs = SYSTEMS[subject.spec].own_logs
    assert own_logs is not None
    for number in range(cuts):
        chance = Random(f"{seed} {number}")
        begin, end = _part(chance, loss)
        cut = random_cut(chance, sorted(hour.lines), begin, end)
        with tempfile.TemporaryDirectory() as folder:
            files = write_cut(hour.lines, cut, chance, Path(folder))
            started = time.process_time()
            verdict = check_own_logs(files, own_logs()) if files else None
        missing = len(hour.lines) - len(cut.nodes)
        seconds = time.process_time() - started
        yield Trial(subject.spec, released, loss, missing, cut.level, verdict, seconds, seed)


def _part(chance: Random, loss: PlantedLoss | None) -> tuple[float, float]:
    if loss is not None:
        return chance.uniform(0, loss.at - SHORTEST), chance.uniform(loss.at + SHORTEST, loss.at + AFTER_LOSS)
    begin = chance.uniform(0, HOUR - SHORTEST)
    return begin, chance.uniform(begin + SHORTEST, HOUR)


def breaks_a_property(subject: Subject, seed: int, *, released: bool) -> bool:
    """Return whether the run of an hour without a loss itself violates a property of the full spec."""
    hour = subject.hour(seed, flaws=released, keep=True)
    with tempfile.TemporaryDirectory() as folder:
        return bool(checked(Path(folder), hour.plan, subject.events(hour.plan, hour.steps)).violations)


# ---- Clusters of DLedger under every fault ----


def of_cluster(seed: int, folder: Path) -> tuple[TraceVerdict, frozenset[str]]:
    """Return the verdict on the logs of a cluster, and the properties that it violates, if its logs do."""
    tried = log_trials.trial(seed)
    events = list(simulate(tried.seed, tried.plan))
    own_logs = SYSTEMS["DLedger"].own_logs
    assert own_logs is not None
    files = log_trials.write(tried, log_of(events, tried.plan, tried.clock), folder)
    found = check_own_logs(files, own_logs())
    if found.verdict is not Verdict.VIOLATED:
        return found, frozenset()
    own = check([as_event(tree) for tree in events], header(tried.plan))
    return found, frozenset(own.violations)


def table_of_clusters(seeds: range) -> Iterator[str]:
    """Yield a row for each cluster whose logs are violated, and the counts."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            found, broken = of_cluster(seed, Path(folder))
        is_violated = found.verdict is Verdict.VIOLATED
        outcome = ("right" if broken else "false alarm") if is_violated else str(found.verdict)
        counts[outcome] += 1
        if is_violated:
            yield f"{seed}: {outcome}: {', '.join(sorted(found.violations))}; the cluster: {', '.join(sorted(broken))}"
    yield str(dict(counts))


# ---- Tables ----


def table(found: list[Trial]) -> Iterator[str]:
    """Yield the rows: of each group of cuts, how many are violated, hold, and establish nothing."""
    rows: dict[str, Counter[str]] = {}
    for trial in found:
        nodes = "as released" if trial.released else "repaired"
        what = "no loss" if trial.loss is None else f"disks {trial.loss.loss}"
        outcome = "no lines" if trial.verdict is None else str(trial.verdict.verdict)
        logs = "all logs" if not trial.missing else f"{trial.missing} missing"
        for part in ("", f", {nodes}", f", {logs}", f", level {trial.level}"):
            rows.setdefault(f"{trial.spec} {what}{part}", Counter())[outcome] += 1
        if trial.loss is not None and trial.verdict is not None:
            rows.setdefault(f"{trial.spec} {what}: rules", Counter()).update(trial.verdict.violations.keys())
    for key, row in sorted(rows.items()):
        yield f"{key:48} {dict(sorted(row.items()))}"
    seconds = [trial.seconds for trial in found]
    yield f"processor {sum(seconds):.0f} s, at most {max(seconds):.1f} s each"
    hours = Counter((trial.spec, trial.seed, trial.released) for trial in found if trial.is_blamed and not trial.loss)
    for (spec, seed, released), count in sorted(hours.items()):
        yield f"blamed without a loss: {spec}, hour {seed}, {'released' if released else 'repaired'}: {count} cuts"


def survey(hours: int, cuts: int) -> Iterator[Trial]:
    """Run all hours, without and with a loss."""
    for seed in range(hours):
        for subject in SUBJECTS:
            for loss in (None, planted_loss(seed)):
                yield from trials(subject, seed, cuts, released=seed % 2 == 1, loss=loss)


def main(hours: int, cuts: int) -> None:
    """Print how far the survey is, and then the table."""
    found = []
    for trial in survey(hours, cuts):
        found.append(trial)
        if len(found) % cuts == 0:
            blamed = sum(each.is_blamed for each in found[-cuts:])
            loss = "no loss" if trial.loss is None else f"{trial.loss.loss}, {trial.loss.at - trial.loss.back_to:.0f} s"
            sys.stdout.write(f"{trial.spec} {trial.seed} {loss}: {blamed} of {cuts} violated\n")
            sys.stdout.flush()
    for row in table(found):
        sys.stdout.write(f"{row}\n")


if __name__ == "__main__":
    if sys.argv[1] == "clusters":
        sys.stdout.writelines(f"{row}\n" for row in table_of_clusters(range(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]))
