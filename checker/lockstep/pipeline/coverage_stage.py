"""The stage that counts what traces reach of the protocol: a check cannot see a step that is never taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.property_evaluation import NoEvaluation
from lockstep.conformance.step_coverage import Reached
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.fleet_floors import FloorVerdict, judge_reached
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError, retry_isolated
from lockstep.jobs.spark.shipped_specs import ShippedSpecs, SpecShipper
from lockstep.jobs.spark.spark_check import check_lines
from lockstep.pipeline.derived_table import DerivedTable
from lockstep.pipeline.spec_choice import AS_DECLARED, OwnSpec, OwnSpecChecker, SpecChoice
from lockstep.pipeline.store_tables import TABLES, ReachedRow
from lockstep.pipeline.stored_traces import simulated_cluster
from lockstep.pipeline.task_traces import TraceLines, TraceSummary, traces_of, whole_traces
from lockstep.pipeline.trace_store import Batch, TraceStore, short_hash
from lockstep.systems.file_check import own_check
from lockstep.systems.registry import SYSTEMS, simulators
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import coverage_hash, trace_spec
from lockstep.trace.json_lines import TraceError

#: The kind and the name of the row that every trace has; its `times` is the number of events.
EVENTS = ("trace", "events")

#: The kind of the row of a trace that could not be counted; its name is the reason.
NOT_COUNTED = "not counted"

#: Returns a verdict on a trace with what it reaches, in a task.
Counter: TypeAlias = Callable[[TraceLines], TraceVerdict]


def cover(
    spark: SparkSession, store: TraceStore, run: str, say: Say = silent, against: SpecChoice = AS_DECLARED
) -> None:
    """Count what each trace of a run reaches; batches that were counted so already are not counted again.

    A trace is followed through the spec that its header declares, or one of the reader's own (`against`), up to where
    it leaves that. A malformed trace has no row; one that workers die of, or that leaves a definition of coverage
    without a value, has a row NOT_COUNTED. Raises StageFailed where a batch cannot be finished, BadInputError where a
    spec of the reader's own cannot be used.
    """
    table = DerivedTable(spark, store, run, "reached", _derivation(against))
    counter_for = counters(spark, against)

    def work(batch: Batch, lines: DataFrame, traces: Mapping[str, TraceSummary]) -> None:
        counter = counter_for((trace, each.header) for trace, each in traces.items())
        retry_isolated(lambda isolation: table.write(reached(lines, traces, counter, isolation), batch))

    table.make("coverage", work, say)


def _derivation(against: SpecChoice) -> str:
    """Return the hash of all that decides what a trace reaches besides its lines."""
    if isinstance(against, OwnSpec):
        return against.hash()
    return short_hash(version("lockstep-raft"), {name: coverage_hash(system) for name, system in SYSTEMS.items()})


def reached(lines: DataFrame, traces: Mapping[str, TraceSummary], counter: Counter, isolation: Isolation) -> DataFrame:
    """Return what each of these traces reaches, with the columns of the table."""
    return whole_traces(lines, traces).mapInArrow(_Count(counter, isolation), TABLES["reached"].ddl)


def counters(spark: SparkSession, against: SpecChoice) -> Callable[[Iterable[tuple[str, bytes | None]]], Counter]:
    """Return what makes the counter of traces with these names and first lines, in the driver."""
    if isinstance(against, OwnSpec):
        judge = own_check(against.files, strict=against.strict, covers=True)
        checker = OwnSpecChecker(spark.sparkContext.broadcast(judge), against.hash())
        return lambda headers: partial(_verdict_of, checker)
    shipper = SpecShipper(spark, {}, covers=True)
    return lambda headers: partial(_followed, shipper.ship(headers))


def _verdict_of(checker: OwnSpecChecker, lines: TraceLines) -> TraceVerdict:
    return checker(lines)[0]


def _followed(shipped: ShippedSpecs, lines: TraceLines) -> TraceVerdict:
    """Follow a trace of a known system; its properties were evaluated in its check."""
    return check_lines(lines, lines.trace, partial(shipped.spec, lines.trace), shipped.switches, True, NoEvaluation)


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts in a task what the traces of a partition reach: rows of lines -> rows of reached."""

    counter: Counter
    isolation: Isolation

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            if self.isolation.is_isolated:
                lines.hold()
            cluster = simulated_cluster(lines.source)
            plan = " ".join(filter(None, (cluster.plan, cluster.variant))) if cluster else ""
            try:
                times = times_of(self.isolation.run(partial(self.counter, lines)))
            except WorkDiedError as error:
                times = {(NOT_COUNTED, f"the count {error}"): 1}
            rows = [ReachedRow(lines.trace, plan, kind, name, count) for (kind, name), count in times.items()]
            if rows:
                yield TABLES["reached"].batch(rows)


def times_of(verdict: TraceVerdict) -> dict[Reached, int]:
    """Return how often a trace reaches each part, by the verdict of a check that covers that.

    The number of its events is that of EVENTS. A malformed trace has nothing: its verdict says so. Where a formula of
    the spec has no value, or the check came to no end, the reason is that of NOT_COUNTED.
    """
    if verdict.verdict is Verdict.MALFORMED and verdict.fault is None:
        return {}
    if verdict.verdict is Verdict.INTERNAL or verdict.fault is not None or verdict.reached is None:
        return {(NOT_COUNTED, verdict.reason): 1}
    return {**verdict.reached, EVENTS: verdict.events}


def coverage_rows(reached: DataFrame) -> list[dict[str, Any]]:
    """Return a row for each thing reached: plan, kind, name, number of traces, times, and least times in a trace.

    The plan is empty for traces of no simulated cluster.
    """
    sums = (sql.count(sql.lit(1)).alias("traces"), sql.sum("times").alias("times"), sql.min("times").alias("least"))
    rows = reached.groupBy("plan", "kind", "name").agg(*sums).orderBy("plan", "kind", "name")
    return [row.asDict() for row in rows.collect()]


def floor_verdicts(coverage: list[dict[str, Any]]) -> Iterator[FloorVerdict]:
    """Yield for each plan whether its clusters reached its floor; a plan run in another variant has none."""
    for plan in sorted({each["plan"] for each in coverage} & simulators().keys()):
        of_plan = {(each["kind"], each["name"]): each for each in coverage if each["plan"] == plan}
        clusters = of_plan.pop(EVENTS, {"traces": 0, "least": 0})
        yield judge_reached(plan, of_plan, clusters["traces"], clusters["least"])


def floor_record(floor: FloorVerdict) -> dict[str, Any]:
    """Return the verdict on a floor as JSON can hold it."""
    return {**asdict(floor), "verdict": str(floor.verdict), "result": floor.result}


def never_taken(coverage: list[dict[str, Any]], headers: Iterable[tuple[str, bytes]]) -> list[str]:
    """Return the actions of the specs of these headers that no trace takes, each with its spec.

    A first line that is no header belongs to a log that a mapping reads, which is not counted.
    """
    taken = {each["name"] for each in coverage if each["kind"] in ("action", "fault")}
    found = set()
    for name, line in headers:
        try:
            header = opened([line], name).header
            spec = trace_spec(header, name, covers=True)
        except TraceError:
            continue
        found |= {f"{action} of {header.spec}" for action in spec.actions if action not in taken}
    return sorted(found)
