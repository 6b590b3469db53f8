"""A fleet: many simulated clusters, each checked against the spec, and all together against their floors."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from lockstep.base.characters import counted
from lockstep.base.progress import Say
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict, worst
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.fleet_both_ways import BOTH_WAYS_HEADS, PlanBothWays, by_plan, check_both_ways_with_spark
from lockstep.jobs.fleet_coverage import Coverage
from lockstep.jobs.fleet_floors import FLOOR_HEADS, FloorVerdict, judge_plan
from lockstep.jobs.spark.spark_check import check_with_spark
from lockstep.jobs.spark.spark_session import spark_session
from lockstep.report.text_table import table
from lockstep.report.verdict_text import finding_text
from lockstep.systems.registry import simulators
from lockstep.systems.trace_files import open_trace, write_cluster
from lockstep.systems.trace_specs import trace_spec

_BATCH = 50


def judge_cluster(plan: str, found: TraceVerdict, events: int = 0, variant: str = "") -> tuple[Verdict, str]:
    """Return the verdict on a simulated cluster, given the verdict on its trace, and a line of text.

    With the flaws as published most properties may fail, and the lines from which on they do are named. Leaving the
    spec is a failure of spec or reference in every plan, and so is a cluster that comes to a standstill before it took
    its `events`. `variant` is the form of the flaws that the plan was run with, if that is not its own.
    """
    if found.deviation is None and found.verdict in (Verdict.HOLDS, Verdict.VIOLATED) and found.events < events:
        return Verdict.VIOLATED, f"comes to a standstill after {found.events} of {events} events"
    violated = found.violations
    _, simulator = simulators()[plan]
    may_fail = simulator.may_fail(plan, variant) and found.deviation is None and not simulator.kept & violated.keys()
    if may_fail and found.verdict is Verdict.VIOLATED:
        failed = ", ".join(f"{name} (line {each.line})" for name, each in violated.items())
        return Verdict.HOLDS, f"conforms, and violates {failed}, as expected"
    return found.verdict, str(found.verdict) if found.verdict is Verdict.HOLDS else found.reason


@dataclass(slots=True)
class Fleet:
    """Clusters to simulate and check: every plan with every seed, each with this number of events.

    `both_ways_steps` is the number of steps after which each is checked both ways, `seconds` the time limit of a check.
    `say` prints a section, `progress` a passing line. `verdicts`, `coverage`, `plan_coverage`, `floors` and
    `both_ways` are the results so far.
    """

    plans: Sequence[str]
    seeds: Sequence[int]
    events: int
    say: Say
    progress: Say
    master: str = "local[*]"
    both_ways_steps: int = 0
    seconds: float | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    plan_coverage: dict[str, Coverage] = field(default_factory=dict)
    floors: list[FloorVerdict] = field(default_factory=list)
    both_ways: list[PlanBothWays] = field(default_factory=list)
    actions: set[str] = field(default_factory=set)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict so far."""
        parts = [*(each.verdict for each in self.floors), *(each.verdict for each in self.both_ways)]
        return worst([*self.verdicts, *parts])

    @property
    def missing(self) -> list[str]:
        """The actions of the spec that no cluster has taken."""
        return sorted(self.coverage.missing(self.actions))

    def run(self) -> Verdict:
        """Simulate and check all clusters; print tables of the results."""
        begin = time.perf_counter()
        clusters = [(plan, seed) for seed in self.seeds for plan in self.plans]
        with scratch("fleet") as folder, spark_session(self.master) as spark:
            for start in range(0, len(clusters), _BATCH):
                self.progress(f"{start:,} of {len(clusters):,} clusters checked")
                self._check(spark, folder, clusters[start : start + _BATCH])
            self._check_both_ways(spark, clusters)
        self.floors = [judge_plan(plan, coverage, self.events) for plan, coverage in self.plan_coverage.items()]
        self.say(self.coverage.text() + "\n")
        self.say(self._failed() + "\n")
        self.say(table(FLOOR_HEADS, [each.row for each in self.floors]) + "\n")
        self.say("never taken: " + (", ".join(self.missing) or "no action of the spec"))
        median, seconds = self.coverage.median_events, time.perf_counter() - begin
        self.say(
            f"fleet: {self.verdict} ({counted(len(self.verdicts), 'cluster')}, "
            f"median {median:g} events, {seconds:.0f} s)"
        )
        return self.verdict

    def _check(self, spark: SparkSession, folder: Path, batch: Sequence[tuple[str, int]]) -> None:
        paths = [write_cluster(folder, plan, seed, self.events) for plan, seed in batch]
        for path in paths:
            self.actions |= trace_spec(open_trace(path).header, str(path), covers=True).actions.keys()
        checked = check_with_spark(spark, paths, seconds=self.seconds, covers=True)
        for (plan, seed), path, found in zip(batch, paths, checked, strict=True):
            for coverage in (self.coverage, self.plan_coverage.setdefault(plan, Coverage())):
                coverage.add_verdict(found)
            judged, line = judge_cluster(plan, found, self.events)
            self.verdicts.append(judged)
            self.failed.update((plan, name) for name in found.violations)
            if judged is not Verdict.HOLDS:
                self.say(f"{plan} {seed}: {line}")
                self.say("\n".join(finding_text(found.source, each) for each in found.findings))
                self.say(f"\nwrite it: lockstep simulate --plan {plan} --seed {seed} --events {self.events} -o .\n")
            path.unlink()

    def _check_both_ways(self, spark: SparkSession, clusters: Sequence[tuple[str, int]]) -> None:
        if not self.both_ways_steps:
            return
        self.progress("checking clusters both ways")
        found = check_both_ways_with_spark(spark, clusters, self.events, self.both_ways_steps)
        self.both_ways = list(by_plan(clusters, found))
        self.say(table(BOTH_WAYS_HEADS, [each.row for each in self.both_ways]) + "\n")
        for each in found:
            if each.findings:
                self.say("\n".join(finding_text(each.source, finding) for finding in each.findings) + "\n")

    def _failed(self) -> str:
        rows = [(plan, name, count) for (plan, name), count in sorted(self.failed.items())]
        return table(("plan", "property that fails", "traces"), rows) if rows else "  no property fails"
