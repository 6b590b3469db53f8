"""Simulated clusters logged as DLedger logs: `trial` chooses a cluster, `run` says what becomes of its log.

`python -m tests.scripts.log_trials FIRST LAST` prints the tables of docs/measured/traces/dledger_logs.md for the seeds
from FIRST up to LAST, without it: `--each` a line for each trial, `--planted` what becomes of lies in logs that hold.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from lockstep.systems.dledger.log_import import UnexplainedError, import_log
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.choices import IN_0_2_7, Feature, Flaw
from raftref.dledger.simulation import FaultPlan, simulate
from tests.support.logs.logger_lines import split_by_node
from tests.support.logs.planted_lines import LIES, planted
from tests.support.logs.simulated_logs import Clock, LoggedLine, log_of, merged
from tests.support.systems.dledger import check_dledger
from tests.support.systems.simulated_traces import as_event, check, header

#: The plans whose clusters are logged: every kind of fault, group and grain.
PLANS = (
    "ordered",
    "four",
    "five",
    "published",
    "fine",
    "fine_published",
    "restless",
    "applied",
    "whole",
    "batches",
    "votes",
    "votes_published",
    "handover",
    "not_follower",
    "late_truncate",
    "commit_past_end",
)
#: The plans whose messages come twice, as over TCP they do not: no reader of DLedger's logs looks for that.
_DOUBLED = ("late_truncate", "commit_past_end")
#: Share of clusters in which processes die often; in the others they die seldom or never, since these are short.
OFTEN, DEATHS = 0.4, {"crash": 0.012, "crash_in_persist": 0.004, "shutdown": 0.004, "power_loss": 0.001, "restart": 0.1}
#: Steps of a cluster, at least and at most; milliseconds from one to the next.
EVENTS, STEP_MS = (60, 140), (20.0, 80.0)
#: Share of logs with a file for each node, whose clocks differ; and of logs whose first lines are missing.
APART, CUT = 0.4, 0.15
MAX_SKEW_MS = 8


class Outcome(StrEnum):
    """The verdict on a log; the first three do not claim that its nodes did wrong."""

    HOLDS = "holds"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"
    VIOLATED = "violated"


@dataclass(frozen=True, slots=True)
class Trial:
    """A cluster, and how it is logged.

    `version` is that of the DLedger whose rules the cluster follows, or, if it is `repaired`, is nearest to; processes
    die `often`, or seldom. `skew_ms` is by how much the clocks of the nodes differ, each with a file of its own; None:
    one file. `cut` is the share of the lines that is missing above the first one.
    """

    seed: int
    name: str
    plan: FaultPlan
    version: str
    repaired: bool
    often: bool
    clock: Clock
    skew_ms: int | None
    cut: float

    def summary(self) -> str:
        """Describe the trial in a line."""
        layout = "one file" if self.skew_ms is None else f"a file each, skew {self.skew_ms} ms"
        rules = "repaired" if self.repaired else self.version
        return f"{self.seed} {self.name} {rules}, {self.plan.events} events, {layout}, cut {self.cut:.0%}"

    def groups(self) -> tuple[str, ...]:
        """Name what it is counted with: all, its plan, rules and layout, and whether its first lines are missing."""
        rules = "repaired" if self.repaired else self.version
        layout = "one file" if self.skew_ms is None else "a file each"
        deaths = "processes die often" if self.often else "processes die seldom"
        whole = "first lines cut" if self.cut else "whole"
        return ("all", f"plan {self.name}", f"rules {rules}", layout, whole, deaths)


def trial(seed: int) -> Trial:
    """Choose a cluster and how it is logged; everything follows from the seed."""
    chance = random.Random(seed)
    name = PLANS[seed % len(PLANS)]
    plan = fault_plan(name, chance.randint(*EVENTS))
    plan = plan if name in _DOUBLED else replace(plan, duplicate=0.0)
    repaired, later = chance.random() < 0.25 and "published" not in name, chance.random() < 0.4
    if not repaired:
        plan = replace(plan, flaws=IN_0_2_7 - {Flaw.APPLY_UNCLAMPED} if later else IN_0_2_7)
    often = chance.random() < OFTEN
    plan = replace(plan, **DEATHS) if often else plan
    later = later or plan.has(Feature.NOT_FOLLOWER)
    plan = replace(plan, features=plan.features | {Feature.NOT_FOLLOWER}) if later else plan
    skew = chance.randint(0, MAX_SKEW_MS) if chance.random() < APART else None
    return Trial(
        seed=seed,
        name=name,
        plan=plan,
        version="0.3.1.2" if later else "0.2.7",
        repaired=repaired,
        often=often,
        clock=Clock(chance.uniform(*STEP_MS), seed),
        skew_ms=skew,
        cut=chance.uniform(0.0, 0.6) if chance.random() < CUT else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Found:
    """The verdict on a log and its reason; the properties that it says fail, and those that fail in the cluster."""

    outcome: Outcome
    why: str
    fails: frozenset[str] = frozenset()
    violates: frozenset[str] = frozenset()

    @property
    def is_false_alarm(self) -> bool:
        """Whether a log is blamed for what its cluster did not do: every cluster is a behaviour of the spec."""
        is_right = bool(self.fails) and self.fails <= self.violates
        return self.outcome is Outcome.VIOLATED and not is_right


def run(tried: Trial, folder: Path) -> Found:
    """Simulate a cluster, log it, and judge its log; its trace is checked only if the log is blamed."""
    events = list(simulate(tried.seed, tried.plan))
    said = log_of(events, tried.plan, tried.clock)
    found = judged(write(tried, said, folder), tried)
    if found.outcome is not Outcome.VIOLATED:
        return found
    own = check([as_event(tree) for tree in events], header(tried.plan))
    assert own.deviation is None, "the cluster itself is no behaviour of the spec"
    return replace(found, violates=frozenset(own.violations))


def write(tried: Trial, said: Sequence[LoggedLine], folder: Path) -> list[Path]:
    """Write a log as the trial says, and return its files."""
    text = merged(said[int(len(said) * tried.cut) :])
    if tried.skew_ms is None:
        path = folder / "group.log"
        path.write_text(text)
        return [path]
    chance = random.Random(tried.seed)
    clocks = {node: chance.uniform(0, tried.skew_ms) for node in tried.plan.node_ids}
    return split_by_node(text, chance.choice(("log4j2", "logback")), folder, clocks)


def judged(paths: list[Path], tried: Trial) -> Found:
    """Return the verdict of `lockstep import` and `lockstep check` on the files of a group."""
    try:
        found = import_log(paths, tried.version, trace_spec, skew=(tried.skew_ms or 0) * 1_000_000)
    except UnexplainedError as error:
        return Found(Outcome.INCONCLUSIVE, re.sub(r"^.*?:\d+: (\w+) of.*", r"\1", str(error)))
    except TraceError as error:
        return Found(Outcome.REFUSED, re.sub(r"^.*?:\d+: ", "", str(error)))
    trace = Trace(trace_lines(found.header, found), "t")
    verdict = check_dledger(trace, trace_spec(trace.header, "t"))
    if verdict.deviation is not None:
        return Found(Outcome.VIOLATED, f"no behaviour: {verdict.deviation.name or verdict.deviation.action}")
    if verdict.violations:
        return Found(Outcome.VIOLATED, ", ".join(sorted(verdict.violations)), frozenset(verdict.violations))
    return Found(Outcome.HOLDS, "")


def lied(tried: Trial, lie: str, folder: Path) -> Found | None:
    """Plant a lie in a trial's log and judge that; None where no line of the log can be changed so."""
    said = log_of(simulate(tried.seed, tried.plan), tried.plan, tried.clock)
    lines = planted(said, lie, tried.seed)
    return None if lines is None else judged(write(tried, lines, folder), tried)


def survey(seeds: range) -> Iterator[tuple[Trial, Found, float]]:
    """Run the trials of some seeds; yield each with the processor's seconds."""
    for seed in seeds:
        begin, tried = time.process_time(), trial(seed)
        with tempfile.TemporaryDirectory() as folder:
            found = run(tried, Path(folder))
        yield tried, found, time.process_time() - begin


def table(seeds: range, *, each: bool) -> Iterator[str]:
    """Yield the lines of the tables: what was found by plan, rules and layout, how long it took, and why."""
    rows: dict[str, Counter[str]] = {}
    why: Counter[str] = Counter()
    seconds = []
    for tried, found, took in survey(seeds):
        seconds.append(took)
        outcome = "false alarm" if found.is_false_alarm else found.outcome.value
        if each or found.is_false_alarm:
            yield f"{tried.summary()}: {outcome} {found.why} {took:.1f} s"
        for key in tried.groups():
            rows.setdefault(key, Counter())[outcome] += 1
        if found.why:
            why[f"{outcome}: {found.why}"] += 1
    for key, row in sorted(rows.items()):
        yield f"{key:24} {dict(sorted(row.items()))}"
    yield f"processor {sum(seconds):.0f} s, at most {max(seconds):.1f} s each"
    yield from (f"{count:5} {reason}" for reason, count in why.most_common())


def table_of_lies(seeds: range) -> Iterator[str]:
    """Yield, for each lie, what becomes of logs that hold without it."""
    rows: dict[str, Counter[str]] = {lie: Counter() for lie in LIES}
    for seed in seeds:
        tried = replace(trial(seed), cut=0.0)
        with tempfile.TemporaryDirectory() as folder:
            if run(tried, Path(folder)).outcome is not Outcome.HOLDS:
                continue
            for lie, row in rows.items():
                found = lied(tried, lie, Path(folder))
                row[found.outcome.value if found else "-"] += 1
    yield from (f"{lie:44} {dict(sorted(row.items()))}" for lie, row in rows.items())


def main(words: list[str]) -> None:
    """Print a table, a line at a time."""
    seeds = range(*(int(word) for word in words[:2]))
    lines = table_of_lies(seeds) if "--planted" in words else table(seeds, each="--each" in words)
    for line in lines:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
