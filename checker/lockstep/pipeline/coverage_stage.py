"""The stage that counts what traces reach of the protocol: a check cannot see a step that is never taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.jobs.fleet_coverage import NOT_COUNTED, reached_by
from lockstep.jobs.fleet_floors import FloorVerdict, judge_reached
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError, retry_isolated
from lockstep.pipeline.derived_table import DerivedTable
from lockstep.pipeline.store_tables import TABLES, ReachedRow
from lockstep.pipeline.stored_traces import simulated_cluster
from lockstep.pipeline.task_traces import TraceLines, TraceSummary, traces_of, whole_traces
from lockstep.pipeline.trace_store import Batch, TraceStore, short_hash
from lockstep.systems.registry import simulators
from lockstep.systems.system import Reached
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.json_lines import TraceError

#: The kind and the name of the row that every trace has; its `times` is the number of events.
EVENTS = ("trace", "events")


def cover(spark: SparkSession, store: TraceStore, run: str, say: Say = silent) -> None:
    """Count what each trace of a run reaches; batches that were counted are not counted again.

    A malformed trace reaches nothing and has no row; one that workers die of has a row NOT_COUNTED. Raises StageFailed
    where a batch cannot be finished.
    """
    table = DerivedTable(spark, store, run, "reached", short_hash(version("lockstep-raft")))

    def work(batch: Batch, lines: DataFrame, traces: Mapping[str, TraceSummary]) -> None:
        retry_isolated(lambda isolation: table.write(reached(lines, traces, isolation), batch))

    table.make("coverage", work, say)


def reached(lines: DataFrame, traces: Mapping[str, TraceSummary], isolation: Isolation) -> DataFrame:
    """Return what each of these traces reaches, with the columns of the table."""
    return whole_traces(lines, traces).mapInArrow(_Count(isolation), TABLES["reached"].ddl)


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts in a task what the traces of a partition reach: rows of lines -> rows of reached."""

    isolation: Isolation

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            if self.isolation.is_isolated:
                lines.hold()
            cluster = simulated_cluster(lines.source)
            plan = " ".join(filter(None, (cluster.plan, cluster.variant))) if cluster else ""
            try:
                times = self.isolation.run(partial(_times, lines, is_simulated=cluster is not None))
            except WorkDiedError as error:
                times = {(NOT_COUNTED, f"the count {error}"): 1}
            rows = [ReachedRow(lines.trace, plan, kind, name, count) for (kind, name), count in times.items()]
            if rows:
                yield TABLES["reached"].batch(rows)


def _times(lines: TraceLines, *, is_simulated: bool) -> dict[Reached, int]:
    """Return how often a trace reaches each thing, with its number of events as EVENTS; nothing if it is malformed."""
    try:
        trace = opened(lines, lines.trace)
        times, events = reached_by(trace, is_simulated=is_simulated)
    except BadInputError:  # its verdict says so
        return {}
    return {**times, EVENTS: events}


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
            spec = trace_spec(header, name)
        except TraceError:
            continue
        found |= {f"{action} of {header.spec}" for action in spec.actions if action not in taken}
    return sorted(found)
