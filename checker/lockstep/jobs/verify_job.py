"""The main job: models, lemmas, a fleet of simulated clusters and recordings, each with a verdict."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from lockstep.base.errors import GaveUpError
from lockstep.base.package_data import traces_dir
from lockstep.base.progress import Say
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict, worst
from lockstep.conformance.trace_verdict import Finding
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.fleet_both_ways import BOTH_WAYS_HEADS, by_plan, check_both_ways_with_spark
from lockstep.jobs.fleet_coverage import Coverage
from lockstep.jobs.fleet_floors import FLOOR_HEADS, FloorVerdict, judge_plan
from lockstep.jobs.recordings_check import check_recordings
from lockstep.jobs.recordings_manifest import found_text, load_recordings, mismatches
from lockstep.jobs.spark.spark_check import verdicts_with_spark
from lockstep.jobs.spark.spark_session import spark_session
from lockstep.models.pinned_models import run_models
from lockstep.models.proofs.lemmas import ProofVerdict, run_proofs
from lockstep.models.search_result import Engine
from lockstep.report.text_table import TextColumn, heads, row, table
from lockstep.report.verdict_text import finding_text
from lockstep.systems.registry import SYSTEMS, lemmas, models_of_tier
from lockstep.systems.trace_files import write_cluster
from lockstep.tlc import TlcOptions, find_java, find_tla2tools


@dataclass(frozen=True, slots=True)
class VerifyCheck:
    """One of the checks: its part of the job, its name, the verdict, and the result in words."""

    part: str
    name: str
    verdict: Verdict
    result: str


@dataclass(slots=True)
class Job:
    """The options of `verify`, and the verdicts so far.

    `tier` chooses the models and recordings, `seeds` is the number of clusters of each plan that are simulated, each of
    `events` events, and `both_ways_steps` the number of its steps after which each is checked both ways; `master` is
    where on this machine Spark runs, `parallel` the number of models that run at once; `say` prints a line or more,
    each row of a table as soon as it is known, `progress` a passing line.
    """

    say: Say
    progress: Say
    tier: str = "quick"
    seeds: int = 5
    events: int = 400
    both_ways_steps: int = 4
    master: str = "local[*]"
    parallel: int = 2
    jar: Path | None = None
    engine: Engine | None = None
    checks: list[VerifyCheck] = field(default_factory=list)
    floors: list[FloorVerdict] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the whole so far."""
        return worst([check.verdict for check in self.checks])

    def run(self) -> Verdict:
        """Run every part and return the verdict of the whole."""
        begin = time.perf_counter()
        parts = [("models", self._models), ("lemmas", self._proofs)]
        parts.append(("traces", self._traces))
        for name, part in parts:
            try:
                part()
            except GaveUpError as error:  # A tool is missing: the other parts may do without it.
                self._record("part", name, Verdict.INCONCLUSIVE, f"inconclusive: {error}")
                self.say(f"{name}: inconclusive: {error}\n")
        self.say(self._summary(time.perf_counter() - begin))
        return self.verdict

    def _summary(self, seconds: float) -> str:
        """Return a line with the verdict of the whole, and what was not as expected."""
        wrong = [check for check in self.checks if check.verdict is not Verdict.HOLDS]
        count = f"{len(self.checks)} checks"
        if not wrong:
            return f"verify: {self.verdict} ({count}, {seconds:.0f} s)"
        named = "; ".join(f"{check.name}: {_plain(check.result)}" for check in wrong)
        expected = f"{len(self.checks) - len(wrong)} of {count} as expected"
        return f"verify: {self.verdict} ({expected}, {seconds:.0f} s; not: {named})"

    def _record(self, part: str, name: str, verdict: Verdict, result: str) -> None:
        self.checks.append(VerifyCheck(part, name, verdict, result))

    def _begin(self, title: str, columns: Sequence[TextColumn]) -> None:
        self.say(f"{title}\n\n{heads(columns)}")

    def _models(self) -> None:
        java, jar = find_java(), find_tla2tools(self.jar)
        entries = models_of_tier(self.tier)
        columns = _columns("model", [entry.name for _, entry in entries], "distinct", "generated")
        outcomes = run_models(
            entries,
            parallel=self.parallel,
            options=TlcOptions(java=java.path, jar=jar),
            share_runs=True,
            engine=self.engine,
            on_start=lambda entry: self.progress(f"exploring {entry.name}"),
        )
        begun = False
        with closing(outcomes):
            for outcome in outcomes:
                result = outcome.result
                if not begun:  # TLC says itself which version it is
                    self._begin(f"Models, checked by TLC {result.tool_version or ''} on Java {java.version}", columns)
                    begun = True
                self._record("model", outcome.entry.name, outcome.verdict, outcome.found)
                counts = (result.distinct, result.generated, _seconds(result.seconds))
                self.say(row(columns, (outcome.entry.name, *counts, outcome.found)))
        self.say("")

    def _proofs(self) -> None:
        self.progress("z3: lemmas")
        known = lemmas()
        columns = [TextColumn("lemma", _longest(known)), TextColumn("group", 10), *_columns("", [])[1:]]
        self._begin("Lemmas, proved by z3 for all integers", columns)
        for name in known:
            (proof,) = run_proofs(known, [name])
            proved = proof.verdict is ProofVerdict.PROVED
            refuted = proof.verdict is ProofVerdict.REFUTED
            verdict = Verdict.HOLDS if proved else Verdict.VIOLATED if refuted else Verdict.INCONCLUSIVE
            result = str(proof.verdict) + (f": {proof.reason}" if proof.reason else "")
            self._record("lemma", proof.name, verdict, result)
            sizes = "every size" if proof.node_counts is None else f"n = 1..{max(proof.node_counts)}"
            self.say(row(columns, (proof.name, sizes, _seconds(proof.seconds), result)))
        self.say("")

    def _traces(self) -> None:
        self.progress("Spark: starting")
        with scratch("verify") as folder, spark_session(self.master) as spark:
            if self.tier == "quick":
                self._fleet(spark, folder)
            self._recordings(spark, folder)

    def _fleet(self, spark: SparkSession, folder: Path) -> None:
        self.progress("simulating clusters")
        fleet = [
            (plan, seed, write_cluster(folder, plan, seed, self.events))
            for system in SYSTEMS.values()
            if system.simulator is not None
            for plan in system.simulator.verified
            for seed in range(1, self.seeds + 1)
        ]
        self.progress("Spark: checking clusters")
        columns = _columns("cluster", [f"{plan} {seed}" for plan, seed, _ in fleet], "events", "compared")
        self._begin("Simulated clusters of the reference, checked by Spark against the compiled spec", columns)
        unexpected: list[tuple[str, Finding]] = []
        coverage: dict[str, Coverage] = {}
        with closing(verdicts_with_spark(spark, [path for _, _, path in fleet], covers=True)) as found:
            for (plan, seed, _), verdict in zip(fleet, found, strict=True):
                coverage.setdefault(plan, Coverage()).add_verdict(verdict)
                judged, result = judge_cluster(plan, verdict, self.events)
                self._record("cluster", f"{plan} {seed}", judged, result)
                counts = (verdict.events, verdict.observed, _seconds(verdict.seconds))
                self.say(row(columns, (f"{plan} {seed}", *counts, result)))
                if judged is not Verdict.HOLDS:
                    unexpected += [(verdict.source, finding) for finding in verdict.findings]
        self.say("")
        for source, finding in unexpected:
            self.say(finding_text(source, finding) + "\n")
        self._judge_floors(coverage)
        self._check_both_ways(spark, [(plan, seed) for plan, seed, _ in fleet])

    def _judge_floors(self, reached: Mapping[str, Coverage]) -> None:
        """Compare what the clusters of each plan reached with its floor: a pass in which nothing happens is none."""
        for plan, coverage in reached.items():
            judged = judge_plan(plan, coverage, self.events)
            self.floors.append(judged)
            self._record("floor", plan, judged.verdict, judged.result)
        self.say("What the clusters of a plan must reach of the protocol\n")
        self.say(table(FLOOR_HEADS, [each.row for each in self.floors]) + "\n")

    def _check_both_ways(self, spark: SparkSession, clusters: list[tuple[str, int]]) -> None:
        """Check what else each cluster would do: a guard that is too strict contradicts no trace."""
        self.progress("Spark: checking clusters both ways")
        found = check_both_ways_with_spark(spark, clusters, self.events, self.both_ways_steps)
        rows = list(by_plan(clusters, found))
        for each in rows:
            self._record("both ways", each.plan, each.verdict, each.result)
        self.say("What the clusters would do, every action with all arguments, beside what the spec allows\n")
        self.say(table(BOTH_WAYS_HEADS, [each.row for each in rows]) + "\n")
        for checked in found:
            for finding in checked.findings:
                self.say(finding_text(checked.source, finding) + "\n")

    def _recordings(self, spark: SparkSession, folder: Path) -> None:
        self.progress("Spark: checking recordings")
        root = traces_dir()
        recordings = tuple(each for each in load_recordings(root / "manifest.toml") if each.tier == self.tier)
        columns = _columns(
            "recording", [each.name for each in recordings], "lines", "events", "hidden", "states", "compared"
        )
        self._begin("Recordings of real systems, checked by Spark against the compiled spec", columns)
        for recording, summary, verdict in check_recordings(spark, root, folder, recordings):
            problems = mismatches(recording, verdict)
            expected = "" if verdict.verdict is Verdict.HOLDS else ", as expected"
            result = "UNEXPECTED: " + "; ".join(problems) if problems else found_text(verdict) + expected
            self._record("recording", recording.name, _against_pin(verdict.verdict, problems), result)
            events = (verdict.events, sum(summary.hidden.values()), summary.states, verdict.observed)
            self.say(row(columns, (recording.name, summary.explained, *events, _seconds(verdict.seconds), result)))
        self.say("")


def _columns(name: str, names: Sequence[str], *counts: str) -> list[TextColumn]:
    """Return the columns of a table: a name, counts, the time, and the result, which is as wide as it is."""
    widths = {head: 11 if head in ("distinct", "generated") else 8 if head == "compared" else 6 for head in counts}
    numbers = [TextColumn(head, width, is_number=True) for head, width in widths.items()]
    return [TextColumn(name, _longest(names)), *numbers, TextColumn("time", 7), TextColumn("result")]


def _longest(names: Iterable[str]) -> int:
    return max(map(len, names), default=0)


def _plain(result: str) -> str:
    """Return a result without the word for its verdict."""
    return result.removeprefix("UNEXPECTED: ").removeprefix("inconclusive: ")


def _against_pin(found: Verdict, problems: list[str]) -> Verdict:
    """Return the verdict on a recording, which holds when it got the verdict that the manifest pins."""
    if found not in (Verdict.HOLDS, Verdict.VIOLATED):
        return found
    return Verdict.VIOLATED if problems else Verdict.HOLDS


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f} s"
